// SPDX-License-Identifier: Apache-2.0
// The client against a scripted peer that misbehaves, and against our own server.
#include "net/http_client.h"

#include "base/clock.h"
#include "base/mem.h"
#include "net/http_pages.h"
#include "tests/support/http_calls.h"
#include "tests/support/loop_step.h"
#include "tests/support/raw_peer.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SHORT_NANOS (100 * NANOS_PER_MS)
#define OK_TEXT "HTTP/1.1 200 OK\r\nServer: raw\r\nContent-Length: 2\r\n\r\nok"

struct fixture {
    struct http_world world;
    struct raw_peer *peer;
    char url[128];
};

static void start(struct fixture *f, const struct http_client_options *options)
{
    static const struct http_client_options defaults;
    http_world_init(&f->world, options ? options : &defaults);
    f->peer = raw_peer_create(&f->world.loop, NULL);
    loopback_url(f->url, "http", raw_peer_port(f->peer), "/v1development/profiles");
}

static void stop(struct fixture *f)
{
    if (f->peer != NULL)
        raw_peer_destroy(&f->peer);
    http_world_fini(&f->world);
}

static struct http_request post(const struct fixture *f, const char *body)
{
    return (struct http_request){.method = "POST", .url = f->url, .body = bytes_from_text(body)};
}

#define SCRIPT(f, ...)                                                                                                 \
    static const struct raw_step steps[] = {__VA_ARGS__};                                                              \
    raw_peer_script((f)->peer, steps, COUNT_OF(steps))

// One POST of "body" to the scripted peer.
static void call(struct fixture *f, struct call_result *r, int64_t timeout_nanos)
{
    struct http_request request = post(f, "body");
    request.timeout_nanos = timeout_nanos;
    http_world_call(&f->world, &request, r);
    assert_int_equal(r->done, 1);
}

static void assert_says(const struct call_result *r, enum http_outcome outcome, const char *text)
{
    if (r->outcome != outcome || strstr(r->error, text) == NULL)
        fail_msg("outcome %d, status %d, \"%s\", wanted %d, \"%s\"", r->outcome, r->status, r->error, outcome, text);
}

static void assert_ok(const struct call_result *r)
{
    assert_says(r, HTTP_ANSWERED, "");
    assert_int_equal(r->status, 200);
    assert_true(bytes_equal_text(buf_bytes(&r->body), "ok"));
}

static void test_what_is_sent(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r = {0};
    char wanted[400];
    const struct http_header headers[] = {{"Content-Type", "application/x-protobuf"}, {"X-Scope-OrgID", "a"}};
    start(&f, NULL);
    SCRIPT(&f, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0});
    struct http_request request = post(&f, "body");
    request.headers = headers;
    request.header_count = 2;
    http_world_call(&f.world, &request, &r);
    assert_ok(&r);
    assert_string_equal(r.server, "raw");
    snprintf(wanted, sizeof wanted,
             "POST /v1development/profiles HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: profrelay/" PROFRELAY_VERSION
             "\r\nContent-Length: 4\r\nContent-Type: application/x-protobuf\r\nX-Scope-OrgID: a\r\n\r\nbody",
             raw_peer_port(f.peer));
    assert_string_equal(raw_peer_received(f.peer, 0), wanted);
    call_result_fini(&r);
    stop(&f);
}

static void test_byte_by_byte(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r = {0};
    start(&f, NULL);
    SCRIPT(&f, {RAW_EXPECT, "body", 0},
           {RAW_SEND_BYTEWISE,
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: "
            "chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
            0});
    call(&f, &r, 0);
    assert_ok(&r);
    call_result_fini(&r);
    stop(&f);
}

static void test_connection_is_reused(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, NULL);
    SCRIPT(&f, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0}, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0},
           {RAW_EXPECT, "body", 0},
           {RAW_SEND, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 0});
    for (int i = 0; i < 3; i++) {
        struct call_result r = {0};
        call(&f, &r, 0);
        assert_ok(&r);
        call_result_fini(&r);
    }
    assert_int_equal(raw_peer_connections(f.peer), 1);
    while (!raw_peer_gone(f.peer, 0))
        loop_step(&f.world.loop);
    stop(&f);
}

