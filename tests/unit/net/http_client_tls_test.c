// SPDX-License-Identifier: Apache-2.0
// The client over TLS and through proxies; the peer's certificates are made here.
#include "net/connection.h"
#include "tests/support/http_calls.h"
#include "tests/support/loop_step.h"
#include "tests/support/raw_peer.h"
#include "tests/support/test_certs.h"

#include "base/clock.h"
#include "base/mem.h"

#include <openssl/pem.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define OK_TEXT "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define SHORT_NANOS (100 * NANOS_PER_MS)

static const struct raw_step tls_answers[] = {
    {RAW_START_TLS, 0, 0},   {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0},
    {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0},
};
static const struct raw_step tunnel_answers[] = {
    {RAW_EXPECT, "\r\n\r\n", 0}, {RAW_SEND, "HTTP/1.1 200 Connection established\r\n\r\n", 0},
    {RAW_START_TLS, 0, 0},       {RAW_EXPECT, "body", 0},
    {RAW_SEND, OK_TEXT, 0},      {RAW_EXPECT, "body", 0},
    {RAW_SEND, OK_TEXT, 0},
};

struct fixture {
    struct test_ca ca;
    SSL_CTX *server_ctx;
    struct http_client_options options;
    struct http_world world;
    struct raw_peer *peer;
    char url[128];
};

static const char *const proxy_names[] = {"HTTP_PROXY",  "http_proxy", "HTTPS_PROXY",
                                          "https_proxy", "NO_PROXY",   "no_proxy"};

static void prepare(struct fixture *f, const char *alt_name, int valid_days)
{
    *f = (struct fixture){0};
    for (size_t i = 0; i < COUNT_OF(proxy_names); i++)
        unsetenv(proxy_names[i]);
    test_ca_init(&f->ca);
    f->server_ctx = test_server_context(&f->ca, alt_name, valid_days);
    f->options.tls.ca_pem = f->ca.pem;
}

// The world's loop is there before the peer, the client after it: a proxy's port must be known first.
static void start(struct fixture *f, const struct raw_step *steps, size_t count)
{
    http_world_init(&f->world, &f->options);
    f->peer = raw_peer_create(&f->world.loop, f->server_ctx);
    raw_peer_script(f->peer, steps, count);
    loopback_url(f->url, "https", raw_peer_port(f->peer), "/");
}

static void restart_client(struct fixture *f)
{
    http_client_close(&f->world.client, NULL, NULL);
    assert_int_equal(http_client_create(&f->world.loop, &f->options, &f->world.client, NULL), ERR_OK);
}

static void stop(struct fixture *f)
{
    raw_peer_destroy(&f->peer);
    http_world_fini(&f->world);
    SSL_CTX_free(f->server_ctx);
    test_ca_fini(&f->ca);
}

static void call_url(struct fixture *f, const char *url, struct call_result *r)
{
    struct http_request request = {.method = "POST", .url = url, .body = BYTES_LITERAL("body")};
    *r = (struct call_result){0};
    http_world_call(&f->world, &request, r);
}

static void assert_says(const struct call_result *r, enum http_outcome outcome, const char *text)
{
    if (r->outcome != outcome || strstr(r->error, text) == NULL)
        fail_msg("outcome %d, status %d, \"%s\", wanted %d, \"%s\"", r->outcome, r->status, r->error, outcome, text);
}

static void call_succeeds(struct fixture *f, const char *url)
{
    struct call_result r;
    call_url(f, url, &r);
    assert_says(&r, HTTP_ANSWERED, "");
    assert_int_equal(r.status, 200);
    assert_true(bytes_equal_text(buf_bytes(&r.body), "ok"));
    call_result_fini(&r);
}

static void call_fails(struct fixture *f, const char *url, enum http_outcome outcome, const char *text)
{
    struct call_result r;
    call_url(f, url, &r);
    assert_says(&r, outcome, text);
    call_result_fini(&r);
}

