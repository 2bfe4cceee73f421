// SPDX-License-Identifier: Apache-2.0
// Bytes as protoc writes them (google.rpc.Status, BadRequest, RetryInfo; ExportProfilesServiceResponse).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/otlp.h"
#include "codec/otlp_status.h"

#define BYTES(text) BYTES_LITERAL(text)

static void assert_wrote(struct buf *out, struct bytes want)
{
    assert_true(buf_ok(out));
    assert_int_equal(out->len, want.len);
    if (want.len > 0)
        assert_memory_equal(out->data, want.data, want.len);
    buf_clear(out);
}

static void writes_a_status(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1 << 10);
    struct otlp_status s = {.code = 3, .message = BYTES("a: b"), .field = BYTES("a")};
    otlp_status_encode(&s, &out);
    assert_wrote(&out, BYTES("\x08\x03\x12\x04"
                             "a: b"
                             "\x1a\x35\x0a\x29"
                             "type.googleapis.com/google.rpc.BadRequest\x12\x08\x0a\x06\x0a\x01"
                             "a"
                             "\x12\x01"
                             "b"));
    otlp_status_encode_json(&s, &out);
    assert_wrote(&out,
                 BYTES("{\"code\":3,\"message\":\"a: b\",\"details\":[{\"@type\":\"type.googleapis.com/"
                       "google.rpc.BadRequest\",\"fieldViolations\":[{\"field\":\"a\",\"description\":\"b\"}]}]}"));
    s = (struct otlp_status){.code = 14, .message = BYTES("x"), .retry_delay_nanos = 1500000000};
    otlp_status_encode(&s, &out);
    assert_wrote(&out, BYTES("\x08\x0e\x12\x01x\x1a\x36\x0a\x28type.googleapis.com/google.rpc.RetryInfo"
                             "\x12\x0a\x0a\x08\x08\x01\x10\x80\xca\xb5\xee\x01"));
    otlp_status_encode_json(&s, &out);
    assert_wrote(&out, BYTES("{\"code\":14,\"message\":\"x\",\"details\":[{\"@type\":\"type.googleapis.com/"
                             "google.rpc.RetryInfo\",\"retryDelay\":\"1.500000000s\"}]}"));
    buf_fini(&out);
}

static void repairs_broken_text(void **state)
{
    (void)state;
    struct buf out;
    const struct otlp_status s = {.message = BYTES("a\xff")};
    buf_init(&out, 1 << 10);
    otlp_status_encode(&s, &out);
    assert_wrote(&out, BYTES("\x12\x04"
                             "a\xef\xbf\xbd"));
    otlp_status_encode_json(&s, &out);
    assert_wrote(&out, BYTES("{\"code\":0,\"message\":\"a\xef\xbf\xbd\"}"));
    buf_fini(&out);
}

static void writes_a_response(void **state)
{
    (void)state;
    struct buf out;
    int64_t rejected;
    struct bytes message;
    buf_init(&out, 1 << 10);
    otlp_response_encode(0, BYTES(""), &out);
    assert_wrote(&out, BYTES(""));
    otlp_response_encode_json(0, BYTES(""), &out);
    assert_wrote(&out, BYTES("{}"));
    otlp_response_encode(2, BYTES("no"), &out);
    assert_true(otlp_decode_response(buf_bytes(&out), &rejected, &message));
    assert_int_equal(rejected, 2);
    assert_true(bytes_equal_text(message, "no"));
    assert_wrote(&out, BYTES("\x0a\x06\x08\x02\x12\x02no"));
    otlp_response_encode_json(2, BYTES("n\"o"), &out);
    assert_wrote(&out, BYTES("{\"partialSuccess\":{\"rejectedProfiles\":\"2\",\"errorMessage\":\"n\\\"o\"}}"));
    buf_fini(&out);
}

static void assert_retry_info(struct bytes status, bool found, int64_t delay)
{
    int64_t read;
    assert_int_equal(otlp_decode_retry_info(status, &read), found);
    assert_int_equal(read, delay);
}

#define RETRY_INFO                                                                                                     \
    "\x12\x05\x6c\x61\x74\x65\x72\x1a\x32\x0a\x28type.googleapis.com/google.rpc.RetryInfo\x12\x06\x0a\x04"

static void reads_the_retry_info(void **state)
{
    (void)state;
    struct buf out;
    struct otlp_status s = {.code = 8, .message = BYTES("later"), .retry_delay_nanos = 1500000000};
    buf_init(&out, 1 << 10);
    otlp_status_encode(&s, &out);
    assert_retry_info(buf_bytes(&out), true, s.retry_delay_nanos);
    // cut anywhere it is either not found or has no delay
    for (size_t len = 0; len < out.len; len++) {
        uint8_t *copy = malloc(len + 1);
        memcpy(copy, out.data, len);
        assert_retry_info((struct bytes){copy, len}, false, 0);
        free(copy);
    }
    out.len = 0;
    s.retry_delay_nanos = 0;
    s.field = BYTES("x");
    otlp_status_encode(&s, &out);
    assert_retry_info(buf_bytes(&out), false, 0);
    buf_fini(&out);
    assert_retry_info(BYTES(RETRY_INFO "\x08\x02\x10\x05"), true, 2000000005);
    assert_retry_info(BYTES(RETRY_INFO "\x10\x80\x80\x04"), true, 65536);
    assert_retry_info(BYTES(RETRY_INFO "\x08\x02\x08\x03"), true, 3000000000);
    assert_retry_info(BYTES("\x1a\x32\x0a\x28type.googleapis.com/google.rpc.DebugInfo\x12\x06\x0a\x04\x08\x02\x10\x05"),
                      false, 0);
}

// Delays that no clock holds, and negative ones.
static void retry_info_at_the_edges(void **state)
{
    (void)state;
    assert_retry_info(BYTES("\x1a\x38\x0a\x28type.googleapis.com/google.rpc.RetryInfo\x12\x0c\x0a\x0a"
                            "\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
                      true, INT64_MAX);
    assert_retry_info(BYTES("\x1a\x39\x0a\x28type.googleapis.com/google.rpc.RetryInfo\x12\x0d\x0a\x0b"
                            "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                      true, 0);
    assert_retry_info(BYTES("\x1a\x2a\x0a\x28type.googleapis.com/google.rpc.RetryInfo"), true, 0);
}

static void finds_the_field(void **state)
{
    (void)state;
    assert_true(bytes_equal_text(otlp_error_field(BYTES("resource_profiles[0].resource: is wrong: so")),
                                 "resource_profiles[0].resource"));
    assert_true(
        bytes_equal_text(otlp_error_field(BYTES("dictionary.string_table[3]: x")), "dictionary.string_table[3]"));
    assert_int_equal(otlp_error_field(BYTES("gzip data: damaged")).len, 0);
    assert_int_equal(otlp_error_field(BYTES("dictionary")).len, 0);
    assert_int_equal(otlp_error_field(BYTES("")).len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_a_status),         cmocka_unit_test(repairs_broken_text),
        cmocka_unit_test(writes_a_response),       cmocka_unit_test(reads_the_retry_info),
        cmocka_unit_test(retry_info_at_the_edges), cmocka_unit_test(finds_the_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