static void test_stale_connection_closed_while_idle(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, NULL);
    static const struct raw_step closes[] = {{RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0}, {RAW_CLOSE, 0, 0}};
    raw_peer_script(f.peer, closes, COUNT_OF(closes));
    for (int i = 0; i < 3; i++) {
        struct call_result r = {0};
        call(&f, &r, 0);
        assert_ok(&r);
        call_result_fini(&r);
        while (!raw_peer_gone(f.peer, (size_t)i))
            loop_step(&f.world.loop);
    }
    assert_int_equal(raw_peer_connections(f.peer), 3);
    stop(&f);
}

static int listen_somewhere(struct fixture *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    loopback_url(f->url, "http", ntohs(address.sin_port), "/");
    return fd;
}

// Lets the client send on the next connection, and answers.
static int serve_next(struct fixture *f, int listener, struct call_result *r)
{
    char text[1024];
    size_t used = 0;
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) < 0)
        loop_step(&f->world.loop);
    while (used < 4 || memcmp(text + used - 4, "body", 4) != 0) {
        ssize_t n = recv(fd, text + used, sizeof text - used, 0);
        used += n > 0 ? (size_t)n : 0;
        loop_step(&f->world.loop);
    }
    assert_int_equal(send(fd, OK_TEXT, strlen(OK_TEXT), MSG_NOSIGNAL), strlen(OK_TEXT));
    http_world_wait(&f->world, r);
    assert_ok(r);
    call_result_fini(r);
    return fd;
}

// The end has come, but the loop has not seen it yet: nothing is sent where the peer would still read it.
static void test_end_that_the_loop_has_not_seen(void **state)
{
    (void)state;
    static const char *const last_words[] = {"", "HTTP/1.1 408 Idle\r\n\r\n"};
    for (size_t i = 0; i < COUNT_OF(last_words); i++) {
        struct fixture f;
        struct call_result r = {0};
        char byte;
        start(&f, NULL);
        int listener = listen_somewhere(&f);
        struct http_request request = post(&f, "body");
        http_world_send(&f.world, &request, &r);
        int first = serve_next(&f, listener, &r);
        if (last_words[i][0] != '\0')
            assert_true(send(first, last_words[i], strlen(last_words[i]), MSG_NOSIGNAL) > 0);
        else
            shutdown(first, SHUT_WR);
        r = (struct call_result){0};
        http_world_send(&f.world, &request, &r);
        int second = serve_next(&f, listener, &r);
        assert_true(recv(first, &byte, 1, 0) <= 0);
        close(first);
        close(second);
        close(listener);
        stop(&f);
    }
}

// The server takes the second request and dies on it: sent once more, on a new connection.
static void test_reused_connection_dies(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r = {0};
    start(&f, NULL);
    static const struct raw_step dies[] = {
        {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0}, {RAW_EXPECT, "body", 0}, {RAW_RESET, 0, 0}};
    static const struct raw_step answers[] = {{RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0}};
    raw_peer_script(f.peer, dies, COUNT_OF(dies));
    raw_peer_script(f.peer, answers, COUNT_OF(answers));
    call(&f, &r, 0);
    assert_ok(&r);
    call_result_fini(&r);
    call(&f, &r, 0);
    assert_ok(&r);
    call_result_fini(&r);
    assert_int_equal(raw_peer_connections(f.peer), 2);
    stop(&f);
}

// As before, but the second connection dies too: no third attempt.
static void test_resent_only_once(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r = {0};
    start(&f, NULL);
    static const struct raw_step dies[] = {
        {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0}, {RAW_EXPECT, "body", 0}, {RAW_RESET, 0, 0}};
    static const struct raw_step dies_at_once[] = {{RAW_EXPECT, "body", 0}, {RAW_CLOSE, 0, 0}};
    raw_peer_script(f.peer, dies, COUNT_OF(dies));
    raw_peer_script(f.peer, dies_at_once, COUNT_OF(dies_at_once));
    call(&f, &r, 0);
    assert_ok(&r);
    call_result_fini(&r);
    call(&f, &r, 0);
    assert_says(&r, HTTP_LOST, "connection closed before the response was complete");
    assert_int_equal(raw_peer_connections(f.peer), 2);
    call_result_fini(&r);
    stop(&f);
}

