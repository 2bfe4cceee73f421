// SPDX-License-Identifier: Apache-2.0
// Heads in, answers out, through the engines of HTTP/1.1 and HTTP/2.
#include "net/connect_protocol.h"
#include "tests/support/fake_link.h"

#include "base/mem.h"
#include "net/grpc_answer.h"

#include <nghttp2/nghttp2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PATH "/push.v1.PusherService/Push"
#define DATE "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

enum { EMPTY_MESSAGE = GRPC_PREFIX_BYTES };

struct rig {
    struct fake_link f;
    struct connect_answer answer;
    struct connect_call call;
    char encoding[32];
    bool begun;
};

static void on_head(void *arg, struct http_exchange *x, const struct http_head *head)
{
    struct rig *r = arg;
    (void)head;
    r->begun = connect_call_begin(x, &r->call);
    if (!r->begun)
        return;
    snprintf(r->encoding, sizeof r->encoding, "%s", r->call.encoding != NULL ? r->call.encoding : "identity");
    http_exchange_take_body(x, 1000);
}

static void on_request(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    struct rig *r = arg;
    free(body);
    assert_true(len >= connect_prefix_bytes(&r->call));
    connect_answer(x, &r->call, &r->answer);
}

static void start(struct rig *r, struct http_engine *(*create)(struct http_link *link))
{
    fake_link_init(&r->f);
    r->f.handler.arg = r;
    r->f.handler.on_head = on_head;
    r->f.handler.on_request = on_request;
    fake_link_start(&r->f, create);
    r->begun = false;
    r->encoding[0] = '\0';
}

// What it hears that sends these headers, to be freed.
static char *call_with(struct rig *r, const char *request_line, const char *headers)
{
    char request[1024];
    start(r, http1_server_create);
    size_t len =
        (size_t)snprintf(request, sizeof request - EMPTY_MESSAGE, "%s\r\nHost: h\r\nContent-Length: %d\r\n%s\r\n",
                         request_line, EMPTY_MESSAGE, headers);
    memset(request + len, 0, EMPTY_MESSAGE);
    fake_link_receive(&r->f, (struct bytes){(const uint8_t *)request, len + EMPTY_MESSAGE}, 1000);
    buf_add_byte(&r->f.out, '\0');
    char *text = mem_try_alloc(r->f.out.len);
    memcpy(text, r->f.out.data, r->f.out.len); // frames have zeros
    for (size_t i = 0; i + 1 < r->f.out.len; i++)
        text[i] = text[i] == '\0' ? '.' : text[i];
    fake_link_fini(&r->f);
    return text;
}

static void hears(struct rig *r, const char *headers, const char *wanted)
{
    char *text = call_with(r, "POST " PATH " HTTP/1.1", headers);
    if (strcmp(text, wanted) != 0)
        fail_msg("%s\nhears\n%s\nnot\n%s", headers, text, wanted);
    free(text);
}

static void hears_also(struct rig *r, const char *request_line, const char *headers, const char *wanted)
{
    char *text = call_with(r, request_line, headers);
    if (strstr(text, wanted) == NULL)
        fail_msg("%s\nhears\n%s\nnot\n%s", headers, text, wanted);
    free(text);
}

static void is_refused(struct rig *r, const char *request_line, const char *headers, const char *wanted)
{
    hears_also(r, request_line, headers, wanted);
    assert_false(r->begun);
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *said, *type;
        enum connect_framing framing;
        bool json;
    } cases[] = {
        {"application/proto", "application/proto", CONNECT_UNARY, false},
        {"Application/JSON; charset=UTF-8", "application/json", CONNECT_UNARY, true},
        {"application/json;charset=\"utf-8\"", "application/json", CONNECT_UNARY, true},
        {"application/json; x=y", "application/json", CONNECT_UNARY, true},
        {"application/grpc", "application/grpc", CONNECT_GRPC, false},
        {"application/grpc+proto", "application/grpc+proto", CONNECT_GRPC, false},
        {"application/grpc+json", "application/grpc+json", CONNECT_GRPC, true},
        {"application/grpc-web", "application/grpc-web", CONNECT_GRPC_WEB, false},
        {"application/grpc-web+proto", "application/grpc-web+proto", CONNECT_GRPC_WEB, false},
        {"application/grpc-web+json", "application/grpc-web+json", CONNECT_GRPC_WEB, true},
    };
    struct rig r = {.answer = {.status = GRPC_OK}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char headers[128], type[128];
        snprintf(headers, sizeof headers, "Content-Type: %s\r\n", cases[i].said);
        snprintf(type, sizeof type, "\r\ncontent-type: %s\r\n", cases[i].type);
        hears_also(&r, "POST " PATH " HTTP/1.1", headers, type);
        assert_true(r.begun);
        assert_int_equal(r.call.framing, cases[i].framing);
        assert_int_equal(r.call.json, cases[i].json);
        assert_int_equal(connect_prefix_bytes(&r.call), cases[i].framing == CONNECT_UNARY ? 0 : 5);
    }
}

