// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/profile/fixture.h"

#include "profile/merge.h"
#include "profile/range.h"

static const struct bytes none = {NULL, 0};

static void two_halves_are_the_whole(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        struct batch *b = random_batch(seed, NULL), *parts[2];
        struct err e = {0};
        enum err_code code = batch_split_half(b, &parts[0], &parts[1], &e);
        if (b->sample_count < 2) {
            assert_int_equal(code, ERR_LIMIT);
            assert_null(parts[0]);
            assert_null(parts[1]);
        } else {
            assert_int_equal(code, ERR_OK);
            assert_true(parts[0]->sample_count > 0 && parts[1]->sample_count > 0);
            assert_valid(parts[0], seed);
            assert_valid(parts[1], seed);
            assert_same_samples(parts, 2, &b, 1, seed);
            batch_unref(&parts[0]);
            batch_unref(&parts[1]);
        }
        batch_unref(&b);
    }
}

static size_t split_down(struct batch *b)
{
    struct batch *first, *second;
    if (batch_split_half(b, &first, &second, NULL) != ERR_OK)
        return 1;
    size_t parts = split_down(first) + split_down(second);
    batch_unref(&first);
    batch_unref(&second);
    return parts;
}

static void halving_ends_at_single_samples(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct batch *b = random_batch(seed, NULL);
        if (b->sample_count > 0)
            assert_int_equal(split_down(b), b->sample_count);
        batch_unref(&b);
    }
}

static void check_parts(struct batch *b, uint64_t max_samples, uint64_t seed)
{
    struct batch **parts;
    size_t count;
    struct err e = {0};
    if (batch_split(b, max_samples, &parts, &count, &e) != ERR_OK)
        fail_msg("%s", e.text);
    uint64_t samples = 0;
    for (size_t i = 0; i < count; i++) {
        assert_valid(parts[i], seed);
        assert_true(parts[i]->sample_count <= max_samples);
        assert_ptr_equal(parts[i]->dictionary, b->dictionary);
        assert_true(count == 1 || parts[i]->sample_count > 0);
        samples += parts[i]->sample_count;
    }
    assert_int_equal(samples, b->sample_count);
    assert_same_samples(parts, count, &b, 1, seed);
    struct batch *again;
    assert_int_equal(batch_merge(parts, count, &again, NULL), ERR_OK);
    assert_same_samples(&again, 1, &b, 1, seed);
    batch_unref(&again);
    for (size_t i = 0; i < count; i++)
        batch_unref(&parts[i]);
    free(parts);
}

static void parts_are_the_whole(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct batch *b = random_batch(seed, NULL);
        for (uint64_t max = 1; max <= 40; max = max * 2 + seed % 2)
            check_parts(b, max, seed);
        check_parts(b, UINT64_MAX, seed);
        struct batch **parts;
        size_t count;
        assert_int_equal(batch_split(b, UINT64_MAX, &parts, &count, NULL), ERR_OK);
        assert_int_equal(count, 1);
        assert_ptr_equal(parts[0], b);
        batch_unref(&parts[0]);
        free(parts);
        batch_unref(&b);
    }
}

static void add_types(struct builder *b, uint32_t types, uint32_t samples)
{
    struct sample_writer w;
    sample_writer_init(&w, b);
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t location = builder_location(b, &(struct batch_location){.address = i + 1}, NULL, 0);
        sample_writer_add(&w, builder_stack(b, &location, 1), 0, 0);
    }
    struct columns *columns = sample_writer_take(&w);
    for (uint32_t t = 0; t < types; t++) {
        struct observation_writer o;
        observation_writer_init(&o, b);
        for (uint32_t i = 0; i < samples; i++)
            observation_writer_add_value(&o, 1000 * t + i);
        struct profile p = {.columns = columns_ref(columns), .observations = observation_writer_take(&o)};
        builder_profile(b, &p);
    }
    columns_unref(&columns);
}

static void begin_scope(struct builder *b)
{
    builder_scope(b, none, none, NULL, 0, 0, none);
}

static void begin_resource(struct builder *b)
{
    builder_resource(b, NULL, 0, 0, none);
    begin_scope(b);
}

static void halve(struct batch *b, struct batch *parts[2])
{
    assert_int_equal(batch_split_half(b, &parts[0], &parts[1], NULL), ERR_OK);
    assert_same_samples(parts, 2, &b, 1, 0);
}

static void unref_all(struct batch *parts[2], struct batch *b)
{
    batch_unref(&parts[0]);
    batch_unref(&parts[1]);
    batch_unref(&b);
}

