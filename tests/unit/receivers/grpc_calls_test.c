// SPDX-License-Identifier: Apache-2.0
// Health and reflection as a client sees them that is not ours: nghttp2 over a socket. grpc-go and grpcurl are the judges
// in tests/interop.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/compress.h"
#include "codec/wire.h"
#include "net/grpc_message.h"
#include "tests/unit/receivers/otlp_fixture.h"

#include <arpa/inet.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK_METHOD "/grpc.health.v1.Health/Check"
#define WATCH_METHOD "/grpc.health.v1.Health/Watch"
#define REFLECT_METHOD "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"

enum { CALLS_MAX = 200, NOTHING_YET = -1 };

struct call {
    struct buf request; // what is to be sent still
    bool ends;
    struct buf answers; // with their prefixes
    int status;         // of gRPC
    char text[256];
    bool closed;
};

struct client {
    int fd;
    nghttp2_session *session;
    struct call calls[CALLS_MAX];
    bool over;
};

static struct call *call_of(struct client *c, int32_t id)
{
    return &c->calls[id / 2];
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *arg)
{
    struct call *k = call_of(arg, frame->hd.stream_id);
    (void)session, (void)flags;
    if (bytes_equal_text((struct bytes){name, name_len}, "grpc-status"))
        k->status = (int)strtol((const char *)value, NULL, 10);
    if (bytes_equal_text((struct bytes){name, name_len}, "grpc-message"))
        snprintf(k->text, sizeof k->text, "%.*s", (int)value_len, (const char *)value);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *arg)
{
    (void)session, (void)flags;
    buf_add(&call_of(arg, id)->answers, data, len);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
    (void)session;
    (void)code;
    call_of(arg, id)->closed = true;
    return 0;
}

static ssize_t read_request(nghttp2_session *session, int32_t id, uint8_t *room, size_t size, uint32_t *flags,
                            nghttp2_data_source *source, void *arg)
{
    struct call *k = call_of(arg, id);
    size_t n = k->request.len < size ? k->request.len : size;
    (void)session, (void)source;
    if (n > 0) {
        memcpy(room, k->request.data, n);
        memmove(k->request.data, k->request.data + n, k->request.len -= n);
    }
    if (k->request.len == 0 && k->ends)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return n == 0 && !k->ends ? NGHTTP2_ERR_DEFERRED : (ssize_t)n;
}

static struct client *connect_to(int port)
{
    struct client *c = MEM_NEW(struct client);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    nghttp2_session_callbacks *callbacks;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(c->fd, (const struct sockaddr *)&to, sizeof to), 0);
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_client_new(&c->session, callbacks, c);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, NULL, 0);
    return c;
}

static void hang_up(struct client *c)
{
    nghttp2_session_del(c->session);
    close(c->fd);
    for (size_t i = 0; i < CALLS_MAX; i++) {
        buf_fini(&c->calls[i].request);
        buf_fini(&c->calls[i].answers);
    }
    free(c);
}

static void send_all(struct client *c)
{
    const uint8_t *data;
    for (ssize_t n; (n = nghttp2_session_mem_send(c->session, &data)) > 0;)
        otlp_rig_send(c->fd, data, (size_t)n);
}

static void receive_some(struct client *c)
{
    uint8_t data[16 << 10];
    send_all(c);
    ssize_t n = recv(c->fd, data, sizeof data, 0);
    c->over = n <= 0;
    if (!c->over)
        assert_int_equal(nghttp2_session_mem_recv(c->session, data, (size_t)n), n);
    send_all(c);
}

#define NV(name, value) {(uint8_t *)(name), (uint8_t *)(uintptr_t)(value), strlen(name), strlen(value), 0}

static struct call *call(struct client *c, const char *path, const char *encoding, struct bytes request, bool ends)
{
    nghttp2_nv nv[] = {NV(":method", "POST"),
                       NV(":path", path),
                       NV(":scheme", "http"),
                       NV(":authority", "h"),
                       NV("content-type", "application/grpc"),
                       NV("grpc-encoding", encoding)};
    nghttp2_data_provider body = {.read_callback = read_request};
    int32_t id = nghttp2_submit_request(c->session, NULL, nv, COUNT_OF(nv), &body, NULL);
    assert_true(id > 0 && id / 2 < CALLS_MAX);
    struct call *k = call_of(c, id);
    *k = (struct call){.ends = ends, .status = NOTHING_YET};
    buf_init(&k->request, 16 << 20);
    buf_init(&k->answers, 16 << 20);
    buf_add(&k->request, request.data, request.len);
    send_all(c);
    return k;
}

