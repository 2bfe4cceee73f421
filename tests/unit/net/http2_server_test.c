// SPDX-License-Identifier: Apache-2.0
// The engine against nghttp2's client, in memory.
#include "tests/support/fake_link.h"

#include "base/mem.h"

#include <nghttp2/nghttp2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { STREAMS_MAX = 1000 };

struct call {
    int status;
    struct buf body;
    size_t to_send; // of the request's body
    char grpc_status[16];
    bool closed;
    uint32_t code;
};

struct pair {
    struct fake_link f;
    nghttp2_session *client;
    struct call calls[STREAMS_MAX]; // by stream number / 2
    int goaways;
    uint32_t goaway_code;
    int32_t goaway_last;
    bool goaway_says_pings; // one of them
    bool silent;            // the client's bytes are kept back
};

static struct call *call_of(struct pair *p, int32_t id)
{
    return &p->calls[id / 2];
}

static int on_client_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                            const uint8_t *value, size_t value_len, uint8_t flags, void *arg)
{
    struct call *c = call_of(arg, frame->hd.stream_id);
    struct bytes n = {name, name_len};
    (void)session;
    (void)flags;
    if (bytes_equal_text(n, ":status"))
        c->status = (int)strtol((const char *)value, NULL, 10);
    if (bytes_equal_text(n, "grpc-status"))
        snprintf(c->grpc_status, sizeof c->grpc_status, "%.*s", (int)value_len, (const char *)value);
    return 0;
}

static int on_client_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
                          void *arg)
{
    (void)session;
    (void)flags;
    buf_add(&call_of(arg, id)->body, data, len);
    return 0;
}

static int on_client_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
    struct call *c = call_of(arg, id);
    (void)session;
    c->closed = true;
    c->code = code;
    return 0;
}

static int on_client_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct pair *p = arg;
    (void)session;
    if (frame->hd.type != NGHTTP2_GOAWAY)
        return 0;
    p->goaways++;
    p->goaway_code = frame->goaway.error_code;
    p->goaway_last = frame->goaway.last_stream_id;
    struct bytes text = {frame->goaway.opaque_data, frame->goaway.opaque_data_len};
    p->goaway_says_pings = p->goaway_says_pings || bytes_equal_text(text, "too_many_pings");
    return 0;
}

static ssize_t read_request(nghttp2_session *session, int32_t id, uint8_t *room, size_t size, uint32_t *flags,
                            nghttp2_data_source *source, void *arg)
{
    struct call *c = call_of(arg, id);
    size_t n = c->to_send < size ? c->to_send : size;
    (void)session;
    memset(room, 'x', n);
    c->to_send -= n;
    if (c->to_send == 0 && source->fd == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return n == 0 && source->fd != 0 ? NGHTTP2_ERR_DEFERRED : (ssize_t)n;
}

static void init(struct pair *p)
{
    nghttp2_session_callbacks *c;
    *p = (struct pair){0};
    fake_link_init(&p->f);
    nghttp2_session_callbacks_new(&c);
    nghttp2_session_callbacks_set_on_header_callback(c, on_client_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_client_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_client_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_client_frame);
    nghttp2_session_client_new(&p->client, c, p);
    nghttp2_session_callbacks_del(c);
    for (size_t i = 0; i < STREAMS_MAX; i++)
        buf_init(&p->calls[i].body, 64 << 20);
}

// Back and forth until both are quiet.
static void settle(struct pair *p)
{
    bool busy = true;
    while (busy) {
        const uint8_t *data;
        ssize_t n = p->silent ? 0 : nghttp2_session_mem_send(p->client, &data);
        busy = n > 0;
        if (n > 0)
            fake_link_receive(&p->f, (struct bytes){data, (size_t)n}, (size_t)n);
        fake_link_pump(&p->f);
        if (p->f.out.len > 0) {
            assert_true(nghttp2_session_mem_recv(p->client, p->f.out.data, p->f.out.len) > 0);
            buf_clear(&p->f.out);
            busy = true;
        }
    }
}

static void begin_with(struct pair *p, uint32_t client_window)
{
    nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, client_window};
    fake_link_start(&p->f, http2_server_create);
    nghttp2_submit_settings(p->client, NGHTTP2_FLAG_NONE, &window, 1);
    settle(p);
}

