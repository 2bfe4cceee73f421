// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/decode.h"

static void note(void *arg, bool lost, const char *text)
{
    buf_add_format(arg, "%s%s\n", lost ? "! " : "", text);
}

static void is_told(const struct decode_report *r, const char *expected)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    decode_report_tell(r, note, &text);
    buf_add_byte(&text, 0);
    assert_string_equal((const char *)text.data, expected);
    buf_fini(&text);
}

static void what_was_noticed_is_told(void **state)
{
    (void)state;
    struct decode_report r = {.comment_lines = 9, .samples = 9};
    is_told(&r, "");
    r.rounded_values = 2;
    r.cut_stacks = 3;
    is_told(&r, "! stacks that are too deep and were cut at the root's end: 3\nfractions that were rounded: 2\n");
    r = (struct decode_report){.repaired_utf8 = 1};
    decode_bad_line(&r, 7, "it has no %s", "count");
    decode_bad_line(&r, 8, "another");
    is_told(&r, "! lines passed over: 2, the first: line 7: it has no count\ntexts that are not UTF-8, repaired: 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_noticed_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
