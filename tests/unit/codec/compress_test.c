// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/compress.h"

static const enum compression kinds[] = {COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD};

// Text that neither repeats at once nor is random.
static struct buf sample(size_t len)
{
    struct buf b;
    buf_init(&b, (size_t)1 << 31);
    uint32_t x = 1;
    while (b.len < len) {
        x = x * 1103515245u + 12345u;
        buf_add_format(&b, "frame%u;", x >> 20);
    }
    b.len = len;
    return b;
}

static void pack(enum compression kind, struct bytes data, struct buf *out)
{
    struct compressor *c = compressor_create(kind, 0);
    struct err e;
    assert_non_null(c);
    assert_int_equal(compressor_run(c, data, out, &e), ERR_OK);
    compressor_destroy(&c);
    assert_null(c);
}

static struct buf packed(enum compression kind, struct bytes data)
{
    struct buf out;
    buf_init(&out, (size_t)1 << 31);
    pack(kind, data, &out);
    return out;
}

static void assert_unpacks(enum compression kind, struct bytes data, size_t max, struct bytes want)
{
    struct buf out;
    struct err e = {0};
    buf_init(&out, 16); // does not bound the output
    assert_int_equal(decompress(kind, data, max, "max", &out, &e), ERR_OK);
    assert_true(bytes_equal(buf_bytes(&out), want));
    buf_fini(&out);
}

static enum err_code unpack_error(enum compression kind, struct bytes data, size_t max, struct err *e)
{
    struct buf out;
    buf_init(&out, SIZE_MAX);
    enum err_code code = decompress(kind, data, max, "max_body", &out, e);
    buf_fini(&out);
    return code;
}

static void knows_the_magic_bytes(void **state)
{
    (void)state;
    assert_int_equal(compression_detect((struct bytes){0}), COMPRESSION_NONE);
    assert_int_equal(compression_detect(BYTES_LITERAL("\x1f")), COMPRESSION_NONE);
    assert_int_equal(compression_detect(BYTES_LITERAL("\x1f\x8b")), COMPRESSION_GZIP);
    assert_int_equal(compression_detect(BYTES_LITERAL("\x28\xb5\x2f")), COMPRESSION_NONE);
    assert_int_equal(compression_detect(BYTES_LITERAL("\x28\xb5\x2f\xfd")), COMPRESSION_ZSTD);
    assert_int_equal(compression_detect(BYTES_LITERAL("\x0a\x04text")), COMPRESSION_NONE);
}

static void names_go_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        enum compression kind;
        assert_true(compression_from_name(compression_name(kinds[i]), &kind));
        assert_int_equal(kind, kinds[i]);
    }
    enum compression kind;
    assert_string_equal(compression_name(COMPRESSION_GZIP), "gzip");
    assert_false(compression_from_name("brotli", &kind));
}

static void round_trips(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 70000, 1200000};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            struct buf data = sample(sizes[i]), small = packed(kinds[k], buf_bytes(&data));
            assert_unpacks(kinds[k], buf_bytes(&small), 0, buf_bytes(&data));
            assert_unpacks(kinds[k], buf_bytes(&small), sizes[i] + 1, buf_bytes(&data));
            if (sizes[i] > 0) // exactly at the limit
                assert_unpacks(kinds[k], buf_bytes(&small), sizes[i], buf_bytes(&data));
            buf_fini(&data);
            buf_fini(&small);
        }
    }
}

static void several_members_are_one(void **state)
{
    (void)state;
    for (size_t k = 1; k < COUNT_OF(kinds); k++) {
        struct buf big = sample(300000), all = packed(kinds[k], buf_bytes(&big)), want;
        buf_init(&want, 1 << 24);
        buf_add(&want, big.data, big.len);
        for (int i = 0; i < 5; i++) { // the size at the end is that of the last, tiny one
            pack(kinds[k], BYTES_LITERAL("tail"), &all);
            pack(kinds[k], (struct bytes){0}, &all);
            buf_add_text(&want, "tail");
        }
        assert_unpacks(kinds[k], buf_bytes(&all), want.len, buf_bytes(&want));
        struct err e = {0};
        assert_int_equal(unpack_error(kinds[k], buf_bytes(&all), want.len - 1, &e), ERR_LIMIT);
        buf_fini(&big);
        buf_fini(&all);
        buf_fini(&want);
    }
}

static void output_is_appended(void **state)
{
    (void)state;
    struct buf small = packed(COMPRESSION_GZIP, BYTES_LITERAL("world")), out;
    struct err e;
    buf_init(&out, 100);
    buf_add_text(&out, "hello ");
    assert_int_equal(decompress(COMPRESSION_GZIP, buf_bytes(&small), 5, "max", &out, &e), ERR_OK);
    assert_true(bytes_equal_text(buf_bytes(&out), "hello world"));
    assert_int_equal(out.max_bytes, 100);
    buf_fini(&out);
    buf_fini(&small);
}

