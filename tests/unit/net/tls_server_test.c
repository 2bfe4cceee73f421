// SPDX-License-Identifier: Apache-2.0
#include "net/tls_server.h"

#include "base/check.h"
#include "base/mem.h"
#include "tests/support/test_certs.h"
#include "tests/support/test_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct files {
    struct test_folder folder;
    struct test_ca ca, other_ca;
    char cert[256], key[256], ca_file[256], cert2[256], key2[256];
};

static void init(struct files *f)
{
    test_folder_init(&f->folder);
    test_ca_init(&f->ca);
    test_ca_init(&f->other_ca);
    test_folder_path(&f->folder, "cert.pem", f->cert);
    test_folder_path(&f->folder, "key.pem", f->key);
    test_folder_path(&f->folder, "cert2.pem", f->cert2);
    test_folder_path(&f->folder, "key2.pem", f->key2);
    test_folder_path(&f->folder, "ca.pem", f->ca_file);
    test_write_certificate(&f->ca, f->cert, f->key);
    test_write_certificate(&f->ca, f->cert2, f->key2);
    test_folder_write(&f->folder, "ca.pem", bytes_from_text(f->ca.pem));
}

static void fini(struct files *f)
{
    test_ca_fini(&f->ca);
    test_ca_fini(&f->other_ca);
    test_folder_fini(&f->folder);
}

static void carry(struct tls_session *from, struct tls_session *to, bool *moved)
{
    struct buf *out = tls_session_output(from);
    if (out->len == 0)
        return;
    tls_session_feed(to, buf_bytes(out));
    *moved = true;
}

// Both to the end; true when both are content. The failure's text is in e.
static bool shake_hands(struct tls_session *client, struct tls_session *server, struct err *e)
{
    enum tls_result c = TLS_MORE, s = TLS_MORE;
    for (bool moved = true; moved;) {
        moved = false;
        carry(server, client, &moved);
        if (c != TLS_FAILED)
            c = tls_session_handshake(client, NULL);
        uint8_t byte;
        size_t n;
        if (c == TLS_OK) // takes tickets, and the server's late refusal
            c = tls_session_read(client, &byte, 1, &n, NULL) == TLS_FAILED ? TLS_FAILED : TLS_OK;
        buf_clear(tls_session_output(server));
        carry(client, server, &moved);
        if (s != TLS_FAILED)
            s = tls_session_handshake(server, e);
        if (s == TLS_OK)
            (void)!tls_session_read(server, &byte, 1, &n, NULL);
        buf_clear(tls_session_output(client));
        moved = moved || tls_session_output(server)->len > 0;
        if (c == TLS_FAILED || s == TLS_FAILED)
            return false;
    }
    return c == TLS_OK && s == TLS_OK;
}

struct outcome {
    bool ok;
    char alpn[16];
    char *subject;
};

static void talk(struct tls_server *server, const struct tls_client_options *options, const char *offered,
                 struct outcome *out, struct err *e)
{
    struct tls_context *context = tls_context_create(options);
    struct tls_session *client, *session = tls_server_session(server, "h2,http/1.1");
    assert_int_equal(tls_session_create(context, "client.example", offered, &client, e), ERR_OK);
    *out = (struct outcome){.ok = shake_hands(client, session, e)};
    struct bytes alpn = tls_session_alpn(session);
    snprintf(out->alpn, sizeof out->alpn, "%.*s", BYTES_PRINT(alpn));
    if (out->ok)
        out->subject = tls_session_subject(session);
    tls_session_destroy(&client);
    tls_session_destroy(&session);
    tls_context_destroy(&context);
}

static void test_handshake(void **state)
{
    (void)state;
    struct files f;
    struct tls_server *server;
    struct outcome o;
    struct err e = {0};
    static const struct {
        const char *offered, *chosen;
    } rows[] = {{"h2", "h2"}, {"http/1.1", "http/1.1"}, {"http/1.1,h2", "h2"}, {"spdy/1", ""}, {NULL, ""}};
    init(&f);
    struct tls_server_options options = {.cert_file = f.cert, .key_file = f.key};
    assert_int_equal(tls_server_create(&options, &server, &e), ERR_OK);
    struct tls_client_options client = {.ca_pem = f.ca.pem};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        talk(server, &client, rows[i].offered, &o, &e);
        assert_true(o.ok);
        assert_string_equal(o.alpn, rows[i].chosen);
        assert_null(o.subject);
    }
    tls_server_destroy(&server);
    tls_server_destroy(&server);
    fini(&f);
}

static void test_client_certificates(void **state)
{
    (void)state;
    struct files f;
    struct tls_server *server;
    struct outcome o;
    struct err e = {0};
    init(&f);
    struct tls_server_options options = {.cert_file = f.cert, .key_file = f.key, .client_ca_file = f.ca_file};
    assert_int_equal(tls_server_create(&options, &server, &e), ERR_OK);
    struct tls_client_options client = {.ca_pem = f.ca.pem, .cert_file = f.cert2, .key_file = f.key2};
    talk(server, &client, "h2", &o, &e);
    assert_true(o.ok);
    assert_string_equal(o.subject, "CN=client");
    free(o.subject);
    client.cert_file = client.key_file = NULL;
    talk(server, &client, "h2", &o, &e);
    assert_false(o.ok);
    assert_string_equal(e.text, "the client shows no certificate, but tls.client_ca_file asks for one");
    test_write_certificate(&f.other_ca, f.cert2, f.key2); // a stranger's
    client.cert_file = f.cert2;
    client.key_file = f.key2;
    talk(server, &client, "h2", &o, &e);
    assert_false(o.ok);
    assert_non_null(strstr(e.text, ": set tls.client_ca_file to the CA that signed it"));
    tls_server_destroy(&server);
    fini(&f);
}

