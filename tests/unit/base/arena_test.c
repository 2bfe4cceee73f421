// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/mem.h"

static void gives_aligned_memory_of_its_own(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    assert_int_equal(a.total_bytes, 0);
    uint8_t *items[200];
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        items[i] = arena_try_alloc(&a, i * 7);
        assert_non_null(items[i]);
        assert_int_equal((uintptr_t)items[i] % 8, 0);
        memset(items[i], (int)i, i * 7);
    }
    for (size_t i = 0; i < COUNT_OF(items); i++)
        for (size_t j = 0; j < i * 7; j++)
            assert_int_equal(items[i][j], i);
    arena_fini(&a);
    assert_int_equal(a.total_bytes, 0);
    assert_non_null(arena_try_alloc(&a, 1));
    arena_fini(&a);
}

static void empty_items_are_not_failures(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    void *first = arena_try_alloc(&a, 0);
    void *second = arena_try_alloc(&a, 0);
    assert_non_null(first);
    assert_non_null(second);
    assert_ptr_not_equal(first, second);
    arena_fini(&a);
}

static void keeps_its_bound(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 4096);
    size_t taken = 0;
    while (arena_try_alloc(&a, 64) != NULL)
        taken += 64;
    assert_true(a.total_bytes <= 4096);
    assert_in_range(taken, 3500, 4096);
    arena_fini(&a);
    assert_null(arena_try_alloc(&a, 4096)); // its own bookkeeping counts
    assert_non_null(arena_try_alloc(&a, 4096 - 64));
    arena_fini(&a);
}

static void refuses_sizes_that_overflow(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    assert_null(arena_try_alloc(&a, SIZE_MAX));
    assert_null(arena_try_alloc(&a, SIZE_MAX - 8));
    assert_null(arena_try_alloc(&a, SIZE_MAX / 2 + 2));
    assert_int_equal(a.total_bytes, 0);
    arena_fini(&a);
}

static void large_items_do_not_waste_the_chunk_before(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    for (int i = 0; i < 50; i++) {
        assert_non_null(arena_try_alloc(&a, 8));
        assert_non_null(arena_try_alloc(&a, 1 << 20));
    }
    assert_true(a.total_bytes < (size_t)52 << 20);
    arena_fini(&a);
}

static void copies_bytes(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 64);
    char source[] = "abc";
    struct bytes copy;
    assert_true(arena_try_copy(&a, bytes_from_text(source), &copy));
    source[0] = 'x';
    assert_true(bytes_equal_text(copy, "abc"));
    assert_true(arena_try_copy(&a, (struct bytes){0}, &copy));
    assert_int_equal(copy.len, 0);
    assert_false(arena_try_copy(&a, (struct bytes){(uint8_t *)source, 100}, &copy));
    arena_fini(&a);
}

static void failing_memory_is_reported_and_survived(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    mem_fail_from(1);
    assert_null(arena_try_alloc(&a, 10));
    struct bytes copy;
    assert_false(arena_try_copy(&a, BYTES_LITERAL("x"), &copy));
    assert_non_null(arena_alloc(&a, 10)); // trusted sizes are not injected
    mem_fail_from(0);
    assert_non_null(arena_try_alloc(&a, 100000));
    arena_fini(&a);
}

static void trusted_allocation_is_zeroed(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    for (int i = 0; i < 100; i++) {
        uint8_t *p = arena_alloc(&a, 100);
        for (int j = 0; j < 100; j++)
            assert_int_equal(p[j], 0);
        memset(p, 0xFF, 100);
    }
    assert_non_null(arena_alloc(&a, 0));
    arena_fini(&a);
}

static void makes_texts(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    assert_string_equal(arena_copy_text(&a, "abcdef", 3), "abc");
    assert_string_equal(arena_copy_text(&a, NULL, 0), "");
    assert_string_equal(arena_format(&a, "%s/%d", "pprof", 7), "pprof/7");
    assert_int_equal(strlen(arena_format(&a, "%5000d", 1)), 5000);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_aligned_memory_of_its_own),
        cmocka_unit_test(empty_items_are_not_failures),
        cmocka_unit_test(keeps_its_bound),
        cmocka_unit_test(refuses_sizes_that_overflow),
        cmocka_unit_test(large_items_do_not_waste_the_chunk_before),
        cmocka_unit_test(copies_bytes),
        cmocka_unit_test(failing_memory_is_reported_and_survived),
        cmocka_unit_test(trusted_allocation_is_zeroed),
        cmocka_unit_test(makes_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
