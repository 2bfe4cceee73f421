// SPDX-License-Identifier: Apache-2.0
#include "profile/stack.h"
#include "tests/unit/profile/fixture.h"

static void zero_items_have_id_0(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    assert_int_equal(builder_string(b, (struct bytes){NULL, 0}), 0);
    assert_int_equal(builder_string_text(b, ""), 0);
    assert_int_equal(builder_mapping(b, &(struct batch_mapping){0}), 0);
    assert_int_equal(builder_function(b, &(struct batch_function){0}), 0);
    assert_int_equal(builder_location(b, &(struct batch_location){.line_start = 7, .line_count = 9}, NULL, 0), 0);
    assert_int_equal(builder_stack(b, NULL, 0), 0);
    assert_int_equal(builder_link(b, &(struct batch_link){0}), 0);
    assert_int_equal(builder_attribute(b, 0, 0, &(struct value){0}), 0);
    assert_int_equal(builder_attribute_set(b, NULL, 0), 0);
    struct batch *batch = finish(b);
    const struct dictionary *d = batch->dictionary;
    assert_int_equal(d->string_count, 1);
    assert_int_equal(d->attribute_set_count, 1);
    assert_int_equal(d->location_count, 1);
    assert_valid(batch, 0);
    batch_unref(&batch);
}

static void equal_strings_are_one(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    char name[16];
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= 5000; i++) {
            snprintf(name, sizeof name, "name%u", i);
            assert_int_equal(builder_string_text(b, name), i);
        }
    }
    assert_true(bytes_equal_text(builder_string_get(b, 5000), "name5000"));
    struct batch *batch = finish(b);
    assert_int_equal(batch->dictionary->string_count, 5001);
    batch_unref(&batch);
}

static void broken_utf8_is_repaired_and_counted(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    uint32_t id = builder_string_text(b, "a\xff");
    assert_true(bytes_equal_text(builder_string_get(b, id), "a\xef\xbf\xbd"));
    assert_int_equal(builder_repaired_strings(b), 1);
    assert_int_equal(builder_string_text(b, "a\xff"), id);
    assert_int_equal(builder_repaired_strings(b), 2);
    assert_int_equal(builder_string_text(b, "a\xef\xbf\xbd"), id);
    assert_int_equal(builder_repaired_strings(b), 2);

    struct value broken = value_string(BYTES_LITERAL("v\xff")), good = value_string(BYTES_LITERAL("v\xef\xbf\xbd"));
    uint32_t attribute = builder_attribute(b, id, 0, &broken);
    assert_int_equal(builder_attribute(b, id, 0, &good), attribute);
    assert_int_equal(builder_attribute(b, id, 0, &broken), attribute);
    assert_int_equal(builder_repaired_strings(b), 4);
    struct key_value resource = {BYTES_LITERAL("k\xff"), broken};
    builder_resource(b, &resource, 1, 0, (struct bytes){NULL, 0});
    assert_int_equal(builder_repaired_strings(b), 6);
    struct batch *batch = finish(b);
    assert_true(bytes_equal_text(batch->resources[0]->attributes[0].key, "k\xef\xbf\xbd"));
    assert_valid(batch, 0);
    batch_unref(&batch);
}

static void every_field_makes_a_difference(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    uint32_t x = builder_string_text(b, "x"), y = builder_string_text(b, "y");
    struct value v = value_int(1);
    uint32_t attribute = builder_attribute(b, x, 0, &v), set = builder_attribute_set(b, &attribute, 1);
    assert_int_equal(builder_attribute(b, x, y, &v), attribute + 1);
    assert_int_equal(builder_attribute(b, y, x, &v), attribute + 2);

    const struct batch_mapping mappings[] = {
        {.memory_start = 1}, {.memory_limit = 1}, {.file_offset = 1}, {.filename = x}, {.attribute_set = set}};
    for (uint32_t i = 0; i < COUNT_OF(mappings); i++)
        assert_int_equal(builder_mapping(b, &mappings[i]), i + 1);
    const struct batch_function functions[] = {{.name = x}, {.system_name = x}, {.filename = x}, {.start_line = 1}};
    for (uint32_t i = 0; i < COUNT_OF(functions); i++)
        assert_int_equal(builder_function(b, &functions[i]), i + 1);
    const struct batch_link links[] = {{.trace_id = {1}}, {.span_id = {1}}};
    for (uint32_t i = 0; i < COUNT_OF(links); i++)
        assert_int_equal(builder_link(b, &links[i]), i + 1);
    for (uint32_t i = 0; i < COUNT_OF(mappings); i++)
        assert_int_equal(builder_mapping(b, &mappings[i]), i + 1);
    builder_destroy(&b);
    assert_null(b);
    builder_destroy(&b);
}

