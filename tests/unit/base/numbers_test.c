// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"

static void duration_is(const char *text, int64_t expected)
{
    int64_t nanos = -1;
    if (!duration_parse(text, &nanos) || nanos != expected)
        fail_msg("%s is %lld ns, not %lld", text, (long long)expected, (long long)nanos);
}

static void durations(void **state)
{
    (void)state;
    duration_is("0", 0);
    duration_is("5s", 5000000000);
    duration_is("300ms", 300000000);
    duration_is("1h30m", 5400000000000);
    duration_is("1.5h", 5400000000000);
    duration_is(".5s", 500000000);
    duration_is("1.s", 1000000000);
    duration_is("-1m1s", -61000000000);
    duration_is("+2us", 2000);
    duration_is("2\u00b5s", 2000);
    duration_is("2\u03bcs", 2000);
    duration_is("1.123456789s", 1123456789);
    duration_is("0.1234567899999999999999999999s", 123456789);
    duration_is("0.9ns", 0);
    duration_is("15", 15);
    duration_is("-15", -15);
    duration_is("9223372036854775807ns", INT64_MAX);
    duration_is("-9223372036854775808ns", INT64_MIN);
}

static void what_is_no_duration(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "s",
                                      "5x",
                                      "5 s",
                                      "1h-1m",
                                      ".s",
                                      "+",
                                      "-",
                                      "1.5",
                                      "5sm",
                                      "1e3",
                                      "5S",
                                      " 5s",
                                      "5s ",
                                      "--5",
                                      "5s5",
                                      "0x5s",
                                      "1..5s",
                                      "9223372036854775808ns",
                                      "-9223372036854775809ns",
                                      "3000000h",
                                      "99999999999999999999s",
                                      "2562047h48m"};
    int64_t nanos;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (duration_parse(bad[i], &nanos))
            fail_msg("'%s' should be refused", bad[i]);
}

static void size_is(const char *text, uint64_t expected)
{
    uint64_t bytes = 1;
    if (!size_parse(text, &bytes) || bytes != expected)
        fail_msg("%s is %llu bytes, not %llu", text, (unsigned long long)expected, (unsigned long long)bytes);
}

static void sizes(void **state)
{
    (void)state;
    size_is("0", 0);
    size_is("4096", 4096);
    size_is("7B", 7);
    size_is("10KB", 10000);
    size_is("3MB", 3000000);
    size_is("2GB", 2000000000);
    size_is("1TB", 1000000000000);
    size_is("64KiB", 65536);
    size_is("64MiB", 64 << 20);
    size_is("1.5GiB", (uint64_t)3 << 29);
    size_is("2TiB", (uint64_t)2 << 40);
    size_is("1.1KiB", 1126);
    size_is("0.3333333333333333333333333MB", 333333);
    size_is("64 mib", 64 << 20);
    size_is("18446744073709551615", UINT64_MAX);
}

static void what_is_no_size(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "MiB",
                                      "-1",
                                      "+1",
                                      "1.5",
                                      "1.5B",
                                      "1.",
                                      "64 ",
                                      "64  MB",
                                      " 64",
                                      "64M",
                                      "64MiBs",
                                      "64MB ",
                                      "1,5MB",
                                      "18446744073709551616",
                                      "16777216TiB",
                                      "0x10"};
    uint64_t bytes;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (size_parse(bad[i], &bytes))
            fail_msg("'%s' should be refused", bad[i]);
}

static void integers(void **state)
{
    (void)state;
    int64_t value;
    assert_true(int64_parse("42", &value) && value == 42);
    assert_true(int64_parse("+42", &value) && value == 42);
    assert_true(int64_parse("-007", &value) && value == -7);
    assert_true(int64_parse("9223372036854775807", &value) && value == INT64_MAX);
    assert_true(int64_parse("-9223372036854775808", &value) && value == INT64_MIN);
    static const char *const bad[] = {"",
                                      "-",
                                      "+",
                                      "1 ",
                                      " 1",
                                      "1a",
                                      "0x1",
                                      "1.0",
                                      "--1",
                                      "+-1",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "18446744073709551617"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (int64_parse(bad[i], &value))
            fail_msg("'%s' should be refused", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations), cmocka_unit_test(what_is_no_duration),
        cmocka_unit_test(sizes),     cmocka_unit_test(what_is_no_size),
        cmocka_unit_test(integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
