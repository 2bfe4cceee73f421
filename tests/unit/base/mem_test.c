// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#include <string.h>

static void fixed_memory_is_zeroed(void **state)
{
    (void)state;
    struct thing {
        uint64_t a[8];
    } *t = MEM_NEW(struct thing);
    for (int i = 0; i < 8; i++)
        assert_int_equal(t->a[i], 0);
    free(t);
    void *none = mem_alloc(0);
    assert_non_null(none);
    free(none);
}

static void copies_texts(void **state)
{
    (void)state;
    char source[] = "abc";
    char *copy = mem_copy_text(source);
    source[0] = 'x';
    assert_string_equal(copy, "abc");
    free(copy);
    assert_null(mem_copy_text(NULL));
}

static void the_empty_size_is_not_a_failure(void **state)
{
    (void)state;
    void *p = mem_try_alloc(0), *q = mem_try_array(0, 8);
    assert_non_null(p);
    assert_non_null(q);
    p = mem_try_realloc(p, 0);
    assert_non_null(p);
    free(p);
    free(q);
}

static void overflowing_products_fail(void **state)
{
    (void)state;
    assert_null(mem_try_array(SIZE_MAX / 2, 3));
    void *items = NULL;
    size_t capacity = 0;
    assert_false(mem_try_grow(&items, &capacity, SIZE_MAX / 4, 8, SIZE_MAX));
    assert_null(items);
    assert_int_equal(capacity, 0);
}

static void grow_keeps_items_and_the_maximum(void **state)
{
    (void)state;
    void *items = NULL;
    size_t capacity = 0;
    mem_fail_from(0);
    for (size_t n = 1; n <= 1000; n++) {
        assert_true(mem_try_grow(&items, &capacity, n, sizeof(uint32_t), 1000));
        assert_in_range(capacity, n, 1000);
        ((uint32_t *)items)[n - 1] = (uint32_t)n;
    }
    assert_true(mem_fail_count() < 16);
    for (size_t n = 1; n <= 1000; n++)
        assert_int_equal(((uint32_t *)items)[n - 1], n);
    void *before = items;
    assert_false(mem_try_grow(&items, &capacity, 1001, sizeof(uint32_t), 1000));
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, 1000);
    free(items);
}

static void the_nth_call_and_all_after_it_fail(void **state)
{
    (void)state;
    mem_fail_from(3);
    void *a = mem_try_alloc(1), *b = mem_try_array(1, 1);
    assert_non_null(a);
    assert_non_null(b);
    assert_null(mem_try_realloc(a, 100));
    assert_null(mem_try_alloc(1));
    void *items = b;
    size_t capacity = 1;
    assert_false(mem_try_grow(&items, &capacity, 2, 1, 10));
    assert_ptr_equal(items, b);
    assert_int_equal(mem_fail_count(), 5);
    void *fixed = mem_alloc(1); // not injected
    assert_non_null(fixed);
    mem_fail_from(0);
    assert_int_equal(mem_fail_count(), 0);
    void *c = mem_try_alloc(1);
    assert_non_null(c);
    free(a);
    free(b);
    free(c);
    free(fixed);
}

static void large_blocks_are_like_others(void **state)
{
    (void)state;
    const size_t large = (size_t)3 << 20;
    mem_expect(0);
    mem_expect(SIZE_MAX); // a hint is never a failure
    uint8_t *p = mem_try_alloc(large);
    assert_non_null(p);
    for (size_t i = 0; i < large; i++)
        p[i] = (uint8_t)(i >> 12);
    uint8_t *grown = mem_try_realloc(p, 3 * large);
    assert_non_null(grown);
    grown[3 * large - 1] = 1;
    for (size_t i = 0; i < large; i += 4096)
        assert_int_equal(grown[i], (uint8_t)(i >> 12));
    uint8_t *shrunk = mem_try_realloc(grown, 8192);
    assert_non_null(shrunk);
    assert_int_equal(shrunk[8191], 1);
    free(shrunk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_memory_is_zeroed),           cmocka_unit_test(copies_texts),
        cmocka_unit_test(the_empty_size_is_not_a_failure),  cmocka_unit_test(overflowing_products_fail),
        cmocka_unit_test(grow_keeps_items_and_the_maximum), cmocka_unit_test(the_nth_call_and_all_after_it_fail),
        cmocka_unit_test(large_blocks_are_like_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
