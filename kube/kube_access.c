// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_access.h"

#include "base/fd.h"
#include "base/mem.h"

enum {
    TOKEN_MAX_BYTES = 16 << 10,
    NAMESPACE_MAX_BYTES = 253,
};

static bool is_good_token(const char *token)
{
    return http_header_valid("Authorization", token);
}

static void set_bearer(struct kube_access *a, const char *token)
{
    size_t size = strlen(token) + sizeof "Bearer ";
    secret_text_forget(&a->authorization);
    a->authorization = mem_alloc(size);
    snprintf(a->authorization, size, "Bearer %s", token);
}

enum err_code kube_access_use_token(struct kube_access *a, const char *token, struct err *e)
{
    if (*token == '\0' || strlen(token) > TOKEN_MAX_BYTES || !is_good_token(token))
        return err_set(e, ERR_INVALID, "the token is empty, too long or has control characters");
    set_bearer(a, token);
    return ERR_OK;
}

enum err_code kube_access_use_token_file(struct kube_access *a, const char *path, struct err *e)
{
    const char *kept = arena_copy_text(&a->arena, path, strlen(path));
    enum err_code rc = secret_line_load(&a->token, kept, TOKEN_MAX_BYTES, is_good_token, e);
    if (rc == ERR_OK)
        set_bearer(a, a->token.text);
    return rc;
}

enum err_code kube_access_use_server(struct kube_access *a, const char *url, struct err *e)
{
    size_t len = strlen(url);
    if (http_url_check(url, e) != ERR_OK)
        return e->code;
    if (strchr(url, '?') != NULL)
        return err_set(e, ERR_INVALID, "%s has a query: an address of the API has none", url);
    while (len > 0 && url[len - 1] == '/')
        len--;
    a->server = arena_copy_text(&a->arena, url, len);
    return ERR_OK;
}

// --- in a pod ---

static enum err_code use_cluster_address(struct kube_access *a, struct err *e)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    if (host == NULL || port == NULL || *host == '\0' || *port == '\0')
        return err_set(e, ERR_INVALID,
                       "auth_type serviceAccount: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so "
                       "this is no pod: use auth_type kubeConfig");
    bool ipv6 = strchr(host, ':') != NULL && *host != '[';
    const char *url = arena_format(&a->arena, "https://%s%s%s:%s", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
    if (kube_access_use_server(a, url, e) == ERR_OK)
        return ERR_OK;
    err_prefix(e, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT");
    return e->code;
}

// Only told, never needed: whatever is wrong with it, there is none.
static void read_namespace(struct kube_access *a, const char *path)
{
    struct buf text;
    if (fd_read_file(path, NAMESPACE_MAX_BYTES, &text) == ERR_OK) {
        while (text.len > 0 && memchr(" \r\n", text.data[text.len - 1], 3) != NULL)
            text.len--;
        if (text.len > 0)
            a->namespace_name = arena_copy_text(&a->arena, (const char *)text.data, text.len);
    }
    buf_fini(&text);
}

static enum err_code use_service_account(struct kube_access *a, const struct kube_watch_settings *settings,
                                         struct err *e)
{
    const char *folder = settings->service_account_folder;
    if (settings->endpoint == NULL && use_cluster_address(a, e) != ERR_OK)
        return e->code;
    if (kube_access_use_token_file(a, arena_format(&a->arena, "%s/token", folder), e) != ERR_OK) {
        err_prefix(e, "the service account's token (has the pod automountServiceAccountToken: false?)");
        return e->code;
    }
    a->tls.ca_file = arena_format(&a->arena, "%s/ca.crt", folder);
    read_namespace(a, arena_format(&a->arena, "%s/namespace", folder));
    return ERR_OK;
}

static enum err_code use_nothing(struct kube_access *a, const char *endpoint, struct err *e)
{
    if (endpoint == NULL)
        return err_set(e, ERR_INVALID, "auth_type none: the address of the API is missing: set endpoint");
    return kube_access_use_server(a, endpoint, e);
}

// --- all ---

enum err_code kube_access_init(struct kube_access *a, const struct kube_watch_settings *settings, struct err *e)
{
    enum err_code rc = ERR_OK;
    *a = (struct kube_access){0};
    arena_init(&a->arena, 0);
    switch ((enum kube_auth_type)settings->auth_type) {
    case KUBE_AUTH_SERVICE_ACCOUNT:
        rc = use_service_account(a, settings, e);
        break;
    case KUBE_AUTH_KUBECONFIG:
        rc = kube_config_read(a, settings, e);
        break;
    case KUBE_AUTH_NONE:
        return use_nothing(a, settings->endpoint, e);
    }
    return rc == ERR_OK && settings->endpoint != NULL ? kube_access_use_server(a, settings->endpoint, e) : rc;
}

void kube_access_fini(struct kube_access *a)
{
    secret_text_forget(&a->authorization);
    secret_text_forget(&a->token.text);
    arena_fini(&a->arena);
}

const char *kube_access_authorization(struct kube_access *a, int64_t now_nanos, const struct logger *log)
{
    bool at_once = a->refused;
    a->refused = false;
    if (secret_line_refresh(&a->token, now_nanos, at_once, log))
        set_bearer(a, a->token.text);
    return a->authorization;
}

void kube_access_refused(struct kube_access *a)
{
    a->refused = true;
}
