// SPDX-License-Identifier: Apache-2.0
// The client over HTTP/2 against a server that does as each test says.
#include "tests/support/http2_fixture.h"
#include "tests/support/loop_step.h"
#include "tests/support/raw_peer.h"
#include "tests/support/test_certs.h"

static void test_what_is_sent(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r = {0};
    static const struct http_header headers[] = {
        {"Authorization", "Bearer x"}, {"TE", "trailers"}, {"Connection", "close"},
        {"Host", "other.example"},     {"X-Empty", ""},    {"Transfer-Encoding", "chunked"},
        {"Content-Length", "7"},       {"te", "compress"},
    };
    start(&f, NULL, &ok_step, 1);
    struct http_request request = post(&f, "dy");
    request.body_prefix = BYTES_LITERAL("bo");
    request.headers = headers;
    request.header_count = COUNT_OF(headers);
    http_world_call(&f.world, &request, &r);
    assert_string_equal(r.server, "peer");
    assert_string_equal(r.trailers, "grpc-status: 0\ngrpc-message: fine\n");
    assert_true(r.may_have_been_processed);
    assert_ok(&r);
    assert_string_equal(http2_peer_seen(f.peer, 0)->head,
                        ":method: POST\n:scheme: http\n:authority: other.example\n:path: /path?q\n"
                        "user-agent: profrelay/" PROFRELAY_VERSION "\ncontent-length: 4\nauthorization: Bearer x\n"
                        "te: trailers\nx-empty: \n");
    assert_true(bytes_equal_text(buf_bytes(&http2_peer_seen(f.peer, 0)->body), "body"));
    stop(&f);
}

static void test_get_and_bare_urls(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r = {0};
    start(&f, NULL, &ok_step, 1);
    loopback_url(f.url, "http", http2_peer_port(f.peer), "");
    struct http_request request = {.method = "GET", .url = f.url};
    http_world_call(&f.world, &request, &r);
    assert_ok(&r);
    assert_sent(&f, 0, ":path: /\n");
    assert_null(strstr(http2_peer_seen(f.peer, 0)->head, "content-length"));
    loopback_url(f.url, "http", http2_peer_port(f.peer), "?only=query");
    http_world_call(&f.world, &request, &r);
    assert_ok(&r);
    assert_sent(&f, 1, ":path: /?only=query\n");
    stop(&f);
}

// Many at a time on one connection, never more than the peer takes.
static void test_streams_share_a_connection(void **state)
{
    (void)state;
    enum { CALLS = 50 };
    static struct call_result r[CALLS];
    struct fixture f = {0};
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 7}};
    f.options.max_connections = 1;
    start(&f, &(struct http2_peer_options){.settings = settings, .setting_count = 1}, &ok_step, 1);
    for (size_t i = 0; i < CALLS; i++)
        begin(&f, "body", &r[i]);
    for (size_t i = 0; i < CALLS; i++) {
        http_world_wait(&f.world, &r[i]);
        assert_ok(&r[i]);
    }
    assert_int_equal(http2_peer_connections(f.peer), 1);
    assert_int_equal(http2_peer_requests(f.peer), CALLS);
    assert_in_range(http2_peer_most_streams(f.peer), 2, 7);
    assert_int_equal(http2_peer_resets(f.peer), 0);
    stop(&f);
}

// A peer that takes one stream gets a few connections, not one per call.
static void test_few_connections(void **state)
{
    (void)state;
    enum { CALLS = 20 };
    static struct call_result r[CALLS];
    struct fixture f = {0};
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1}};
    start(&f, &(struct http2_peer_options){.settings = settings, .setting_count = 1}, &ok_step, 1);
    for (size_t i = 0; i < CALLS; i++)
        begin(&f, "body", &r[i]);
    for (size_t i = 0; i < CALLS; i++) {
        http_world_wait(&f.world, &r[i]);
        assert_ok(&r[i]);
    }
    assert_in_range(http2_peer_connections(f.peer), 2, 4);
    assert_int_equal(http2_peer_most_streams(f.peer), 1);
    stop(&f);
}

