// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/budget.h"
#include "tests/support/test_folder.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void test_take_and_give(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, 100);
    assert_true(budget_try_take(&b, 60));
    assert_false(budget_try_take(&b, 41));
    assert_int_equal(atomic_load(&b.used), 60);
    assert_true(budget_try_take(&b, 40));
    assert_true(budget_try_take(&b, 0));
    assert_false(budget_try_take(&b, 1));
    budget_give(&b, 100);
    assert_int_equal(atomic_load(&b.used), 0);
    assert_false(budget_try_take(&b, 101));
    assert_false(budget_try_take(&b, SIZE_MAX));
    assert_int_equal(atomic_load(&b.used), 0);
}

static void test_change(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, 100);
    assert_true(budget_try_take(&b, 50));
    assert_true(budget_try_change(&b, 50, 100));
    assert_false(budget_try_change(&b, 100, 101));
    assert_int_equal(atomic_load(&b.used), 100);
    assert_true(budget_try_change(&b, 100, 1));
    assert_int_equal(atomic_load(&b.used), 1);
    assert_true(budget_try_change(&b, 1, 1));
    assert_false(budget_try_change(&b, 1, SIZE_MAX));
    assert_int_equal(atomic_load(&b.used), 1);
    assert_true(budget_try_change(&b, 1, 0));
}

static void test_the_least_limit_that_is_set_counts(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, 100);
    budget_set_limit(&b, 200); // more than the default
    assert_int_equal(b.limit, 200);
    budget_set_limit(&b, 300);
    assert_int_equal(b.limit, 200);
    budget_set_limit(&b, 50);
    assert_int_equal(b.limit, 50);
    assert_false(budget_try_take(&b, 51));
}

enum { THREADS = 4, ROUNDS = 5000 };

static void *take_and_give(void *arg)
{
    struct budget *b = arg;
    for (int i = 0; i < ROUNDS; i++) {
        if (budget_try_take(b, 3)) {
            bool grown = budget_try_change(b, 3, 4);
            budget_give(b, grown ? 4 : 3);
        }
    }
    return NULL;
}

static void test_threads_leave_nothing_behind(void **state)
{
    (void)state;
    struct budget b;
    pthread_t threads[THREADS];
    budget_init(&b, 10);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &b), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&b.used), 0);
}

static void make_folder(const struct test_folder *f, const char *name)
{
    char path[256];
    assert_int_equal(mkdir(test_folder_path(f, name, path), 0700), 0);
}

static void write_text(const struct test_folder *f, const char *name, const char *text)
{
    test_folder_write(f, name, bytes_from_text(text));
}

static void make_root(struct test_folder *f)
{
    test_folder_init(f);
    make_folder(f, "proc");
    make_folder(f, "sys");
    make_folder(f, "sys/fs");
    make_folder(f, "sys/fs/cgroup");
    make_folder(f, "sys/fs/cgroup/memory");
}

#define MIB (1024ULL * 1024)

static void test_default_is_half_of_the_machine(void **state)
{
    (void)state;
    struct test_folder f;
    make_root(&f);
    assert_int_equal(budget_default_limit(f.path), 512 * MIB); // nothing known: as if it had a GiB
    write_text(&f, "proc/meminfo", "MemTotal:        4194304 kB\nMemFree: 1 kB\n");
    assert_int_equal(budget_default_limit(f.path), 2048 * MIB);
    write_text(&f, "sys/fs/cgroup/memory.max", "max\n");
    assert_int_equal(budget_default_limit(f.path), 2048 * MIB);
    write_text(&f, "proc/meminfo", "nonsense\n");
    assert_int_equal(budget_default_limit(f.path), 512 * MIB);
    test_folder_fini(&f);
}

static void test_default_is_three_quarters_of_the_cgroup(void **state)
{
    (void)state;
    struct test_folder f;
    make_root(&f);
    write_text(&f, "proc/meminfo", "MemTotal:        4194304 kB\n");
    write_text(&f, "sys/fs/cgroup/memory.max", "1073741824\n");
    assert_int_equal(budget_default_limit(f.path), 768 * MIB);
    write_text(&f, "sys/fs/cgroup/memory.max", "99999999999999\n"); // more than there is
    assert_int_equal(budget_default_limit(f.path), 2048 * MIB);
    test_folder_fini(&f);
}

