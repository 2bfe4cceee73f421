// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/check.h"

#include <stdio.h>

static void compares(void **state)
{
    (void)state;
    assert_true(bytes_equal((struct bytes){NULL, 0}, BYTES_LITERAL("")));
    assert_true(bytes_equal(BYTES_LITERAL("a\0b"), BYTES_LITERAL("a\0b")));
    assert_false(bytes_equal(BYTES_LITERAL("a\0b"), BYTES_LITERAL("a\0c")));
    assert_false(bytes_equal(BYTES_LITERAL("a"), BYTES_LITERAL("ab")));
    assert_true(bytes_equal_text(BYTES_LITERAL("ab"), "ab"));
    assert_false(bytes_equal_text(BYTES_LITERAL("ab\0"), "ab"));
    assert_int_equal(bytes_from_text(NULL).len, 0);
    assert_int_equal(bytes_from_text("abc").len, 3);
}

static void has_an_order(void **state)
{
    (void)state;
    static const char *const ordered[] = {"", "a", "a\x01", "aa", "b", "\xff"};
    for (size_t i = 0; i < COUNT_OF(ordered); i++)
        for (size_t k = 0; k < COUNT_OF(ordered); k++) {
            int order = bytes_compare(bytes_from_text(ordered[i]), bytes_from_text(ordered[k]));
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    assert_int_equal(bytes_compare((struct bytes){NULL, 0}, (struct bytes){NULL, 0}), 0);
}

static void prints_a_bounded_part(void **state)
{
    (void)state;
    char text[2000];
    uint8_t data[1000];
    memset(data, 'x', sizeof data);
    struct bytes b = {data, sizeof data};
    assert_int_equal(snprintf(text, sizeof text, "%.*s", BYTES_PRINT(b)), 512);
    b.len = 3;
    assert_int_equal(snprintf(text, sizeof text, "<%.*s>", BYTES_PRINT(b)), 5);
    assert_string_equal(text, "<xxx>");
    struct bytes none = {NULL, 0};
    snprintf(text, sizeof text, "<%.*s>", BYTES_PRINT(none));
    assert_string_equal(text, "<>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compares),
        cmocka_unit_test(has_an_order),
        cmocka_unit_test(prints_a_bounded_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
