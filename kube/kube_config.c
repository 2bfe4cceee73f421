// SPDX-License-Identifier: Apache-2.0
// kubectl's configuration: clusters, users, and contexts that join one of each.
#include "base/base64.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"
#include "config/tree.h"
#include "kube/kube_access.h"

#include <errno.h>
#include <unistd.h>

enum { MAX_FILES = 16, PASSWORD_MAX_BYTES = 4096 };

// Several files count as one; of entries with the same name the first.
struct config_files {
    struct config_file {
        const char *path;
        const struct config_node *root;
    } items[MAX_FILES];
    size_t count;
};

// An entry of a list ("clusters"), and the file that it is of.
struct entry {
    const struct config_node *node; // what stands under "cluster"
    const char *name, *path;
};

// --- files ---

static enum err_code parse(struct kube_access *a, const char *path, struct bytes text, const struct config_node **out,
                           struct err *e)
{
    struct config_errors errors;
    enum err_code rc = ERR_OK;
    config_errors_init(&errors);
    *out = config_parse_yaml(&a->arena, text, path, &errors);
    if (*out == NULL && errors.count > 0)
        rc = err_set(e, ERR_INVALID, "%s:%d:%d: %s", path, errors.items[0].at.line, errors.items[0].at.column,
                     errors.items[0].text);
    else if (*out == NULL || (*out)->kind != CONFIG_MAP)
        rc = err_set(e, ERR_INVALID, "%s is no kubeconfig: it is empty, or has no keys", path);
    config_errors_fini(&errors);
    return rc;
}

static enum err_code read_file(struct kube_access *a, const char *path, const struct config_node **out, struct err *e)
{
    struct buf text;
    enum err_code rc = fd_read_file(path, LIMIT_CONFIG_BYTES, &text);
    if (rc == ERR_LIMIT)
        rc = err_set(e, ERR_LIMIT, "%s has more than the %d bytes that are allowed", path, LIMIT_CONFIG_BYTES);
    else if (rc != ERR_OK)
        rc = err_set(e, ERR_IO, "cannot read the kubeconfig %s: %s", path, strerror(errno));
    else
        rc = parse(a, path, buf_bytes(&text), out, e);
    buf_fini(&text);
    return rc;
}

static enum err_code add_file(struct kube_access *a, struct config_files *files, const char *path, struct err *e)
{
    struct config_file *f = &files->items[files->count];
    if (files->count == MAX_FILES)
        return err_set(e, ERR_LIMIT, "KUBECONFIG names more than the %d files that are allowed", MAX_FILES);
    f->path = path;
    enum err_code rc = read_file(a, path, &f->root, e);
    files->count += rc == ERR_OK;
    return rc;
}

// KUBECONFIG: a list, of which some need not be there.
static enum err_code add_list(struct kube_access *a, struct config_files *files, const char *list, struct err *e)
{
    enum err_code rc = ERR_OK;
    for (const char *end; rc == ERR_OK && *list != '\0'; list = *end == ':' ? end + 1 : end) {
        end = strchrnul(list, ':');
        const char *path = arena_copy_text(&a->arena, list, (size_t)(end - list));
        if (*path != '\0' && (access(path, F_OK) == 0 || *end == '\0'))
            rc = add_file(a, files, path, e);
    }
    if (rc == ERR_OK && files->count == 0)
        rc = err_set(e, ERR_IO, "none of the files that KUBECONFIG names is there");
    return rc;
}

static enum err_code read_files(struct kube_access *a, const struct kube_watch_settings *settings,
                                struct config_files *files, struct err *e)
{
    const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");
    if (settings->kubeconfig != NULL)
        return add_file(a, files, settings->kubeconfig, e);
    if (list != NULL && *list != '\0')
        return add_list(a, files, list, e);
    if (home == NULL)
        return err_set(e, ERR_INVALID, "auth_type kubeConfig: name the file with kubeconfig, or in KUBECONFIG");
    return add_file(a, files, arena_format(&a->arena, "%s/.kube/config", home), e);
}

