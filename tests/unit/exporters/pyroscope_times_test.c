// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "exporters/pyroscope_times.h"

static int64_t take(struct pyroscope_times *t, uint64_t labels, int64_t nanos)
{
    assert_true(pyroscope_times_take(t, labels, &nanos));
    return nanos;
}

static void test_each_time_is_given_once(void **state)
{
    (void)state;
    struct pyroscope_times t;
    pyroscope_times_init(&t);
    assert_int_equal(take(&t, 1, 100), 100);
    assert_int_equal(take(&t, 1, 102), 102);
    assert_int_equal(take(&t, 1, 100), 101);
    assert_int_equal(take(&t, 1, 100), 103);
    assert_int_equal(take(&t, 1, 102), 104);
    assert_int_equal(take(&t, 2, 100), 100); // another series
    assert_int_equal(take(&t, 1, -1), -1);
    pyroscope_times_fini(&t);
}

static void test_many_of_one_time_take_no_longer(void **state)
{
    (void)state;
    enum { MANY = 200000 };
    struct pyroscope_times t;
    pyroscope_times_init(&t);
    for (int64_t i = 0; i < MANY; i++)
        assert_int_equal(take(&t, 7, 1000), 1000 + i);
    assert_int_equal(take(&t, 7, 1500), 1000 + MANY); // into the middle of them
    pyroscope_times_fini(&t);
}

static void test_memory(void **state)
{
    (void)state;
    for (size_t n = 1; n < 8; n++) {
        struct pyroscope_times t;
        pyroscope_times_init(&t);
        mem_fail_from(n);
        for (int64_t i = 0; i < 100; i++) {
            int64_t nanos = 5;
            if (!pyroscope_times_take(&t, 1, &nanos))
                break;
            assert_int_equal(nanos, 5 + i);
        }
        mem_fail_from(0);
        pyroscope_times_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_time_is_given_once),
        cmocka_unit_test(test_many_of_one_time_take_no_longer),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