static void test_bytes_on_an_idle_connection(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, NULL);
    static const struct raw_step speaks[] = {{RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT OK_TEXT, 0}};
    raw_peer_script(f.peer, speaks, COUNT_OF(speaks));
    for (int i = 0; i < 2; i++) {
        struct call_result r = {0};
        call(&f, &r, 0);
        assert_ok(&r);
        call_result_fini(&r);
    }
    assert_int_equal(raw_peer_connections(f.peer), 2);
    stop(&f);
}

static void test_bytes_out_of_turn(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r = {0};
    start(&f, NULL);
    SCRIPT(&f, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0}, {RAW_SEND, "HTTP/1.1 408 Idle\r\n\r\n", 0});
    for (size_t i = 0; i < 2; i++) {
        call(&f, &r, 0);
        assert_ok(&r);
        call_result_fini(&r);
        while (!raw_peer_gone(f.peer, i))
            loop_step(&f.world.loop);
    }
    stop(&f);
}

static void one_failure(const struct raw_step *steps, size_t count, enum http_outcome outcome, const char *text)
{
    struct fixture f;
    struct call_result r = {0};
    start(&f, NULL);
    raw_peer_script(f.peer, steps, count);
    call(&f, &r, outcome == HTTP_TIMED_OUT ? SHORT_NANOS : 0);
    assert_says(&r, outcome, text);
    assert_non_null(strstr(r.error, "127.0.0.1:"));
    assert_int_equal(raw_peer_connections(f.peer), 1);
    call_result_fini(&r);
    stop(&f);
}

#define ONE_FAILURE(outcome, text, ...)                                                                                \
    do {                                                                                                               \
        static const struct raw_step steps[] = {__VA_ARGS__};                                                          \
        one_failure(steps, COUNT_OF(steps), outcome, text);                                                            \
    } while (0)

