// SPDX-License-Identifier: Apache-2.0
// The session alone: frames written by hand in, fates out.
#include "net/http2_client.h"

#include "base/mem.h"

#include <nghttp2/nghttp2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SETTINGS "\0\0\0\4\0\0\0\0\0"
// HEADERS :status 200, x: yes | DATA "hello" | trailers t: 1
#define HEAD(id) "\0\0\10\1\4\0\0\0" id "\x88\0\1x\3yes"
#define BODY(id) "\0\0\5\0\0\0\0\0" id "hello"
#define TRAILERS(id)                                                                                                   \
    "\0\0\5\1\5\0\0\0" id "\0\1t\1"                                                                                    \
    "1"
#define ANSWER(id) HEAD(id) BODY(id) TRAILERS(id)
#define STATUS(flags, id, digits) "\0\0\5\1" flags "\0\0\0" id "\x8\3" digits
#define GOAWAY(last) "\0\0\10\7\0\0\0\0\0\0\0\0" last "\0\0\0\0"
#define TEXT(literal) ((struct bytes){(const uint8_t *)(literal), sizeof(literal) - 1})

enum { STREAMS = 3, BODY_MAX_BYTES = 1000 };

struct fixture {
    struct http2_client *client;
    struct http2_stream streams[STREAMS];
    struct buf out;
};

static void output(struct fixture *f)
{
    struct err e = {0};
    buf_clear(&f->out);
    assert_true(http2_client_output(f->client, &f->out, &e));
}

static void submit(struct fixture *f, size_t i, struct bytes body)
{
    struct url url;
    assert_int_equal(url_parse("http://peer.example/path", &url, NULL), ERR_OK);
    struct http2_request how = {&url, "agent/1"};
    struct http_request request = {.method = "POST", .url = "http://peer.example/path", .body = body};
    http2_stream_init(&f->streams[i], BODY_MAX_BYTES);
    http2_client_submit(f->client, &f->streams[i], &how, &request);
}

static void start(struct fixture *f, struct bytes body)
{
    *f = (struct fixture){.client = http2_client_create("peer.example:80")};
    buf_init(&f->out, 1 << 20);
    assert_int_equal(http2_client_room(f->client), 0); // before SETTINGS
    assert_true(http2_client_feed(f->client, TEXT(SETTINGS), NULL));
    assert_true(http2_client_settled(f->client));
    assert_in_range(http2_client_room(f->client), 1, 1000);
    for (size_t i = 0; i < STREAMS; i++)
        submit(f, i, body);
    assert_int_equal(http2_client_active(f->client), STREAMS);
    output(f);
}

static void stop(struct fixture *f)
{
    http2_client_end(f->client, "the test ends");
    while (http2_client_take_done(f->client) != NULL)
        ;
    assert_int_equal(http2_client_active(f->client), 0);
    http2_client_destroy(&f->client);
    for (size_t i = 0; i < STREAMS; i++)
        http2_stream_fini(&f->streams[i]);
    buf_fini(&f->out);
}

static void assert_answer(const struct http2_stream *s)
{
    struct http_response r;
    assert_int_equal(s->fate, HTTP2_ANSWERED);
    http2_stream_view(s, &r);
    assert_int_equal(r.status, 200);
    assert_string_equal(http_response_header(&r, "X"), "yes");
    assert_int_equal(r.trailer_count, 1);
    assert_string_equal(r.trailers[0].name, "t");
    assert_string_equal(r.trailers[0].value, "1");
    assert_true(bytes_equal_text(r.body, "hello"));
}

static void test_bytewise(void **state)
{
    (void)state;
    struct fixture f;
    struct bytes all = TEXT(ANSWER("\3") HEAD("\1") BODY("\1") ANSWER("\5") TRAILERS("\1"));
    start(&f, TEXT("body"));
    for (size_t i = 0; i < all.len; i++)
        assert_true(http2_client_feed(f.client, (struct bytes){all.data + i, 1}, NULL));
    assert_ptr_equal(http2_client_take_done(f.client), &f.streams[1]);
    assert_ptr_equal(http2_client_take_done(f.client), &f.streams[2]);
    assert_ptr_equal(http2_client_take_done(f.client), &f.streams[0]);
    assert_null(http2_client_take_done(f.client));
    for (size_t i = 0; i < STREAMS; i++)
        assert_answer(&f.streams[i]);
    stop(&f);
}

