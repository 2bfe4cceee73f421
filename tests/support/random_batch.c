// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_batch.h"

#include "base/check.h"
#include "base/mem.h"

#include <stdio.h>

enum { MAX_ITEMS = 256, MAX_LIST = 64 };

const struct random_batch_options random_batch_defaults = {
    .max_resources = 4,
    .max_scopes = 3,
    .max_profiles = 4,
    .max_samples = 12,
    .max_stack_depth = 8,
    .max_attributes = 5,
    .item_count = 24,
    .timestamps = true,
    .links = true,
    .payloads = true,
    .nested_values = true,
};

uint64_t test_random_next(struct test_random *r)
{
    uint64_t x = r->state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

uint32_t test_random_below(struct test_random *r, uint32_t limit)
{
    return limit == 0 ? 0 : (uint32_t)(test_random_next(r) % limit);
}

bool test_random_chance(struct test_random *r, uint32_t percent)
{
    return test_random_below(r, 100) < percent;
}

struct pool {
    uint32_t ids[MAX_ITEMS];
    uint32_t count;
};

struct maker {
    struct builder *builder;
    struct test_random random;
    const struct random_batch_options *options;
    struct pool strings, functions, mappings, locations, stacks, links, attributes, sets;
};

static uint32_t draw(struct maker *m, const struct pool *p)
{
    return p->count == 0 ? 0 : p->ids[test_random_below(&m->random, p->count)];
}

// Numbers that hurt: small, huge, negative.
static int64_t number(struct maker *m)
{
    static const int64_t edges[] = {0, 1, -1, INT64_MAX, INT64_MIN, 127, 128, INT64_C(1) << 53};
    uint32_t kind = test_random_below(&m->random, 4);
    if (kind == 0)
        return edges[test_random_below(&m->random, COUNT_OF(edges))];
    return kind == 1 ? (int64_t)test_random_next(&m->random) : (int64_t)test_random_below(&m->random, 1000);
}

static struct bytes text(struct maker *m, char *room, size_t size)
{
    static const char *const words[] = {"main", "runtime.gc", "a b", "\"quoted\"\n", "\xc3\xa9t\xc3\xa9", "x"};
    int n = snprintf(room, size, "%s%u", words[test_random_below(&m->random, COUNT_OF(words))],
                     test_random_below(&m->random, 40));
    return (struct bytes){(uint8_t *)room, (size_t)n};
}

// A value and the room it borrows from.
struct drawn_value {
    struct value value;
    char room[64];
    struct value items[2];
    struct key_value entries[2];
};

static void draw_plain(struct maker *m, struct drawn_value *v)
{
    switch (test_random_below(&m->random, 3)) {
    case 0:
        v->value = value_int(number(m));
        break;
    case 1:
        v->value = value_bool(test_random_chance(&m->random, 50));
        break;
    default:
        v->value = value_string(text(m, v->room, sizeof v->room));
    }
}

static void draw_nested(struct maker *m, struct drawn_value *v)
{
    struct bytes word = text(m, v->room, sizeof v->room);
    v->items[0] = value_string(word);
    v->items[1] = (struct value){.kind = VALUE_DOUBLE, .number = (double)number(m) / 7};
    switch (test_random_below(&m->random, 5)) {
    case 0:
        v->value = (struct value){.kind = VALUE_ARRAY, .count = test_random_below(&m->random, 3), .items = v->items};
        break;
    case 1:
        v->entries[0] = (struct key_value){BYTES_LITERAL("a"), {.kind = VALUE_ARRAY, .count = 2, .items = v->items}};
        v->entries[1] = (struct key_value){BYTES_LITERAL("b"), {.kind = VALUE_EMPTY}};
        v->value = (struct value){.kind = VALUE_KVLIST, .count = 2, .entries = v->entries};
        break;
    case 2:
        v->value = (struct value){.kind = VALUE_BYTES, .bytes = {(const uint8_t *)"\x00\xff\x80", 3}};
        break;
    case 3:
        v->value = v->items[1];
        break;
    default:
        v->value = (struct value){.kind = VALUE_EMPTY};
    }
}

static void draw_value(struct maker *m, struct drawn_value *v)
{
    if (m->options->nested_values && test_random_chance(&m->random, 30))
        draw_nested(m, v);
    else
        draw_plain(m, v);
}

static uint32_t make_string(struct maker *m)
{
    char room[64];
    return builder_string(m->builder, text(m, room, sizeof room));
}

static uint32_t make_function(struct maker *m)
{
    struct batch_function f = {.name = draw(m, &m->strings), .start_line = test_random_below(&m->random, 99)};
    if (test_random_chance(&m->random, 50))
        f.system_name = draw(m, &m->strings);
    if (test_random_chance(&m->random, 70))
        f.filename = draw(m, &m->strings);
    return builder_function(m->builder, &f);
}

static uint32_t make_attribute(struct maker *m)
{
    struct drawn_value v;
    draw_value(m, &v);
    uint32_t unit = test_random_chance(&m->random, 20) ? draw(m, &m->strings) : 0;
    return builder_attribute(m->builder, draw(m, &m->strings), unit, &v.value);
}

static uint32_t list_length(struct maker *m, uint32_t max)
{
    return test_random_below(&m->random, (max < MAX_LIST ? max : MAX_LIST) + 1);
}

static uint32_t make_set(struct maker *m)
{
    uint32_t ids[MAX_LIST], count = list_length(m, m->options->max_attributes);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = draw(m, &m->attributes);
    return builder_attribute_set(m->builder, ids, count);
}

static uint32_t make_mapping(struct maker *m)
{
    struct batch_mapping mapping = {.memory_start = (uint64_t)number(m),
                                    .memory_limit = test_random_next(&m->random),
                                    .file_offset = test_random_below(&m->random, 9) * 4096u,
                                    .filename = draw(m, &m->strings),
                                    .attribute_set = draw(m, &m->sets)};
    return builder_mapping(m->builder, &mapping);
}

static uint32_t make_location(struct maker *m)
{
    struct batch_line lines[3];
    uint32_t count = test_random_below(&m->random, 4);
    for (uint32_t i = 0; i < count; i++)
        lines[i] = (struct batch_line){draw(m, &m->functions), test_random_below(&m->random, 500),
                                       test_random_below(&m->random, 3)};
    // The last mapping stays without locations.
    uint32_t mapping =
        m->mappings.count < 2 ? 0 : m->mappings.ids[test_random_below(&m->random, m->mappings.count - 1)];
    struct batch_location l = {.mapping = mapping,
                               .address = test_random_below(&m->random, 3) * (uint64_t)number(m),
                               .attribute_set = test_random_chance(&m->random, 30) ? draw(m, &m->sets) : 0};
    return builder_location(m->builder, &l, lines, count);
}

static uint32_t make_stack(struct maker *m)
{
    uint32_t ids[MAX_LIST], count = list_length(m, m->options->max_stack_depth);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = draw(m, &m->locations);
    return builder_stack(m->builder, ids, count);
}

static uint32_t make_link(struct maker *m)
{
    struct batch_link l;
    for (size_t i = 0; i < sizeof l.trace_id; i++)
        l.trace_id[i] = (uint8_t)test_random_next(&m->random);
    for (size_t i = 0; i < sizeof l.span_id; i++)
        l.span_id[i] = (uint8_t)(1 + test_random_below(&m->random, 255));
    return builder_link(m->builder, &l);
}

static void fill_pool(struct maker *m, struct pool *p, uint32_t (*make)(struct maker *))
{
    uint32_t count = m->options->item_count < MAX_ITEMS ? m->options->item_count : MAX_ITEMS;
    for (p->count = 0; p->count < count;) {
        uint32_t id = make(m);
        p->ids[p->count++] = id;
    }
}

static void fill_pools(struct maker *m)
{
    fill_pool(m, &m->strings, make_string);
    fill_pool(m, &m->functions, make_function);
    fill_pool(m, &m->attributes, make_attribute);
    fill_pool(m, &m->sets, make_set);
    fill_pool(m, &m->mappings, make_mapping);
    fill_pool(m, &m->locations, make_location);
    fill_pool(m, &m->stacks, make_stack);
    fill_pool(m, &m->links, make_link);
}

static struct columns *make_columns(struct maker *m)
{
    bool attributes = test_random_chance(&m->random, 70), links = test_random_chance(&m->random, 40);
    struct sample_writer w;
    sample_writer_init(&w, m->builder);
    uint32_t count = test_random_below(&m->random, m->options->max_samples + 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t stack = test_random_chance(&m->random, 95) ? draw(m, &m->stacks) : 0;
        uint32_t set = attributes && test_random_chance(&m->random, 80) ? draw(m, &m->sets) : 0;
        uint32_t link = links && m->options->links && test_random_chance(&m->random, 50) ? draw(m, &m->links) : 0;
        sample_writer_add(&w, stack, set, link);
    }
    struct columns *c = sample_writer_take(&w);
    sample_writer_fini(&w);
    return c;
}

static void add_observation(struct maker *m, struct observation_writer *w, uint32_t shape)
{
    int64_t values[3];
    uint64_t timestamps[3];
    uint32_t count = 1 + test_random_below(&m->random, 3);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = number(m);
        timestamps[i] = 1700000000000000000u + test_random_below(&m->random, 1000000000);
    }
    if (shape == 0)
        observation_writer_add_value(w, values[0]);
    else
        observation_writer_add(w, values, shape == 1 ? 0 : count, timestamps, count);
}

