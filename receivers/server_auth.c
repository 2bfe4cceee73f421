// SPDX-License-Identifier: Apache-2.0
#include "receivers/server_auth.h"

#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/authentication.h"

#include <stdio.h>

enum {
    KNOWN_FAILURES = 256, // clients of which a line was written
    TELL_AGAIN_SECONDS = 3600,
};

struct server_auth {
    const struct component *component;
    struct authenticator *authenticator;
    const char *protocol;
    _Atomic uint64_t told[KNOWN_FAILURES]; // hashes of address and hour
};

struct server_attempt {
    struct server_auth *auth;
    struct auth_attempt *attempt;
    char address[sizeof((struct http_peer *)0)->address];
};

static const struct metric_family refused_family = {
    "profrelay_receiver_unauthenticated_requests",
    "Requests refused because of their credentials, by reason.",
    METRIC_COUNTER,
};

enum err_code server_auth_create(const struct component *c, const char *id, const char *protocol,
                                 struct server_auth **out, struct err *e)
{
    struct authenticator *found = c->env->find_authenticator(c->env->service, id, AUTH_ROLE_SERVER, e);
    if (found == NULL)
        return e->code;
    struct server_auth *a = MEM_NEW(struct server_auth);
    a->component = c;
    a->authenticator = found;
    a->protocol = protocol;
    *out = a;
    return ERR_OK;
}

void server_auth_destroy(struct server_auth **a)
{
    free(*a);
    *a = NULL;
}

// One line for each client and hour, as far as the table goes.
static bool is_told(struct server_auth *a, const char *address)
{
    int64_t hour = clock_monotonic_nanos(a->component->env->clock) / (TELL_AGAIN_SECONDS * NANOS_PER_SECOND);
    uint64_t mark = hash_mix(hash_bytes(address, strlen(address)), (uint64_t)hour);
    return atomic_exchange(&a->told[mark % KNOWN_FAILURES], mark) == mark;
}

static void note_refusal(struct server_auth *a, const char *address, const char *reason)
{
    const struct metric_label labels[] = {
        {"receiver", a->component->id}, {"transport", a->protocol}, {"reason", reason}};
    metric_add(metrics_series(a->component->env->metrics, &refused_family, labels, COUNT_OF(labels)), 1);
    if (!is_told(a, address))
        log_warn(&a->component->log,
                 "%s: a request is refused: %s; further ones of this client are counted in %s, and told in an hour",
                 address, reason, refused_family.name);
}

static void note(struct server_auth *a, const char *address, enum auth_result result, const struct auth_answer *answer)
{
    if (result == AUTH_REFUSED || result == AUTH_BUSY)
        note_refusal(a, address, answer->reason);
    else if (result == AUTH_ACCEPTED && answer->identity[0] != '\0')
        log_debug(&a->component->log, "%s: a request of %s", address, answer->identity);
}

enum auth_result server_auth_check(struct server_auth *a, const struct http_head *head, struct auth_answer *answer_out,
                                   struct server_attempt **attempt_out)
{
    enum auth_result result =
        a->authenticator->ops->check(a->authenticator, head->headers, head->header_count, answer_out);
    note(a, head->peer->address, result, answer_out);
    if (result != AUTH_SLOW)
        return result;
    struct server_attempt *t = MEM_NEW(struct server_attempt);
    t->auth = a;
    t->attempt = answer_out->attempt;
    memcpy(t->address, head->peer->address, sizeof t->address);
    answer_out->attempt = NULL;
    *attempt_out = t;
    return AUTH_SLOW;
}

enum auth_result server_attempt_verify(struct server_attempt **attempt, struct auth_answer *answer_out)
{
    struct server_attempt *t = *attempt;
    struct authenticator *self = t->auth->authenticator;
    enum auth_result result = self->ops->verify(self, t->attempt, answer_out);
    note(t->auth, t->address, result, answer_out);
    free(t);
    *attempt = NULL;
    return result;
}

void server_attempt_forget(struct server_attempt **attempt)
{
    struct server_attempt *t = *attempt;
    if (t == NULL)
        return;
    t->auth->authenticator->ops->forget(t->auth->authenticator, t->attempt);
    free(t);
    *attempt = NULL;
}
