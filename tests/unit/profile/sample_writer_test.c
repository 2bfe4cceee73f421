// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/profile/fixture.h"

static uint32_t some_stack(struct builder *b, uint64_t address)
{
    uint32_t location = builder_location(b, &(struct batch_location){.address = address}, NULL, 0);
    return builder_stack(b, &location, 1);
}

static uint32_t some_set(struct builder *b)
{
    struct value v = value_int(1);
    uint32_t attribute = builder_attribute(b, builder_string_text(b, "k"), 0, &v);
    return builder_attribute_set(b, &attribute, 1);
}

static void columns_of_zeros_are_left_out(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    struct sample_writer w;
    sample_writer_init(&w, b);
    uint32_t stack = some_stack(b, 1);
    sample_writer_add(&w, stack, 0, 0);
    sample_writer_add(&w, 0, 0, 0);
    struct columns *c = sample_writer_take(&w);
    assert_int_equal(c->sample_count, 2);
    assert_int_equal(c->stacks[0], stack);
    assert_int_equal(c->stacks[1], 0);
    assert_null(c->attribute_sets);
    assert_null(c->links);
    columns_unref(&c);
    assert_null(c);

    c = sample_writer_take(&w);
    assert_int_equal(c->sample_count, 0);
    columns_unref(&c);
    sample_writer_fini(&w);
    builder_destroy(&b);
}

static void a_late_attribute_fills_the_column_up(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    struct sample_writer w;
    sample_writer_init(&w, b);
    uint32_t set = some_set(b), link = builder_link(b, &(struct batch_link){.span_id = {1}});
    for (uint32_t i = 0; i < 1000; i++)
        sample_writer_add(&w, some_stack(b, i + 1), i % 500 == 499 ? set : 0, i == 700 ? link : 0);
    struct columns *c = sample_writer_take(&w);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(c->stacks[i], i + 1);
        assert_int_equal(c->attribute_sets[i], i % 500 == 499 ? set : 0);
        assert_int_equal(c->links[i], i == 700 ? link : 0);
    }
    assert_true(c->bytes >= 3 * 1000 * sizeof(uint32_t) && c->bytes < 4 * 1000 * sizeof(uint32_t));
    columns_unref(&c);
    sample_writer_fini(&w);
    builder_destroy(&b);
}

static void one_value_each_needs_no_ends(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    struct observation_writer w;
    observation_writer_init(&w, b);
    for (int64_t i = 0; i < 1000; i++)
        observation_writer_add_value(&w, -i);
    struct observations *o = observation_writer_take(&w);
    assert_int_equal(o->sample_count, 1000);
    assert_null(o->value_ends);
    assert_null(o->timestamps);
    assert_null(o->timestamp_ends);
    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(o->values[i], -i);
    observations_unref(&o);
    observation_writer_fini(&w);
    builder_destroy(&b);
}

static void timestamps_only_have_no_values(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    struct observation_writer w;
    observation_writer_init(&w, b);
    uint64_t at[] = {1, 2, 3};
    observation_writer_add(&w, NULL, 0, at, 3);
    observation_writer_add(&w, NULL, 0, at, 1);
    struct observations *o = observation_writer_take(&w);
    assert_null(o->values);
    assert_null(o->value_ends);
    uint32_t start, count;
    observations_timestamps(o, 1, &start, &count);
    assert_int_equal(start, 3);
    assert_int_equal(count, 1);
    observations_values(o, 1, &start, &count);
    assert_int_equal(count, 0);
    observations_unref(&o);
    observation_writer_fini(&w);
    builder_destroy(&b);
}

static void assert_observation(const struct observations *o, uint32_t sample, uint32_t values, int64_t first,
                               uint32_t timestamps)
{
    uint32_t start, count;
    observations_values(o, sample, &start, &count);
    assert_int_equal(count, values);
    if (count > 0)
        assert_int_equal(o->values[start], first);
    observations_timestamps(o, sample, &start, &count);
    assert_int_equal(count, timestamps);
}

static void shapes_mix(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    struct observation_writer w;
    observation_writer_init(&w, b);
    int64_t values[] = {7, 8, 9};
    uint64_t at[] = {1, 2, 3};
    observation_writer_add_value(&w, 5);
    observation_writer_add(&w, values, 1, at, 1);
    observation_writer_add(&w, NULL, 0, at, 2);
    observation_writer_add(&w, values, 3, at, 3);
    observation_writer_add_value(&w, 6);
    struct observations *o = observation_writer_take(&w);
    assert_observation(o, 0, 1, 5, 0);
    assert_observation(o, 1, 1, 7, 1);
    assert_observation(o, 2, 0, 0, 2);
    assert_observation(o, 3, 3, 7, 3);
    assert_observation(o, 4, 1, 6, 0);
    observations_unref(&o);
    observation_writer_fini(&w);
    builder_destroy(&b);
}

static void one_value_and_timestamp_each_needs_no_value_ends(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    struct observation_writer w;
    observation_writer_init(&w, b);
    int64_t value = 1;
    uint64_t at = 2;
    observation_writer_add(&w, &value, 1, &at, 1);
    observation_writer_add(&w, &value, 1, &at, 1);
    struct observations *o = observation_writer_take(&w);
    assert_null(o->value_ends);
    assert_int_equal(o->timestamp_ends[1], 2);
    observations_unref(&o);
    observation_writer_fini(&w);
    builder_destroy(&b);
}

static void expected_samples_do_not_grow(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    struct sample_writer w;
    struct observation_writer o;
    sample_writer_init(&w, b);
    observation_writer_init(&o, b);
    sample_writer_expect(&w, 500);
    observation_writer_expect(&o, 500);
    mem_fail_from(1);
    for (uint32_t i = 0; i < 500; i++) {
        sample_writer_add(&w, 0, 0, 0);
        observation_writer_add_value(&o, i);
    }
    mem_fail_from(0);
    assert_false(builder_failed(b));
    struct columns *c = sample_writer_take(&w);
    struct observations *taken = observation_writer_take(&o);
    assert_int_equal(c->sample_count, 500);
    assert_int_equal(taken->sample_count, 500);
    assert_int_equal(taken->values[499], 499);
    columns_unref(&c);
    observations_unref(&taken);
    sample_writer_fini(&w);
    observation_writer_fini(&o);
    builder_destroy(&b);
}

static void illegal_shapes_fail(void **state)
{
    (void)state;
    static const uint32_t shapes[][2] = {{0, 0}, {2, 0}, {1, 2}, {3, 2}};
    int64_t values[3] = {0};
    uint64_t at[3] = {0};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        struct builder *b = builder_create(0);
        struct observation_writer w;
        observation_writer_init(&w, b);
        observation_writer_add_value(&w, 1);
        observation_writer_add(&w, values, shapes[i][0], at, shapes[i][1]);
        assert_null(observation_writer_take(&w));
        observation_writer_fini(&w);
        struct batch *batch;
        struct err e = {0};
        assert_int_equal(builder_finish(b, &batch, &e), ERR_INVALID);
        assert_non_null(strstr(e.text, "sample 1 has"));
        builder_destroy(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_zeros_are_left_out),
        cmocka_unit_test(a_late_attribute_fills_the_column_up),
        cmocka_unit_test(one_value_each_needs_no_ends),
        cmocka_unit_test(timestamps_only_have_no_values),
        cmocka_unit_test(shapes_mix),
        cmocka_unit_test(one_value_and_timestamp_each_needs_no_value_ends),
        cmocka_unit_test(expected_samples_do_not_grow),
        cmocka_unit_test(illegal_shapes_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
