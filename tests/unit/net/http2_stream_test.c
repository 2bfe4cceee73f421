// SPDX-License-Identifier: Apache-2.0
// Exchanges that go on: bodies taken and answered in pieces, with frames written and read by hand.
#include "tests/support/fake_link.h"

#include "base/mem.h"

#include <nghttp2/nghttp2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CALLS_MAX = 8, FRAME_HEAD_BYTES = 9, WINDOW_BYTES = 65535 };

// :method POST, :scheme http, :path /s or /u, :authority h
static const char stream_block[] = "\x83\x86\x04\x02/s\x41\x01h", unary_block[] = "\x83\x86\x04\x02/u\x41\x01h";
static const struct http_header trailers[] = {{"grpc-status", "0"}};

// A peer and our handler, which answers each message ("text;") with itself, `times` times.
struct talk {
    struct fake_link f;
    size_t times;
    bool answers_first; // message, at once
    struct http_exchange *open[CALLS_MAX];
    size_t open_count;
    int messages, ends, refusals, aborts, drains;
    int last_refusal;
    char last[64];
    // What came on the wire.
    struct buf data;
    int heads, ends_seen, resets, goaways;
    uint32_t reset_code;
};

static void say(struct http_exchange *x, struct bytes text, size_t times)
{
    struct buf body;
    buf_init(&body, 16 << 20);
    for (size_t i = 0; i < times; i++)
        buf_add(&body, text.data, text.len);
    http_exchange_send(x, &(struct http_answer){.status = 200, .body = &body});
}

static void forget(struct talk *t, const struct http_exchange *x)
{
    for (size_t i = 0; i < t->open_count; i++)
        if (t->open[i] == x)
            t->open[i] = NULL;
}

static void end_call(struct talk *t, struct http_exchange *x)
{
    forget(t, x);
    http_exchange_answer(x, &(struct http_answer){.status = 200, .trailers = trailers, .trailer_count = 1});
}

static size_t on_data(void *arg, struct http_exchange *x, struct bytes data, bool ended)
{
    struct talk *t = arg;
    const uint8_t *end = data.len > 0 ? memchr(data.data, ';', data.len) : NULL;
    if (end == NULL && ended) {
        t->ends++;
        end_call(t, x);
    }
    if (end == NULL)
        return 0;
    size_t len = (size_t)(end + 1 - data.data);
    snprintf(t->last, sizeof t->last, "%.*s", (int)len, (const char *)data.data);
    t->messages++;
    if (t->answers_first)
        end_call(t, x);
    else if (t->times > 0)
        say(x, (struct bytes){data.data, len}, t->times);
    return len;
}

static void on_request(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    struct talk *t = arg;
    (void)x;
    t->messages++;
    snprintf(t->last, sizeof t->last, "%.*s", (int)len, (const char *)body);
    free(body);
}

static void on_refuse(void *arg, struct http_exchange *x, int status, const char *text)
{
    struct talk *t = arg;
    (void)text;
    t->refusals++;
    t->last_refusal = status;
    end_call(t, x);
}

static void on_abort(void *arg, struct http_exchange *x)
{
    struct talk *t = arg;
    t->aborts++;
    forget(t, x);
}

static void on_drain(void *arg, struct http_exchange *x)
{
    struct talk *t = arg;
    t->drains++;
    say(x, BYTES_LITERAL("bye"), 1);
    end_call(t, x);
}

static void on_head(void *arg, struct http_exchange *x, const struct http_head *head)
{
    struct talk *t = arg;
    t->open[t->open_count++] = x;
    if (bytes_equal_text(head->path, "/s"))
        http_exchange_take_stream(x);
    else
        http_exchange_take_body(x, 100);
}