static void test_settings_change(void **state)
{
    (void)state;
    enum { CALLS = 12 };
    static struct call_result r[CALLS];
    struct fixture f = {0};
    static const struct http2_step steps[] = {{.act = HTTP2_SAY_NOTHING}, {.act = HTTP2_ANSWER, .body = "ok"}};
    nghttp2_settings_entry none[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1},
                                     {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 3},
                                     {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0}};
    nghttp2_settings_entry more[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100}};
    f.options.max_connections = 1;
    start(&f, NULL, steps, COUNT_OF(steps));
    begin(&f, "body", &r[0]);
    while (http2_peer_requests(f.peer) < 1)
        loop_step(&f.world.loop);
    http2_peer_settings(f.peer, none, COUNT_OF(none));
    for (int i = 0; i < 20; i++)
        loop_step(&f.world.loop);
    for (size_t i = 1; i < CALLS; i++)
        begin(&f, "body in pieces of three", &r[i]);
    for (int i = 0; i < 20; i++)
        loop_step(&f.world.loop);
    assert_int_equal(http2_peer_requests(f.peer), 1);
    http2_peer_settings(f.peer, more, COUNT_OF(more));
    for (size_t i = 1; i < CALLS; i++) {
        http_world_wait(&f.world, &r[i]);
        assert_ok(&r[i]);
        assert_true(bytes_equal_text(buf_bytes(&http2_peer_seen(f.peer, i)->body), "body in pieces of three"));
    }
    stop(&f);
    call_result_fini(&r[0]);
}

static void test_big_bodies_arrive_whole(void **state)
{
    (void)state;
    enum { CALLS = 4, BYTES = 700000 };
    static struct call_result r[CALLS];
    struct fixture f = {0};
    char *body = big_text(BYTES);
    start(&f, NULL, &ok_step, 1);
    for (size_t i = 0; i < CALLS; i++)
        begin(&f, body, &r[i]);
    for (size_t i = 0; i < CALLS; i++) {
        http_world_wait(&f.world, &r[i]);
        assert_ok(&r[i]);
        assert_true(bytes_equal_text(buf_bytes(&http2_peer_seen(f.peer, i)->body), body));
    }
    free(body);
    stop(&f);
}

// A window that the peer opens by a little: no more than that is sent, and what is sent is in order.
static void test_small_window(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r;
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 10}};
    char *body = big_text(1000);
    start(&f, &(struct http2_peer_options){.settings = settings, .setting_count = 1, .small_window = true}, &ok_step,
          1);
    begin(&f, body, &r);
    while (http2_peer_requests(f.peer) == 0 || http2_peer_seen(f.peer, 0)->body.len < 10)
        loop_step(&f.world.loop);
    for (size_t len = 10; len < 1000; len += 99) {
        assert_int_equal(http2_peer_seen(f.peer, 0)->body.len, len);
        http2_peer_open_window(f.peer, 99);
        while (http2_peer_seen(f.peer, 0)->body.len == len ||
               (len < 901 && http2_peer_seen(f.peer, 0)->body.len < len + 99))
            loop_step(&f.world.loop);
    }
    http_world_wait(&f.world, &r);
    assert_ok(&r);
    assert_true(bytes_equal_text(buf_bytes(&http2_peer_seen(f.peer, 0)->body), body));
    free(body);
    stop(&f);
}