static void test_refused_heads(void **state)
{
    (void)state;
    static const char *const types[] = {"",
                                        "Content-Type: text/plain\r\n",
                                        "Content-Type: application/grpc-web-text\r\n",
                                        "Content-Type: application/grpc-web-text+proto\r\n",
                                        "Content-Type: application/connect+proto\r\n",
                                        "Content-Type: application/protobuf\r\n",
                                        "Content-Type: application/json; charset=latin1\r\n",
                                        "Content-Type: application/json; charset=utf-16\r\n"};
    struct rig r = {.answer = {.status = GRPC_OK}};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        is_refused(&r, "POST " PATH " HTTP/1.1", types[i], "HTTP/1.1 415 ");
        is_refused(&r, "POST " PATH " HTTP/1.1", types[i], "\r\naccept-post: application/proto, application/json, ");
    }
    is_refused(&r, "PUT " PATH " HTTP/1.1", "Content-Type: application/proto\r\n", "HTTP/1.1 405 ");
    is_refused(&r, "PUT " PATH " HTTP/1.1", "Content-Type: application/proto\r\n", "\r\nallow: POST\r\n");
    is_refused(&r, "POST " PATH " HTTP/1.0", "Content-Type: application/grpc\r\n", "HTTP/1.1 505 ");
    is_refused(&r, "POST " PATH " HTTP/1.1", "Content-Type: application/proto\r\nConnect-Protocol-Version: 2\r\n",
               "HTTP/1.1 400 ");
    is_refused(&r, "POST " PATH " HTTP/1.1", "Content-Type: application/proto\r\nConnect-Protocol-Version: 2\r\n",
               "\r\n\r\n{\"code\":\"invalid_argument\",\"message\":\"connect-protocol-version must be 1\"}");
    hears_also(&r, "POST " PATH " HTTP/1.1", "Content-Type: application/proto\r\nConnect-Protocol-Version: 1\r\n",
               "HTTP/1.1 200 ");
    assert_true(r.begun);
    hears_also(&r, "POST " PATH " HTTP/1.0", "Content-Type: application/proto\r\n", "HTTP/1.1 200 ");
}

static void test_timeouts(void **state)
{
    (void)state;
    static const struct {
        const char *headers;
        int64_t nanos; // -1 = malformed
    } cases[] = {
        {"Content-Type: application/proto\r\n", 0},
        {"Content-Type: application/proto\r\nConnect-Timeout-Ms: 4999\r\n", 4999000000},
        {"Content-Type: application/proto\r\nConnect-Timeout-Ms: 9999999999\r\n", 9999999999000000},
        {"Content-Type: application/proto\r\nConnect-Timeout-Ms: 0\r\n", 1},
        {"Content-Type: application/proto\r\nConnect-Timeout-Ms: 10000000000\r\n", -1},
        {"Content-Type: application/proto\r\nConnect-Timeout-Ms: -1\r\n", -1},
        {"Content-Type: application/proto\r\nConnect-Timeout-Ms: +1\r\n", -1},
        {"Content-Type: application/proto\r\nConnect-Timeout-Ms:\r\n", -1},
        {"Content-Type: application/proto\r\nConnect-Timeout-Ms: 1s\r\n", -1},
        {"Content-Type: application/proto\r\nGrpc-Timeout: nonsense\r\n", 0},
        {"Content-Type: application/grpc\r\nGrpc-Timeout: 5S\r\n", 5000000000},
        {"Content-Type: application/grpc-web\r\nGrpc-Timeout: 100m\r\n", 100000000},
        {"Content-Type: application/grpc\r\nGrpc-Timeout: 5\r\n", -1},
    };
    struct rig r = {.answer = {.status = GRPC_OK}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        free(call_with(&r, "POST " PATH " HTTP/1.1", cases[i].headers));
        if (r.begun != (cases[i].nanos >= 0) || (r.begun && r.call.timeout_nanos != cases[i].nanos))
            fail_msg("%s is %lld", cases[i].headers, (long long)(r.begun ? r.call.timeout_nanos : -1));
    }
    is_refused(&r, "POST " PATH " HTTP/1.1", "Content-Type: application/proto\r\nConnect-Timeout-Ms: x\r\n",
               "HTTP/1.1 400 ");
    is_refused(&r, "POST " PATH " HTTP/1.1", "Content-Type: application/grpc\r\nGrpc-Timeout: x\r\n",
               "\r\n0\r\ngrpc-status: 3\r\ngrpc-message: grpc-timeout is malformed\r\n\r\n");
}