static void test_trusted(void **state)
{
    (void)state;
    struct fixture f;
    prepare(&f, "IP:127.0.0.1", 30);
    start(&f, tls_answers, COUNT_OF(tls_answers));
    call_succeeds(&f, f.url);
    call_succeeds(&f, f.url);
    assert_int_equal(raw_peer_connections(f.peer), 1);
    stop(&f);
}

static void test_name_is_verified(void **state)
{
    (void)state;
    struct fixture f;
    char url[128];
    prepare(&f, "DNS:localhost", 30);
    start(&f, tls_answers, COUNT_OF(tls_answers));
    snprintf(url, sizeof url, "https://localhost:%d/", raw_peer_port(f.peer));
    call_succeeds(&f, url);
    call_fails(&f, f.url, HTTP_CONNECT_FAILED, "it is not for \"127.0.0.1\"");
    f.options.tls.server_name = "localhost";
    restart_client(&f);
    call_succeeds(&f, f.url);
    stop(&f);
}

static void test_wrong_name(void **state)
{
    (void)state;
    struct fixture f;
    char url[128];
    prepare(&f, "DNS:*.example", 30);
    start(&f, tls_answers, COUNT_OF(tls_answers));
    snprintf(url, sizeof url, "https://localhost:%d/", raw_peer_port(f.peer));
    call_fails(&f, url, HTTP_CONNECT_FAILED, "certificate verify failed (it is not for \"localhost\")");
    call_fails(&f, url, HTTP_CONNECT_FAILED, "tls.server_name_override");
    assert_string_equal(raw_peer_received(f.peer, 0), "");
    stop(&f);
}

static void test_expired(void **state)
{
    (void)state;
    struct fixture f;
    char wanted[200];
    prepare(&f, "IP:127.0.0.1", -1);
    start(&f, tls_answers, COUNT_OF(tls_answers));
    snprintf(wanted, sizeof wanted, "TLS with 127.0.0.1:%d: certificate verify failed (certificate has expired)",
             raw_peer_port(f.peer));
    call_fails(&f, f.url, HTTP_CONNECT_FAILED, wanted);
    stop(&f);
}

static void test_unknown_authority(void **state)
{
    (void)state;
    struct fixture f;
    struct test_ca other;
    prepare(&f, "IP:127.0.0.1", 30);
    test_ca_init(&other);
    f.options.tls.ca_pem = other.pem;
    start(&f, tls_answers, COUNT_OF(tls_answers));
    call_fails(&f, f.url, HTTP_CONNECT_FAILED, "set tls.ca_file");
    f.options.tls.ca_pem = NULL; // the system's authorities do not know it either
    restart_client(&f);
    call_fails(&f, f.url, HTTP_CONNECT_FAILED, "certificate verify failed");
    f.options.tls.insecure_skip_verify = true;
    restart_client(&f);
    call_succeeds(&f, f.url);
    test_ca_fini(&other);
    stop(&f);
}

static void test_not_tls(void **state)
{
    (void)state;
    struct fixture f;
    static const struct raw_step plain[] = {{RAW_SEND, "HTTP/1.1 400 Bad\r\n\r\n", 0}};
    prepare(&f, "IP:127.0.0.1", 30);
    start(&f, plain, COUNT_OF(plain));
    call_fails(&f, f.url, HTTP_CONNECT_FAILED, "does not speak TLS");
    stop(&f);
}

static void test_handshake_ends(void **state)
{
    (void)state;
    struct fixture f;
    static const struct raw_step closes[] = {{RAW_CLOSE, 0, 0}}, hangs[] = {{RAW_EXPECT, "never", 0}};
    prepare(&f, "IP:127.0.0.1", 30);
    start(&f, closes, COUNT_OF(closes));
    raw_peer_script(f.peer, hangs, COUNT_OF(hangs));
    call_fails(&f, f.url, HTTP_CONNECT_FAILED, ": the connection was closed");
    f.options.connect_timeout_nanos = SHORT_NANOS;
    restart_client(&f);
    call_fails(&f, f.url, HTTP_CONNECT_FAILED, "no answer within 0.1 s");
    f.options.connect_timeout_nanos = 0;
    restart_client(&f);
    struct http_request request = {.method = "GET", .url = f.url, .timeout_nanos = SHORT_NANOS};
    struct call_result r = {0};
    http_world_call(&f.world, &request, &r);
    assert_says(&r, HTTP_TIMED_OUT, "not connected within 0.1s");
    call_result_fini(&r);
    stop(&f);
}

