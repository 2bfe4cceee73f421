// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_certs.h"

#include "base/check.h"
#include "base/mem.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

enum { DAY_SECONDS = 24 * 3600 };

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    CHECK(extension != NULL);
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
}

static X509 *make_certificate(EVP_PKEY *key, const char *name, X509 *issuer, EVP_PKEY *issuer_key, long valid_days,
                              int extension_nid, const char *extension)
{
    X509 *cert = X509_new();
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), issuer ? 2 : 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -30L * DAY_SECONDS);
    X509_gmtime_adj(X509_getm_notAfter(cert), valid_days * DAY_SECONDS);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(issuer ? issuer : cert));
    X509_set_pubkey(cert, key);
    add_extension(cert, issuer ? issuer : cert, extension_nid, extension);
    CHECK(X509_sign(cert, issuer_key, EVP_sha256()) > 0);
    return cert;
}

void test_ca_init(struct test_ca *ca)
{
    ca->key = EVP_EC_gen("P-256");
    CHECK(ca->key != NULL);
    ca->cert =
        make_certificate(ca->key, "test authority", NULL, ca->key, 30, NID_basic_constraints, "critical,CA:TRUE");
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, ca->cert);
    char *data;
    size_t len = (size_t)BIO_get_mem_data(bio, &data);
    ca->pem = mem_alloc(len + 1);
    memcpy(ca->pem, data, len);
    BIO_free(bio);
}

void test_ca_fini(struct test_ca *ca)
{
    EVP_PKEY_free(ca->key);
    X509_free(ca->cert);
    free(ca->pem);
}

// Prefers what a real server would: HTTP/1.1 over anything else it is offered.
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                           unsigned in_len, void *arg)
{
    (void)ssl;
    (void)arg;
    static const unsigned char known[] = "\x08http/1.1";
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, out_len, known, sizeof known - 1, in, in_len) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

SSL_CTX *test_server_context(const struct test_ca *ca, const char *alt_name, int valid_days)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = make_certificate(key, "server", ca->cert, ca->key, valid_days, NID_subject_alt_name, alt_name);
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    CHECK(SSL_CTX_use_certificate(ctx, cert) == 1 && SSL_CTX_use_PrivateKey(ctx, key) == 1);
    SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    X509_free(cert);
    EVP_PKEY_free(key);
    return ctx;
}

void test_write_certificate(const struct test_ca *ca, const char *cert_path, const char *key_path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = make_certificate(key, "client", ca->cert, ca->key, 30, NID_subject_alt_name, "DNS:client.example");
    FILE *f = fopen(cert_path, "w");
    CHECK(f != NULL && PEM_write_X509(f, cert) == 1);
    fclose(f);
    f = fopen(key_path, "w");
    CHECK(f != NULL && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1);
    fclose(f);
    X509_free(cert);
    EVP_PKEY_free(key);
}