// One stream that the peer takes nothing of: it times out, others go on on the same connection.
static void test_stuck_stream_times_out(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result stuck = {0}, r;
    static const struct http2_step steps[] = {{.act = HTTP2_ANSWER, .body = "ok"}};
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 10}};
    char *body = big_text(1000);
    start(&f, &(struct http2_peer_options){.settings = settings, .setting_count = 1, .small_window = true}, steps, 1);
    struct http_request request = post(&f, body);
    request.timeout_nanos = SHORT_NANOS;
    http_world_send(&f.world, &request, &stuck);
    call(&f, "tiny", &r);
    assert_ok(&r);
    http_world_wait(&f.world, &stuck);
    assert_says(&stuck, HTTP_TIMED_OUT, true, "no complete response within 0.03s");
    free(body);
    call(&f, "tiny", &r);
    assert_ok(&r);
    assert_int_equal(http2_peer_connections(f.peer), 1);
    assert_int_equal(http2_peer_resets(f.peer), 1);
    stop(&f);
}

// A call that gives up makes room for one that waits.
static void test_room_after_a_timeout(void **state)
{
    (void)state;
    struct fixture f = {.options.max_connections = 1};
    struct call_result stuck = {0}, r;
    static const struct http2_step steps[] = {{.act = HTTP2_SAY_NOTHING}, {.act = HTTP2_ANSWER, .body = "ok"}};
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1}};
    start(&f, &(struct http2_peer_options){.settings = settings, .setting_count = 1}, steps, COUNT_OF(steps));
    struct http_request request = post(&f, "body");
    request.timeout_nanos = SHORT_NANOS;
    http_world_send(&f.world, &request, &stuck);
    begin(&f, "body", &r);
    http_world_wait(&f.world, &stuck);
    assert_says(&stuck, HTTP_TIMED_OUT, true, "");
    http_world_wait(&f.world, &r);
    assert_ok(&r);
    stop(&f);
}

static void test_peer_that_reads_nothing(void **state)
{
    (void)state;
    enum { CALLS = 5, BYTES = 4 << 20 };
    static struct call_result r[CALLS];
    struct fixture f = {0};
    char *body = big_text(BYTES);
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, INT32_MAX}};
    start(&f, &(struct http2_peer_options){.settings = settings, .setting_count = 1, .deaf = true}, &ok_step, 1);
    for (size_t i = 0; i < CALLS; i++) {
        struct http_request request = post(&f, body);
        request.timeout_nanos = SHORT_NANOS;
        http_world_send(&f.world, &request, &r[i]);
    }
    for (size_t i = 0; i < CALLS; i++) {
        http_world_wait(&f.world, &r[i]);
        assert_int_equal(r[i].outcome, HTTP_TIMED_OUT);
        call_result_fini(&r[i]);
    }
    free(body);
    stop(&f);
}

// What GOAWAY says was not taken goes to a new connection; what was taken is answered on the old one.
static void test_goaway_mid_flight(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r[4];
    static const struct http2_step steps[] = {
        {.act = HTTP2_ANSWER, OK_PARTS}, {.act = HTTP2_GO_AWAY}, {.act = HTTP2_ANSWER, OK_PARTS}};
    start(&f, NULL, steps, COUNT_OF(steps));
    for (size_t i = 0; i < COUNT_OF(r); i++)
        begin(&f, "body", &r[i]);
    for (size_t i = 0; i < COUNT_OF(r); i++) {
        http_world_wait(&f.world, &r[i]);
        assert_int_equal(r[i].done, 1);
        assert_ok(&r[i]);
    }
    size_t answered = 0;
    for (size_t i = 0; i < http2_peer_requests(f.peer); i++)
        answered += http2_peer_seen(f.peer, i)->connection == 1;
    assert_int_equal(http2_peer_connections(f.peer), 2);
    assert_int_equal(answered, 3);
    while (http2_peer_open_connections(f.peer) > 1)
        loop_step(&f.world.loop);
    stop(&f);
}

static void test_goaway_after_each_answer(void **state)
{
    (void)state;
    enum { CALLS = 12 };
    struct fixture f = {0};
    struct call_result r;
    static const struct http2_step steps[] = {{.act = HTTP2_LAST_ANSWER, OK_PARTS}};
    start(&f, NULL, steps, 1);
    for (size_t i = 0; i < CALLS; i++) {
        call(&f, "body", &r);
        assert_ok(&r);
    }
    assert_int_equal(http2_peer_requests(f.peer), CALLS);
    stop(&f);
}

