// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/processors/fixture.h"

#include "profile/parts.h"

#include <stdio.h>

static const char *const pod_yaml = "keys: [k8s.pod.name]";

#define SAMPLES(...) ((const struct test_sample[]){__VA_ARGS__, {0, NULL, 0}})

static const struct test_sample host_samples[] = {{0, "pod=a,thread=1", 1}, {0, "pod=b,thread=1", 2}, {0, "", 4},
                                                  {0, "pod=a,thread=2", 8}, {0, "thread=3", 16},      {0, NULL, 0}};

static struct batch *host(void)
{
    struct builder *b = builder_create(0);
    add_service(b, "host");
    add_profile(b, &(struct test_profile){"cpu", "", host_samples});
    add_profile(b, &(struct test_profile){"wall", "comment=x", host_samples});
    return finish(b);
}

static void a_host_becomes_its_pods(void **state)
{
    (void)state;
    assert_processed(&groupbyattrs_processor, "keys: [pod]", host(),
                     "service.name=host,pod=a\n"
                     "- cpu{}: {thread=1}1 {thread=2}8\n"
                     "  wall{comment=x}: {thread=1}1 {thread=2}8\n"
                     "service.name=host,pod=b\n"
                     "- cpu{}: {thread=1}2\n"
                     "  wall{comment=x}: {thread=1}2\n"
                     "service.name=host\n"
                     "- cpu{}: {}4 {thread=3}16\n"
                     "  wall{comment=x}: {}4 {thread=3}16\n");
}

static void several_keys_make_combinations(void **state)
{
    (void)state;
    assert_processed(&groupbyattrs_processor, "keys: [thread, pod]", host(),
                     "service.name=host,thread=1,pod=a\n- cpu{}: {}1\n  wall{comment=x}: {}1\n"
                     "service.name=host,thread=1,pod=b\n- cpu{}: {}2\n  wall{comment=x}: {}2\n"
                     "service.name=host\n- cpu{}: {}4\n  wall{comment=x}: {}4\n"
                     "service.name=host,thread=2,pod=a\n- cpu{}: {}8\n  wall{comment=x}: {}8\n"
                     "service.name=host,thread=3\n- cpu{}: {}16\n  wall{comment=x}: {}16\n");
}

static void attributes_of_profiles_move_too(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    add_service(b, "host");
    add_profile(b, &(struct test_profile){"cpu", "pod=p,x=y", SAMPLES({0, "", 1}, {0, "pod=s", 2})});
    add_profile(b, &(struct test_profile){"empty", "pod=p", host_samples + 5});
    add_profile(b, &(struct test_profile){"other", "", SAMPLES({0, "z=1", 4})});
    assert_processed(&groupbyattrs_processor, "keys: pod", finish(b),
                     "service.name=host,pod=p\n- cpu{x=y}: {}1\n  empty{}:\n"
                     "service.name=host,pod=s\n- cpu{x=y}: {}2\n"
                     "service.name=host\n- other{}: {z=1}4\n");
}

