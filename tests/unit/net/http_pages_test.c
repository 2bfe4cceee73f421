// SPDX-License-Identifier: Apache-2.0
#include "net/http_pages.h"

#include "base/clock.h"
#include "base/limits.h"
#include "tests/support/http_calls.h"
#include "tests/support/loop_step.h"
#include "tests/support/raw_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
    struct http_world world;
    struct http_pages *server;
    int requests;
    char last[256]; // method path query of the last request
    size_t page_bytes;
};

static void on_page(void *arg, const struct http_page_request *request, struct http_page *page)
{
    struct fixture *f = arg;
    f->requests++;
    snprintf(f->last, sizeof f->last, "%.*s %.*s %.*s", BYTES_PRINT(request->method), BYTES_PRINT(request->path),
             BYTES_PRINT(request->query));
    if (bytes_equal_text(request->path, "/none")) {
        page->status = 404;
        page->content_type = "text/html";
    }
    for (size_t i = 0; i < f->page_bytes; i++)
        buf_add_byte(&page->body, (uint8_t)('a' + i % 26));
    buf_add_text(&page->body, "page");
}

static void start(struct fixture *f, uint32_t max_connections)
{
    static const struct http_client_options client;
    struct http_pages_options options = {
        .endpoint = "127.0.0.1:0", .on_page = on_page, .arg = f, .max_connections = max_connections};
    *f = (struct fixture){0};
    http_world_init(&f->world, &client);
    assert_int_equal(http_pages_create(&f->world.loop, &options, &f->server, NULL), ERR_OK);
    assert_in_range(http_pages_port(f->server), 1, 65535);
}

