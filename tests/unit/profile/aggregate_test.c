// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "profile/aggregate.h"
#include "profile/builder.h"
#include "profile/merge.h"
#include "profile/validate.h"
#include "tests/support/random_batch.h"

#include <string.h>

__extension__ typedef __int128 wide; // sums that 64 bits do not hold

enum { SEEDS = 60 };

// One profile with samples in one stack each.
struct sample {
    uint32_t stack; // an address, 0 = none
    int64_t value;
    uint64_t timestamps[2];
    uint32_t timestamp_count;
    bool no_value;
};

struct spec {
    const char *service, *type;
    uint64_t time, duration;
    int64_t period;
    const char *attribute; // of the profile
    const struct sample *samples;
    uint32_t count;
};

static uint32_t add_stack(struct builder *b, uint32_t address)
{
    const struct batch_location l = {.address = address};
    uint32_t location = builder_location(b, &l, NULL, 0);
    return address == 0 ? 0 : builder_stack(b, &location, 1);
}

static void add_profile(struct builder *b, const struct spec *s)
{
    struct sample_writer rows;
    struct observation_writer values;
    sample_writer_init(&rows, b);
    observation_writer_init(&values, b);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sample *x = &s->samples[i];
        sample_writer_add(&rows, add_stack(b, x->stack), 0, 0);
        observation_writer_add(&values, &x->value, x->no_value ? 0 : 1, x->timestamps, x->timestamp_count);
    }
    struct profile p = {.sample_type = {builder_string_text(b, s->type), 0},
                        .time_nanos = s->time,
                        .duration_nanos = s->duration,
                        .period = s->period,
                        .has_profile_id = true,
                        .profile_id = {1},
                        .columns = sample_writer_take(&rows),
                        .observations = observation_writer_take(&values)};
    if (s->attribute != NULL) {
        const struct value v = value_string(bytes_from_text(s->attribute));
        uint32_t a = builder_attribute(b, builder_string_text(b, "k"), 0, &v);
        p.attribute_set = builder_attribute_set(b, &a, 1);
    }
    builder_profile(b, &p);
    sample_writer_fini(&rows);
    observation_writer_fini(&values);
}

// A resource for each.
static struct batch *make(const struct spec *specs, size_t count)
{
    struct builder *b = builder_create(0);
    struct batch *batch;
    struct err e;
    for (size_t i = 0; i < count; i++) {
        const struct key_value kv = {BYTES_LITERAL("service.name"), value_string(bytes_from_text(specs[i].service))};
        builder_resource(b, &kv, 1, 0, (struct bytes){0});
        builder_scope(b, (struct bytes){0}, (struct bytes){0}, NULL, 0, 0, (struct bytes){0});
        add_profile(b, &specs[i]);
    }
    assert_int_equal(builder_finish(b, &batch, &e), ERR_OK);
    builder_destroy(&b);
    return batch;
}

static const struct aggregate_rule sum_all = {0};

static struct batch *aggregated(const struct spec *specs, size_t count)
{
    struct batch *b = make(specs, count);
    struct err e = {0};
    assert_int_equal(batch_aggregate(&b, &sum_all, &e), ERR_OK);
    assert_int_equal(batch_validate(b, &e), ERR_OK);
    return b;
}

static const struct profile *only_profile(const struct batch *b)
{
    assert_int_equal(b->resource_count, 1);
    assert_int_equal(b->resources[0]->scope_count, 1);
    assert_int_equal(b->resources[0]->scopes[0]->profile_count, 1);
    return &b->resources[0]->scopes[0]->profiles[0];
}

