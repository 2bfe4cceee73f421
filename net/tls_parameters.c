// SPDX-License-Identifier: Apache-2.0
#include "net/tls_parameters.h"

#include "base/buf.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

enum { LIST_MAX_BYTES = 8 << 10 };

static const struct {
    const char *name;
    int version;
} versions[] = {{"1.0", TLS1_VERSION}, {"1.1", TLS1_1_VERSION}, {"1.2", TLS1_2_VERSION}, {"1.3", TLS1_3_VERSION}};

// The Collector's name, OpenSSL's name.
static const char *const curve_names[][2] = {{"X25519", "X25519"},
                                             {"P256", "P-256"},
                                             {"P384", "P-384"},
                                             {"P521", "P-521"},
                                             {"X25519MLKEM768", "X25519MLKEM768"}};

static enum err_code find_version(const char *key, const char *name, int otherwise, int *out, struct err *e)
{
    *out = otherwise;
    if (name == NULL || *name == '\0')
        return ERR_OK;
    for (size_t i = 0; i < COUNT_OF(versions); i++)
        if (strcmp(versions[i].name, name) == 0) {
            *out = versions[i].version;
            return ERR_OK;
        }
    return err_set(e, ERR_INVALID, "tls.%s \"%s\" is not one of 1.0, 1.1, 1.2, 1.3", key, name);
}

static enum err_code find_versions(const struct tls_parameters *p, int *min_out, int *max_out, struct err *e)
{
    enum err_code code = find_version("min_version", p->min_version, TLS1_2_VERSION, min_out, e);
    if (code == ERR_OK)
        code = find_version("max_version", p->max_version, 0, max_out, e);
    if (code == ERR_OK && *max_out != 0 && *max_out < *min_out)
        return err_set(e, ERR_INVALID, "tls.max_version is below tls.min_version");
    return code;
}

static const char *curve_name(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(curve_names); i++)
        if (strcmp(curve_names[i][0], name) == 0)
            return curve_names[i][1];
    return NULL;
}

enum err_code tls_parameters_check(const struct tls_parameters *p, struct err *e)
{
    int min, max;
    for (size_t i = 0; i < p->curve_count; i++)
        if (curve_name(p->curves[i]) == NULL)
            return err_set(e, ERR_INVALID,
                           "tls.curve_preferences: \"%s\" is not one of X25519, P256, P384, P521, X25519MLKEM768",
                           p->curves[i]);
    return find_versions(p, &min, &max, e);
}

static void append(struct buf *list, const char *name)
{
    if (list->len > 0)
        buf_add_byte(list, ':');
    buf_add_text(list, name);
}

// TLS 1.3 has suites of its own; the order of each kind is kept.
static enum err_code apply_suites(const struct tls_parameters *p, SSL_CTX *ctx, struct err *e)
{
    struct buf old, new;
    enum err_code code = ERR_OK;
    buf_init(&old, LIST_MAX_BYTES);
    buf_init(&new, LIST_MAX_BYTES);
    for (size_t i = 0; i < p->cipher_suite_count && code == ERR_OK; i++) {
        const char *name = p->cipher_suites[i], *own = OPENSSL_cipher_name(name);
        bool is_new = strncmp(name, "TLS_", 4) == 0 && strstr(name, "_WITH_") == NULL;
        append(is_new ? &new : &old, strcmp(own, "(NONE)") == 0 ? name : own);
        SSL_CTX *probe = SSL_CTX_new(TLS_method());
        CHECK(probe != NULL);
        bool known = is_new ? SSL_CTX_set_ciphersuites(probe, name) == 1
                            : SSL_CTX_set_cipher_list(probe, strcmp(own, "(NONE)") == 0 ? name : own) == 1;
        SSL_CTX_free(probe);
        if (!known)
            code = err_set(e, ERR_INVALID, "tls.cipher_suites: \"%s\" is not known or not safe", name);
    }
    buf_add_byte(&old, 0);
    buf_add_byte(&new, 0);
    if (code == ERR_OK && (!buf_ok(&old) || !buf_ok(&new)))
        code = err_set(e, ERR_LIMIT, "tls.cipher_suites is longer than %d bytes", LIST_MAX_BYTES);
    if (code == ERR_OK && old.len > 1 && SSL_CTX_set_cipher_list(ctx, (const char *)old.data) != 1)
        code = err_set(e, ERR_INVALID, "tls.cipher_suites names nothing that can be used");
    if (code == ERR_OK && new.len > 1 && SSL_CTX_set_ciphersuites(ctx, (const char *)new.data) != 1)
        code = err_set(e, ERR_INVALID, "tls.cipher_suites names nothing that can be used");
    buf_fini(&old);
    buf_fini(&new);
    ERR_clear_error();
    return code;
}

// A curve that this OpenSSL does not have is left out, as long as another one is there.
static enum err_code apply_curves(const struct tls_parameters *p, SSL_CTX *ctx, struct err *e)
{
    char list[256] = "";
    size_t len = 0;
    SSL_CTX *probe = SSL_CTX_new(TLS_method());
    CHECK(probe != NULL);
    for (size_t i = 0; i < p->curve_count; i++) {
        const char *name = curve_name(p->curves[i]);
        if (SSL_CTX_set1_groups_list(probe, name) == 1 && len + strlen(name) + 2 < sizeof list)
            len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", len > 0 ? ":" : "", name);
    }
    SSL_CTX_free(probe);
    bool ok = len > 0 && SSL_CTX_set1_groups_list(ctx, list) == 1;
    ERR_clear_error();
    return ok ? ERR_OK : err_set(e, ERR_UNSUPPORTED, "tls.curve_preferences names nothing that this OpenSSL has");
}

enum err_code tls_parameters_apply(const struct tls_parameters *p, void *context, struct err *e)
{
    SSL_CTX *ctx = context;
    int min, max;
    enum err_code code = tls_parameters_check(p, e);
    if (code == ERR_OK)
        code = find_versions(p, &min, &max, e);
    if (code != ERR_OK)
        return code;
    SSL_CTX_set_min_proto_version(ctx, min);
    SSL_CTX_set_max_proto_version(ctx, max);
    if (p->cipher_suite_count > 0)
        code = apply_suites(p, ctx, e);
    if (code == ERR_OK && p->curve_count > 0)
        code = apply_curves(p, ctx, e);
    return code;
}

const char *tls_error_text(const struct err *e)
{
    if (strncmp(e->text, "tls.", 4) == 0)
        return e->text + 4;
    return strncmp(e->text, "tls: ", 5) == 0 ? e->text + 5 : e->text;
}
