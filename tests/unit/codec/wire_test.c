// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/wire.h"

static struct wire_reader reader_of(const void *data, size_t len)
{
    struct wire_reader r;
    wire_reader_init(&r, (struct bytes){data, len});
    return r;
}

#define READER(text) reader_of((text), sizeof(text) - 1)

static void reads_varints_of_every_size(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        uint64_t value;
    } cases[] = {
        {"\x00", 1, 0},
        {"\x7f", 1, 127},
        {"\x80\x01", 2, 128},
        {"\xac\x02", 2, 300},
        {"\x80\x00", 2, 0}, // longer than needed is legal
        {"\xff\xff\xff\xff\x0f", 5, UINT32_MAX},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX},
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10, (uint64_t)1 << 63},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct wire_reader r = reader_of(cases[i].bytes, cases[i].len);
        assert_int_equal(wire_varint(&r), cases[i].value);
        assert_null(r.error);
        assert_int_equal(wire_offset(&r), cases[i].len);
        for (size_t cut = 0; cut < cases[i].len; cut++) {
            r = reader_of(cases[i].bytes, cut);
            assert_int_equal(wire_varint(&r), 0);
            assert_non_null(r.error);
        }
    }
}

static void takes_short_bytes_of_one_tag(void **state)
{
    (void)state;
    uint8_t data[3 + 300] = {0x12};
    for (size_t len = 0; len <= 300; len++) {
        size_t head = len < 0x80 ? 2 : 3;
        data[1] = (uint8_t)(len < 0x80 ? len : (len & 0x7f) | 0x80);
        data[2] = len < 0x80 ? 0x80 : (uint8_t)(len >> 7); // 0x80: inside the field, or behind it
        struct bytes out = {NULL, 7};
        struct wire_reader r = reader_of(data, head + len);
        bool taken = wire_take_bytes(&r, 0x12, &out);
        assert_true(taken || len == 0); // fewer than three bytes are left to wire_next
        assert_int_equal(wire_offset(&r), taken ? head + len : 0);
        if (taken)
            assert_true(out.data == data + head && out.len == len);
        r = reader_of(data, head + len);
        assert_false(wire_take_bytes(&r, 0x0a, &out));
        for (size_t cut = 0; cut < head + len; cut++) {
            r = reader_of(data, cut);
            assert_false(wire_take_bytes(&r, 0x12, &out));
            assert_int_equal(wire_offset(&r), 0);
            assert_null(r.error);
        }
    }
    struct bytes out;
    struct wire_reader r = READER("\x12\x80\x80\x01"); // a length of three bytes
    assert_false(wire_take_bytes(&r, 0x12, &out));
}