static void a_moved_value_wins_over_the_resources(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    const struct key_value list[] = {PAIR("pod", TEXT("old")), PAIR("n", value_int(1))};
    builder_resource(b, list, 2, 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    add_profile(b, &(struct test_profile){"cpu", "", SAMPLES({0, "pod=new", 1}, {0, "pod=old", 2}, {0, "", 4})});
    assert_processed(&groupbyattrs_processor, "keys: pod", finish(b),
                     "pod=new,n=1\n- cpu{}: {}1\npod=old,n=1\n- cpu{}: {}2 {}4\n");
}

// Resources that say the same become one, also with those that were there.
static struct batch *scattered(void)
{
    const struct key_value one[] = {PAIR("pod", TEXT("a")), PAIR("n", value_int(1))},
                           turned[] = {PAIR("n", value_int(1)), PAIR("pod", TEXT("a"))};
    struct builder *b = builder_create(0);
    builder_resource(b, one, 2, 0, nothing);
    builder_scope(b, BYTES_LITERAL("x"), nothing, NULL, 0, 0, nothing);
    add_profile(b, &(struct test_profile){"cpu", "", SAMPLES({0, "", 1})});
    builder_resource(b, one + 1, 1, 0, nothing);
    builder_scope(b, BYTES_LITERAL("y"), nothing, NULL, 0, 0, nothing);
    add_profile(b, &(struct test_profile){"cpu", "", SAMPLES({0, "pod=a", 2}, {0, "", 4})});
    builder_resource(b, turned, 2, 0, nothing);
    builder_scope(b, BYTES_LITERAL("x"), nothing, NULL, 0, 0, nothing);
    add_profile(b, &(struct test_profile){"wall", "", SAMPLES({0, "", 8})});
    builder_resource(b, one, 2, 0, BYTES_LITERAL("http://schema"));
    return finish(b);
}

static void equal_resources_are_joined(void **state)
{
    (void)state;
    assert_processed(&groupbyattrs_processor, "{}", scattered(),
                     "pod=a,n=1\n- cpu{}: {}1\n  wall{}: {}8\nn=1\n- cpu{}: {pod=a}2 {}4\npod=a,n=1\n");
    assert_processed(&groupbyattrs_processor, "keys: [pod]", scattered(),
                     "pod=a,n=1\n- cpu{}: {}1\n  wall{}: {}8\n- cpu{}: {}2\nn=1\n- cpu{}: {}4\npod=a,n=1\n");
}

static void nothing_to_do_gives_the_batch_itself(void **state)
{
    (void)state;
    struct batch *b = host(), *out = processed(&groupbyattrs_processor, pod_yaml, batch_ref(b));
    assert_ptr_equal(out, b);
    batch_unref(&out);
    out = processed(&groupbyattrs_processor, "{}", batch_ref(b));
    assert_ptr_equal(out, b);
    batch_unref(&out);
    batch_unref(&b);
}

static void what_stays_is_shared(void **state)
{
    (void)state;
    struct builder *builder = builder_create(0);
    add_service(builder, "a");
    add_profile(builder, &(struct test_profile){"cpu", "", SAMPLES({0, "", 1})});
    add_service(builder, "b");
    add_profile(builder, &(struct test_profile){"cpu", "", SAMPLES({0, "pod=a", 1})});
    add_profile(builder, &(struct test_profile){"wall", "", SAMPLES({0, "x=1", 1})});
    struct batch *b = finish(builder), *out = processed(&groupbyattrs_processor, "keys: pod", batch_ref(b));
    assert_ptr_equal(out->resources[0], b->resources[0]);
    assert_ptr_equal(out->dictionary->stacks, b->dictionary->stacks);
    assert_ptr_equal(out->resources[2]->scopes[0]->profiles[0].columns,
                     b->resources[1]->scopes[0]->profiles[1].columns);
    batch_unref(&out);
    batch_unref(&b);
}

// Sample types of one pprof stay together, or they would be several files afterwards.
static void sample_types_share_columns_afterwards(void **state)
{
    (void)state;
    struct builder *builder = builder_create(0);
    add_service(builder, "host");
    add_profile(builder, &(struct test_profile){"cpu", "", host_samples});
    struct batch *b = finish(builder);
    // a second sample type of the same columns
    const struct profile *p = &b->resources[0]->scopes[0]->profiles[0];
    struct profile twice[] = {*p, *p};
    for (int i = 0; i < 2; i++) {
        columns_ref(p->columns);
        observations_ref(p->observations);
    }
    struct scope *scope = scope_with_profiles(b->resources[0]->scopes[0], twice, 2);
    struct resource *r = resource_with_scopes(b->resources[0], &scope, 1);
    struct batch *two = batch_create(dictionary_ref(b->dictionary), &r, 1);
    struct batch *out = processed(&groupbyattrs_processor, "keys: pod", two);
    assert_int_equal(out->resource_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct profile *made = out->resources[i]->scopes[0]->profiles;
        assert_int_equal(out->resources[i]->scopes[0]->profile_count, 2);
        assert_ptr_equal(made[0].columns, made[1].columns);
    }
    batch_unref(&out);
    batch_unref(&b);
}

// --- every sample, by rules of its own ---

struct line_list {
    char *lines[4000];
    size_t count;
};

static bool is_key(struct bytes key, const char *const *keys)
{
    while (*keys != NULL && !bytes_equal_text(key, *keys))
        keys++;
    return *keys != NULL;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_into(struct buf *out, char **items, size_t count)
{
    qsort(items, count, sizeof *items, compare_lines);
    for (size_t i = 0; i < count; i++) {
        buf_add_text(out, items[i]);
        buf_add_byte(out, ' ');
        free(items[i]);
    }
    buf_add_byte(out, '|');
}

static char *entry_text(struct bytes key, const struct value *v)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    buf_add(&out, key.data, key.len);
    buf_add_format(&out, "=%d", (int)v->kind);
    value_print(&out, &(struct value){.kind = VALUE_ARRAY, .count = 1, .items = v});
    buf_add_byte(&out, '\0');
    assert_true(buf_ok(&out));
    return (char *)buf_take(&out, &(size_t){0});
}

// The value of key in a set, NULL if there is none.
static const struct value *in_set(const struct dictionary *d, uint32_t set, struct bytes key)
{
    const struct batch_range range = d->attribute_sets[set];
    for (uint32_t i = 0; i < range.count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[range.start + i]];
        if (bytes_equal(d->strings[a->key], key))
            return &a->value;
    }
    return NULL;
}

