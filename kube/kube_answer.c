// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_answer.h"

#include "kube/kube_decode.h"

const char *kube_outcome_name(enum kube_outcome outcome)
{
    static const char *const names[] = {
        [KUBE_OUTCOME_OK] = "ok",
        [KUBE_OUTCOME_GONE] = "gone",
        [KUBE_OUTCOME_UNAUTHORIZED] = "unauthorized",
        [KUBE_OUTCOME_FORBIDDEN] = "forbidden",
        [KUBE_OUTCOME_NOT_ACCEPTABLE] = "not_acceptable",
        [KUBE_OUTCOME_BUSY] = "busy",
        [KUBE_OUTCOME_REFUSED] = "refused",
        [KUBE_OUTCOME_LOST] = "lost",
        [KUBE_OUTCOME_INVALID] = "invalid",
    };
    return names[outcome];
}

static enum kube_outcome of_status(int status)
{
    switch (status) {
    case 401:
        return KUBE_OUTCOME_UNAUTHORIZED;
    case 403:
    case 404:
        return KUBE_OUTCOME_FORBIDDEN;
    case 406:
        return KUBE_OUTCOME_NOT_ACCEPTABLE;
    case 410:
        return KUBE_OUTCOME_GONE;
    case 429:
        return KUBE_OUTCOME_BUSY;
    default:
        return status / 100 == 2 ? KUBE_OUTCOME_OK : KUBE_OUTCOME_REFUSED;
    }
}

int kube_answer_status(const struct kube_answer *a, const struct http_response *response)
{
    return a->event_status != 0 ? a->event_status : response->status;
}

enum kube_outcome kube_answer_judge(const struct kube_answer *a, const struct http_response *response)
{
    if (a->event_status != 0)
        return of_status(a->event_status);
    if (a->error.code != ERR_OK)
        return KUBE_OUTCOME_INVALID;
    return response->outcome == HTTP_ANSWERED ? of_status(response->status) : KUBE_OUTCOME_LOST;
}

static const char *remedy(int status)
{
    if (status == 401)
        return ": the token or certificate is not valid, or not any more";
    return status / 100 == 3 ? ": a redirect; is this the address of the API?" : "";
}

void kube_answer_explain(const struct kube_answer *a, const struct http_response *response, struct err *out)
{
    char message[512] = "";
    if (a->error.code != ERR_OK) {
        *out = a->error;
        return;
    }
    if (response->outcome != HTTP_ANSWERED) {
        err_set(out, ERR_UNAVAILABLE, "%s", response->error);
        return;
    }
    bool said = kube_status_decode(response->body, message, sizeof message) != 0 && message[0] != '\0';
    err_set(out, ERR_UNAVAILABLE, "HTTP %d%s%s%s", response->status, said ? ": " : "", said ? message : "",
            remedy(response->status));
}
