// SPDX-License-Identifier: Apache-2.0
#include "profile/prune.h"

#include "base/mem.h"
#include "profile/parts.h"
#include "profile/pointer_map.h"
#include "profile/stack.h"

// new_ids serves as the mark first (PRUNED or not) and gets its numbers at the end.
struct marker {
    const struct dictionary *d;
    struct prune *p;
    uint32_t *sets; // attribute sets are no table of OTLP: visited or PRUNED
    struct pointer_map columns;
};

static inline bool first_mark(uint32_t *marks, uint32_t id)
{
    if (marks[id] != PRUNED)
        return false;
    marks[id] = 0;
    return true;
}

static void mark_string(struct marker *m, uint32_t id)
{
    m->p->strings.new_ids[id] = 0;
}

static void mark_attribute(struct marker *m, uint32_t id)
{
    if (!first_mark(m->p->attributes.new_ids, id))
        return;
    mark_string(m, m->d->attributes[id].key);
    mark_string(m, m->d->attributes[id].unit);
}

static void mark_set(struct marker *m, uint32_t id)
{
    if (!first_mark(m->sets, id))
        return;
    struct batch_range range = m->d->attribute_sets[id];
    for (uint32_t i = 0; i < range.count; i++)
        mark_attribute(m, m->d->set_attributes[range.start + i]);
}

static void mark_mapping(struct marker *m, uint32_t id)
{
    if (!first_mark(m->p->mappings.new_ids, id))
        return;
    mark_string(m, m->d->mappings[id].filename);
    mark_set(m, m->d->mappings[id].attribute_set);
}

static void mark_function(struct marker *m, uint32_t id)
{
    if (!first_mark(m->p->functions.new_ids, id))
        return;
    mark_string(m, m->d->functions[id].name);
    mark_string(m, m->d->functions[id].system_name);
    mark_string(m, m->d->functions[id].filename);
}

static void mark_location(struct marker *m, uint32_t id)
{
    const struct batch_location *l = &m->d->locations[id];
    mark_mapping(m, l->mapping);
    mark_set(m, l->attribute_set);
    for (uint32_t i = 0; i < l->line_count; i++)
        mark_function(m, m->d->lines[l->line_start + i].function);
}

static void mark_stack(struct marker *m, uint32_t id)
{
    m->p->stacks.new_ids[id] = 0;
}

// The hottest loop of encoding a part of a batch.
static void mark_stacks_ids(struct marker *m, uint32_t *marks)
{
    const struct dictionary *d = m->d;
    for (uint32_t i = 0; i < d->stack_count; i++) {
        struct stack_reader r;
        uint32_t location;
        if (m->p->stacks.new_ids[i] == PRUNED)
            continue;
        stack_reader_init(&r, d, i);
        while (stack_next(&r, &location))
            marks[location] = 0;
    }
}

static bool all_marked(const uint32_t *marks, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && marks[i] != PRUNED)
        i++;
    return i == count;
}

// After the last mark_stack.
static void mark_locations(struct marker *m)
{
    const struct dictionary *d = m->d;
    uint32_t *marks = m->p->locations.new_ids;
    if (d->every_location_used && all_marked(m->p->stacks.new_ids, d->stack_count))
        memset(marks, 0, d->location_count * sizeof *marks);
    else
        mark_stacks_ids(m, marks);
    for (uint32_t i = 0; i < d->location_count; i++)
        if (marks[i] != PRUNED)
            mark_location(m, i);
}

static void mark_columns(struct marker *m, const struct columns *c)
{
    for (uint32_t i = 0; i < c->sample_count; i++)
        mark_stack(m, c->stacks[i]);
    for (uint32_t i = 0; c->attribute_sets != NULL && i < c->sample_count; i++)
        mark_set(m, c->attribute_sets[i]);
    for (uint32_t i = 0; c->links != NULL && i < c->sample_count; i++)
        m->p->links.new_ids[c->links[i]] = 0;
}