static struct pair *begin(void)
{
    struct pair *p = MEM_NEW(struct pair);
    init(p);
    begin_with(p, 65535);
    return p;
}

static void end(struct pair *p)
{
    nghttp2_session_del(p->client);
    fake_link_fini(&p->f);
    for (size_t i = 0; i < STREAMS_MAX; i++)
        buf_fini(&p->calls[i].body);
    free(p);
}

#define NV(name, value) {(uint8_t *)(name), (uint8_t *)(value), strlen(name), strlen(value), 0}

// body_len SIZE_MAX: a body that never ends.
static struct call *ask(struct pair *p, const char *method, const char *path, size_t body_len, const char *length)
{
    nghttp2_nv nv[] = {NV(":method", method), NV(":path", path), NV(":scheme", "http"), NV(":authority", "h"),
                       NV("content-length", length ? length : "")};
    nghttp2_data_provider body = {.source = {.fd = body_len == SIZE_MAX}, .read_callback = read_request};
    int32_t id = nghttp2_submit_request(p->client, NULL, nv, length ? 5 : 4, body_len > 0 ? &body : NULL, NULL);
    assert_true(id > 0);
    struct call *c = call_of(p, id);
    c->to_send = body_len == SIZE_MAX ? 0 : body_len;
    settle(p);
    return c;
}

static void test_answer(void **state)
{
    (void)state;
    struct pair *p = begin();
    struct call *c = ask(p, "POST", "/a?b", 5, NULL);
    assert_int_equal(c->status, 200);
    assert_true(bytes_equal_text(buf_bytes(&c->body), "xxxxx"));
    assert_string_equal(p->f.last, "POST /a b h 5");
    assert_true(c->closed && c->code == NGHTTP2_NO_ERROR);
    c = ask(p, "GET", "/none", 0, NULL);
    assert_int_equal(c->status, 200);
    c = ask(p, "HEAD", "/", 3, "3");
    assert_int_equal(c->status, 200);
    assert_int_equal(c->body.len, 0);
    assert_true(c->closed && c->code == NGHTTP2_NO_ERROR);
    assert_int_equal(p->f.requests, 3);
    end(p);
}

static void test_large_both_ways(void **state)
{
    (void)state;
    struct pair *p = begin();
    p->f.max_body = 32 << 20;
    struct call *c = ask(p, "POST", "/", 3 << 20, NULL);
    assert_int_equal(c->status, 200);
    assert_int_equal(c->body.len, 3 << 20);
    assert_true(c->closed);
    end(p);
}

static void test_trailers(void **state)
{
    (void)state;
    static const struct http_header trailers[] = {{"Grpc-Status", "7"}};
    for (size_t body = 0; body < 2; body++) {
        struct pair *p = begin();
        p->f.trailers = trailers;
        p->f.trailer_count = 1;
        struct call *c = ask(p, "POST", "/", body, NULL);
        assert_int_equal(c->status, 200);
        assert_int_equal(c->body.len, body);
        assert_string_equal(c->grpc_status, "7");
        assert_true(c->closed && c->code == NGHTTP2_NO_ERROR);
        end(p);
    }
}

static void test_late_answers_in_any_order(void **state)
{
    (void)state;
    struct pair *p = begin();
    p->f.defers = true;
    struct call *first = ask(p, "GET", "/1", 0, NULL), *second = ask(p, "GET", "/2", 0, NULL);
    fake_link_at(&p->f, p->f.now_ms + 3600 * 1000); // nothing of that is an idle connection's
    assert_int_equal(p->f.requests, 2);
    fake_link_answer(&p->f, 1, 202, "second");
    settle(p);
    assert_int_equal(second->status, 202);
    assert_int_equal(first->status, 0);
    fake_link_answer(&p->f, 0, 200, "first");
    settle(p);
    assert_true(bytes_equal_text(buf_bytes(&first->body), "first\n"));
    end(p);
}