static void the_highest_level_is_cut(void **state)
{
    (void)state;
    struct builder *builder = builder_create(0);
    begin_resource(builder);
    add_types(builder, 1, 10);
    begin_scope(builder);
    add_types(builder, 1, 10);
    add_types(builder, 1, 10);
    begin_resource(builder);
    add_types(builder, 1, 12);
    struct batch *b = finish(builder), *parts[2], *smaller[2], *smallest[2];
    halve(b, parts); // between the resources, though 20 : 22 would be nearer
    assert_ptr_equal(parts[0]->resources[0], b->resources[0]);
    assert_ptr_equal(parts[1]->resources[0], b->resources[1]);
    halve(parts[0], smaller); // between the scopes
    assert_ptr_equal(smaller[0]->resources[0]->scopes[0], b->resources[0]->scopes[0]);
    assert_ptr_equal(smaller[1]->resources[0]->scopes[0], b->resources[0]->scopes[1]);
    halve(smaller[1], smallest); // between the profiles
    assert_int_equal(smallest[0]->profile_count, 1);
    assert_ptr_equal(smallest[1]->resources[0]->scopes[0]->profiles[0].columns,
                     b->resources[0]->scopes[1]->profiles[1].columns);
    unref_all(smallest, NULL);
    unref_all(smaller, NULL);
    unref_all(parts, b);
}

static void a_lopsided_boundary_is_not_taken(void **state)
{
    (void)state;
    struct builder *builder = builder_create(0);
    begin_resource(builder);
    add_types(builder, 1, 1);
    begin_resource(builder);
    add_types(builder, 1, 99);
    struct batch *b = finish(builder), *parts[2];
    halve(b, parts);
    assert_int_equal(parts[0]->sample_count, 50);
    unref_all(parts, b);
}

static void sample_types_stay_together(void **state)
{
    (void)state;
    struct builder *builder = builder_create(0);
    begin_resource(builder);
    add_types(builder, 3, 10);
    add_types(builder, 2, 10);
    struct batch *b = finish(builder), *parts[2];
    halve(b, parts);
    assert_int_equal(parts[0]->profile_count, 3);
    assert_int_equal(parts[1]->profile_count, 2);
    unref_all(parts, b);
}

static void sample_types_are_cut_at_one_sample(void **state)
{
    (void)state;
    struct builder *builder = builder_create(0);
    begin_resource(builder);
    add_types(builder, 3, 10);
    struct batch *b = finish(builder), *parts[2];
    halve(b, parts);
    for (size_t i = 0; i < 2; i++) {
        const struct profile *p = parts[i]->resources[0]->scopes[0]->profiles;
        assert_int_equal(parts[i]->sample_count, 15);
        assert_ptr_equal(p[0].columns, p[1].columns);
        assert_ptr_equal(p[0].columns, p[2].columns);
    }
    unref_all(parts, b);
}

static void a_single_sample_of_many_types_is_cut_between_them(void **state)
{
    (void)state;
    struct builder *builder = builder_create(0);
    begin_resource(builder);
    add_types(builder, 4, 1);
    struct batch *b = finish(builder), *parts[2];
    halve(b, parts);
    assert_int_equal(parts[0]->profile_count, 2);
    assert_int_equal(parts[1]->profile_count, 2);
    check_parts(b, 3, 0);
    check_parts(b, 1, 0);
    unref_all(parts, b);
}

static void parts_keep_groups_and_are_full(void **state)
{
    (void)state;
    struct builder *builder = builder_create(0);
    begin_resource(builder);
    add_types(builder, 2, 100);
    add_types(builder, 1, 5);
    struct batch *b = finish(builder), **parts;
    size_t count;
    assert_int_equal(batch_split(b, 64, &parts, &count, NULL), ERR_OK);
    assert_int_equal(count, 4); // 64, 64, 64, 8 + 5
    assert_int_equal(parts[3]->sample_count, 13);
    const struct profile *p = parts[1]->resources[0]->scopes[0]->profiles;
    assert_ptr_equal(p[0].columns, p[1].columns);
    assert_int_equal(p[1].observations->values[0], 1032);
    for (size_t i = 0; i < count; i++)
        batch_unref(&parts[i]);
    free(parts);
    batch_unref(&b);
}