// A peer that takes nothing, ever, ends the trying.
static void test_goaway_for_ever(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r;
    static const struct http2_step steps[] = {{.act = HTTP2_GO_AWAY}};
    start(&f, NULL, steps, 1);
    call(&f, "body", &r);
    assert_says(&r, HTTP_LOST, false, "goes away");
    assert_int_equal(http2_peer_requests(f.peer), 6);
    stop(&f);
}

static void test_goaway_while_idle(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r;
    start(&f, NULL, &ok_step, 1);
    call(&f, "body", &r);
    assert_ok(&r);
    http2_peer_goaway(f.peer);
    call(&f, "body", &r);
    assert_ok(&r);
    assert_int_equal(http2_peer_requests(f.peer), 2);
    stop(&f);
}

static void test_refused_stream(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r;
    static const struct http2_step steps[] = {{.act = HTTP2_RESET, .code = NGHTTP2_REFUSED_STREAM},
                                              {.act = HTTP2_ANSWER, OK_PARTS},
                                              {.act = HTTP2_RESET, .code = NGHTTP2_REFUSED_STREAM}};
    start(&f, NULL, steps, COUNT_OF(steps));
    call(&f, "body", &r);
    assert_ok(&r);
    assert_true(bytes_equal_text(buf_bytes(&http2_peer_seen(f.peer, 1)->body), "body"));
    call(&f, "body", &r);
    assert_says(&r, HTTP_LOST, false, "REFUSED_STREAM");
    assert_int_equal(http2_peer_requests(f.peer), 4);
    stop(&f);
}

static void test_streams_that_end_badly(void **state)
{
    (void)state;
    static const struct http_header wrong_length[] = {{"content-length", "5"}};
    static const struct {
        struct http2_step step;
        enum http_outcome outcome;
        const char *says;
        int64_t code;
    } cases[] = {
        {{.act = HTTP2_RESET, .code = NGHTTP2_CANCEL}, HTTP_LOST, "reset the stream (CANCEL)", NGHTTP2_CANCEL},
        {{.act = HTTP2_RESET, .code = NGHTTP2_ENHANCE_YOUR_CALM},
         HTTP_LOST,
         "(ENHANCE_YOUR_CALM)",
         NGHTTP2_ENHANCE_YOUR_CALM},
        {{.act = HTTP2_RESET, .code = NGHTTP2_NO_ERROR}, HTTP_LOST, "(NO_ERROR)", NGHTTP2_NO_ERROR},
        {{.act = HTTP2_RESET, .code = 12345}, HTTP_LOST, "reset the stream", 12345},
        {{.act = HTTP2_CUT}, HTTP_LOST, "the connection was closed before the response was complete", HTTP2_NO_RESET},
        {{.act = HTTP2_CUT_LATE, .body = "half a body"}, HTTP_LOST, "closed before", HTTP2_NO_RESET},
        {{.act = HTTP2_ANSWER, .headers = wrong_length, .header_count = 1, .body = "ok"},
         HTTP_BAD_RESPONSE,
         "is not HTTP/2",
         HTTP2_NO_RESET},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f = {0};
        struct call_result r;
        start(&f, NULL, &cases[i].step, 1);
        call(&f, "body", &r);
        assert_int_equal(r.reset_code, cases[i].code);
        assert_int_equal(http2_peer_requests(f.peer), 1);
        assert_says(&r, cases[i].outcome, true, cases[i].says);
        stop(&f);
    }
}

static size_t times_taken(const struct fixture *f, const char *body)
{
    size_t n = 0;
    for (size_t i = 0; i < http2_peer_requests(f->peer); i++) {
        const struct http2_seen *seen = http2_peer_seen(f->peer, i);
        bool taken = seen->act == HTTP2_ANSWER || seen->act == HTTP2_LAST_ANSWER;
        n += taken && seen->whole && bytes_equal_text(buf_bytes(&seen->body), body);
    }
    return n;
}

