// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

#include <string.h>

static void set_replaces(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(err_set(&e, ERR_LIMIT, "%d is above %d", 8, 7), ERR_LIMIT);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_string_equal(e.text, "8 is above 7");
    assert_int_equal(err_set(&e, ERR_IO, "x"), ERR_IO);
    assert_string_equal(e.text, "x");
    assert_int_equal(err_set(NULL, ERR_MEMORY, "nobody listens"), ERR_MEMORY);
}

static void prefix_keeps_the_code(void **state)
{
    (void)state;
    struct err e = {0};
    err_set(&e, ERR_INVALID, "bad varint");
    err_prefix(&e, "sample %d", 17);
    err_prefix(&e, "%s", "cpu.pb.gz");
    assert_int_equal(e.code, ERR_INVALID);
    assert_string_equal(e.text, "cpu.pb.gz: sample 17: bad varint");
    err_prefix(NULL, "nobody");
}

static void the_old_text_may_be_an_argument(void **state)
{
    (void)state;
    struct err e = {0};
    err_set(&e, ERR_INVALID, "inner");
    err_set(&e, ERR_IO, "outer (%s)", e.text);
    assert_string_equal(e.text, "outer (inner)");
    err_prefix(&e, "%s", e.text);
    assert_string_equal(e.text, "outer (inner): outer (inner)");
}

static void long_texts_are_cut_and_say_so(void **state)
{
    (void)state;
    struct err e;
    char text[3 * ERR_TEXT_MAX];
    for (int shift = 0; shift < 4; shift++) {
        // Three-byte characters, cut at each of their bytes.
        memset(text, 'a', (size_t)shift);
        for (size_t i = (size_t)shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\u20ac", 4);
        err_set(&e, ERR_INVALID, "%s", text);
        size_t len = strlen(e.text);
        assert_in_range(len, ERR_TEXT_MAX - 5, ERR_TEXT_MAX - 1);
        assert_string_equal(e.text + len - 3, "...");
        assert_int_equal((len - 3 - (size_t)shift) % 3, 0);
    }
    err_set(&e, ERR_INVALID, "%*d", ERR_TEXT_MAX - 1, 1);
    assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
    assert_int_equal(e.text[ERR_TEXT_MAX - 2], '1');
    err_prefix(&e, "first");
    assert_int_equal(strncmp(e.text, "first:  ", 8), 0);
    assert_string_equal(e.text + strlen(e.text) - 3, "...");
    err_prefix(&e, "%*d", 2 * ERR_TEXT_MAX, 1);
    assert_string_equal(e.text + strlen(e.text) - 3, "...");
}

static void codes_have_names(void **state)
{
    (void)state;
    assert_string_equal(err_code_name(ERR_OK), "ok");
    assert_string_equal(err_code_name(ERR_INVALID), "invalid");
    assert_string_equal(err_code_name(ERR_LIMIT), "limit");
    assert_string_equal(err_code_name(ERR_UNSUPPORTED), "unsupported");
    assert_string_equal(err_code_name(ERR_MEMORY), "memory");
    assert_string_equal(err_code_name(ERR_IO), "io");
    assert_string_equal(err_code_name(ERR_UNAVAILABLE), "unavailable");
    assert_string_equal(err_code_name(ERR_CANCELLED), "cancelled");
    assert_string_equal(err_code_name((enum err_code)(ERR_CANCELLED + 1)), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_replaces),
        cmocka_unit_test(prefix_keeps_the_code),
        cmocka_unit_test(the_old_text_may_be_an_argument),
        cmocka_unit_test(long_texts_are_cut_and_say_so),
        cmocka_unit_test(codes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
