// SPDX-License-Identifier: Apache-2.0
#include "net/tls_material.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

enum { OUTPUT_MAX_BYTES = 1 << 20 };

struct tls_context {
    struct tls_material material;
    char *ca_pem, *server_name;
    bool include_system_ca, insecure_skip_verify;
    SSL_CTX *ssl_ctx;
    BIO_METHOD *bio_method;
};

static int on_bio_write(BIO *bio, const char *data, size_t len, size_t *written)
{
    struct tls_session *s = BIO_get_data(bio);
    buf_add(&s->output, data, len);
    *written = len;
    return buf_ok(&s->output);
}

static int on_bio_read(BIO *bio, char *data, size_t size, size_t *read_out)
{
    struct tls_session *s = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (s->input.len == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    size_t n = size < s->input.len ? size : s->input.len;
    memcpy(data, s->input.data, n);
    s->input.data += n;
    s->input.len -= n;
    *read_out = n;
    return 1;
}

static long on_bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

struct tls_context *tls_context_create(const struct tls_client_options *options)
{
    struct tls_context *t = MEM_NEW(struct tls_context);
    tls_material_init(&t->material, &(struct tls_material_source){.cert_file = options->cert_file,
                                                                  .cert_pem = options->cert_pem,
                                                                  .key_file = options->key_file,
                                                                  .key_pem = options->key_pem,
                                                                  .ca_file = options->ca_file,
                                                                  .parameters = &options->parameters});
    t->ca_pem = mem_copy_text(options->ca_pem);
    t->include_system_ca = options->include_system_ca;
    t->server_name = mem_copy_text(options->server_name);
    t->insecure_skip_verify = options->insecure_skip_verify;
    return t;
}

// What users meet, in words that say what to do; NULL = the library's own will do.
static const char *plain_words(unsigned long code)
{
    static const struct {
        int library, reason;
        const char *words;
    } plain[] = {
        {ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH, "the key does not belong to the certificate"},
        {ERR_LIB_PEM, PEM_R_NO_START_LINE, "there is no certificate in PEM form in it"},
        {ERR_LIB_PEM, PEM_R_BAD_END_LINE, "it is cut off"},
        {ERR_LIB_PEM, PEM_R_BAD_DECRYPT, "it is encrypted: give a key without a password"},
        {ERR_LIB_PKCS12, PKCS12_R_PKCS12_CIPHERFINAL_ERROR, "it is encrypted: give a key without a password"},
        {ERR_LIB_OSSL_DECODER, ERR_R_UNSUPPORTED, "there is no private key in PEM form in it"},
    };
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        if (ERR_GET_LIB(code) == plain[i].library && ERR_GET_REASON(code) == plain[i].reason)
            return plain[i].words;
    return NULL;
}

// The system's error or what has plain words, wherever it stands, else the library's newest reason.
const char *tls_library_reason(void)
{
    unsigned long code = ERR_peek_last_error();
    for (unsigned long older; (older = ERR_get_error()) != 0;)
        if (ERR_SYSTEM_ERROR(older) || plain_words(older) != NULL)
            code = older;
    if (ERR_SYSTEM_ERROR(code))
        return strerror(ERR_GET_REASON(code));
    const char *reason = plain_words(code) != NULL ? plain_words(code) : ERR_reason_error_string(code);
    return reason ? reason : "unknown error";
}

int tls_no_password(char *out, int size, int writing, void *arg)
{
    (void)out;
    (void)size;
    (void)writing;
    (void)arg;
    return 0;
}

static enum err_code add_ca_pem(SSL_CTX *ctx, const char *pem, struct err *e)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    CHECK(bio != NULL);
    size_t count = 0;
    for (X509 *x; (x = PEM_read_bio_X509(bio, NULL, tls_no_password, NULL)) != NULL; count++) {
        int added = X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), x);
        X509_free(x);
        CHECK(added == 1);
    }
    BIO_free(bio);
    ERR_clear_error();
    return count > 0 ? ERR_OK : err_set(e, ERR_INVALID, "tls.ca_pem: there is no certificate in PEM form in it");
}

static enum err_code load_authorities(const struct tls_context *t, SSL_CTX *ctx, struct err *e)
{
    if (t->material.ca_file != NULL && SSL_CTX_load_verify_locations(ctx, t->material.ca_file, NULL) != 1)
        return err_set(e, ERR_IO, "tls.ca_file %s: %s", t->material.ca_file, tls_library_reason());
    if ((t->material.ca_file == NULL && t->ca_pem == NULL) || t->include_system_ca)
        SSL_CTX_set_default_verify_paths(ctx);
    return t->ca_pem != NULL ? add_ca_pem(ctx, t->ca_pem, e) : ERR_OK;
}