static void test_equal_stacks_are_summed(void **state)
{
    (void)state;
    static const struct sample first[] = {{.stack = 1, .value = 10},
                                          {.stack = 2, .value = 20},
                                          {.stack = 1, .value = 1}},
                               second[] = {{.stack = 3, .value = 7}, {.stack = 2, .value = -5}};
    const struct spec specs[] = {{"a", "cpu", 1000, 50, 9, "x", first, 3}, {"a", "cpu", 900, 120, 9, "x", second, 2}};
    struct batch *b = aggregated(specs, 2);
    const struct profile *p = only_profile(b);
    static const int64_t wanted[] = {11, 15, 7};
    assert_int_equal(p->columns->sample_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(p->observations->values[i], wanted[i]);
    assert_int_equal(p->time_nanos, 900);
    assert_int_equal(p->duration_nanos, 150); // 900 to 1050
    assert_int_equal(p->period, 9);
    assert_false(p->has_profile_id);
    batch_unref(&b);
}

// A value that does not fit is another sample: no value is cut.
static void test_overflow_is_exact(void **state)
{
    (void)state;
    static const struct sample high[] = {{.stack = 1, .value = INT64_MAX}, {.stack = 2, .value = INT64_MIN}},
                               low[] = {{.stack = 1, .value = 5}, {.stack = 2, .value = -6}};
    const struct spec specs[] = {
        {"a", "cpu", 1, 1, 0, NULL, high, 2}, {"a", "cpu", 2, 1, 0, NULL, low, 2}, {"a", "cpu", 3, 1, 0, NULL, low, 2}};
    struct batch *b = aggregated(specs, 3);
    const struct profile *p = only_profile(b);
    wide sums[2] = {0};
    assert_int_equal(p->columns->sample_count, 6);
    for (uint32_t i = 0; i < 6; i++)
        sums[p->columns->stacks[i] == p->columns->stacks[1]] += p->observations->values[i];
    assert_true(sums[0] == (wide)INT64_MAX + 10);
    assert_true(sums[1] == (wide)INT64_MIN - 12);
    batch_unref(&b);
}

static void test_timestamps_count_and_give_the_range(void **state)
{
    (void)state;
    static const struct sample first[] =
        {{.stack = 1, .no_value = true, .timestamps = {500, 700}, .timestamp_count = 2}},
                               second[] = {{.stack = 1, .no_value = true, .timestamps = {450}, .timestamp_count = 1}};
    const struct spec specs[] = {{"a", "cpu", 0, 30, 0, NULL, first, 1}, {"a", "cpu", 0, 20, 0, NULL, second, 1}};
    struct batch *b = aggregated(specs, 2);
    const struct profile *p = only_profile(b);
    assert_int_equal(p->observations->values[0], 3);
    assert_null(p->observations->timestamps);
    assert_int_equal(p->time_nanos, 450);
    assert_int_equal(p->duration_nanos, 250);
    batch_unref(&b);
}

// A sample without a value among others with one counts its time stamps, too.
static void test_mixed_shapes(void **state)
{
    (void)state;
    static const struct sample first[] =
        {{.stack = 1, .no_value = true, .timestamps = {500, 700}, .timestamp_count = 2},
         {.stack = 1, .value = 40, .timestamps = {600}, .timestamp_count = 1}},
                               second[] = {{.stack = 1, .value = 100}};
    const struct spec specs[] = {{"a", "cpu", 450, 0, 0, NULL, first, 2}, {"a", "cpu", 450, 0, 0, NULL, second, 1}};
    struct batch *b = aggregated(specs, 2);
    const struct profile *p = only_profile(b);
    assert_int_equal(p->columns->sample_count, 1);
    assert_int_equal(p->observations->values[0], 142);
    assert_int_equal(p->duration_nanos, 250);
    batch_unref(&b);
}

static void test_unknown_times_stay_unknown(void **state)
{
    (void)state;
    static const struct sample one[] = {{.stack = 1, .value = 1}};
    const struct spec specs[] = {{"a", "cpu", 0, 30, 0, NULL, one, 1}, {"a", "cpu", 0, 20, 0, NULL, one, 1}};
    struct batch *b = aggregated(specs, 2);
    assert_int_equal(only_profile(b)->time_nanos, 0);
    assert_int_equal(only_profile(b)->duration_nanos, 30);
    batch_unref(&b);
}

static void test_times_at_the_end_of_time(void **state)
{
    (void)state;
    static const struct sample one[] = {{.stack = 1, .value = 1}};
    const struct spec specs[] = {{"a", "cpu", UINT64_MAX, UINT64_MAX, 0, NULL, one, 1},
                                 {"a", "cpu", 10, 20, 0, NULL, one, 1}};
    struct batch *b = aggregated(specs, 2);
    assert_true(only_profile(b)->time_nanos == 10);
    assert_true(only_profile(b)->duration_nanos == UINT64_MAX - 10);
    batch_unref(&b);
}

static void test_what_differs_is_not_summed(void **state)
{
    (void)state;
    static const struct sample one[] = {{.stack = 1, .value = 1}};
    const struct spec specs[] = {
        {"a", "cpu", 1, 1, 0, NULL, one, 1}, {"b", "cpu", 1, 1, 0, NULL, one, 1}, {"a", "wall", 1, 1, 0, NULL, one, 1},
        {"a", "cpu", 1, 1, 5, NULL, one, 1}, {"a", "cpu", 1, 1, 0, "x", one, 1},
    };
    struct batch *b = aggregated(specs, COUNT_OF(specs));
    assert_int_equal(b->profile_count, COUNT_OF(specs));
    assert_int_equal(b->resource_count, 2);
    assert_true(b->resources[0]->scopes[0]->profiles[0].has_profile_id); // as it came
    batch_unref(&b);
}

static bool not_wall(void *arg, const struct batch *b, const struct profile *p)
{
    (void)arg;
    return !bytes_equal(b->dictionary->strings[p->sample_type.type], BYTES_LITERAL("wall"));
}

static void test_the_rule(void **state)
{
    (void)state;
    static const struct sample one[] = {{.stack = 1, .value = 1}};
    const struct spec specs[] = {{"a", "cpu", 1, 1, 0, NULL, one, 1},
                                 {"a", "wall", 1, 1, 0, NULL, one, 1},
                                 {"a", "cpu", 1, 1, 0, NULL, one, 1},
                                 {"a", "wall", 1, 1, 0, NULL, one, 1}};
    struct batch *b = make(specs, 4);
    struct err e;
    const struct aggregate_rule rule = {not_wall, NULL};
    assert_int_equal(batch_aggregate(&b, &rule, &e), ERR_OK);
    assert_int_equal(b->profile_count, 3);
    batch_unref(&b);
}

static wide total(const struct batch *b)
{
    wide sum = 0;
    for (uint32_t r = 0; r < b->resource_count; r++)
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            for (uint32_t p = 0; p < b->resources[r]->scopes[s]->profile_count; p++) {
                const struct observations *o = b->resources[r]->scopes[s]->profiles[p].observations;
                uint32_t start, count;
                for (uint32_t i = 0; i < o->sample_count; i++) {
                    observations_values(o, i, &start, &count);
                    for (uint32_t v = 0; v < count; v++)
                        sum += o->values[start + v];
                    if (count == 0) {
                        observations_timestamps(o, i, &start, &count);
                        sum += count;
                    }
                }
            }
    return sum;
}

static struct batch *doubled(uint64_t seed)
{
    struct batch *one = random_batch(seed, NULL), *other = random_batch(seed / 2, NULL), *b;
    struct batch *const both[] = {one, other, one};
    struct err e;
    assert_int_equal(batch_merge(both, 3, &b, &e), ERR_OK);
    batch_unref(&one);
    batch_unref(&other);
    return b;
}

static void test_random_batches_keep_their_sums(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct batch *b = doubled(seed), *before = batch_ref(b);
        struct err e = {0};
        assert_int_equal(batch_aggregate(&b, &sum_all, &e), ERR_OK);
        assert_int_equal(batch_validate(b, &e), ERR_OK);
        assert_true(total(b) == total(before));
        assert_true(b->profile_count <= before->profile_count);
        uint64_t profiles = b->profile_count, samples = b->sample_count;
        assert_int_equal(batch_aggregate(&b, &sum_all, &e), ERR_OK); // nothing is left to sum
        assert_int_equal(b->profile_count, profiles);
        assert_int_equal(b->sample_count, samples);
        batch_unref(&before);
        batch_unref(&b);
    }
}

