// SPDX-License-Identifier: Apache-2.0
#include "net/http1_client.h"

#include "base/limits.h"
#include "base/mem.h"

#include <libdeflate.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BODY_MAX = 1000 };

// From memory of exactly the right size, so that reading past the end is seen.
static enum http1_state feed_exact(struct http1_response *r, const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);
    if (len > 0)
        memcpy(copy, data, len);
    enum http1_state state = http1_response_feed(r, (struct bytes){copy, len});
    free(copy);
    return state;
}

static enum http1_state feed_text(struct http1_response *r, const char *text)
{
    return feed_exact(r, (const uint8_t *)text, strlen(text));
}

static void answers(const char *text, int status, const char *body, bool keep_alive)
{
    size_t steps[] = {strlen(text), 1, 2, 7};
    for (size_t s = 0; s < COUNT_OF(steps); s++) {
        struct http1_response r;
        struct http_response view;
        enum http1_state state = HTTP1_MORE;
        size_t len = strlen(text), i = 0;
        http1_response_init(&r, false, BODY_MAX);
        for (; i < len && state == HTTP1_MORE; i += steps[s])
            state = feed_exact(&r, (const uint8_t *)text + i, len - i < steps[s] ? len - i : steps[s]);
        if (state == HTTP1_MORE)
            state = http1_response_end(&r);
        if (state != HTTP1_COMPLETE)
            fail_msg("step %zu: %s", steps[s], r.error.text);
        http1_response_view(&r, &view);
        assert_int_equal(view.outcome, HTTP_ANSWERED);
        assert_int_equal(view.status, status);
        assert_true(bytes_equal_text(view.body, body));
        assert_int_equal(r.keep_alive, keep_alive);
        http1_response_fini(&r);
    }
}

