// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/profile/fixture.h"

#include "profile/merge.h"

static struct batch *merged(struct batch *const *batches, size_t count)
{
    struct err e = {0};
    struct batch *out;
    if (batch_merge(batches, count, &out, &e) != ERR_OK)
        fail_msg("%s", e.text);
    return out;
}

// All texts one after the other.
static char *joined_texts(struct batch *const *batches, size_t count)
{
    struct buf out;
    buf_init(&out, (size_t)1 << 30);
    for (size_t i = 0; i < count; i++)
        batch_text(batches[i], &out);
    buf_add_byte(&out, 0);
    return (char *)buf_take(&out, &(size_t){0});
}

static void a_merge_says_what_its_inputs_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct batch *in[] = {random_batch(seed, NULL), random_batch(seed + 1000, NULL),
                              random_batch(seed + 2000, NULL)};
        struct batch *out = merged(in, COUNT_OF(in));
        assert_valid(out, seed);
        assert_int_equal(out->sample_count, in[0]->sample_count + in[1]->sample_count + in[2]->sample_count);
        assert_same_text(whole_text(out), joined_texts(in, COUNT_OF(in)), seed);
        batch_unref(&out);
        for (size_t i = 0; i < COUNT_OF(in); i++)
            batch_unref(&in[i]);
    }
}

static void merging_twice_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct batch *in[] = {random_batch(seed, NULL), random_batch(seed, NULL), random_batch(seed + 1000, NULL)};
        struct batch *once = merged(in, 2);
        struct batch *pair[] = {once, in[2]};
        struct batch *twice = merged(pair, 2);
        assert_valid(twice, seed);
        assert_same_text(whole_text(twice), joined_texts(in, 3), seed);
        // Equal inputs do not make the dictionary larger.
        assert_true(once->dictionary->stack_count <= in[0]->dictionary->stack_count);
        assert_true(once->dictionary->string_count <= in[0]->dictionary->string_count);
        batch_unref(&once);
        batch_unref(&twice);
        for (size_t i = 0; i < 3; i++)
            batch_unref(&in[i]);
    }
}

static void shared_columns_stay_shared(void **state)
{
    (void)state;
    size_t shared = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct batch *in[] = {random_batch(seed, NULL), random_batch(seed + 1, NULL)};
        struct batch *out = merged(in, 2);
        for (uint32_t r = 0; r < in[0]->resource_count; r++) {
            for (uint32_t s = 0; s < in[0]->resources[r]->scope_count; s++) {
                const struct scope *old = in[0]->resources[r]->scopes[s], *new = out->resources[r]->scopes[s];
                for (uint32_t p = 1; p < old->profile_count; p++) {
                    bool was = old->profiles[p].columns == old->profiles[p - 1].columns;
                    assert_int_equal(new->profiles[p].columns == new->profiles[p - 1].columns, was);
                    assert_ptr_equal(new->profiles[p].observations, old->profiles[p].observations);
                    shared += was;
                }
            }
        }
        batch_unref(&out);
        batch_unref(&in[0]);
        batch_unref(&in[1]);
    }
    assert_true(shared > 10);
}

static void one_dictionary_is_not_rebuilt(void **state)
{
    (void)state;
    struct batch *b = random_batch(5, NULL);
    struct batch *in[] = {b, b};
    struct batch *out = merged(in, 2), *same = merged(in, 1), *none = merged(NULL, 0);
    assert_ptr_equal(out->dictionary, b->dictionary);
    assert_int_equal(out->resource_count, 2 * b->resource_count);
    assert_ptr_equal(out->resources[b->resource_count], b->resources[0]);
    assert_same_text(whole_text(same), whole_text(b), 5);
    assert_int_equal(none->resource_count, 0);
    assert_valid(none, 0);
    batch_unref(&out);
    batch_unref(&same);
    batch_unref(&none);
    batch_unref(&b);
}

// Mappings a, b, c, d in this order; the only sample uses c, then b; d has no location; a's location is unused.
static struct batch *batch_with_mappings(void)
{
    struct builder *b = builder_create(0);
    static const char *const names[] = {"a", "b", "c", "d"};
    uint32_t locations[4];
    for (uint32_t i = 0; i < 4; i++) {
        struct batch_mapping m = {.filename = builder_string_text(b, names[i])};
        struct batch_location l = {.mapping = builder_mapping(b, &m)};
        if (i < 3)
            locations[i] = builder_location(b, &l, NULL, 0);
    }
    struct sample_writer columns;
    struct observation_writer observations;
    sample_writer_init(&columns, b);
    observation_writer_init(&observations, b);
    uint32_t stack[] = {locations[2], locations[1]};
    sample_writer_add(&columns, builder_stack(b, stack, 2), 0, 0);
    observation_writer_add_value(&observations, 1);
    builder_resource(b, NULL, 0, 0, (struct bytes){NULL, 0});
    builder_scope(b, (struct bytes){NULL, 0}, (struct bytes){NULL, 0}, NULL, 0, 0, (struct bytes){NULL, 0});
    struct profile p = {.columns = sample_writer_take(&columns),
                        .observations = observation_writer_take(&observations)};
    builder_profile(b, &p);
    return finish(b);
}

static void mappings_keep_their_order(void **state)
{
    (void)state;
    struct batch *in[] = {batch_with_mappings(), random_batch(1, NULL)};
    struct batch *out = merged(in, 2);
    const struct dictionary *d = out->dictionary;
    assert_true(bytes_equal_text(d->strings[d->mappings[1].filename], "b"));
    assert_true(bytes_equal_text(d->strings[d->mappings[2].filename], "c"));
    assert_true(bytes_equal_text(d->strings[d->mappings[3].filename], "d"));
    batch_unref(&out);
    batch_unref(&in[0]);
    batch_unref(&in[1]);
}

static void the_budget_of_the_builder_holds(void **state)
{
    (void)state;
    struct batch *b = random_batch(3, &(struct random_batch_options){.max_resources = 3,
                                                                     .max_scopes = 3,
                                                                     .max_profiles = 3,
                                                                     .max_samples = 500,
                                                                     .max_stack_depth = 20,
                                                                     .item_count = 200});
    for (size_t max_bytes = 1; max_bytes < 20000; max_bytes += 997) {
        struct builder *builder = builder_create(max_bytes);
        builder_add_batch(builder, b);
        struct batch *out;
        assert_int_equal(builder_finish(builder, &out, NULL), ERR_LIMIT);
        builder_destroy(&builder);
    }
    batch_unref(&b);
}

static bool merge_two(void *arg, struct err *e)
{
    struct batch *out;
    bool ok = batch_merge(arg, 2, &out, e) == ERR_OK;
    assert_int_equal(ok, out != NULL);
    batch_unref(&out);
    return ok;
}

static void merging_survives_failing_memory(void **state)
{
    (void)state;
    struct batch *in[] = {random_batch(7, NULL), random_batch(8, NULL)};
    char *before = batch_lines(in, 2);
    run_with_failing_memory(merge_two, in);
    assert_same_text(before, batch_lines(in, 2), 7);
    struct batch *same[] = {in[0], in[0]};
    run_with_failing_memory(merge_two, same);
    batch_unref(&in[0]);
    batch_unref(&in[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_merge_says_what_its_inputs_say), cmocka_unit_test(merging_twice_changes_nothing),
        cmocka_unit_test(shared_columns_stay_shared),       cmocka_unit_test(one_dictionary_is_not_rebuilt),
        cmocka_unit_test(mappings_keep_their_order),        cmocka_unit_test(the_budget_of_the_builder_holds),
        cmocka_unit_test(merging_survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
