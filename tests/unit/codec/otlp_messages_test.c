// SPDX-License-Identifier: Apache-2.0
// The file exporter's rows of messages.
#include "codec/otlp_messages.h"

#include "base/mem.h"
#include "codec/compress.h"
#include "codec/formats.h"
#include "codec/otlp.h"
#include "codec/otlp_json.h"
#include "tests/support/batch_text.h"
#include "tests/support/random_batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_BYTES = 1 << 26 };

static const struct decode_options no_options;

// Small: they are cut at every byte, and fail at every allocation.
static struct batch *small_batch(uint64_t seed)
{
    struct random_batch_options options = random_batch_defaults;
    options.max_resources = options.max_scopes = options.max_profiles = 2;
    options.max_samples = options.item_count = 4;
    options.max_stack_depth = 4;
    return random_batch(seed, &options);
}

static void add_prefix(struct buf *out, size_t len)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_add_byte(out, (uint8_t)(len >> shift));
}

static void add_message_of(struct buf *out, uint64_t seed, enum compression compression, bool json)
{
    struct batch *b = small_batch(seed);
    struct buf proto, packed;
    buf_init(&proto, MAX_BYTES);
    buf_init(&packed, MAX_BYTES);
    assert_int_equal((json ? otlp_json_encode : otlp_encode)(b, &proto, NULL), ERR_OK);
    struct buf *body = &proto;
    if (compression != COMPRESSION_NONE) {
        struct compressor *c = compressor_create(compression, 0);
        assert_int_equal(compressor_run(c, buf_bytes(&proto), &packed, NULL), ERR_OK);
        compressor_destroy(&c);
        body = &packed;
    }
    add_prefix(out, body->len);
    buf_add(out, body->data, body->len);
    batch_unref(&b);
    buf_fini(&proto);
    buf_fini(&packed);
}

static void add_message(struct buf *out, uint64_t seed, enum compression compression)
{
    add_message_of(out, seed, compression, false);
}

static enum err_code decode(struct bytes data, const struct decode_options *options, struct batch **out, struct err *e)
{
    struct decode_report report = {0};
    return otlp_file_decode(data, options, out, &report, e);
}

// The lines of the batches with these seeds, after the way through protobuf.
static char *lines_of(uint64_t first, uint64_t last)
{
    struct batch *batches[8] = {NULL};
    size_t count = 0;
    for (uint64_t seed = first; seed <= last; seed++)
        batches[count++] = small_batch(seed);
    char *lines = batch_lines(batches, count);
    for (size_t i = 0; i < count; i++)
        batch_unref(&batches[i]);
    return lines;
}

static void check_stream(enum compression compression, bool json)
{
    struct buf stream;
    struct batch *b;
    struct err e = {0};
    buf_init(&stream, MAX_BYTES);
    for (uint64_t seed = 1; seed <= 4; seed++)
        add_message_of(&stream, seed, compression, json);
    assert_ptr_equal(format_recognise(buf_bytes(&stream), "x"), &otlp_proto_format);
    if (decode(buf_bytes(&stream), &no_options, &b, &e) != ERR_OK)
        fail_msg("%s", e.text);
    char *found = batch_lines(&b, 1), *expected = lines_of(1, 4);
    assert_string_equal(found, expected);
    free(found);
    free(expected);
    batch_unref(&b);
    buf_fini(&stream);
}

static void test_streams(void **state)
{
    (void)state;
    check_stream(COMPRESSION_NONE, false);
    check_stream(COMPRESSION_GZIP, false);
    check_stream(COMPRESSION_ZSTD, false);
    check_stream(COMPRESSION_ZSTD, true);
}

static void test_one_request_alone(void **state)
{
    (void)state;
    struct buf stream;
    struct batch *b;
    buf_init(&stream, MAX_BYTES);
    add_message(&stream, 1, COMPRESSION_NONE);
    struct bytes request = {stream.data + 4, stream.len - 4};
    assert_true(otlp_file_recognise(request));
    assert_int_equal(decode(request, &no_options, &b, NULL), ERR_OK);
    batch_unref(&b);
    buf_fini(&stream);
}

static void test_every_cut_is_refused(void **state)
{
    (void)state;
    struct buf stream;
    struct batch *b;
    struct err e;
    buf_init(&stream, MAX_BYTES);
    add_message(&stream, 1, COMPRESSION_NONE);
    size_t first = stream.len;
    add_message(&stream, 2, COMPRESSION_GZIP);
    for (size_t len = first + 1; len < stream.len; len++) {
        assert_true(otlp_file_recognise((struct bytes){stream.data, len}));
        assert_int_equal(decode((struct bytes){stream.data, len}, &no_options, &b, &e), ERR_INVALID);
        assert_non_null(strstr(e.text, "message 2: the file ends within a message"));
        assert_null(b);
    }
    for (size_t len = 0; len < first; len++)
        assert_false(otlp_file_recognise((struct bytes){stream.data, len}));
    buf_fini(&stream);
}