static void test_answers(void **state)
{
    (void)state;
    answers("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true);
    answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", true);
    answers("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, "", true);
    answers("HTTP/1.1 204 No Content\r\n\r\n", 204, "", true);
    answers("HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", 204, "", true);
    answers("HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", 304, "", true);
    answers("HTTP/1.1 103 Hint\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x",
            true);
    answers("HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", 503, "x", false);
    answers("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x", false);
    answers("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", 200, "x", true);
    answers("HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, "until the end", false);
    answers("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n",
            200, "abcde", true);
    answers("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 202 Yes\r\nContent-Length: "
            "1\r\n\r\nx",
            202, "x", true);
    answers("HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 1\r\n\r\nx", 200, "x", true);
}

static void fails(const char *text, enum err_code code, const char *because)
{
    struct http1_response r;
    http1_response_init(&r, false, BODY_MAX);
    if (feed_text(&r, text) == HTTP1_MORE)
        http1_response_end(&r);
    if (r.state != HTTP1_FAILED || r.error.code != code || strstr(r.error.text, because) == NULL)
        fail_msg("state %d, code %d, \"%s\" for %s", r.state, r.error.code, r.error.text, text);
    http1_response_fini(&r);
}

static void test_failures(void **state)
{
    (void)state;
    fails("SSH-2.0-OpenSSH_9.2\r\n", ERR_INVALID, "not HTTP/1.1");
    fails("\x15\x03\x01", ERR_INVALID, "not HTTP/1.1");
    fails("HTTP/1.1 20\r\n\r\n", ERR_INVALID, "HTTP/1.1");
    fails("HTTP/1.1 2000\r\n\r\n", ERR_INVALID, "HTTP/1.1");
    fails("HTTP/2.0 200 OK\r\n\r\n", ERR_INVALID, "HTTP/1.1");
    fails("HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n", ERR_INVALID, "switched");
    fails("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", ERR_INVALID, "not HTTP/1.1");
    fails("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ERR_INVALID,
          "HTTP/1.1");
    fails("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", ERR_UNSUPPORTED, "Transfer-Encoding");
    fails("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ERR_UNSUPPORTED, "Transfer-Encoding");
    fails("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", ERR_INVALID, "not HTTP/1.1");
    fails("HTTP/1.1 200 OK\r\nX:\rY: z\r\n\r\n", ERR_INVALID, "not HTTP/1.1");
    fails("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", ERR_LIMIT, "1001 bytes, allowed are 1000");
    fails("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", ERR_IO, "before the response was complete");
    fails("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", ERR_IO, "before the response");
    fails("", ERR_IO, "before the response was complete");
}

static void test_truncated_everywhere(void **state)
{
    (void)state;
    static const char text[] = "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 3\r\n\r\nabc";
    for (size_t n = 0; n + 1 < sizeof text - 1; n++) {
        struct http1_response r;
        http1_response_init(&r, false, BODY_MAX);
        assert_int_equal(feed_exact(&r, (const uint8_t *)text, n), HTTP1_MORE);
        assert_int_equal(http1_response_end(&r), HTTP1_FAILED);
        http1_response_fini(&r);
    }
}

// Feeds text over and over; returns how often until the parser had enough.
static size_t feed_forever(const char *start, const char *text, struct err *error_out)
{
    struct http1_response r;
    size_t n = 0;
    http1_response_init(&r, false, BODY_MAX);
    assert_int_equal(feed_text(&r, start), HTTP1_MORE);
    while (n < 1000000 && feed_text(&r, text) == HTTP1_MORE)
        n++;
    assert_int_equal(r.state, HTTP1_FAILED);
    *error_out = r.error;
    http1_response_fini(&r);
    return n;
}

static void test_endless(void **state)
{
    (void)state;
    struct err e;
    assert_in_range(feed_forever("HTTP/1.1 200 OK\r\n", "A: b\r\n", &e), 1000, LIMIT_HTTP_HEADER_BYTES / 6);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_non_null(strstr(e.text, "65536"));
    feed_forever("HTTP/1.1 200 OK\r\n", "A:\r\n", &e);
    assert_int_equal(e.code, ERR_LIMIT);
    feed_forever("HTTP/1.1 200 OK\r\nA: ", "bbbbbbbb", &e);
    assert_int_equal(e.code, ERR_LIMIT);
    feed_forever("HTTP/1.1 200 O", "K", &e);
    assert_int_equal(e.code, ERR_LIMIT);
    feed_forever("", "HTTP/1.1 100 Continue\r\n\r\n", &e);
    assert_int_equal(e.code, ERR_LIMIT);
    feed_forever("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a", "bbbbbbbb", &e);
    assert_int_equal(e.code, ERR_LIMIT);
    feed_forever("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n", &e);
    assert_int_equal(e.code, ERR_LIMIT);
    feed_forever("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", &e);
    assert_non_null(strstr(e.text, "1001 bytes, allowed are 1000"));
    feed_forever("HTTP/1.1 200 OK\r\n\r\n", "0123456789", &e);
    assert_non_null(strstr(e.text, "1010 bytes, allowed are 1000"));
}

static void test_headers(void **state)
{
    (void)state;
    struct http1_response r;
    struct http_response view;
    http1_response_init(&r, false, BODY_MAX);
    assert_int_equal(feed_text(&r, "HTTP/1.1 100 Continue\r\nNot: this\r\n\r\n"), HTTP1_MORE);
    assert_int_equal(feed_text(&r, "HTTP/1.1 429 Slow\r\nRetry-After:  120 \t\r\nEmpty:\r\nretry-after: "
                                   "1\r\nContent-Length: 0\r\n\r\n"),
                     HTTP1_COMPLETE);
    http1_response_view(&r, &view);
    assert_int_equal(view.header_count, 4);
    assert_string_equal(http_response_header(&view, "RETRY-AFTER"), "120");
    assert_string_equal(http_response_header(&view, "Empty"), "");
    assert_string_equal(view.headers[2].value, "1");
    assert_null(http_response_header(&view, "Not"));
    http1_response_fini(&r);
}

static void test_no_body(void **state)
{
    (void)state;
    struct http1_response r;
    http1_response_init(&r, true, BODY_MAX);
    assert_int_equal(feed_text(&r, "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"), HTTP1_COMPLETE);
    assert_true(r.keep_alive);
    http1_response_fini(&r);
}

static void test_bytes_behind(void **state)
{
    (void)state;
    struct http1_response r;
    http1_response_init(&r, false, BODY_MAX);
    assert_int_equal(feed_text(&r, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n"), HTTP1_COMPLETE);
    assert_false(r.keep_alive);
    assert_int_equal(feed_text(&r, "more"), HTTP1_COMPLETE);
    assert_int_equal(r.body.len, 1);
    http1_response_fini(&r);
}

// A complete gzip response around `plain`, cut to `keep` bytes of gzip when not 0, `members` times.
static enum http1_state feed_gzip(struct http1_response *r, const void *plain, size_t len, size_t members, size_t keep)
{
    uint8_t packed[4096];
    char head[200];
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
    size_t n = 0;
    for (size_t i = 0; i < members; i++)
        n += libdeflate_gzip_compress(c, plain, len, packed + n, sizeof packed - n);
    libdeflate_free_compressor(c);
    if (keep != 0)
        n = keep;
    snprintf(head, sizeof head, "HTTP/1.1 400 Bad\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n", n);
    assert_int_equal(feed_text(r, head), HTTP1_MORE);
    return feed_exact(r, packed, n);
}

static void test_gzip(void **state)
{
    (void)state;
    static const uint8_t zeros[1001];
    struct http1_response r;
    http1_response_init(&r, false, BODY_MAX);
    assert_int_equal(feed_gzip(&r, "hello", 5, 2, 0), HTTP1_COMPLETE);
    assert_true(bytes_equal_text(buf_bytes(&r.body), "hellohello"));
    http1_response_fini(&r);

    http1_response_init(&r, false, BODY_MAX);
    assert_int_equal(feed_gzip(&r, zeros, 1000, 1, 0), HTTP1_COMPLETE);
    assert_int_equal(r.body.len, 1000);
    http1_response_fini(&r);

    http1_response_init(&r, false, BODY_MAX);
    assert_int_equal(feed_gzip(&r, zeros, 1001, 1, 0), HTTP1_FAILED);
    assert_int_equal(r.error.code, ERR_LIMIT);
    assert_non_null(strstr(r.error.text, "1000"));
    http1_response_fini(&r);

    for (size_t keep = 1; keep < 20; keep++) {
        http1_response_init(&r, false, BODY_MAX);
        assert_int_equal(feed_gzip(&r, "hello hello", 11, 1, keep), HTTP1_FAILED);
        assert_int_equal(r.error.code, ERR_INVALID);
        http1_response_fini(&r);
    }
    http1_response_init(&r, false, BODY_MAX);
    assert_int_equal(feed_text(&r, "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx"),
                     HTTP1_COMPLETE);
    assert_true(bytes_equal_text(buf_bytes(&r.body), "x"));
    http1_response_fini(&r);
}

static void test_memory_is_out(void **state)
{
    (void)state;
    struct http1_response r;
    http1_response_init(&r, false, BODY_MAX);
    mem_fail_from(1000000);
    assert_int_equal(feed_text(&r, "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nhi"), HTTP1_COMPLETE);
    size_t calls = mem_fail_count();
    http1_response_fini(&r);
    assert_true(calls >= 3);
    for (size_t n = 1; n <= calls; n++) {
        http1_response_init(&r, false, BODY_MAX);
        mem_fail_from(n);
        assert_int_equal(feed_text(&r, "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nhi"), HTTP1_FAILED);
        mem_fail_from(0);
        assert_int_equal(r.error.code, ERR_MEMORY);
        http1_response_fini(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),       cmocka_unit_test(test_failures),
        cmocka_unit_test(test_endless),       cmocka_unit_test(test_truncated_everywhere),
        cmocka_unit_test(test_headers),       cmocka_unit_test(test_no_body),
        cmocka_unit_test(test_bytes_behind),  cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_memory_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