static void say_more(struct client *c, struct call *k, struct bytes request, bool ends)
{
    buf_add(&k->request, request.data, request.len);
    k->ends = ends;
    nghttp2_session_resume_data(c->session, (int32_t)(k - c->calls) * 2 + 1);
    send_all(c);
}

static void wait_end(struct client *c, const struct call *k)
{
    while (k->status == NOTHING_YET && !k->closed && !c->over)
        receive_some(c);
}

static size_t count_answers(const struct call *k)
{
    size_t count = 0, len;
    for (size_t at = 0; (len = grpc_message_length((struct bytes){k->answers.data + at, k->answers.len - at})) > 0;
         at += len) {
        if (at + len > k->answers.len)
            break;
        count++;
    }
    return count;
}

static void wait_answers(struct client *c, const struct call *k, size_t count)
{
    while (count_answers(k) < count && !c->over && !k->closed)
        receive_some(c);
    assert_int_equal(count_answers(k), count);
}

// Without its prefix.
static struct bytes answer_at(const struct call *k, size_t i)
{
    const uint8_t *at = k->answers.data;
    size_t left = k->answers.len;
    for (; i > 0; i--) {
        size_t len = grpc_message_length((struct bytes){at, left});
        at += len;
        left -= len;
    }
    return (struct bytes){at + GRPC_PREFIX_BYTES, grpc_message_length((struct bytes){at, left}) - GRPC_PREFIX_BYTES};
}

// A message with its prefix, in b.
static struct bytes message(struct buf *b, bool compressed, struct bytes payload)
{
    uint8_t prefix[GRPC_PREFIX_BYTES];
    grpc_prefix_write(compressed, (uint32_t)payload.len, prefix);
    buf_add(b, prefix, sizeof prefix);
    buf_add(b, payload.data, payload.len);
    return buf_bytes(b);
}

static void expect_end(struct client *c, const struct call *k, enum grpc_status status, const char *text)
{
    wait_end(c, k);
    assert_string_equal(k->text, text);
    assert_int_equal(k->status, status);
}

#define EMPTY_MESSAGE BYTES_LITERAL("\0\0\0\0\0")
#define UNKNOWN_SERVICE BYTES_LITERAL("\0\0\0\0\3\x0a\1x")

static void checks(void **state)
{
    (void)state;
    struct otlp_rig r;
    struct buf packed, sent;
    struct err e;
    otlp_rig_start(&r, &(struct otlp_rig_options){0});
    struct client *c = connect_to(r.grpc_port);
    struct call *k = call(c, CHECK_METHOD, "identity", EMPTY_MESSAGE, true);
    expect_end(c, k, GRPC_OK, "");
    assert_true(bytes_equal(answer_at(k, 0), BYTES_LITERAL("\x08\x01")));
    expect_end(c, call(c, CHECK_METHOD, "identity", UNKNOWN_SERVICE, true), GRPC_NOT_FOUND, "unknown service");
    buf_init(&packed, 1000);
    buf_init(&sent, 1000);
    struct compressor *gzip = compressor_create(COMPRESSION_GZIP, 0);
    assert_int_equal(compressor_run(gzip, BYTES_LITERAL("\x0a\1x"), &packed, &e), ERR_OK);
    compressor_destroy(&gzip);
    k = call(c, CHECK_METHOD, "gzip", message(&sent, true, buf_bytes(&packed)), true);
    expect_end(c, k, GRPC_NOT_FOUND, "unknown service");
    k = call(c, CHECK_METHOD, "identity", buf_bytes(&sent), true);
    expect_end(c, k, GRPC_INVALID_ARGUMENT, "the message is marked as compressed, but there is no grpc-encoding");
    buf_fini(&packed);
    buf_fini(&sent);
    hang_up(c);
    otlp_rig_stop(&r);
}