static void start_impatient(struct fixture *f)
{
    static const struct http_client_options client;
    struct http_pages_options options = {.endpoint = "127.0.0.1:0",
                                         .on_page = on_page,
                                         .arg = f,
                                         .request_timeout_nanos = 200 * NANOS_PER_MS,
                                         .idle_timeout_nanos = 40 * NANOS_PER_MS};
    *f = (struct fixture){0};
    http_world_init(&f->world, &client);
    assert_int_equal(http_pages_create(&f->world.loop, &options, &f->server, NULL), ERR_OK);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static void stop_server(struct fixture *f)
{
    bool closed = false;
    http_pages_close(&f->server, on_closed, &closed);
    assert_null(f->server);
    while (!closed)
        loop_step(&f->world.loop);
}

static void stop(struct fixture *f)
{
    stop_server(f);
    http_world_fini(&f->world);
}

static void call(struct fixture *f, const char *method, const char *path, const char *body, struct call_result *r)
{
    char url[128];
    loopback_url(url, "http", http_pages_port(f->server), path);
    struct http_request request = {.method = method, .url = url, .body = bytes_from_text(body)};
    *r = (struct call_result){0};
    http_world_call(&f->world, &request, r);
    assert_int_equal(r->outcome, HTTP_ANSWERED);
}

static void test_page(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r;
    start(&f, 0);
    call(&f, "GET", "/metrics?a=b?c", NULL, &r);
    assert_int_equal(r.status, 200);
    assert_true(bytes_equal_text(buf_bytes(&r.body), "page"));
    assert_string_equal(f.last, "GET /metrics a=b?c");
    call_result_fini(&r);
    call(&f, "HEAD", "/metrics", NULL, &r);
    assert_int_equal(r.status, 200);
    assert_int_equal(r.body.len, 0);
    assert_string_equal(f.last, "HEAD /metrics ");
    call_result_fini(&r);
    call(&f, "GET", "/none", "a body that is thrown away", &r);
    assert_int_equal(r.status, 404);
    call_result_fini(&r);
    call(&f, "POST", "/metrics", NULL, &r);
    assert_int_equal(r.status, 405);
    assert_int_equal(f.requests, 3);
    call_result_fini(&r);
    stop(&f);
}

static void test_large_page(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r;
    start(&f, 0);
    f.page_bytes = 3 << 20;
    call(&f, "GET", "/", NULL, &r);
    assert_int_equal(r.status, 200);
    assert_int_equal(r.body.len, (3 << 20) + 4);
    assert_int_equal(r.body.data[27], 'b');
    call_result_fini(&r);
    f.page_bytes = LIMIT_METRICS_PAGE_BYTES;
    call(&f, "GET", "/", NULL, &r);
    assert_int_equal(r.status, 500);
    call_result_fini(&r);
    stop(&f);
}

static void test_large_request(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r;
    char *body = malloc((1 << 20) + 1);
    memset(body, 'x', 1 << 20);
    body[1 << 20] = '\0';
    start(&f, 0);
    call(&f, "GET", "/", body, &r);
    assert_int_equal(r.status, 413);
    assert_int_equal(f.requests, 0);
    call_result_fini(&r);
    free(body);
    stop(&f);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

static void test_pipelining(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client r;
    start(&f, 0);
    raw_client_connect(&r, &f.world.loop, http_pages_port(f.server));
    raw_client_send(&r, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n"
                        "GET /3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /4 HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_wait(&r, NULL);
    assert_int_equal(count(r.got, "\r\ncontent-type: text/plain; charset=utf-8\r\nContent-Length: 4\r\n"), 3);
    assert_int_equal(count(r.got, "Connection: close"), 1);
    assert_string_equal(f.last, "GET /3 ");
    assert_int_equal(f.requests, 3);
    raw_client_close(&r);
    stop(&f);
}

static void test_slow_bytes(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client r;
    static const char text[] = "HEAD /slow HTTP/1.0\r\nX: y\r\n\r\n";
    start(&f, 0);
    raw_client_connect(&r, &f.world.loop, http_pages_port(f.server));
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        char one[2] = {text[i], '\0'};
        raw_client_send(&r, one);
        uv_run(&f.world.loop, UV_RUN_NOWAIT);
    }
    raw_client_wait(&r, NULL);
    assert_string_equal(f.last, "HEAD /slow ");
    assert_non_null(strstr(r.got, "Connection: close"));
    assert_null(strstr(r.got, "page"));
    raw_client_close(&r);
    stop(&f);
}

static void refused(const char *text, const char *status_line)
{
    struct fixture f;
    struct raw_client r;
    start(&f, 0);
    raw_client_connect(&r, &f.world.loop, http_pages_port(f.server));
    raw_client_send(&r, text);
    raw_client_wait(&r, "\r\n\r\n");
    if (strncmp(r.got, status_line, strlen(status_line)) != 0)
        fail_msg("%s", r.got);
    assert_int_equal(f.requests, 0);
    raw_client_close(&r);
    stop(&f);
}

static void test_refused(void **state)
{
    (void)state;
    refused("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n");
    refused("GET / HTTP/2.0\r\nHost: h\r\n\r\n", "HTTP/1.1 505 HTTP Version Not Supported\r\n");
    refused("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 405 Method Not Allowed\r\n");
    refused("DELETE / HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 405 Method Not Allowed\r\n");
    refused("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 70000\r\n\r\n", "HTTP/1.1 413 Content Too Large\r\n");
}

static void test_expect_continue(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client r;
    start(&f, 0);
    raw_client_connect(&r, &f.world.loop, http_pages_port(f.server));
    raw_client_send(&r, "GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    raw_client_wait(&r, "\r\n\r\n");
    assert_string_equal(r.got, "HTTP/1.1 100 Continue\r\n\r\n");
    raw_client_send(&r, "ab");
    raw_client_wait(&r, "page");
    assert_non_null(strstr(r.got, "200 OK"));
    raw_client_close(&r);
    stop(&f);
}

static void test_too_many_connections(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client first, second;
    start(&f, 1);
    raw_client_connect(&first, &f.world.loop, http_pages_port(f.server));
    raw_client_send(&first, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_wait(&first, "page");
    raw_client_connect(&second, &f.world.loop, http_pages_port(f.server));
    raw_client_send(&second, "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_wait(&second, "page");
    raw_client_wait(&first, NULL); // it was idle and had to go
    assert_string_equal(f.last, "GET /2 ");
    raw_client_close(&first);
    raw_client_close(&second);
    stop(&f);
}

static void test_clients_that_leave(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client r;
    start(&f, 0);
    f.page_bytes = 4 << 20; // does not fit into the socket's buffers
    raw_client_connect(&r, &f.world.loop, http_pages_port(f.server));
    raw_client_send(&r, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    uv_read_stop(&r.socket.stream);
    while (f.requests == 0)
        loop_step(&f.world.loop);
    raw_client_close(&r);
    raw_client_connect(&r, &f.world.loop, http_pages_port(f.server)); // still serving
    raw_client_send(&r, "GET / HTT");
    raw_client_close(&r);
    raw_client_connect(&r, &f.world.loop, http_pages_port(f.server));
    raw_client_send(&r, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    uv_read_stop(&r.socket.stream);
    while (f.requests == 1)
        loop_step(&f.world.loop);
    stop_server(&f); // with a response on its way
    assert_int_equal(f.requests, 2);
    raw_client_close(&r);
    http_world_fini(&f.world);
}

static void test_clients_that_hang(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client silent, half, idle;
    start_impatient(&f);
    raw_client_connect(&silent, &f.world.loop, http_pages_port(f.server));
    raw_client_connect(&half, &f.world.loop, http_pages_port(f.server));
    raw_client_send(&half, "GET / HTTP/1.1\r\nHo");
    raw_client_connect(&idle, &f.world.loop, http_pages_port(f.server));
    raw_client_send(&idle, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_wait(&silent, NULL);
    raw_client_wait(&half, NULL);
    raw_client_wait(&idle, NULL);
    assert_int_equal(silent.len, 0);
    assert_non_null(strstr(half.got, "HTTP/1.1 408 Request Timeout\r\n"));
    assert_int_equal(f.requests, 1);
    raw_client_close(&silent);
    raw_client_close(&half);
    raw_client_close(&idle);
    stop(&f);
}

static void test_http10_keep_alive(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client r;
    start(&f, 0);
    raw_client_connect(&r, &f.world.loop, http_pages_port(f.server));
    raw_client_send(&r, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n");
    raw_client_wait(&r, NULL);
    assert_int_equal(count(r.got, "Connection: keep-alive"), 1);
    assert_int_equal(count(r.got, "Connection: close"), 1);
    assert_int_equal(f.requests, 2);
    raw_client_close(&r);
    stop(&f);
}

static void test_endpoints(void **state)
{
    (void)state;
    struct fixture f;
    struct http_pages *other;
    struct err e = {0};
    char text[64], wanted[128];
    struct http_pages_options options = {.on_page = on_page};
    start(&f, 0);
    snprintf(text, sizeof text, "127.0.0.1:%d", http_pages_port(f.server));
    snprintf(wanted, sizeof wanted, "listen on %s: address already in use", text);
    options.endpoint = text;
    assert_int_equal(http_pages_create(&f.world.loop, &options, &other, &e), ERR_IO);
    assert_string_equal(e.text, wanted);
    assert_null(other);
    options.endpoint = "nonsense";
    assert_int_equal(http_pages_create(&f.world.loop, &options, &other, &e), ERR_INVALID);
    assert_string_equal(e.text, "listen on nonsense: the port is missing: write host:port");
    options.endpoint = "nosuch.invalid:0";
    assert_int_equal(http_pages_create(&f.world.loop, &options, &other, &e), ERR_IO);
    assert_non_null(strstr(e.text, "nosuch.invalid"));
    options.endpoint = "localhost:0";
    assert_int_equal(http_pages_create(&f.world.loop, &options, &other, &e), ERR_OK);
    assert_int_not_equal(http_pages_port(other), 0);
    http_pages_close(&other, NULL, NULL);
    http_pages_close(&other, NULL, NULL); // nothing to do
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_large_page),
        cmocka_unit_test(test_large_request),
        cmocka_unit_test(test_pipelining),
        cmocka_unit_test(test_slow_bytes),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_too_many_connections),
        cmocka_unit_test(test_clients_that_leave),
        cmocka_unit_test(test_clients_that_hang),
        cmocka_unit_test(test_http10_keep_alive),
        cmocka_unit_test(test_endpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