static void locations_include_their_lines(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    uint32_t f = builder_function(b, &(struct batch_function){.start_line = 5});
    struct batch_location l = {.address = 1};
    struct batch_line lines[] = {{f, 1, 0}, {f, 2, 0}}, swapped[] = {{f, 2, 0}, {f, 1, 0}}, column[] = {{f, 1, 1}};
    assert_int_equal(builder_location(b, &l, NULL, 0), 1);
    assert_int_equal(builder_location(b, &l, lines, 1), 2);
    assert_int_equal(builder_location(b, &l, lines, 2), 3);
    assert_int_equal(builder_location(b, &l, swapped, 2), 4);
    assert_int_equal(builder_location(b, &l, column, 1), 5);
    assert_int_equal(builder_location(b, &l, lines, 2), 3);
    l.address = 2;
    assert_int_equal(builder_location(b, &l, lines, 2), 6);
    struct batch *batch = finish(b);
    const struct batch_location *four = &batch->dictionary->locations[4];
    assert_int_equal(four->line_count, 2);
    assert_int_equal(batch->dictionary->lines[four->line_start].line, 2);
    batch_unref(&batch);
}

static void stacks_keep_their_order(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    uint32_t x = builder_location(b, &(struct batch_location){.address = 1}, NULL, 0);
    uint32_t y = builder_location(b, &(struct batch_location){.address = 2}, NULL, 0);
    uint32_t xy[] = {x, y}, yx[] = {y, x}, xx[] = {x, x};
    assert_int_equal(builder_stack(b, xy, 2), 1);
    assert_int_equal(builder_stack(b, yx, 2), 2);
    assert_int_equal(builder_stack(b, xy, 1), 3);
    assert_int_equal(builder_stack(b, xx, 2), 4);
    assert_int_equal(builder_stack(b, xy, 2), 1);
    builder_destroy(&b);
}

enum { KEYS = 40 };

static void attribute_sets_are_sets(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    uint32_t ids[KEYS], reversed[KEYS];
    for (uint32_t i = 0; i < KEYS; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%u", i);
        struct value v = value_int(i);
        ids[i] = reversed[KEYS - 1 - i] = builder_attribute(b, builder_string_text(b, key), 0, &v);
    }
    for (uint32_t count = 1; count <= KEYS; count++)
        assert_int_equal(builder_attribute_set(b, ids, count), count);
    for (uint32_t count = 1; count <= KEYS; count++)
        assert_int_equal(builder_attribute_set(b, reversed + KEYS - count, count), count);
    uint32_t other[] = {ids[1], ids[2]};
    assert_int_equal(builder_attribute_set(b, other, 2), KEYS + 1);
    struct batch *batch = finish(b);
    // The order met first is the order kept.
    struct batch_range range = batch->dictionary->attribute_sets[KEYS];
    assert_memory_equal(batch->dictionary->set_attributes + range.start, ids, sizeof ids);
    assert_valid(batch, 0);
    batch_unref(&batch);
}

static void of_equal_keys_the_first_is_kept(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    uint32_t k = builder_string_text(b, "k"), l = builder_string_text(b, "l");
    struct value one = value_int(1), two = value_int(2);
    uint32_t k1 = builder_attribute(b, k, 0, &one), k2 = builder_attribute(b, k, 0, &two);
    uint32_t l1 = builder_attribute(b, l, 0, &one);
    uint32_t doubled[] = {k1, l1, k2, k1}, plain[] = {l1, k1}, other[] = {k2, l1};
    uint32_t set = builder_attribute_set(b, doubled, 4);
    assert_int_equal(builder_attribute_set(b, plain, 2), set);
    assert_int_equal(builder_attribute_set(b, doubled, 4), set);
    assert_int_not_equal(builder_attribute_set(b, other, 2), set);
    struct batch *batch = finish(b);
    assert_int_equal(batch->dictionary->attribute_sets[set].count, 2);
    assert_valid(batch, 0);
    batch_unref(&batch);
}

