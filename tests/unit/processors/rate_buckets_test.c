// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "processors/rate_buckets.h"

static const struct rates ten_profiles = {{[RATE_PROFILES] = 10}}, one_sample = {{[RATE_SAMPLES] = 1}};

static uint64_t key(uint32_t number)
{
    return number * 0x9E3779B97F4A7C15u;
}

static bool takes(struct rate_buckets *b, uint64_t k, const struct rates *per_second, double profiles, double samples,
                  int64_t now, struct rate_shortage *s)
{
    rate_buckets_begin(b, now);
    rate_buckets_ask(b, k, per_second, per_second,
                     &(struct rates){{[RATE_PROFILES] = profiles, [RATE_SAMPLES] = samples}}, 7);
    bool enough = rate_buckets_suffice(b, s);
    rate_buckets_end(b, enough);
    return enough;
}

static void a_bucket_fills_with_time(void **state)
{
    (void)state;
    struct rate_buckets b;
    struct rate_shortage s;
    rate_buckets_init(&b, 2, 100);
    for (int i = 0; i < 20; i++) // 2 s of 10 a second
        assert_true(takes(&b, key(1), &ten_profiles, 1, 1000, 5, &s));
    assert_false(takes(&b, key(1), &ten_profiles, 1, 0, 5, &s));
    assert_true(s.wait_seconds > 0.0999 && s.wait_seconds < 0.1001);
    assert_int_equal(s.unit, RATE_PROFILES);
    assert_int_equal(s.asker, 7);
    assert_true(s.per_second == 10);
    assert_true(takes(&b, key(2), &ten_profiles, 20, 0, 5, &s)); // another one
    assert_false(takes(&b, key(1), &ten_profiles, 1, 0, NANOS_PER_SECOND / 10, &s));
    assert_true(takes(&b, key(1), &ten_profiles, 1, 0, NANOS_PER_SECOND / 10 + 6, &s));
    assert_false(takes(&b, key(1), &ten_profiles, 1, 0, 0, &s)); // time does not go back
    assert_true(takes(&b, key(1), &ten_profiles, 20, 0, 10 * NANOS_PER_SECOND, &s));
    assert_false(takes(&b, key(1), &ten_profiles, 1, 0, 10 * NANOS_PER_SECOND, &s)); // no more than it holds
    rate_buckets_fini(&b);
}

// Else it could never pass.
static void more_than_a_bucket_holds_goes_through_when_it_is_full(void **state)
{
    (void)state;
    struct rate_buckets b;
    struct rate_shortage s;
    rate_buckets_init(&b, 10, 100);
    assert_true(takes(&b, key(1), &one_sample, 0, 100, 0, &s));
    assert_false(takes(&b, key(1), &one_sample, 0, 1, 0, &s)); // 90 below nothing
    assert_true(s.wait_seconds > 90.999 && s.wait_seconds < 91.001);
    assert_false(takes(&b, key(1), &one_sample, 0, 100, 0, &s));
    assert_true(s.wait_seconds > 99.999 && s.wait_seconds < 100.001); // full again
    assert_true(takes(&b, key(1), &one_sample, 0, 1, 91 * NANOS_PER_SECOND + 1, &s));
    rate_buckets_fini(&b);
}

static void all_or_nothing_is_taken(void **state)
{
    (void)state;
    struct rate_buckets b;
    struct rate_shortage s;
    const struct rates five = {{[RATE_PROFILES] = 5}}, six = {{[RATE_PROFILES] = 6}};
    rate_buckets_init(&b, 1, 100);
    assert_true(takes(&b, key(2), &ten_profiles, 5, 0, 0, &s));
    for (int round = 0; round < 3; round++) {
        rate_buckets_begin(&b, 0);
        rate_buckets_ask(&b, key(1), &ten_profiles, &ten_profiles, &five, 0);
        rate_buckets_ask(&b, key(2), &ten_profiles, &ten_profiles, &six, 1);
        assert_false(rate_buckets_suffice(&b, &s));
        assert_int_equal(s.asker, 1);
        rate_buckets_end(&b, false);
    }
    rate_buckets_begin(&b, 0);
    rate_buckets_ask(&b, key(1), &ten_profiles, &ten_profiles, &five, 0);
    rate_buckets_ask(&b, key(2), &ten_profiles, &ten_profiles, &five, 1);
    rate_buckets_ask(&b, key(1), &ten_profiles, &ten_profiles, &five, 2); // of the same: they add up
    assert_true(rate_buckets_suffice(&b, &s));
    rate_buckets_end(&b, true);
    assert_false(takes(&b, key(1), &ten_profiles, 1, 0, 0, &s));
    assert_false(takes(&b, key(2), &ten_profiles, 1, 0, 0, &s));
    rate_buckets_fini(&b);
}

static void further_keys_share_a_bucket(void **state)
{
    (void)state;
    enum { MOST = 50 };
    struct rate_buckets b;
    struct rate_shortage s;
    rate_buckets_init(&b, 1, MOST);
    for (uint32_t i = 1; i <= MOST; i++)
        assert_true(takes(&b, key(i), &ten_profiles, 10, 0, 0, &s));
    assert_true(takes(&b, key(1000), &ten_profiles, 6, 0, 0, &s));
    assert_false(takes(&b, key(1001), &ten_profiles, 6, 0, 0, &s));
    assert_int_equal(b.buckets.count, MOST + 1);
    assert_false(takes(&b, key(3), &ten_profiles, 1, 0, 0, &s)); // still known
    // All but the first are full again: they are forgotten, which nobody notices.
    assert_true(takes(&b, key(1), &ten_profiles, 5, 0, NANOS_PER_SECOND - 1, &s));
    assert_true(takes(&b, key(1001), &ten_profiles, 10, 0, NANOS_PER_SECOND, &s));
    assert_int_equal(b.buckets.count, 1 + 2);
    assert_false(takes(&b, key(1001), &ten_profiles, 1, 0, NANOS_PER_SECOND, &s));
    assert_false(takes(&b, key(1), &ten_profiles, 6, 0, NANOS_PER_SECOND, &s));
    assert_true(takes(&b, key(1), &ten_profiles, 5, 0, NANOS_PER_SECOND, &s));
    rate_buckets_fini(&b);
}

static void without_memory_keys_share_a_bucket(void **state)
{
    (void)state;
    for (size_t n = 1; n < 4; n++) {
        struct rate_buckets b;
        struct rate_shortage s;
        rate_buckets_init(&b, 1, 1000);
        mem_fail_from(n);
        uint32_t taken = 0;
        for (uint32_t i = 1; i <= 20; i++)
            taken += takes(&b, key(i), &ten_profiles, 10, 0, 0, &s);
        mem_fail_from(0);
        assert_in_range(taken, 1, 19);
        rate_buckets_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_fills_with_time),
        cmocka_unit_test(more_than_a_bucket_holds_goes_through_when_it_is_full),
        cmocka_unit_test(all_or_nothing_is_taken),
        cmocka_unit_test(further_keys_share_a_bucket),
        cmocka_unit_test(without_memory_keys_share_a_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
