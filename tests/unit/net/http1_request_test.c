// SPDX-License-Identifier: Apache-2.0
#include "net/http1_request.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct seen {
    struct http1_request r;
    size_t body_len;
    enum http1_event last;
    size_t rest; // bytes behind the end
    int heads;
};

static void on_body(void *arg, struct bytes piece)
{
    ((struct seen *)arg)->body_len += piece.len;
}

static void begin(struct seen *s, size_t max_header_bytes)
{
    *s = (struct seen){0};
    http1_request_init(&s->r, max_header_bytes, on_body, s);
}

static void feed(struct seen *s, const char *text, size_t len, size_t step)
{
    s->last = HTTP1_REQUEST_MORE;
    for (size_t i = 0; i < len && s->last != HTTP1_REQUEST_END && s->last != HTTP1_REQUEST_BAD; i += step) {
        size_t n = len - i < step ? len - i : step;
        uint8_t *copy = malloc(n);
        memcpy(copy, text + i, n);
        struct bytes b = {copy, n};
        do {
            s->last = http1_request_feed(&s->r, &b);
            s->heads += s->last == HTTP1_REQUEST_HEAD;
        } while (s->last == HTTP1_REQUEST_HEAD);
        s->rest = b.len + (len - i - n);
        free(copy);
    }
}

static void takes(const char *text, const char *target, bool keep_alive, size_t body_len, size_t rest)
{
    for (size_t step = 1; step < 400; step = step * 3 + 1) {
        struct seen s;
        begin(&s, 64 << 10);
        feed(&s, text, strlen(text), step);
        if (s.last != HTTP1_REQUEST_END || s.heads != 1)
            fail_msg("step %zu: %s: %s", step, text, s.r.refusal_text ? s.r.refusal_text : "not complete");
        assert_true(bytes_equal_text(s.r.path, target));
        assert_int_equal(s.r.keep_alive, keep_alive);
        assert_int_equal(s.body_len, body_len);
        assert_int_equal(s.rest, rest);
        http1_request_fini(&s.r);
    }
}

static int refuses_bytes(const char *text, size_t len, int status)
{
    int wrong = 0;
    char head[120];
    for (size_t i = 0; i < sizeof head; i++)
        head[i] = i >= len ? '\0' : text[i] < ' ' ? '.' : text[i];
    head[sizeof head - 1] = '\0';
    for (size_t step = 1; step < 400; step = step * 3 + 1) {
        struct seen s;
        begin(&s, 64 << 10);
        feed(&s, text, len, step);
        if (s.last != HTTP1_REQUEST_BAD || s.r.refusal != status)
            print_error("step %zu: event %d status %d, not %d, for %s\n", step, s.last, s.r.refusal, status, head);
        wrong += s.last != HTTP1_REQUEST_BAD || s.r.refusal != status || s.r.refusal_text == NULL;
        http1_request_fini(&s.r);
    }
    return wrong;
}

