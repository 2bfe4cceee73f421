// SPDX-License-Identifier: Apache-2.0
#include "profile/batch.h"

#include "base/mem.h"
#include "profile/origin.h"
#include "profile/pointer_map.h"

static void retain(_Atomic uint32_t *refs)
{
    atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

// True for the last one: everything other threads did with the part happened before.
static bool release(_Atomic uint32_t *refs)
{
    return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

static void free_array(const void *array)
{
    free((void *)(uintptr_t)array);
}

struct columns *columns_ref(struct columns *c)
{
    retain(&c->refs);
    return c;
}

void columns_unref(struct columns **c)
{
    struct columns *old = *c;
    *c = NULL;
    if (old == NULL || !release(&old->refs))
        return;
    free_array(old->stacks);
    free_array(old->attribute_sets);
    free_array(old->links);
    free(old);
}

struct observations *observations_ref(struct observations *o)
{
    retain(&o->refs);
    return o;
}

void observations_unref(struct observations **o)
{
    struct observations *old = *o;
    *o = NULL;
    if (old == NULL || !release(&old->refs))
        return;
    free_array(old->values);
    free_array(old->value_ends);
    free_array(old->timestamps);
    free_array(old->timestamp_ends);
    free(old);
}

struct dictionary *dictionary_ref(struct dictionary *d)
{
    retain(&d->refs);
    return d;
}

void dictionary_unref(struct dictionary **d)
{
    struct dictionary *old = *d;
    *d = NULL;
    if (old == NULL || !release(&old->refs))
        return;
    const struct dictionary none = {0}, *base = old->base == NULL ? &none : old->base;
    const void *arrays[][2] = {{old->strings, base->strings},
                               {old->mappings, base->mappings},
                               {old->locations, base->locations},
                               {old->lines, base->lines},
                               {old->functions, base->functions},
                               {old->links, base->links},
                               {old->attributes, base->attributes},
                               {old->stacks, base->stacks},
                               {old->stack_bytes, base->stack_bytes},
                               {old->attribute_sets, base->attribute_sets},
                               {old->set_attributes, base->set_attributes}};
    for (size_t i = 0; i < COUNT_OF(arrays); i++) {
        if (arrays[i][0] != arrays[i][1])
            free_array(arrays[i][0]);
    }
    arena_fini(&old->arena);
    dictionary_unref(&old->base);
    free(old);
}

struct scope *scope_ref(struct scope *s)
{
    retain(&s->refs);
    return s;
}

void scope_unref(struct scope **s)
{
    struct scope *old = *s;
    *s = NULL;
    if (old == NULL || !release(&old->refs))
        return;
    for (uint32_t i = 0; i < old->profile_count; i++) {
        struct columns *columns = old->profiles[i].columns;
        struct observations *observations = old->profiles[i].observations;
        columns_unref(&columns);
        observations_unref(&observations);
    }
    arena_fini(&old->arena);
    free(old);
}

struct resource *resource_ref(struct resource *r)
{
    retain(&r->refs);
    return r;
}

void resource_unref(struct resource **r)
{
    struct resource *old = *r;
    *r = NULL;
    if (old == NULL || !release(&old->refs))
        return;
    for (uint32_t i = 0; i < old->scope_count; i++) {
        struct scope *scope = old->scopes[i];
        scope_unref(&scope);
    }
    arena_fini(&old->arena);
    free(old);
}

struct batch *batch_ref(struct batch *b)
{
    retain(&b->refs);
    return b;
}

void batch_unref(struct batch **b)
{
    struct batch *old = *b;
    *b = NULL;
    if (old == NULL || !release(&old->refs))
        return;
    for (uint32_t i = 0; i < old->resource_count; i++) {
        struct resource *resource = old->resources[i];
        resource_unref(&resource);
    }
    free_array(old->resources);
    dictionary_unref(&old->dictionary);
    origin_unref(&old->origin);
    free(old);
}

static void count_scope(struct batch *b, const struct scope *s)
{
    b->profile_count += s->profile_count;
    for (uint32_t i = 0; i < s->profile_count; i++)
        b->sample_count += s->profiles[i].columns->sample_count;
}

static void count_resource(struct batch *b, const struct resource *r)
{
    for (uint32_t i = 0; i < r->scope_count; i++)
        count_scope(b, r->scopes[i]);
}

struct batch *batch_create(struct dictionary *dictionary, struct resource **resources, uint32_t count)
{
    struct batch *b = mem_try_alloc(sizeof *b);
    struct resource **list = mem_try_array(count, sizeof(struct resource *));
    if (b == NULL || list == NULL) {
        free(b);
        free(list);
        for (uint32_t i = 0; i < count; i++) {
            struct resource *resource = resources[i];
            resource_unref(&resource);
        }
        dictionary_unref(&dictionary);
        return NULL;
    }
    *b = (struct batch){.refs = 1, .dictionary = dictionary, .resources = list, .resource_count = count};
    for (uint32_t i = 0; i < count; i++) {
        list[i] = resources[i];
        count_resource(b, list[i]);
    }
    return b;
}

// Without memory for the map a part is counted each time: the figure is for a budget, where too much is the
// safe side.
static bool seen_before(struct pointer_map *seen, const void *part)
{
    uint32_t id;
    bool is_new;
    return pointer_map_put(seen, part, &id, &is_new) && !is_new;
}

static size_t scope_bytes(const struct scope *s, struct pointer_map *seen)
{
    if (seen_before(seen, s))
        return 0;
    size_t sum = sizeof *s + s->arena.total_bytes;
    for (uint32_t i = 0; i < s->profile_count; i++) {
        const struct profile *p = &s->profiles[i];
        sum += seen_before(seen, p->columns) ? 0 : p->columns->bytes;
        sum += seen_before(seen, p->observations) ? 0 : p->observations->bytes;
    }
    return sum;
}

static size_t resource_bytes(const struct resource *r, struct pointer_map *seen)
{
    if (seen_before(seen, r))
        return 0;
    size_t sum = sizeof *r + r->arena.total_bytes;
    for (uint32_t i = 0; i < r->scope_count; i++)
        sum += scope_bytes(r->scopes[i], seen);
    return sum;
}

size_t batch_memory_bytes(const struct batch *b)
{
    struct pointer_map seen = {0};
    size_t sum = sizeof *b + b->resource_count * sizeof(struct resource *);
    sum += (b->dictionary == NULL ? 0 : b->dictionary->bytes) + (b->origin == NULL ? 0 : b->origin->bytes);
    for (uint32_t i = 0; i < b->resource_count; i++)
        sum += resource_bytes(b->resources[i], &seen);
    pointer_map_fini(&seen);
    return sum;
}
