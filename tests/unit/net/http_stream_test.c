// SPDX-License-Identifier: Apache-2.0
// Answers whose bodies are given out as they come, over both protocols.
#include "tests/support/http2_fixture.h"
#include "tests/support/loop_step.h"
#include "tests/support/raw_peer.h"

enum { NEVER = -1 };

struct sink {
    struct buf text;
    int calls, heads;
    int stop_at; // the call that says no
    int status;
    char type[64];
};

static bool on_body(void *arg, const struct http_response *head, struct bytes data)
{
    struct sink *s = arg;
    const char *type = http_response_header(head, "content-type");
    s->status = head->status;
    snprintf(s->type, sizeof s->type, "%s", type != NULL ? type : "");
    s->heads += data.len == 0;
    buf_add(&s->text, data.data, data.len);
    return s->calls++ != s->stop_at;
}

static void sink_init(struct sink *s, int stop_at)
{
    *s = (struct sink){.stop_at = stop_at};
    buf_init(&s->text, SIZE_MAX / 2);
}

static void stream_into(struct http_request *request, struct sink *s)
{
    request->on_body = on_body;
    request->on_body_arg = s;
}

static void assert_sink(struct sink *s, const char *text)
{
    if (!bytes_equal_text(buf_bytes(&s->text), text))
        fail_msg("\"%.*s\" is not \"%s\"", (int)s->text.len, (const char *)s->text.data, text);
    buf_fini(&s->text);
}

// --- HTTP/1.1 ---

struct raw_fixture {
    struct http_world world;
    struct raw_peer *peer;
    struct raw_step steps[2];
    char url[128];
};

static void raw_start(struct raw_fixture *f, const char *answer, enum raw_step_kind then)
{
    http_world_init(&f->world, &(struct http_client_options){.protocol = HTTP_1});
    f->peer = raw_peer_create(&f->world.loop, NULL);
    loopback_url(f->url, "http", raw_peer_port(f->peer), "/");
    f->steps[0] = (struct raw_step){RAW_SEND_BYTEWISE, answer, 0};
    f->steps[1] = (struct raw_step){then, "never", 0};
    raw_peer_script(f->peer, f->steps, 2);
}

static void raw_stop(struct raw_fixture *f)
{
    raw_peer_destroy(&f->peer);
    http_world_fini(&f->world);
}

static struct call_result raw_call(struct raw_fixture *f, struct sink *s, int64_t timeout_nanos, int64_t idle_nanos)
{
    struct call_result r = {0};
    struct http_request request = {.method = "GET",
                                   .url = f->url,
                                   .timeout_nanos = timeout_nanos,
                                   .idle_timeout_nanos = idle_nanos,
                                   .max_response_bytes = 3};
    stream_into(&request, s);
    http_world_call(&f->world, &request, &r);
    return r;
}

static void test_http1(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        enum raw_step_kind then;
        enum http_outcome outcome;
        int heads;
        const char *given, *collected;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 10\r\n\r\n0123456789", RAW_EXPECT, HTTP_ANSWERED,
         1, "0123456789", ""},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 OK\r\nContent-Type: text/x\r\nTransfer-Encoding: chunked\r\n\r\n"
         "4\r\n0123\r\n1\r\n4\r\n0\r\nTrailer: x\r\n\r\n",
         RAW_EXPECT, HTTP_ANSWERED, 1, "01234", ""},
        {"HTTP/1.1 200 OK\r\nContent-Type: text/x\r\n\r\nto the end", RAW_CLOSE, HTTP_ANSWERED, 1, "to the end", ""},
        {"HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 0\r\n\r\n", RAW_EXPECT, HTTP_ANSWERED, 1, "", ""},
        {"HTTP/1.1 204 OK\r\nContent-Type: text/x\r\n\r\n", RAW_EXPECT, HTTP_ANSWERED, 0, "", ""},
        {"HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 10\r\n\r\n0123", RAW_CUT, HTTP_LOST, 1, "0123",
         ""},
        {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nzz", RAW_EXPECT, HTTP_BAD_RESPONSE, 0,
         "", ""},
        {"HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz", RAW_EXPECT,
         HTTP_BAD_RESPONSE, 1, "ok", ""},
        {"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nwhy", RAW_EXPECT, HTTP_ANSWERED, 0, "", "why"},
        {"HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\nlong", RAW_EXPECT, HTTP_BAD_RESPONSE, 0, "", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct raw_fixture f;
        struct sink s;
        sink_init(&s, NEVER);
        raw_start(&f, cases[i].answer, cases[i].then);
        struct call_result r = raw_call(&f, &s, 0, 0);
        if (r.outcome != cases[i].outcome || s.heads != cases[i].heads ||
            !bytes_equal_text(buf_bytes(&r.body), cases[i].collected))
            fail_msg("case %zu: outcome %d (%s), %d heads, %zu bytes collected", i, r.outcome, r.error, s.heads,
                     r.body.len);
        if (s.heads > 0) {
            assert_string_equal(s.type, "text/x");
            assert_int_equal(s.status / 100, 2);
        }
        assert_sink(&s, cases[i].given);
        call_result_fini(&r);
        raw_stop(&f);
    }
}