static void test_early_answer(void **state)
{
    (void)state;
    struct pair *p = begin();
    struct call *c = ask(p, "POST", "/refused", 100000, NULL); // all of it is dropped
    assert_int_equal(c->status, 503);
    assert_true(c->closed && c->code == NGHTTP2_NO_ERROR && c->to_send == 0);
    const size_t sizes[] = {4 << 20, SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        c = ask(p, "POST", "/refused", sizes[i], NULL); // waits, for a while
        assert_int_equal(c->status, 503);
        assert_false(c->closed);
        assert_true(i == 1 || c->to_send > 2 << 20);
        fake_link_at(&p->f, p->f.now_ms + 1000);
        settle(p);
        assert_true(c->closed && c->code == NGHTTP2_NO_ERROR);
    }
    c = ask(p, "POST", "/still-fine", 4, NULL);
    assert_int_equal(c->status, 200);
    end(p);
}

static void test_body_limits(void **state)
{
    (void)state;
    struct pair *p = begin();
    p->f.max_body = 1000;
    struct call *c = ask(p, "POST", "/", 1001, "1001");
    assert_int_equal(c->status, 413);
    c = ask(p, "POST", "/", 1001, NULL);
    assert_int_equal(c->status, 413);
    p->f.reserve_max = 10;
    c = ask(p, "POST", "/", 11, "11");
    assert_int_equal(c->status, 503);
    p->f.own_refusals = true;
    c = ask(p, "POST", "/", 11, NULL);
    assert_int_equal(c->status, 299);
    assert_int_equal(p->f.refusals, 4);
    assert_int_equal(p->f.requests + p->f.aborts, 0);
    end(p);
}

static void test_wrong_length(void **state)
{
    (void)state;
    struct pair *p = begin();
    struct call *c = ask(p, "POST", "/", 5, "6");
    assert_true(c->closed && c->code == NGHTTP2_PROTOCOL_ERROR);
    c = ask(p, "POST", "/", 6, "5");
    assert_true(c->closed && c->code == NGHTTP2_PROTOCOL_ERROR);
    assert_int_equal(p->f.aborts, 2);
    assert_int_equal(p->f.requests, 0);
    end(p);
}

static struct call *ask_with_header(struct pair *p, size_t len)
{
    char *value = malloc(len + 1);
    memset(value, 'v', len);
    value[len] = '\0';
    nghttp2_nv nv[] = {NV(":method", "GET"), NV(":path", "/"), NV(":scheme", "http"), NV(":authority", "h"),
                       NV("x", value)};
    int32_t id = nghttp2_submit_request(p->client, NULL, nv, COUNT_OF(nv), NULL, NULL);
    free(value);
    settle(p);
    return call_of(p, id);
}

static void test_header_limit(void **state)
{
    (void)state;
    struct pair *p = MEM_NEW(struct pair);
    init(p);
    p->f.limits.max_header_bytes = 8000;
    begin_with(p, 65535);
    assert_int_equal(ask_with_header(p, 7000)->status, 200);
    assert_int_equal(ask_with_header(p, 9000)->status, 431);
    struct call *c = ask_with_header(p, 40000);
    assert_true(c->closed && c->code != NGHTTP2_NO_ERROR);
    assert_int_equal(ask_with_header(p, 10)->status, 200);
    assert_int_equal(p->f.heads, 2);
    end(p);
}

static void test_many_streams(void **state)
{
    (void)state;
    struct pair *p = MEM_NEW(struct pair);
    init(p);
    p->f.limits.max_streams = 10;
    p->f.defers = true;
    begin_with(p, 65535);
    for (int i = 0; i < 25; i++)
        ask(p, "GET", "/", 0, NULL);
    assert_int_equal(p->f.requests, 10);
    for (size_t i = 0; i < 10; i++)
        fake_link_answer(&p->f, i, 200, "");
    settle(p);
    assert_int_equal(p->f.requests, 20);
    end(p);
}