static void test_taken(void **state)
{
    (void)state;
    takes("GET /metrics?a=b HTTP/1.1\r\nHost: h\r\n\r\n", "/metrics?a=b", true, 0, 0);
    takes("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "/", false, 0, 0);
    takes("GET / HTTP/1.0\r\n\r\n", "/", false, 0, 0);
    takes("HEAD / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n", "/", true, 0, 0);
    takes("\r\nGET /x HTTP/1.1\r\nHost: h\r\n\r\n", "/x", true, 0, 0);
    takes("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\n x\r\n", "/1", true, 0, 21);
    takes("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n\r\n x", "/", true, 4, 0);
    takes("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "/", true, 1, 0);
    takes("POST / HTTP/1.1\r\nHost: h\r\ntransfer-encoding: CHUNKED\r\n\r\nA;x=\"y\"\r\n0123456789\r\n0\r\nT: "
          "u\r\n\r\nGET",
          "/", true, 10, 3);
    takes("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "*", true, 0, 0);
    takes("GET / HTTP/1.1\r\nHost:\r\nX-Empty:\r\n\r\n", "/", true, 0, 0);
    // Upgrade is ignored
    takes("GET /u HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: "
          "AAMAAABkAAQAAP__\r\n"
          "\r\nGET",
          "/u", true, 0, 3);
    takes("POST /u HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nab", "/u",
          true, 2, 0);
}

static void takes_absolute(const char *target, const char *path, const char *authority)
{
    char text[256];
    struct seen s;
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: other\r\n\r\n", target);
    begin(&s, 64 << 10);
    feed(&s, text, strlen(text), 7);
    assert_int_equal(s.last, HTTP1_REQUEST_END);
    assert_true(bytes_equal_text(s.r.path, path));
    assert_true(bytes_equal_text(s.r.authority, authority));
    http1_request_fini(&s.r);
}

static void test_absolute_target(void **state)
{
    (void)state;
    takes_absolute("http://a.example:80/x?y", "/x?y", "a.example:80");
    takes_absolute("HTTPS://[::1]:4318/v1", "/v1", "[::1]:4318");
    takes_absolute("http://a", "/", "a");
}

struct vector {
    const char *text;
    int status;
};

#define POST(headers, body) "POST / HTTP/1.1\r\nHost: a\r\n" headers "\r\n" body
#define CHUNKED(body) POST("Transfer-Encoding: chunked\r\n", body)

// What makes two parsers see two different requests.
static const struct vector vectors[] = {
    // lengths
    {POST("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
    {POST("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n", "0\r\n\r\n"), 400},
    {POST("Content-Length: 1\r\nContent-Length: 1\r\n", "x"), 400},
    {POST("Content-Length: 1\r\nContent-Length: 2\r\n", "xy"), 400},
    {POST("Content-Length: 1, 1\r\n", "x"), 400},
    {POST("Content-Length: +1\r\n", "x"), 400},
    {POST("Content-Length: -1\r\n", "x"), 400},
    {POST("Content-Length: 0x1\r\n", "x"), 400},
    {POST("Content-Length: 1 2\r\n", "xy"), 400},
    {POST("Content-Length: 1a\r\n", "x"), 400},
    {POST("Content-Length:\r\n", "x"), 400},
    {POST("Content-Length: 18446744073709551617\r\n", "x"), 400},
    {POST("Content-Length: 9223372036854775808\r\n", "x"), 413},
    {POST("Content-Length : 1\r\n", "x"), 400},
    // transfer codings
    {POST("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
    {POST("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), 400},
    {POST("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"), 400},
    {POST("Transfer-Encoding: identity\r\n", ""), 501},
    {POST("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 501},
    {POST("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
    {POST("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"), 400},
    {POST("Transfer-Encoding:\r\n", ""), 501},
    {POST("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"), 400},
    {POST("Transfer-Encoding: \x0b"
          "chunked\r\n",
          "0\r\n\r\n"),
     400},
    {"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {POST("X: y\rTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
    // chunks
    {CHUNKED("0x1\r\na\r\n0\r\n\r\n"), 400},
    {CHUNKED("+1\r\na\r\n0\r\n\r\n"), 400},
    {CHUNKED("-1\r\na\r\n0\r\n\r\n"), 400},
    {CHUNKED("1 \r\na\r\n0\r\n\r\n"), 400},
    {CHUNKED("\r\na\r\n0\r\n\r\n"), 400},
    {CHUNKED("1\na\n0\n\n"), 400},
    {CHUNKED("1\r\nab\r\n0\r\n\r\n"), 400},
    {CHUNKED("1\r\na0\r\n\r\n"), 400},
    {CHUNKED("1;a\nb\r\na\r\n0\r\n\r\n"), 400},
    {CHUNKED("10000000000000001\r\na\r\n0\r\n\r\n"), 400},
    {CHUNKED("FFFFFFFFFFFFFFFFF\r\na\r\n0\r\n\r\n"), 400},
    {CHUNKED("G\r\na\r\n0\r\n\r\n"), 400},
    // lines
    {"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\tz\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost\t: a\r\n\r\n", 400},
    {"GET / HTTP/1.1\nHost: a\n\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\n\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\n\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\n\n GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\nX:\rY: z\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n: y\r\nHost: a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\n:\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\nX\x01: y\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\nX(y): z\r\n\r\n", 400},
    // request line
    {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
    {"GET / HTTP/1.9\r\nHost: a\r\n\r\n", 400},
    {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505},
    {"GET / HTTP/1.1x\r\nHost: a\r\n\r\n", 400},
    {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET / x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501},
    // Host
    {"GET / HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
    {POST("Content-Length: 1\r\nExpect: the-unexpected\r\n", "x"), 417},
    // not HTTP at all
    {"\x16\x03\x01\x02\x05", HTTP1_NOT_HTTP},
    {"SSH-2.0-x\r\n", HTTP1_NOT_HTTP},
    {"INVALID CONNECTION PREFACE\r\n\r\n", HTTP1_NOT_HTTP},
};

static void test_refused(void **state)
{
    (void)state;
    static const char nul[] = "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n";
    int wrong = refuses_bytes(nul, sizeof nul - 1, 400);
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        wrong += refuses_bytes(vectors[i].text, strlen(vectors[i].text), vectors[i].status);
    assert_int_equal(wrong, 0);
}

static int refused_after(const char *start, const char *text)
{
    struct seen s;
    begin(&s, 8 << 10);
    feed(&s, start, strlen(start), 1000);
    assert_int_equal(s.last, HTTP1_REQUEST_MORE);
    for (int i = 0; i < 100000 && s.r.refusal == 0; i++)
        feed(&s, text, strlen(text), 1000);
    int status = s.r.refusal;
    assert_true(s.r.headers.text.capacity <= 32 << 10);
    http1_request_fini(&s.r);
    return status;
}

static void test_endless(void **state)
{
    (void)state;
    assert_int_equal(refused_after("GET /", "aaaaaaaaaa"), 414);
    assert_int_equal(refused_after("GET / HTTP/1.1\r\n", "A: b\r\n"), 431);
    assert_int_equal(refused_after("GET / HTTP/1.1\r\n", "A:\r\n"), 431);
    assert_int_equal(refused_after("GET / HTTP/1.1\r\nA: ", "bbbbbbbbbbbbb"), 431);
    assert_int_equal(refused_after("GET / HTTP/1.1\r\n", "bbbbbbbbbbbbb"), 431);
    assert_int_equal(refused_after(CHUNKED("1;a"), "bbbbbbb"), 431);
    assert_int_equal(refused_after(CHUNKED("0\r\n"), "A: b\r\n"), 431);
    assert_int_equal(refused_after(CHUNKED(""), "1;ab=cd\r\nx\r\n"), 431); // extensions without end
}

static void test_next(void **state)
{
    (void)state;
    struct seen s;
    const char *first = "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", *folded = "HEAD /2 HTTP/1.1\r\nHost: h\r\nX: y\r\n z";
    const char *third = "HEAD /3 HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n";
    begin(&s, 64 << 10);
    feed(&s, first, strlen(first), 100);
    assert_int_equal(s.last, HTTP1_REQUEST_END);
    assert_string_equal(http1_request_method(&s.r), "GET");
    http1_request_next(&s.r);
    assert_false(s.r.begun);
    feed(&s, folded, strlen(folded), 100);
    assert_int_equal(s.last, HTTP1_REQUEST_BAD);
    http1_request_next(&s.r);
    feed(&s, third, strlen(third), 100);
    assert_int_equal(s.last, HTTP1_REQUEST_MORE);
    assert_true(s.r.expects_continue);
    assert_int_equal(s.r.content_length, 1);
    assert_string_equal(http1_request_method(&s.r), "HEAD");
    http1_request_fini(&s.r);
}

static void test_no_memory(void **state)
{
    (void)state;
    const char *text = "GET /metrics HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n";
    for (size_t n = 1;; n++) {
        struct seen s;
        begin(&s, 64 << 10);
        mem_fail_from(n);
        feed(&s, text, strlen(text), 1000);
        size_t calls = mem_fail_count();
        mem_fail_from(0);
        if (s.last == HTTP1_REQUEST_BAD)
            assert_int_equal(s.r.refusal, 503);
        http1_request_fini(&s.r);
        if (calls < n)
            break;
        assert_int_equal(s.last, HTTP1_REQUEST_BAD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),   cmocka_unit_test(test_absolute_target),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_endless),
        cmocka_unit_test(test_next),    cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