static void refuses_what_is_no_check(void **state)
{
    (void)state;
    struct otlp_rig r;
    uint8_t *zeros = mem_alloc(8 << 10);
    zeros[3] = 0x1f; // 8 KiB - 256
    otlp_rig_start(&r, &(struct otlp_rig_options){0});
    struct client *c = connect_to(r.grpc_port);
    expect_end(c, call(c, CHECK_METHOD, "br", EMPTY_MESSAGE, true), GRPC_UNIMPLEMENTED,
               "unsupported grpc-encoding, supported: gzip, zstd, deflate, snappy, identity");
    expect_end(c, call(c, WATCH_METHOD, "identity", (struct bytes){zeros, 8 << 10}, true), GRPC_RESOURCE_EXHAUSTED,
               "the request body is larger than the limit");
    expect_end(c, call(c, WATCH_METHOD, "identity", BYTES_LITERAL("\0\0\0\0\1\x0f"), true), GRPC_INVALID_ARGUMENT,
               "the message is not a HealthCheckRequest");
    expect_end(c, call(c, WATCH_METHOD, "identity", BYTES_LITERAL("\0\0\0\0\3\x0a"), true), GRPC_INVALID_ARGUMENT,
               "the message should have 3 bytes and ends after 1");
    expect_end(c, call(c, "/grpc.health.v1.Health/List", "identity", EMPTY_MESSAGE, true), GRPC_UNIMPLEMENTED,
               "/grpc.health.v1.Health/List: there is no such method");
    hang_up(c);
    otlp_rig_stop(&r);
    free(zeros);
}

static void watches_until_the_end(void **state)
{
    (void)state;
    struct otlp_rig r;
    otlp_rig_start(&r, &(struct otlp_rig_options){0});
    struct client *c = connect_to(r.grpc_port);
    struct call *known = call(c, WATCH_METHOD, "identity", EMPTY_MESSAGE, true);
    struct call *unknown = call(c, WATCH_METHOD, "identity", UNKNOWN_SERVICE, true);
    wait_answers(c, known, 1);
    wait_answers(c, unknown, 1);
    assert_true(bytes_equal(answer_at(known, 0), BYTES_LITERAL("\x08\x01")));
    assert_true(bytes_equal(answer_at(unknown, 0), BYTES_LITERAL("\x08\x03")));
    fake_service_stop(&r.service);
    expect_end(c, known, GRPC_UNAVAILABLE, "this connection ends: call again on another one");
    expect_end(c, unknown, GRPC_UNAVAILABLE, "this connection ends: call again on another one");
    assert_true(bytes_equal(answer_at(known, 1), BYTES_LITERAL("\x08\x02")));
    hang_up(c);
    otlp_rig_stop(&r);
}

static void bounds_watches(void **state)
{
    (void)state;
    struct otlp_rig r;
    otlp_rig_start(&r, &(struct otlp_rig_options){.grpc = ", max_connections: 2"});
    struct client *a = connect_to(r.grpc_port), *b = connect_to(r.grpc_port);
    struct call *first = call(a, WATCH_METHOD, "identity", EMPTY_MESSAGE, true);
    wait_answers(a, first, 1);
    wait_answers(b, call(b, WATCH_METHOD, "identity", EMPTY_MESSAGE, true), 1);
    expect_end(b, call(b, WATCH_METHOD, "identity", EMPTY_MESSAGE, true), GRPC_RESOURCE_EXHAUSTED,
               "too many calls of this kind are open");
    expect_end(b, call(b, CHECK_METHOD, "identity", EMPTY_MESSAGE, true), GRPC_OK, "");
    nghttp2_submit_rst_stream(a->session, NGHTTP2_FLAG_NONE, 1, NGHTTP2_CANCEL);
    expect_end(a, call(a, CHECK_METHOD, "identity", EMPTY_MESSAGE, true), GRPC_OK, ""); // the reset has been heard
    wait_answers(b, call(b, WATCH_METHOD, "identity", EMPTY_MESSAGE, true), 1);
    hang_up(a);
    hang_up(b);
    otlp_rig_stop(&r);
}

// Of a ServerReflectionResponse: what stands in its oneof.
static struct bytes member_of(struct bytes response, uint32_t number)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, response);
    while (wire_next(&r, &f))
        if (f.number == number)
            return f.bytes;
    fail_msg("no field %u", number);
    return response;
}

static struct bytes ask_reflection(struct client *c, struct call *k, uint32_t number, const char *what)
{
    struct buf request, sent;
    size_t before = count_answers(k);
    buf_init(&request, 1000);
    buf_init(&sent, 1000);
    wire_put_bytes(&request, 1, BYTES_LITERAL("here"));
    wire_put_bytes(&request, number, bytes_from_text(what));
    say_more(c, k, message(&sent, false, buf_bytes(&request)), false);
    wait_answers(c, k, before + 1);
    struct bytes answer = answer_at(k, before);
    assert_true(bytes_equal_text(member_of(answer, 1), "here"));
    assert_true(bytes_equal(member_of(answer, 2), buf_bytes(&request)));
    buf_fini(&request);
    buf_fini(&sent);
    return answer;
}

static bool has(struct bytes all, const char *part)
{
    return memmem(all.data, all.len, part, strlen(part)) != NULL;
}