// However much has come: each stream ends once, answered or lost.
static void test_cut_at_each_length(void **state)
{
    (void)state;
    struct bytes all = TEXT(ANSWER("\3") HEAD("\1") BODY("\1") ANSWER("\5") TRAILERS("\1"));
    size_t answered_before = 0;
    for (size_t len = 0; len <= all.len; len++) {
        struct fixture f;
        size_t done = 0, answered = 0;
        start(&f, TEXT("body"));
        assert_true(http2_client_feed(f.client, (struct bytes){all.data, len}, NULL));
        http2_client_end(f.client, "peer.example:80: cut");
        for (struct http2_stream *s; (s = http2_client_take_done(f.client)) != NULL; done++) {
            answered += s->fate == HTTP2_ANSWERED;
            if (s->fate != HTTP2_ANSWERED) {
                assert_int_equal(s->fate, HTTP2_LOST);
                assert_string_equal(s->error.text, "peer.example:80: cut before the response was complete");
            }
        }
        assert_int_equal(done, STREAMS);
        assert_in_range(answered, answered_before, answered_before + 1);
        answered_before = answered;
        stop(&f);
    }
    assert_int_equal(answered_before, STREAMS);
}

static void test_goaway(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, TEXT("body"));
    assert_true(http2_client_feed(f.client, TEXT(GOAWAY("\3")), NULL));
    assert_true(http2_client_draining(f.client));
    assert_false(http2_client_finished(f.client));
    assert_int_equal(http2_client_room(f.client), 0);
    assert_ptr_equal(http2_client_take_done(f.client), &f.streams[2]);
    assert_int_equal(f.streams[2].fate, HTTP2_UNTOUCHED);
    assert_true(http2_client_feed(f.client, TEXT(ANSWER("\1")), NULL));
    assert_ptr_equal(http2_client_take_done(f.client), &f.streams[0]);
    assert_answer(&f.streams[0]);
    assert_true(http2_client_feed(f.client, TEXT(GOAWAY("\1")), NULL)); // it comes down to
    assert_ptr_equal(http2_client_take_done(f.client), &f.streams[1]);
    assert_int_equal(f.streams[1].fate, HTTP2_UNTOUCHED);
    stop(&f);
}

// Queued when GOAWAY comes, or when the connection ends: never sent.
static void test_unsent(void **state)
{
    (void)state;
    for (int goes_away = 0; goes_away < 2; goes_away++) {
        struct fixture f;
        start(&f, TEXT("body"));
        http2_client_cancel(f.client, &f.streams[0]);
        http2_stream_fini(&f.streams[0]);
        submit(&f, 0, TEXT("later"));
        if (goes_away) {
            assert_true(http2_client_feed(f.client, TEXT(GOAWAY("\x7f")), NULL));
            output(&f);
        } else {
            http2_client_end(f.client, "peer.example:80: cut");
        }
        struct http2_stream *s = http2_client_take_done(f.client);
        while (s != NULL && s != &f.streams[0])
            s = http2_client_take_done(f.client);
        assert_ptr_equal(s, &f.streams[0]);
        assert_int_equal(s->fate, HTTP2_UNTOUCHED);
        stop(&f);
    }
}

static void test_cancel(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, TEXT("body"));
    assert_true(http2_client_feed(f.client, TEXT(ANSWER("\1")), NULL));
    http2_client_cancel(f.client, &f.streams[0]); // done, and not taken yet
    http2_client_cancel(f.client, &f.streams[1]);
    assert_null(http2_client_take_done(f.client));
    assert_int_equal(http2_client_active(f.client), 1);
    output(&f);
    assert_int_equal(f.out.len, 13); // RST_STREAM of the second; the first was over
    stop(&f);
}

static void test_output_is_bounded(void **state)
{
    (void)state;
    struct fixture f;
    uint8_t *body = mem_alloc(1 << 20);
    static const char window[] = "\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff"
                                 "\0\0\4\10\0\0\0\0\0\x3f\xff\xff\xff";
    start(&f, (struct bytes){body, 1 << 20});
    assert_true(http2_client_feed(f.client, TEXT(window), NULL));
    size_t total = 0;
    do {
        output(&f);
        assert_in_range(f.out.len, 0, (64 << 10) + (16 << 10) + 9);
        total += f.out.len;
    } while (f.out.len > 0);
    assert_in_range(total, 3 * ((1 << 20) - 65535), 4 << 20);
    free(body);
    stop(&f);
}

