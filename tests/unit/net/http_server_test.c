// SPDX-License-Identifier: Apache-2.0
// The server over real sockets: what the engines' tests, which have none, cannot see.
#include "net/http_server.h"

#include "base/clock.h"
#include "tests/support/http_calls.h"
#include "tests/support/loop_step.h"
#include "tests/support/raw_client.h"
#include "tests/support/test_certs.h"
#include "tests/support/test_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

enum { WAITING_MAX = 8 };

struct fixture {
    struct http_world world;
    struct http_server *server;
    bool defers;
    int requests, aborts, problems;
    char problem[256];
    char peer[256]; // of the last request
    enum http_version version;
    struct http_exchange *waiting[WAITING_MAX];
    size_t waiting_count;
    struct test_folder folder;
    struct test_ca ca;
    char cert[256], key[256], ca_file[256];
};

static void on_head(void *arg, struct http_exchange *x, const struct http_head *head)
{
    struct fixture *f = arg;
    f->version = head->version;
    snprintf(f->peer, sizeof f->peer, "%s %d %s", head->peer->address, head->peer->port > 0,
             head->peer->certificate_subject ? head->peer->certificate_subject : "-");
    http_exchange_take_body(x, 8 << 20);
}

static void on_request(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    struct fixture *f = arg;
    f->requests++;
    if (f->defers) {
        assert_in_range(f->waiting_count, 0, WAITING_MAX - 1);
        f->waiting[f->waiting_count++] = x;
        free(body);
        return;
    }
    struct buf out;
    buf_init(&out, 16 << 20);
    if (len > 0)
        buf_add(&out, body, len);
    else
        buf_add_text(&out, "page");
    free(body);
    struct http_answer answer = {.status = 200, .body = &out};
    http_exchange_answer(x, &answer);
}

static void on_abort(void *arg, struct http_exchange *x)
{
    struct fixture *f = arg;
    (void)x;
    f->aborts++;
}

static void on_problem(void *arg, const struct http_peer *peer, const char *text)
{
    struct fixture *f = arg;
    (void)peer;
    f->problems++;
    snprintf(f->problem, sizeof f->problem, "%s", text);
}

static struct http_server_options defaults(struct fixture *f)
{
    return (struct http_server_options){
        .endpoint = "127.0.0.1:0",
        .handler = {
            .arg = f, .on_head = on_head, .on_request = on_request, .on_abort = on_abort, .on_problem = on_problem}};
}

static void init(struct fixture *f, const struct http_client_options *client)
{
    static const struct http_client_options plain;
    *f = (struct fixture){0};
    http_world_init(&f->world, client != NULL ? client : &plain);
}

static void start(struct fixture *f, const struct http_server_options *options)
{
    struct err e = {0};
    if (http_server_create(&f->world.loop, options, &f->server, &e) != ERR_OK)
        fail_msg("%s", e.text);
}