// One part may cut the same columns at its start and, for a later profile, at its end.
static void columns_shared_by_distant_profiles_are_cut_twice(void **state)
{
    (void)state;
    struct builder *builder = builder_create(0);
    begin_resource(builder);
    add_types(builder, 1, 7);
    add_types(builder, 1, 1);
    struct batch *near = finish(builder);
    const struct scope *s = near->resources[0]->scopes[0];
    builder = builder_create(0);
    builder_add_batch(builder, near); // for the dictionary
    begin_resource(builder);
    for (uint32_t i = 0; i < 3; i++) {
        struct profile p = {.columns = columns_ref(s->profiles[i % 2].columns),
                            .observations = observations_ref(s->profiles[i % 2].observations)};
        builder_profile(builder, &p);
    }
    struct batch *b = finish(builder);
    struct place from = {.resource = 1, .profile = 0, .count = 1, .sample = 3};
    struct place to = {.resource = 1, .profile = 2, .count = 1, .sample = 2};
    struct batch *parts[] = {batch_range_between(b, (struct place){0}, from), batch_range_between(b, from, to),
                             batch_range_between(b, to, (struct place){.resource = 2})};
    assert_int_equal(parts[1]->sample_count, 4 + 1 + 2);
    assert_same_samples(parts, 3, &b, 1, 0);
    for (size_t i = 0; i < 3; i++)
        batch_unref(&parts[i]);
    batch_unref(&b);
    batch_unref(&near);
}

static void check_split_at(struct batch *b, struct profile_position at, uint64_t before, uint64_t seed)
{
    struct batch *parts[2];
    struct err e = {0};
    assert_int_equal(batch_split_at(b, at, &parts[0], &parts[1], &e), ERR_OK);
    assert_int_equal(parts[0]->profile_count, before);
    assert_int_equal(parts[1]->profile_count, b->profile_count - before);
    assert_same_samples(parts, 2, &b, 1, seed);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(batch_own_dictionary(&parts[i], &e), ERR_OK);
        assert_valid(parts[i], seed);
        assert_true(parts[i]->dictionary != b->dictionary);
    }
    assert_same_samples(parts, 2, &b, 1, seed);
    batch_unref(&parts[0]);
    batch_unref(&parts[1]);
}

static void before_each_profile(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct batch *b = random_batch(seed, NULL);
        uint64_t before = 0;
        for (uint32_t r = 0; r < b->resource_count; r++)
            for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
                for (uint32_t p = 0; p < b->resources[r]->scopes[s]->profile_count; p++)
                    check_split_at(b, (struct profile_position){r, s, p}, before++, seed);
        batch_unref(&b);
    }
}

static bool split_last(void *arg, struct err *e)
{
    struct batch *b = arg, *parts[2];
    const struct profile_position at = {.resource = b->resource_count - 1};
    bool ok = batch_split_at(b, at, &parts[0], &parts[1], e) == ERR_OK && batch_own_dictionary(&parts[1], e) == ERR_OK;
    batch_unref(&parts[0]);
    batch_unref(&parts[1]);
    return ok;
}

static bool split_half(void *arg, struct err *e)
{
    struct batch *parts[2];
    bool ok = batch_split_half(arg, &parts[0], &parts[1], e) == ERR_OK;
    batch_unref(&parts[0]);
    batch_unref(&parts[1]);
    return ok;
}

static bool split_many(void *arg, struct err *e)
{
    struct batch **parts;
    size_t count;
    bool ok = batch_split(arg, 3, &parts, &count, e) == ERR_OK;
    for (size_t i = 0; i < count; i++)
        batch_unref(&parts[i]);
    free(parts);
    return ok;
}

static void splitting_survives_failing_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 12; seed++) {
        struct batch *b = random_batch(seed, NULL);
        if (b->sample_count >= 2) {
            run_with_failing_memory(split_half, b);
            run_with_failing_memory(split_many, b);
            run_with_failing_memory(split_last, b);
        }
        batch_unref(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_halves_are_the_whole),
        cmocka_unit_test(halving_ends_at_single_samples),
        cmocka_unit_test(parts_are_the_whole),
        cmocka_unit_test(the_highest_level_is_cut),
        cmocka_unit_test(a_lopsided_boundary_is_not_taken),
        cmocka_unit_test(sample_types_stay_together),
        cmocka_unit_test(sample_types_are_cut_at_one_sample),
        cmocka_unit_test(a_single_sample_of_many_types_is_cut_between_them),
        cmocka_unit_test(parts_keep_groups_and_are_full),
        cmocka_unit_test(columns_shared_by_distant_profiles_are_cut_twice),
        cmocka_unit_test(before_each_profile),
        cmocka_unit_test(splitting_survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
