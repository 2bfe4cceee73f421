// SPDX-License-Identifier: Apache-2.0
// Servers that are none, answers that are too large, bytes that nobody should send.
#include "base/mem.h"
#include "tests/support/http2_fixture.h"
#include "tests/support/loop_step.h"

static void test_answers_that_are_too_large(void **state)
{
    (void)state;
    static struct http_header many[40], huge[1];
    char *value = big_text(70000), *part = big_text(3000);
    huge[0] = (struct http_header){"x", value};
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = (struct http_header){"x-name", part};
    const struct {
        struct http2_step step;
        const char *says;
    } cases[] = {
        {{.act = HTTP2_ANSWER, .body = "0123456789", .repeat = 200}, "more than 1000 bytes, allowed are 1000"},
        {{.act = HTTP2_ANSWER, .headers = many, .header_count = COUNT_OF(many), .body = "ok"},
         "headers are larger than 65536 bytes"},
        {{.act = HTTP2_ANSWER,
          .trailers = many,
          .trailer_count = 15,
          .headers = many,
          .header_count = 15,
          .body = "ok"},
         "headers are larger than 65536 bytes"},
        {{.act = HTTP2_ANSWER, .headers = huge, .header_count = 1}, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f = {0};
        struct call_result r = {0};
        start(&f, NULL, &cases[i].step, 1);
        struct http_request request = post(&f, "body");
        request.max_response_bytes = 1000;
        http_world_call(&f.world, &request, &r);
        assert_true(r.body.len <= 1000);
        assert_says(&r, i == 3 ? r.outcome : HTTP_BAD_RESPONSE, true, cases[i].says);
        assert_int_not_equal(r.outcome, HTTP_ANSWERED);
        stop(&f);
    }
    free(value);
    free(part);
}

static void test_peers_that_are_no_http2(void **state)
{
    (void)state;
    static const struct {
        struct http2_peer_options options;
        const char *says;
    } cases[] = {
        {{.no_settings = true}, "no HTTP/2 SETTINGS within 0.03s"},
        {{.no_settings = true, .greeting = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"},
         "does not speak HTTP/2"},
        {{.no_settings = true, .greeting = "220 mail.example ESMTP ready to serve\r\n"}, "does not speak HTTP/2"},
        {{.no_settings = true, .greeting = "short"}, "no HTTP/2 SETTINGS within"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f = {0};
        struct call_result r;
        f.options.connect_timeout_nanos = SHORT_NANOS;
        start(&f, &cases[i].options, &ok_step, 1);
        call(&f, "body", &r);
        assert_says(&r, HTTP_CONNECT_FAILED, false, cases[i].says);
        stop(&f);
    }
}

static void test_headers_too_large(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r = {0};
    char *value = big_text(1 << 20);
    struct http_header header = {"X", value};
    start(&f, NULL, &ok_step, 1);
    struct http_request request = post(&f, "body");
    request.headers = &header;
    request.header_count = 1;
    http_world_call(&f.world, &request, &r);
    assert_says(&r, HTTP_CONNECT_FAILED, false, "larger than 1048576 bytes");
    free(value);
    stop(&f);
}

static void test_memory_is_out(void **state)
{
    (void)state;
    size_t calls = 1;
    for (size_t n = 0; n <= calls; n++) {
        struct fixture f = {0};
        struct call_result r;
        start(&f, NULL, &ok_step, 1);
        begin(&f, "body", &r);
        mem_fail_from(n == 0 ? SIZE_MAX : n);
        http_world_wait(&f.world, &r);
        if (n == 0)
            calls = mem_fail_count();
        mem_fail_from(0);
        if (n == 0)
            assert_int_equal(r.outcome, HTTP_ANSWERED);
        call_result_fini(&r);
        stop(&f);
    }
    assert_in_range(calls, 4, 100);
}

static void test_raw_attacks(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        enum http_outcome outcome;
    } cases[] = {
        {"\0\0\1\0\1\0\0\0\1x", 10, HTTP_LOST},                         // DATA before HEADERS
        {"\0\0\1\0\0\0\0\0\0x", 10, HTTP_LOST},                         // DATA on stream 0
        {"\0\0\1\1\4\0\0\0\2\x88", 10, HTTP_LOST},                      // HEADERS on a stream that is not ours
        {"\0\0\1\1\4\0\0\0\7\x88", 10, HTTP_LOST},                      // HEADERS on an idle stream
        {"\0\0\4\3\0\0\0\0\0\0\0\0\0", 13, HTTP_LOST},                  // RST_STREAM on stream 0
        {"\0\0\4\10\0\0\0\0\0\0\0\0\0", 13, HTTP_LOST},                 // WINDOW_UPDATE of nothing
        {"\0\0\4\10\0\0\0\0\1\x7f\xff\xff\xff", 13, HTTP_BAD_RESPONSE}, // a stream's window overflows
        {"\0\0\6\4\0\0\0\0\0\0\4\xff\xff\xff\xff", 15, HTTP_LOST},      // SETTINGS: a window that is too large
        {"\0\0\4\5\4\0\0\0\1\0\0\0\2", 13, HTTP_LOST},                  // PUSH_PROMISE
        {"\0\0\1\1\4\0\0\0\1\xff", 10, HTTP_LOST},                      // HPACK that ends too early
        {"\0\0\1\11\4\0\0\0\1\x88", 10, HTTP_LOST},                     // CONTINUATION of nothing
        {"\xff\xff\xff\0\0\0\0\0\1", 9, HTTP_LOST},                     // a frame of 16 MiB
        {"\0\0\1\1\4\0\0\0\1\x82", 10, HTTP_BAD_RESPONSE},              // :method in a response
        {"\0\0\4\1\4\0\0\0\1\x48\2ab", 13, HTTP_BAD_RESPONSE},          // a status that is no number
        {"\0\0\1\1\5\0\0\0\1\x82", 10, HTTP_BAD_RESPONSE},              // no status at all
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f = {0};
        struct call_result r;
        static const struct http2_step steps[] = {{.act = HTTP2_SAY_NOTHING}};
        start(&f, NULL, steps, 1);
        struct http_request request = post(&f, "body");
        request.timeout_nanos = 5 * NANOS_PER_SECOND;
        http_world_send(&f.world, &request, &r);
        while (http2_peer_requests(f.peer) == 0 || !http2_peer_seen(f.peer, 0)->whole)
            loop_step(&f.world.loop);
        http2_peer_send_raw(f.peer, cases[i].bytes, cases[i].len);
        http_world_wait(&f.world, &r);
        if (r.outcome != cases[i].outcome)
            fail_msg("case %zu: outcome %d, \"%s\"", i, r.outcome, r.error);
        call_result_fini(&r);
        stop(&f);
    }
}

static void test_frames_after_the_end(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r;
    static const char after[] = "\0\0\1\0\0\0\0\0\1x\0\0\1\1\5\0\0\0\1\x88\0\0\4\3\0\0\0\0\1\0\0\0\2";
    start(&f, NULL, &ok_step, 1);
    call(&f, "body", &r);
    http2_peer_send_raw(f.peer, after, sizeof after - 1);
    assert_ok(&r);
    call(&f, "body", &r);
    assert_true(r.outcome == HTTP_ANSWERED || r.outcome == HTTP_LOST);
    call_result_fini(&r);
    call(&f, "body", &r);
    assert_ok(&r);
    stop(&f);
}

static void flood(struct fixture *f, const char *frame, size_t len, size_t count)
{
    char *all = malloc(len * count);
    for (size_t i = 0; i < count; i++)
        memcpy(all + i * len, frame, len);
    http2_peer_send_raw(f->peer, all, len * count);
    free(all);
}

static void test_floods(void **state)
{
    (void)state;
    static const struct {
        const char *frame;
        size_t len;
        const char *first; // ten bytes before all
    } cases[] = {
        {"\0\0\x08\6\0\0\0\0\0pingpong", 17, NULL},
        {"\0\0\0\4\0\0\0\0\0", 9, NULL},
        {"\0\0\1\0\0\0\0\0\1x", 10, NULL},
        {"\0\0\4\10\0\0\0\0\0\0\0\0\1", 13, NULL},
        {"\0\0\1\1\4\0\0\0\1\x8c", 10, NULL},
        {"\0\0\5\1\4\0\0\0\1\x48\3"
         "103",
         14, NULL},                                                    // interim answers
        {"\0\0\5\11\0\0\0\0\1\0\1x\1y", 14, "\0\0\1\1\0\0\0\0\1\x88"}, // CONTINUATION
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f = {0};
        struct call_result r;
        static const struct http2_step steps[] = {{.act = HTTP2_SAY_NOTHING}};
        start(&f, NULL, steps, 1);
        struct http_request request = post(&f, "body");
        request.timeout_nanos = SHORT_NANOS;
        http_world_send(&f.world, &request, &r);
        while (http2_peer_requests(f.peer) == 0)
            loop_step(&f.world.loop);
        if (cases[i].first != NULL)
            http2_peer_send_raw(f.peer, cases[i].first, 10);
        flood(&f, cases[i].frame, cases[i].len, 20000);
        http_world_wait(&f.world, &r);
        assert_int_not_equal(r.outcome, HTTP_ANSWERED);
        call_result_fini(&r);
        stop(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_that_are_too_large),
        cmocka_unit_test(test_peers_that_are_no_http2),
        cmocka_unit_test(test_headers_too_large),
        cmocka_unit_test(test_memory_is_out),
        cmocka_unit_test(test_raw_attacks),
        cmocka_unit_test(test_frames_after_the_end),
        cmocka_unit_test(test_floods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
