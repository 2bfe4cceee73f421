// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/profile/fixture.h"

#include "profile/merge.h"
#include "profile/prune.h"

static void check_table(const struct prune_table *t, uint32_t count, uint64_t seed)
{
    if (t->new_ids == NULL) {
        assert_int_equal(t->kept, count);
        return;
    }
    assert_true(t->kept < count);
    assert_int_equal(t->new_ids[0], 0);
    uint32_t next = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (t->new_ids[i] != PRUNED && t->new_ids[i] != next++)
            fail_msg("seed %llu: numbers are not ascending", (unsigned long long)seed);
    }
    assert_int_equal(next, t->kept);
}

static void check_sizes(const struct prune *p, const struct dictionary *d, uint64_t seed)
{
    check_table(&p->strings, d->string_count, seed);
    check_table(&p->mappings, d->mapping_count, seed);
    check_table(&p->locations, d->location_count, seed);
    check_table(&p->functions, d->function_count, seed);
    check_table(&p->links, d->link_count, seed);
    check_table(&p->attributes, d->attribute_count, seed);
    check_table(&p->stacks, d->stack_count, seed);
}

// A merge interns what is referenced: it must come to the same numbers of items.
static void compare_with_merge(const struct prune *p, struct batch *b, uint64_t seed)
{
    struct builder *builder = builder_create(0);
    builder_add_batch(builder, b);
    struct batch *merged = finish(builder);
    const struct dictionary *d = merged->dictionary;
    if (p->stacks.kept != d->stack_count || p->locations.kept != d->location_count ||
        p->functions.kept != d->function_count || p->mappings.kept != d->mapping_count ||
        p->links.kept != d->link_count || p->attributes.kept != d->attribute_count ||
        p->strings.kept != d->string_count)
        fail_msg("seed %llu: pruning and merging differ", (unsigned long long)seed);
    batch_unref(&merged);
}

static void pruning_agrees_with_merging(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct batch *b = random_batch(seed, NULL), **parts;
        size_t count;
        assert_int_equal(batch_split(b, 5, &parts, &count, NULL), ERR_OK);
        for (size_t i = 0; i < count; i++) {
            struct prune p;
            assert_int_equal(prune_init(&p, parts[i], NULL), ERR_OK);
            check_sizes(&p, b->dictionary, seed);
            compare_with_merge(&p, parts[i], seed);
            prune_fini(&p);
            batch_unref(&parts[i]);
        }
        free(parts);
        batch_unref(&b);
    }
}

static void a_tight_dictionary_costs_no_table(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct batch *b = random_batch(seed, NULL);
        struct builder *builder = builder_create(0);
        builder_add_batch(builder, b);
        struct batch *tight = finish(builder);
        struct prune p;
        assert_int_equal(prune_init(&p, tight, NULL), ERR_OK);
        assert_null(p.strings.new_ids);
        assert_null(p.mappings.new_ids);
        assert_null(p.locations.new_ids);
        assert_null(p.functions.new_ids);
        assert_null(p.links.new_ids);
        assert_null(p.attributes.new_ids);
        assert_null(p.stacks.new_ids);
        assert_int_equal(prune_id(&p.strings, 7), 7);
        prune_fini(&p);
        prune_fini(&p);
        batch_unref(&tight);
        batch_unref(&b);
    }
}

static void mappings_without_locations_are_kept(void **state)
{
    (void)state;
    struct builder *builder = builder_create(0);
    struct batch_mapping used = {.filename = builder_string_text(builder, "used")};
    struct batch_mapping alone = {.filename = builder_string_text(builder, "alone")};
    struct batch_location l = {.mapping = builder_mapping(builder, &used)};
    uint32_t location = builder_location(builder, &l, NULL, 0);
    builder_stack(builder, &location, 1);
    builder_mapping(builder, &alone);
    struct batch *b = finish(builder);
    struct prune p;
    assert_int_equal(prune_init(&p, b, NULL), ERR_OK);
    assert_int_equal(prune_id(&p.mappings, 1), PRUNED);
    assert_int_equal(prune_id(&p.mappings, 2), 1);
    assert_int_equal(prune_id(&p.strings, 1), PRUNED);
    assert_int_equal(prune_id(&p.strings, 2), 1);
    assert_int_equal(p.stacks.kept, 1);
    prune_fini(&p);
    batch_unref(&b);
}

static bool prune(void *arg, struct err *e)
{
    struct prune p;
    bool ok = prune_init(&p, arg, e) == ERR_OK;
    prune_fini(&p);
    return ok;
}

static void pruning_survives_failing_memory(void **state)
{
    (void)state;
    struct batch *b = random_batch(4, NULL);
    run_with_failing_memory(prune, b);
    batch_unref(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pruning_agrees_with_merging),
        cmocka_unit_test(a_tight_dictionary_costs_no_table),
        cmocka_unit_test(mappings_without_locations_are_kept),
        cmocka_unit_test(pruning_survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