static void test_resets(void **state)
{
    (void)state;
    struct pair *p = begin();
    p->f.defers = true;
    ask(p, "GET", "/1", 0, NULL);
    ask(p, "POST", "/2", SIZE_MAX, NULL);
    nghttp2_submit_rst_stream(p->client, NGHTTP2_FLAG_NONE, 1, NGHTTP2_CANCEL);
    nghttp2_submit_rst_stream(p->client, NGHTTP2_FLAG_NONE, 3, NGHTTP2_CANCEL);
    settle(p);
    assert_int_equal(p->f.aborts, 2);
    ask(p, "GET", "/3", 0, NULL);
    ask(p, "POST", "/4", SIZE_MAX, NULL);
    struct fake_link *f = &p->f;
    f->engine->ops->abort(f->engine);
    assert_int_equal(f->aborts, 4);
    assert_true(fake_link_finished(f));
    end(p);
}

static void test_drain(void **state)
{
    (void)state;
    struct pair *p = begin();
    p->f.defers = true;
    struct call *first = ask(p, "GET", "/1", 0, NULL);
    p->silent = true; // what the client sends now crosses the notice
    p->f.engine->ops->drain(p->f.engine);
    settle(p);
    assert_int_equal(p->goaways, 1);
    assert_int_equal(p->goaway_last, INT32_MAX);
    p->silent = false;
    settle(p); // the ping comes back
    fake_link_at(&p->f, p->f.now_ms);
    settle(p);
    assert_int_equal(p->goaways, 2);
    assert_int_equal(p->goaway_last, 1);
    assert_int_equal(p->goaway_code, NGHTTP2_NO_ERROR);
    assert_false(fake_link_finished(&p->f));
    fake_link_answer(&p->f, 0, 200, "bye");
    settle(p);
    assert_int_equal(first->status, 200);
    assert_true(fake_link_finished(&p->f));
    end(p);
}

// To a client that has nothing open, and so does not listen any more.
static void says_last_goaway(struct pair *p)
{
    assert_int_equal(p->f.out.len, 9 + 8);
    assert_memory_equal(p->f.out.data, "\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0", 9 + 8);
    assert_true(fake_link_finished(&p->f));
}

static void test_drain_of_a_mute_peer(void **state)
{
    (void)state;
    struct pair *p = begin();
    p->silent = true;
    p->f.engine->ops->drain(p->f.engine);
    settle(p);
    assert_false(fake_link_finished(&p->f));
    fake_link_at(&p->f, p->f.now_ms + 1000);
    says_last_goaway(p);
    end(p);
}

static void test_idle(void **state)
{
    (void)state;
    struct pair *p = begin();
    fake_link_at(&p->f, p->f.now_ms + 299999);
    settle(p);
    assert_int_equal(p->goaways, 0);
    nghttp2_submit_ping(p->client, NGHTTP2_FLAG_NONE, NULL); // no sign of use
    settle(p);
    fake_link_at(&p->f, p->f.now_ms + 1);
    settle(p);
    fake_link_at(&p->f, p->f.now_ms);
    says_last_goaway(p);
    end(p);
}

static void test_slow_body(void **state)
{
    (void)state;
    struct pair *p = begin();
    struct call *c = ask(p, "POST", "/", SIZE_MAX, NULL);
    fake_link_at(&p->f, p->f.now_ms + 59999);
    assert_int_equal(p->f.refusals, 0);
    fake_link_at(&p->f, p->f.now_ms + 1);
    settle(p);
    assert_int_equal(p->f.last_refusal, 408);
    assert_int_equal(c->status, 408);
    end(p);
}

// A peer that never opens its window holds its own stream only, and not for ever.
static void test_closed_window(void **state)
{
    (void)state;
    struct pair *p = MEM_NEW(struct pair);
    init(p);
    begin_with(p, 0);
    struct call *c = ask(p, "POST", "/", 100, NULL);
    assert_int_equal(c->status, 200);
    assert_false(c->closed);
    fake_link_at(&p->f, p->f.now_ms + 30000);
    settle(p);
    assert_true(c->closed && c->code == NGHTTP2_CANCEL);
    assert_true(p->f.engine->ops->is_idle(p->f.engine));
    end(p);
}