// A peer in the worst of moods: what is answered was taken once, what is called unprocessed was never taken, and
// nothing was taken twice.
static void test_no_loss_no_duplicate(void **state)
{
    (void)state;
    enum { CALLS = 300, AT_ONCE = 12, MOODS = 997 };
    static const struct http2_step acts[] = {
        {.act = HTTP2_ANSWER, OK_PARTS},
        {.act = HTTP2_ANSWER, OK_PARTS},
        {.act = HTTP2_ANSWER, OK_PARTS},
        {.act = HTTP2_ANSWER, OK_PARTS},
        {.act = HTTP2_LAST_ANSWER, OK_PARTS},
        {.act = HTTP2_GO_AWAY},
        {.act = HTTP2_RESET, .code = NGHTTP2_REFUSED_STREAM},
        {.act = HTTP2_RESET, .code = NGHTTP2_CANCEL},
    };
    static struct http2_step moods[MOODS];
    static struct call_result r[CALLS];
    static char bodies[CALLS][16];
    struct fixture f = {0};
    size_t answered = 0, untouched = 0;
    unsigned random = 12345;
    for (size_t i = 0; i < MOODS; i++)
        moods[i] = acts[(random = random * 1103515245u + 12345u) >> 16 & 7];
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 5}};
    start(&f, &(struct http2_peer_options){.settings = settings, .setting_count = 1}, moods, MOODS);
    for (size_t i = 0; i < CALLS; i++) {
        snprintf(bodies[i], sizeof bodies[i], "body %zu", i);
        begin(&f, bodies[i], &r[i]);
        if (i >= AT_ONCE)
            http_world_wait(&f.world, &r[i - AT_ONCE]);
    }
    for (size_t i = 0; i < CALLS; i++) {
        http_world_wait(&f.world, &r[i]);
        size_t taken = times_taken(&f, bodies[i]);
        bool ok = r[i].outcome == HTTP_ANSWERED;
        if (r[i].done != 1 || taken > 1 || (ok && taken != 1) || (!r[i].may_have_been_processed && taken != 0))
            fail_msg("%s: outcome %d, \"%s\", taken %zu times", bodies[i], r[i].outcome, r[i].error, taken);
        answered += ok;
        untouched += !r[i].may_have_been_processed;
        call_result_fini(&r[i]);
    }
    assert_in_range(answered, CALLS / 2, CALLS - 1);
    assert_in_range(untouched, 1, CALLS / 4);
    stop(&f);
}

static void test_early_answer(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r;
    static const struct http2_step steps[] = {{.act = HTTP2_ANSWER_EARLY, .status = 413, .body = "too big"},
                                              {.act = HTTP2_ANSWER, OK_PARTS}};
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 100}};
    char *body = big_text(100000);
    start(&f, &(struct http2_peer_options){.settings = settings, .setting_count = 1}, steps, COUNT_OF(steps));
    call(&f, body, &r);
    free(body);
    assert_int_equal(r.status, 413);
    assert_says(&r, HTTP_ANSWERED, true, "");
    call(&f, "body", &r);
    assert_ok(&r);
    assert_int_equal(http2_peer_connections(f.peer), 1);
    stop(&f);
}

static void test_keepalive_finds_the_dead(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r;
    static const struct http2_step steps[] = {{.act = HTTP2_SAY_NOTHING}, {.act = HTTP2_ANSWER, OK_PARTS}};
    f.options.keepalive = (struct http_keepalive){.time_nanos = SHORT_NANOS, .timeout_nanos = SHORT_NANOS};
    start(&f, &(struct http2_peer_options){.keeps_pings = true}, steps, COUNT_OF(steps));
    call(&f, "body", &r);
    assert_says(&r, HTTP_LOST, true, "no answer to an HTTP/2 PING within 0.03s");
    assert_int_equal(http2_peer_pings(f.peer), 1);
    call(&f, "body", &r);
    assert_ok(&r);
    assert_int_equal(http2_peer_connections(f.peer), 2);
    stop(&f);
}

