// SPDX-License-Identifier: Apache-2.0
// A certificate authority made when the test starts, and servers' certificates signed by it.
#ifndef TESTS_SUPPORT_TEST_CERTS_H
#define TESTS_SUPPORT_TEST_CERTS_H

#include <openssl/ssl.h>

struct test_ca {
    EVP_PKEY *key;
    X509 *cert;
    char *pem; // the certificate, terminated
};

void test_ca_init(struct test_ca *ca);
void test_ca_fini(struct test_ca *ca);

// A server context whose certificate is for alt_name ("DNS:collector.example", "IP:127.0.0.1"), signed by
// ca, valid from yesterday until valid_days from now (negative = expired). SSL_CTX_free it.
SSL_CTX *test_server_context(const struct test_ca *ca, const char *alt_name, int valid_days);
// Writes a certificate signed by ca and its key as PEM files.
void test_write_certificate(const struct test_ca *ca, const char *cert_path, const char *key_path);

#endif
