// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/processors/fixture.h"

#include "tests/support/test_folder.h"

#include <sys/stat.h>

#define MIB ((size_t)1 << 20)

static struct processor *limiter(struct test_run *r)
{
    return (struct processor *)r->component.instance.component;
}

static struct budget *budget(struct test_run *r)
{
    return &r->env.budget;
}

static void start(struct test_run *r, const char *yaml)
{
    run_begin(r, &memory_limiter_processor, yaml);
    assert_int_equal(fake_component_start(&r->component, &r->e), ERR_OK);
}

static bool has_room(struct test_run *r, struct verdict *refusal)
{
    return limiter(r)->module->has_room(limiter(r), refusal);
}

static bool admits(struct test_run *r, const struct batch *b)
{
    struct verdict refusal;
    return limiter(r)->module->admit(limiter(r), b, &refusal);
}

static void above_the_soft_limit_nothing_new_is_let_in(void **state)
{
    (void)state;
    struct test_run r;
    struct verdict refusal = {.kind = VERDICT_OK};
    start(&r, "{limit_mib: 100, spike_limit_mib: 30}");
    assert_int_equal(budget(&r)->limit, 100 * MIB);
    assert_true(budget_try_take(budget(&r), 70 * MIB));
    assert_true(has_room(&r, &refusal));
    assert_true(budget_try_take(budget(&r), 1));
    assert_false(has_room(&r, &refusal));
    assert_int_equal(refusal.kind, VERDICT_RETRY);
    assert_false(refusal.over_limit);
    assert_string_equal(refusal.text,
                        "memory_limiter: 73400321 bytes of memory are used, above 73400320 nothing new is "
                        "let in");
    assert_true(budget_try_take(budget(&r), 30 * MIB - 1)); // what is on its way has the rest
    budget_give(budget(&r), 30 * MIB);
    assert_true(has_room(&r, &refusal));
    budget_give(budget(&r), 70 * MIB);
    run_end(&r);
}

// Else a delivery larger than the soft limit would come again for ever.
static void a_delivery_does_not_stand_in_its_own_way(void **state)
{
    (void)state;
    struct test_run r;
    struct batch *b = random_batch(3, NULL);
    const size_t own = batch_memory_bytes(b);
    start(&r, "{limit_mib: 10, spike_limit_mib: 9}");
    assert_true(budget_try_take(budget(&r), MIB + own));
    assert_true(admits(&r, b));
    assert_true(budget_try_take(budget(&r), 1));
    assert_false(admits(&r, b));
    budget_give(budget(&r), MIB + own + 1);
    batch_unref(&b);
    run_end(&r);
}

static void the_spike_is_a_fifth_unless_it_is_set(void **state)
{
    (void)state;
    struct test_run r;
    struct verdict refusal;
    start(&r, "limit_mib: 100");
    assert_true(budget_try_take(budget(&r), 80 * MIB - 1024));
    assert_true(has_room(&r, &refusal));
    assert_true(budget_try_take(budget(&r), 2048));
    assert_false(has_room(&r, &refusal));
    budget_give(budget(&r), 80 * MIB + 1024);
    run_end(&r);
}

static void make_groups(const struct test_folder *f)
{
    static const char *const names[] = {"sys", "sys/fs", "sys/fs/cgroup"};
    char path[256];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        test_folder_path(f, names[i], path);
        assert_int_equal(mkdir(path, 0700), 0);
    }
}

static void a_percentage_is_of_the_cgroup(void **state)
{
    (void)state;
    struct test_folder f;
    struct test_run r;
    char yaml[512];
    struct verdict refusal;
    test_folder_init(&f);
    make_groups(&f);
    test_folder_write(&f, "sys/fs/cgroup/memory.max", BYTES_LITERAL("209715200\n")); // 200 MiB
    snprintf(yaml, sizeof yaml, "{limit_percentage: 50, spike_limit_percentage: 10, root_path: %s}", f.path);
    start(&r, yaml);
    assert_int_equal(budget(&r)->limit, 100 * MIB);
    assert_true(budget_try_take(budget(&r), 80 * MIB));
    assert_true(has_room(&r, &refusal));
    assert_true(budget_try_take(budget(&r), 1));
    assert_false(has_room(&r, &refusal));
    budget_give(budget(&r), 80 * MIB + 1);
    run_end(&r);
    test_folder_fini(&f);
}

static void a_hundredth_of_nothing_refuses_everything(void **state)
{
    (void)state;
    struct test_folder f;
    struct test_run r;
    char yaml[512];
    struct verdict refusal;
    test_folder_init(&f);
    make_groups(&f);
    test_folder_write(&f, "sys/fs/cgroup/memory.max", BYTES_LITERAL("50"));
    snprintf(yaml, sizeof yaml, "{limit_percentage: 50, root_path: %s}", f.path);
    start(&r, yaml);
    assert_int_equal(budget(&r)->limit, 1);
    assert_true(has_room(&r, &refusal)); // nothing is used
    assert_false(budget_try_take(budget(&r), 2));
    run_end(&r);
    test_folder_fini(&f);
}

// Whoever has the smaller limit; the other keeps its part of it free.
static void the_smallest_limit_counts(void **state)
{
    (void)state;
    struct test_run r;
    struct verdict refusal;
    run_begin(&r, &memory_limiter_processor, "{limit_mib: 100, spike_limit_mib: 50}");
    budget_set_limit(budget(&r), 10 * MIB); // by service.memory_limit, or another one
    assert_int_equal(fake_component_start(&r.component, &r.e), ERR_OK);
    assert_int_equal(budget(&r)->limit, 10 * MIB);
    assert_true(budget_try_take(budget(&r), 5 * MIB));
    assert_true(has_room(&r, &refusal));
    assert_true(budget_try_take(budget(&r), 1));
    assert_false(has_room(&r, &refusal));
    assert_non_null(strstr(fake_env_log(&r.env), "allows 10485760 bytes, this one 104857600: the smaller counts; above "
                                                 "5242880 nothing new is let in"));
    budget_give(budget(&r), 5 * MIB + 1);
    run_end(&r);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
#define NAME "processors.memory_limiter: "
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"{}", "test:1:1: " NAME "limit_mib or limit_percentage must be greater than 0\n"},
        {"{limit_mib: 10, spike_limit_mib: 10}",
         "test:1:17: " NAME "spike_limit_mib: must be smaller than limit_mib: 10 is not less than 10\n"},
        {"{limit_percentage: 50, spike_limit_percentage: 60}",
         "test:1:24: " NAME "spike_limit_percentage: must be smaller than limit_percentage: 60 is not less than 50\n"},
        {"{limit_percentage: 50, spike_limit_mib: 5}",
         "test:1:24: " NAME "spike_limit_mib: needs limit_mib; beside limit_percentage it is spike_limit_percentage\n"},
        {"{limit_percentage: 101}", "test:1:20: " NAME "limit_percentage: expected 0 to 100, found 101\n"},
        {"{limit_mib: 10, limit_percentage: 50, spike_limit_percentage: 60}", ""}, // limit_mib comes first
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_setting_error(&memory_limiter_processor, cases[i].yaml, cases[i].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(above_the_soft_limit_nothing_new_is_let_in),
        cmocka_unit_test(a_delivery_does_not_stand_in_its_own_way),
        cmocka_unit_test(the_spike_is_a_fifth_unless_it_is_set),
        cmocka_unit_test(a_percentage_is_of_the_cgroup),
        cmocka_unit_test(a_hundredth_of_nothing_refuses_everything),
        cmocka_unit_test(the_smallest_limit_counts),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