static void refuses_varints_over_64_bits(void **state)
{
    (void)state;
    struct wire_reader r = READER("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
    assert_int_equal(wire_varint(&r), 0);
    assert_non_null(r.error);
    r = READER("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    assert_int_equal(wire_varint(&r), 0);
    assert_non_null(r.error);
}

static void gives_fields_of_all_types(void **state)
{
    (void)state;
    struct wire_reader r = READER("\x08\x96\x01"
                                  "\x11\x01\x02\x03\x04\x05\x06\x07\x88"
                                  "\x1a\x03"
                                  "abc"
                                  "\x25\x01\x02\x03\x84"
                                  "\xf8\xff\xff\xff\x0f\x01");
    struct wire_field f;
    assert_true(wire_next(&r, &f));
    assert_true(f.number == 1 && f.type == WIRE_VARINT && f.varint == 150);
    assert_true(wire_next(&r, &f));
    assert_true(f.number == 2 && f.type == WIRE_FIXED64 && f.varint == 0x8807060504030201u);
    assert_true(wire_next(&r, &f));
    assert_true(f.number == 3 && f.type == WIRE_LEN && bytes_equal_text(f.bytes, "abc"));
    assert_true(wire_next(&r, &f));
    assert_true(f.number == 4 && f.type == WIRE_FIXED32 && f.varint == 0x84030201u);
    assert_true(wire_next(&r, &f));
    assert_true(f.number == 536870911 && f.varint == 1);
    assert_false(wire_next(&r, &f));
    assert_null(r.error);
}

static void refuses_what_is_no_field(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len, offset;
    } cases[] = {
        {"\x00\x01", 2, 1}, // field number 0
        {"\x0b", 1, 1},     // group start
        {"\x0c", 1, 1},     // group end
        {"\x0e\x01", 2, 1}, // wire type 6
        {"\x0f\x01", 2, 1}, // wire type 7
        {"\x08", 1, 1},     // value missing
        {"\x0a\x05"
         "abc",
         5, 2},                                                   // length past the end
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 11}, // length 2^64-1
        {"\x09\x01\x02\x03", 4, 1},                               // fixed64 cut off
        {"\x0d\x01\x02\x03", 4, 1},                               // fixed32 cut off
        {"\x80\x80\x80\x80\x10\x01", 6, 5},                       // field number 2^29
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct wire_reader r = reader_of(cases[i].bytes, cases[i].len);
        struct wire_field f;
        assert_false(wire_next(&r, &f));
        assert_non_null(r.error);
        assert_int_equal(wire_offset(&r), cases[i].offset);
        assert_false(wire_next(&r, &f)); // it sticks
    }
}

static void the_first_error_stays(void **state)
{
    (void)state;
    struct wire_reader r = READER("\x08\x01");
    wire_fail(&r, "first");
    wire_fail(&r, "second");
    struct wire_field f;
    assert_false(wire_next(&r, &f));
    assert_int_equal(wire_varint(&r), 0);
    assert_string_equal(r.error, "first");
    wire_reader_init(&r, (struct bytes){0});
    assert_false(wire_next(&r, &f));
    assert_null(r.error);
}

static bool add_all(struct wire_list *l, struct wire_reader *r, bool fixed64)
{
    struct wire_field f;
    while (wire_next(r, &f)) {
        if (!wire_list_add(l, r, &f, fixed64))
            return false;
    }
    return r->error == NULL;
}

static void lists_are_packed_unpacked_and_mixed(void **state)
{
    (void)state;
    static const uint64_t want[] = {1, 300, 2, 3, 4};
    struct wire_reader r = READER("\x0a\x03\x01\xac\x02"
                                  "\x08\x02"
                                  "\x0a\x00"
                                  "\x0a\x02\x03\x04");
    struct wire_list l = {0};
    assert_true(add_all(&l, &r, false));
    assert_int_equal(l.count, COUNT_OF(want));
    assert_memory_equal(l.items, want, sizeof want);
    wire_list_fini(&l);
    wire_list_fini(&l);
    r = READER("\x0a\x10\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"
               "\x09\x05\x00\x00\x00\x00\x00\x00\x00");
    assert_true(add_all(&l, &r, true));
    assert_int_equal(l.count, 3);
    assert_true(l.items[0] == 1 && l.items[1] == UINT64_MAX && l.items[2] == 5);
    wire_list_fini(&l);
}

static void lists_refuse_damage(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        bool fixed64;
    } cases[] = {
        {"\x0a\x02\x01\x80", 4, false},                    // last varint is cut off
        {"\x0a\x07\x01\x02\x03\x04\x05\x06\x07", 9, true}, // not a multiple of 8
        {"\x0d\x01\x02\x03\x04", 5, false},                // fixed32
        {"\x08\x01", 2, true},                             // varint where fixed64 belongs
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct wire_reader r = reader_of(cases[i].bytes, cases[i].len);
        struct wire_list l = {0};
        assert_false(add_all(&l, &r, cases[i].fixed64));
        assert_non_null(r.error);
        wire_list_fini(&l);
    }
}