// What has come is not waited for: the head, and then each piece.
static void test_nothing_is_held_back(void **state)
{
    (void)state;
    struct raw_fixture f;
    struct sink s;
    struct call_result r = {0};
    sink_init(&s, NEVER);
    raw_start(&f, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n", RAW_EXPECT);
    struct http_request request = {.method = "GET", .url = f.url};
    stream_into(&request, &s);
    http_world_send(&f.world, &request, &r);
    while (s.text.len < 4)
        loop_step(&f.world.loop);
    assert_int_equal(r.done, 0);
    http_call_cancel(r.call);
    http_world_wait(&f.world, &r);
    assert_int_equal(r.outcome, HTTP_CANCELLED);
    assert_sink(&s, "0123");
    call_result_fini(&r);
    raw_stop(&f);
}

static void test_consumer_stops(void **state)
{
    (void)state;
    for (int at = 0; at < 3; at++) {
        struct raw_fixture f;
        struct sink s;
        sink_init(&s, at);
        raw_start(&f, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n0\r\n1\r\n1\r\n1\r\n2\r\n",
                  RAW_EXPECT);
        struct call_result r = raw_call(&f, &s, 0, 0);
        assert_int_equal(r.outcome, HTTP_CANCELLED);
        assert_int_equal(s.calls, at + 1);
        assert_int_equal(raw_peer_connections(f.peer), 1); // and it is not sent again
        while (!raw_peer_gone(f.peer, 0))
            loop_step(&f.world.loop);
        buf_fini(&s.text);
        call_result_fini(&r);
        raw_stop(&f);
    }
}

static void test_idle(void **state)
{
    (void)state;
    struct raw_fixture f;
    struct sink s;
    sink_init(&s, NEVER);
    raw_start(&f, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n0\r\n", RAW_EXPECT);
    struct call_result r = raw_call(&f, &s, 60 * NANOS_PER_SECOND, SHORT_NANOS);
    assert_says(&r, HTTP_TIMED_OUT, true, "nothing of the response came for 0.03s");
    buf_clear(&s.text);
    r = raw_call(&f, &s, SHORT_NANOS, 60 * NANOS_PER_SECOND);
    assert_says(&r, HTTP_TIMED_OUT, true, "no complete response within 0.03s");
    assert_sink(&s, "0");
    raw_stop(&f);
}

// --- HTTP/2 ---

static struct call_result h2_call(struct fixture *f, struct sink *s, int64_t idle_nanos)
{
    struct call_result r = {0};
    struct http_request request = {
        .method = "GET", .url = f->url, .max_response_bytes = 3, .idle_timeout_nanos = idle_nanos};
    stream_into(&request, s);
    http_world_call(&f->world, &request, &r);
    return r;
}

static void test_http2(void **state)
{
    (void)state;
    static const struct http_header gzip[] = {{"content-encoding", "gzip"}};
    static const struct {
        struct http2_step step;
        enum http_outcome outcome;
        int heads;
        const char *given, *collected;
    } cases[] = {
        {{.act = HTTP2_ANSWER, OK_PARTS}, HTTP_ANSWERED, 1, "ok", ""},
        {{.act = HTTP2_ANSWER, .headers = ok_headers, .header_count = 2, .body = "0123456789"},
         HTTP_ANSWERED,
         1,
         "0123456789",
         ""},
        {{.act = HTTP2_ANSWER, .headers = gzip, .header_count = 1, .body = "zz"}, HTTP_BAD_RESPONSE, 0, "", ""},
        {{.act = HTTP2_ANSWER, .status = 410, .body = "why"}, HTTP_ANSWERED, 0, "", "why"},
        {{.act = HTTP2_CUT_LATE, OK_PARTS}, HTTP_LOST, 1, "o", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f = {0};
        struct sink s;
        sink_init(&s, NEVER);
        start(&f, NULL, &cases[i].step, 1);
        struct call_result r = h2_call(&f, &s, 0);
        if (r.outcome != cases[i].outcome || s.heads != cases[i].heads ||
            !bytes_equal_text(buf_bytes(&r.body), cases[i].collected))
            fail_msg("case %zu: outcome %d (%s), %d heads, %zu bytes collected", i, r.outcome, r.error, s.heads,
                     r.body.len);
        if (s.heads > 0)
            assert_string_equal(s.type, "text/plain");
        assert_sink(&s, cases[i].given);
        call_result_fini(&r);
        stop(&f);
    }
}

static void test_http2_large(void **state)
{
    (void)state;
    enum { REPEAT = 300000 };
    struct fixture f = {0};
    struct sink s;
    static const struct http2_step step = {.act = HTTP2_ANSWER, .body = "0123456789", .repeat = REPEAT};
    sink_init(&s, NEVER);
    start(&f, NULL, &step, 1);
    struct call_result r = h2_call(&f, &s, 0);
    assert_int_equal(r.outcome, HTTP_ANSWERED);
    assert_int_equal(s.text.len, 10 * REPEAT);
    assert_int_equal(r.body.len, 0);
    buf_fini(&s.text);
    call_result_fini(&r);
    stop(&f);
}

// The stream is reset, the connection goes on.
static void test_http2_consumer_stops(void **state)
{
    (void)state;
    static const struct http2_step steps[] = {
        {.act = HTTP2_ANSWER, .body = "0123456789", .repeat = 30000},
        {.act = HTTP2_ANSWER, .body = "0123456789", .repeat = 30000},
        {.act = HTTP2_ANSWER, OK_PARTS},
    };
    struct fixture f = {0};
    start(&f, NULL, steps, 3);
    for (int at = 0; at < 2; at++) {
        struct sink s;
        sink_init(&s, at);
        struct call_result r = h2_call(&f, &s, 0);
        assert_int_equal(r.outcome, HTTP_CANCELLED);
        assert_int_equal(s.calls, at + 1);
        buf_fini(&s.text);
        call_result_fini(&r);
    }
    struct call_result r;
    call(&f, "x", &r);
    assert_ok(&r);
    assert_int_equal(http2_peer_connections(f.peer), 1);
    assert_int_equal(http2_peer_resets(f.peer), 2);
    stop(&f);
}

static void test_http2_idle(void **state)
{
    (void)state;
    static const struct http2_step step = {.act = HTTP2_BEGIN_ONLY, OK_PARTS};
    struct fixture f = {0};
    struct sink s;
    sink_init(&s, NEVER);
    start(&f, NULL, &step, 1);
    struct call_result r = h2_call(&f, &s, SHORT_NANOS);
    assert_says(&r, HTTP_TIMED_OUT, true, "nothing of the response came for");
    assert_int_equal(http2_peer_requests(f.peer), 1);
    assert_sink(&s, "o");
    stop(&f);
}

// A peer that has begun to answer and then says that it has not processed the request is not believed.
static void test_http2_begun_is_not_sent_again(void **state)
{
    (void)state;
    static const uint8_t refused_stream[] = {0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 7};
    static const struct http2_step step = {.act = HTTP2_BEGIN_ONLY, OK_PARTS};
    struct fixture f = {0};
    struct sink s;
    struct call_result r = {0};
    sink_init(&s, NEVER);
    start(&f, NULL, &step, 1);
    struct http_request request = {.method = "GET", .url = f.url};
    stream_into(&request, &s);
    http_world_send(&f.world, &request, &r);
    while (s.text.len == 0)
        loop_step(&f.world.loop);
    http2_peer_send_raw(f.peer, refused_stream, sizeof refused_stream);
    http_world_wait(&f.world, &r);
    assert_int_equal(http2_peer_requests(f.peer), 1);
    assert_int_equal(r.outcome, HTTP_LOST);
    assert_sink(&s, "o");
    call_result_fini(&r);
    stop(&f);
}

static void close_client(struct call_result *r)
{
    struct http_world *w = r->then_arg;
    http_client_close(&w->client, NULL, NULL);
}

// Both are told by the same bytes: the first one's end closes the client while the other, stopped, is still to be told.
static void test_http2_closed_beside_one_that_stops(void **state)
{
    (void)state;
    static const struct http2_step steps[] = {{.act = HTTP2_ANSWER, OK_PARTS},
                                              {.act = HTTP2_ANSWER, OK_PARTS},
                                              {.act = HTTP2_ANSWER, .body = "0123456789", .repeat = 100}};
    struct fixture f = {0};
    struct sink s;
    struct call_result first, ends = {.then = close_client, .then_arg = &f.world}, stops = {0};
    sink_init(&s, 1);
    start(&f, NULL, steps, COUNT_OF(steps));
    call(&f, "x", &first); // there is a connection
    assert_ok(&first);
    struct http_request request = post(&f, "x");
    http_world_send(&f.world, &request, &ends);
    stream_into(&request, &s);
    http_world_send(&f.world, &request, &stops);
    http_world_wait(&f.world, &stops);
    assert_ok(&ends);
    assert_int_equal(stops.outcome, HTTP_CANCELLED);
    assert_int_equal(stops.done, 1);
    assert_int_equal(s.calls, 2);
    buf_fini(&s.text);
    call_result_fini(&stops);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http1),
        cmocka_unit_test(test_nothing_is_held_back),
        cmocka_unit_test(test_consumer_stops),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_http2),
        cmocka_unit_test(test_http2_large),
        cmocka_unit_test(test_http2_consumer_stops),
        cmocka_unit_test(test_http2_idle),
        cmocka_unit_test(test_http2_begun_is_not_sent_again),
        cmocka_unit_test(test_http2_closed_beside_one_that_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