static char *read_file(const char *path)
{
    char *text = mem_alloc(8192);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, 8191, file) > 0);
    fclose(file);
    return text;
}

static void test_pem_texts(void **state)
{
    (void)state;
    struct files f;
    struct tls_server *server;
    struct outcome o;
    struct err e = {0};
    init(&f);
    char *cert = read_file(f.cert), *key = read_file(f.key);
    struct tls_server_options options = {.cert_pem = cert, .key_pem = key};
    assert_int_equal(tls_server_create(&options, &server, &e), ERR_OK);
    struct tls_client_options client = {.ca_pem = f.ca.pem};
    talk(server, &client, "h2", &o, &e);
    assert_true(o.ok);
    tls_server_destroy(&server);
    free(cert);
    free(key);
    fini(&f);
}

static void refuses(const struct tls_server_options *options, const char *text)
{
    struct tls_server *server;
    struct err e = {0};
    assert_int_not_equal(tls_server_create(options, &server, &e), ERR_OK);
    assert_null(server);
    if (strstr(e.text, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, e.text);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bad_suites[] = {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_NO_SUCH"};
    static const char *const bad_curves[] = {"P1024"};
    struct files f;
    init(&f);
    refuses(&(struct tls_server_options){.cert_file = f.cert}, "needs both a certificate");
    refuses(&(struct tls_server_options){.cert_file = f.cert, .cert_pem = "x", .key_file = f.key}, "keep one");
    refuses(&(struct tls_server_options){.cert_file = "/nonexistent", .key_file = f.key},
            "tls.cert_file /nonexistent: No such file");
    refuses(&(struct tls_server_options){.cert_file = f.cert, .key_file = f.key2},
            "key2.pem: the key does not belong to the certificate");
    refuses(&(struct tls_server_options){.cert_file = f.cert, .key_file = f.cert},
            "there is no private key in PEM form");
    refuses(&(struct tls_server_options){.cert_file = f.key, .key_file = f.key}, "there is no certificate in PEM form");
    refuses(&(struct tls_server_options){.cert_pem = "nonsense", .key_file = f.key}, "tls.cert_pem");
    refuses(&(struct tls_server_options){.cert_file = f.cert, .key_file = f.key, .client_ca_file = f.key},
            "tls.client_ca_file");
    struct tls_server_options o = {.cert_file = f.cert, .key_file = f.key};
    o.parameters.min_version = "1.4";
    refuses(&o, "tls.min_version \"1.4\" is not one of");
    o.parameters = (struct tls_parameters){.min_version = "1.3", .max_version = "1.2"};
    refuses(&o, "max_version is below");
    o.parameters = (struct tls_parameters){.cipher_suites = bad_suites, .cipher_suite_count = 2};
    refuses(&o, "\"TLS_NO_SUCH\" is not known");
    o.parameters = (struct tls_parameters){.curves = bad_curves, .curve_count = 1};
    refuses(&o, "\"P1024\" is not one of");
    fini(&f);
}

static void test_parameters(void **state)
{
    (void)state;
    static const char *const suites[] = {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256",
                                         "ECDHE-ECDSA-CHACHA20-POLY1305"};
    static const char *const curves[] = {"X25519MLKEM768", "P384"};
    static const char *const versions[] = {"1.2", "1.3"};
    struct files f;
    init(&f);
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        struct tls_server *server;
        struct outcome o;
        struct err e = {0};
        struct tls_server_options options = {
            .cert_file = f.cert,
            .key_file = f.key,
            .parameters = {versions[i], versions[i], suites, COUNT_OF(suites), curves, COUNT_OF(curves)}};
        assert_int_equal(tls_server_create(&options, &server, &e), ERR_OK);
        struct tls_client_options client = {.ca_pem = f.ca.pem};
        talk(server, &client, "h2", &o, &e);
        assert_true(o.ok);
        tls_server_destroy(&server);
    }
    fini(&f);
}

static void test_reload(void **state)
{
    (void)state;
    struct files f;
    struct tls_server *server;
    struct outcome o;
    struct err e = {0};
    bool changed = true;
    init(&f);
    struct tls_server_options options = {.cert_file = f.cert, .key_file = f.key};
    struct tls_client_options old_client = {.ca_pem = f.ca.pem}, new_client = {.ca_pem = f.other_ca.pem};
    assert_int_equal(tls_server_create(&options, &server, &e), ERR_OK);
    assert_int_equal(tls_server_reload(server, &changed, &e), ERR_OK);
    assert_false(changed);
    test_write_certificate(&f.other_ca, f.cert2, f.key2);
    assert_int_equal(rename(f.cert2, f.cert), 0); // half of the pair
    assert_int_not_equal(tls_server_reload(server, &changed, &e), ERR_OK);
    assert_false(changed);
    assert_int_equal(tls_server_reload(server, &changed, &e), ERR_OK); // told once
    talk(server, &old_client, "h2", &o, &e);
    assert_true(o.ok);
    assert_int_equal(rename(f.key2, f.key), 0);
    assert_int_equal(tls_server_reload(server, &changed, &e), ERR_OK);
    assert_true(changed);
    talk(server, &old_client, "h2", &o, &e);
    assert_false(o.ok);
    talk(server, &new_client, "h2", &o, &e);
    assert_true(o.ok);
    assert_int_equal(remove(f.key), 0);
    assert_int_not_equal(tls_server_reload(server, &changed, &e), ERR_OK);
    talk(server, &new_client, "h2", &o, &e);
    assert_true(o.ok);
    tls_server_destroy(&server);
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handshake), cmocka_unit_test(test_client_certificates), cmocka_unit_test(test_pem_texts),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_parameters),          cmocka_unit_test(test_reload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
