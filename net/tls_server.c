// SPDX-License-Identifier: Apache-2.0
#include "net/tls_server.h"

#include "base/mem.h"
#include "net/tls_session.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES = 3, SUBJECT_MAX_BYTES = 1024 };

struct file_mark {
    struct timespec changed;
    off_t size;
    ino_t inode;
};

struct tls_server {
    char *cert_file, *cert_pem, *key_file, *key_pem, *client_ca_file;
    struct tls_parameters parameters;
    char **names; // that parameters points to
    size_t name_count;
    struct file_mark marks[FILES];
    SSL_CTX *ctx;
    BIO_METHOD *bio_method;
};

static const char *const *copy_names(struct tls_server *t, const char *const *names, size_t count)
{
    if (count == 0)
        return NULL;
    char **at = t->names + t->name_count;
    for (size_t i = 0; i < count; i++)
        at[i] = mem_copy_text(names[i]);
    t->name_count += count;
    return (const char *const *)at;
}

static struct tls_server *copy_options(const struct tls_server_options *o)
{
    struct tls_server *t = MEM_NEW(struct tls_server);
    const struct tls_parameters *p = &o->parameters;
    t->cert_file = mem_copy_text(o->cert_file);
    t->cert_pem = mem_copy_text(o->cert_pem);
    t->key_file = mem_copy_text(o->key_file);
    t->key_pem = mem_copy_text(o->key_pem);
    t->client_ca_file = mem_copy_text(o->client_ca_file);
    t->names = mem_alloc((p->cipher_suite_count + p->curve_count + 2) * sizeof *t->names);
    t->parameters = *p;
    t->parameters.cipher_suites = copy_names(t, p->cipher_suites, p->cipher_suite_count);
    t->parameters.curves = copy_names(t, p->curves, p->curve_count);
    t->parameters.min_version = t->names[t->name_count++] = mem_copy_text(p->min_version);
    t->parameters.max_version = t->names[t->name_count++] = mem_copy_text(p->max_version);
    return t;
}

static void look(const struct tls_server *t, struct file_mark marks[FILES])
{
    const char *const paths[FILES] = {t->cert_file, t->key_file, t->client_ca_file};
    for (size_t i = 0; i < FILES; i++) {
        struct stat s;
        marks[i] = (struct file_mark){0};
        if (paths[i] != NULL && stat(paths[i], &s) == 0)
            marks[i] = (struct file_mark){s.st_mtim, s.st_size, s.st_ino};
    }
}

static bool marks_equal(const struct file_mark *a, const struct file_mark *b)
{
    bool equal = true;
    for (size_t i = 0; i < FILES; i++)
        equal = equal && a[i].changed.tv_sec == b[i].changed.tv_sec && a[i].changed.tv_nsec == b[i].changed.tv_nsec &&
                a[i].size == b[i].size && a[i].inode == b[i].inode;
    return equal;
}

static bool use_pem_chain(SSL_CTX *ctx, const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    CHECK(bio != NULL);
    X509 *x = PEM_read_bio_X509(bio, NULL, tls_no_password, NULL);
    bool ok = x != NULL && SSL_CTX_use_certificate(ctx, x) == 1;
    X509_free(x);
    while (ok && (x = PEM_read_bio_X509(bio, NULL, tls_no_password, NULL)) != NULL)
        ok = SSL_CTX_add0_chain_cert(ctx, x) == 1;
    BIO_free(bio);
    return ok;
}

static bool use_pem_key(SSL_CTX *ctx, const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    CHECK(bio != NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, tls_no_password, NULL);
    bool ok = key != NULL && SSL_CTX_use_PrivateKey(ctx, key) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    return ok;
}

static enum err_code load_certificate(const struct tls_server *t, SSL_CTX *ctx, struct err *e)
{
    if (t->cert_file != NULL && SSL_CTX_use_certificate_chain_file(ctx, t->cert_file) != 1)
        return err_set(e, ERR_IO, "tls.cert_file %s: %s", t->cert_file, tls_library_reason());
    if (t->cert_pem != NULL && !use_pem_chain(ctx, t->cert_pem))
        return err_set(e, ERR_INVALID, "tls.cert_pem: %s", tls_library_reason());
    ERR_clear_error();
    if (t->key_file != NULL && SSL_CTX_use_PrivateKey_file(ctx, t->key_file, SSL_FILETYPE_PEM) != 1)
        return err_set(e, ERR_IO, "tls.key_file %s: %s", t->key_file, tls_library_reason());
    if (t->key_pem != NULL && !use_pem_key(ctx, t->key_pem))
        return err_set(e, ERR_INVALID, "tls.key_pem: %s", tls_library_reason());
    if (SSL_CTX_check_private_key(ctx) != 1)
        return err_set(e, ERR_INVALID, "the TLS key does not belong to the certificate: %s", tls_library_reason());
    return ERR_OK;
}

static enum err_code load_client_ca(const struct tls_server *t, SSL_CTX *ctx, struct err *e)
{
    if (t->client_ca_file == NULL)
        return ERR_OK;
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(t->client_ca_file);
    if (names == NULL || SSL_CTX_load_verify_locations(ctx, t->client_ca_file, NULL) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return err_set(e, ERR_IO, "tls.client_ca_file %s: %s", t->client_ca_file, tls_library_reason());
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
    enum err_code code = tls_parameters_apply(&t->parameters, ctx, e);
    if (code == ERR_OK)
        code = load_certificate(t, ctx, e);
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
    struct tls_server *t = copy_options(options);
    look(t, t->marks);
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
    for (size_t i = 0; i < t->name_count; i++)
        free(t->names[i]);
    free(t->names);
    free(t->cert_file);
    free(t->cert_pem);
    if (t->key_pem != NULL)
        OPENSSL_cleanse(t->key_pem, strlen(t->key_pem));
    free(t->key_pem);
    free(t->key_file);
    free(t->client_ca_file);
    free(t);
}

enum err_code tls_server_reload(struct tls_server *t, bool *changed_out, struct err *e)
{
    struct file_mark marks[FILES];
    SSL_CTX *ctx;
    *changed_out = false;
    look(t, marks);
    if (marks_equal(marks, t->marks))
        return ERR_OK;
    memcpy(t->marks, marks, sizeof marks);
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
