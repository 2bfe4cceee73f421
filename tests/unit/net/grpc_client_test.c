// SPDX-License-Identifier: Apache-2.0
#include "net/grpc_client.h"

#include "tests/support/http2_peer.h"
#include "tests/support/http_calls.h"
#include "tests/support/loop_step.h"

#include "base/clock.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define TYPE {"content-type", "application/grpc+proto"}

struct outcome {
    int done;
    enum http_outcome outcome;
    enum grpc_status status;
    bool is_peers, processed;
    char message[256], encoding[16];
    struct buf body, details;
};

struct fixture {
    struct http_client_options options;
    struct http_world world;
    struct http2_peer *peer;
    char origin[128];
};

static void start(struct fixture *f, const struct http2_step *step)
{
    *f = (struct fixture){.options.protocol = HTTP_2};
    http_world_init(&f->world, &f->options);
    f->peer = http2_peer_create(&f->world.loop, NULL);
    http2_peer_script(f->peer, step, 1);
    loopback_url(f->origin, "http", http2_peer_port(f->peer), "/left/out");
}

static void stop(struct fixture *f)
{
    http2_peer_destroy(&f->peer);
    http_world_fini(&f->world);
}

static void on_done(void *arg, const struct grpc_response *r)
{
    struct outcome *o = arg;
    o->done++;
    o->outcome = r->outcome;
    o->status = r->status;
    o->is_peers = r->is_peers_status;
    o->processed = r->may_have_been_processed;
    snprintf(o->message, sizeof o->message, "%s", r->message);
    snprintf(o->encoding, sizeof o->encoding, "%s", r->body_encoding ? r->body_encoding : "");
    buf_init(&o->body, 1 << 20);
    buf_add(&o->body, r->body.data, r->body.len);
    buf_init(&o->details, 1 << 20);
    buf_add(&o->details, r->details.data, r->details.len);
}

static void call(struct fixture *f, const struct grpc_request *more, struct outcome *o)
{
    struct grpc_request request = *more;
    request.origin = f->origin;
    request.path = "/test.Service/Method";
    *o = (struct outcome){0};
    grpc_client_send(f->world.client, &request, on_done, o);
    assert_int_equal(o->done, 0);
    while (o->done == 0)
        loop_step(&f->world.loop);
}

static void outcome_fini(struct outcome *o)
{
    buf_fini(&o->body);
    buf_fini(&o->details);
}

static const struct http_header grpc_headers[] = {TYPE, {"grpc-encoding", "gzip"}};
static const struct http_header ok_trailers[] = {{"grpc-status", "0"}};

static void test_what_is_sent(void **state)
{
    (void)state;
    struct fixture f;
    struct outcome o;
    // a string cannot hold the prefix's zero bytes: five bytes of repeated text would not do, so an empty answer
    const struct http2_step step = {
        .act = HTTP2_ANSWER, .headers = grpc_headers, .header_count = 1, .trailers = ok_trailers, .trailer_count = 1};
    static const struct http_header metadata[] = {{"x-tenant", "a"}, {"otlp-profiles-development-version", "1"}};
    start(&f, &step);
    call(&f,
         &(struct grpc_request){.message = BYTES_LITERAL("message"),
                                .encoding = "gzip",
                                .accept_encoding = "identity,gzip",
                                .metadata = metadata,
                                .metadata_count = 2,
                                .timeout_nanos = 5 * NANOS_PER_SECOND},
         &o);
    const struct http2_seen *seen = http2_peer_seen(f.peer, 0);
    char wanted[1024];
    snprintf(wanted, sizeof wanted,
             ":method: POST\n:scheme: http\n:authority: 127.0.0.1:%d\n:path: /test.Service/Method\n"
             "user-agent: profrelay/" PROFRELAY_VERSION "\ncontent-length: 12\nte: trailers\n"
             "content-type: application/grpc\ngrpc-timeout: 5000000u\ngrpc-encoding: gzip\n"
             "grpc-accept-encoding: identity,gzip\nx-tenant: a\notlp-profiles-development-version: 1\n",
             http2_peer_port(f.peer));
    assert_string_equal(seen->head, wanted);
    assert_true(bytes_equal(buf_bytes(&seen->body), (struct bytes){(const uint8_t *)"\1\0\0\0\7message", 12}));
    outcome_fini(&o);
    call(&f, &(struct grpc_request){0}, &o);
    assert_true(
        bytes_equal(buf_bytes(&http2_peer_seen(f.peer, 1)->body), (struct bytes){(const uint8_t *)"\0\0\0\0\0", 5}));
    outcome_fini(&o);
    stop(&f);
}