static struct observations *make_observations(struct maker *m, uint32_t count)
{
    struct observation_writer w;
    observation_writer_init(&w, m->builder);
    uint32_t fixed = m->options->timestamps ? test_random_below(&m->random, 4) : 0;
    for (uint32_t i = 0; i < count; i++)
        add_observation(m, &w, fixed < 3 ? fixed : test_random_below(&m->random, 3));
    struct observations *o = observation_writer_take(&w);
    observation_writer_fini(&w);
    return o;
}

static struct profile draw_header(struct maker *m)
{
    struct profile p = {.sample_type = {draw(m, &m->strings), draw(m, &m->strings)},
                        .time_nanos = test_random_chance(&m->random, 90) ? 1700000000000000000u : 0,
                        .duration_nanos = test_random_below(&m->random, 1000) * 1000000u,
                        .attribute_set = draw(m, &m->sets)};
    if (test_random_chance(&m->random, 60)) {
        p.period_type = (struct value_type){draw(m, &m->strings), draw(m, &m->strings)};
        p.period = number(m);
    }
    p.has_profile_id = test_random_chance(&m->random, 50);
    if (p.has_profile_id)
        memset(p.profile_id, 1 + (int)test_random_below(&m->random, 200), sizeof p.profile_id);
    if (test_random_chance(&m->random, 10))
        p.dropped_attributes_count = 3;
    if (m->options->payloads && test_random_chance(&m->random, 20)) {
        p.original_payload_format = BYTES_LITERAL("pprof");
        p.original_payload = BYTES_LITERAL("\x1f\x8b not really");
    }
    return p;
}

