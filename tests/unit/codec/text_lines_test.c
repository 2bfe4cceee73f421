// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/text_lines.h"

// The lines of text joined by '|'.
static char *lines_of(struct bytes data, size_t max_line_bytes, struct decode_report *report)
{
    struct text_lines t;
    struct bytes line;
    struct buf out;
    size_t len;
    buf_init(&out, 1 << 16);
    assert_int_equal(text_lines_init(&t, data, max_line_bytes, report, NULL), ERR_OK);
    while (text_lines_next(&t, &line)) {
        buf_add(&out, line.data, line.len);
        buf_add_byte(&out, '|');
    }
    text_lines_fini(&t);
    buf_add_byte(&out, 0);
    return (char *)buf_take(&out, &len);
}

static void assert_lines(struct bytes data, const char *want)
{
    struct decode_report report = {0};
    char *got = lines_of(data, 0, &report);
    assert_string_equal(got, want);
    assert_int_equal(report.bad_lines, 0);
    free(got);
}

static void lines_end_with_lf_crlf_or_nothing(void **state)
{
    (void)state;
    assert_lines(BYTES_LITERAL(""), "");
    assert_lines(BYTES_LITERAL("a"), "a|");
    assert_lines(BYTES_LITERAL("a\nb"), "a|b|");
    assert_lines(BYTES_LITERAL("a\r\n\r\nb\r"), "a||b|");
    assert_lines(BYTES_LITERAL("\n\n"), "||");
    assert_lines(BYTES_LITERAL("a\rb\r\r\n"), "a\rb\r|");
    assert_lines((struct bytes){NULL, 0}, "");
}

static void a_bom_is_passed_over(void **state) // B2
{
    (void)state;
    assert_lines(BYTES_LITERAL("\xef\xbb\xbf"
                               "a\nb\n"),
                 "a|b|");
    assert_lines(BYTES_LITERAL("\xef\xbb\xbf"), "");
    assert_lines(BYTES_LITERAL("\xff\xfe"
                               "a\0\r\0\n\0\xe9\0"),
                 "a|\u00e9|");
    assert_lines(BYTES_LITERAL("\xfe\xff"
                               "\0a\0\n\0\xe9"),
                 "a|\u00e9|");
    assert_lines(BYTES_LITERAL("\xff\xfe"), "");
}

static void utf16_beyond_and_beside_pairs(void **state)
{
    (void)state;
    assert_lines(BYTES_LITERAL("\xfe\xff\xd8\x3d\xde\x00\x20\xac\x07\xff"), "\U0001F600\u20ac\u07ff|");
    assert_lines(BYTES_LITERAL("\xfe\xff\xd8\x3d\0a"), "\ufffda|"); // half a pair
    assert_lines(BYTES_LITERAL("\xfe\xff\xde\x00\0a"), "\ufffda|"); // the other half
    assert_lines(BYTES_LITERAL("\xfe\xff\0a\xd8\x3d"), "a\ufffd|"); // cut in a pair
    assert_lines(BYTES_LITERAL("\xfe\xff\0a\xd8"), "a|");           // cut in a unit
    assert_lines(BYTES_LITERAL("\xfe\xff\xdb\xff\xdf\xff"), "\U0010FFFF|");
}

static void nul_bytes_stay(void **state)
{
    (void)state;
    struct decode_report report = {0};
    struct text_lines t;
    struct bytes line;
    assert_int_equal(text_lines_init(&t, BYTES_LITERAL("a\0b\nc"), 0, &report, NULL), ERR_OK);
    assert_true(text_lines_next(&t, &line));
    assert_true(bytes_equal(line, BYTES_LITERAL("a\0b")));
    assert_int_equal(t.number, 1);
    assert_true(text_lines_next(&t, &line));
    assert_true(bytes_equal(line, BYTES_LITERAL("c")));
    assert_int_equal(t.number, 2);
    assert_false(text_lines_next(&t, &line));
    assert_false(text_lines_next(&t, &line));
    text_lines_fini(&t);
}

static void a_long_line_leaves_its_neighbours(void **state)
{
    (void)state;
    struct decode_report report = {0};
    char *got = lines_of(BYTES_LITERAL("123\n1234\r\n12345\nb\n123456"), 4, &report);
    assert_string_equal(got, "123|1234|b|");
    assert_int_equal(report.bad_lines, 2);
    assert_string_equal(report.first_bad.text, "line 3: it has 5 bytes, max_line_bytes allows 4");
    free(got);
}

static void no_memory_is_told(void **state)
{
    (void)state;
    struct text_lines t;
    struct err e = {0};
    mem_fail_from(1);
    enum err_code code = text_lines_init(&t,
                                         BYTES_LITERAL("\xff\xfe"
                                                       "a\0"),
                                         0, NULL, &e);
    mem_fail_from(0);
    assert_int_equal(code, ERR_MEMORY);
    assert_int_equal(e.code, ERR_MEMORY);
    text_lines_fini(&t);
}

static void only_text_is_looked_at(void **state)
{
    (void)state;
    struct text_lines t;
    struct bytes line;
    assert_true(text_lines_peek(&t, BYTES_LITERAL("text\n")));
    assert_true(text_lines_next(&t, &line));
    text_lines_fini(&t);
    assert_false(text_lines_peek(&t, BYTES_LITERAL("\x1f\x8b\x08\0\0\0")));
    assert_false(text_lines_next(&t, &line));
    text_lines_fini(&t);
    assert_true(text_is_probable(BYTES_LITERAL("\xff\xfe"
                                               "a\0")));
    assert_false(text_is_probable(BYTES_LITERAL("caf\xe9 latin")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_with_lf_crlf_or_nothing),
        cmocka_unit_test(a_bom_is_passed_over),
        cmocka_unit_test(utf16_beyond_and_beside_pairs),
        cmocka_unit_test(nul_bytes_stay),
        cmocka_unit_test(a_long_line_leaves_its_neighbours),
        cmocka_unit_test(no_memory_is_told),
        cmocka_unit_test(only_text_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
