// SPDX-License-Identifier: Apache-2.0
// Inside processors/: what is found in a text gives way to asterisks or to its hash.
#ifndef PROCESSORS_REDACTION_MASK_H
#define PROCESSORS_REDACTION_MASK_H

#include "base/arena.h"
#include "base/regex.h"
#include "config/fields.h"

enum mask_hash {
    MASK_NONE,
    MASK_MD5,
    MASK_SHA1,
    MASK_SHA3,
    MASK_SHA256,
    MASK_HMAC_SHA256,
    MASK_HMAC_SHA512,
};
extern const char *const mask_hash_names[]; // as the Collector writes them

struct mask {
    enum mask_hash hash;
    struct bytes key; // for HMACs
};

// Above so many finds the whole text is masked: looking on could take long.
enum { MASK_MAX_FINDS = 1000 };

struct regex_list {
    struct regex **items;
    size_t count;
};

// ERR_INVALID names the entry. fini is due also after a failure.
enum err_code regex_list_init(struct regex_list *l, const struct config_strings *patterns, struct err *e) MUST_USE;
void regex_list_fini(struct regex_list *l);
bool regex_list_finds(const struct regex_list *l, struct bytes text);

// What stands for this text, in arena.
enum err_code mask_whole(const struct mask *m, struct arena *arena, struct bytes text, struct bytes *out,
                         struct err *e) MUST_USE;
// *text with all finds of all patterns masked, one pattern after the other; *found_out tells whether there were any.
enum err_code mask_finds(const struct mask *m, const struct regex_list *patterns, struct arena *arena,
                         struct bytes *text, bool *found_out, struct err *e) MUST_USE;

#endif