// A peer that asks for answers and reads none of them: an end, not a queue.
static void test_acks_are_bounded(void **state)
{
    (void)state;
    struct fixture f;
    struct err e = {0};
    size_t pings = 0;
    start(&f, TEXT("body"));
    while (pings < 5000 && http2_client_feed(f.client, TEXT("\0\0\10\6\0\0\0\0\0pingpong"), &e))
        pings++;
    assert_in_range(pings, 50, 200);
    assert_non_null(strstr(e.text, "the peer breaks HTTP/2"));
    stop(&f);
}

static void test_not_http2(void **state)
{
    (void)state;
    struct fixture f = {.client = http2_client_create("peer")};
    struct err e = {0};
    buf_init(&f.out, 1 << 20);
    output(&f);
    assert_true(f.out.len >= 24 && memcmp(f.out.data, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24) == 0);
    bool fed = http2_client_feed(f.client, TEXT("HTTP/1.1 400 Bad Request\r\n\r\n"), &e);
    output(&f);
    assert_true(!fed || http2_client_finished(f.client));
    assert_false(http2_client_settled(f.client));
    stop(&f);
}

// nghttp2 wants three digits, whatever they are.
static void test_status_below_100(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, TEXT("body"));
    assert_true(http2_client_feed(f.client, TEXT(STATUS("\5", "\1", "000")), NULL));
    assert_true(http2_client_feed(f.client, TEXT(STATUS("\4", "\3", "099") BODY("\3") TRAILERS("\3")), NULL));
    for (size_t i = 0; i < 2; i++) {
        assert_ptr_equal(http2_client_take_done(f.client), &f.streams[i]);
        assert_int_equal(f.streams[i].fate, HTTP2_BAD);
        assert_non_null(strstr(f.streams[i].error.text, "its status is below 100"));
    }
    assert_true(http2_client_feed(f.client, TEXT(ANSWER("\5")), NULL));
    assert_ptr_equal(http2_client_take_done(f.client), &f.streams[2]);
    assert_answer(&f.streams[2]);
    stop(&f);
}

// The answer of a peer that is too talkative is cut off, and the other streams live on.
static void test_body_limit(void **state)
{
    (void)state;
    struct fixture f;
    static uint8_t data[9 + BODY_MAX_BYTES + 1] = {
        0, (BODY_MAX_BYTES + 1) >> 8, (BODY_MAX_BYTES + 1) & 0xff, 0, 0, 0, 0, 0, 1};
    start(&f, TEXT("body"));
    assert_true(http2_client_feed(f.client, TEXT(HEAD("\1")), NULL));
    assert_true(http2_client_feed(f.client, (struct bytes){data, sizeof data}, NULL));
    assert_ptr_equal(http2_client_take_done(f.client), &f.streams[0]);
    assert_int_equal(f.streams[0].fate, HTTP2_BAD);
    assert_non_null(strstr(f.streams[0].error.text, "allowed are 1000"));
    assert_true(f.streams[0].body.len <= BODY_MAX_BYTES);
    assert_true(http2_client_feed(f.client, TEXT(BODY("\1") ANSWER("\3")), NULL));
    assert_ptr_equal(http2_client_take_done(f.client), &f.streams[1]);
    assert_answer(&f.streams[1]);
    stop(&f);
}

static void test_memory_is_out(void **state)
{
    (void)state;
    for (size_t n = 1; n < 40; n++) {
        struct fixture f;
        size_t done = 0;
        start(&f, TEXT("body"));
        mem_fail_from(n);
        assert_true(http2_client_feed(f.client, TEXT(ANSWER("\1") ANSWER("\3") ANSWER("\5")), NULL));
        mem_fail_from(0);
        for (struct http2_stream *s; (s = http2_client_take_done(f.client)) != NULL; done++)
            if (s->fate != HTTP2_ANSWERED)
                assert_non_null(strstr(s->error.text, "out of memory"));
        assert_int_equal(done, STREAMS);
        stop(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytewise),         cmocka_unit_test(test_cut_at_each_length),
        cmocka_unit_test(test_goaway),           cmocka_unit_test(test_unsent),
        cmocka_unit_test(test_cancel),           cmocka_unit_test(test_output_is_bounded),
        cmocka_unit_test(test_acks_are_bounded), cmocka_unit_test(test_not_http2),
        cmocka_unit_test(test_status_below_100), cmocka_unit_test(test_body_limit),
        cmocka_unit_test(test_memory_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
