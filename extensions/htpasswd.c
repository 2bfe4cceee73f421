// SPDX-License-Identifier: Apache-2.0
#include "extensions/htpasswd.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/text.h"
#include "extensions/apr1.h"

#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#define SHA_PREFIX "{SHA}"
#define APR1_PREFIX "$apr1$"

enum {
    MAX_ENTRIES = 10000,
    MAX_HASH_CHARS = 255,
    BCRYPT_CHARS = 60,       // in all
    SHA256_CRYPT_CHARS = 43, // behind the salt
    SHA512_CRYPT_CHARS = 86,
    // What one login may cost: about a second.
    BCRYPT_MAX_COST = 14,
    SHA_CRYPT_MAX_ROUNDS = 200000,
};

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// --- is it a hash ---

static bool check_sha(const char *hash, struct err *e)
{
    uint8_t raw[MAX_HASH_CHARS];
    size_t len = 0;
    struct bytes text = bytes_from_text(hash + strlen(SHA_PREFIX));
    if (base64_decode(text, raw, &len) && len == SHA_DIGEST_LENGTH)
        return true;
    (void)err_set(e, ERR_INVALID, "the {SHA} hash is broken");
    return false;
}

static bool check_apr1(const char *hash, struct err *e)
{
    const char *salt = hash + strlen(APR1_PREFIX), *end = strchr(salt, '$');
    if (end != NULL && end - salt <= APR1_SALT_MAX && strlen(end + 1) == APR1_HASH_CHARS)
        return true;
    (void)err_set(e, ERR_INVALID, "the apr1 hash is broken");
    return false;
}

static bool check_bcrypt(const char *hash, struct err *e)
{
    bool has_cost = strlen(hash) == BCRYPT_CHARS && hash[4] >= '0' && hash[4] <= '9' && hash[5] >= '0' &&
                    hash[5] <= '9' && crypt_checksalt(hash) != CRYPT_SALT_INVALID;
    int cost = has_cost ? (hash[4] - '0') * 10 + hash[5] - '0' : 0;
    if (!has_cost)
        (void)err_set(e, ERR_INVALID, "the bcrypt hash is broken");
    else if (cost > BCRYPT_MAX_COST)
        (void)err_set(e, ERR_LIMIT, "the cost of the bcrypt hash is %d, allowed are %d", cost, BCRYPT_MAX_COST);
    return has_cost && cost <= BCRYPT_MAX_COST;
}

static bool check_sha_crypt(const char *hash, struct err *e)
{
    char digits[16];
    int64_t rounds = 0;
    const char *given = hash + 3;
    if (begins(given, "rounds=")) {
        given += strlen("rounds=");
        snprintf(digits, sizeof digits, "%.*s", (int)strcspn(given, "$"), given);
        if (!int64_parse(digits, &rounds))
            rounds = INT64_MAX;
    }
    if (rounds > SHA_CRYPT_MAX_ROUNDS)
        (void)err_set(e, ERR_LIMIT, "the SHA-crypt hash has more than the %d rounds that are allowed",
                      SHA_CRYPT_MAX_ROUNDS);
    else if (crypt_checksalt(hash) == CRYPT_SALT_INVALID || strchr(given, '$') == NULL ||
             strlen(strrchr(hash, '$') + 1) != (hash[1] == '5' ? SHA256_CRYPT_CHARS : SHA512_CRYPT_CHARS))
        (void)err_set(e, ERR_INVALID, "the SHA-crypt hash is broken");
    else
        return true;
    return false;
}

static const struct kind {
    const char *prefix;
    bool (*check)(const char *hash, struct err *e);
    bool is_slow;
} kinds[] = {
    {SHA_PREFIX, check_sha, false}, {APR1_PREFIX, check_apr1, true}, {"$2y$", check_bcrypt, true},
    {"$2b$", check_bcrypt, true},   {"$2a$", check_bcrypt, true},    {"$5$", check_sha_crypt, true},
    {"$6$", check_sha_crypt, true},
};

static const struct kind *kind_of(const char *hash)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (begins(hash, kinds[i].prefix))
            return &kinds[i];
    return NULL;
}

// --- lines ---

void htpasswd_init(struct htpasswd *h)
{
    *h = (struct htpasswd){0};
    arena_init(&h->arena, 0);
}

void htpasswd_fini(struct htpasswd *h)
{
    free(h->entries);
    arena_fini(&h->arena);
    *h = (struct htpasswd){0};
}

static enum err_code check_hash(struct bytes hash, const char *text, struct err *e)
{
    const struct kind *kind = kind_of(text);
    if (hash.len > MAX_HASH_CHARS || kind == NULL || memchr(hash.data, '\0', hash.len) != NULL)
        return err_set(
            e, ERR_INVALID,
            "there is no hash we know: bcrypt (htpasswd -B), SHA-crypt ($5$, $6$), apr1 (htpasswd -m) or {SHA}");
    return kind->check(text, e) ? ERR_OK : e->code;
}