// --- entries ---

static const char *text_of(const struct config_node *node, const char *key)
{
    const struct config_node *value = config_get(node, key);
    return value != NULL && value->kind == CONFIG_SCALAR && *value->text != '\0' ? value->text : NULL;
}

static bool flag_of(const struct config_node *node, const char *key)
{
    const char *text = text_of(node, key);
    return text != NULL && strcmp(text, "true") == 0;
}

static const struct config_node *find_named(const struct config_node *list, const char *name)
{
    for (size_t i = 0; list != NULL && list->kind == CONFIG_LIST && i < list->count; i++) {
        const char *found = text_of(list->items[i], "name");
        if (found != NULL && strcmp(found, name) == 0)
            return list->items[i];
    }
    return NULL;
}

// list "clusters", key "cluster".
static enum err_code find_entry(const struct config_files *files, const char *list, const char *key, const char *name,
                                struct entry *out, struct err *e)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct config_node *found = find_named(config_get(files->items[i].root, list), name);
        *out = (struct entry){config_get(found, key), name, files->items[i].path};
        if (out->node != NULL)
            return ERR_OK;
    }
    err_set(e, ERR_INVALID, "%s: there is no %s \"%s\" under %s", files->items[0].path, key, name, list);
    return ERR_INVALID;
}

static const char *current_context(const struct config_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const char *name = text_of(files->items[i].root, "current-context");
        if (name != NULL)
            return name;
    }
    return NULL;
}

// A path in a kubeconfig is relative to its folder.
static const char *path_of(struct kube_access *a, const struct entry *in, const char *key)
{
    const char *path = text_of(in->node, key), *slash = strrchr(in->path, '/');
    if (path == NULL || *path == '/' || slash == NULL)
        return path;
    return arena_format(&a->arena, "%.*s/%s", (int)(slash - in->path), in->path, path);
}

static enum err_code pem_of(struct kube_access *a, const struct entry *in, const char *key, const char **out,
                            struct err *e)
{
    const char *text = text_of(in->node, key);
    size_t len;
    *out = NULL;
    if (text == NULL)
        return ERR_OK;
    uint8_t *pem = arena_alloc(&a->arena, base64_decoded_max(strlen(text)) + 1);
    if (!base64_decode(bytes_from_text(text), pem, &len) || memchr(pem, '\0', len) != NULL)
        return err_set(e, ERR_INVALID, "%s: %s of \"%s\" is not base64 of PEM", in->path, key, in->name);
    *out = (const char *)pem;
    return ERR_OK;
}

// KEY-data goes before KEY.
static enum err_code use_material(struct kube_access *a, const struct entry *in, const char *key, const char **file_out,
                                  const char **pem_out, struct err *e)
{
    enum err_code rc = pem_of(a, in, arena_format(&a->arena, "%s-data", key), pem_out, e);
    *file_out = *pem_out == NULL ? path_of(a, in, key) : NULL;
    return rc;
}

// --- cluster and user ---

static enum err_code use_cluster(struct kube_access *a, const struct entry *in, struct err *e)
{
    const char *server = text_of(in->node, "server");
    if (server == NULL)
        return err_set(e, ERR_INVALID, "%s: the cluster \"%s\" has no server", in->path, in->name);
    if (kube_access_use_server(a, server, e) != ERR_OK) {
        err_prefix(e, "%s: the cluster \"%s\"", in->path, in->name);
        return e->code;
    }
    a->tls.insecure_skip_verify = flag_of(in->node, "insecure-skip-tls-verify");
    a->tls.server_name = text_of(in->node, "tls-server-name");
    a->proxy_url = text_of(in->node, "proxy-url");
    return use_material(a, in, "certificate-authority", &a->tls.ca_file, &a->tls.ca_pem, e);
}

