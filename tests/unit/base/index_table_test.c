// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/index_table.h"
#include "base/mem.h"

// The items are numbers; an item's id is its place in here.
struct owner {
    struct index_table table;
    uint64_t items[5000];
    uint32_t count;
    uint64_t (*hash)(uint64_t item);
};

static uint64_t good_hash(uint64_t item)
{
    return hash_bytes(&item, sizeof item);
}

static uint64_t worst_hash(uint64_t item)
{
    (void)item;
    return 0xFFFFFFFF00000000u; // one tag, and probing wraps around
}

static bool find(struct owner *o, uint64_t item, uint32_t *slot_out, uint32_t *id_out)
{
    uint64_t h = o->hash(item);
    *slot_out = index_table_start(&o->table, h);
    for (; index_table_next(&o->table, h, slot_out, id_out); index_table_skip(&o->table, slot_out))
        if (o->items[*id_out] == item)
            return true;
    return false;
}

static uint32_t intern(struct owner *o, uint64_t item)
{
    uint32_t slot, id;
    assert_true(index_table_reserve(&o->table));
    if (find(o, item, &slot, &id))
        return id;
    o->items[o->count] = item;
    index_table_insert(&o->table, o->hash(item), slot, o->count);
    return o->count++;
}

static void finds_what_was_put_in(uint64_t (*hash)(uint64_t), uint32_t count)
{
    static struct owner o;
    o = (struct owner){.hash = hash};
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(intern(&o, (uint64_t)i * 3), i);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(intern(&o, (uint64_t)i * 3), i);
    assert_int_equal(o.table.used, count);
    assert_true(o.table.used <= index_table_fill(o.table.mask)); // never so full that probing gets long
    uint32_t slot, id;
    for (uint32_t i = 0; i < count; i++)
        assert_false(find(&o, (uint64_t)i * 3 + 1, &slot, &id));
    index_table_fini(&o.table);
    assert_null(o.table.slots);
}

static void many_items(void **state)
{
    (void)state;
    finds_what_was_put_in(good_hash, 5000);
}

static void items_that_all_collide(void **state)
{
    (void)state;
    finds_what_was_put_in(worst_hash, 200);
}

static void an_empty_table_has_nothing(void **state)
{
    (void)state;
    static struct owner o = {.hash = good_hash};
    uint32_t slot, id;
    assert_false(find(&o, 1, &slot, &id));
    index_table_fini(&o.table);
}

static void an_expected_table_does_not_grow(void **state)
{
    (void)state;
    static struct owner o;
    for (uint32_t ids = 1; ids < 5000; ids = ids * 3 / 2 + 1) {
        o = (struct owner){.hash = good_hash};
        intern(&o, 0); // what is there stays
        assert_true(index_table_expect(&o.table, ids));
        assert_int_equal(((size_t)o.table.mask + 1) * sizeof *o.table.slots, index_table_bytes(ids));
        uint32_t mask = o.table.mask;
        for (uint32_t i = 0; i < ids; i++)
            assert_int_equal(intern(&o, i), i);
        assert_int_equal(o.table.mask, mask);
        assert_true(index_table_expect(&o.table, 1));
        assert_int_equal(o.table.mask, mask);
        mem_fail_from(1);
        assert_false(index_table_expect(&o.table, 4 * ids + 100));
        mem_fail_from(0);
        assert_int_equal(o.table.mask, mask);
        index_table_fini(&o.table);
    }
}

static void failing_memory_keeps_the_table(void **state)
{
    (void)state;
    static struct owner o;
    o = (struct owner){.hash = good_hash};
    mem_fail_from(1);
    assert_false(index_table_reserve(&o.table));
    mem_fail_from(0);
    while (o.count < 1000) {
        mem_fail_from(1);
        bool fits = index_table_reserve(&o.table);
        mem_fail_from(0);
        if (!fits) {
            uint32_t slot, id;
            for (uint32_t i = 0; i < o.count; i++)
                assert_true(find(&o, i, &slot, &id));
        }
        intern(&o, o.count);
    }
    index_table_fini(&o.table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_items),
        cmocka_unit_test(items_that_all_collide),
        cmocka_unit_test(an_empty_table_has_nothing),
        cmocka_unit_test(an_expected_table_does_not_grow),
        cmocka_unit_test(failing_memory_keeps_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