static void frame(struct talk *t, uint8_t type, uint8_t flags, uint32_t id, const void *payload, size_t len)
{
    uint8_t *b = malloc(FRAME_HEAD_BYTES + len);
    const uint8_t head[] = {(uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len,       type,       flags,
                            (uint8_t)(id >> 24),  (uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id};
    memcpy(b, head, sizeof head);
    if (len > 0)
        memcpy(b + sizeof head, payload, len);
    fake_link_receive(&t->f, (struct bytes){b, FRAME_HEAD_BYTES + len}, FRAME_HEAD_BYTES + len);
    free(b);
}

static void see(struct talk *t, uint8_t type, uint8_t flags, struct bytes payload)
{
    bool ends = (type == NGHTTP2_DATA || type == NGHTTP2_HEADERS) && (flags & NGHTTP2_FLAG_END_STREAM) != 0;
    t->ends_seen += ends;
    t->heads += type == NGHTTP2_HEADERS;
    t->goaways += type == NGHTTP2_GOAWAY;
    if (type == NGHTTP2_DATA)
        buf_add(&t->data, payload.data, payload.len);
    if (type == NGHTTP2_RST_STREAM) {
        t->resets++;
        t->reset_code = payload.data[3];
    }
    if (type == NGHTTP2_PING && (flags & NGHTTP2_FLAG_ACK) == 0)
        frame(t, NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, payload.data, payload.len);
}

// Reads what the engine says until it says no more.
static void listen_to(struct talk *t)
{
    fake_link_pump(&t->f);
    while (t->f.out.len > 0) {
        size_t len;
        uint8_t *out = buf_take(&t->f.out, &len);
        buf_init(&t->f.out, 64 << 20);
        for (size_t at = 0; at < len;) {
            const uint8_t *h = out + at;
            size_t n = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
            see(t, h[3], h[4], (struct bytes){h + FRAME_HEAD_BYTES, n});
            at += FRAME_HEAD_BYTES + n;
        }
        free(out);
        fake_link_pump(&t->f);
    }
}

static void put_u32(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(v >> (24 - 8 * i));
}

static struct talk *begin_with(uint32_t window)
{
    struct talk *t = MEM_NEW(struct talk);
    uint8_t setting[6] = {0, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE};
    put_u32(setting + 2, window);
    fake_link_init(&t->f);
    t->times = 1;
    t->f.handler = (struct http_server_handler){.arg = t,
                                                .on_head = on_head,
                                                .on_request = on_request,
                                                .on_refuse = on_refuse,
                                                .on_abort = on_abort,
                                                .on_data = on_data,
                                                .on_drain = on_drain};
    buf_init(&t->data, 64 << 20);
    fake_link_start(&t->f, http2_server_create);
    fake_link_receive(&t->f, BYTES_LITERAL("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 24);
    frame(t, NGHTTP2_SETTINGS, 0, 0, setting, sizeof setting);
    frame(t, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, NULL, 0);
    listen_to(t);
    return t;
}

static void finish(struct talk *t)
{
    fake_link_fini(&t->f);
    buf_fini(&t->data);
    for (size_t i = 0; i < t->open_count; i++)
        assert_null(t->open[i]);
    free(t);
}

static void ask(struct talk *t, uint32_t id, const char *block, bool ends)
{
    uint8_t flags = NGHTTP2_FLAG_END_HEADERS | (ends ? NGHTTP2_FLAG_END_STREAM : 0);
    frame(t, NGHTTP2_HEADERS, flags, id, block, strlen(block));
    listen_to(t);
}

static void send_data(struct talk *t, uint32_t id, const char *text, bool ends)
{
    frame(t, NGHTTP2_DATA, ends ? NGHTTP2_FLAG_END_STREAM : 0, id, text, strlen(text));
    listen_to(t);
}

static void widen(struct talk *t, uint32_t id, uint32_t by)
{
    uint8_t increment[4];
    put_u32(increment, by);
    frame(t, NGHTTP2_WINDOW_UPDATE, 0, id, increment, sizeof increment);
    listen_to(t);
}

static void pass_ms(struct talk *t, uint64_t ms)
{
    fake_link_at(&t->f, t->f.now_ms + ms);
    listen_to(t);
}

static void expect_data(struct talk *t, const char *text)
{
    assert_true(bytes_equal_text(buf_bytes(&t->data), text));
    buf_clear(&t->data);
}

static void test_pieces_both_ways(void **state)
{
    (void)state;
    struct talk *t = begin_with(WINDOW_BYTES);
    ask(t, 1, stream_block, false);
    assert_int_equal(t->heads, 0);
    send_data(t, 1, "ab;c", false);
    assert_int_equal(t->heads, 1);
    expect_data(t, "ab;");
    send_data(t, 1, "d", false);
    assert_int_equal(t->messages, 1);
    send_data(t, 1, ";e;f;", false);
    expect_data(t, "cd;e;f;");
    say(t->open[0], BYTES_LITERAL("unasked"), 1);
    listen_to(t);
    expect_data(t, "unasked");
    assert_int_equal(t->heads, 1);
    send_data(t, 1, "g;h", true); // its end is cut
    expect_data(t, "g;");
    assert_int_equal(t->ends, 1);
    assert_int_equal(t->heads, 2); // trailers
    assert_int_equal(t->ends_seen, 1);
    assert_int_equal(t->resets, 0);
    assert_true(t->f.engine->ops->is_idle(t->f.engine));
    finish(t);
}

static void test_nothing_sent(void **state)
{
    (void)state;
    struct talk *t = begin_with(WINDOW_BYTES);
    ask(t, 1, stream_block, true);
    assert_int_equal(t->ends, 1);
    assert_int_equal(t->heads, 2);
    assert_int_equal(t->ends_seen, 1);
    ask(t, 3, stream_block, false);
    send_data(t, 3, "", true);
    assert_int_equal(t->ends, 2);
    finish(t);
}

static void test_answered_before_its_end(void **state)
{
    (void)state;
    struct talk *t = begin_with(WINDOW_BYTES);
    t->answers_first = true;
    ask(t, 1, stream_block, false);
    send_data(t, 1, "a;b;c;", false); // the rest is dropped
    assert_int_equal(t->messages, 1);
    send_data(t, 1, "d;", false);
    assert_int_equal(t->messages, 1);
    assert_int_equal(t->ends_seen, 1);
    pass_ms(t, 1000);
    assert_int_equal(t->resets, 1);
    assert_int_equal(t->reset_code, NGHTTP2_NO_ERROR);
    finish(t);
}

// A call that waits is not slow.
static void test_waits_for_long(void **state)
{
    (void)state;
    struct talk *t = begin_with(WINDOW_BYTES);
    ask(t, 1, unary_block, false);
    send_data(t, 1, "watch", true);
    assert_string_equal(t->last, "watch");
    say(t->open[0], BYTES_LITERAL("1"), 1);
    listen_to(t);
    for (int i = 0; i < 100; i++)
        pass_ms(t, 3600 * 1000);
    say(t->open[0], BYTES_LITERAL("2"), 1);
    listen_to(t);
    expect_data(t, "12");
    assert_int_equal(t->refusals + t->aborts + t->resets + t->ends_seen, 0);
    end_call(t, t->open[0]);
    listen_to(t);
    assert_int_equal(t->ends_seen, 1);
    finish(t);
}

static void fill(struct talk *t, uint32_t id, size_t bytes)
{
    char piece[16 << 10];
    memset(piece, 'z', sizeof piece);
    for (size_t i = 999; i < sizeof piece; i += 1000)
        piece[i] = ';';
    for (size_t sent = 0; sent < bytes; sent += sizeof piece)
        frame(t, NGHTTP2_DATA, 0, id, piece, sizeof piece);
}

static void test_idle_stream(void **state)
{
    (void)state;
    struct talk *t = begin_with(WINDOW_BYTES);
    ask(t, 1, stream_block, false);
    pass_ms(t, 59999);
    send_data(t, 1, "x", false);
    pass_ms(t, 59999);
    say(t->open[0], BYTES_LITERAL("y"), 1);
    listen_to(t);
    pass_ms(t, 59999);
    assert_int_equal(t->refusals, 0);
    pass_ms(t, 1);
    assert_int_equal(t->last_refusal, 408);
    assert_int_equal(t->ends_seen, 1);
    t->times = 0;
    ask(t, 3, stream_block, false);
    fill(t, 3, 1 << 20); // buys no time
    pass_ms(t, 60000);
    assert_int_equal(t->refusals, 2);
    finish(t);
}

static void test_drain(void **state)
{
    (void)state;
    struct talk *t = begin_with(WINDOW_BYTES);
    ask(t, 1, unary_block, true);
    ask(t, 3, stream_block, false);
    t->f.engine->ops->drain(t->f.engine);
    assert_int_equal(t->drains, 2);
    ask(t, 5, stream_block, false); // crossed the notice
    ask(t, 7, unary_block, true);
    assert_int_equal(t->drains, 4);
    assert_int_equal(t->ends_seen, 4);
    expect_data(t, "byebyebyebye");
    pass_ms(t, 1000); // those that have not ended are reset
    listen_to(t);
    assert_int_equal(t->goaways, 2);
    assert_true(fake_link_finished(&t->f));
    finish(t);
}

// Credit comes back as the handler uses what it gets.
static void test_long_body(void **state)
{
    (void)state;
    struct talk *t = begin_with(WINDOW_BYTES);
    t->times = 0;
    ask(t, 1, stream_block, false);
    fill(t, 1, 10 << 20);
    listen_to(t);
    assert_true(t->messages > 10000);
    assert_int_equal(t->refusals + t->aborts, 0);
    send_data(t, 1, ";", true);
    assert_int_equal(t->ends_seen, 1);
    finish(t);
}

// Who does not read holds the handler back; who sends on all the same is refused.
static void test_back_pressure(void **state)
{
    (void)state;
    struct talk *t = begin_with(0);
    t->times = 30;
    ask(t, 1, stream_block, false);
    fill(t, 1, 48 << 10);
    listen_to(t);
    assert_int_equal(t->messages, 1); // 30 kB each
    assert_int_equal(t->data.len, 0);
    widen(t, 1, 40000);
    assert_int_equal(t->messages, 2);
    widen(t, 1, 1 << 20);
    widen(t, 0, 8 << 20);
    assert_int_equal(t->data.len, 40000 + (1 << 20));
    assert_true(t->messages < 48);
    widen(t, 1, 8 << 20);
    assert_true(t->messages >= 48);
    assert_int_equal(t->data.len, 30 * ((48 << 10) - 384)); // the rest is no whole message
    assert_int_equal(t->refusals, 0);
    finish(t);
}

static void test_sends_without_reading(void **state)
{
    (void)state;
    struct talk *t = begin_with(0);
    t->times = 100;
    ask(t, 1, stream_block, false);
    fill(t, 1, 200 << 10);
    assert_int_equal(t->messages, 1);
    assert_int_equal(t->last_refusal, 413);
    assert_int_equal(t->refusals, 1);
    finish(t);
}

static void test_takes_nothing(void **state)
{
    (void)state;
    struct talk *t = begin_with(0);
    ask(t, 1, stream_block, false);
    send_data(t, 1, "a;", false);
    pass_ms(t, 29999);
    assert_int_equal(t->resets, 0);
    pass_ms(t, 1);
    assert_int_equal(t->reset_code, NGHTTP2_CANCEL);
    assert_int_equal(t->aborts, 1);
    ask(t, 3, unary_block, true); // the same before and after the end of an answer
    say(t->open[1], BYTES_LITERAL("a"), 1);
    end_call(t, t->open[1]);
    pass_ms(t, 30000);
    assert_int_equal(t->resets, 2);
    assert_true(t->f.engine->ops->is_idle(t->f.engine));
    finish(t);
}

static void test_piece_too_large(void **state)
{
    (void)state;
    struct talk *t = begin_with(0);
    ask(t, 1, unary_block, true);
    say(t->open[0], BYTES_LITERAL("0123456789abcdef"), 1 << 17);
    listen_to(t);
    assert_int_equal(t->reset_code, NGHTTP2_INTERNAL_ERROR);
    assert_int_equal(t->aborts, 1);
    finish(t);
}

static void test_gone(void **state)
{
    (void)state;
    struct talk *t = begin_with(WINDOW_BYTES);
    ask(t, 1, unary_block, true);
    say(t->open[0], BYTES_LITERAL("a"), 1);
    ask(t, 3, stream_block, false);
    frame(t, NGHTTP2_RST_STREAM, 0, 1, "\0\0\0\x08", 4);
    assert_int_equal(t->aborts, 1);
    assert_null(t->open[0]);
    t->f.engine->ops->abort(t->f.engine);
    assert_int_equal(t->aborts, 2);
    finish(t);
}

// With each allocation failing in turn nothing is lost track of.
static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1; n < 20; n++) {
        struct talk *t = begin_with(WINDOW_BYTES);
        mem_fail_from(n);
        ask(t, 1, stream_block, false);
        send_data(t, 1, "ab;cd;", false);
        mem_fail_from(0);
        finish(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_both_ways),
        cmocka_unit_test(test_nothing_sent),
        cmocka_unit_test(test_answered_before_its_end),
        cmocka_unit_test(test_waits_for_long),
        cmocka_unit_test(test_idle_stream),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_long_body),
        cmocka_unit_test(test_back_pressure),
        cmocka_unit_test(test_sends_without_reading),
        cmocka_unit_test(test_takes_nothing),
        cmocka_unit_test(test_piece_too_large),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
