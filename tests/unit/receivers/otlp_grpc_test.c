// SPDX-License-Identifier: Apache-2.0
// OTLP/gRPC through our own client; grpc-go is the judge in tests/interop.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/compress.h"
#include "codec/otlp.h"
#include "net/grpc_client.h"
#include "tests/support/http_calls.h"
#include "tests/unit/receivers/otlp_fixture.h"

#include <stdio.h>

#define EXPORT "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

struct said {
    bool done;
    enum grpc_status status;
    char message[512];
    struct buf body, details;
    char accepts[64];
};

static void on_done(void *arg, const struct grpc_response *r)
{
    struct said *s = arg;
    s->done = true;
    s->status = r->status;
    snprintf(s->message, sizeof s->message, "%s", r->message);
    buf_init(&s->body, SIZE_MAX);
    buf_init(&s->details, SIZE_MAX);
    buf_add(&s->body, r->body.data, r->body.len);
    buf_add(&s->details, r->details.data, r->details.len);
    const char *accepts = r->http != NULL ? http_response_header(r->http, "grpc-accept-encoding") : NULL;
    snprintf(s->accepts, sizeof s->accepts, "%s", accepts != NULL ? accepts : "");
}

struct call {
    const char *path, *encoding;
    struct bytes message;
    struct http_header metadata;
};

static void ask(int port, const struct call *c, struct said *out)
{
    struct http_world w;
    char url[128];
    const struct http_client_options options = {.protocol = HTTP_2};
    const struct grpc_request request = {
        .origin = loopback_url(url, "http", port, ""),
        .path = c->path,
        .message = c->message,
        .encoding = c->encoding,
        .metadata = &c->metadata,
        .metadata_count = c->metadata.name != NULL,
    };
    *out = (struct said){0};
    http_world_init(&w, &options);
    grpc_client_send(w.client, &request, on_done, out);
    while (!out->done)
        uv_run(&w.loop, UV_RUN_ONCE);
    http_world_fini(&w);
}

static void said_fini(struct said *s)
{
    buf_fini(&s->body);
    buf_fini(&s->details);
}

static void expect(int port, const struct call *c, enum grpc_status status, const char *message)
{
    struct said s;
    ask(port, c, &s);
    assert_string_equal(s.message, message);
    assert_int_equal(s.status, status);
    said_fini(&s);
}

static void takes_profiles(void **state)
{
    (void)state;
    struct otlp_rig r;
    struct buf packed;
    struct err e;
    otlp_rig_start(&r, &(struct otlp_rig_options){0});
    expect(r.grpc_port, &(struct call){.path = EXPORT, .message = buf_bytes(&r.three)}, GRPC_OK, "");
    expect(r.grpc_port, &(struct call){.path = EXPORT}, GRPC_OK, "");
    struct compressor *c = compressor_create(COMPRESSION_ZSTD, 0);
    buf_init(&packed, SIZE_MAX);
    assert_int_equal(compressor_run(c, buf_bytes(&r.three), &packed, &e), ERR_OK);
    expect(r.grpc_port, &(struct call){.path = EXPORT, .encoding = "zstd", .message = buf_bytes(&packed)}, GRPC_OK, "");
    compressor_destroy(&c);
    buf_fini(&packed);
    static const char accepted[] = "otelcol_receiver_accepted_profile_samples";
    assert_true(fake_service_counter(&r.service, accepted, "receiver", "otlp", "transport", "grpc") > 0);
    assert_int_equal(fake_service_counter(&r.service, accepted, "receiver", "otlp", "transport", "http"), 0);
    struct fake_seen seen = otlp_rig_stop(&r);
    assert_int_equal(seen.taken_count, 2);
    assert_int_equal(seen.taken[1], 3);
}