static void add_rest(struct buf *out, const struct dictionary *d, uint32_t set, const char *const *keys)
{
    char *items[64];
    size_t count = 0;
    const struct batch_range range = d->attribute_sets[set];
    for (uint32_t i = 0; i < range.count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[range.start + i]];
        if (!is_key(d->strings[a->key], keys))
            items[count++] = entry_text(d->strings[a->key], &a->value);
    }
    sort_into(out, items, count);
}

// Attributes of the resource as they are to be.
static void add_resource(struct buf *out, const struct dictionary *d, const struct resource *r, uint32_t profile_set,
                         uint32_t sample_set, const char *const *keys)
{
    char *items[64];
    size_t count = 0;
    for (uint32_t i = 0; i < r->attribute_count; i++)
        if (!is_key(r->attributes[i].key, keys))
            items[count++] = entry_text(r->attributes[i].key, &r->attributes[i].value);
    for (; *keys != NULL; keys++) {
        const struct bytes key = bytes_from_text(*keys);
        const struct key_value *own = key_values_find(r->attributes, r->attribute_count, key);
        const struct value *v = in_set(d, sample_set, key);
        if (v == NULL)
            v = in_set(d, profile_set, key);
        if (v != NULL || own != NULL)
            items[count++] = entry_text(key, v != NULL ? v : &own->value);
    }
    sort_into(out, items, count);
    buf_add(out, r->schema_url.data, r->schema_url.len);
    buf_add_format(out, " %u %u|", r->dropped_attributes_count, r->entity_ref_count);
}

static void add_sample(struct buf *out, const struct profile *p, uint32_t i)
{
    uint32_t start, count;
    buf_add_format(out, "stack %u link %u:", p->columns->stacks[i],
                   p->columns->links == NULL ? 0 : p->columns->links[i]);
    observations_values(p->observations, i, &start, &count);
    for (uint32_t v = start; v < start + count; v++)
        buf_add_format(out, " %" PRId64, p->observations->values[v]);
    observations_timestamps(p->observations, i, &start, &count);
    for (uint32_t t = start; t < start + count; t++)
        buf_add_format(out, " @%" PRIu64, p->observations->timestamps[t]);
}

static void lines_of_profile(struct line_list *l, const struct batch *b, const struct resource *r,
                             const struct scope *s, const struct profile *p, const char *const *keys)
{
    const uint32_t n = p->columns->sample_count;
    for (uint32_t i = 0; i < (n == 0 ? 1 : n); i++) {
        struct buf out;
        const uint32_t set = n == 0 || p->columns->attribute_sets == NULL ? 0 : p->columns->attribute_sets[i];
        buf_init(&out, 1 << 20);
        add_resource(&out, b->dictionary, r, p->attribute_set, set, keys);
        buf_add(&out, s->name.data, s->name.len);
        buf_add_format(&out, " %u %u %" PRIu64 " ", p->sample_type.type, p->sample_type.unit, p->duration_nanos);
        add_rest(&out, b->dictionary, p->attribute_set, keys);
        add_rest(&out, b->dictionary, set, keys);
        if (n > 0)
            add_sample(&out, p, i);
        buf_add_byte(&out, '\0');
        assert_true(buf_ok(&out) && l->count < COUNT_OF(l->lines));
        l->lines[l->count++] = (char *)buf_take(&out, &(size_t){0});
    }
}

static void lines_of(struct line_list *l, const struct batch *b, const char *const *keys)
{
    l->count = 0;
    for (uint32_t r = 0; r < b->resource_count; r++)
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            for (uint32_t p = 0; p < b->resources[r]->scopes[s]->profile_count; p++)
                lines_of_profile(l, b, b->resources[r], b->resources[r]->scopes[s],
                                 &b->resources[r]->scopes[s]->profiles[p], keys);
    qsort(l->lines, l->count, sizeof *l->lines, compare_lines);
}

