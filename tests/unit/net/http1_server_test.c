// SPDX-License-Identifier: Apache-2.0
#include "net/http1_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static enum http1_state feed(struct http1_request *r, const char *text, size_t step, size_t *rest_out)
{
    size_t len = strlen(text), used = 0;
    enum http1_state state = HTTP1_MORE;
    for (size_t i = 0; i < len && state == HTTP1_MORE; i += step) {
        size_t n = len - i < step ? len - i : step;
        uint8_t *copy = malloc(n);
        memcpy(copy, text + i, n);
        state = http1_request_feed(r, (struct bytes){copy, n}, &used);
        free(copy);
        *rest_out = len - i - used;
    }
    return state;
}

static void takes(const char *text, const char *target, bool keep_alive, size_t rest)
{
    for (size_t step = 1; step < 400; step = step * 3 + 1) {
        struct http1_request r;
        size_t left;
        http1_request_init(&r);
        if (feed(&r, text, step, &left) != HTTP1_COMPLETE)
            fail_msg("step %zu: %s: %s", step, text, r.refusal_text ? r.refusal_text : "not complete");
        assert_true(bytes_equal_text(buf_bytes(&r.target), target));
        assert_int_equal(r.keep_alive, keep_alive);
        if (step > strlen(text))
            assert_int_equal(left, rest);
        http1_request_fini(&r);
    }
}

static void refuses(const char *text, int status)
{
    for (size_t step = 1; step < 400; step = step * 3 + 1) {
        struct http1_request r;
        size_t left;
        http1_request_init(&r);
        enum http1_state state = feed(&r, text, step, &left);
        if (state != HTTP1_FAILED || r.refusal != status)
            fail_msg("step %zu: state %d status %d for %s", step, state, r.refusal, text);
        assert_non_null(r.refusal_text);
        http1_request_fini(&r);
    }
}

static void test_taken(void **state)
{
    (void)state;
    takes("GET /metrics?a=b HTTP/1.1\r\nHost: h\r\n\r\n", "/metrics?a=b", true, 0);
    takes("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "/", false, 0);
    takes("GET / HTTP/1.0\r\n\r\n", "/", false, 0);
    takes("HEAD / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n", "/", true, 0);
    takes("\r\nGET /x HTTP/1.1\r\nHost: h\r\n\r\n", "/x", true, 0);
    takes("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\n x\r\n", "/1", true, 21);
    takes("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n\r\n x", "/", true, 0);
    takes("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "/", true, 0);
}

static void test_refused(void **state)
{
    (void)state;
    refuses("\x16\x03\x01\x02\x05", 400);
    refuses("GET / HTTP/1.1\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\tz\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\nHost: a\n\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: a\r\nX:\rY: z\r\n\r\n", 400);
    refuses("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    refuses("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    refuses("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505);
    refuses("GET / HTTP/1.9\r\nHost: a\r\n\r\n", 400);
    refuses("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
    refuses("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501);
    refuses("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
    refuses("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400);
    refuses("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", 413);
}

static int refused_after(const char *start, const char *text)
{
    struct http1_request r;
    size_t left;
    http1_request_init(&r);
    assert_int_equal(feed(&r, start, 1000, &left), HTTP1_MORE);
    for (int i = 0; i < 100000 && r.state == HTTP1_MORE; i++)
        feed(&r, text, 1000, &left);
    int status = r.refusal;
    http1_request_fini(&r);
    return status;
}

static void test_endless(void **state)
{
    (void)state;
    assert_int_equal(refused_after("GET /", "aaaaaaaaaa"), 414);
    assert_int_equal(refused_after("GET / HTTP/1.1\r\n", "A: b\r\n"), 431);
    assert_int_equal(refused_after("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "4\r\nabcd\r\n"),
                     413);
    assert_int_equal(refused_after("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a", "bbbbbbb"),
                     431);
    assert_int_equal(refused_after("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n"),
                     431);
}

static void test_next(void **state)
{
    (void)state;
    struct http1_request r;
    size_t left;
    http1_request_init(&r);
    assert_int_equal(feed(&r, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", 100, &left), HTTP1_COMPLETE);
    assert_string_equal(http1_request_method(&r), "GET");
    http1_request_next(&r);
    assert_false(r.begun);
    assert_int_equal(feed(&r, "HEAD /2 HTTP/1.1\r\nHost: h\r\nX: y\r\n z", 100, &left), HTTP1_FAILED);
    http1_request_next(&r);
    assert_int_equal(
        feed(&r, "HEAD /3 HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", 100, &left),
        HTTP1_MORE);
    assert_true(r.expects_continue);
    assert_string_equal(http1_request_method(&r), "HEAD");
    http1_request_fini(&r);
}

static void test_reasons(void **state)
{
    (void)state;
    assert_string_equal(http1_reason(200), "OK");
    assert_string_equal(http1_reason(431), "Request Header Fields Too Large");
    assert_string_equal(http1_reason(299), "Status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken), cmocka_unit_test(test_refused), cmocka_unit_test(test_endless),
        cmocka_unit_test(test_next),  cmocka_unit_test(test_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
