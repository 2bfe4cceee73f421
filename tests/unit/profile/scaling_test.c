// SPDX-License-Identifier: Apache-2.0
// Growth is counted, not timed: bytes held and allocations made, for ten times the samples.
#include "tests/unit/profile/fixture.h"

#include "profile/merge.h"
#include "profile/prune.h"

static const struct bytes none = {NULL, 0};

enum shape { DISTINCT_STACKS, DEEP_STACKS, MANY_LABELS };

static uint32_t make_stack(struct builder *b, enum shape shape, uint32_t sample)
{
    uint32_t ids[500], depth = shape == DEEP_STACKS ? 500 : 5;
    for (uint32_t i = 0; i < depth; i++) {
        struct batch_location l = {.address = i < 3 ? 1 + (sample >> (10 * i) & 1023) : 5000 + i};
        ids[i] = builder_location(b, &l, NULL, 0);
    }
    return builder_stack(b, ids, depth);
}

static uint32_t make_set(struct builder *b, uint32_t sample)
{
    uint32_t ids[20];
    for (uint32_t i = 0; i < 20; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%u", i);
        struct value v = value_int(i == 19 ? sample : i);
        ids[i] = builder_attribute(b, builder_string_text(b, key), 0, &v);
    }
    return builder_attribute_set(b, ids, 20);
}

static struct batch *make_batch(enum shape shape, uint32_t samples)
{
    struct builder *b = builder_create(0);
    struct sample_writer w;
    struct observation_writer o;
    sample_writer_init(&w, b);
    observation_writer_init(&o, b);
    for (uint32_t i = 0; i < samples; i++) {
        sample_writer_add(&w, make_stack(b, shape, i), shape == MANY_LABELS ? make_set(b, i) : 0, 0);
        observation_writer_add_value(&o, i);
    }
    builder_resource(b, NULL, 0, 0, none);
    builder_scope(b, none, none, NULL, 0, 0, none);
    struct profile p = {.columns = sample_writer_take(&w), .observations = observation_writer_take(&o)};
    builder_profile(b, &p);
    return finish(b);
}

// Memory per sample must not grow; allocations must grow with the chunks and doublings only.
static void check_growth(enum shape shape, uint32_t small_samples)
{
    size_t bytes[2], calls[2];
    for (uint32_t i = 0; i < 2; i++) {
        mem_fail_from(0);
        struct batch *b = make_batch(shape, i == 0 ? small_samples : 10 * small_samples);
        calls[i] = mem_fail_count();
        bytes[i] = batch_memory_bytes(b);
        assert_int_equal(b->dictionary->stack_count, b->sample_count + 1);
        batch_unref(&b);
    }
    assert_true(bytes[1] <= 10 * bytes[0] + bytes[0]);
    assert_true(calls[1] <= 10 * calls[0]);
    assert_true(calls[1] < small_samples / 2);
}

static void building_grows_linearly(void **state)
{
    (void)state;
    check_growth(DISTINCT_STACKS, 4000);
    check_growth(DEEP_STACKS, 1000);
    check_growth(MANY_LABELS, 2000);
}

// Many parts of one batch must not each cost the whole dictionary again.
static void joining_parts_is_linear_in_the_samples(void **state)
{
    (void)state;
    struct batch *b = make_batch(DISTINCT_STACKS, 4000), *other = make_batch(MANY_LABELS, 10), **parts;
    size_t count;
    assert_int_equal(batch_split(b, 4, &parts, &count, NULL), ERR_OK);
    assert_int_equal(count, 1000);
    struct builder *builder = builder_create(0);
    builder_add_batch(builder, parts[0]);
    mem_fail_from(0);
    for (size_t i = 1; i < count; i++)
        builder_add_batch(builder, parts[i]);
    // Some 15 per part (resource, scope, columns, their arenas and the map of columns), none of them for the dictionary.
    assert_true(mem_fail_count() < 20 * count);
    builder_add_batch(builder, other);
    struct batch *joined = finish(builder);
    assert_int_equal(joined->sample_count, 4010);
    assert_valid(joined, 0);
    batch_unref(&joined);
    for (size_t i = 0; i < count; i++)
        batch_unref(&parts[i]);
    free(parts);
    batch_unref(&other);
    batch_unref(&b);
}

static void parts_hold_no_dictionary_of_their_own(void **state)
{
    (void)state;
    struct batch *b = make_batch(DEEP_STACKS, 1000), **parts;
    size_t count, own = 0;
    assert_int_equal(batch_split(b, 100, &parts, &count, NULL), ERR_OK);
    assert_int_equal(count, 10);
    for (size_t i = 0; i < count; i++) {
        own += batch_memory_bytes(parts[i]) - b->dictionary->bytes;
        batch_unref(&parts[i]);
    }
    assert_true(own < 100 * 1000);
    free(parts);
    batch_unref(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(building_grows_linearly),
        cmocka_unit_test(joining_parts_is_linear_in_the_samples),
        cmocka_unit_test(parts_hold_no_dictionary_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
