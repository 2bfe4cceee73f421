// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_link.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

static void begin(struct fake_link *f)
{
    fake_link_init(f);
    fake_link_start(f, http1_server_create);
}

static bool feed(struct fake_link *f, const char *text)
{
    return fake_link_receive(f, bytes_from_text(text), 1000);
}

// What was sent since the last look, terminated, to be freed.
static char *sent(struct fake_link *f)
{
    buf_add_byte(&f->out, 0);
    char *text = mem_copy_text((const char *)f->out.data);
    buf_clear(&f->out);
    return text;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

static void says(struct fake_link *f, const char *wanted)
{
    char *text = sent(f);
    if (strcmp(text, wanted) != 0)
        fail_msg("%s\nis not\n%s", text, wanted);
    free(text);
}

static void says_status(struct fake_link *f, int status, bool finished)
{
    char *text = sent(f), line[32];
    snprintf(line, sizeof line, "HTTP/1.1 %d ", status);
    if (strncmp(text, line, strlen(line)) != 0 || count(text, "Date: ") != 1)
        fail_msg("%s is not %d", text, status);
    assert_int_equal(count(text, "Connection: close"), finished);
    assert_int_equal(fake_link_finished(f), finished);
    free(text);
}

static void test_answer(void **state)
{
    (void)state;
    struct fake_link f;
    for (size_t step = 1; step < 200; step = step * 2 + 1) {
        begin(&f);
        assert_true(fake_link_receive(&f,
                                      bytes_from_text("POST /a/b?c=d HTTP/1.1\r\nHost: h:1\r\nContent-Length: 5\r\n\r\n"
                                                      "hello"),
                                      step));
        assert_string_equal(f.last, "POST /a/b c=d h:1 5");
        says(&f, "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 5\r\n\r\nhello");
        assert_false(fake_link_finished(&f));
        assert_true(f.engine->ops->is_idle(f.engine));
        fake_link_fini(&f);
    }
}

static void test_chunks(void **state)
{
    (void)state;
    struct fake_link f;
    begin(&f);
    feed(&f, "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n"
             "Trailer: t\r\nContent-Length: 99\r\n\r\n" GET("/d"));
    char *text = sent(&f);
    assert_int_equal(count(text, "\r\n\r\nabcde"), 1);
    assert_int_equal(count(text, "HTTP/1.1 200"), 2);
    assert_string_equal(f.last, "GET /d  h 0");
    free(text);
    fake_link_fini(&f);
}

static void test_pipelining(void **state)
{
    (void)state;
    struct fake_link f;
    begin(&f);
    f.defers = true;
    assert_true(feed(&f, GET("/1") GET("/2") GET("/3")));
    assert_int_equal(f.requests, 1);   // one at a time
    assert_false(feed(&f, GET("/4"))); // and reading stops
    fake_link_answer(&f, 0, 200, "one");
    assert_int_equal(f.requests, 2);
    fake_link_answer(&f, 1, 200, "two");
    fake_link_answer(&f, 2, 200, "three");
    char *text = sent(&f);
    assert_true(strstr(text, "one") < strstr(text, "two") && strstr(text, "two") < strstr(text, "three"));
    free(text);
    assert_true(feed(&f, GET("/4")));
    assert_int_equal(f.requests, 4);
    fake_link_fini(&f);
    assert_int_equal(f.aborts, 1);
}

static void test_endless_pipelining(void **state)
{
    (void)state;
    struct fake_link f;
    size_t len = strlen(GET("/1")), times = (60 << 10) / len;
    char *all = malloc(len * times);
    for (size_t i = 0; i < times; i++)
        memcpy(all + i * len, GET("/1"), len);
    begin(&f);
    assert_true(fake_link_receive(&f, (struct bytes){(const uint8_t *)all, len * times}, len * times));
    assert_int_equal(f.requests, times);
    fake_link_fini(&f);
    free(all);
}

static void test_head_and_old(void **state)
{
    (void)state;
    struct fake_link f;
    begin(&f);
    feed(&f, "HEAD / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
    says(&f, "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 3\r\n\r\n");
    feed(&f, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    says(&f, "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n"
             "Connection: keep-alive\r\n\r\n");
    feed(&f, "GET / HTTP/1.0\r\n\r\n");
    says_status(&f, 200, true);
    fake_link_fini(&f);
}

static void test_expect_continue(void **state)
{
    (void)state;
    struct fake_link f;
    begin(&f);
    feed(&f, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    says(&f, "HTTP/1.1 100 Continue\r\n\r\n");
    feed(&f, "ab");
    says_status(&f, 200, false);
    feed(&f, "POST /refused HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    says_status(&f, 503, true); // nobody can tell whether the body comes
    fake_link_fini(&f);
}

static void test_refused_before_body(void **state)
{
    (void)state;
    struct fake_link f;
    begin(&f);
    feed(&f, "POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n");
    says_status(&f, 503, false); // at once
    feed(&f, "0123456789" GET("/next"));
    assert_string_equal(f.last, "GET /next  h 0");
    says_status(&f, 200, false);
    feed(&f, "POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n");
    says_status(&f, 503, true); // too much to drop
    fake_link_fini(&f);
    begin(&f);
    feed(&f, "POST /refused HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    says_status(&f, 503, true);
    fake_link_fini(&f);
}

static void test_body_limits(void **state)
{
    (void)state;
    struct fake_link f;
    begin(&f);
    f.max_body = 10;
    feed(&f, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n01234567890");
    says_status(&f, 413, false);
    assert_int_equal(f.last_refusal, 413);
    feed(&f, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n3\r\n890\r\n");
    says_status(&f, 413, true);
    assert_int_equal(f.refusals, 2);
    assert_int_equal(f.requests, 0);
    fake_link_fini(&f);
    assert_int_equal(f.aborts, 0);
    begin(&f);
    f.reserve_max = 5;
    f.own_refusals = true;
    feed(&f, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n012345");
    assert_int_equal(f.last_refusal, 503);
    says_status(&f, 299, false);
    fake_link_fini(&f);
}

static void test_broken_body(void **state)
{
    (void)state;
    struct fake_link f;
    begin(&f);
    feed(&f, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc");
    assert_int_equal(f.last_refusal, 400);
    says_status(&f, 400, true);
    assert_false(feed(&f, GET("/after")));
    fake_link_fini(&f);
    assert_int_equal(f.requests + f.aborts, 0);
}

static void test_nonsense_is_not_answered(void **state)
{
    (void)state;
    struct fake_link f;
    begin(&f);
    feed(&f, "\x16\x03\x01\x02");
    says(&f, "");
    assert_true(fake_link_finished(&f));
    fake_link_fini(&f);
}

static void test_abort(void **state)
{
    (void)state;
    struct fake_link f;
    begin(&f);
    feed(&f, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf");
    assert_int_equal(f.heads, 1);
    fake_link_fini(&f);
    assert_int_equal(f.aborts, 1);
    begin(&f);
    feed(&f, "POST / HTTP/1.1\r\nHo");
    fake_link_fini(&f);
    assert_int_equal(f.heads + f.aborts, 0);
}

static void test_times(void **state)
{
    (void)state;
    struct fake_link f;
    uint64_t t;
    begin(&f); // idle
    t = f.now_ms;
    fake_link_at(&f, t + 299999);
    assert_false(fake_link_finished(&f));
    fake_link_at(&f, t + 300000);
    assert_true(fake_link_finished(&f));
    says(&f, "");
    fake_link_fini(&f);
    begin(&f); // a head that trickles
    feed(&f, "GET / HTTP/1.1\r\n");
    for (int i = 1; i < 10; i++) {
        fake_link_at(&f, t + (uint64_t)i * 1000);
        assert_true(feed(&f, "A: b\r\n"));
    }
    fake_link_at(&f, t + 10000);
    says_status(&f, 408, true);
    fake_link_fini(&f);
    begin(&f); // a body that trickles
    feed(&f, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
    for (uint64_t i = 1; i < 60; i++) {
        fake_link_at(&f, t + i * 1000);
        assert_true(feed(&f, "b"));
    }
    fake_link_at(&f, t + 60000);
    assert_int_equal(f.last_refusal, 408);
    says_status(&f, 408, true);
    fake_link_fini(&f);
}

// 16 KiB per second are enough for any length.
static void test_slow_but_steady_body(void **state)
{
    (void)state;
    struct fake_link f;
    char *piece = malloc(20001);
    memset(piece, 'x', 20000);
    piece[20000] = '\0';
    begin(&f);
    f.max_body = 10 << 20;
    uint64_t t = f.now_ms;
    feed(&f, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n");
    for (uint64_t i = 1; i <= 200; i++) {
        fake_link_at(&f, t + i * 1000);
        assert_true(feed(&f, piece));
    }
    assert_int_equal(f.requests, 1);
    free(piece);
    fake_link_fini(&f);
}

static void test_waiting_has_no_deadline(void **state)
{
    (void)state;
    struct fake_link f;
    begin(&f);
    f.defers = true;
    feed(&f, GET("/slow"));
    fake_link_at(&f, f.now_ms + 3600 * 1000);
    assert_false(fake_link_finished(&f));
    fake_link_answer(&f, 0, 200, "late");
    says_status(&f, 200, false);
    fake_link_fini(&f);
}

static void test_drain(void **state)
{
    (void)state;
    struct fake_link f;
    begin(&f);
    f.engine->ops->drain(f.engine);
    assert_true(fake_link_finished(&f));
    fake_link_fini(&f);
    begin(&f);
    f.defers = true;
    feed(&f, GET("/1") GET("/2"));
    f.engine->ops->drain(f.engine);
    assert_false(fake_link_finished(&f));
    fake_link_answer(&f, 0, 200, "last");
    says_status(&f, 200, true);
    assert_int_equal(f.requests, 1);
    fake_link_fini(&f);
}

static void test_trailers(void **state)
{
    (void)state;
    static const struct http_header trailers[] = {{"grpc-status", "3"}, {"bad name", "x"}, {"grpc-message", "no"}};
#define TRAILER_HEAD                                                                                                   \
    "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nTransfer-Encoding: chunked\r\n"                         \
    "Trailer: grpc-status\r\nTrailer: grpc-message\r\n\r\n"
    static const struct {
        const char *request, *answer;
    } cases[] = {
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 20\r\n\r\n01234567890123456789",
         TRAILER_HEAD "14\r\n01234567890123456789\r\n0\r\ngrpc-status: 3\r\ngrpc-message: no\r\n\r\n"},
        {GET("/"), TRAILER_HEAD "0\r\ngrpc-status: 3\r\ngrpc-message: no\r\n\r\n"},
        {"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", TRAILER_HEAD},
        {"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nab",
         "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 2\r\n"
         "Connection: keep-alive\r\n\r\nab"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fake_link f;
        begin(&f);
        f.trailers = trailers;
        f.trailer_count = COUNT_OF(trailers);
        for (int again = 0; again < 2; again++) { // on the same connection
            assert_true(feed(&f, cases[i].request));
            says(&f, cases[i].answer);
            assert_false(fake_link_finished(&f));
            assert_true(f.engine->ops->is_idle(f.engine));
        }
        fake_link_fini(&f);
    }
}

// Into any room, however small.
static void test_trailers_in_pieces(void **state)
{
    (void)state;
    static const struct http_header trailer = {"grpc-status", "0"};
    uint8_t room[8];
    for (size_t size = 1; size < sizeof room; size++) {
        struct fake_link f;
        struct buf all;
        begin(&f);
        f.trailers = &trailer;
        f.trailer_count = 1;
        buf_init(&all, 1000);
        const char *request = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc" GET("/");
        f.engine->ops->receive(f.engine, bytes_from_text(request));
        for (size_t n; (n = f.engine->ops->produce(f.engine, room, size)) > 0;)
            buf_add(&all, room, n);
        buf_add_byte(&all, 0);
        const char *text = (const char *)all.data;
        assert_int_equal(count(text, "grpc-status: 0\r\n\r\n"), 2);
        assert_non_null(strstr(text, "\r\n\r\n3\r\nabc\r\n0\r\ngrpc-status: 0\r\n\r\nHTTP/1.1 200"));
        buf_fini(&all);
        fake_link_fini(&f);
    }
}

static void test_headers_of_answers(void **state)
{
    (void)state;
    static const struct http_header headers[] = {{"X-Good", "yes"},          {"Content-Length", "7"},
                                                 {"connection", "upgrade"},  {"X-Split", "a\r\nSet-Cookie: b"},
                                                 {"Transfer-Encoding", "x"}, {"bad name", "c"}};
    struct fake_link f;
    begin(&f);
    f.defers = true;
    feed(&f, GET("/"));
    struct http_answer answer = {.status = 204, .headers = headers, .header_count = COUNT_OF(headers)};
    http_exchange_answer(f.waiting[0], &answer);
    fake_link_pump(&f);
    says(&f, "HTTP/1.1 204 No Content\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-Good: yes\r\n\r\n");
    fake_link_fini(&f);
}

static void test_no_memory(void **state)
{
    (void)state;
    const struct http_header trailer = {"grpc-status", "0"};
    for (size_t n = 1;; n++) {
        struct fake_link f;
        begin(&f);
        f.trailers = &trailer;
        f.trailer_count = 1;
        mem_fail_from(n);
        feed(&f, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
        size_t calls = mem_fail_count();
        mem_fail_from(0);
        fake_link_fini(&f);
        if (calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_pipelining),
        cmocka_unit_test(test_endless_pipelining),
        cmocka_unit_test(test_head_and_old),
        cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_refused_before_body),
        cmocka_unit_test(test_body_limits),
        cmocka_unit_test(test_broken_body),
        cmocka_unit_test(test_nonsense_is_not_answered),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_slow_but_steady_body),
        cmocka_unit_test(test_waiting_has_no_deadline),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_trailers),
        cmocka_unit_test(test_trailers_in_pieces),
        cmocka_unit_test(test_headers_of_answers),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
