// SPDX-License-Identifier: Apache-2.0
// Lines of htpasswd: "user:hash". Hashes: bcrypt ($2y$, $2b$, $2a$), apr1, {SHA}, SHA-crypt ($5$, $6$).
#ifndef EXTENSIONS_HTPASSWD_H
#define EXTENSIONS_HTPASSWD_H

#include "base/arena.h"
#include "base/err.h"

struct htpasswd_entry {
    const char *user, *hash;
    bool is_slow; // its hash takes milliseconds, or much more
};

struct htpasswd {
    struct htpasswd_entry *entries;
    size_t count, capacity;
    struct arena arena;
};

void htpasswd_init(struct htpasswd *h);
void htpasswd_fini(struct htpasswd *h);
// Adds the lines of text; of several with the same user the last counts. Errors name line and user, never a hash.
enum err_code htpasswd_add(struct htpasswd *h, struct bytes text, struct err *e) MUST_USE;
const struct htpasswd_entry *htpasswd_find(const struct htpasswd *h, struct bytes user); // NULL = none
// Takes the time of the hash; any thread.
bool htpasswd_matches(const char *hash, struct bytes password);

#endif