static void test_keepalive(void **state)
{
    (void)state;
    struct pair *p = MEM_NEW(struct pair);
    init(p);
    p->f.limits.ping_after_ms = 5000;
    begin_with(p, 65535);
    fake_link_at(&p->f, p->f.now_ms + 5000);
    settle(p); // answered
    fake_link_at(&p->f, p->f.now_ms + 4999);
    assert_int_equal(p->f.out.len, 0);
    p->silent = true;
    fake_link_at(&p->f, p->f.now_ms + 1);
    settle(p);
    fake_link_at(&p->f, p->f.now_ms + 20000);
    assert_true(fake_link_finished(&p->f));
    end(p);
}

static void ping_at(struct pair *p, uint64_t after_ms)
{
    fake_link_at(&p->f, p->f.now_ms + after_ms);
    nghttp2_submit_ping(p->client, NGHTTP2_FLAG_NONE, NULL);
    settle(p);
}

static struct pair *begin_pinged(uint64_t least_ms, bool need_stream)
{
    struct pair *p = MEM_NEW(struct pair);
    init(p);
    p->f.limits.ping_least_ms = least_ms;
    p->f.limits.pings_need_stream = need_stream;
    p->f.defers = true;
    begin_with(p, 65535);
    return p;
}

static void assert_cut(struct pair *p)
{
    fake_link_at(&p->f, p->f.now_ms);
    settle(p);
    assert_true(fake_link_finished(&p->f));
    assert_true(p->goaways >= 1);
    assert_int_equal(p->goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    assert_true(p->goaway_says_pings);
    end(p);
}

static void test_the_third_early_ping_ends_the_connection(void **state)
{
    (void)state;
    struct pair *p = begin_pinged(5000, false);
    ask(p, "GET", "/", 0, NULL);
    for (int i = 0; i < 20; i++)
        ping_at(p, 5000);
    ping_at(p, 4999);
    ping_at(p, 4999);
    ping_at(p, 5000); // a good one does not clear the strikes
    assert_int_equal(p->goaways, 0);
    ping_at(p, 4999);
    assert_cut(p);
}

static void test_an_answer_clears_the_strikes(void **state)
{
    (void)state;
    struct pair *p = begin_pinged(5000, false);
    for (size_t i = 0; i < 10; i++) {
        ask(p, "GET", "/", 0, NULL);
        ping_at(p, 1);
        ping_at(p, 1);
        ping_at(p, 1);
        fake_link_answer(&p->f, i, 200, "bye");
        settle(p);
    }
    assert_int_equal(p->goaways, 0);
    end(p);
}

static void test_pings_without_a_stream(void **state)
{
    (void)state;
    struct pair *p = begin_pinged(5000, true);
    p->f.limits.idle_ms = HTTP_NEVER;
    ask(p, "GET", "/", 0, NULL);
    for (int i = 0; i < 4; i++)
        ping_at(p, 5000);
    fake_link_answer(&p->f, 0, 200, "bye");
    settle(p);
    ping_at(p, 5000); // may: nothing is counted after an answer
    ping_at(p, 7200 * 1000);
    ping_at(p, 5000);
    ping_at(p, 5000);
    assert_int_equal(p->goaways, 0);
    ping_at(p, 5000);
    assert_cut(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_large_both_ways),
        cmocka_unit_test(test_trailers),
        cmocka_unit_test(test_late_answers_in_any_order),
        cmocka_unit_test(test_early_answer),
        cmocka_unit_test(test_body_limits),
        cmocka_unit_test(test_the_third_early_ping_ends_the_connection),
        cmocka_unit_test(test_an_answer_clears_the_strikes),
        cmocka_unit_test(test_pings_without_a_stream),
        cmocka_unit_test(test_wrong_length),
        cmocka_unit_test(test_header_limit),
        cmocka_unit_test(test_many_streams),
        cmocka_unit_test(test_resets),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_drain_of_a_mute_peer),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_slow_body),
        cmocka_unit_test(test_closed_window),
        cmocka_unit_test(test_keepalive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