static void bombs_stop_at_the_limit(void **state)
{
    (void)state;
    struct buf zeros;
    buf_init(&zeros, (size_t)1 << 31);
    assert_true(buf_reserve(&zeros, (size_t)16 << 20));
    memset(zeros.data, 0, (size_t)16 << 20);
    zeros.len = (size_t)16 << 20;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        struct buf bomb = packed(kinds[k], buf_bytes(&zeros)), out;
        struct err e = {0};
        buf_init(&out, SIZE_MAX);
        assert_int_equal(decompress(kinds[k], buf_bytes(&bomb), 1 << 20, "max_body", &out, &e), ERR_LIMIT);
        assert_true(out.len <= 1 << 20);
        assert_non_null(strstr(e.text, "max_body"));
        assert_non_null(strstr(e.text, "1048576"));
        buf_fini(&out);
        buf_fini(&bomb);
    }
    buf_fini(&zeros);
}

static void a_lying_size_is_harmless(void **state)
{
    (void)state;
    static const uint32_t lies[] = {0, 1, UINT32_MAX};
    struct buf data = sample(50000);
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        struct buf small = packed(COMPRESSION_GZIP, buf_bytes(&data));
        memcpy(small.data + small.len - 4, &lies[i], 4);
        struct err e = {0};
        assert_int_equal(unpack_error(COMPRESSION_GZIP, buf_bytes(&small), 0, &e), ERR_INVALID);
        buf_fini(&small);
    }
    buf_fini(&data);
}

static void cut_off_at_every_length(void **state)
{
    (void)state;
    struct buf data = sample(3000);
    for (size_t k = 1; k < COUNT_OF(kinds); k++) {
        struct buf small = packed(kinds[k], buf_bytes(&data));
        for (size_t len = 0; len < small.len; len++) {
            struct err e = {0};
            uint8_t *exact = malloc(len + 1); // so that a read past the end is seen
            memcpy(exact, small.data, len);
            uint8_t *copy = realloc(exact, len ? len : 1);
            assert_int_equal(unpack_error(kinds[k], (struct bytes){copy, len}, 0, &e), ERR_INVALID);
            assert_true(e.text[0] != '\0');
            free(copy);
        }
        buf_fini(&small);
    }
    buf_fini(&data);
}

static void garbage_behind_is_an_error(void **state)
{
    (void)state;
    for (size_t k = 1; k < COUNT_OF(kinds); k++) {
        struct buf small = packed(kinds[k], BYTES_LITERAL("data"));
        buf_add_text(&small, "garbage");
        struct err e = {0};
        assert_int_equal(unpack_error(kinds[k], buf_bytes(&small), 0, &e), ERR_INVALID);
        buf_fini(&small);
    }
}

static void zstd_windows_over_8_mib_are_refused(void **state)
{
    (void)state;
    // Frame header: no content size, window descriptor 0x88 = 2^27; then a block that is not complete.
    struct err e = {0};
    struct bytes frame = BYTES_LITERAL("\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00");
    assert_int_equal(unpack_error(COMPRESSION_ZSTD, frame, 0, &e), ERR_LIMIT);
    assert_non_null(strstr(e.text, "window is larger than the 8 MiB allowed"));
}

static void memory_can_be_out(void **state)
{
    (void)state;
    struct buf data = sample(100000);
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        struct buf small = packed(kinds[k], buf_bytes(&data)), out;
        struct err e = {0};
        mem_fail_from(1);
        assert_int_equal(unpack_error(kinds[k], buf_bytes(&small), 0, &e), ERR_MEMORY);
        struct compressor *c = compressor_create(kinds[k], 0);
        buf_init(&out, SIZE_MAX);
        assert_int_equal(compressor_run(c, buf_bytes(&data), &out, &e), ERR_MEMORY);
        mem_fail_from(0);
        compressor_destroy(&c);
        buf_fini(&out);
        buf_fini(&small);
    }
    buf_fini(&data);
}

static void compressors_are_reused_and_bounded(void **state)
{
    (void)state;
    struct buf data = sample(100000);
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        struct compressor *c = compressor_create(kinds[k], 5);
        struct err e = {0};
        struct buf first, second, none;
        buf_init(&first, SIZE_MAX / 2);
        buf_init(&second, SIZE_MAX / 2);
        assert_int_equal(compressor_run(c, buf_bytes(&data), &first, &e), ERR_OK);
        assert_int_equal(compressor_run(c, buf_bytes(&data), &second, &e), ERR_OK);
        assert_true(bytes_equal(buf_bytes(&first), buf_bytes(&second)));
        buf_init(&none, first.len - 1);
        assert_int_equal(compressor_run(c, buf_bytes(&data), &none, &e), ERR_LIMIT);
        assert_true(none.failed);
        compressor_destroy(&c);
        buf_fini(&first);
        buf_fini(&second);
        buf_fini(&none);
    }
    buf_fini(&data);
}

