// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/profile/fixture.h"

#include <pthread.h>

static const struct random_batch_options one_profile = {.max_resources = 1,
                                                        .max_scopes = 1,
                                                        .max_profiles = 1,
                                                        .max_samples = 1000,
                                                        .item_count = 10,
                                                        .max_stack_depth = 5};

static struct batch *batch_with_samples(void)
{
    for (uint64_t seed = 1;; seed++) {
        struct batch *b = random_batch(seed, &one_profile);
        if (b->sample_count > 100)
            return b;
        batch_unref(&b);
    }
}

static void references_are_counted(void **state)
{
    (void)state;
    struct batch *b = batch_with_samples(), *again = batch_ref(b);
    assert_ptr_equal(b, again);
    struct columns *columns = columns_ref(b->resources[0]->scopes[0]->profiles[0].columns);
    batch_unref(&b);
    assert_null(b);
    batch_unref(&b); // NULL is fine
    assert_true(again->sample_count > 100);
    uint64_t samples = again->sample_count;
    batch_unref(&again);
    assert_int_equal(columns->sample_count, samples);
    columns_unref(&columns);
}

static void parts_outlive_the_batch(void **state)
{
    (void)state;
    struct batch *b = batch_with_samples();
    struct dictionary *d = dictionary_ref(b->dictionary);
    struct resource *r = resource_ref(b->resources[0]);
    struct scope *s = scope_ref(r->scopes[0]);
    struct observations *o = observations_ref(s->profiles[0].observations);
    batch_unref(&b);
    resource_unref(&r);
    assert_int_equal(s->profiles[0].observations->sample_count, o->sample_count);
    scope_unref(&s);
    assert_int_equal(d->strings[0].len, 0);
    dictionary_unref(&d);
    observations_unref(&o);
}

static void memory_counts_shared_parts_once(void **state)
{
    (void)state;
    struct batch *b = batch_with_samples();
    struct resource *twice[] = {resource_ref(b->resources[0]), resource_ref(b->resources[0])};
    struct batch *doubled = batch_create(dictionary_ref(b->dictionary), twice, 2);
    assert_int_equal(doubled->sample_count, 2 * b->sample_count);
    size_t once = batch_memory_bytes(b), both = batch_memory_bytes(doubled);
    const struct profile *p = &b->resources[0]->scopes[0]->profiles[0];
    assert_true(once > p->columns->bytes + p->observations->bytes + b->dictionary->bytes);
    assert_true(both < once + p->columns->bytes);
    // Without memory for finding out it counts too much rather than too little.
    mem_fail_from(1);
    assert_true(batch_memory_bytes(doubled) >= both);
    mem_fail_from(0);
    batch_unref(&doubled);
    batch_unref(&b);
}

static struct batch *two_sample_types(void)
{
    struct builder *b = builder_create(0);
    struct bytes none = {NULL, 0};
    builder_resource(b, NULL, 0, 0, none);
    builder_scope(b, none, none, NULL, 0, 0, none);
    struct sample_writer w;
    struct observation_writer o;
    sample_writer_init(&w, b);
    observation_writer_init(&o, b);
    for (uint32_t i = 0; i < 100; i++)
        sample_writer_add(&w, 0, 0, 0);
    struct columns *columns = sample_writer_take(&w);
    for (uint32_t t = 0; t < 2; t++) {
        for (uint32_t i = 0; i < 100; i++)
            observation_writer_add_value(&o, i);
        struct profile p = {.columns = columns_ref(columns), .observations = observation_writer_take(&o)};
        builder_profile(b, &p);
    }
    columns_unref(&columns);
    return finish(b);
}

static void memory_is_the_sum_of_the_parts(void **state)
{
    (void)state;
    struct batch *b = two_sample_types();
    const struct resource *r = b->resources[0];
    const struct scope *s = r->scopes[0];
    size_t sum = sizeof *b + sizeof(struct resource *) + sizeof *r + r->arena.total_bytes + sizeof *s +
                 s->arena.total_bytes + b->dictionary->bytes + s->profiles[0].columns->bytes +
                 s->profiles[0].observations->bytes + s->profiles[1].observations->bytes;
    assert_int_equal(batch_memory_bytes(b), sum);
    batch_unref(&b);
}

static void create_takes_over_on_failure(void **state)
{
    (void)state;
    struct batch *b = batch_with_samples();
    for (size_t n = 1; n <= 2; n++) {
        struct resource *resources[] = {resource_ref(b->resources[0])};
        mem_fail_from(n);
        assert_null(batch_create(dictionary_ref(b->dictionary), resources, 1));
        mem_fail_from(0);
    }
    batch_unref(&b); // LeakSanitizer tells if a reference is left
}

static void *use_and_unref(void *arg)
{
    struct batch *b = arg;
    struct batch *mine = batch_ref(b);
    uint64_t sum = 0;
    const struct columns *c = mine->resources[0]->scopes[0]->profiles[0].columns;
    for (uint32_t i = 0; i < c->sample_count; i++)
        sum += c->stacks[i];
    batch_unref(&mine);
    batch_unref(&b);
    return (void *)(uintptr_t)sum;
}

static void any_thread_may_be_the_last(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct batch *b = batch_with_samples();
        pthread_t threads[4];
        for (size_t i = 0; i < COUNT_OF(threads); i++)
            assert_int_equal(pthread_create(&threads[i], NULL, use_and_unref, batch_ref(b)), 0);
        batch_unref(&b);
        void *sums[COUNT_OF(threads)];
        for (size_t i = 0; i < COUNT_OF(threads); i++)
            assert_int_equal(pthread_join(threads[i], &sums[i]), 0);
        assert_ptr_equal(sums[0], sums[3]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_are_counted),          cmocka_unit_test(parts_outlive_the_batch),
        cmocka_unit_test(memory_counts_shared_parts_once), cmocka_unit_test(create_takes_over_on_failure),
        cmocka_unit_test(any_thread_may_be_the_last),      cmocka_unit_test(memory_is_the_sum_of_the_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