static bool mark_profile(struct marker *m, const struct profile *p)
{
    mark_string(m, p->sample_type.type);
    mark_string(m, p->sample_type.unit);
    mark_string(m, p->period_type.type);
    mark_string(m, p->period_type.unit);
    mark_set(m, p->attribute_set);
    uint32_t id;
    bool is_new;
    if (!pointer_map_put(&m->columns, p->columns, &id, &is_new))
        return false;
    if (is_new)
        mark_columns(m, p->columns);
    return true;
}

static bool mark_resource(struct marker *m, const struct resource *r)
{
    for (uint32_t s = 0; s < r->scope_count; s++) {
        for (uint32_t p = 0; p < r->scopes[s]->profile_count; p++) {
            if (!mark_profile(m, &r->scopes[s]->profiles[p]))
                return false;
        }
    }
    return true;
}

static void mark_zeros(struct marker *m)
{
    first_mark(m->p->links.new_ids, 0);
    first_mark(m->p->locations.new_ids, 0);
    mark_stack(m, 0);
    mark_function(m, 0);
    mark_mapping(m, 0);
    mark_attribute(m, 0);
}

static bool mark_unused_mappings(struct marker *m)
{
    const struct dictionary *d = m->d;
    bool *used = mem_try_alloc(d->mapping_count);
    if (used == NULL)
        return false;
    memset(used, 0, d->mapping_count);
    for (uint32_t i = 0; i < d->location_count; i++)
        used[d->locations[i].mapping] = true;
    for (uint32_t i = 0; i < d->mapping_count; i++) {
        if (!used[i])
            mark_mapping(m, i);
    }
    free(used);
    return true;
}

static bool mark_all(struct marker *m, const struct batch *b)
{
    mark_zeros(m);
    for (uint32_t r = 0; r < b->resource_count; r++) {
        if (!mark_resource(m, b->resources[r]))
            return false;
    }
    mark_locations(m);
    return mark_unused_mappings(m);
}

static uint32_t *new_marks(uint32_t count)
{
    uint32_t *marks = mem_try_array(count, sizeof *marks);
    if (marks != NULL)
        memset(marks, 0xFF, count * sizeof *marks);
    return marks;
}

static void number_table(struct prune_table *t, uint32_t count)
{
    t->kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (t->new_ids[i] != PRUNED)
            t->new_ids[i] = t->kept++;
    }
    if (t->kept < count)
        return;
    free(t->new_ids);
    t->new_ids = NULL;
}

enum { TABLES = 7 };

struct tables {
    struct prune_table *table[TABLES];
    uint32_t count[TABLES];
};

static struct tables all_tables(struct prune *p, const struct dictionary *d)
{
    return (struct tables){
        {&p->strings, &p->mappings, &p->locations, &p->functions, &p->links, &p->attributes, &p->stacks},
        {d->string_count, d->mapping_count, d->location_count, d->function_count, d->link_count, d->attribute_count,
         d->stack_count},
    };
}

enum err_code prune_init(struct prune *p, const struct batch *b, struct err *e)
{
    *p = (struct prune){0};
    struct marker m = {.d = b->dictionary, .p = p, .sets = new_marks(b->dictionary->attribute_set_count)};
    struct tables t = all_tables(p, b->dictionary);
    bool ok = m.sets != NULL;
    for (size_t i = 0; i < TABLES && ok; i++)
        ok = (t.table[i]->new_ids = new_marks(t.count[i])) != NULL;
    ok = ok && mark_all(&m, b);
    for (size_t i = 0; i < TABLES && ok; i++)
        number_table(t.table[i], t.count[i]);
    pointer_map_fini(&m.columns);
    free(m.sets);
    if (ok)
        return ERR_OK;
    prune_fini(p);
    return parts_no_memory(e);
}

void prune_fini(struct prune *p)
{
    struct prune_table *tables[] = {&p->strings, &p->mappings,   &p->locations, &p->functions,
                                    &p->links,   &p->attributes, &p->stacks};
    for (size_t i = 0; i < TABLES; i++)
        free(tables[i]->new_ids);
    *p = (struct prune){0};
}
