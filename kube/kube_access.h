// SPDX-License-Identifier: Apache-2.0
// Where a cluster's API is, and what lets us in: a pod's service account, a kubeconfig, or nothing.
#ifndef KUBE_KUBE_ACCESS_H
#define KUBE_KUBE_ACCESS_H

#include "base/arena.h"
#include "base/secret_line.h"
#include "kube/kube_watch.h"
#include "net/http_client.h"

struct kube_access {
    const char *server;         // "https://10.0.0.1:443", without a slash at its end
    const char *namespace_name; // that the credentials speak of; NULL = none
    const char *proxy_url;      // NULL = what the environment says
    struct tls_client_options tls;
    struct secret_line token; // of a file
    char *authorization;      // the header's value; NULL = none
    bool refused;             // the token file is looked at once more, at once
    struct arena arena;       // of all texts but the secrets
};

// In place; fini in either case. Reads files; blocks. Errors name the file or variable and the remedy.
enum err_code kube_access_init(struct kube_access *a, const struct kube_watch_settings *settings,
                               struct err *e) MUST_USE;
void kube_access_fini(struct kube_access *a);

// The value of Authorization for a request now, NULL = none; a token file that has changed is read before. Valid until
// the next call.
const char *kube_access_authorization(struct kube_access *a, int64_t now_nanos, const struct logger *log);
// The API said 401: perhaps the token is another by now.
void kube_access_refused(struct kube_access *a);

// For the parts of it (kube_config.c): reads a kubeconfig into a.
enum err_code kube_config_read(struct kube_access *a, const struct kube_watch_settings *settings,
                               struct err *e) MUST_USE;
enum err_code kube_access_use_token(struct kube_access *a, const char *token, struct err *e) MUST_USE;
enum err_code kube_access_use_token_file(struct kube_access *a, const char *path, struct err *e) MUST_USE;
enum err_code kube_access_use_server(struct kube_access *a, const char *url, struct err *e) MUST_USE;

#endif