static enum err_code check_pair(const struct tls_material *m, struct err *e)
{
    bool cert = m->cert_file != NULL || m->cert_pem != NULL, key = m->key_file != NULL || m->key_pem != NULL;
    if ((m->cert_file != NULL && m->cert_pem != NULL) || (m->key_file != NULL && m->key_pem != NULL))
        return err_set(e, ERR_INVALID, "tls: a file and PEM text are given for the same thing: keep one");
    if (cert != key)
        return err_set(e, ERR_INVALID, "tls.cert_file and tls.key_file (or their PEM texts) are needed together");
    return ERR_OK;
}

BIO_METHOD *tls_bio_method_create(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "profrelay");
    CHECK(method != NULL);
    BIO_meth_set_write_ex(method, on_bio_write);
    BIO_meth_set_read_ex(method, on_bio_read);
    BIO_meth_set_ctrl(method, on_bio_control);
    return method;
}

static enum err_code load(const struct tls_context *t, SSL_CTX **out, struct err *e)
{
    ERR_clear_error();
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    if (ctx == NULL)
        return err_set(e, ERR_UNAVAILABLE, "TLS cannot be initialised: %s", tls_library_reason());
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_default_passwd_cb(ctx, tls_no_password);
    SSL_CTX_set_verify(ctx, t->insecure_skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    enum err_code code = check_pair(&t->material, e);
    if (code == ERR_OK)
        code = load_authorities(t, ctx, e);
    if (code == ERR_OK)
        code = tls_material_apply(&t->material, ctx, e);
    if (code != ERR_OK) {
        SSL_CTX_free(ctx);
        return code;
    }
    *out = ctx;
    return ERR_OK;
}

enum err_code tls_context_prepare(struct tls_context *t, struct err *e)
{
    if (t->ssl_ctx != NULL)
        return ERR_OK;
    (void)tls_material_changed(&t->material);
    enum err_code code = load(t, &t->ssl_ctx, e);
    if (code == ERR_OK && t->bio_method == NULL)
        t->bio_method = tls_bio_method_create();
    return code;
}

enum err_code tls_context_reload(struct tls_context *t, bool *changed_out, struct err *e)
{
    SSL_CTX *ctx = NULL;
    *changed_out = false;
    if (t->ssl_ctx == NULL || !tls_material_changed(&t->material))
        return ERR_OK;
    enum err_code code = load(t, &ctx, e);
    if (code != ERR_OK)
        return code;
    SSL_CTX_free(t->ssl_ctx);
    t->ssl_ctx = ctx;
    *changed_out = true;
    return ERR_OK;
}

void tls_context_destroy(struct tls_context **context)
{
    struct tls_context *t = *context;
    if (t == NULL)
        return;
    *context = NULL;
    SSL_CTX_free(t->ssl_ctx);
    BIO_meth_free(t->bio_method);
    tls_material_fini(&t->material);
    free(t->ca_pem);
    free(t->server_name);
    free(t);
}

// The name or address the certificate must be for; only names are sent as SNI (RFC 6066 §3).
static bool expect_name(struct tls_session *s, const char *name)
{
    uint8_t address[16];
    snprintf(s->name, sizeof s->name, "%s", name);
    if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s->ssl), name) == 1;
    SSL_set_hostflags(s->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(s->ssl, name) == 1 && SSL_set_tlsext_host_name(s->ssl, name) == 1;
}

// "h2,http/1.1" as length-prefixed names (RFC 7301 §3.1).
static bool offer_alpn(SSL *ssl, const char *protocols)
{
    uint8_t wire[64];
    size_t len = strlen(protocols), begin = 0;
    CHECK(len > 0 && len < sizeof wire);
    memcpy(wire + 1, protocols, len);
    for (size_t i = 1; i <= len + 1; i++) {
        if (i <= len && wire[i] != ',')
            continue;
        wire[begin] = (uint8_t)(i - begin - 1);
        begin = i;
    }
    return SSL_set_alpn_protos(ssl, wire, (unsigned)len + 1) == 0;
}

struct tls_session *tls_session_attach(SSL_CTX *ctx, BIO_METHOD *method)
{
    struct tls_session *s = MEM_NEW(struct tls_session);
    buf_init(&s->output, OUTPUT_MAX_BYTES);
    s->ssl = SSL_new(ctx);
    BIO *bio = BIO_new(method);
    CHECK(s->ssl != NULL && bio != NULL);
    BIO_set_data(bio, s);
    BIO_set_init(bio, 1);
    SSL_set_bio(s->ssl, bio, bio);
    return s;
}