// An empty one is a request without profiles, also among others, and costs nothing.
static void test_empty_messages(void **state)
{
    (void)state;
    struct buf stream;
    struct batch *b;
    buf_init(&stream, MAX_BYTES);
    add_message(&stream, 1, COMPRESSION_NONE);
    for (int i = 0; i < 3; i++)
        add_prefix(&stream, 0);
    add_message(&stream, 2, COMPRESSION_NONE);
    mem_fail_from(0);
    assert_int_equal(decode(buf_bytes(&stream), &no_options, &b, NULL), ERR_OK);
    const size_t calls = mem_fail_count();
    char *found = batch_lines(&b, 1), *expected = lines_of(1, 2);
    assert_string_equal(found, expected);
    batch_unref(&b);
    for (int i = 0; i < 100; i++)
        add_prefix(&stream, 0);
    mem_fail_from(0);
    assert_int_equal(decode(buf_bytes(&stream), &no_options, &b, NULL), ERR_OK);
    assert_int_equal(mem_fail_count(), calls);
    batch_unref(&b);
    assert_int_equal(decode((struct bytes){NULL, 0}, &no_options, &b, NULL), ERR_OK);
    assert_int_equal(b->profile_count, 0);
    batch_unref(&b);
    free(found);
    free(expected);
    buf_fini(&stream);
}

static void test_errors_name_the_message(void **state)
{
    (void)state;
    struct buf stream;
    struct batch *b;
    struct err e = {0};
    buf_init(&stream, MAX_BYTES);
    add_message(&stream, 1, COMPRESSION_NONE);
    add_prefix(&stream, 3);
    buf_add(&stream, "\x0a\x05x", 3);
    assert_int_equal(decode(buf_bytes(&stream), &no_options, &b, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "message 2: "));
    buf_fini(&stream);
}

// The limit is one for all messages together.
static void test_the_limit_of_inflated_bytes(void **state)
{
    (void)state;
    struct decode_limits limits = decode_default_limits;
    struct decode_options options = {.limits = &limits};
    struct buf stream, plain;
    struct batch *b;
    struct err e = {0};
    buf_init(&stream, MAX_BYTES);
    buf_init(&plain, MAX_BYTES);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        add_message(&stream, seed, COMPRESSION_ZSTD);
        add_message(&plain, seed, COMPRESSION_NONE);
    }
    limits.max_inflated_bytes = plain.len - 3 * 4;
    assert_int_equal(decode(buf_bytes(&stream), &options, &b, &e), ERR_OK);
    batch_unref(&b);
    limits.max_inflated_bytes--;
    assert_int_equal(decode(buf_bytes(&stream), &options, &b, &e), ERR_LIMIT);
    assert_non_null(strstr(e.text, "message 3: max_inflated_size"));
    buf_fini(&stream);
    buf_fini(&plain);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    struct buf stream;
    size_t failures = 0;
    buf_init(&stream, MAX_BYTES);
    add_message(&stream, 1, COMPRESSION_ZSTD);
    add_message(&stream, 2, COMPRESSION_NONE);
    for (enum err_code rc = ERR_MEMORY; rc != ERR_OK; failures++) {
        struct batch *b;
        mem_fail_from(failures + 1);
        rc = decode(buf_bytes(&stream), &no_options, &b, NULL);
        mem_fail_from(0);
        assert_true(rc == ERR_OK || (rc == ERR_MEMORY && b == NULL));
        batch_unref(&b);
    }
    assert_true(failures > 20);
    buf_fini(&stream);
}

static void test_what_is_no_stream(void **state)
{
    (void)state;
    static const struct bytes others[] = {
        {NULL, 0},
        {(const uint8_t *)"\0\0\0", 3},
        {(const uint8_t *)"\0\0\0\0\0\0\0\0", 8},
        {(const uint8_t *)"main;work 12\n", 13},
        {(const uint8_t *)"\0\0\0\4main", 8},
    };
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(otlp_file_recognise(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_one_request_alone),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_empty_messages),
        cmocka_unit_test(test_errors_name_the_message),
        cmocka_unit_test(test_the_limit_of_inflated_bytes),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_what_is_no_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
