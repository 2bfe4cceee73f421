// SPDX-License-Identifier: Apache-2.0
// Merging interns what a batch references into the builder's tables, each item once.
#include "profile/merge.h"

#include "base/mem.h"
#include "profile/builder_internal.h"
#include "profile/parts.h"
#include "profile/pointer_map.h"
#include "profile/stack.h"

// States of an item that has no number in the builder yet.
#define UNMAPPED UINT32_MAX
#define MARKED (UINT32_MAX - 1) // met by mark_*; for mappings also: to be interned in source order

// From the ids of one source dictionary to the builder's. It stays with the builder, because the next batch
// often shares the dictionary (parts of one batch).
struct merge_map {
    struct dictionary *source;
    uint32_t *all; // the arrays below, one block
    size_t all_bytes;
    uint32_t *strings, *mappings, *locations, *functions, *links, *attributes, *stacks, *sets;
    bool mappings_marked;
    bool stacks_first; // mark all stacks before looking into them: it may turn out that there is no need
    // Room for one location's lines, one stack's locations, one set's attributes.
    void *lines, *stack, *set;
    size_t line_capacity, stack_capacity, set_capacity;
};

void merge_map_destroy(struct builder *b, struct merge_map **m)
{
    struct merge_map *old = *m;
    *m = NULL;
    if (old == NULL)
        return;
    builder_discharge(b, old->all_bytes + old->line_capacity * sizeof(struct batch_line) +
                             (old->stack_capacity + old->set_capacity) * sizeof(uint32_t));
    dictionary_unref(&old->source);
    free(old->all);
    free(old->lines);
    free(old->stack);
    free(old->set);
    free(old);
}

static bool map_arrays(struct builder *b, struct merge_map *m, const struct dictionary *d)
{
    uint32_t **arrays[] = {&m->strings, &m->mappings,   &m->locations, &m->functions,
                           &m->links,   &m->attributes, &m->stacks,    &m->sets};
    uint32_t counts[] = {d->string_count, d->mapping_count,   d->location_count, d->function_count,
                         d->link_count,   d->attribute_count, d->stack_count,    d->attribute_set_count};
    size_t total = 0;
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        total += counts[i];
    m->all = builder_alloc(b, total, sizeof *m->all);
    if (m->all == NULL)
        return false;
    m->all_bytes = total * sizeof *m->all;
    memset(m->all, 0xFF, m->all_bytes);
    uint32_t *at = m->all;
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        *arrays[i] = at;
        at += counts[i];
    }
    return true;
}

static void mark_mapping(struct merge_map *m, uint32_t mapping)
{
    if (m->mappings[mapping] != UNMAPPED)
        return;
    m->mappings[mapping] = MARKED;
    m->mappings_marked = true;
}

// Mappings that no location of the source uses are kept, see prune.h. To find them, the others are marked
// for a moment.
static void mark_unused_mappings(struct merge_map *m)
{
    const struct dictionary *d = m->source;
    for (uint32_t i = 0; i < d->location_count; i++)
        m->mappings[d->locations[i].mapping] = MARKED;
    for (uint32_t i = 0; i < d->mapping_count; i++)
        m->mappings[i] = m->mappings[i] == MARKED ? UNMAPPED : MARKED;
    m->mappings_marked = true;
}

static struct merge_map *map_for(struct builder *b, struct dictionary *source)
{
    if (b->merge_map != NULL && b->merge_map->source == source)
        return b->merge_map;
    merge_map_destroy(b, &b->merge_map);
    struct merge_map *m = MEM_NEW(struct merge_map);
    m->source = dictionary_ref(source);
    if (!map_arrays(b, m, source)) {
        merge_map_destroy(b, &m);
        return NULL;
    }
    mark_unused_mappings(m);
    b->merge_map = m;
    return m;
}

static uint32_t map_string(struct builder *b, struct merge_map *m, uint32_t id)
{
    uint32_t *to = &m->strings[id];
    if (*to == UNMAPPED)
        *to = builder_string(b, m->source->strings[id]);
    return *to;
}