static void test_messages(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        size_t len;
        size_t headers;
        enum grpc_status status;
        const char *message, *encoding;
    } cases[] = {
        {"\0\0\0\0\2ok", 7, 1, GRPC_OK, "ok", ""},
        {"\0\0\0\0\0", 5, 2, GRPC_OK, "", ""},
        {"\1\0\0\0\2ok", 7, 2, GRPC_OK, "ok", "gzip"},
        {"\1\0\0\0\2ok", 7, 1, GRPC_INTERNAL, "", ""}, // with what?
        {"\0\0\0\0\3ok", 7, 1, GRPC_INTERNAL, "", ""},
        {"\0\0\0\0\1ok", 7, 1, GRPC_INTERNAL, "", ""},
        {"\2\0\0\0\2ok", 7, 1, GRPC_INTERNAL, "", ""},
        {"\0\0\0\0\2ok\0\0\0\0\2ok", 14, 1, GRPC_INTERNAL, "", ""}, // a unary call has one
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;
        struct outcome o;
        const struct http2_step step = {.act = HTTP2_ANSWER,
                                        .headers = grpc_headers,
                                        .header_count = cases[i].headers,
                                        .body = cases[i].body,
                                        .body_len = cases[i].len,
                                        .trailers = ok_trailers,
                                        .trailer_count = 1};
        start(&f, &step);
        call(&f, &(struct grpc_request){.message = BYTES_LITERAL("m")}, &o);
        if (o.status != cases[i].status || !bytes_equal_text(buf_bytes(&o.body), cases[i].message) ||
            strcmp(o.encoding, cases[i].encoding) != 0 || o.is_peers != (o.status == GRPC_OK))
            fail_msg("case %zu: %s, \"%s\"", i, grpc_status_name(o.status), o.message);
        outcome_fini(&o);
        stop(&f);
    }
}

