// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/header_set.h"

#include <stdio.h>
#include <string.h>

static const struct http_header own[] = {{"Content-Type", "a/b"}, {"X-Twice", "1"}, {"x-twice", "2"}};

static const char *value_of(const struct header_set *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->items[i].name, name) == 0)
            return s->items[i].value;
    return NULL;
}

static void names_have_no_case(void **state)
{
    (void)state;
    struct header_set s;
    header_set_init(&s, own, 3);
    assert_true(header_set_has(&s, "content-type"));
    assert_false(header_set_has(&s, "content"));
    char value[] = "3";
    header_set_put(&s, "X-TWICE", value);
    value[0] = '4'; // it was copied
    assert_int_equal(s.count, 2);
    assert_string_equal(value_of(&s, "X-TWICE"), "3");
    header_set_remove(&s, "CONTENT-TYPE");
    header_set_remove(&s, "content-type");
    assert_int_equal(s.count, 1);
    header_set_fini(&s);
}

static void it_grows(void **state)
{
    (void)state;
    struct header_set s;
    char name[16];
    header_set_init(&s, NULL, 0);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "x-%d", i);
        header_set_put(&s, name, name);
    }
    assert_int_equal(s.count, 100);
    assert_string_equal(value_of(&s, "x-0"), "x-0");
    assert_string_equal(value_of(&s, "x-99"), "x-99");
    header_set_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_no_case),
        cmocka_unit_test(it_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
