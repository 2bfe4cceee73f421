// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"

static void collects_what_is_added(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 100);
    assert_null(b.data);
    buf_add(&b, "abc", 3);
    buf_add_byte(&b, '-');
    buf_add_text(&b, "def");
    buf_add_format(&b, "%d%s", 42, "!");
    buf_add(&b, NULL, 0);
    buf_add_format(&b, "%s", "");
    assert_true(buf_ok(&b));
    assert_true(bytes_equal_text(buf_bytes(&b), "abc-def42!"));
    buf_fini(&b);
    buf_fini(&b);
}

static void full_to_the_last_byte_and_no_further(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 5);
    buf_add_format(&b, "%s", "hello");
    assert_true(buf_ok(&b));
    assert_true(bytes_equal_text(buf_bytes(&b), "hello"));
    buf_add_byte(&b, '!');
    assert_false(buf_ok(&b));
    assert_true(b.too_large);
    assert_int_equal(b.len, 5);
    buf_fini(&b);
}

static void the_first_failure_sticks(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 8);
    buf_add_text(&b, "123456");
    buf_add_text(&b, "789");
    buf_add_byte(&b, 'x'); // would fit
    assert_true(b.failed && b.too_large);
    assert_true(bytes_equal_text(buf_bytes(&b), "123456"));
    assert_false(buf_reserve(&b, 1));
    buf_clear(&b);
    assert_true(buf_ok(&b));
    buf_add_text(&b, "again");
    assert_true(bytes_equal_text(buf_bytes(&b), "again"));
    buf_fini(&b);
}

static void grows_in_few_steps_within_the_maximum(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 100000);
    mem_fail_from(0);
    for (int i = 0; i < 100000; i++)
        buf_add_byte(&b, (uint8_t)i);
    assert_true(buf_ok(&b));
    assert_int_equal(b.capacity, 100000);
    assert_true(mem_fail_count() <= 13);
    for (int i = 0; i < 100000; i++)
        if (b.data[i] != (uint8_t)i)
            fail_msg("byte %d is wrong", i);
    buf_fini(&b);
}

static void reserve_promises_room(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, SIZE_MAX);
    assert_true(buf_reserve(&b, 1000));
    assert_true(b.capacity - b.len >= 1000);
    assert_true(buf_reserve(&b, 0));
    buf_add_byte(&b, 1);
    assert_false(buf_reserve(&b, SIZE_MAX - 1));
    assert_true(b.failed);
    assert_false(b.too_large); // no bound broken, memory is out
    buf_fini(&b);
    buf_init(&b, 10);
    buf_add_byte(&b, 1);
    assert_false(buf_reserve(&b, SIZE_MAX));
    assert_true(b.too_large);
    buf_fini(&b);
}

static void failing_memory_keeps_what_there_is(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 1000);
    buf_add_text(&b, "kept");
    mem_fail_from(1);
    buf_add_format(&b, "%500d", 1);
    mem_fail_from(0);
    assert_true(b.failed);
    assert_false(b.too_large);
    assert_true(bytes_equal_text(buf_bytes(&b), "kept"));
    buf_fini(&b);
}

static void take_hands_over(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 10);
    size_t len;
    assert_null(buf_take(&b, &len));
    assert_int_equal(len, 0);
    buf_add_text(&b, "mine");
    uint8_t *data = buf_take(&b, &len);
    assert_int_equal(len, 4);
    assert_memory_equal(data, "mine", 4);
    assert_null(b.data);
    assert_int_equal(b.max_bytes, 10);
    buf_add_text(&b, "next");
    assert_true(bytes_equal_text(buf_bytes(&b), "next"));
    free(data);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collects_what_is_added),   cmocka_unit_test(full_to_the_last_byte_and_no_further),
        cmocka_unit_test(the_first_failure_sticks), cmocka_unit_test(grows_in_few_steps_within_the_maximum),
        cmocka_unit_test(reserve_promises_room),    cmocka_unit_test(failing_memory_keeps_what_there_is),
        cmocka_unit_test(take_hands_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
