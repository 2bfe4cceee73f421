// SPDX-License-Identifier: Apache-2.0
#include "extensions/login_cache.h"

#include "base/check.h"
#include "base/clock.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

enum { SHARE_OF_CPU = 4 };
#define MOST_CREDIT_NANOS (2 * NANOS_PER_SECOND) // spent at once: many clients that start together
#define FIRST_GUESS_NANOS (50 * NANOS_PER_MS)

void login_cache_init(struct login_cache *c, int64_t now_nanos)
{
    *c = (struct login_cache){
        .credit_nanos = MOST_CREDIT_NANOS,
        .credited_nanos = now_nanos,
        .typical_nanos = FIRST_GUESS_NANOS,
    };
    CHECK(RAND_bytes(c->secret.bytes, sizeof c->secret.bytes) == 1);
}

void login_cache_forget_all(struct login_cache *c)
{
    OPENSSL_cleanse(c->right, sizeof c->right);
    OPENSSL_cleanse(c->wrong, sizeof c->wrong);
    c->generation++;
}

// The password's own digest has one length: no two pairs are written alike.
struct login_key login_cache_key(const struct login_cache *c, struct bytes user, struct bytes password)
{
    struct login_key inner, outer;
    uint8_t pair[LOGIN_KEY_BYTES * 2];
    const int size = sizeof c->secret.bytes;
    CHECK(HMAC(EVP_sha256(), c->secret.bytes, size, password.data, password.len, inner.bytes, NULL) != NULL);
    CHECK(HMAC(EVP_sha256(), inner.bytes, size, user.data, user.len, pair, NULL) != NULL);
    memcpy(pair + LOGIN_KEY_BYTES, inner.bytes, LOGIN_KEY_BYTES);
    CHECK(HMAC(EVP_sha256(), c->secret.bytes, size, pair, sizeof pair, outer.bytes, NULL) != NULL);
    OPENSSL_cleanse(&inner, sizeof inner);
    OPENSSL_cleanse(pair, sizeof pair);
    return outer;
}

// A key's place is one of a few that follow each other: two that meet there do not push each other out.
static size_t first_place(const struct login_key *key, size_t count)
{
    uint32_t number;
    memcpy(&number, key->bytes, sizeof number);
    return number % (count / LOGINS_MEETING) * LOGINS_MEETING;
}

static bool has(const struct login_key *keys, size_t count, const struct login_key *key)
{
    const struct login_key *places = keys + first_place(key, count);
    bool found = false;
    for (size_t i = 0; i < LOGINS_MEETING; i++)
        found |= CRYPTO_memcmp(&places[i], key, sizeof *key) == 0;
    return found;
}

// The oldest of those that meet goes.
static void put(struct login_key *keys, size_t count, const struct login_key *key)
{
    struct login_key *places = keys + first_place(key, count);
    memmove(places + 1, places, (LOGINS_MEETING - 1) * sizeof *places);
    places[0] = *key;
}

enum login_known login_cache_find(const struct login_cache *c, const struct login_key *key)
{
    if (has(c->right, LOGINS_RIGHT, key))
        return LOGIN_RIGHT;
    return has(c->wrong, LOGINS_WRONG, key) ? LOGIN_WRONG : LOGIN_UNKNOWN;
}

void login_cache_store(struct login_cache *c, const struct login_key *key, bool is_right)
{
    if (is_right)
        put(c->right, LOGINS_RIGHT, key);
    else
        put(c->wrong, LOGINS_WRONG, key);
}

bool login_cache_begin_check(struct login_cache *c, int64_t now_nanos)
{
    int64_t credit = c->credit_nanos + (now_nanos - c->credited_nanos) / SHARE_OF_CPU;
    c->credit_nanos = credit < MOST_CREDIT_NANOS ? credit : MOST_CREDIT_NANOS;
    c->credited_nanos = now_nanos;
    if (c->in_check >= LOGINS_IN_CHECK || c->credit_nanos <= (int64_t)c->in_check * c->typical_nanos)
        return false;
    c->in_check++;
    return true;
}

void login_cache_end_check(struct login_cache *c, int64_t took_nanos)
{
    c->in_check--;
    c->credit_nanos -= took_nanos;
    if (took_nanos > 0)
        c->typical_nanos = took_nanos;
}