static uint32_t map_attribute(struct builder *b, struct merge_map *m, uint32_t id)
{
    uint32_t *to = &m->attributes[id];
    if (*to != UNMAPPED)
        return *to;
    const struct batch_attribute *a = &m->source->attributes[id];
    uint32_t key = map_string(b, m, a->key), unit = map_string(b, m, a->unit);
    return *to = builder_attribute(b, key, unit, &a->value);
}

static uint32_t map_set(struct builder *b, struct merge_map *m, uint32_t id)
{
    uint32_t *to = &m->sets[id];
    if (*to != UNMAPPED)
        return *to;
    struct batch_range range = m->source->attribute_sets[id];
    if (!builder_grow(b, &m->set, &m->set_capacity, range.count, sizeof(uint32_t)))
        return 0;
    uint32_t *ids = m->set;
    for (uint32_t i = 0; i < range.count; i++)
        ids[i] = map_attribute(b, m, m->source->set_attributes[range.start + i]);
    return *to = builder_attribute_set(b, ids, range.count);
}

static uint32_t map_mapping(struct builder *b, struct merge_map *m, uint32_t id)
{
    uint32_t *to = &m->mappings[id];
    if (*to != UNMAPPED && *to != MARKED)
        return *to;
    struct batch_mapping mapping = m->source->mappings[id];
    mapping.filename = map_string(b, m, mapping.filename);
    mapping.attribute_set = map_set(b, m, mapping.attribute_set);
    return *to = builder_mapping(b, &mapping);
}

static uint32_t map_function(struct builder *b, struct merge_map *m, uint32_t id)
{
    uint32_t *to = &m->functions[id];
    if (*to != UNMAPPED)
        return *to;
    struct batch_function f = m->source->functions[id];
    f.name = map_string(b, m, f.name);
    f.system_name = map_string(b, m, f.system_name);
    f.filename = map_string(b, m, f.filename);
    return *to = builder_function(b, &f);
}

static uint32_t new_location(struct builder *b, struct merge_map *m, uint32_t id)
{
    struct batch_location l = m->source->locations[id];
    if (!builder_grow(b, &m->lines, &m->line_capacity, l.line_count, sizeof(struct batch_line)))
        return 0;
    struct batch_line *lines = m->lines;
    for (uint32_t i = 0; i < l.line_count; i++) {
        lines[i] = m->source->lines[l.line_start + i];
        lines[i].function = map_function(b, m, lines[i].function);
    }
    l.mapping = map_mapping(b, m, l.mapping);
    l.attribute_set = map_set(b, m, l.attribute_set);
    return builder_location(b, &l, lines, l.line_count);
}

static inline uint32_t map_location(struct builder *b, struct merge_map *m, uint32_t id)
{
    uint32_t *to = &m->locations[id];
    if (*to == UNMAPPED || *to == MARKED)
        *to = new_location(b, m, id);
    return *to;
}

static uint32_t map_stack(struct builder *b, struct merge_map *m, uint32_t id)
{
    uint32_t *to = &m->stacks[id];
    if (*to != UNMAPPED && *to != MARKED)
        return *to;
    if (!builder_grow(b, &m->stack, &m->stack_capacity, stack_depth(m->source, id), sizeof(uint32_t)))
        return 0;
    struct stack_reader r;
    uint32_t *ids = m->stack, count = 0, location;
    stack_reader_init(&r, m->source, id);
    while (stack_next(&r, &location))
        ids[count++] = map_location(b, m, location);
    return *to = builder_stack(b, ids, count);
}

static uint32_t map_link(struct builder *b, struct merge_map *m, uint32_t id)
{
    uint32_t *to = &m->links[id];
    if (*to == UNMAPPED)
        *to = builder_link(b, &m->source->links[id]);
    return *to;
}

// Mappings go first and in their own order, which pprof gives a meaning (the first is the main binary).

static void mark_location(struct merge_map *m, uint32_t location)
{
    if (m->locations[location] != UNMAPPED)
        return;
    m->locations[location] = MARKED;
    mark_mapping(m, m->source->locations[location].mapping);
}

static void mark_locations_of(struct merge_map *m, uint32_t stack)
{
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, m->source, stack);
    while (stack_next(&r, &location))
        mark_location(m, location);
}