static void test_keepalive_of_the_living(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r;
    static const struct http2_step steps[] = {{.act = HTTP2_ANSWER, OK_PARTS}, {.act = HTTP2_SAY_NOTHING}};
    f.options.keepalive = (struct http_keepalive){.time_nanos = SHORT_NANOS / 6, .timeout_nanos = NANOS_PER_SECOND};
    start(&f, NULL, steps, COUNT_OF(steps));
    call(&f, "body", &r);
    assert_ok(&r);
    assert_int_equal(http2_peer_pings(f.peer), 0);
    struct http_request request = post(&f, "body");
    request.timeout_nanos = SHORT_NANOS;
    http_world_call(&f.world, &request, &r);
    assert_says(&r, HTTP_TIMED_OUT, true, "");
    size_t pings = http2_peer_pings(f.peer);
    assert_in_range(pings, 1, 6);
    uint64_t until = uv_hrtime() + (uint64_t)SHORT_NANOS;
    while (uv_hrtime() < until)
        loop_step(&f.world.loop);
    assert_in_range(http2_peer_pings(f.peer), pings, pings + 1); // nothing is asked: no pings
    stop(&f);
}

static void test_keepalive_without_stream(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r;
    f.options.keepalive = (struct http_keepalive){.time_nanos = SHORT_NANOS / 6, .without_stream = true};
    start(&f, NULL, &ok_step, 1);
    call(&f, "body", &r);
    assert_ok(&r);
    while (http2_peer_pings(f.peer) < 2)
        loop_step(&f.world.loop);
    assert_int_equal(http2_peer_open_connections(f.peer), 1);
    stop(&f);
}

static void test_idle_connection_goes(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r;
    f.options.idle_timeout_nanos = SHORT_NANOS / 3;
    start(&f, NULL, &ok_step, 1);
    call(&f, "body", &r);
    assert_ok(&r);
    while (http2_peer_open_connections(f.peer) > 0)
        loop_step(&f.world.loop);
    call(&f, "body", &r);
    assert_ok(&r);
    assert_int_equal(http2_peer_connections(f.peer), 2);
    stop(&f);
}

static void test_refused_connection(void **state)
{
    (void)state;
    enum { CALLS = 3 };
    struct call_result r[CALLS];
    struct fixture f = {0};
    start(&f, NULL, &ok_step, 1);
    http2_peer_destroy(&f.peer);
    for (size_t i = 0; i < CALLS; i++)
        begin(&f, "body", &r[i]);
    for (size_t i = 0; i < CALLS; i++) {
        http_world_wait(&f.world, &r[i]);
        assert_says(&r[i], HTTP_CONNECT_FAILED, false, "connection refused");
    }
    http_world_fini(&f.world);
}

static void test_cancel(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r[3];
    static const struct http2_step steps[] = {{.act = HTTP2_SAY_NOTHING}};
    start(&f, NULL, steps, 1);
    for (size_t i = 0; i < COUNT_OF(r); i++)
        begin(&f, "body", &r[i]);
    http_call_cancel(r[0].call); // still waits for the connection
    while (http2_peer_requests(f.peer) < 2)
        loop_step(&f.world.loop);
    http_call_cancel(r[1].call);
    http_world_wait(&f.world, &r[0]);
    http_world_wait(&f.world, &r[1]);
    assert_says(&r[0], HTTP_CANCELLED, false, "");
    assert_says(&r[1], HTTP_CANCELLED, true, "");
    while (http2_peer_resets(f.peer) < 1)
        loop_step(&f.world.loop);
    assert_int_equal(r[2].done, 0);
    stop(&f); // with a call on its way
    assert_says(&r[2], HTTP_LOST, true, "");
}