static void begin(struct fixture *f)
{
    init(f, NULL);
    struct http_server_options options = defaults(f);
    start(f, &options);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static void end(struct fixture *f)
{
    bool closed = false;
    http_server_close(&f->server, on_closed, &closed);
    assert_null(f->server);
    assert_false(closed);
    while (!closed)
        loop_step(&f->world.loop);
    http_world_fini(&f->world);
}

static void client(struct fixture *f, struct raw_client *c)
{
    raw_client_connect(c, &f->world.loop, http_server_port(f->server));
}

static void until(struct fixture *f, const int *what, int wanted)
{
    while (*what < wanted)
        loop_step(&f->world.loop);
}

static void until_connections(struct fixture *f, uint32_t wanted)
{
    while (http_server_connections(f->server) != wanted)
        loop_step(&f->world.loop);
}

static void answer(struct fixture *f, size_t i)
{
    http_exchange_answer_text(f->waiting[i], 200, "late", NULL, 0);
}

// Certificates.

static void make_files(struct fixture *f)
{
    test_folder_init(&f->folder);
    test_ca_init(&f->ca);
    test_folder_path(&f->folder, "cert.pem", f->cert);
    test_folder_path(&f->folder, "key.pem", f->key);
    test_folder_path(&f->folder, "ca.pem", f->ca_file);
    test_write_certificate(&f->ca, f->cert, f->key);
    test_folder_write(&f->folder, "ca.pem", bytes_from_text(f->ca.pem));
}

static void remove_files(struct fixture *f)
{
    test_ca_fini(&f->ca);
    test_folder_fini(&f->folder);
}

static void call_tls(enum http_protocol protocol, bool client_certificate, size_t body_len, enum http_version version)
{
    struct fixture files, f;
    make_files(&files);
    struct http_client_options options = {.protocol = protocol,
                                          .tls = {.ca_pem = files.ca.pem, .server_name = "client.example"}};
    if (client_certificate) {
        options.tls.cert_file = files.cert;
        options.tls.key_file = files.key;
    }
    init(&f, &options);
    struct tls_server_options tls = {
        .cert_file = files.cert, .key_file = files.key, .client_ca_file = client_certificate ? files.ca_file : NULL};
    struct http_server_options server = defaults(&f);
    server.tls = &tls;
    start(&f, &server);
    char url[128];
    uint8_t *body = malloc(body_len + 1);
    memset(body, 'b', body_len);
    struct call_result r = {0};
    struct http_request request = {.method = "POST",
                                   .url = loopback_url(url, "https", http_server_port(f.server), "/x"),
                                   .body = {body, body_len},
                                   .max_response_bytes = 16 << 20};
    http_world_call(&f.world, &request, &r);
    if (r.outcome != HTTP_ANSWERED)
        fail_msg("%s %s", r.error, f.problem);
    assert_int_equal(r.body.len, body_len);
    assert_int_equal(f.version, version);
    assert_string_equal(f.peer, client_certificate ? "127.0.0.1 1 CN=client" : "127.0.0.1 1 -");
    call_result_fini(&r);
    end(&f);
    free(body);
    remove_files(&files);
}

static void test_tls(void **state)
{
    (void)state;
    call_tls(HTTP_1, false, 3 << 20, HTTP_VERSION_1_1);
    call_tls(HTTP_2, false, 3 << 20, HTTP_VERSION_2);
    call_tls(HTTP_BY_ALPN, true, 10, HTTP_VERSION_2);
}

// The pair changes under a running server; what is broken is told and not used.
static void test_certificate_reload(void **state)
{
    (void)state;
    struct fixture files, f;
    struct test_ca new_ca;
    make_files(&files);
    test_ca_init(&new_ca);
    struct http_client_options options = {.tls = {.ca_pem = new_ca.pem, .server_name = "client.example"}};
    init(&f, &options);
    struct tls_server_options tls = {.cert_file = files.cert, .key_file = files.key};
    struct http_server_options server = defaults(&f);
    server.tls = &tls;
    server.tls_reload_nanos = 5 * NANOS_PER_MS;
    start(&f, &server);
    test_folder_write(&files.folder, "cert.pem", bytes_from_text("half of a certi"));
    until(&f, &f.problems, 1);
    assert_non_null(strstr(f.problem, "the old TLS certificate stays in use: tls.cert_file"));
    test_write_certificate(&new_ca, files.cert, files.key);
    char url[128];
    int status = 0;
    while (status != 200) {
        struct call_result r = {0};
        struct http_request request = {.method = "GET",
                                       .url = loopback_url(url, "https", http_server_port(f.server), "/")};
        http_world_call(&f.world, &request, &r);
        status = r.status;
        call_result_fini(&r);
    }
    end(&f);
    test_ca_fini(&new_ca);
    remove_files(&files);
}

static void test_clear_text_http2(void **state)
{
    (void)state;
    static const struct http_client_options options = {.protocol = HTTP_2};
    struct fixture f;
    init(&f, &options);
    struct http_server_options server = defaults(&f);
    start(&f, &server);
    char url[128];
    struct call_result r = {0};
    struct http_request request = {.method = "GET", .url = loopback_url(url, "http", http_server_port(f.server), "/")};
    http_world_call(&f.world, &request, &r);
    assert_int_equal(r.status, 200);
    assert_int_equal(f.version, HTTP_VERSION_2);
    call_result_fini(&r);
    end(&f);
}

static void test_bad_handshakes(void **state)
{
    (void)state;
    struct fixture files, f;
    struct raw_client c;
    make_files(&files);
    init(&f, NULL);
    struct tls_server_options tls = {.cert_file = files.cert, .key_file = files.key};
    struct http_server_options server = defaults(&f);
    server.tls = &tls;
    server.header_timeout_nanos = 50 * NANOS_PER_MS;
    start(&f, &server);
    client(&f, &c);
    raw_client_send(&c, GET("/"));
    raw_client_wait(&c, NULL);
    assert_non_null(strstr(c.got, "400 Bad Request"));
    assert_non_null(strstr(c.got, "this port speaks TLS"));
    raw_client_close(&c);
    client(&f, &c);
    raw_client_send_bytes(&c, "\x16\x03\x01\x00\x05nonsense", 13);
    raw_client_wait(&c, NULL);
    assert_non_null(strstr(f.problem, "TLS handshake"));
    raw_client_close(&c);
    client(&f, &c); // says nothing
    raw_client_wait(&c, NULL);
    assert_int_equal(c.len, 0);
    raw_client_close(&c);
    assert_int_equal(f.requests, 0);
    end(&f);
    remove_files(&files);
}

static void test_protocols(void **state)
{
    (void)state;
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    struct fixture f;
    struct raw_client c;
    init(&f, NULL);
    struct http_server_options server = defaults(&f);
    server.protocols = HTTP_SERVE_2;
    start(&f, &server);
    client(&f, &c);
    raw_client_send(&c, GET("/"));
    raw_client_wait(&c, NULL);
    assert_non_null(strstr(c.got, "505 HTTP Version Not Supported"));
    assert_non_null(strstr(c.got, "HTTP/2 only"));
    raw_client_close(&c);
    end(&f);
    init(&f, NULL);
    server = defaults(&f);
    server.protocols = HTTP_SERVE_1;
    start(&f, &server);
    client(&f, &c);
    for (size_t i = 0; i < sizeof preface - 1; i++) { // the first bytes decide however they come
        raw_client_send_bytes(&c, preface + i, 1);
        uv_run(&f.world.loop, UV_RUN_NOWAIT);
    }
    raw_client_wait(&c, NULL);
    assert_non_null(strstr(c.got, "HTTP/1.1 only"));
    raw_client_close(&c);
    client(&f, &c);
    raw_client_send(&c, "P");
    uv_run(&f.world.loop, UV_RUN_NOWAIT);
    raw_client_send(&c, "OST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx");
    raw_client_wait(&c, "\r\n\r\nx");
    raw_client_close(&c);
    end(&f);
}

static void test_connection_limit(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client busy, idle, third, fourth;
    init(&f, NULL);
    struct http_server_options server = defaults(&f);
    server.max_connections = 2;
    start(&f, &server);
    client(&f, &idle);
    raw_client_send(&idle, GET("/"));
    raw_client_wait(&idle, "page");
    f.defers = true;
    client(&f, &busy);
    raw_client_send(&busy, GET("/"));
    until(&f, &f.requests, 2);
    client(&f, &third); // the idle one makes room
    raw_client_send(&third, GET("/"));
    until(&f, &f.requests, 3);
    raw_client_wait(&idle, NULL);
    client(&f, &fourth); // nobody does: it waits
    raw_client_send(&fourth, GET("/"));
    for (int i = 0; i < 20; i++)
        uv_run(&f.world.loop, UV_RUN_NOWAIT);
    assert_int_equal(f.requests, 3);
    assert_int_equal(http_server_connections(f.server), 2);
    raw_client_close(&third);
    until(&f, &f.requests, 4);
    answer(&f, 2);
    raw_client_wait(&fourth, "late");
    answer(&f, 0);
    raw_client_wait(&busy, "late");
    assert_int_equal(f.aborts, 1);
    raw_client_close(&busy);
    raw_client_close(&idle);
    raw_client_close(&fourth);
    until_connections(&f, 0);
    end(&f);
}

static void test_pause(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client c, later;
    begin(&f);
    f.defers = true;
    client(&f, &c);
    raw_client_send(&c, GET("/1"));
    until(&f, &f.requests, 1);
    http_server_pause(f.server, true);
    client(&f, &later);
    raw_client_send(&later, GET("/2"));
    answer(&f, 0); // what runs is answered
    raw_client_wait(&c, "late");
    raw_client_send(&c, GET("/3"));
    for (int i = 0; i < 20; i++)
        uv_run(&f.world.loop, UV_RUN_NOWAIT);
    assert_int_equal(f.requests, 1);
    assert_int_equal(http_server_connections(f.server), 1);
    http_server_pause(f.server, false);
    until(&f, &f.requests, 3);
    raw_client_close(&c);
    raw_client_close(&later);
    until(&f, &f.aborts, 2);
    end(&f);
}

static void test_drain(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client idle, busy;
    bool drained = false;
    begin(&f);
    client(&f, &idle);
    raw_client_send(&idle, GET("/"));
    raw_client_wait(&idle, "page");
    f.defers = true;
    client(&f, &busy);
    raw_client_send(&busy, GET("/"));
    until(&f, &f.requests, 2);
    http_server_drain(f.server, on_closed, &drained);
    raw_client_wait(&idle, NULL);
    assert_false(drained);
    answer(&f, 0);
    raw_client_wait(&busy, NULL);
    assert_non_null(strstr(busy.got, "Connection: close"));
    raw_client_close(&idle);
    raw_client_close(&busy);
    while (!drained)
        loop_step(&f.world.loop);
    assert_int_equal(f.aborts, 0);
    end(&f);
    begin(&f); // nobody is there
    drained = false;
    http_server_drain(f.server, on_closed, &drained);
    assert_true(drained);
    end(&f);
}

static void test_close_aborts(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client a, b;
    begin(&f);
    f.defers = true;
    client(&f, &a);
    client(&f, &b);
    raw_client_send(&a, GET("/"));
    raw_client_send(&b, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf");
    until(&f, &f.requests, 1);
    while (f.peer[0] == '\0')
        loop_step(&f.world.loop);
    raw_client_close(&b); // goes by itself
    until(&f, &f.aborts, 1);
    bool closed = false;
    http_server_close(&f.server, on_closed, &closed);
    assert_int_equal(f.aborts, 2);
    raw_client_wait(&a, NULL);
    raw_client_close(&a);
    while (!closed)
        loop_step(&f.world.loop);
    http_world_fini(&f.world);
}

static void test_proxy_protocol(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client c;
    init(&f, NULL);
    struct http_server_options server = defaults(&f);
    server.proxy_protocol = true;
    start(&f, &server);
    static const char text[] = "PROXY TCP4 192.0.2.7 198.51.100.2 5000 4318\r\n" GET("/");
    for (size_t step = 1; step < sizeof text; step += 20) {
        client(&f, &c);
        for (size_t i = 0; i < sizeof text - 1; i += step) {
            raw_client_send_bytes(&c, text + i, sizeof text - 1 - i < step ? sizeof text - 1 - i : step);
            uv_run(&f.world.loop, UV_RUN_NOWAIT);
        }
        raw_client_wait(&c, "page");
        assert_string_equal(f.peer, "192.0.2.7 1 -");
        raw_client_close(&c);
    }
    client(&f, &c);
    raw_client_send(&c, GET("/"));
    raw_client_wait(&c, NULL);
    assert_int_equal(c.len, 0);
    assert_non_null(strstr(f.problem, "PROXY"));
    raw_client_close(&c);
    end(&f);
}

static void test_unix_socket(void **state)
{
    (void)state;
    struct fixture files, f;
    struct raw_client c;
    char path[256], endpoint[300];
    struct err e = {0};
    make_files(&files);
    init(&f, NULL);
    snprintf(endpoint, sizeof endpoint, "unix:%s", test_folder_path(&files.folder, "socket", path));
    struct http_server_options server = defaults(&f);
    server.endpoint = endpoint;
    start(&f, &server);
    assert_int_equal(http_server_port(f.server), 0);
    struct http_server *second;
    assert_int_equal(http_server_create(&f.world.loop, &server, &second, &e), ERR_IO); // it is in use
    assert_non_null(strstr(e.text, "address already in use"));
    raw_client_connect_unix(&c, &f.world.loop, path);
    raw_client_send(&c, GET("/"));
    raw_client_wait(&c, "page");
    assert_string_equal(f.peer, "unix 0 -");
    raw_client_close(&c);
    end(&f);
    // what a killed process left is no obstacle
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    init(&f, NULL);
    server = defaults(&f);
    server.endpoint = endpoint;
    start(&f, &server);
    end(&f);
    init(&f, NULL);
    snprintf(endpoint, sizeof endpoint, "unix:/%0200d", 0);
    assert_int_equal(http_server_create(&f.world.loop, &server, &second, &e), ERR_INVALID);
    http_world_fini(&f.world);
    remove_files(&files);
}

static void test_everywhere(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client c;
    init(&f, NULL);
    struct http_server_options server = defaults(&f);
    server.endpoint = ":0";
    start(&f, &server);
    client(&f, &c);
    raw_client_send(&c, GET("/"));
    raw_client_wait(&c, "page");
    assert_string_equal(f.peer, "127.0.0.1 1 -"); // whichever family the socket has
    raw_client_close(&c);
    end(&f);
}

// A client that asks for much and reads nothing is cut off; nobody else waits for it.
static void test_client_that_does_not_read(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client greedy, other;
    init(&f, NULL);
    struct http_server_options server = defaults(&f);
    server.write_timeout_nanos = 50 * NANOS_PER_MS;
    start(&f, &server);
    client(&f, &greedy);
    char *body = malloc((6 << 20) + 1);
    memset(body, 'x', 6 << 20);
    body[6 << 20] = '\0';
    raw_client_send(&greedy, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6291456\r\n\r\n");
    uv_read_stop(&greedy.socket.stream);
    uv_buf_t b = uv_buf_init(body, 6 << 20);
    uv_write_t write;
    uv_write(&write, &greedy.socket.stream, &b, 1, NULL);
    until(&f, &f.requests, 1);
    client(&f, &other);
    raw_client_send(&other, GET("/"));
    raw_client_wait(&other, "page");
    until_connections(&f, 1);
    raw_client_close(&other);
    raw_client_close(&greedy);
    free(body);
    end(&f);
}

static void test_much_pipelining(void **state)
{
    (void)state;
    enum { REQUESTS = 2000 };
    struct fixture f;
    struct raw_client c, other;
    begin(&f);
    size_t len = strlen(GET("/p"));
    char *all = malloc(REQUESTS * len);
    for (size_t i = 0; i < REQUESTS; i++)
        memcpy(all + i * len, GET("/p"), len);
    client(&f, &c);
    client(&f, &other);
    raw_client_send_bytes(&c, all, REQUESTS * len);
    raw_client_send(&other, GET("/other"));
    raw_client_wait(&other, "page");
    assert_in_range(f.requests, 1, REQUESTS); // it did not wait for all of them
    until(&f, &f.requests, REQUESTS + 1);
    raw_client_close(&c);
    raw_client_close(&other);
    free(all);
    end(&f);
}

static void test_age(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client c, busy;
    init(&f, NULL);
    struct http_server_options server = defaults(&f);
    server.max_age_nanos = 20 * NANOS_PER_MS;
    server.max_age_grace_nanos = 20 * NANOS_PER_MS;
    start(&f, &server);
    client(&f, &c);
    raw_client_send(&c, GET("/"));
    raw_client_wait(&c, NULL); // closed while idle
    assert_non_null(strstr(c.got, "page"));
    f.defers = true;
    client(&f, &busy);
    raw_client_send(&busy, GET("/"));
    raw_client_wait(&busy, NULL);
    assert_int_equal(f.aborts, 1); // the grace was over
    raw_client_close(&c);
    raw_client_close(&busy);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_certificate_reload),
        cmocka_unit_test(test_clear_text_http2),
        cmocka_unit_test(test_bad_handshakes),
        cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_connection_limit),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_close_aborts),
        cmocka_unit_test(test_proxy_protocol),
        cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_everywhere),
        cmocka_unit_test(test_client_that_does_not_read),
        cmocka_unit_test(test_much_pipelining),
        cmocka_unit_test(test_age),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