static void attribute_set_with_adds_or_replaces(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    uint32_t k = builder_string_text(b, "k"), l = builder_string_text(b, "l");
    struct value one = value_int(1), two = value_int(2);
    uint32_t k1 = builder_attribute(b, k, 0, &one), k2 = builder_attribute(b, k, 0, &two);
    uint32_t l1 = builder_attribute(b, l, 0, &one);
    uint32_t both[] = {l1, k1}, replaced[] = {k2, l1};
    uint32_t set = builder_attribute_set_with(b, 0, k1);
    assert_int_equal(set, builder_attribute_set(b, &k1, 1));
    set = builder_attribute_set_with(b, set, l1);
    assert_int_equal(set, builder_attribute_set(b, both, 2));
    assert_int_equal(builder_attribute_set_with(b, set, l1), set);
    set = builder_attribute_set_with(b, set, k2);
    assert_int_equal(set, builder_attribute_set(b, replaced, 2));
    builder_destroy(&b);
}

static void fill(struct builder *b)
{
    for (uint32_t i = 0; i < 10000 && !builder_failed(b); i++) {
        uint32_t location = builder_location(b, &(struct batch_location){.address = i}, NULL, 0);
        builder_stack(b, &location, 1);
        char name[16];
        snprintf(name, sizeof name, "name%u", i);
        struct value v = value_string(bytes_from_text(name));
        uint32_t attribute = builder_attribute(b, builder_string_text(b, name), 0, &v);
        builder_attribute_set(b, &attribute, 1);
    }
}

static void max_bytes_is_an_error_that_sticks(void **state)
{
    (void)state;
    for (size_t max_bytes = 1; max_bytes < 2000000; max_bytes = max_bytes * 3 / 2 + 1) {
        struct builder *b = builder_create(max_bytes);
        fill(b);
        assert_true(builder_failed(b));
        assert_int_equal(builder_string_text(b, "late"), 0);
        struct batch *batch;
        struct err e = {0};
        assert_int_equal(builder_finish(b, &batch, &e), ERR_LIMIT);
        assert_null(batch);
        char allowed[32];
        snprintf(allowed, sizeof allowed, "%zu are allowed", max_bytes);
        assert_non_null(strstr(e.text, allowed));
        builder_destroy(&b);
    }
    struct builder *b = builder_create(8000000);
    fill(b);
    struct batch *batch = finish(b);
    assert_true(batch_memory_bytes(batch) < 8000000);
    batch_unref(&batch);
}

static bool build_random(void *arg, struct err *e)
{
    struct builder *b = builder_create(0);
    random_batch_add(b, *(const uint64_t *)arg, NULL);
    struct batch *batch;
    bool ok = builder_finish(b, &batch, e) == ERR_OK;
    assert_int_equal(ok, batch != NULL);
    batch_unref(&batch);
    builder_destroy(&b);
    return ok;
}

static void building_survives_failing_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        run_with_failing_memory(build_random, &seed);
}

static void a_finished_builder_is_closed(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    struct batch *batch;
    assert_int_equal(builder_finish(b, &batch, NULL), ERR_OK);
    batch_unref(&batch);
    assert_true(builder_failed(b));
    assert_int_equal(builder_finish(b, &batch, NULL), ERR_INVALID);
    builder_destroy(&b);
}

static void add_locations(struct builder *b, uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++)
        assert_int_equal(builder_location(b, &(struct batch_location){.address = i}, NULL, 0), i);
}

// Stack k of many, some of them known already when they come.
static uint32_t write_stack(uint32_t *to, uint32_t k)
{
    uint32_t kind = k % 7 < 3 ? k / 14 : k, count = kind % 30;
    for (uint32_t i = 0; i < count; i++)
        to[i] = 1 + (kind * 31 + i * (kind + 1)) % 500;
    return count;
}

static uint32_t encode_stack(uint8_t *to, const uint32_t *ids, uint32_t count)
{
    uint8_t *end = to;
    for (uint32_t i = 0; i < count; i++)
        end = stack_put(end, ids[i]);
    return (uint32_t)(end - to);
}

