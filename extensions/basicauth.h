// SPDX-License-Identifier: Apache-2.0
// Inside the extension `basicauth`: what its two sides share.
#ifndef EXTENSIONS_BASICAUTH_H
#define EXTENSIONS_BASICAUTH_H

#include "base/secret_line.h"
#include "extensions/extension.h"
#include "extensions/htpasswd.h"
#include "extensions/login_cache.h"
#include "net/authenticator.h"

#include <pthread.h>

struct basic_settings {
    bool has_htpasswd, has_client;
    const char *htpasswd_file, *htpasswd_inline;
    const char *username, *username_file, *password, *password_file;
};

struct basic {
    struct extension extension;
    struct authenticator authenticator;
    const struct basic_settings *settings;
    pthread_mutex_t lock; // of what follows
    // server
    struct htpasswd users;
    struct secret_file file;
    struct login_cache *cache;
    // client
    struct secret_line name, password; // of files
    char *header;
};

extern const struct authenticator_ops basic_server_ops, basic_client_ops;

// Files are read now. On what create has prepared, or a zeroed struct with settings and users; free_secrets is due.
enum err_code basic_load_users(struct basic *b, struct err *e) MUST_USE;
enum err_code basic_load_client(struct basic *b, struct err *e) MUST_USE;
void basic_free_secrets(struct basic *b);

static inline int64_t basic_now(const struct basic *b)
{
    return clock_monotonic_nanos(b->extension.component.env->clock);
}

#endif