static void test_encodings(void **state)
{
    (void)state;
    static const struct {
        const char *headers, *encoding;
    } cases[] = {
        {"Content-Type: application/proto\r\n", "identity"},
        {"Content-Type: application/proto\r\nContent-Encoding: IDENTITY\r\n", "identity"},
        {"Content-Type: application/proto\r\nContent-Encoding:\r\n", "identity"},
        {"Content-Type: application/proto\r\nContent-Encoding: gzip\r\nGrpc-Encoding: br\r\n", "gzip"},
        {"Content-Type: application/proto\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\n",
         "several encodings"},
        {"Content-Type: application/grpc\r\nGrpc-Encoding: zstd\r\nContent-Encoding: br\r\n", "zstd"},
        {"Content-Type: application/grpc-web+proto\r\nGrpc-Encoding: gzip\r\n", "gzip"},
    };
    struct rig r = {.answer = {.status = GRPC_OK}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        free(call_with(&r, "POST " PATH " HTTP/1.1", cases[i].headers));
        assert_string_equal(r.encoding, cases[i].encoding);
    }
}

static void test_success(void **state)
{
    (void)state;
    struct rig r = {.answer = {.status = GRPC_OK, .http_status = 413}}; // which is an error's
    hears(&r, "Content-Type: application/proto\r\n",
          "HTTP/1.1 200 OK\r\n" DATE "content-type: application/proto\r\nContent-Length: 0\r\n\r\n");
    hears(&r, "Content-Type: application/json\r\n",
          "HTTP/1.1 200 OK\r\n" DATE "content-type: application/json\r\nContent-Length: 2\r\n\r\n{}");
    hears(&r, "Content-Type: application/grpc\r\n",
          "HTTP/1.1 200 OK\r\n" DATE "content-type: application/grpc\r\nTransfer-Encoding: chunked\r\n"
          "Trailer: grpc-status\r\n\r\n5\r\n.....\r\n0\r\ngrpc-status: 0\r\n\r\n");
    hears(&r, "Content-Type: application/grpc+json\r\n",
          "HTTP/1.1 200 OK\r\n" DATE "content-type: application/grpc+json\r\nTransfer-Encoding: chunked\r\n"
          "Trailer: grpc-status\r\n\r\n7\r\n....\2{}\r\n0\r\ngrpc-status: 0\r\n\r\n");
    hears(&r, "Content-Type: application/grpc-web+proto\r\n",
          "HTTP/1.1 200 OK\r\n" DATE "content-type: application/grpc-web+proto\r\nContent-Length: 26\r\n\r\n"
          ".....\x80...\x10grpc-status: 0\r\n");
    r.answer.message = BYTES_LITERAL("hello");
    hears(&r, "Content-Type: application/json\r\n",
          "HTTP/1.1 200 OK\r\n" DATE "content-type: application/json\r\nContent-Length: 5\r\n\r\nhello");
    hears(&r, "Content-Type: application/grpc-web\r\n",
          "HTTP/1.1 200 OK\r\n" DATE "content-type: application/grpc-web\r\nContent-Length: 31\r\n\r\n"
          "....\5hello\x80...\x10grpc-status: 0\r\n");
}