static enum err_code refuse_programs(const struct entry *in, struct err *e)
{
    static const char *const keys[] = {"exec", "auth-provider"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct config_node *program = config_get(in->node, keys[i]);
        if (program != NULL && program->kind != CONFIG_NULL)
            return err_set(e, ERR_UNSUPPORTED,
                           "%s: the user \"%s\" logs in with %s: profrelay starts no programs. Make a user with a "
                           "tokenFile (kubectl create token) or a client certificate, or run it in a pod with "
                           "auth_type serviceAccount",
                           in->path, in->name, keys[i]);
    }
    return ERR_OK;
}

static void forget(struct buf *secret)
{
    if (secret->data != NULL)
        explicit_bzero(secret->data, secret->len);
    buf_fini(secret);
}

static enum err_code use_password(struct kube_access *a, const struct entry *in, struct err *e)
{
    const char *user = text_of(in->node, "username"), *password = text_of(in->node, "password");
    struct buf plain, value;
    if (user == NULL)
        return ERR_OK;
    buf_init(&plain, PASSWORD_MAX_BYTES);
    buf_init(&value, 2 * PASSWORD_MAX_BYTES);
    buf_add_format(&plain, "%s:%s", user, password != NULL ? password : "");
    buf_add_text(&value, "Basic ");
    base64_encode(buf_bytes(&plain), &value);
    buf_add_byte(&value, '\0');
    bool ok = buf_ok(&plain) && buf_ok(&value);
    if (ok)
        a->authorization = mem_copy_text((const char *)value.data);
    forget(&plain);
    forget(&value);
    return ok ? ERR_OK : err_set(e, ERR_LIMIT, "%s: the password of \"%s\" is too long", in->path, in->name);
}

static enum err_code use_login(struct kube_access *a, const struct entry *in, struct err *e)
{
    const char *token = text_of(in->node, "token"), *file = path_of(a, in, "tokenFile");
    if (file != NULL)
        return kube_access_use_token_file(a, file, e);
    if (token == NULL)
        return use_password(a, in, e);
    if (kube_access_use_token(a, token, e) != ERR_OK)
        err_prefix(e, "%s: the user \"%s\"", in->path, in->name);
    return a->authorization != NULL ? ERR_OK : e->code;
}

static enum err_code use_user(struct kube_access *a, const struct entry *in, struct err *e)
{
    enum err_code rc = refuse_programs(in, e);
    if (rc == ERR_OK)
        rc = use_material(a, in, "client-certificate", &a->tls.cert_file, &a->tls.cert_pem, e);
    if (rc == ERR_OK)
        rc = use_material(a, in, "client-key", &a->tls.key_file, &a->tls.key_pem, e);
    return rc == ERR_OK ? use_login(a, in, e) : rc;
}

static enum err_code use_context(struct kube_access *a, const struct config_files *files, const char *name,
                                 struct err *e)
{
    struct entry context = {0}, cluster = {0}, user = {0};
    enum err_code rc = find_entry(files, "contexts", "context", name, &context, e);
    if (rc != ERR_OK)
        return rc;
    const char *cluster_name = text_of(context.node, "cluster"), *user_name = text_of(context.node, "user");
    if (cluster_name == NULL)
        return err_set(e, ERR_INVALID, "%s: the context \"%s\" names no cluster", context.path, name);
    a->namespace_name = text_of(context.node, "namespace");
    rc = find_entry(files, "clusters", "cluster", cluster_name, &cluster, e);
    if (rc == ERR_OK)
        rc = use_cluster(a, &cluster, e);
    if (rc == ERR_OK && user_name != NULL)
        rc = find_entry(files, "users", "user", user_name, &user, e);
    return rc == ERR_OK && user_name != NULL ? use_user(a, &user, e) : rc;
}

enum err_code kube_config_read(struct kube_access *a, const struct kube_watch_settings *settings, struct err *e)
{
    struct config_files files = {.count = 0};
    enum err_code rc = read_files(a, settings, &files, e);
    if (rc != ERR_OK)
        return rc;
    const char *name = settings->context != NULL ? settings->context : current_context(&files);
    if (name == NULL)
        return err_set(e, ERR_INVALID, "%s has no current-context: name one with context", files.items[0].path);
    return use_context(a, &files, name, e);
}