static void assert_keys_are_gone(const struct batch *b, const char *const *keys)
{
    for (uint32_t r = 0; r < b->resource_count; r++)
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            for (uint32_t i = 0; i < b->resources[r]->scopes[s]->profile_count; i++) {
                const struct profile *p = &b->resources[r]->scopes[s]->profiles[i];
                for (const char *const *key = keys; *key != NULL; key++) {
                    assert_null(in_set(b->dictionary, p->attribute_set, bytes_from_text(*key)));
                    for (uint32_t n = 0; p->columns->attribute_sets != NULL && n < p->columns->sample_count; n++)
                        assert_null(in_set(b->dictionary, p->columns->attribute_sets[n], bytes_from_text(*key)));
                }
            }
}

static void assert_grouped(struct batch *b, uint64_t seed, const char *yaml, const char *const *keys)
{
    static struct line_list before, after;
    lines_of(&before, b, keys);
    struct batch *out = processed(&groupbyattrs_processor, yaml, batch_ref(b));
    lines_of(&after, out, keys);
    assert_keys_are_gone(out, keys);
    assert_same_totals(b, out);
    if (before.count != after.count)
        fail_msg("seed %llu: %zu lines became %zu", (unsigned long long)seed, before.count, after.count);
    for (size_t i = 0; i < before.count; i++) {
        assert_string_equal(after.lines[i], before.lines[i]);
        free(before.lines[i]);
        free(after.lines[i]);
    }
    batch_unref(&out);
    batch_unref(&b);
}

static void every_sample_lands_where_it_belongs(void **state)
{
    (void)state;
    static const char *const three[] = {"main1", "x1", "x2", NULL}, *const many[] = {"x1",    "x2",   "x3",
                                                                                     "x7",    "x9",   "main1",
                                                                                     "main2", "a b1", NULL},
                             *const none[] = {NULL};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        assert_grouped(random_batch(seed, NULL), seed, "keys: [main1, x1, x2]", three);
        assert_grouped(random_batch(seed, NULL), seed, "keys: [x1, x2, x3, x7, x9, main1, main2, a b1]", many);
        assert_grouped(random_batch(seed, NULL), seed, "{}", none);
    }
}

// --- 200 pods ---

static struct batch *pods(uint32_t pod_count, uint32_t samples)
{
    struct builder *b = builder_create(0);
    struct test_sample *list = mem_alloc((samples + 1) * sizeof *list);
    char(*names)[32] = mem_alloc(samples * sizeof *names);
    for (uint32_t i = 0; i < samples; i++) {
        snprintf(names[i], sizeof names[i], "pod=p%u,thread=%u", i * 7 % pod_count, i % 50);
        list[i] = (struct test_sample){0, names[i], i};
    }
    add_service(b, "host");
    add_profile(b, &(struct test_profile){"cpu", "", list});
    free(list);
    free(names);
    return finish(b);
}

static size_t allocations_of(uint32_t pod_count, uint32_t samples)
{
    struct test_run r;
    run_begin(&r, &groupbyattrs_processor, "keys: pod");
    struct batch *b = pods(pod_count, samples), *before = batch_ref(b);
    mem_fail_from(0);
    assert_int_equal(run_process(&r, &b), ERR_OK);
    assert_int_equal(b->resource_count, pod_count);
    assert_same_totals(before, b);
    batch_unref(&before);
    batch_unref(&b);
    run_end(&r);
    return r.allocations;
}

static void cost_grows_with_pods_not_with_samples(void **state)
{
    (void)state;
    size_t few = allocations_of(200, 2000), many = allocations_of(200, 20000);
    assert_in_range(many, 200, few + few / 2);
    assert_in_range(allocations_of(20, 2000), 20, few / 4);
}

// Each sample its own resource, of which each has a copy of large attributes.
static void too_many_resources_are_refused(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    static char large[1 << 16];
    memset(large, 'x', sizeof large - 1);
    struct test_run r;
    struct builder *builder = builder_create(0);
    static struct test_sample list[COUNT + 1];
    static char names[COUNT][16];
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "pod=%u", i);
        list[i] = (struct test_sample){0, names[i], 1};
    }
    add_service(builder, large);
    add_profile(builder, &(struct test_profile){"cpu", "", list});
    struct batch *b = finish(builder), *before = b;
    run_begin(&r, &groupbyattrs_processor, "keys: pod");
    assert_int_equal(run_process(&r, &b), ERR_LIMIT);
    assert_ptr_equal(b, before);
    assert_non_null(strstr(r.e.text, "64 MiB allowed: group by attributes with fewer values"));
    run_end(&r);
    batch_unref(&b);
}