static void stacks_in_blocks_are_those_alone(void **state)
{
    (void)state;
    struct builder *b = builder_create(0), *alone = builder_create(0);
    add_locations(b, 500);
    add_locations(alone, 500);
    uint32_t ids[BUILDER_STACK_BLOCK], own[64];
    for (uint32_t k = 0; k < 3000;) {
        uint32_t n = 1 + k % BUILDER_STACK_BLOCK, first = k;
        for (uint32_t i = 0; i < n; i++, k++) {
            uint8_t bytes[2 * COUNT_OF(own)];
            uint32_t size = encode_stack(bytes, own, write_stack(own, k)), half = size / 2;
            memcpy(builder_stack_room(b, half), bytes, half);
            memcpy(builder_stack_room(b, size) + half, bytes + half, size - half);
            builder_stack_put(b, size);
        }
        builder_stacks_take(b, ids);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(ids[i], builder_stack(alone, own, write_stack(own, first + i)));
    }
    struct batch *one = finish(b), *other = finish(alone);
    const struct dictionary *d = one->dictionary, *e = other->dictionary;
    assert_int_equal(d->stack_count, e->stack_count);
    assert_int_equal(d->stack_byte_count, e->stack_byte_count);
    assert_memory_equal(d->stack_bytes, e->stack_bytes, d->stack_byte_count);
    assert_valid(one, 0);
    batch_unref(&one);
    batch_unref(&other);
}

static void blocks_of_empty_stacks(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    uint32_t ids[BUILDER_STACK_BLOCK] = {9, 9};
    builder_stacks_take(b, ids); // an empty block
    assert_int_equal(ids[0], 9);
    builder_stack_put(b, 0);
    builder_stack_put(b, 0);
    builder_stacks_take(b, ids);
    assert_int_equal(ids[0] | ids[1], 0);
    builder_destroy(&b);
}

static void a_block_can_fail(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    add_locations(b, 1);
    uint32_t ids[BUILDER_STACK_BLOCK] = {9, 9};
    *builder_stack_room(b, 1) = 1;
    builder_stack_put(b, 1);
    mem_fail_from(1);
    assert_null(builder_stack_room(b, 1 << 22));
    mem_fail_from(0);
    builder_stack_put(b, 1);
    builder_stacks_take(b, ids);
    assert_int_equal(ids[0], 0);
    assert_true(builder_failed(b));
    builder_destroy(&b);
}

static void what_is_expected_does_not_grow(void **state)
{
    (void)state;
    const struct builder_expected expected = {.strings = 900, .locations = 900, .stacks = 900, .stack_bytes = 1800};
    struct builder *b = builder_create(0);
    builder_expect(b, &expected);
    builder_expect(b, &expected); // again is nothing new
    mem_fail_from(1);
    add_locations(b, 900);
    for (uint32_t i = 1; i <= 900; i++)
        assert_int_equal(builder_stack(b, &i, 1), i);
    mem_fail_from(0);
    struct batch *batch = finish(b);
    assert_valid(batch, 0);
    batch_unref(&batch);
}

static void too_much_expected_is_left_to_grow(void **state)
{
    (void)state;
    const struct builder_expected expected = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct builder *b = builder_create(1 << 16);
    builder_expect(b, &expected);
    add_locations(b, 100);
    struct batch *batch = finish(b);
    assert_int_equal(batch->dictionary->location_count, 101);
    batch_unref(&batch);
    b = builder_create(0);
    mem_fail_from(1);
    builder_expect(b, &(struct builder_expected){.strings = 1000});
    mem_fail_from(0);
    assert_true(builder_failed(b));
    builder_destroy(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_items_have_id_0),
        cmocka_unit_test(equal_strings_are_one),
        cmocka_unit_test(broken_utf8_is_repaired_and_counted),
        cmocka_unit_test(every_field_makes_a_difference),
        cmocka_unit_test(locations_include_their_lines),
        cmocka_unit_test(stacks_keep_their_order),
        cmocka_unit_test(attribute_sets_are_sets),
        cmocka_unit_test(of_equal_keys_the_first_is_kept),
        cmocka_unit_test(attribute_set_with_adds_or_replaces),
        cmocka_unit_test(max_bytes_is_an_error_that_sticks),
        cmocka_unit_test(building_survives_failing_memory),
        cmocka_unit_test(a_finished_builder_is_closed),
        cmocka_unit_test(stacks_in_blocks_are_those_alone),
        cmocka_unit_test(blocks_of_empty_stacks),
        cmocka_unit_test(a_block_can_fail),
        cmocka_unit_test(what_is_expected_does_not_grow),
        cmocka_unit_test(too_much_expected_is_left_to_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