static void refuses_by_name(void **state)
{
    (void)state;
    struct otlp_rig r;
    struct said s;
    int32_t code;
    struct bytes message;
    uint8_t *zeros = calloc(1, 2 << 20);
    otlp_rig_start(&r, &(struct otlp_rig_options){.grpc = ", max_recv_msg_size_mib: 1"});
    const struct bytes three = buf_bytes(&r.three);
    ask(r.grpc_port, &(struct call){.path = EXPORT, .message = buf_bytes(&r.broken)}, &s);
    assert_int_equal(s.status, GRPC_INVALID_ARGUMENT);
    assert_true(otlp_decode_status(buf_bytes(&s.details), &code, &message));
    assert_int_equal(code, GRPC_INVALID_ARGUMENT);
    assert_true(bytes_equal_text(message, s.message));
    said_fini(&s);
    ask(r.grpc_port, &(struct call){.path = EXPORT, .encoding = "br", .message = three}, &s);
    assert_int_equal(s.status, GRPC_UNIMPLEMENTED);
    assert_string_equal(s.accepts, "identity,gzip,zstd,deflate,snappy");
    said_fini(&s);
    expect(r.grpc_port, &(struct call){.path = EXPORT, .message = {zeros, 2 << 20}}, GRPC_RESOURCE_EXHAUSTED,
           "max_recv_msg_size_mib: the request has 2097152 bytes, allowed are 1048576");
    expect(r.grpc_port,
           &(struct call){.path = EXPORT, .message = three, .metadata = {"otlp-profiles-development-version", "2"}},
           GRPC_INVALID_ARGUMENT, "invalid or unsupported otlp-profiles-development-version: supported version is 1");
    expect(r.grpc_port, &(struct call){.path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"},
           GRPC_UNIMPLEMENTED,
           "/opentelemetry.proto.collector.trace.v1.TraceService/Export: traces are not taken here, only profiles");
    expect(r.grpc_port, &(struct call){.path = "/a/b"}, GRPC_UNIMPLEMENTED, "/a/b: there is no such method");
    expect(r.http_port, &(struct call){.path = EXPORT, .message = three}, GRPC_UNIMPLEMENTED,
           "this port speaks OTLP/HTTP; OTLP/gRPC has a port of its own, by default 4317");
    free(zeros);
    assert_int_equal(otlp_rig_stop(&r).taken_count, 0);
}

static void says_when_to_come_again(void **state)
{
    (void)state;
    static const uint8_t retry_info[] = "type.googleapis.com/google.rpc.RetryInfo\x12";
    struct otlp_rig r;
    struct said s;
    otlp_rig_start(&r, &(struct otlp_rig_options){.exporter = ", sending_queue: {enabled: false}, answer: retry"});
    ask(r.grpc_port, &(struct call){.path = EXPORT, .message = buf_bytes(&r.three)}, &s);
    assert_int_equal(s.status, GRPC_UNAVAILABLE);
    assert_string_equal(s.message, "as told");
    const uint8_t *info = memmem(s.details.data, s.details.len, retry_info, sizeof retry_info - 1);
    assert_non_null(info);
    info += sizeof retry_info - 1; // the length of RetryInfo, Duration, its length, seconds
    assert_true(info + 5 <= s.details.data + s.details.len && info[1] == 0x0a && info[3] == 0x08);
    assert_in_range(info[4], 1, 3);
    said_fini(&s);
    otlp_rig_stop(&r);
}

static void tells_its_health(void **state)
{
    (void)state;
    static const char check[] = "/grpc.health.v1.Health/Check", unknown[] = "\x0a\x01x";
    struct otlp_rig r;
    struct said s;
    otlp_rig_start(&r, &(struct otlp_rig_options){0});
    ask(r.grpc_port, &(struct call){.path = check}, &s);
    assert_int_equal(s.status, GRPC_OK);
    assert_int_equal(s.body.len, 2);
    assert_memory_equal(s.body.data, "\x08\x01", 2);
    said_fini(&s);
    expect(r.grpc_port, &(struct call){.path = check, .message = {(const uint8_t *)unknown, 3}}, GRPC_NOT_FOUND,
           "unknown service");
    otlp_rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_profiles),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(says_when_to_come_again),
        cmocka_unit_test(tells_its_health),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
