// SPDX-License-Identifier: Apache-2.0
// What the API's answer to a list or a watch means.
#ifndef KUBE_KUBE_ANSWER_H
#define KUBE_KUBE_ANSWER_H

#include "base/err.h"
#include "net/http_client.h"

enum kube_outcome {
    KUBE_OUTCOME_OK,
    KUBE_OUTCOME_GONE,           // 410: the version or page is too old
    KUBE_OUTCOME_UNAUTHORIZED,   // 401
    KUBE_OUTCOME_FORBIDDEN,      // 403, 404
    KUBE_OUTCOME_NOT_ACCEPTABLE, // 406: not as metadata alone
    KUBE_OUTCOME_BUSY,           // 429
    KUBE_OUTCOME_REFUSED,        // any other status
    KUBE_OUTCOME_LOST,           // no answer, or not the whole of it
    KUBE_OUTCOME_INVALID,        // not what it should be
};

// Beside the response: what its stream said.
struct kube_answer {
    struct err error; // it is not what it should be, or an ERROR event
    int event_status; // of an ERROR event
};

const char *kube_outcome_name(enum kube_outcome outcome);
enum kube_outcome kube_answer_judge(const struct kube_answer *a, const struct http_response *response);
// The status of the response or event; 0 = there is none.
int kube_answer_status(const struct kube_answer *a, const struct http_response *response);
// One sentence, when it is not OK.
void kube_answer_explain(const struct kube_answer *a, const struct http_response *response, struct err *out);

#endif
