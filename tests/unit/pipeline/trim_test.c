// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/trim.h"

struct fixture {
    uv_loop_t loop;
    struct budget budget;
    struct workers *workers;
    struct trim trim;
};

static void setup(struct fixture *f, uint64_t after_ms)
{
    assert_int_equal(uv_loop_init(&f->loop), 0);
    budget_init(&f->budget, 1 << 20);
    f->workers = workers_create(1, 8, 1 << 20);
    trim_start(&f->trim, &f->loop, after_ms, f->workers, &f->budget);
}

static void teardown(struct fixture *f)
{
    trim_close(&f->trim);
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    workers_stop(f->workers);
    workers_destroy(&f->workers);
}

static void test_nothing_to_do_without_activity(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, TRIM_AFTER_MS);
    for (int i = 0; i < 5; i++)
        assert_false(trim_tick(&f.trim));
    teardown(&f);
}

static void test_a_process_larger_than_its_budget(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, TRIM_AFTER_MS);
    assert_false(trim_press(&f.trim)); // what it has then is its own
    assert_true(budget_try_take(&f.budget, 600 << 10));
    assert_true(trim_press(&f.trim));
    f.budget.limit = SIZE_MAX / 2;
    assert_false(trim_press(&f.trim));
    f.budget.limit = 1 << 20;
    budget_give(&f.budget, 600 << 10);
    teardown(&f);
}

static void test_once_after_the_budget_was_quiet(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, TRIM_AFTER_MS);
    assert_true(budget_try_take(&f.budget, 1000));
    assert_false(trim_tick(&f.trim));
    assert_false(trim_tick(&f.trim));
    budget_give(&f.budget, 1000); // moves again
    assert_false(trim_tick(&f.trim));
    assert_false(trim_tick(&f.trim));
    assert_true(trim_tick(&f.trim));
    assert_false(trim_tick(&f.trim));
    assert_false(trim_tick(&f.trim));
    teardown(&f);
}

static void run_nothing(struct job *job)
{
    (void)job;
}

static void test_a_job_is_activity(void **state)
{
    (void)state;
    struct fixture f;
    struct job job = {.run = run_nothing};
    setup(&f, TRIM_AFTER_MS);
    assert_true(workers_try_submit(f.workers, &job));
    assert_int_equal(workers_submitted(f.workers), 1);
    assert_false(trim_tick(&f.trim));
    while (workers_busy(f.workers) != 0)
        ;
    unsigned ticks = 1;
    while (!trim_tick(&f.trim))
        ticks++;
    assert_int_equal(ticks, 2);
    teardown(&f);
}

static void test_the_timer_looks(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 2);
    f.trim.held = true;
    uv_ref((uv_handle_t *)&f.trim.timer);
    while (f.trim.held)
        uv_run(&f.loop, UV_RUN_ONCE);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_do_without_activity),
        cmocka_unit_test(test_a_process_larger_than_its_budget),
        cmocka_unit_test(test_once_after_the_budget_was_quiet),
        cmocka_unit_test(test_a_job_is_activity),
        cmocka_unit_test(test_the_timer_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
