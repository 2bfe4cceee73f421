// SPDX-License-Identifier: Apache-2.0
// Hashes of passwords are slow by design: which logins were right and wrong is remembered, and what those that are not
// known yet may cost is bounded. Strangers with ever new passwords use at most a quarter of one CPU.
// Not thread-safe: its owner locks.
#ifndef EXTENSIONS_LOGIN_CACHE_H
#define EXTENSIONS_LOGIN_CACHE_H

#include "base/bytes.h"

#include <stdint.h>

enum {
    LOGIN_KEY_BYTES = 32,
    LOGINS_RIGHT = 1024,
    LOGINS_WRONG = 256, // apart, so that guesses do not push out those who belong here
    LOGINS_MEETING = 8, // keys that share a place; both numbers above are multiples of it
    LOGINS_IN_CHECK = 64,
};

struct login_key {
    uint8_t bytes[LOGIN_KEY_BYTES];
};

struct login_cache {
    struct login_key secret; // keys mean nothing outside this process
    struct login_key right[LOGINS_RIGHT], wrong[LOGINS_WRONG];
    uint64_t generation;
    // What may be spent on hashes.
    int64_t credit_nanos, credited_nanos, typical_nanos;
    unsigned in_check;
};

enum login_known { LOGIN_UNKNOWN, LOGIN_RIGHT, LOGIN_WRONG };

void login_cache_init(struct login_cache *c, int64_t now_nanos);
void login_cache_forget_all(struct login_cache *c); // the passwords are others now; a new generation

struct login_key login_cache_key(const struct login_cache *c, struct bytes user, struct bytes password);
enum login_known login_cache_find(const struct login_cache *c, const struct login_key *key);
void login_cache_store(struct login_cache *c, const struct login_key *key, bool is_right);

// May one more login be checked now? Then end_check follows, with what it took (0 = it was not needed).
bool login_cache_begin_check(struct login_cache *c, int64_t now_nanos);
void login_cache_end_check(struct login_cache *c, int64_t took_nanos);

#endif