static void test_errors(void **state)
{
    (void)state;
    struct rig r = {.answer = {.status = GRPC_RESOURCE_EXHAUSTED,
                               .text = "say \"no\" 100%\n\xff",
                               .message = BYTES_LITERAL("never sent"),
                               .retry_after_nanos = 1500000000,
                               .details = BYTES_LITERAL("\x08\x08"),
                               .challenge = "Basic realm=\"x\"",
                               .accept_encoding = "gzip"}};
    hears(&r, "Content-Type: application/proto\r\n",
          "HTTP/1.1 429 Too Many Requests\r\n" DATE "content-type: application/json\r\naccept-encoding: gzip\r\n"
          "www-authenticate: Basic realm=\"x\"\r\nretry-after: 2\r\nContent-Length: 62\r\n\r\n"
          "{\"code\":\"resource_exhausted\",\"message\":\"say \\\"no\\\" 100%\\n\xEF\xBF\xBD\"}");
    hears(&r, "Content-Type: application/grpc\r\n",
          "HTTP/1.1 200 OK\r\n" DATE "content-type: application/grpc\r\ngrpc-accept-encoding: gzip\r\n"
          "www-authenticate: Basic realm=\"x\"\r\nretry-after: 2\r\nTransfer-Encoding: chunked\r\n"
          "Trailer: grpc-status\r\nTrailer: grpc-message\r\nTrailer: grpc-status-details-bin\r\n\r\n"
          "0\r\ngrpc-status: 8\r\ngrpc-message: say \"no\" 100%25%0A%FF\r\ngrpc-status-details-bin: CAg\r\n\r\n");
    hears(&r, "Content-Type: application/grpc-web+proto\r\n",
          "HTTP/1.1 200 OK\r\n" DATE "content-type: application/grpc-web+proto\r\ngrpc-accept-encoding: gzip\r\n"
          "www-authenticate: Basic realm=\"x\"\r\nretry-after: 2\r\ngrpc-status: 8\r\n"
          "grpc-message: say \"no\" 100%25%0A%FF\r\ngrpc-status-details-bin: CAg\r\nContent-Length: 0\r\n\r\n");
    r.answer = (struct connect_answer){.status = GRPC_RESOURCE_EXHAUSTED, .http_status = 413};
    hears(&r, "Content-Type: application/json\r\n",
          "HTTP/1.1 413 Content Too Large\r\n" DATE "content-type: application/json\r\nContent-Length: 42\r\n\r\n"
          "{\"code\":\"resource_exhausted\",\"message\":\"\"}");
}

// connectrpc.com/docs/protocol, "Error codes".
static void test_codes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int http_status;
    } table[] = {{"ok", 200},
                 {"canceled", 499},
                 {"unknown", 500},
                 {"invalid_argument", 400},
                 {"deadline_exceeded", 504},
                 {"not_found", 404},
                 {"already_exists", 409},
                 {"permission_denied", 403},
                 {"resource_exhausted", 429},
                 {"failed_precondition", 400},
                 {"aborted", 409},
                 {"out_of_range", 400},
                 {"unimplemented", 501},
                 {"internal", 500},
                 {"unavailable", 503},
                 {"data_loss", 500},
                 {"unauthenticated", 401}};
    assert_int_equal(COUNT_OF(table), GRPC_UNAUTHENTICATED + 1);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_string_equal(connect_code_name((enum grpc_status)i), table[i].name);
        assert_int_equal(connect_http_status((enum grpc_status)i), table[i].http_status);
    }
}

// A text that no trailer holds is left out; the status is not.
static void test_long_text(void **state)
{
    (void)state;
    struct grpc_trailers t;
    char *text = mem_try_alloc(10000);
    memset(text, 'x', 9999);
    text[9999] = '\0';
    grpc_trailers_init(&t, GRPC_INTERNAL, text, (struct bytes){NULL, 0});
    assert_int_equal(t.count, 1);
    assert_string_equal(t.items[0].value, "13");
    grpc_trailers_fini(&t);
    free(text);
}

// --- HTTP/2: a recording of connect-go, and its answer read by nghttp2 ---

struct heard {
    char headers[2][512]; // "name: value\n" of HEADERS, trailers
    size_t blocks;
    struct buf data;
};

static void inflate_block(nghttp2_hd_inflater *inflater, struct bytes block, char *out, size_t size)
{
    int flags = 0;
    size_t len = 0;
    while ((flags & NGHTTP2_HD_INFLATE_FINAL) == 0) {
        nghttp2_nv nv;
        ssize_t used = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, block.data, block.len, 1);
        assert_true(used >= 0);
        block.data += used;
        block.len -= (size_t)used;
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
            len += (size_t)snprintf(out + len, size - len, "%s: %s\n", nv.name, nv.value);
    }
    nghttp2_hd_inflate_end_headers(inflater);
}

