// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"

static const char *const keys[] = {"endpoint", "timeout", "compression", "sending_queue", "tls", "retry_on_failure"};

static const char *suggest(const char *name)
{
    return text_suggest(name, keys, COUNT_OF(keys));
}

static void slips_are_found(void **state)
{
    (void)state;
    assert_string_equal(suggest("endpont"), "endpoint");
    assert_string_equal(suggest("endpoints"), "endpoint");
    assert_string_equal(suggest("edn-point"), "endpoint");
    assert_string_equal(suggest("TimeOut"), "timeout");
    assert_string_equal(suggest("SENDING-QUEUE"), "sending_queue");
    assert_string_equal(suggest("retry_onfailure"), "retry_on_failure");
    assert_string_equal(suggest("tsl"), "tls");
}

static void case_and_dashes_cost_nothing(void **state)
{
    (void)state;
    const char *const names[] = {"sendingxqueue", "sending_queue", "tls-verify"};
    assert_string_equal(text_suggest("sending-queue", names, 3), "sending_queue");
    assert_string_equal(text_suggest("SENDINGXQUEUE", names, 3), "sendingxqueue");
    assert_string_equal(text_suggest("TLS_VERIFY", names + 2, 1), "tls-verify");
}

static void strangers_are_not(void **state)
{
    (void)state;
    assert_null(suggest("headers"));
    assert_null(suggest("x"));
    assert_null(suggest(""));
    assert_null(text_suggest("endpoint", NULL, 0));
}

static void the_bound_is_one_and_a_third(void **state)
{
    (void)state;
    const char *const six[] = {"abcdef"};
    assert_string_equal(text_suggest("abcxyz", six, 1), "abcdef"); // 3 of 6
    assert_null(text_suggest("abwxyz", six, 1));                   // 4 of 6
}

static void nothing_kept_is_not_near(void **state)
{
    (void)state;
    const char *const short_names[] = {"b", "xy"};
    assert_null(text_suggest("a", short_names, 2));
    assert_string_equal(text_suggest("B", short_names, 2), "b");
}

static void the_nearest_then_the_first_wins(void **state)
{
    (void)state;
    const char *const names[] = {"nameaa", "nameb", "namec"};
    assert_string_equal(text_suggest("name", names, 3), "nameb");
    assert_string_equal(text_suggest("namec", names, 3), "namec");
}

static void long_names_are_left_alone(void **state)
{
    (void)state;
    char name[5000];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const char *const candidates[] = {name, "endpoint"};
    assert_null(text_suggest(name, candidates, 2));
    assert_string_equal(text_suggest("endpoin", candidates, 2), "endpoint");
    name[96] = '\0';
    assert_ptr_equal(text_suggest(name, candidates, 2), name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_are_found),           cmocka_unit_test(case_and_dashes_cost_nothing),
        cmocka_unit_test(strangers_are_not),         cmocka_unit_test(the_bound_is_one_and_a_third),
        cmocka_unit_test(nothing_kept_is_not_near),  cmocka_unit_test(the_nearest_then_the_first_wins),
        cmocka_unit_test(long_names_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