static void test_default_of_cgroup_v1(void **state)
{
    (void)state;
    struct test_folder f;
    make_root(&f);
    write_text(&f, "proc/meminfo", "MemTotal:        4194304 kB\n");
    write_text(&f, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); // none
    assert_int_equal(budget_default_limit(f.path), 2048 * MIB);
    write_text(&f, "sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
    assert_int_equal(budget_default_limit(f.path), 192 * MIB);
    test_folder_fini(&f);
}

static void make_folders(const struct test_folder *f, const char *path)
{
    char part[256], full[256];
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        test_folder_path(f, part, full);
        (void)mkdir(full, 0700); // may be there
    }
}

static void test_the_least_of_the_groups_around_counts(void **state)
{
    (void)state;
    static const struct {
        const char *group;
        struct {
            const char *path, *text;
        } limits[4];
        unsigned long long mib;
        bool is_cgroup;
    } cases[] = {
        {"0::/\n", {{"sys/fs/cgroup/memory.max", "max\n"}}, 4096, false},
        {"0::/a/b\n", {{"sys/fs/cgroup/a/b/memory.max", "1073741824\n"}}, 1024, true},
        {"0::/a/b\n",
         {{"sys/fs/cgroup/a/b/memory.max", "max\n"}, {"sys/fs/cgroup/a/memory.max", "536870912\n"}},
         512,
         true},
        {"0::/a/b\n",
         {{"sys/fs/cgroup/a/b/memory.max", "1073741824\n"}, {"sys/fs/cgroup/memory.max", "536870912\n"}},
         512,
         true},
        {"0::/a\n", {{"sys/fs/cgroup/other/memory.max", "1048576\n"}}, 4096, false},
        {"0::/../other\n", {{"sys/fs/other/memory.max", "1048576\n"}}, 4096, false},
        // The host's path, which the container does not see.
        {"0::/kubepods/pod1\n", {{"sys/fs/cgroup/memory.max", "268435456\n"}}, 256, true},
        {"5:cpu:/x\n4:memory:/a/b\n0::/\n",
         {{"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"},
          {"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "134217728\n"},
          {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
          {"sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1048576\n"}},
         128,
         true},
        {"nonsense\n:\n", {{"sys/fs/cgroup/memory.max", "nonsense"}}, 4096, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct test_folder f;
        bool is_cgroup;
        test_folder_init(&f);
        make_folders(&f, "proc/self/cgroup");
        write_text(&f, "proc/meminfo", "MemTotal:        4194304 kB\n");
        write_text(&f, "proc/self/cgroup", cases[i].group);
        for (size_t k = 0; k < COUNT_OF(cases[i].limits) && cases[i].limits[k].path != NULL; k++) {
            make_folders(&f, cases[i].limits[k].path);
            write_text(&f, cases[i].limits[k].path, cases[i].limits[k].text);
        }
        assert_int_equal(budget_total_memory(f.path, &is_cgroup), cases[i].mib * MIB);
        assert_int_equal(is_cgroup, cases[i].is_cgroup);
        assert_int_equal(budget_default_limit(f.path),
                         cases[i].is_cgroup ? cases[i].mib * MIB / 4 * 3 : cases[i].mib * MIB / 2);
        test_folder_fini(&f);
    }
}

static void test_a_long_path_is_no_danger(void **state)
{
    (void)state;
    struct test_folder f;
    static char line[6000];
    test_folder_init(&f);
    make_folders(&f, "proc/self/cgroup");
    memset(line, 'a', sizeof line - 1);
    memcpy(line, "0::/", 4);
    for (size_t i = 4; i < sizeof line - 1; i += 2)
        line[i] = '/';
    write_text(&f, "proc/self/cgroup", line);
    assert_int_equal(budget_total_memory(f.path, NULL), 1024 * MIB);
    test_folder_fini(&f);
}

static void test_default_of_this_machine(void **state)
{
    (void)state;
    assert_true(budget_default_limit("/") > 16 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_and_give),
        cmocka_unit_test(test_change),
        cmocka_unit_test(test_the_least_limit_that_is_set_counts),
        cmocka_unit_test(test_threads_leave_nothing_behind),
        cmocka_unit_test(test_default_is_half_of_the_machine),
        cmocka_unit_test(test_default_is_three_quarters_of_the_cgroup),
        cmocka_unit_test(test_default_of_cgroup_v1),
        cmocka_unit_test(test_the_least_of_the_groups_around_counts),
        cmocka_unit_test(test_a_long_path_is_no_danger),
        cmocka_unit_test(test_default_of_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