// Of the stacks that are marked; of all, without looking into them, when no stack is missing.
static void mark_locations(struct merge_map *m)
{
    const struct dictionary *d = m->source;
    uint32_t stack = 1;
    while (stack < d->stack_count && m->stacks[stack] != UNMAPPED)
        stack++;
    if (stack == d->stack_count) {
        for (uint32_t i = 1; i < d->location_count; i++)
            mark_location(m, i);
        return;
    }
    for (stack = 1; stack < d->stack_count; stack++)
        if (m->stacks[stack] == MARKED)
            mark_locations_of(m, stack);
}

static void mark_stack(struct merge_map *m, uint32_t stack)
{
    if (m->stacks[stack] != UNMAPPED)
        return;
    m->stacks[stack] = MARKED;
    if (!m->stacks_first)
        mark_locations_of(m, stack);
}

static void mark_scope(struct merge_map *m, const struct scope *s)
{
    const struct columns *done = NULL;
    for (uint32_t p = 0; p < s->profile_count; p++) {
        const struct columns *c = s->profiles[p].columns;
        for (uint32_t i = 0; c != done && i < c->sample_count; i++)
            mark_stack(m, c->stacks[i]);
        done = c;
    }
}

static void map_mappings(struct builder *b, struct merge_map *m, const struct batch *from)
{
    // A small part of a dictionary must not cost what the whole does.
    m->stacks_first = m->source->every_location_used && from->sample_count + 1 >= m->source->stack_count;
    for (uint32_t r = 0; r < from->resource_count; r++) {
        for (uint32_t s = 0; s < from->resources[r]->scope_count; s++)
            mark_scope(m, from->resources[r]->scopes[s]);
    }
    if (m->stacks_first)
        mark_locations(m);
    for (uint32_t i = 0; m->mappings_marked && i < m->source->mapping_count; i++) {
        if (m->mappings[i] == MARKED)
            map_mapping(b, m, i);
    }
    m->mappings_marked = false;
}

// Columns of one batch that were mapped already, by number in `seen`.
struct mapped_columns {
    struct pointer_map seen;
    void *items; // struct columns *[], borrowed: the builder's profiles hold them
    size_t capacity;
};

typedef uint32_t map_fn(struct builder *b, struct merge_map *m, uint32_t id);

static const uint32_t *map_column(struct builder *b, struct merge_map *m, const uint32_t *from, uint32_t count,
                                  map_fn *map, size_t *bytes)
{
    if (from == NULL)
        return NULL;
    uint32_t *to = builder_alloc(b, count, sizeof *to);
    for (uint32_t i = 0; i < count && !b->failed; i++)
        to[i] = map(b, m, from[i]);
    *bytes += count * sizeof *to;
    return to;
}

// A column of nothing but zeros, as attributes may become of which nothing is left, is none.
static const uint32_t *map_sparse_column(struct builder *b, struct merge_map *m, const uint32_t *from, uint32_t count,
                                         map_fn *map, size_t *bytes)
{
    const uint32_t *to = map_column(b, m, from, count, map, bytes);
    uint32_t any = 0;
    for (uint32_t i = 0; to != NULL && !b->failed && i < count; i++)
        any |= to[i];
    if (to == NULL || any != 0 || b->failed)
        return to;
    free((void *)(uintptr_t)to);
    builder_discharge(b, count * sizeof *to);
    *bytes -= count * sizeof *to;
    return NULL;
}

static struct columns *map_columns(struct builder *b, struct merge_map *m, const struct columns *from)
{
    struct columns *c = builder_alloc(b, 1, sizeof *c);
    if (c == NULL)
        return NULL;
    uint32_t count = from->sample_count;
    *c = (struct columns){.refs = 1, .sample_count = count, .bytes = sizeof *c};
    c->stacks = map_column(b, m, from->stacks, count, map_stack, &c->bytes);
    c->attribute_sets = map_sparse_column(b, m, from->attribute_sets, count, map_set, &c->bytes);
    c->links = map_column(b, m, from->links, count, map_link, &c->bytes);
    if (b->failed)
        columns_unref(&c);
    return c;
}