// zlib's own output for "hello hello hello hello", in RFC 1950's container and without it.
static const uint8_t deflated[] = {0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57,
                                   0xc8, 0x40, 0x27, 0x01, 0x68, 0x03, 0x08, 0xb1};

static void deflate_is_read_with_and_without_its_container(void **state)
{
    (void)state;
    const struct bytes hello = BYTES_LITERAL("hello hello hello hello");
    const struct bytes zlib = {deflated, sizeof deflated}, raw = {deflated + 2, sizeof deflated - 6};
    struct err e;
    struct buf out;
    assert_unpacks(COMPRESSION_DEFLATE, zlib, 0, hello);
    assert_unpacks(COMPRESSION_DEFLATE, raw, 0, hello);
    buf_init(&out, SIZE_MAX);
    for (size_t len = 0; len < zlib.len; len++)
        assert_int_equal(decompress(COMPRESSION_DEFLATE, (struct bytes){deflated, len}, 0, "x", &out, &e), ERR_INVALID);
    assert_int_equal(
        decompress(COMPRESSION_DEFLATE, (struct bytes){deflated + 2, sizeof deflated - 2}, 0, "x", &out, &e),
        ERR_INVALID); // something behind it
    assert_int_equal(decompress(COMPRESSION_DEFLATE, zlib, hello.len - 1, "x", &out, &e), ERR_LIMIT);
    buf_fini(&out);
}

#define SNAPPY_HEAD "\xff\x06\x00\x00sNaPpY"

// google/snappy's output for "hello hello hello hello": a literal, then a copy that overlaps itself.
static const char block[] = "\x17\x14hello \x42\x06\x00";

static void snappy_is_read_in_blocks_and_frames(void **state)
{
    (void)state;
    const struct bytes hello = BYTES_LITERAL("hello hello hello hello"),
                       whole = {(const uint8_t *)block, sizeof block - 1};
    static const char frames[] = SNAPPY_HEAD "\x00\x0f\x00\x00....\x17\x14hello \x42\x06\x00\xfe\x01\x00\x00?"
                                             "\x01\x05\x00\x00....!";
    struct err e;
    struct buf out;
    assert_unpacks(COMPRESSION_SNAPPY, whole, 0, hello);
    assert_unpacks(COMPRESSION_SNAPPY, (struct bytes){(const uint8_t *)frames, sizeof frames - 1}, 0,
                   BYTES_LITERAL("hello hello hello hello!"));
    buf_init(&out, SIZE_MAX);
    for (size_t len = 0; len < whole.len; len++)
        assert_int_equal(decompress(COMPRESSION_SNAPPY, (struct bytes){whole.data, len}, 0, "x", &out, &e),
                         ERR_INVALID);
    assert_int_equal(decompress(COMPRESSION_SNAPPY, whole, hello.len - 1, "x", &out, &e), ERR_LIMIT);
    const struct bytes bad[] = {
        BYTES_LITERAL("\xff\xff\xff\xff\x0f\x00x"),    // says 4 GiB
        BYTES_LITERAL("\x04\x02\x01\x00"),             // copies from before the beginning
        BYTES_LITERAL("\x05\x00x\x0e\x00\x00"),        // from nowhere
        BYTES_LITERAL("\x02\x00x\x0e\x01\x00"),        // more than was said
        BYTES_LITERAL("\x02\xf8x"),                    // a length that is cut
        BYTES_LITERAL(SNAPPY_HEAD "\x02\x00\x00\x00"), // a chunk nobody knows
        BYTES_LITERAL(SNAPPY_HEAD "\x01\x03\x00\x00..."),
        BYTES_LITERAL(SNAPPY_HEAD "\x01\x09\x00\x00...."),
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(decompress(COMPRESSION_SNAPPY, bad[i], 0, "x", &out, &e), ERR_INVALID);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_magic_bytes),
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(round_trips),
        cmocka_unit_test(several_members_are_one),
        cmocka_unit_test(output_is_appended),
        cmocka_unit_test(bombs_stop_at_the_limit),
        cmocka_unit_test(a_lying_size_is_harmless),
        cmocka_unit_test(cut_off_at_every_length),
        cmocka_unit_test(garbage_behind_is_an_error),
        cmocka_unit_test(zstd_windows_over_8_mib_are_refused),
        cmocka_unit_test(memory_can_be_out),
        cmocka_unit_test(deflate_is_read_with_and_without_its_container),
        cmocka_unit_test(snappy_is_read_in_blocks_and_frames),
        cmocka_unit_test(compressors_are_reused_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