static void cancel_other(struct call_result *r)
{
    struct call_result *other = r->then_arg;
    if (other->done == 0)
        http_call_cancel(other->call);
}

// The connection ends with several calls on it; the first that hears of it cancels another.
static void test_cancel_while_the_connection_ends(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r[3];
    static const struct http2_step steps[] = {{.act = HTTP2_SAY_NOTHING}};
    start(&f, NULL, steps, 1);
    for (size_t i = 0; i < COUNT_OF(r); i++)
        begin(&f, "body", &r[i]);
    for (size_t i = 0; i < COUNT_OF(r); i++) {
        r[i].then = cancel_other;
        r[i].then_arg = &r[(i + 1) % COUNT_OF(r)];
    }
    while (http2_peer_requests(f.peer) < 3)
        loop_step(&f.world.loop);
    http2_peer_cut(f.peer);
    for (size_t i = 0; i < COUNT_OF(r); i++) {
        http_world_wait(&f.world, &r[i]);
        assert_int_equal(r[i].done, 1);
        call_result_fini(&r[i]);
    }
    stop(&f);
}

static void close_client(struct call_result *r)
{
    struct fixture *f = r->then_arg;
    if (f->world.client != NULL)
        http_client_close(&f->world.client, NULL, NULL);
}

static void test_close_from_on_done(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r[3];
    start(&f, NULL, &ok_step, 1);
    for (size_t i = 0; i < COUNT_OF(r); i++) {
        begin(&f, "body", &r[i]);
        r[i].then = close_client;
        r[i].then_arg = &f;
    }
    for (size_t i = 0; i < COUNT_OF(r); i++) {
        http_world_wait(&f.world, &r[i]);
        call_result_fini(&r[i]);
    }
    stop(&f);
}

// Bytes that no server sends: the call ends, by a reset, the end of the connection or its timeout.
// After END_STREAM: the answer stands, whatever follows.
// PINGs and SETTINGS by the thousand: answered, or the connection is ended; the call ends in any case.
struct tls_fixture {
    struct test_ca ca;
    SSL_CTX *server;
    struct fixture f;
};

static const char *alpn_of_peer;

