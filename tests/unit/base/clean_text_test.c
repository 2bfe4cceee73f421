// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clean_text.h"

static void each_case(void **state)
{
    (void)state;
    const struct {
        struct bytes text;
        const char *clean;
        bool is_clean;
    } cases[] = {
        {BYTES_LITERAL(""), "", true},
        {BYTES_LITERAL("plain caf\xc3\xa9 \xf0\x9f\x94\xa5"), "plain caf\xc3\xa9 \xf0\x9f\x94\xa5", true},
        {BYTES_LITERAL("a\nb\tc"), "a\\x0ab\\x09c", true},
        {BYTES_LITERAL("a\rb"), "a\\x0db", false},
        {BYTES_LITERAL("\x1b[31m\0\x7f"), "\\x1b[31m\\x00\\x7f", false},
        {BYTES_LITERAL("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0"), "\\x80\\x9b\\x9f\xc2\xa0", false},
        {BYTES_LITERAL("\xff\xfe\xc2"), "\\xff\\xfe\\xc2", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        buf_init(&out, 1000);
        clean_text_add(&out, cases[i].text);
        buf_add_byte(&out, '\0');
        assert_string_equal((const char *)out.data, cases[i].clean);
        assert_int_equal(clean_text_is(cases[i].text), cases[i].is_clean);
        buf_fini(&out);
    }
}

static void as_far_as_there_is_room(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 5);
    clean_text_add(&out, BYTES_LITERAL("abc\x1b"));
    assert_false(buf_ok(&out));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case),
        cmocka_unit_test(as_far_as_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
