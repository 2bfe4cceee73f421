// SPDX-License-Identifier: Apache-2.0
#include "processors/redaction_mask.h"

#include "base/mem.h"
#include "base/text.h"
#include "processors/attribute_actions.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

const char *const mask_hash_names[] = {
    [MASK_NONE] = "none",
    [MASK_MD5] = "md5",
    [MASK_SHA1] = "sha1",
    [MASK_SHA3] = "sha3",
    [MASK_SHA256] = "sha256",
    [MASK_HMAC_SHA256] = "hmac-sha256",
    [MASK_HMAC_SHA512] = "hmac-sha512",
    NULL,
};

// --- patterns ---

enum err_code regex_list_init(struct regex_list *l, const struct config_strings *patterns, struct err *e)
{
    *l = (struct regex_list){0};
    if (patterns->count == 0)
        return ERR_OK;
    l->items = mem_alloc(patterns->count * sizeof(struct regex *));
    for (; l->count < patterns->count; l->count++) {
        if (regex_compile(bytes_from_text(patterns->items[l->count]), &l->items[l->count], e) == ERR_OK)
            continue;
        err_prefix(e, "[%zu]", l->count);
        return e->code;
    }
    return ERR_OK;
}

void regex_list_fini(struct regex_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        regex_destroy(&l->items[i]);
    free(l->items);
    *l = (struct regex_list){0};
}

bool regex_list_finds(const struct regex_list *l, struct bytes text)
{
    for (size_t i = 0; i < l->count; i++)
        if (regex_search(l->items[i], text, NULL, 0))
            return true;
    return false;
}

// --- hashes ---

static const EVP_MD *digest_of(enum mask_hash hash)
{
    switch (hash) {
    case MASK_MD5:
        return EVP_md5();
    case MASK_SHA1:
        return EVP_sha1();
    case MASK_SHA3:
        return EVP_sha3_256();
    case MASK_SHA256:
    case MASK_HMAC_SHA256:
        return EVP_sha256();
    case MASK_HMAC_SHA512:
        return EVP_sha512();
    case MASK_NONE:
        break;
    }
    return NULL;
}

static bool is_hmac(enum mask_hash hash)
{
    return hash == MASK_HMAC_SHA256 || hash == MASK_HMAC_SHA512;
}

static bool compute(const struct mask *m, struct bytes text, uint8_t *digest, unsigned *size)
{
    const EVP_MD *type = digest_of(m->hash);
    const uint8_t none[1] = {0}, *data = text.len == 0 ? none : text.data;
    if (is_hmac(m->hash))
        return HMAC(type, m->key.data, (int)m->key.len, data, text.len, digest, size) != NULL;
    return EVP_Digest(data, text.len, digest, size, type, NULL) == 1;
}

// Writes what stands for the text.
static bool add_mask(const struct mask *m, struct bytes text, struct buf *out)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    char hex[2 * EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (m->hash == MASK_NONE) {
        buf_add_text(out, "****");
        return true;
    }
    if (!compute(m, text, digest, &size))
        return false;
    hex_encode((struct bytes){digest, size}, hex);
    buf_add(out, hex, 2 * (size_t)size);
    return true;
}

enum err_code mask_whole(const struct mask *m, struct arena *arena, struct bytes text, struct bytes *out, struct err *e)
{
    struct buf masked;
    buf_init(&masked, 2 * EVP_MAX_MD_SIZE);
    bool ok = add_mask(m, text, &masked) && buf_ok(&masked) && arena_try_copy(arena, buf_bytes(&masked), out);
    buf_fini(&masked);
    return ok ? ERR_OK : attribute_no_memory(e);
}

// --- finds ---

// False when memory is out. Finds of nothing are none, but each is a search.
static bool replace_all(const struct mask *m, const struct regex *pattern, struct bytes text, struct buf *out,
                        unsigned *finds_out)
{
    size_t from = 0, kept = 0;
    unsigned searches = 0;
    struct bytes find;
    *finds_out = 0;
    for (; from < text.len && searches < MASK_MAX_FINDS && regex_search_from(pattern, text, from, &find, 1);
         searches++) {
        const size_t at = (size_t)(find.data - text.data);
        from = at + (find.len == 0 ? 1 : find.len);
        if (find.len == 0)
            continue;
        buf_add(out, text.data + kept, at - kept);
        if (!add_mask(m, find, out))
            return false;
        kept = from;
        ++*finds_out;
    }
    buf_add(out, text.data + kept, text.len - kept);
    if (searches == MASK_MAX_FINDS)
        *finds_out = MASK_MAX_FINDS;
    return buf_ok(out);
}

static enum err_code mask_pattern(const struct mask *m, const struct regex *pattern, struct arena *arena,
                                  struct bytes *text, bool *found_out, struct err *e)
{
    struct buf masked;
    unsigned finds;
    enum err_code rc = ERR_OK;
    buf_init(&masked, text->len + 2 * (size_t)EVP_MAX_MD_SIZE * MASK_MAX_FINDS);
    bool ok = replace_all(m, pattern, *text, &masked, &finds);
    if (ok && finds == MASK_MAX_FINDS)
        rc = mask_whole(m, arena, *text, text, e);
    else if (ok && finds > 0)
        ok = arena_try_copy(arena, buf_bytes(&masked), text);
    *found_out |= finds > 0;
    buf_fini(&masked);
    return ok ? rc : attribute_no_memory(e);
}

enum err_code mask_finds(const struct mask *m, const struct regex_list *patterns, struct arena *arena,
                         struct bytes *text, bool *found_out, struct err *e)
{
    enum err_code rc = ERR_OK;
    *found_out = false;
    for (size_t i = 0; rc == ERR_OK && i < patterns->count; i++)
        if (regex_search(patterns->items[i], *text, NULL, 0)) // most texts have none
            rc = mask_pattern(m, patterns->items[i], arena, text, found_out, e);
    return rc;
}