static void test_old_version(void **state)
{
    (void)state;
    struct fixture f;
    prepare(&f, "IP:127.0.0.1", 30);
    SSL_CTX_set_security_level(f.server_ctx, 0);
    SSL_CTX_set_min_proto_version(f.server_ctx, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(f.server_ctx, TLS1_1_VERSION);
    start(&f, tls_answers, COUNT_OF(tls_answers));
    call_fails(&f, f.url, HTTP_CONNECT_FAILED, "protocol version");
    stop(&f);
}

static void test_version_12(void **state)
{
    (void)state;
    struct fixture f;
    prepare(&f, "IP:127.0.0.1", 30);
    SSL_CTX_set_max_proto_version(f.server_ctx, TLS1_2_VERSION);
    start(&f, tls_answers, COUNT_OF(tls_answers));
    call_succeeds(&f, f.url);
    stop(&f);
}

static void test_byte_by_byte(void **state)
{
    (void)state;
    struct fixture f;
    static const struct raw_step steps[] = {
        {RAW_START_TLS, 0, 0}, {RAW_EXPECT, "body", 0}, {RAW_SEND_BYTEWISE, OK_TEXT, 0}};
    prepare(&f, "IP:127.0.0.1", 30);
    start(&f, steps, COUNT_OF(steps));
    call_succeeds(&f, f.url);
    stop(&f);
}

// A body that ends with the connection is whole only after TLS's goodbye.
static void test_truncation(void **state)
{
    (void)state;
    struct fixture f;
    static const struct raw_step orderly[] = {
        {RAW_START_TLS, 0, 0}, {RAW_EXPECT, "body", 0}, {RAW_SEND, "HTTP/1.1 200 OK\r\n\r\nok", 0}, {RAW_CLOSE, 0, 0}};
    static const struct raw_step cut[] = {
        {RAW_START_TLS, 0, 0}, {RAW_EXPECT, "body", 0}, {RAW_SEND, "HTTP/1.1 200 OK\r\n\r\nok", 0}, {RAW_CUT, 0, 0}};
    prepare(&f, "IP:127.0.0.1", 30);
    start(&f, orderly, COUNT_OF(orderly));
    raw_peer_script(f.peer, cut, COUNT_OF(cut));
    call_succeeds(&f, f.url);
    call_fails(&f, f.url, HTTP_LOST, "the TLS stream was cut before the response was complete");
    stop(&f);
}

static void test_big_body(void **state)
{
    (void)state;
    enum { BIG_BYTES = (20 << 20) + 12345 };
    struct fixture f;
    struct call_result r = {0};
    static const struct raw_step takes[] = {{RAW_START_TLS, 0, 0}, {RAW_EXPECT, "the-end.", 0}, {RAW_SEND, OK_TEXT, 0}};
    uint8_t *big = malloc(BIG_BYTES);
    for (size_t i = 0; i < BIG_BYTES; i++)
        big[i] = (uint8_t)(1 + i % 251);
    memcpy(big + BIG_BYTES - 8, "the-end.", 8);
    prepare(&f, "IP:127.0.0.1", 30);
    start(&f, takes, COUNT_OF(takes));
    struct http_request request = {.method = "POST", .url = f.url, .body = {big, BIG_BYTES}};
    http_world_call(&f.world, &request, &r);
    assert_says(&r, HTTP_ANSWERED, "");
    const char *body = strstr(raw_peer_received(f.peer, 0), "\r\n\r\n") + 4;
    assert_int_equal(raw_peer_received(f.peer, 0) + raw_peer_received_len(f.peer, 0) - body, BIG_BYTES);
    assert_memory_equal(body, big, BIG_BYTES);
    free(big);
    call_result_fini(&r);
    stop(&f);
}

static void test_early_response(void **state)
{
    (void)state;
    enum { BIG_BYTES = 20 << 20 };
    struct fixture f;
    struct call_result r = {0};
    static const struct raw_step early[] = {{RAW_START_TLS, 0, 0}, {RAW_EXPECT, "\r\n\r\n", 0}, {RAW_SEND, OK_TEXT, 0}};
    uint8_t *big = calloc(1, BIG_BYTES);
    prepare(&f, "IP:127.0.0.1", 30);
    start(&f, early, COUNT_OF(early));
    struct http_request request = {.method = "POST", .url = f.url, .body = {big, BIG_BYTES}};
    http_world_call(&f.world, &request, &r);
    free(big);
    assert_says(&r, HTTP_ANSWERED, "");
    call_result_fini(&r);
    stop(&f);
}

static void test_client_certificate(void **state)
{
    (void)state;
    struct fixture f;
    char folder[] = "/tmp/profrelay-net-XXXXXX", cert[64], key[64], other_cert[64], other_key[64];
    struct err e = {0};
    struct http_client *none;
    struct test_ca other;
    prepare(&f, "IP:127.0.0.1", 30);
    assert_non_null(mkdtemp(folder));
    snprintf(cert, sizeof cert, "%s/cert.pem", folder);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    snprintf(other_cert, sizeof other_cert, "%s/cert2.pem", folder);
    snprintf(other_key, sizeof other_key, "%s/key2.pem", folder);
    test_write_certificate(&f.ca, cert, key);
    test_ca_init(&other);
    test_write_certificate(&other, other_cert, other_key);
    test_ca_fini(&other);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(f.server_ctx), f.ca.cert);
    SSL_CTX_set_verify(f.server_ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    start(&f, tls_answers, COUNT_OF(tls_answers));
    call_fails(&f, f.url, HTTP_LOST, "the peer wants a client certificate: set tls.cert_file and tls.key_file");
    f.options.tls.cert_file = other_cert;
    f.options.tls.key_file = other_key;
    restart_client(&f);
    call_fails(&f, f.url, HTTP_LOST, "the peer does not trust the certificate shown to it");
    f.options.tls.cert_file = cert;
    f.options.tls.key_file = key;
    restart_client(&f);
    call_succeeds(&f, f.url);

    f.options.tls.key_file = other_key;
    assert_int_equal(http_client_create(&f.world.loop, &f.options, &none, &e), ERR_IO);
    assert_non_null(strstr(e.text, "key2.pem"));
    EVP_PKEY *locked = EVP_EC_gen("P-256");
    FILE *file = fopen(other_key, "w");
    PEM_write_PrivateKey(file, locked, EVP_aes_128_cbc(), (const unsigned char *)"pw", 2, NULL, NULL);
    fclose(file);
    EVP_PKEY_free(locked);
    assert_int_equal(http_client_create(&f.world.loop, &f.options, &none, &e), ERR_IO); // and asks nobody
    assert_non_null(strstr(e.text, "key2.pem: it is encrypted: give a key without a password"));
    f.options.tls.key_file = NULL;
    assert_int_equal(http_client_create(&f.world.loop, &f.options, &none, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "needed together"));
    f.options.tls.cert_file = "/nonexistent/cert.pem";
    f.options.tls.key_file = key;
    assert_int_equal(http_client_create(&f.world.loop, &f.options, &none, &e), ERR_IO);
    assert_string_equal(e.text, "tls.cert_file /nonexistent/cert.pem: No such file or directory");
    f.options.tls = (struct tls_client_options){.ca_file = key};
    assert_int_equal(http_client_create(&f.world.loop, &f.options, &none, &e), ERR_IO);
    assert_non_null(strstr(e.text, "tls.ca_file"));
    f.options.tls = (struct tls_client_options){.ca_pem = "not pem"};
    assert_int_equal(http_client_create(&f.world.loop, &f.options, &none, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "tls.ca_pem"));
    f.options.tls = (struct tls_client_options){.ca_file = cert}; // not the CA, but a certificate
    assert_int_equal(http_client_create(&f.world.loop, &f.options, &none, &e), ERR_OK);
    http_client_close(&none, NULL, NULL);
    unlink(cert), unlink(key), unlink(other_cert), unlink(other_key), rmdir(folder);
    stop(&f);
}

struct reloads {
    int good, bad;
    struct err error;
};

static void on_reload(void *arg, const struct err *e)
{
    struct reloads *r = arg;
    *(e == NULL ? &r->good : &r->bad) += 1;
    if (e != NULL)
        r->error = *e;
}

static char *read_text(const char *path)
{
    char *text = mem_alloc(8192);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_in_range(fread(text, 1, 8191, file), 100, 8190);
    fclose(file);
    return text;
}

// New files are used by new connections; a pair that does not fit leaves the old one in use, and is told once.
static void test_files_are_reloaded(void **state)
{
    (void)state;
    struct fixture f;
    struct reloads r = {0};
    char folder[] = "/tmp/profrelay-net-XXXXXX", cert[64], key[64], new_cert[64], new_key[64];
    prepare(&f, "IP:127.0.0.1", 30);
    assert_non_null(mkdtemp(folder));
    snprintf(cert, sizeof cert, "%s/cert.pem", folder);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    snprintf(new_cert, sizeof new_cert, "%s/cert2.pem", folder);
    snprintf(new_key, sizeof new_key, "%s/key2.pem", folder);
    test_write_certificate(&f.ca, cert, key);
    test_write_certificate(&f.ca, new_cert, new_key);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(f.server_ctx), f.ca.cert);
    SSL_CTX_set_verify(f.server_ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    f.options.tls.cert_file = cert;
    f.options.tls.key_file = key;
    f.options.close_after_each = true;
    f.options.on_reload = on_reload;
    f.options.on_reload_arg = &r;
    start(&f, tls_answers, COUNT_OF(tls_answers));
    call_succeeds(&f, f.url);
    assert_int_equal(r.good + r.bad, 0);
    assert_int_equal(rename(new_key, key), 0); // half of the new pair
    call_succeeds(&f, f.url);
    call_succeeds(&f, f.url);
    assert_int_equal(r.bad, 1);
    assert_non_null(strstr(r.error.text, "key.pem"));
    assert_int_equal(rename(new_cert, cert), 0);
    call_succeeds(&f, f.url);
    call_succeeds(&f, f.url);
    assert_int_equal(r.good, 1);
    assert_int_equal(unlink(cert), 0);
    call_succeeds(&f, f.url);
    assert_int_equal(r.bad, 2);
    unlink(key), rmdir(folder);
    stop(&f);
}

static void test_pem_texts(void **state)
{
    (void)state;
    struct fixture f;
    struct err e = {0};
    struct http_client *none;
    char folder[] = "/tmp/profrelay-net-XXXXXX", cert[64], key[64];
    prepare(&f, "IP:127.0.0.1", 30);
    assert_non_null(mkdtemp(folder));
    snprintf(cert, sizeof cert, "%s/cert.pem", folder);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    test_write_certificate(&f.ca, cert, key);
    char *cert_text = read_text(cert), *key_text = read_text(key);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(f.server_ctx), f.ca.cert);
    SSL_CTX_set_verify(f.server_ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    f.options.tls.cert_pem = cert_text;
    f.options.tls.key_pem = key_text;
    f.options.tls.parameters.min_version = "1.3";
    start(&f, tls_answers, COUNT_OF(tls_answers));
    call_succeeds(&f, f.url);
    f.options.tls.key_file = key;
    assert_int_equal(http_client_create(&f.world.loop, &f.options, &none, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "keep one"));
    f.options.tls.key_file = NULL;
    f.options.tls.key_pem = "no key";
    assert_int_equal(http_client_create(&f.world.loop, &f.options, &none, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "tls.key_pem"));
    unlink(cert), unlink(key), rmdir(folder);
    free(cert_text);
    free(key_text);
    stop(&f);
}

static void test_tunnel(void **state)
{
    (void)state;
    struct fixture f;
    char proxy[128];
    prepare(&f, "DNS:collector.example", 30);
    start(&f, tunnel_answers, COUNT_OF(tunnel_answers));
    snprintf(proxy, sizeof proxy, "http://me:hush@127.0.0.1:%d", raw_peer_port(f.peer));
    f.options.proxy_url = proxy;
    restart_client(&f);
    call_succeeds(&f, "https://collector.example/p");
    call_succeeds(&f, "https://collector.example/p");
    assert_int_equal(raw_peer_connections(f.peer), 1);
    const char *seen = raw_peer_received(f.peer, 0);
    static const char wanted[] = "CONNECT collector.example:443 HTTP/1.1\r\nHost: collector.example:443\r\n"
                                 "Proxy-Authorization: Basic bWU6aHVzaA==\r\n\r\n"
                                 "POST /p HTTP/1.1\r\nHost: collector.example\r\n";
    assert_memory_equal(seen, wanted, sizeof wanted - 1);
    assert_null(strstr(seen + sizeof wanted - 1, "Proxy-Authorization")); // not for the origin
    stop(&f);
}

static void tunnel_fails(const struct raw_step *steps, size_t count, int64_t timeout_nanos, const char *text)
{
    struct fixture f;
    struct call_result r;
    char proxy[128];
    prepare(&f, "DNS:collector.example", 30);
    f.options.connect_timeout_nanos = timeout_nanos;
    start(&f, steps, count);
    snprintf(proxy, sizeof proxy, "http://me:hush@127.0.0.1:%d", raw_peer_port(f.peer));
    f.options.proxy_url = proxy;
    restart_client(&f);
    call_url(&f, "https://collector.example/p", &r);
    assert_says(&r, HTTP_CONNECT_FAILED, text);
    assert_non_null(strstr(r.error, "proxy 127.0.0.1:"));
    assert_null(strstr(r.error, "hush"));
    call_result_fini(&r);
    stop(&f);
}

static void test_tunnel_fails(void **state)
{
    (void)state;
    static const struct raw_step wants_password[] = {
        {RAW_EXPECT, "\r\n\r\n", 0},
        {RAW_SEND, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 999\r\n\r\n", 0}};
    static const struct raw_step garbage[] = {{RAW_SEND, "\x05\xff", 0}};
    static const struct raw_step closes[] = {{RAW_EXPECT, "\r\n\r\n", 0}, {RAW_CLOSE, 0, 0}};
    static const struct raw_step hangs[] = {{RAW_EXPECT, "never", 0}};
    tunnel_fails(wants_password, COUNT_OF(wants_password), 0,
                 "no tunnel to collector.example:443: status 407 (the proxy wants a user name");
    tunnel_fails(garbage, COUNT_OF(garbage), 0, "not HTTP/1.1");
    tunnel_fails(closes, COUNT_OF(closes), 0, "the connection was closed");
    tunnel_fails(hangs, COUNT_OF(hangs), SHORT_NANOS, "no answer within 0.1 s");
}

static void test_plain_proxy(void **state)
{
    (void)state;
    struct fixture f;
    char proxy[128];
    static const struct raw_step steps[] = {
        {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0}, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0}};
    prepare(&f, "DNS:x", 30);
    start(&f, steps, COUNT_OF(steps));
    snprintf(proxy, sizeof proxy, "http://me:hush@127.0.0.1:%d", raw_peer_port(f.peer));
    f.options.proxy_url = proxy;
    restart_client(&f);
    call_succeeds(&f, "http://collector.example:4318/p?q");
    call_succeeds(&f, "http://other.example/"); // another origin, the same proxy connection
    assert_int_equal(raw_peer_connections(f.peer), 1);
    const char *seen = raw_peer_received(f.peer, 0);
    static const char wanted[] = "POST http://collector.example:4318/p?q HTTP/1.1\r\nHost: collector.example:4318\r\n";
    assert_memory_equal(seen, wanted, sizeof wanted - 1);
    assert_non_null(strstr(seen, "Proxy-Authorization: Basic bWU6aHVzaA==\r\n"));
    assert_non_null(strstr(seen, "POST http://other.example/ HTTP/1.1\r\nHost: other.example\r\n"));
    stop(&f);
}

static void test_proxy_from_the_environment(void **state)
{
    (void)state;
    struct fixture f;
    char proxy[128];
    prepare(&f, "DNS:collector.example", 30);
    start(&f, tunnel_answers, COUNT_OF(tunnel_answers));
    snprintf(proxy, sizeof proxy, "127.0.0.1:%d", raw_peer_port(f.peer));
    setenv("https_proxy", proxy, 1);
    setenv("NO_PROXY", ".invalid", 1);
    restart_client(&f);
    unsetenv("https_proxy");
    unsetenv("NO_PROXY");
    call_succeeds(&f, "https://collector.example/");
    call_fails(&f, "https://nosuch.invalid/", HTTP_CONNECT_FAILED, "resolve nosuch.invalid");
    assert_int_equal(raw_peer_connections(f.peer), 1);
    stop(&f);
}

static void test_memory_is_out(void **state)
{
    (void)state;
    size_t calls = 1;
    for (size_t n = 0; n <= calls; n++) {
        struct fixture f;
        struct call_result r = {0};
        prepare(&f, "IP:127.0.0.1", 30);
        start(&f, tls_answers, COUNT_OF(tls_answers));
        struct http_request request = {.method = "POST", .url = f.url, .body = BYTES_LITERAL("body")};
        mem_fail_from(n == 0 ? SIZE_MAX : n);
        http_world_call(&f.world, &request, &r);
        if (n == 0)
            calls = mem_fail_count();
        mem_fail_from(0);
        assert_int_equal(r.done, 1);
        assert_true((r.outcome == HTTP_ANSWERED && !r.body.failed) == (n == 0));
        call_result_fini(&r);
        stop(&f);
    }
    assert_in_range(calls, 5, 200);
}

struct opened {
    struct connection *connection;
    char alpn[16];
    bool closed;
};

static void on_open(void *owner)
{
    struct opened *o = owner;
    struct bytes alpn = connection_alpn(o->connection);
    snprintf(o->alpn, sizeof o->alpn, "%.*s", BYTES_PRINT(alpn));
    connection_close(o->connection);
}

static void on_end(void *owner, const struct err *e)
{
    struct opened *o = owner;
    fputs(e ? e->text : "end", stderr);
    connection_close(o->connection);
}

static void on_closed(void *owner)
{
    ((struct opened *)owner)->closed = true;
}

static void test_protocol_is_negotiated(void **state)
{
    (void)state;
    struct fixture f;
    struct opened o = {0};
    static const struct connection_events events = {.on_open = on_open, .on_end = on_end, .on_closed = on_closed};
    prepare(&f, "IP:127.0.0.1", 30);
    start(&f, tls_answers, COUNT_OF(tls_answers));
    struct tls_context *tls = tls_context_create(&f.options.tls);
    struct connection_target target = {.host = "127.0.0.1",
                                       .port = (uint16_t)raw_peer_port(f.peer),
                                       .tls = tls,
                                       .alpn = "http/1.1",
                                       .connect_timeout_ms = 10000};
    o.connection = connection_create(&f.world.loop, &target, &events, &o);
    while (!o.closed)
        loop_step(&f.world.loop);
    assert_string_equal(o.alpn, "http/1.1");
    tls_context_destroy(&tls);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trusted),
        cmocka_unit_test(test_name_is_verified),
        cmocka_unit_test(test_wrong_name),
        cmocka_unit_test(test_expired),
        cmocka_unit_test(test_unknown_authority),
        cmocka_unit_test(test_not_tls),
        cmocka_unit_test(test_handshake_ends),
        cmocka_unit_test(test_old_version),
        cmocka_unit_test(test_version_12),
        cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_big_body),
        cmocka_unit_test(test_early_response),
        cmocka_unit_test(test_client_certificate),
        cmocka_unit_test(test_files_are_reloaded),
        cmocka_unit_test(test_pem_texts),
        cmocka_unit_test(test_protocol_is_negotiated),
        cmocka_unit_test(test_tunnel),
        cmocka_unit_test(test_tunnel_fails),
        cmocka_unit_test(test_plain_proxy),
        cmocka_unit_test(test_proxy_from_the_environment),
        cmocka_unit_test(test_memory_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