static void test_statuses(void **state)
{
    (void)state;
    static const struct http_header plain[] = {{"content-type", "text/html"}};
    static const struct http_header only[] = {
        TYPE, {"grpc-status", "8"}, {"grpc-message", "too%20much %e2%82%ac%zz"}, {"grpc-status-details-bin", "CAg"}};
    static const struct http_header only_ok[] = {TYPE, {"grpc-status", "0"}};
    static const struct http_header odd[] = {TYPE, {"grpc-status", "77"}};
    static const struct http_header broken[] = {TYPE, {"grpc-status", "x"}};
    static const struct http_header bad_details[] = {TYPE, {"grpc-status", "14"}, {"grpc-status-details-bin", "!"}};
    static const struct http_header in_both[] = {TYPE, {"grpc-status", "0"}};
    static const struct http_header trailers[] = {{"grpc-status", "14"}, {"grpc-message", "later"}};
#define HEAD(list) .headers = list, .header_count = COUNT_OF(list)
    static const struct {
        struct http2_step step;
        enum grpc_status status;
        bool is_peers;
        const char *message;
        size_t details;
    } cases[] = {
        {{HEAD(only)}, GRPC_RESOURCE_EXHAUSTED, true, "too much \xe2\x82\xac%zz", 2},
        {{HEAD(only_ok)}, GRPC_INTERNAL, false, "", 0}, // OK without a message
        {{HEAD(odd)}, GRPC_UNKNOWN, true, "", 0},
        {{HEAD(broken)}, GRPC_UNKNOWN, false, "the answer has no grpc-status", 0},
        {{HEAD(bad_details)}, GRPC_UNAVAILABLE, true, "", 0},
        {{HEAD(in_both), .trailers = trailers, .trailer_count = 2}, GRPC_UNAVAILABLE, true, "later", 0},
        {{HEAD(in_both), .body = "xxxxx"}, GRPC_UNKNOWN, false, "the answer has no grpc-status", 0},
        {{HEAD(in_both), .body = "xxxxx", .trailers = trailers, .trailer_count = 2},
         GRPC_UNAVAILABLE,
         true,
         "later",
         0},
        {{HEAD(in_both), .body = "not one message", .trailers = in_both + 1, .trailer_count = 1},
         GRPC_INTERNAL,
         false,
         "",
         0},
        {{HEAD(plain), .body = "<html>"}, GRPC_UNKNOWN, false, "the answer is not gRPC", 0},
        {{HEAD(plain), .status = 400}, GRPC_INTERNAL, false, "HTTP status 400", 0},
        {{HEAD(plain), .status = 401}, GRPC_UNAUTHENTICATED, false, "HTTP status 401", 0},
        {{HEAD(plain), .status = 403}, GRPC_PERMISSION_DENIED, false, "HTTP status 403", 0},
        {{HEAD(plain), .status = 404}, GRPC_UNIMPLEMENTED, false, "HTTP status 404", 0},
        {{HEAD(plain), .status = 429}, GRPC_UNAVAILABLE, false, "HTTP status 429", 0},
        {{HEAD(plain), .status = 502}, GRPC_UNAVAILABLE, false, "HTTP status 502", 0},
        {{HEAD(plain), .status = 503}, GRPC_UNAVAILABLE, false, "HTTP status 503", 0},
        {{HEAD(plain), .status = 504}, GRPC_UNAVAILABLE, false, "HTTP status 504", 0},
        {{HEAD(plain), .status = 500}, GRPC_UNKNOWN, false, "HTTP status 500", 0},
        {{HEAD(only), .status = 503}, GRPC_RESOURCE_EXHAUSTED, true, "too much", 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;
        struct outcome o;
        start(&f, &cases[i].step);
        call(&f, &(struct grpc_request){.message = BYTES_LITERAL("m")}, &o);
        if (o.outcome != HTTP_ANSWERED || o.status != cases[i].status || o.is_peers != cases[i].is_peers ||
            strstr(o.message, cases[i].message) == NULL || o.details.len != cases[i].details || o.body.len != 0)
            fail_msg("case %zu: outcome %d, %s, \"%s\", %zu bytes of details", i, o.outcome, grpc_status_name(o.status),
                     o.message, o.details.len);
        outcome_fini(&o);
        stop(&f);
    }
}

static void test_failures(void **state)
{
    (void)state;
    static const struct {
        struct http2_step step;
        enum http_outcome outcome;
        enum grpc_status status;
        bool processed;
    } cases[] = {
        {{.act = HTTP2_RESET, .code = NGHTTP2_CANCEL}, HTTP_LOST, GRPC_CANCELLED, true},
        {{.act = HTTP2_RESET, .code = NGHTTP2_INTERNAL_ERROR}, HTTP_LOST, GRPC_INTERNAL, true},
        {{.act = HTTP2_RESET, .code = NGHTTP2_ENHANCE_YOUR_CALM}, HTTP_LOST, GRPC_RESOURCE_EXHAUSTED, true},
        {{.act = HTTP2_RESET, .code = NGHTTP2_INADEQUATE_SECURITY}, HTTP_LOST, GRPC_PERMISSION_DENIED, true},
        {{.act = HTTP2_RESET, .code = NGHTTP2_HTTP_1_1_REQUIRED}, HTTP_LOST, GRPC_UNKNOWN, true},
        {{.act = HTTP2_RESET, .code = NGHTTP2_REFUSED_STREAM}, HTTP_LOST, GRPC_UNAVAILABLE, false},
        {{.act = HTTP2_GO_AWAY}, HTTP_LOST, GRPC_UNAVAILABLE, false},
        {{.act = HTTP2_CUT}, HTTP_LOST, GRPC_UNAVAILABLE, true},
        {{.act = HTTP2_CUT_LATE, .headers = grpc_headers, .header_count = 1, .body = "1234567890"},
         HTTP_LOST,
         GRPC_UNAVAILABLE,
         true},
        {{.act = HTTP2_SAY_NOTHING}, HTTP_TIMED_OUT, GRPC_DEADLINE_EXCEEDED, true},
        {{.act = HTTP2_ANSWER,
          .headers = grpc_headers,
          .header_count = 1,
          .body = "1234567890",
          .repeat = 10,
          .trailers = ok_trailers,
          .trailer_count = 1},
         HTTP_BAD_RESPONSE,
         GRPC_RESOURCE_EXHAUSTED,
         true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;
        struct outcome o;
        start(&f, &cases[i].step);
        call(&f,
             &(struct grpc_request){
                 .message = BYTES_LITERAL("m"), .timeout_nanos = 60 * NANOS_PER_MS, .max_response_bytes = 90},
             &o);
        if (o.outcome != cases[i].outcome || o.status != cases[i].status || o.processed != cases[i].processed ||
            o.is_peers)
            fail_msg("case %zu: outcome %d, %s, processed %d, \"%s\"", i, o.outcome, grpc_status_name(o.status),
                     o.processed, o.message);
        assert_string_not_equal(o.message, "");
        outcome_fini(&o);
        stop(&f);
    }
}

static void test_cancel(void **state)
{
    (void)state;
    struct fixture f;
    struct outcome o = {0};
    static const struct http2_step step = {.act = HTTP2_SAY_NOTHING};
    start(&f, &step);
    struct grpc_request request = {.origin = f.origin, .path = "/a/b"};
    struct grpc_call *c = grpc_client_send(f.world.client, &request, on_done, &o);
    while (http2_peer_requests(f.peer) == 0)
        loop_step(&f.world.loop);
    grpc_call_cancel(c);
    while (o.done == 0)
        loop_step(&f.world.loop);
    assert_int_equal(o.status, GRPC_CANCELLED);
    assert_true(o.processed);
    outcome_fini(&o);
    stop(&f);
}

static void test_nobody_there(void **state)
{
    (void)state;
    struct fixture f;
    struct outcome o;
    static const struct http2_step step = {.act = HTTP2_ANSWER};
    start(&f, &step);
    http2_peer_destroy(&f.peer);
    call(&f, &(struct grpc_request){.message = BYTES_LITERAL("m")}, &o);
    assert_int_equal(o.status, GRPC_UNAVAILABLE);
    assert_false(o.processed);
    assert_non_null(strstr(o.message, "connection refused"));
    outcome_fini(&o);
    http_world_fini(&f.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_sent), cmocka_unit_test(test_messages), cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_failures),     cmocka_unit_test(test_cancel),   cmocka_unit_test(test_nobody_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
