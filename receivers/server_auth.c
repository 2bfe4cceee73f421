// SPDX-License-Identifier: Apache-2.0
#include "receivers/server_auth.h"

#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/authentication.h"

#include <stdio.h>

enum {
    KNOWN_FAILURES = 256, // clients of which a line was written
    TELL_AGAIN_SECONDS = 3600,
    HOUR_BITS = 15,
};

struct server_auth {
    const struct component *component;
    struct authenticator *authenticator;
    const char *protocol;
    // By hashes of addresses: the upper bits of the hash, the hour, and whether the recovery is told too.
    _Atomic uint64_t told[KNOWN_FAILURES];
};

struct server_attempt {
    struct server_auth *auth;
    struct auth_attempt *attempt;
    bool is_validation;
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

static uint64_t client_of(const char *address, _Atomic uint64_t **told_out, struct server_auth *a)
{
    uint64_t hash = hash_bytes(address, strlen(address));
    *told_out = &a->told[hash % KNOWN_FAILURES];
    return hash >> (HOUR_BITS + 1) << (HOUR_BITS + 1);
}

// One line for each client and hour, as far as the table goes.
static bool must_tell_refusal(struct server_auth *a, const char *address)
{
    int64_t hour = clock_monotonic_nanos(a->component->env->clock) / (TELL_AGAIN_SECONDS * NANOS_PER_SECOND);
    _Atomic uint64_t *told;
    uint64_t mark = client_of(address, &told, a) | ((uint64_t)hour % (1U << HOUR_BITS)) << 1, old = atomic_load(told);
    return (old | 1) != (mark | 1) && atomic_compare_exchange_strong(told, &old, mark);
}

// Once after each line about a refusal.
static bool must_tell_recovery(struct server_auth *a, const char *address)
{
    _Atomic uint64_t *told;
    uint64_t client = client_of(address, &told, a), old = atomic_load(told);
    bool failed = old != 0 && old >> (HOUR_BITS + 1) << (HOUR_BITS + 1) == client && (old & 1) == 0;
    return failed && atomic_compare_exchange_strong(told, &old, old | 1);
}

static void note_refusal(struct server_auth *a, const char *address, const char *reason)
{
    const struct metric_label labels[] = {
        {"receiver", a->component->id}, {"transport", a->protocol}, {"reason", reason}};
    metric_add(metrics_series(a->component->env->metrics, &refused_family, labels, COUNT_OF(labels)), 1);
    if (must_tell_refusal(a, address))
        log_warn(&a->component->log,
                 "%s: a request is refused: %s; further ones of this client are counted in %s, and told in an hour",
                 address, reason, refused_family.name);
}

static void note(struct server_auth *a, const char *address, enum auth_result result, const struct auth_answer *answer)
{
    if (result == AUTH_REFUSED || result == AUTH_BUSY)
        note_refusal(a, address, answer->reason);
    if (result != AUTH_ACCEPTED)
        return;
    if (must_tell_recovery(a, address))
        log_info(&a->component->log, "%s: accepted again", address);
    if (answer->identity[0] != '\0')
        log_debug(&a->component->log, "%s: a request of %s", address, answer->identity);
}

static enum auth_result ask(struct server_auth *a, const struct http_head *head, bool is_validation,
                            struct auth_answer *answer_out, struct server_attempt **attempt_out)
{
    enum auth_result result =
        a->authenticator->ops->check(a->authenticator, head->headers, head->header_count, answer_out);
    if (result != AUTH_SLOW)
        return result;
    struct server_attempt *t = MEM_NEW(struct server_attempt);
    *t = (struct server_attempt){.auth = a, .attempt = answer_out->attempt, .is_validation = is_validation};
    memcpy(t->address, head->peer->address, sizeof t->address);
    answer_out->attempt = NULL;
    *attempt_out = t;
    return AUTH_SLOW;
}

enum auth_result server_auth_check(struct server_auth *a, const struct http_head *head, struct auth_answer *answer_out,
                                   struct server_attempt **attempt_out)
{
    enum auth_result result = ask(a, head, false, answer_out, attempt_out);
    note(a, head->peer->address, result, answer_out);
    return result;
}

static enum auth_result known_at_all(enum auth_result result, const struct auth_answer *answer)
{
    return result == AUTH_REFUSED && answer->key_type != NULL ? AUTH_ACCEPTED : result;
}

enum auth_result server_auth_validate(struct server_auth *a, const struct http_head *head,
                                      struct auth_answer *answer_out, struct server_attempt **attempt_out)
{
    return known_at_all(ask(a, head, true, answer_out, attempt_out), answer_out);
}

enum auth_result server_attempt_verify(struct server_attempt **attempt, struct auth_answer *answer_out)
{
    struct server_attempt *t = *attempt;
    struct authenticator *self = t->auth->authenticator;
    enum auth_result result = self->ops->verify(self, t->attempt, answer_out);
    if (t->is_validation)
        result = known_at_all(result, answer_out);
    else
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