enum err_code tls_session_create(struct tls_context *t, const char *host, const char *alpn, struct tls_session **out,
                                 struct err *e)
{
    *out = NULL;
    enum err_code code = tls_context_prepare(t, e);
    if (code != ERR_OK)
        return code;
    struct tls_session *s = tls_session_attach(t->ssl_ctx, t->bio_method);
    SSL_set_connect_state(s->ssl);
    if (!expect_name(s, t->server_name ? t->server_name : host) || (alpn != NULL && !offer_alpn(s->ssl, alpn))) {
        code = err_set(e, ERR_INVALID, "\"%s\" cannot be a TLS server name", s->name);
        tls_session_destroy(&s);
    }
    *out = s;
    return code;
}

void tls_session_destroy(struct tls_session **s)
{
    if (*s == NULL)
        return;
    SSL_free((*s)->ssl);
    buf_fini(&(*s)->output);
    free(*s);
    *s = NULL;
}

void tls_session_feed(struct tls_session *s, struct bytes received)
{
    CHECK(s->input.len == 0);
    s->input = received;
}

static void explain_verify(const struct tls_session *s, long result, struct err *e)
{
    const char *reason = X509_verify_cert_error_string(result);
    switch (result) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        err_set(e, ERR_INVALID,
                "certificate verify failed (it is not for \"%s\"): use the name it is for, or set "
                "tls.server_name_override",
                s->name);
        break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        err_set(e, ERR_INVALID, "certificate verify failed (%s): renew it, or set this machine's clock", reason);
        break;
    default:
        err_set(e, ERR_INVALID, "certificate verify failed (%s): set tls.%s to the CA that signed it", reason,
                SSL_is_server(s->ssl) ? "client_ca_file" : "ca_file");
    }
}

// The last: a CA of the same name, with another key.
static bool is_distrust(int reason)
{
    return reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA || reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE ||
           reason == SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN || reason == SSL_R_TLSV1_ALERT_DECRYPT_ERROR;
}

static enum tls_result explain_failure(struct tls_session *s, struct err *e)
{
    long verify = SSL_get_verify_result(s->ssl);
    unsigned long code = ERR_peek_last_error();
    if (ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED && verify != X509_V_OK)
        explain_verify(s, verify, e);
    else if (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER)
        err_set(e, ERR_INVALID, "the peer does not speak TLS: is it a http:// endpoint?");
    else if (ERR_GET_REASON(code) == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED)
        err_set(e, ERR_INVALID, "the peer wants a client certificate: set tls.cert_file and tls.key_file");
    else if (ERR_GET_REASON(code) == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
        err_set(e, ERR_INVALID, "the client shows no certificate, but tls.client_ca_file asks for one");
    else if (is_distrust(ERR_GET_REASON(code)))
        err_set(e, ERR_INVALID,
                "the peer does not trust the certificate shown to it (%s): make it trust the CA "
                "that signed it",
                tls_library_reason());
    else if (!buf_ok(&s->output))
        err_set(e, ERR_MEMORY, "out of memory");
    else
        err_set(e, ERR_IO, "%s", tls_library_reason());
    ERR_clear_error();
    return TLS_FAILED;
}

static enum tls_result outcome(struct tls_session *s, int result, struct err *e)
{
    if (result > 0)
        return TLS_OK;
    switch (SSL_get_error(s->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return TLS_MORE;
    case SSL_ERROR_ZERO_RETURN:
        return TLS_ENDED;
    default:
        return explain_failure(s, e);
    }
}

enum tls_result tls_session_handshake(struct tls_session *s, struct err *e)
{
    ERR_clear_error();
    return outcome(s, SSL_do_handshake(s->ssl), e);
}

enum tls_result tls_session_read(struct tls_session *s, uint8_t *data, size_t size, size_t *len_out, struct err *e)
{
    ERR_clear_error();
    return outcome(s, SSL_read_ex(s->ssl, data, size, len_out), e);
}

enum tls_result tls_session_write(struct tls_session *s, struct bytes data, struct err *e)
{
    size_t written = 0;
    ERR_clear_error();
    enum tls_result result = outcome(s, SSL_write_ex(s->ssl, data.data, data.len, &written), e);
    if (result == TLS_OK && written == data.len)
        return TLS_OK;
    if (result != TLS_FAILED)
        err_set(e, ERR_IO, "the peer stopped the stream");
    return TLS_FAILED;
}

void tls_session_goodbye(struct tls_session *s)
{
    if (s->goodbye_sent || !SSL_is_init_finished(s->ssl))
        return;
    s->goodbye_sent = true;
    ERR_clear_error();
    SSL_shutdown(s->ssl);
    ERR_clear_error();
}

struct buf *tls_session_output(struct tls_session *s)
{
    return &s->output;
}

struct bytes tls_session_alpn(const struct tls_session *s)
{
    const unsigned char *name = NULL;
    unsigned len = 0;
    SSL_get0_alpn_selected(s->ssl, &name, &len);
    return (struct bytes){name, len};
}