// One to three profiles that share columns, as the sample types of a pprof do.
static uint32_t make_group(struct maker *m, uint32_t most)
{
    uint32_t count = 1 + test_random_below(&m->random, most < 3 ? most : 3);
    struct columns *columns = make_columns(m);
    for (uint32_t i = 0; i < count && columns != NULL; i++) {
        struct profile p = draw_header(m);
        p.columns = columns_ref(columns);
        p.observations = make_observations(m, columns->sample_count);
        builder_profile(m->builder, &p);
    }
    columns_unref(&columns);
    return count;
}

static void make_scope(struct maker *m)
{
    char room[64];
    struct drawn_value v;
    draw_value(m, &v);
    struct key_value attribute = {BYTES_LITERAL("scope.key"), v.value};
    builder_scope(m->builder, text(m, room, sizeof room), BYTES_LITERAL("1.0"), &attribute,
                  test_random_below(&m->random, 2), test_random_below(&m->random, 2), (struct bytes){NULL, 0});
    uint32_t count = test_random_below(&m->random, m->options->max_profiles + 1);
    for (uint32_t made = 0; made < count;)
        made += make_group(m, count - made);
}

static void make_resource(struct maker *m, uint32_t number_of_resource)
{
    struct drawn_value v;
    draw_value(m, &v);
    struct key_value attributes[] = {
        {BYTES_LITERAL("service.name"), value_int(number_of_resource)},
        {BYTES_LITERAL("other"), v.value},
    };
    builder_resource(m->builder, attributes, test_random_below(&m->random, 3), test_random_below(&m->random, 2),
                     BYTES_LITERAL("https://example.com/schema"));
    if (test_random_chance(&m->random, 20))
        builder_resource_entity_ref(m->builder, BYTES_LITERAL("\x12\x04host"));
    uint32_t count = test_random_below(&m->random, m->options->max_scopes + 1);
    for (uint32_t i = 0; i < count; i++)
        make_scope(m);
}

void random_batch_add(struct builder *b, uint64_t seed, const struct random_batch_options *options)
{
    struct maker *m = MEM_NEW(struct maker);
    m->builder = b;
    m->random.state = seed;
    m->options = options != NULL ? options : &random_batch_defaults;
    fill_pools(m);
    uint32_t count = 1 + test_random_below(&m->random, m->options->max_resources);
    for (uint32_t i = 0; i < count; i++)
        make_resource(m, i);
    free(m);
}

struct batch *random_batch(uint64_t seed, const struct random_batch_options *options)
{
    struct builder *b = builder_create(0);
    random_batch_add(b, seed, options);
    struct batch *batch;
    CHECK(builder_finish(b, &batch, NULL) == ERR_OK);
    builder_destroy(&b);
    return batch;
}
