// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"

static size_t encode(uint32_t code, uint8_t out[4])
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; code >>= 6)
        out[i] = (uint8_t)(0x80 | (code & 0x3F));
    out[0] = (uint8_t)(code | (0xF00u >> n));
    return n;
}

// All that RFC 3629 allows is valid, and no part of it is.
static void every_character(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 0x120000; code++) {
        uint8_t text[4];
        size_t n = encode(code, text);
        bool expected = code <= 0x10FFFF && !(code >= 0xD800 && code < 0xE000);
        if (utf8_valid((struct bytes){text, n}) != expected)
            fail_msg("U+%04X should be %d", code, expected);
        if (utf8_char_len((struct bytes){text, n}) != (expected ? n : 0))
            fail_msg("the length of U+%04X is wrong", code);
        if (expected && utf8_code_point((struct bytes){text, n}) != code)
            fail_msg("U+%04X is read as another", code);
        for (size_t cut = 1; cut < n; cut++)
            if (utf8_valid((struct bytes){text, cut}))
                fail_msg("%zu bytes of U+%04X should be refused", cut, code);
    }
}

// Two-byte starts: each pair is valid only as two ASCII or as one character.
static void every_pair_of_bytes(void **state)
{
    (void)state;
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++) {
            uint8_t pair[2] = {(uint8_t)a, (uint8_t)b};
            bool expected = (a < 0x80 && b < 0x80) || (a >= 0xC2 && a < 0xE0 && b >= 0x80 && b < 0xC0);
            assert_int_equal(utf8_valid((struct bytes){pair, 2}), expected);
        }
}

static void bad_forms(void **state)
{
    (void)state;
    assert_true(utf8_valid((struct bytes){NULL, 0}));
    assert_int_equal(utf8_char_len((struct bytes){NULL, 0}), 0);
    assert_false(utf8_valid(BYTES_LITERAL("\xC0\x80")));             // overlong NUL
    assert_false(utf8_valid(BYTES_LITERAL("\xE0\x9F\xBF")));         // overlong
    assert_false(utf8_valid(BYTES_LITERAL("\xF0\x8F\xBF\xBF")));     // overlong
    assert_false(utf8_valid(BYTES_LITERAL("\xED\xA0\x80")));         // surrogate
    assert_false(utf8_valid(BYTES_LITERAL("\xF4\x90\x80\x80")));     // U+110000
    assert_false(utf8_valid(BYTES_LITERAL("\xF8\x88\x80\x80\x80"))); // five bytes
    assert_false(utf8_valid(BYTES_LITERAL("\xE2\x82\x28")));
    assert_false(utf8_valid(BYTES_LITERAL("\xF0\x9F\x98\x28")));
}

static void bad_bytes_are_found_at_each_place(void **state)
{
    (void)state;
    uint8_t text[40];
    for (size_t len = 1; len <= sizeof text; len++)
        for (size_t at = 0; at < len; at++) {
            memset(text, 'a', len);
            assert_true(utf8_valid((struct bytes){text, len}));
            text[at] = 0x80;
            assert_false(utf8_valid((struct bytes){text, len}));
        }
}

static void repaired(struct bytes in, const char *expected)
{
    uint8_t out[64];
    size_t n = utf8_repair(in, NULL);
    assert_true(n <= 3 * in.len);
    assert_int_equal(utf8_repair(in, out), n);
    assert_true(bytes_equal_text((struct bytes){out, n}, expected));
    assert_true(utf8_valid((struct bytes){out, n}));
}

static void repairs_byte_by_byte(void **state)
{
    (void)state;
    repaired(BYTES_LITERAL(""), "");
    repaired(BYTES_LITERAL("a\u00e9\u20ac\U0001F600"), "a\u00e9\u20ac\U0001F600");
    repaired(BYTES_LITERAL("\xff"), "\uFFFD");
    repaired(BYTES_LITERAL("a\xE2\x82z"), "a\uFFFD\uFFFDz");
    repaired(BYTES_LITERAL("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
    repaired(BYTES_LITERAL("\xC3\xC3\xA9"), "\uFFFD\u00e9");
}

static void hex_there_and_back(void **state)
{
    (void)state;
    uint8_t raw[256], back[256];
    char text[512];
    for (unsigned i = 0; i < 256; i++)
        raw[i] = (uint8_t)i;
    hex_encode((struct bytes){raw, 256}, text);
    assert_memory_equal(text, "000102", 6);
    assert_memory_equal(text + 506, "fdfeff", 6);
    assert_true(hex_decode_lower((struct bytes){(uint8_t *)text, 512}, back, 256));
    assert_memory_equal(raw, back, 256);
}

static void strict_hex(void **state)
{
    (void)state;
    uint8_t raw[2];
    assert_true(hex_decode_lower(BYTES_LITERAL(""), raw, 0));
    assert_true(hex_decode_lower(BYTES_LITERAL("00ff"), raw, 2));
    static const char *const bad[] = {"", "00f", "00fff", "00ff00", "00FF", "0x00", "00fg", "00f ", "/0:0", "00`a"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(hex_decode_lower(bytes_from_text(bad[i]), raw, 2));
}

static void percents_become_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *decoded; // NULL = broken
    } cases[] = {
        {"", ""},     {"a+b", "a+b"}, {"%41%5a%7E", "AZ~"}, {"%c3%A9", "\xc3\xa9"}, {"%", NULL},
        {"%4", NULL}, {"a%4g", NULL}, {"%%41", NULL},       {"% 1", NULL},          {"%@1", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[16];
        size_t len = strlen(cases[i].text);
        memcpy(text, cases[i].text, len);
        assert_int_equal(percent_decode(text, &len), cases[i].decoded != NULL);
        if (cases[i].decoded != NULL)
            assert_true(bytes_equal_text((struct bytes){(const uint8_t *)text, len}, cases[i].decoded));
    }
}

static void bytes_for_people(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {812, "812 B"},
        {999, "999 B"},
        {1000, "1.0 KB"},
        {1400000, "1.4 MB"},
        {999949, "999.9 KB"},
        {999950, "1.0 MB"},
        {2500000000, "2.5 GB"},
        {1000000000000, "1.0 TB"},
        {1000000000000000, "1.0 PB"},
        {UINT64_MAX, "18.4 EB"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[32];
        assert_ptr_equal(text_bytes(out, sizeof out, cases[i].bytes), out);
        assert_string_equal(out, cases[i].text);
    }
    char tiny[4];
    assert_string_equal(text_bytes(tiny, sizeof tiny, 812), "812");
}

static void one_or_several(void **state)
{
    (void)state;
    char out[32], tiny[4];
    assert_ptr_equal(text_count(out, sizeof out, 0, "sample"), out);
    assert_string_equal(out, "0 samples");
    assert_string_equal(TEXT_COUNT(1, "sample"), "1 sample");
    assert_string_equal(TEXT_COUNT(UINT64_MAX, "sample"), "18446744073709551615 samples");
    assert_string_equal(text_count(tiny, sizeof tiny, 12, "file"), "12 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character),
        cmocka_unit_test(every_pair_of_bytes),
        cmocka_unit_test(bad_forms),
        cmocka_unit_test(bad_bytes_are_found_at_each_place),
        cmocka_unit_test(repairs_byte_by_byte),
        cmocka_unit_test(hex_there_and_back),
        cmocka_unit_test(percents_become_bytes),
        cmocka_unit_test(strict_hex),
        cmocka_unit_test(bytes_for_people),
        cmocka_unit_test(one_or_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