static void hear(struct heard *h, struct bytes sent)
{
    nghttp2_hd_inflater *inflater;
    assert_int_equal(nghttp2_hd_inflate_new(&inflater), 0);
    buf_init(&h->data, 1000);
    while (sent.len > 0) {
        size_t len = (size_t)sent.data[0] << 16 | (size_t)sent.data[1] << 8 | sent.data[2];
        struct bytes payload = {sent.data + 9, len};
        if (sent.data[3] == NGHTTP2_HEADERS && h->blocks < 2)
            inflate_block(inflater, payload, h->headers[h->blocks++], sizeof h->headers[0]);
        if (sent.data[3] == NGHTTP2_DATA)
            buf_add(&h->data, payload.data, payload.len);
        sent.data += 9 + len;
        sent.len -= 9 + len;
    }
    nghttp2_hd_inflate_del(inflater);
}

static void put_frame(struct buf *out, uint8_t type, uint8_t flags, uint8_t stream, const void *payload, size_t len)
{
    const uint8_t head[9] = {0, (uint8_t)(len >> 8), (uint8_t)len, type, flags, 0, 0, 0, stream};
    buf_add(out, head, sizeof head);
    buf_add(out, payload, len);
}

static void put_call(struct buf *out, const char *content_type)
{
    nghttp2_nv nv[] = {{(uint8_t *)":method", (uint8_t *)"POST", 7, 4, 0},
                       {(uint8_t *)":scheme", (uint8_t *)"http", 7, 4, 0},
                       {(uint8_t *)":path", (uint8_t *)PATH, 5, strlen(PATH), 0},
                       {(uint8_t *)":authority", (uint8_t *)"h", 10, 1, 0},
                       {(uint8_t *)"content-type", (uint8_t *)content_type, 12, strlen(content_type), 0}};
    nghttp2_hd_deflater *deflater;
    uint8_t block[512];
    buf_add_text(out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    put_frame(out, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
    assert_int_equal(nghttp2_hd_deflate_new(&deflater, 4096), 0);
    ssize_t len = nghttp2_hd_deflate_hd(deflater, block, sizeof block, nv, COUNT_OF(nv));
    nghttp2_hd_deflate_del(deflater);
    put_frame(out, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, block, (size_t)len);
    put_frame(out, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, "\0\0\0\0\0", 5);
}

static void test_http2(void **state)
{
    (void)state;
    const struct {
        const char *type;
        struct connect_answer answer;
        const char *head, *trailers;
        struct bytes body;
    } cases[] = {
        {"application/grpc", {.status = GRPC_OK}, ":status: 200\n", "grpc-status: 0\n", BYTES_LITERAL("\0\0\0\0\0")},
        {"application/grpc",
         {.status = GRPC_UNAVAILABLE, .text = "busy"},
         "content-type: application/grpc\n",
         "grpc-status: 14\ngrpc-message: busy\n",
         BYTES_LITERAL("")},
        {"application/grpc-web",
         {.status = GRPC_UNAVAILABLE, .text = "busy"},
         "grpc-status: 14\ngrpc-message: busy\n",
         "",
         BYTES_LITERAL("")},
        {"application/proto",
         {.status = GRPC_UNAUTHENTICATED, .text = "no"},
         ":status: 401\n",
         "",
         BYTES_LITERAL("{\"code\":\"unauthenticated\",\"message\":\"no\"}")},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rig r = {.answer = cases[i].answer};
        struct heard h = {.blocks = 0};
        struct buf request;
        buf_init(&request, 4096);
        put_call(&request, cases[i].type);
        start(&r, http2_server_create);
        fake_link_receive(&r.f, buf_bytes(&request), 1000);
        assert_true(r.begun);
        hear(&h, buf_bytes(&r.f.out));
        assert_non_null(strstr(h.headers[0], cases[i].head));
        assert_string_equal(h.headers[1], cases[i].trailers);
        assert_true(bytes_equal(buf_bytes(&h.data), cases[i].body));
        buf_fini(&h.data);
        buf_fini(&request);
        fake_link_fini(&r.f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),     cmocka_unit_test(test_refused_heads), cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_encodings), cmocka_unit_test(test_success),       cmocka_unit_test(test_errors),
        cmocka_unit_test(test_codes),     cmocka_unit_test(test_long_text),     cmocka_unit_test(test_http2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