// A reference for the caller; NULL after a failure.
static struct columns *columns_once(struct builder *b, struct merge_map *m, struct mapped_columns *mapped,
                                    const struct columns *from)
{
    uint32_t id;
    bool is_new;
    if (!pointer_map_put(&mapped->seen, from, &id, &is_new) ||
        !mem_try_grow(&mapped->items, &mapped->capacity, (size_t)id + 1, sizeof(struct columns *), UINT32_MAX)) {
        builder_fail(b, ERR_MEMORY, "out of memory while merging batches");
        return NULL;
    }
    struct columns **items = mapped->items;
    if (is_new)
        return items[id] = map_columns(b, m, from);
    return columns_ref(items[id]);
}

static void add_profile(struct builder *b, struct merge_map *m, struct mapped_columns *mapped,
                        const struct profile *from)
{
    struct profile p = *from;
    p.sample_type.type = map_string(b, m, from->sample_type.type);
    p.sample_type.unit = map_string(b, m, from->sample_type.unit);
    p.period_type.type = map_string(b, m, from->period_type.type);
    p.period_type.unit = map_string(b, m, from->period_type.unit);
    p.attribute_set = map_set(b, m, from->attribute_set);
    if (b->failed)
        return;
    p.columns = columns_once(b, m, mapped, from->columns);
    if (b->failed)
        return;
    observations_ref(p.observations); // has no ids: shared as it is
    builder_profile(b, &p);
}

static void add_scope(struct builder *b, struct merge_map *m, struct mapped_columns *mapped, const struct scope *s)
{
    builder_scope(b, s->name, s->version, s->attributes, s->attribute_count, s->dropped_attributes_count,
                  s->schema_url);
    for (uint32_t i = 0; i < s->profile_count && !b->failed; i++)
        add_profile(b, m, mapped, &s->profiles[i]);
}

static void add_resource(struct builder *b, struct merge_map *m, struct mapped_columns *mapped,
                         const struct resource *r)
{
    builder_resource(b, r->attributes, r->attribute_count, r->dropped_attributes_count, r->schema_url);
    for (uint32_t i = 0; i < r->entity_ref_count; i++)
        builder_resource_entity_ref(b, r->entity_refs[i]);
    for (uint32_t i = 0; i < r->scope_count && !b->failed; i++)
        add_scope(b, m, mapped, r->scopes[i]);
}

void builder_add_batch(struct builder *b, const struct batch *from)
{
    struct merge_map *m = b->failed ? NULL : map_for(b, from->dictionary);
    if (m == NULL)
        return;
    map_mappings(b, m, from);
    struct mapped_columns mapped = {0};
    for (uint32_t i = 0; i < from->resource_count && !b->failed; i++)
        add_resource(b, m, &mapped, from->resources[i]);
    pointer_map_fini(&mapped.seen);
    free(mapped.items);
}

static bool share_dictionary(struct batch *const *batches, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (batches[i]->dictionary != batches[0]->dictionary)
            return false;
    }
    return count > 0;
}

// Parts of one batch join again without touching a sample.
static enum err_code concatenate(struct batch *const *batches, size_t count, struct batch **out, struct err *e)
{
    void *list = NULL; // struct resource *[]
    size_t capacity = 0, total = 0;
    for (size_t i = 0; i < count; i++)
        total += batches[i]->resource_count;
    *out = NULL;
    if (!mem_try_grow(&list, &capacity, total, sizeof(struct resource *), UINT32_MAX))
        return parts_no_memory(e);
    struct resource **at = list;
    for (size_t i = 0; i < count; i++) {
        for (uint32_t r = 0; r < batches[i]->resource_count; r++)
            *at++ = resource_ref(batches[i]->resources[r]);
    }
    *out = batch_create(dictionary_ref(batches[0]->dictionary), list, (uint32_t)total);
    free(list);
    return *out != NULL ? ERR_OK : parts_no_memory(e);
}

enum err_code batch_merge(struct batch *const *batches, size_t count, struct batch **out, struct err *e)
{
    if (share_dictionary(batches, count))
        return concatenate(batches, count, out, e);
    struct builder *b = builder_create(0);
    for (size_t i = 0; i < count && !builder_failed(b); i++)
        builder_add_batch(b, batches[i]);
    enum err_code code = builder_finish(b, out, e);
    builder_destroy(&b);
    return code;
}