static void test_peers_that_fail(void **state)
{
    (void)state;
    ONE_FAILURE(HTTP_LOST, "connection closed before the response was complete", {RAW_CLOSE, 0, 0});
    ONE_FAILURE(HTTP_LOST, "connection reset by peer before the response", {RAW_EXPECT, "body", 0}, {RAW_RESET, 0, 0});
    ONE_FAILURE(HTTP_LOST, "before the response was complete", {RAW_EXPECT, "body", 0},
                {RAW_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal", 0}, {RAW_CLOSE, 0, 0});
    ONE_FAILURE(HTTP_LOST, "before the response was complete", {RAW_EXPECT, "body", 0},
                {RAW_SEND, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", 0}, {RAW_CLOSE, 0, 0});
    ONE_FAILURE(HTTP_TIMED_OUT, "no complete response within 0.1s", {RAW_EXPECT, "body", 0});
    ONE_FAILURE(HTTP_TIMED_OUT, "no complete response within 0.1s", {RAW_SEND, "HTTP/1.1 200 OK\r\nContent-", 0});
    ONE_FAILURE(HTTP_BAD_RESPONSE, "not HTTP/1.1", {RAW_SEND, "220 smtp.example ESMTP\r\n", 0});
    ONE_FAILURE(HTTP_BAD_RESPONSE, "headers are larger than 65536", {RAW_SEND, "HTTP/1.1 200 OK\r\n", 0},
                {RAW_SEND, "X-Filler: 0123456789012345678901234567890123456789\r\n", 100000});
    ONE_FAILURE(HTTP_BAD_RESPONSE, "209715200 bytes, allowed are 4194304",
                {RAW_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 209715200\r\n\r\n", 0});
    ONE_FAILURE(HTTP_BAD_RESPONSE, "allowed are 4194304",
                {RAW_SEND, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0},
                {RAW_SEND,
                 "400\r\n"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123\r\n",
                 5000});
}

static void test_http10_until_the_end(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r = {0};
    start(&f, NULL);
    SCRIPT(&f, {RAW_EXPECT, "body", 0}, {RAW_SEND, "HTTP/1.0 200 OK\r\n\r\nok", 0}, {RAW_CLOSE, 0, 0});
    call(&f, &r, 0);
    assert_ok(&r);
    call_result_fini(&r);
    stop(&f);
}

static void big_upload(const struct raw_step *steps, size_t count, struct call_result *r)
{
    enum { BIG_BYTES = 32 << 20 };
    struct fixture f;
    uint8_t *big = malloc(BIG_BYTES);
    memset(big, 'x', BIG_BYTES);
    memcpy(big + BIG_BYTES - 8, "the-end.", 8);
    start(&f, NULL);
    raw_peer_script(f.peer, steps, count);
    struct http_request request = post(&f, "");
    request.body = (struct bytes){big, BIG_BYTES};
    http_world_call(&f.world, &request, r);
    free(big); // the body is ours again as soon as the call is done
    if (r->status == 413) {
        while (!raw_peer_gone(f.peer, 0))
            loop_step(&f.world.loop);
    }
    stop(&f);
}

static void test_early_response(void **state)
{
    (void)state;
    struct call_result r = {0};
    static const struct raw_step early[] = {
        {RAW_EXPECT, "\r\n\r\n", 0},
        {RAW_SEND, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno", 0},
    };
    big_upload(early, COUNT_OF(early), &r);
    assert_says(&r, HTTP_ANSWERED, "");
    assert_int_equal(r.status, 413);
    call_result_fini(&r);
}

static void test_early_response_then_close(void **state)
{
    (void)state;
    struct call_result r = {0};
    static const struct raw_step early[] = {
        {RAW_EXPECT, "\r\n\r\n", 0},
        {RAW_STOP_READING, 0, 0},
        {RAW_SEND, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno", 0},
        {RAW_CLOSE, 0, 0},
    };
    big_upload(early, COUNT_OF(early), &r);
    assert_says(&r, HTTP_ANSWERED, "");
    assert_int_equal(r.status, 413);
    call_result_fini(&r);
}

static void test_big_body_arrives(void **state)
{
    (void)state;
    struct call_result r = {0};
    static const struct raw_step takes[] = {{RAW_EXPECT, "the-end.", 0}, {RAW_SEND, OK_TEXT, 0}};
    big_upload(takes, COUNT_OF(takes), &r);
    assert_ok(&r);
    call_result_fini(&r);
}

static void test_timeout_while_the_body_is_stuck(void **state)
{
    (void)state;
    enum { BIG_BYTES = 32 << 20 };
    struct fixture f;
    struct call_result r = {0};
    uint8_t *big = calloc(1, BIG_BYTES);
    start(&f, NULL);
    SCRIPT(&f, {RAW_STOP_READING, 0, 0});
    struct http_request request = post(&f, "");
    request.body = (struct bytes){big, BIG_BYTES};
    request.timeout_nanos = SHORT_NANOS;
    http_world_call(&f.world, &request, &r);
    free(big);
    assert_says(&r, HTTP_TIMED_OUT, "no complete response within 0.1s");
    call_result_fini(&r);
    stop(&f);
}

static void test_refused_connection(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r = {0};
    char wanted[200];
    start(&f, NULL);
    snprintf(wanted, sizeof wanted, "connect to 127.0.0.1:%d: connection refused", raw_peer_port(f.peer));
    raw_peer_destroy(&f.peer);
    call(&f, &r, 0);
    assert_says(&r, HTTP_CONNECT_FAILED, wanted);
    assert_string_equal(r.error, wanted);
    call_result_fini(&r);
    stop(&f);
}

static void test_unknown_host(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r = {0};
    start(&f, NULL);
    struct http_request request = {.method = "GET", .url = "http://nosuch.invalid/"};
    http_world_call(&f.world, &request, &r);
    assert_says(&r, HTTP_CONNECT_FAILED, "resolve nosuch.invalid: ");
    call_result_fini(&r);
    stop(&f);
}

static void test_name_with_two_addresses(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r = {0};
    start(&f, NULL);
    SCRIPT(&f, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0});
    // where localhost is ::1 first, that address refuses and the next is tried
    snprintf(f.url, sizeof f.url, "http://localhost:%d/", raw_peer_port(f.peer));
    call(&f, &r, 0);
    assert_ok(&r);
    call_result_fini(&r);
    stop(&f);
}

static void test_queue_in_order(void **state)
{
    (void)state;
    struct fixture f;
    struct http_client_options options = {.max_connections = 1};
    struct call_result r[3] = {{0}, {0}, {0}};
    start(&f, &options);
    SCRIPT(&f, {RAW_EXPECT, "first", 0}, {RAW_SEND, OK_TEXT, 0}, {RAW_EXPECT, "second", 0}, {RAW_SEND, OK_TEXT, 0},
           {RAW_EXPECT, "third", 0}, {RAW_SEND, OK_TEXT, 0});
    const char *bodies[] = {"first", "second", "third"};
    for (size_t i = 0; i < 3; i++) {
        struct http_request request = post(&f, bodies[i]);
        http_world_send(&f.world, &request, &r[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        http_world_wait(&f.world, &r[i]);
        for (size_t later = i + 1; later < 3; later++)
            assert_int_equal(r[later].done, 0);
        assert_ok(&r[i]);
        call_result_fini(&r[i]);
    }
    assert_int_equal(raw_peer_connections(f.peer), 1);
    stop(&f);
}

static void test_timeout_in_the_queue(void **state)
{
    (void)state;
    struct fixture f;
    struct http_client_options options = {.max_connections = 1};
    struct call_result busy = {0}, waits = {0}, next = {0};
    start(&f, &options);
    SCRIPT(&f, {RAW_EXPECT, "busy", 0}, {RAW_EXPECT, "go", 0});
    struct http_request request = post(&f, "busy");
    http_world_send(&f.world, &request, &busy);
    request = post(&f, "waits");
    request.timeout_nanos = SHORT_NANOS;
    http_world_send(&f.world, &request, &waits);
    http_world_wait(&f.world, &waits);
    assert_says(&waits, HTTP_TIMED_OUT, "no connection was free within 0.1s (all 1 are in use)");
    request = post(&f, "next"); // the queue is whole after the loss of its end
    request.timeout_nanos = SHORT_NANOS;
    http_world_call(&f.world, &request, &next);
    assert_says(&next, HTTP_TIMED_OUT, "no connection was free");
    assert_int_equal(busy.done, 0);
    call_result_fini(&waits);
    call_result_fini(&next);
    raw_peer_destroy(&f.peer);
    http_world_wait(&f.world, &busy);
    assert_int_equal(busy.outcome, HTTP_LOST);
    call_result_fini(&busy);
    stop(&f);
}

// Another origin's idle connection makes room.
static void test_idle_connection_yields(void **state)
{
    (void)state;
    struct fixture f;
    struct http_client_options options = {.max_connections = 1};
    struct call_result r = {0};
    start(&f, &options);
    SCRIPT(&f, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0});
    struct raw_peer *other = raw_peer_create(&f.world.loop, NULL);
    raw_peer_script(other, steps, COUNT_OF(steps));
    call(&f, &r, 0);
    assert_ok(&r);
    call_result_fini(&r);
    loopback_url(f.url, "http", raw_peer_port(other), "/");
    call(&f, &r, 0);
    assert_ok(&r);
    call_result_fini(&r);
    while (!raw_peer_gone(f.peer, 0))
        loop_step(&f.world.loop);
    raw_peer_destroy(&other);
    stop(&f);
}

static void test_idle_timeout(void **state)
{
    (void)state;
    struct fixture f;
    struct http_client_options options = {.idle_timeout_nanos = 20 * NANOS_PER_MS};
    struct call_result r = {0};
    start(&f, &options);
    SCRIPT(&f, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0});
    call(&f, &r, 0);
    assert_ok(&r);
    call_result_fini(&r);
    while (!raw_peer_gone(f.peer, 0))
        loop_step(&f.world.loop);
    stop(&f);
}

static void test_cancel(void **state)
{
    (void)state;
    struct fixture f;
    struct http_client_options options = {.max_connections = 1};
    struct call_result active = {0}, waiting = {0};
    start(&f, &options);
    SCRIPT(&f, {RAW_EXPECT, "never", 0});
    struct http_request request = post(&f, "body");
    http_world_send(&f.world, &request, &active);
    http_world_send(&f.world, &request, &waiting);
    http_call_cancel(waiting.call);
    http_call_cancel(waiting.call);
    assert_int_equal(waiting.done, 0);
    http_world_wait(&f.world, &waiting);
    assert_int_equal(waiting.outcome, HTTP_CANCELLED);
    while (raw_peer_connections(f.peer) == 0)
        loop_step(&f.world.loop);
    http_call_cancel(active.call);
    assert_int_equal(active.done, 0);
    http_world_wait(&f.world, &active);
    assert_int_equal(active.outcome, HTTP_CANCELLED);
    call_result_fini(&active);
    call_result_fini(&waiting);
    stop(&f);
    assert_int_equal(active.done, 1);
    assert_int_equal(waiting.done, 1);
}

static void on_closed_nothing(void *arg)
{
    (*(int *)arg)++;
}

static void test_close_with_calls(void **state)
{
    (void)state;
    struct fixture f;
    struct http_client_options options = {.max_connections = 2};
    struct call_result r[4] = {{0}, {0}, {0}, {0}};
    start(&f, &options);
    SCRIPT(&f, {RAW_EXPECT, "never", 0});
    struct http_request request = post(&f, "body");
    http_world_send(&f.world, &request, &r[0]);
    while (raw_peer_connections(f.peer) == 0)
        loop_step(&f.world.loop);
    for (size_t i = 1; i < 3; i++)
        http_world_send(&f.world, &request, &r[i]);
    request.url = "http://localhost:1/"; // being resolved
    http_world_send(&f.world, &request, &r[3]);
    int closed = 0;
    http_client_close(&f.world.client, on_closed_nothing, &closed);
    assert_int_equal(r[0].done + r[1].done + r[2].done + r[3].done + closed, 0);
    while (closed == 0)
        loop_step(&f.world.loop);
    stop(&f);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(r[i].done, 1);
        assert_int_equal(r[i].outcome, HTTP_CANCELLED);
        call_result_fini(&r[i]);
    }
}

static void test_close_while_resolving(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r = {0};
    start(&f, NULL);
    struct http_request request = {.method = "GET", .url = "http://localhost:1/"};
    http_world_send(&f.world, &request, &r);
    uv_run(&f.world.loop, UV_RUN_NOWAIT);
    stop(&f);
    assert_int_equal(r.done, 1);
    call_result_fini(&r);
}

static void test_close_unused(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, NULL);
    stop(&f);
    struct http_client *none = NULL;
    http_client_close(&none, NULL, NULL);
}

static void close_client(struct call_result *r)
{
    struct fixture *f = r->then_arg;
    static int ignored;
    http_client_close(&f->world.client, on_closed_nothing, &ignored);
}

static void test_close_from_on_done(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r = {.then = close_client, .then_arg = &f};
    start(&f, NULL);
    SCRIPT(&f, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0});
    call(&f, &r, 0);
    assert_ok(&r);
    call_result_fini(&r);
    stop(&f);
}

static void send_another(struct call_result *r)
{
    struct call_result *next = r->then_arg;
    struct fixture *f = next->then_arg;
    struct http_request request = post(f, "body");
    http_world_send(&f->world, &request, next);
}

static void test_send_from_on_done(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result next = {.then_arg = &f}, r = {.then = send_another, .then_arg = &next};
    start(&f, NULL);
    SCRIPT(&f, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0}, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0});
    call(&f, &r, 0);
    http_world_wait(&f.world, &next);
    assert_ok(&r);
    assert_ok(&next);
    assert_int_equal(raw_peer_connections(f.peer), 1);
    call_result_fini(&r);
    call_result_fini(&next);
    stop(&f);
}

static void test_headers_too_large(void **state)
{
    (void)state;
    struct fixture f;
    struct call_result r = {0};
    char *value = malloc((1 << 20) + 1);
    memset(value, 'v', 1 << 20);
    value[1 << 20] = '\0';
    struct http_header header = {"X", value};
    start(&f, NULL);
    struct http_request request = post(&f, "body");
    request.headers = &header;
    request.header_count = 1;
    http_world_call(&f.world, &request, &r);
    assert_says(&r, HTTP_CONNECT_FAILED, "larger than 1048576 bytes");
    call_result_fini(&r);
    free(value);
    stop(&f);
}

// Whatever allocation fails, the call ends once, and nothing leaks.
static void test_memory_is_out(void **state)
{
    (void)state;
    size_t calls = 1;
    for (size_t n = 0; n <= calls; n++) {
        struct fixture f;
        struct call_result r = {0};
        start(&f, NULL);
        SCRIPT(&f, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0});
        struct http_request request = post(&f, "body");
        mem_fail_from(n == 0 ? SIZE_MAX : n);
        http_world_send(&f.world, &request, &r);
        while (r.done == 0)
            loop_step(&f.world.loop);
        if (n == 0)
            calls = mem_fail_count();
        mem_fail_from(0);
        if (n == 0)
            assert_ok(&r);
        else
            assert_true(r.outcome != HTTP_ANSWERED || r.body.failed);
        call_result_fini(&r);
        stop(&f);
    }
    assert_in_range(calls, 4, 200);
}

static void on_page(void *arg, const struct http_page_request *request, struct http_page *page)
{
    (void)arg;
    (void)request;
    buf_add_text(&page->body, "ok");
}

static void test_many_calls_to_our_server(void **state)
{
    (void)state;
    enum { CALLS = 200 };
    struct http_world w;
    struct http_client_options options = {.max_connections = 7};
    struct http_pages *server;
    struct http_pages_options server_options = {.endpoint = "127.0.0.1:0", .on_page = on_page};
    static struct call_result r[CALLS];
    char url[128];
    int closed = 0;
    http_world_init(&w, &options);
    assert_int_equal(http_pages_create(&w.loop, &server_options, &server, NULL), ERR_OK);
    loopback_url(url, "http", http_pages_port(server), "/");
    struct http_request request = {.method = "GET", .url = url};
    for (size_t i = 0; i < CALLS; i++)
        http_world_send(&w, &request, &r[i]);
    for (size_t i = 0; i < CALLS; i++) {
        http_world_wait(&w, &r[i]);
        assert_ok(&r[i]);
        call_result_fini(&r[i]);
    }
    http_pages_close(&server, on_closed_nothing, &closed);
    while (closed == 0)
        loop_step(&w.loop);
    http_world_fini(&w);
}

static int no_proxies(void **state)
{
    (void)state;
    static const char *const names[] = {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unsetenv(names[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_sent),
        cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_connection_is_reused),
        cmocka_unit_test(test_stale_connection_closed_while_idle),
        cmocka_unit_test(test_end_that_the_loop_has_not_seen),
        cmocka_unit_test(test_reused_connection_dies),
        cmocka_unit_test(test_resent_only_once),
        cmocka_unit_test(test_bytes_on_an_idle_connection),
        cmocka_unit_test(test_bytes_out_of_turn),
        cmocka_unit_test(test_peers_that_fail),
        cmocka_unit_test(test_http10_until_the_end),
        cmocka_unit_test(test_early_response),
        cmocka_unit_test(test_early_response_then_close),
        cmocka_unit_test(test_big_body_arrives),
        cmocka_unit_test(test_timeout_while_the_body_is_stuck),
        cmocka_unit_test(test_refused_connection),
        cmocka_unit_test(test_unknown_host),
        cmocka_unit_test(test_name_with_two_addresses),
        cmocka_unit_test(test_queue_in_order),
        cmocka_unit_test(test_timeout_in_the_queue),
        cmocka_unit_test(test_idle_connection_yields),
        cmocka_unit_test(test_idle_timeout),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_close_with_calls),
        cmocka_unit_test(test_close_while_resolving),
        cmocka_unit_test(test_close_unused),
        cmocka_unit_test(test_close_from_on_done),
        cmocka_unit_test(test_send_from_on_done),
        cmocka_unit_test(test_headers_too_large),
        cmocka_unit_test(test_memory_is_out),
        cmocka_unit_test(test_many_calls_to_our_server),
    };
    return cmocka_run_group_tests(tests, no_proxies, NULL);
}