static enum err_code add_line(struct htpasswd *h, struct bytes line, struct err *e)
{
    const uint8_t *colon = memchr(line.data, ':', line.len);
    if (colon == NULL || colon == line.data)
        return err_set(e, ERR_INVALID, "it is not user:hash");
    if (h->count == MAX_ENTRIES)
        return err_set(e, ERR_LIMIT, "there are more than the %d users that are allowed", MAX_ENTRIES);
    size_t user_len = (size_t)(colon - line.data);
    struct bytes hash = {colon + 1, line.len - user_len - 1};
    const char *user = arena_copy_text(&h->arena, (const char *)line.data, user_len);
    const char *text = arena_copy_text(&h->arena, (const char *)hash.data, hash.len);
    void *entries = h->entries;
    if (check_hash(hash, text, e) != ERR_OK) {
        err_prefix(e, "user %s", user);
        return e->code;
    }
    if (!mem_try_grow(&entries, &h->capacity, h->count + 1, sizeof *h->entries, MAX_ENTRIES))
        return err_set(e, ERR_MEMORY, "no memory for the users");
    h->entries = entries;
    h->entries[h->count++] = (struct htpasswd_entry){user, text, kind_of(text)->is_slow};
    return ERR_OK;
}

static struct bytes trimmed(struct bytes line)
{
    while (line.len > 0 && memchr(" \t\r", line.data[line.len - 1], 3) != NULL)
        line.len--;
    while (line.len > 0 && memchr(" \t", line.data[0], 2) != NULL)
        line = (struct bytes){line.data + 1, line.len - 1};
    return line;
}

enum err_code htpasswd_add(struct htpasswd *h, struct bytes text, struct err *e)
{
    for (size_t number = 1; text.len > 0; number++) {
        const uint8_t *end = memchr(text.data, '\n', text.len);
        size_t len = end != NULL ? (size_t)(end - text.data) : text.len;
        struct bytes line = trimmed((struct bytes){text.data, len});
        if (line.len > 0 && line.data[0] != '#' && add_line(h, line, e) != ERR_OK) {
            err_prefix(e, "line %zu", number);
            return e->code;
        }
        len += end != NULL;
        text = (struct bytes){text.data + len, text.len - len};
    }
    return ERR_OK;
}

const struct htpasswd_entry *htpasswd_find(const struct htpasswd *h, struct bytes user)
{
    for (size_t i = h->count; i-- > 0;)
        if (bytes_equal_text(user, h->entries[i].user))
            return &h->entries[i];
    return NULL;
}

// --- passwords ---

static bool equal_texts(const char *a, const char *b)
{
    return strlen(a) == strlen(b) && CRYPTO_memcmp(a, b, strlen(a)) == 0;
}

static bool matches_sha(const char *hash, struct bytes password)
{
    uint8_t wanted[MAX_HASH_CHARS], found[SHA_DIGEST_LENGTH];
    size_t len;
    if (!base64_decode(bytes_from_text(hash + strlen(SHA_PREFIX)), wanted, &len) || len != sizeof found)
        return false;
    SHA1(password.data, password.len, found);
    return CRYPTO_memcmp(wanted, found, sizeof found) == 0;
}

static bool matches_apr1(const char *hash, struct bytes password)
{
    char found[APR1_HASH_CHARS + 1];
    const char *salt = hash + strlen(APR1_PREFIX);
    size_t len = strcspn(salt, "$");
    apr1_hash(password, (struct bytes){(const uint8_t *)salt, len}, found);
    return equal_texts(found, salt + len + 1);
}

static bool matches_crypt(const char *hash, struct bytes password)
{
    struct crypt_data *data = MEM_NEW(struct crypt_data);
    char *phrase = mem_alloc(password.len + 1);
    memcpy(phrase, password.data, password.len);
    const char *found = crypt_r(phrase, hash, data);
    bool same = found != NULL && equal_texts(found, hash);
    OPENSSL_cleanse(phrase, password.len);
    OPENSSL_cleanse(data, sizeof *data);
    free(phrase);
    free(data);
    return same;
}

bool htpasswd_matches(const char *hash, struct bytes password)
{
    // crypt's passwords end at a zero
    if (password.len > 0 && memchr(password.data, '\0', password.len) != NULL)
        return false;
    if (begins(hash, SHA_PREFIX))
        return matches_sha(hash, password);
    return begins(hash, APR1_PREFIX) ? matches_apr1(hash, password) : matches_crypt(hash, password);
}