static void reflects(const char *path)
{
    static const struct {
        uint32_t asks, answers;
        const char *what, *has;
    } cases[] = {
        {7, 6, "*", "ProfilesService"},
        {3, 4, "common.proto", "KeyValueList"},
        {4, 4, "opentelemetry.proto.collector.profiles.v1development.ProfilesService", "KeyValueList"},
        {3, 7, "no.proto", "\x08\x05"}, // NOT_FOUND
        {4, 7, "grpc.health", "\x08\x05"},
        {5, 7, "", "\x08\x05"},
        {6, 5, "grpc.health.v1.HealthCheckRequest", "grpc.health.v1.HealthCheckRequest"},
        {6, 7, "grpc.health.v1.Health", "\x08\x05"},
        {9, 7, "?", "\x08\x03"}, // INVALID_ARGUMENT
    };
    struct otlp_rig r;
    otlp_rig_start(&r, &(struct otlp_rig_options){0});
    struct client *c = connect_to(r.grpc_port);
    struct call *k = call(c, path, "identity", (struct bytes){NULL, 0}, false);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bytes answer = ask_reflection(c, k, cases[i].asks, cases[i].what);
        assert_true(has(member_of(answer, cases[i].answers), cases[i].has));
    }
    say_more(c, k, (struct bytes){NULL, 0}, true);
    expect_end(c, k, GRPC_OK, "");
    hang_up(c);
    otlp_rig_stop(&r);
}

static void reflects_v1(void **state)
{
    (void)state;
    reflects(REFLECT_METHOD);
}

static void reflects_v1alpha(void **state)
{
    (void)state;
    reflects("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
}

static void refuses_what_is_no_reflection(void **state)
{
    (void)state;
    struct otlp_rig r;
    otlp_rig_start(&r, &(struct otlp_rig_options){0});
    struct client *c = connect_to(r.grpc_port);
    expect_end(c, call(c, REFLECT_METHOD, "identity", BYTES_LITERAL("\0\0\0\0\1\x0f"), false), GRPC_INVALID_ARGUMENT,
               "the message is not a ServerReflectionRequest");
    expect_end(c, call(c, REFLECT_METHOD, "identity", BYTES_LITERAL("\0\0\0\x10\1"), false), GRPC_RESOURCE_EXHAUSTED,
               "a request of reflection has at most 4096 bytes");
    expect_end(c, call(c, REFLECT_METHOD, "identity", BYTES_LITERAL("\0\0\0\0\3x"), true), GRPC_INVALID_ARGUMENT,
               "the last message is cut");
    expect_end(c, call(c, REFLECT_METHOD, "identity", BYTES_LITERAL("\7\0\0\0\1x"), false), GRPC_INVALID_ARGUMENT,
               "the message's compression flag is 7, not 0 or 1");
    expect_end(c, call(c, REFLECT_METHOD, "gzip", BYTES_LITERAL("\1\0\0\0\1x"), false), GRPC_INVALID_ARGUMENT,
               "gzip data is damaged or cut off");
    hang_up(c);
    otlp_rig_stop(&r);
}

static void bounds_reflections(void **state)
{
    (void)state;
    struct otlp_rig r;
    otlp_rig_start(&r, &(struct otlp_rig_options){0});
    struct client *c = connect_to(r.grpc_port);
    for (int i = 0; i < 64; i++)
        call(c, REFLECT_METHOD, "identity", (struct bytes){NULL, 0}, false);
    expect_end(c, call(c, REFLECT_METHOD, "identity", (struct bytes){NULL, 0}, false), GRPC_RESOURCE_EXHAUSTED,
               "too many calls of this kind are open");
    say_more(c, &c->calls[0], (struct bytes){NULL, 0}, true);
    expect_end(c, &c->calls[0], GRPC_OK, "");
    struct call *k = call(c, REFLECT_METHOD, "identity", EMPTY_MESSAGE, false);
    wait_answers(c, k, 1);
    fake_service_stop(&r.service);
    expect_end(c, k, GRPC_UNAVAILABLE, "this connection ends: call again on another one");
    hang_up(c);
    otlp_rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks),
        cmocka_unit_test(refuses_what_is_no_check),
        cmocka_unit_test(watches_until_the_end),
        cmocka_unit_test(bounds_watches),
        cmocka_unit_test(reflects_v1),
        cmocka_unit_test(reflects_v1alpha),
        cmocka_unit_test(refuses_what_is_no_reflection),
        cmocka_unit_test(bounds_reflections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
