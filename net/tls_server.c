// SPDX-License-Identifier: Apache-2.0
#include "net/tls_server.h"

#include "base/mem.h"
#include "net/tls_material.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>

enum { SUBJECT_MAX_BYTES = 1024 };

struct tls_server {
    struct tls_material material; // its ca_file: the clients'
    SSL_CTX *ctx;
    BIO_METHOD *bio_method;
};

static bool texts_equal(const char *const *a, size_t a_count, const char *const *b, size_t b_count)
{
    bool equal = a_count == b_count;
    for (size_t i = 0; equal && i < a_count; i++)
        equal = a[i] == b[i] || (a[i] != NULL && b[i] != NULL && strcmp(a[i], b[i]) == 0);
    return equal;
}

bool tls_server_options_equal(const struct tls_server_options *a, const struct tls_server_options *b)
{
    const struct tls_parameters *p = &a->parameters, *q = &b->parameters;
    const char *const ours[] = {a->cert_file,      a->cert_pem,    a->key_file,   a->key_pem,
                                a->client_ca_file, p->min_version, p->max_version};
    const char *const theirs[] = {b->cert_file,      b->cert_pem,    b->key_file,   b->key_pem,
                                  b->client_ca_file, q->min_version, q->max_version};
    return texts_equal(ours, COUNT_OF(ours), theirs, COUNT_OF(theirs)) &&
           texts_equal(p->cipher_suites, p->cipher_suite_count, q->cipher_suites, q->cipher_suite_count) &&
           texts_equal(p->curves, p->curve_count, q->curves, q->curve_count);
}

static enum err_code load_client_ca(const struct tls_server *t, SSL_CTX *ctx, struct err *e)
{
    if (t->material.ca_file == NULL)
        return ERR_OK;
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(t->material.ca_file);
    if (names == NULL || SSL_CTX_load_verify_locations(ctx, t->material.ca_file, NULL) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return err_set(e, ERR_IO, "tls.client_ca_file %s: %s", t->material.ca_file, tls_library_reason());
    }
    SSL_CTX_set_client_CA_list(ctx, names);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return ERR_OK;
}

// The first of ours that the client offers; ours are "h2,http/1.1".
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                   unsigned in_len, void *arg)
{
    const char *at = SSL_get_app_data(ssl);
    (void)arg;
    while (at != NULL && *at != '\0') {
        size_t len = strcspn(at, ",");
        for (unsigned i = 0; i < in_len; i += 1U + in[i])
            if (in[i] == len && i + 1 + len <= in_len && memcmp(in + i + 1, at, len) == 0) {
                *out = in + i + 1;
                *out_len = (unsigned char)len;
                return SSL_TLSEXT_ERR_OK;
            }
        at += at[len] == ',' ? len + 1 : len;
    }
    return SSL_TLSEXT_ERR_NOACK;
}

static enum err_code load(const struct tls_server *t, SSL_CTX **out, struct err *e)
{
    ERR_clear_error();
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    if (ctx == NULL)
        return err_set(e, ERR_UNAVAILABLE, "TLS cannot be initialised: %s", tls_library_reason());
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); // tickets do without
    SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"profrelay", 9);
    SSL_CTX_set_default_passwd_cb(ctx, tls_no_password);
    SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
    enum err_code code = tls_material_apply(&t->material, ctx, e);
    if (code == ERR_OK)
        code = load_client_ca(t, ctx, e);
    if (code != ERR_OK) {
        SSL_CTX_free(ctx);
        return code;
    }
    *out = ctx;
    return ERR_OK;
}

static enum err_code check_options(const struct tls_server_options *o, struct err *e)
{
    if ((o->cert_file != NULL && o->cert_pem != NULL) || (o->key_file != NULL && o->key_pem != NULL))
        return err_set(e, ERR_INVALID, "tls: a file and PEM text are given for the same thing: keep one");
    if ((o->cert_file == NULL && o->cert_pem == NULL) || (o->key_file == NULL && o->key_pem == NULL))
        return err_set(e, ERR_INVALID,
                       "tls: a server needs both a certificate (cert_file or cert_pem) and a key "
                       "(key_file or key_pem)");
    return ERR_OK;
}

enum err_code tls_server_create(const struct tls_server_options *options, struct tls_server **out, struct err *e)
{
    *out = NULL;
    enum err_code code = check_options(options, e);
    if (code != ERR_OK)
        return code;
    struct tls_server *t = MEM_NEW(struct tls_server);
    tls_material_init(&t->material, &(struct tls_material_source){.cert_file = options->cert_file,
                                                                  .cert_pem = options->cert_pem,
                                                                  .key_file = options->key_file,
                                                                  .key_pem = options->key_pem,
                                                                  .ca_file = options->client_ca_file,
                                                                  .parameters = &options->parameters});
    (void)tls_material_changed(&t->material);
    code = load(t, &t->ctx, e);
    if (code != ERR_OK) {
        tls_server_destroy(&t);
        return code;
    }
    t->bio_method = tls_bio_method_create();
    *out = t;
    return ERR_OK;
}

void tls_server_destroy(struct tls_server **server)
{
    struct tls_server *t = *server;
    if (t == NULL)
        return;
    *server = NULL;
    SSL_CTX_free(t->ctx);
    BIO_meth_free(t->bio_method);
    tls_material_fini(&t->material);
    free(t);
}

enum err_code tls_server_reload(struct tls_server *t, bool *changed_out, struct err *e)
{
    SSL_CTX *ctx = NULL;
    *changed_out = false;
    if (!tls_material_changed(&t->material))
        return ERR_OK;
    enum err_code code = load(t, &ctx, e);
    if (code != ERR_OK)
        return code;
    SSL_CTX_free(t->ctx);
    t->ctx = ctx;
    *changed_out = true;
    return ERR_OK;
}

struct tls_session *tls_server_session(struct tls_server *t, const char *alpn)
{
    struct tls_session *s = tls_session_attach(t->ctx, t->bio_method);
    CHECK(SSL_set_app_data(s->ssl, (void *)(uintptr_t)alpn) == 1);
    SSL_set_accept_state(s->ssl);
    return s;
}

char *tls_session_subject(const struct tls_session *s)
{
    X509 *x = SSL_get0_peer_certificate(s->ssl);
    if (x == NULL || SSL_get_verify_result(s->ssl) != X509_V_OK)
        return NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    CHECK(bio != NULL);
    char *text = NULL, *data;
    if (X509_NAME_print_ex(bio, X509_get_subject_name(x), 0, XN_FLAG_RFC2253) > 0) {
        size_t len = (size_t)BIO_get_mem_data(bio, &data);
        if (len <= SUBJECT_MAX_BYTES && (text = mem_try_alloc(len + 1)) != NULL) {
            memcpy(text, data, len);
            text[len] = '\0';
        }
    }
    BIO_free(bio);
    return text;
}
