// SPDX-License-Identifier: Apache-2.0
// The contract between extensions that know credentials and those who use them: a receiver asks whether a request may
// come in, an exporter has what a request must bring added to it. An extension gives out its authenticator by
// extension_module.authenticator; others find it by env->find_authenticator, in the role that they need.
#ifndef NET_AUTHENTICATOR_H
#define NET_AUTHENTICATOR_H

#include "net/header_set.h"

struct authenticator;

enum auth_result {
    AUTH_ACCEPTED,
    AUTH_REFUSED,
    AUTH_BUSY, // cannot be told now: the same again later
    AUTH_SLOW, // only verify can tell
};

enum { AUTH_IDENTITY_SIZE = 64 };

#define AUTH_KEY_SERVER "Server"
#define AUTH_KEY_BROWSER "Browser" // known, but may not send

struct auth_attempt; // what a SLOW check left to do

struct auth_answer {
    char identity[AUTH_IDENTITY_SIZE]; // ACCEPTED: who; "" = known, but without a name
    const char *reason;                // REFUSED, BUSY: one of few literals, e.g. "no credentials"; lives for ever
    const char *challenge;             // REFUSED: the value of WWW-Authenticate; lives for ever
    const char *key_type;         // AUTH_KEY_*, also of one that is known but REFUSED for sending; NULL = not known
    struct auth_attempt *attempt; // SLOW: goes to verify or forget, exactly once
};

struct authenticator_ops {
    // The server's side (check NULL = none). Any thread; does not block, keeps nothing of the headers. Header names
    // are in lower case. The same credentials always cost the same time, right or wrong, or are SLOW.
    enum auth_result (*check)(struct authenticator *self, const struct http_header *headers, size_t count,
                              struct auth_answer *out);
    // NULL where check is never SLOW. Worker thread; takes what CPU it takes. ACCEPTED or REFUSED.
    enum auth_result (*verify)(struct authenticator *self, struct auth_attempt *attempt, struct auth_answer *out);
    void (*forget)(struct authenticator *self, struct auth_attempt *attempt);

    // The client's side (apply NULL = none). Any thread, does not block but for a small file that changed.
    // values[i] is what attributes[i] has in this record; NULL = nothing, or nothing that a header can hold.
    void (*apply)(struct authenticator *self, const char *const *values, struct header_set *headers);
    // The peer has refused what apply added: files are read anew. Whether something is different now.
    bool (*renew)(struct authenticator *self);
};

struct authenticator {
    const struct authenticator_ops *ops;
    // Of the client's side: resource attributes by which records must be split, for apply.
    const char *const *attributes;
    size_t attribute_count;
};

#endif