static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                       unsigned len, void *arg)
{
    (void)ssl;
    (void)arg;
    size_t wanted = strlen(alpn_of_peer);
    for (unsigned i = 0; i < len; i += 1u + in[i])
        if (in[i] == wanted && memcmp(in + i + 1, alpn_of_peer, wanted) == 0) {
            *out = in + i + 1;
            *out_len = in[i];
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_NOACK;
}

static void prepare_tls(struct tls_fixture *t, enum http_protocol protocol, const char *alpn)
{
    *t = (struct tls_fixture){0};
    alpn_of_peer = alpn;
    test_ca_init(&t->ca);
    t->server = test_server_context(&t->ca, "IP:127.0.0.1", 30);
    SSL_CTX_set_alpn_select_cb(t->server, choose_alpn, NULL);
    t->f.options.tls.ca_pem = t->ca.pem;
    t->f.options.protocol = protocol;
}

static void stop_tls(struct tls_fixture *t)
{
    SSL_CTX_free(t->server);
    test_ca_fini(&t->ca);
}

static void test_tls(void **state)
{
    (void)state;
    static const enum http_protocol protocols[] = {HTTP_2, HTTP_BY_ALPN};
    for (size_t i = 0; i < COUNT_OF(protocols); i++) {
        struct tls_fixture t;
        struct call_result r[3];
        char *body = big_text(300000);
        prepare_tls(&t, protocols[i], "h2");
        start(&t.f, &(struct http2_peer_options){.tls = t.server}, &ok_step, 1);
        for (size_t k = 0; k < COUNT_OF(r); k++)
            begin(&t.f, body, &r[k]);
        for (size_t k = 0; k < COUNT_OF(r); k++) {
            http_world_wait(&t.f.world, &r[k]);
            assert_ok(&r[k]);
            assert_true(bytes_equal_text(buf_bytes(&http2_peer_seen(t.f.peer, k)->body), body));
        }
        assert_int_equal(http2_peer_connections(t.f.peer), 1);
        assert_sent(&t.f, 0, ":scheme: https\n");
        free(body);
        stop(&t.f);
        stop_tls(&t);
    }
}

static void test_tls_without_h2(void **state)
{
    (void)state;
    struct tls_fixture t;
    struct call_result r;
    prepare_tls(&t, HTTP_2, "http/1.1");
    start(&t.f, &(struct http2_peer_options){.tls = t.server}, &ok_step, 1);
    call(&t.f, "body", &r);
    assert_says(&r, HTTP_CONNECT_FAILED, false, "does not offer HTTP/2 (ALPN \"h2\")");
    assert_int_equal(http2_peer_requests(t.f.peer), 0);
    stop(&t.f);
    stop_tls(&t);
}

// By ALPN, with a peer of HTTP/1.1 only: several connections, one call on each.
static void test_alpn_chooses_http1(void **state)
{
    (void)state;
    static const struct raw_step answers[] = {
        {RAW_START_TLS, 0, 0},
        {RAW_EXPECT, "body", 0},
        {RAW_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0},
        {RAW_EXPECT, "body", 0},
        {RAW_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0},
    };
    struct tls_fixture t;
    struct call_result r[4];
    prepare_tls(&t, HTTP_BY_ALPN, "http/1.1");
    http_world_init(&t.f.world, &t.f.options);
    struct raw_peer *peer = raw_peer_create(&t.f.world.loop, t.server);
    raw_peer_script(peer, answers, COUNT_OF(answers));
    loopback_url(t.f.url, "https", raw_peer_port(peer), "/");
    for (size_t i = 0; i < COUNT_OF(r); i++)
        begin(&t.f, "body", &r[i]);
    for (size_t i = 0; i < COUNT_OF(r); i++) {
        http_world_wait(&t.f.world, &r[i]);
        assert_ok(&r[i]);
    }
    assert_in_range(raw_peer_connections(peer), 2, 4);
    raw_peer_destroy(&peer);
    http_world_fini(&t.f.world);
    stop_tls(&t);
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
        cmocka_unit_test(test_get_and_bare_urls),
        cmocka_unit_test(test_streams_share_a_connection),
        cmocka_unit_test(test_few_connections),
        cmocka_unit_test(test_settings_change),
        cmocka_unit_test(test_big_bodies_arrive_whole),
        cmocka_unit_test(test_small_window),
        cmocka_unit_test(test_stuck_stream_times_out),
        cmocka_unit_test(test_room_after_a_timeout),
        cmocka_unit_test(test_peer_that_reads_nothing),
        cmocka_unit_test(test_goaway_mid_flight),
        cmocka_unit_test(test_goaway_after_each_answer),
        cmocka_unit_test(test_goaway_for_ever),
        cmocka_unit_test(test_goaway_while_idle),
        cmocka_unit_test(test_refused_stream),
        cmocka_unit_test(test_streams_that_end_badly),
        cmocka_unit_test(test_no_loss_no_duplicate),
        cmocka_unit_test(test_early_answer),
        cmocka_unit_test(test_keepalive_finds_the_dead),
        cmocka_unit_test(test_keepalive_of_the_living),
        cmocka_unit_test(test_keepalive_without_stream),
        cmocka_unit_test(test_idle_connection_goes),
        cmocka_unit_test(test_refused_connection),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_while_the_connection_ends),
        cmocka_unit_test(test_close_from_on_done),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_tls_without_h2),
        cmocka_unit_test(test_alpn_chooses_http1),
    };
    return cmocka_run_group_tests(tests, no_proxies, NULL);
}