static void a_failed_allocation_leaves_the_batch(void **state)
{
    (void)state;
    assert_memory_may_fail(&groupbyattrs_processor, "keys: [pod]", host(), 20);
    assert_memory_may_fail(&groupbyattrs_processor, "keys: [x1, x2, main1]", random_batch(7, NULL), 20);
    assert_memory_may_fail(&groupbyattrs_processor, "{}", scattered(), 10);
}

// What is long is looked at once: attributes of samples, of the resource and of its scopes, whose profiles are joined.
static void long_texts_are_looked_at_once(void **state)
{
    (void)state;
    enum { MANY = 8000, ATTRIBUTES = 40000 };
    static char keys[ATTRIBUTES][8];
    static struct key_value of_scope[ATTRIBUTES];
    const struct key_value own = {BYTES_LITERAL("own"), value_string(long_text())};
    const struct value pod = value_string(BYTES_LITERAL("p"));
    for (int i = 0; i < ATTRIBUTES; i++) {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        of_scope[i] = (struct key_value){bytes_from_text(keys[i]), value_int(i)};
    }
    struct builder *b = builder_create(0);
    struct sample_writer samples, none;
    builder_resource(b, &own, 1, 0, nothing);
    builder_scope(b, nothing, nothing, of_scope, ATTRIBUTES, 0, nothing);
    sample_writer_init(&samples, b);
    const uint32_t long_value = builder_attribute(b, builder_string_text(b, "a"), 0, &own.value);
    for (int i = 0; i < MANY; i++) {
        char unit[16];
        snprintf(unit, sizeof unit, "u%d", i);
        const uint32_t ids[] = {
            long_value, builder_attribute(b, builder_string_text(b, "pod"), builder_string_text(b, unit), &pod)};
        sample_writer_add(&samples, 0, builder_attribute_set(b, ids, 2), 0);
    }
    add_written(b, &samples, MANY, (struct profile){0});
    sample_writer_init(&none, b);
    add_written(b, &none, 0, (struct profile){0});                        // one that stays
    builder_scope(b, nothing, nothing, of_scope, ATTRIBUTES, 0, nothing); // the same one again
    for (int i = 0; i < MANY; i++) {
        sample_writer_init(&none, b);
        add_written(b, &none, 0, (struct profile){.time_nanos = 1});
    }
    for (int i = 0; i < MANY; i++)
        builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    assert_quick(&groupbyattrs_processor, "keys: [pod]", finish(b));
}

// Units are lost: attributes that differ in nothing else lead to one resource.
static void units_make_no_difference(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    struct sample_writer samples;
    const struct value pod = value_string(BYTES_LITERAL("p"));
    add_service(b, "host");
    sample_writer_init(&samples, b);
    for (int i = 0; i < 3; i++) {
        const uint32_t id = builder_attribute(b, builder_string_text(b, "pod"),
                                              builder_string_text(b, (const char *const[]){"", "a", "b"}[i]), &pod);
        sample_writer_add(&samples, 0, builder_attribute_set(b, &id, 1), 0);
    }
    add_written(b, &samples, 3, (struct profile){.sample_type = {builder_string_text(b, "cpu"), 0}});
    assert_processed(&groupbyattrs_processor, "keys: [pod]", finish(b),
                     "service.name=host,pod=p\n- cpu{}: {}1 {}1 {}1\n");
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    assert_setting_error(&groupbyattrs_processor, "keys: [a, b, a]",
                         "test:1:1: processors.groupbyattrs: keys: \"a\" is there twice\n");
    assert_setting_error(&groupbyattrs_processor, "keys: ['']",
                         "test:1:1: processors.groupbyattrs: keys: [0] must not be empty\n");
    assert_setting_error(&groupbyattrs_processor, "{}", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_becomes_its_pods),
        cmocka_unit_test(several_keys_make_combinations),
        cmocka_unit_test(attributes_of_profiles_move_too),
        cmocka_unit_test(a_moved_value_wins_over_the_resources),
        cmocka_unit_test(equal_resources_are_joined),
        cmocka_unit_test(nothing_to_do_gives_the_batch_itself),
        cmocka_unit_test(what_stays_is_shared),
        cmocka_unit_test(sample_types_share_columns_afterwards),
        cmocka_unit_test(every_sample_lands_where_it_belongs),
        cmocka_unit_test(cost_grows_with_pods_not_with_samples),
        cmocka_unit_test(too_many_resources_are_refused),
        cmocka_unit_test(a_failed_allocation_leaves_the_batch),
        cmocka_unit_test(long_texts_are_looked_at_once),
        cmocka_unit_test(units_make_no_difference),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