static void a_list_can_be_out_of_memory(void **state)
{
    (void)state;
    struct wire_reader r = READER("\x0a\x02\x01\x02");
    struct wire_list l = {0};
    mem_fail_from(1);
    assert_false(add_all(&l, &r, false));
    mem_fail_from(0);
    assert_ptr_equal(r.error, wire_no_memory);
    wire_list_fini(&l);
}

static void writes_what_it_reads(void **state)
{
    (void)state;
    static const uint8_t want[] = {0x08, 0x96, 0x01, 0x12, 0x00, 0x1a, 0x02, 'h', 'i', 0x21, 8, 7, 6, 5, 4, 3, 2, 1};
    struct buf b;
    buf_init(&b, 1000);
    wire_put_uint(&b, 1, 150);
    wire_put_uint(&b, 9, 0);
    wire_put_fixed64(&b, 9, 0);
    wire_put_bytes(&b, 2, (struct bytes){0});
    wire_put_bytes(&b, 3, BYTES_LITERAL("hi"));
    wire_put_fixed64(&b, 4, 0x0102030405060708u);
    assert_int_equal(b.len, sizeof want);
    assert_memory_equal(b.data, want, sizeof want);
    buf_fini(&b);
}

static void varints_survive_both_ways(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits <= 64; bits++) {
        uint64_t v = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - (bits % 2);
        struct buf b;
        buf_init(&b, wire_varint_size(v)); // also without a byte to spare
        wire_put_varint(&b, v);
        assert_true(buf_ok(&b));
        assert_int_equal(b.len, wire_varint_size(v));
        struct wire_reader r = reader_of(b.data, b.len);
        assert_int_equal(wire_varint(&r), v);
        buf_fini(&b);
    }
}

static void put_message(struct buf *b, size_t len)
{
    size_t outer = wire_begin(b, 1), inner = wire_begin(b, 2);
    for (size_t i = 0; i < len; i++)
        buf_add_byte(b, (uint8_t)i);
    wire_end(b, inner);
    wire_end(b, outer);
}

static void submessages_of_any_length(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 124, 125, 126, 127, 128, 129, 16379, 16384, 2097160};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct buf b;
        buf_init(&b, 1 << 24);
        put_message(&b, lengths[i]);
        struct wire_reader r = reader_of(b.data, b.len);
        struct wire_field f;
        assert_true(wire_next(&r, &f) && f.number == 1 && r.at == r.end);
        wire_reader_init(&r, f.bytes);
        assert_true(wire_next(&r, &f) && f.number == 2 && r.at == r.end);
        assert_int_equal(f.bytes.len, lengths[i]);
        for (size_t k = 0; k < f.bytes.len; k++)
            assert_int_equal(f.bytes.data[k], (uint8_t)k);
        buf_fini(&b);
    }
}

static void a_full_buffer_is_noticed(void **state)
{
    (void)state;
    struct buf whole;
    buf_init(&whole, 1 << 20);
    put_message(&whole, 200);
    for (size_t max = 0; max < whole.len; max++) {
        struct buf b;
        buf_init(&b, max);
        put_message(&b, 200);
        assert_true(b.failed && b.too_large);
        buf_fini(&b);
    }
    buf_fini(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_short_bytes_of_one_tag),
        cmocka_unit_test(reads_varints_of_every_size),
        cmocka_unit_test(refuses_varints_over_64_bits),
        cmocka_unit_test(gives_fields_of_all_types),
        cmocka_unit_test(refuses_what_is_no_field),
        cmocka_unit_test(the_first_error_stays),
        cmocka_unit_test(lists_are_packed_unpacked_and_mixed),
        cmocka_unit_test(lists_refuse_damage),
        cmocka_unit_test(a_list_can_be_out_of_memory),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(varints_survive_both_ways),
        cmocka_unit_test(submessages_of_any_length),
        cmocka_unit_test(a_full_buffer_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
