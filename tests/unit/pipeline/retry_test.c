// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "pipeline/retry.h"

#define S NANOS_PER_SECOND

static const struct retry_settings defaults = {
    .enabled = true,
    .initial_interval_nanos = 5 * S,
    .max_interval_nanos = 30 * S,
    .max_elapsed_nanos = 300 * S,
    .randomization_factor = 0.5,
    .multiplier = 1.5,
};

static void test_jitter_stays_in_its_bounds(void **state)
{
    (void)state;
    const struct {
        double random;
        int64_t wait;
    } cases[] = {{0.0, 5 * S / 2}, {0.5, 5 * S}, {0.25, 15 * S / 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct retry_state s;
        retry_begin(&s, &defaults, 0);
        assert_int_equal(retry_next(&s, &defaults, 0, 0, cases[i].random), cases[i].wait);
        assert_int_equal(s.attempts, 1);
    }
    struct retry_state s;
    retry_begin(&s, &defaults, 0);
    int64_t most = retry_next(&s, &defaults, 0, 0, 0.9999999);
    assert_true(most > 74 * S / 10 && most < 75 * S / 10);
}

static void test_interval_grows_to_its_maximum(void **state)
{
    (void)state;
    struct retry_settings settings = defaults;
    settings.randomization_factor = 0;
    settings.max_elapsed_nanos = 0;
    static const int64_t waits_ms[] = {5000, 7500, 11250, 16875, 25312, 30000, 30000};
    struct retry_state s;
    retry_begin(&s, &settings, 7);
    for (size_t i = 0; i < sizeof waits_ms / sizeof *waits_ms; i++)
        assert_int_equal(retry_next(&s, &settings, 7, 0, 0.3) / NANOS_PER_MS, waits_ms[i]);
    assert_int_equal(s.attempts, 7);
}

static void test_gives_up_after_max_elapsed(void **state)
{
    (void)state;
    struct retry_settings settings = defaults;
    settings.randomization_factor = 0;
    settings.multiplier = 1;
    settings.max_elapsed_nanos = 12 * S;
    struct retry_state s;
    retry_begin(&s, &settings, 100 * S);
    assert_int_equal(retry_next(&s, &settings, 100 * S, 0, 0), 5 * S);
    assert_int_equal(retry_next(&s, &settings, 107 * S, 0, 0), 5 * S); // ends just at 12 s
    assert_int_equal(retry_next(&s, &settings, 107 * S + 1, 0, 0), -1);
    settings.max_elapsed_nanos = 0;
    assert_int_equal(retry_next(&s, &settings, 100000 * S, 0, 0), 5 * S);
}

static void test_disabled_never_waits(void **state)
{
    (void)state;
    struct retry_settings settings = defaults;
    settings.enabled = false;
    struct retry_state s;
    retry_begin(&s, &settings, 0);
    assert_int_equal(retry_next(&s, &settings, 0, S, 0.5), -1);
    assert_int_equal(s.attempts, 1);
}

static void test_retry_after_is_the_least(void **state)
{
    (void)state;
    struct retry_state s;
    retry_begin(&s, &defaults, 0);
    assert_int_equal(retry_next(&s, &defaults, 0, 60 * S, 0.5), 60 * S);
    assert_int_equal(retry_next(&s, &defaults, 0, 1, 0.5), 75 * S / 10);
    assert_int_equal(retry_next(&s, &defaults, 0, 301 * S, 0.5), -1);
}

static void test_retry_after_forms(void **state)
{
    (void)state;
    const int64_t now = 784111777LL * S; // Sun, 06 Nov 1994 08:49:37 GMT
    const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {
        {NULL, 0},
        {"", 0},
        {"0", 0},
        {"120", 120},
        {"-5", 0},
        {"1.5", 0},
        {"12x", 0},
        {"soon", 0},
        {"99999999", 86400},
        {"99999999999999999999", 0},
        {"Sun, 06 Nov 1994 08:49:47 GMT", 10},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 0},
        {"Sun, 06 Nov 1994 08:00:00 GMT", 0},
        {"Tue, 08 Nov 1994 08:49:37 GMT", 86400},
        {"Sunday, 06-Nov-94 08:50:37 GMT", 60},
        {"Sun Nov  6 08:49:39 1994", 2},
        {"Sun, 06 Nov 1994 08:49:47", 0},
        {"Sun, 06 Nov 1994 08:49:47 GMT and more", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(retry_after_parse(cases[i].text, now), cases[i].seconds * S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jitter_stays_in_its_bounds), cmocka_unit_test(test_interval_grows_to_its_maximum),
        cmocka_unit_test(test_gives_up_after_max_elapsed), cmocka_unit_test(test_disabled_never_waits),
        cmocka_unit_test(test_retry_after_is_the_least),   cmocka_unit_test(test_retry_after_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