// Sample types of one pprof have their samples in common, before and after.
static void test_columns_stay_shared(void **state)
{
    (void)state;
    static const struct sample one[] = {{.stack = 1, .value = 1}, {.stack = 2, .value = 2}, {.stack = 1, .value = 3}};
    const struct spec spec = {"a", "cpu", 1, 1, 0, NULL, one, 3};
    struct batch *from = make(&spec, 1), *b;
    struct builder *builder = builder_create(0);
    struct profile p = *only_profile(from);
    struct err e;
    builder_add_batch(builder, from); // ids are the same in a builder that has nothing else
    for (int i = 0; i < 4; i++) {
        p.columns = columns_ref(only_profile(from)->columns);
        p.observations = observations_ref(only_profile(from)->observations);
        p.sample_type.type = builder_string_text(builder, i % 2 == 0 ? "wall" : "heap");
        builder_profile(builder, &p);
    }
    assert_int_equal(builder_finish(builder, &b, &e), ERR_OK);
    builder_destroy(&builder);
    assert_int_equal(batch_aggregate(&b, &sum_all, &e), ERR_OK);
    const struct scope *s = b->resources[0]->scopes[0];
    assert_int_equal(s->profile_count, 3);
    assert_int_equal(s->profiles[1].observations->values[0], 8);
    assert_int_equal(s->profiles[2].observations->values[0], 8);
    assert_ptr_equal(s->profiles[1].columns, s->profiles[2].columns);
    batch_unref(&from);
    batch_unref(&b);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        struct batch *b = doubled(7), *before = b;
        struct err e = {0};
        mem_fail_from(n);
        enum err_code rc = batch_aggregate(&b, &sum_all, &e);
        mem_fail_from(0);
        if (rc == ERR_OK) {
            batch_unref(&b);
            assert_true(n > 10);
            return;
        }
        assert_int_equal(rc, ERR_MEMORY);
        assert_ptr_equal(b, before);
        batch_unref(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_stacks_are_summed),
        cmocka_unit_test(test_overflow_is_exact),
        cmocka_unit_test(test_timestamps_count_and_give_the_range),
        cmocka_unit_test(test_mixed_shapes),
        cmocka_unit_test(test_unknown_times_stay_unknown),
        cmocka_unit_test(test_times_at_the_end_of_time),
        cmocka_unit_test(test_what_differs_is_not_summed),
        cmocka_unit_test(test_the_rule),
        cmocka_unit_test(test_random_batches_keep_their_sums),
        cmocka_unit_test(test_columns_stay_shared),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
