// SPDX-License-Identifier: Apache-2.0
#include "config_testing.h"

static void orders_by_source_and_position(void **state)
{
    (void)state;
    struct config_errors e;
    config_errors_init(&e);
    config_error(&e, (struct config_position){"b.yaml", 3, 1}, "late");
    config_error(&e, (struct config_position){0}, "nowhere");
    config_error(&e, (struct config_position){"a.yaml", 1, 1}, "other %s", "file");
    config_warning(&e, (struct config_position){"b.yaml", 2, 9}, "soft");
    config_error(&e, (struct config_position){"b.yaml", 2, 4}, "left");
    config_error(&e, (struct config_position){.source = "--set a"}, "no line");
    assert_messages(&e, "b.yaml:2:4: left\nb.yaml:2:9: warning: soft\nb.yaml:3:1: late\na.yaml:1:1: other file\n"
                        "--set a: no line\nnowhere\n");
    assert_int_equal(e.error_count, 5);
    assert_int_equal(e.count, 6);
    config_errors_fini(&e);
}

static void keeps_a_hundred_and_counts_the_rest(void **state)
{
    (void)state;
    struct config_errors e;
    config_errors_init(&e);
    for (int i = 0; i < 103; i++)
        config_error(&e, (struct config_position){"f", i + 1, 1}, "e");
    assert_int_equal(e.count, 100);
    assert_int_equal(e.error_count, 103);
    char *text = messages_text(&e);
    assert_non_null(strstr(text, "f:100:1: e\nand 3 more\n"));
    free(text);
    config_errors_fini(&e);
}

static void copies_the_source_and_hides_controls(void **state)
{
    (void)state;
    struct config_errors e;
    char source[] = "f\x1b.yaml";
    config_errors_init(&e);
    config_error(&e, (struct config_position){source, 1, 2}, "a\nb\x07\xc2\x9b\xc3\xa9");
    source[0] = 'X';
    assert_messages(&e, "f?.yaml:1:2: a?b???\xc3\xa9\n");
    config_error(NULL, (struct config_position){0}, "dropped");
    config_warning(NULL, (struct config_position){0}, "dropped");
    config_errors_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_by_source_and_position),
        cmocka_unit_test(keeps_a_hundred_and_counts_the_rest),
        cmocka_unit_test(copies_the_source_and_hides_controls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
