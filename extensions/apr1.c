// SPDX-License-Identifier: Apache-2.0
#include "extensions/apr1.h"

#include "base/check.h"

#include <openssl/evp.h>

enum { DIGEST_BYTES = 16, ROUNDS = 1000 };

static void add(EVP_MD_CTX *md5, struct bytes b)
{
    CHECK(EVP_DigestUpdate(md5, b.data, b.len) == 1);
}

static void begin(EVP_MD_CTX *md5)
{
    CHECK(EVP_DigestInit_ex(md5, EVP_md5(), NULL) == 1);
}

static void end(EVP_MD_CTX *md5, uint8_t digest[DIGEST_BYTES])
{
    CHECK(EVP_DigestFinal_ex(md5, digest, NULL) == 1);
}

static void first_digest(EVP_MD_CTX *md5, struct bytes password, struct bytes salt, uint8_t digest[DIGEST_BYTES])
{
    static const uint8_t zero[1] = {0};
    begin(md5);
    add(md5, password);
    add(md5, salt);
    add(md5, password);
    end(md5, digest);
    begin(md5);
    add(md5, password);
    add(md5, BYTES_LITERAL("$apr1$"));
    add(md5, salt);
    for (size_t left = password.len; left > 0; left -= left < DIGEST_BYTES ? left : DIGEST_BYTES)
        add(md5, (struct bytes){digest, left < DIGEST_BYTES ? left : DIGEST_BYTES});
    for (size_t bits = password.len; bits > 0; bits >>= 1)
        add(md5, (struct bytes){(bits & 1) != 0 ? zero : password.data, 1});
    end(md5, digest);
}

static void next_digest(EVP_MD_CTX *md5, unsigned round, struct bytes password, struct bytes salt,
                        uint8_t digest[DIGEST_BYTES])
{
    const struct bytes last = {digest, DIGEST_BYTES};
    begin(md5);
    add(md5, (round & 1) != 0 ? password : last);
    if (round % 3 != 0)
        add(md5, salt);
    if (round % 7 != 0)
        add(md5, password);
    add(md5, (round & 1) != 0 ? last : password);
    end(md5, digest);
}

static void print(const uint8_t d[DIGEST_BYTES], char out[APR1_HASH_CHARS + 1])
{
    static const char letters[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static const uint8_t groups[5][3] = {{0, 6, 12}, {1, 7, 13}, {2, 8, 14}, {3, 9, 15}, {4, 10, 5}};
    size_t at = 0;
    for (size_t i = 0; i < 5; i++) {
        uint32_t bits = (uint32_t)d[groups[i][0]] << 16 | (uint32_t)d[groups[i][1]] << 8 | d[groups[i][2]];
        for (size_t j = 0; j < 4; j++, bits >>= 6)
            out[at++] = letters[bits & 63];
    }
    out[at++] = letters[d[11] & 63];
    out[at++] = letters[d[11] >> 6];
    out[at] = '\0';
}

void apr1_hash(struct bytes password, struct bytes salt, char out[APR1_HASH_CHARS + 1])
{
    uint8_t digest[DIGEST_BYTES];
    EVP_MD_CTX *md5 = EVP_MD_CTX_new();
    CHECK(md5 != NULL);
    first_digest(md5, password, salt, digest);
    for (unsigned i = 0; i < ROUNDS; i++)
        next_digest(md5, i, password, salt, digest);
    EVP_MD_CTX_free(md5);
    print(digest, out);
}
