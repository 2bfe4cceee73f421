// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"

#include <time.h>

static void the_systems_clocks(void **state)
{
    (void)state;
    int64_t before = (int64_t)time(NULL);
    int64_t wall = clock_wall_nanos(&clock_system);
    assert_true(wall / NANOS_PER_SECOND >= before - 1);
    assert_true(wall / NANOS_PER_SECOND <= before + 60);
    int64_t first = clock_monotonic_nanos(&clock_system);
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_monotonic_nanos(&clock_system);
        assert_true(now >= first);
        first = now;
    }
}

static int64_t seven(const struct clock *c)
{
    (void)c;
    return 7;
}

static int64_t eight(const struct clock *c)
{
    (void)c;
    return 8;
}

static void an_injected_clock(void **state)
{
    (void)state;
    const struct clock fake = {.wall_nanos = seven, .monotonic_nanos = eight};
    assert_int_equal(clock_wall_nanos(&fake), 7);
    assert_int_equal(clock_monotonic_nanos(&fake), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_systems_clocks),
        cmocka_unit_test(an_injected_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
