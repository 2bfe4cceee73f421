// SPDX-License-Identifier: Apache-2.0
// Resources, scopes and profiles while they are open: lists in the builder, copied tight when they close.
#include "profile/builder_internal.h"

#include "base/mem.h"
#include "profile/value_copy.h"

static void drop_profiles(struct builder *b)
{
    struct profile *profiles = b->profiles.items;
    for (uint32_t i = 0; i < b->profiles.count; i++) {
        columns_unref(&profiles[i].columns);
        observations_unref(&profiles[i].observations);
    }
    b->profiles.count = 0;
}

void builder_drop_containers(struct builder *b)
{
    drop_profiles(b);
    scope_unref(&b->scope);
    struct scope **scopes = b->scopes.items;
    for (uint32_t i = 0; i < b->scopes.count; i++)
        scope_unref(&scopes[i]);
    b->scopes.count = 0;
    resource_unref(&b->resource);
    struct resource **resources = b->resources.items;
    for (uint32_t i = 0; i < b->resources.count; i++)
        resource_unref(&resources[i]);
    b->resources.count = 0;
    b->entity_refs.count = 0;
}

// The list as an array in the arena, *copy_out; the list is empty afterwards.
static bool take_list(struct builder *b, struct arena *a, struct table *list, size_t item_size, void *copy_out)
{
    size_t size = list->count * item_size, before = a->total_bytes;
    if (!builder_arena_open(b, a, size))
        return false;
    void *copy = arena_try_alloc(a, size);
    if (!builder_arena_close(b, a, before, size, copy != NULL))
        return false;
    if (size > 0 && copy != NULL)
        memcpy(copy, list->items, size);
    memcpy(copy_out, &copy, sizeof copy);
    list->count = 0;
    return true;
}

static bool push_pointer(struct builder *b, struct table *list, void *pointer)
{
    if (!table_room(b, list, 1, sizeof pointer))
        return false;
    ((void **)list->items)[list->count++] = pointer;
    return true;
}

static void close_scope(struct builder *b)
{
    if (b->scope == NULL || b->failed)
        return;
    uint32_t count = b->profiles.count;
    if (!take_list(b, &b->scope->arena, &b->profiles, sizeof(struct profile), &b->scope->profiles))
        return;
    b->scope->profile_count = count;
    if (push_pointer(b, &b->scopes, b->scope))
        b->scope = NULL;
}

static void close_resource(struct builder *b)
{
    close_scope(b);
    if (b->resource == NULL || b->failed)
        return;
    struct resource *r = b->resource;
    uint32_t scopes = b->scopes.count, entity_refs = b->entity_refs.count;
    if (!take_list(b, &r->arena, &b->entity_refs, sizeof(struct bytes), &r->entity_refs))
        return;
    r->entity_ref_count = entity_refs;
    if (!take_list(b, &r->arena, &b->scopes, sizeof(struct scope *), &r->scopes))
        return;
    r->scope_count = scopes;
    if (push_pointer(b, &b->resources, r))
        b->resource = NULL;
}

void builder_close_containers(struct builder *b)
{
    close_resource(b);
}

static bool copy_attributes(struct builder *b, struct arena *a, const struct key_value *from, uint32_t count,
                            const struct key_value **copy_out)
{
    size_t need = key_values_bytes(from, count), before = a->total_bytes;
    return builder_arena_open(b, a, need) &&
           builder_arena_close(b, a, before, need,
                               key_values_copy_repaired(a, from, count, copy_out, &b->repaired_strings));
}

void builder_resource(struct builder *b, const struct key_value *attributes, uint32_t count,
                      uint32_t dropped_attributes_count, struct bytes schema_url)
{
    close_resource(b);
    struct resource *r = builder_alloc(b, 1, sizeof *r);
    if (r == NULL)
        return;
    *r = (struct resource){.refs = 1, .dropped_attributes_count = dropped_attributes_count};
    arena_init(&r->arena, 0);
    b->resource = r;
    if (copy_attributes(b, &r->arena, attributes, count, &r->attributes) &&
        builder_copy_text(b, &r->arena, schema_url, &r->schema_url))
        r->attribute_count = count;
}

void builder_resource_entity_ref(struct builder *b, struct bytes encoded)
{
    if (b->failed)
        return;
    CHECK(b->resource != NULL);
    struct bytes copy;
    if (!builder_copy_bytes(b, &b->resource->arena, encoded, &copy) || !table_room(b, &b->entity_refs, 1, sizeof copy))
        return;
    ((struct bytes *)b->entity_refs.items)[b->entity_refs.count++] = copy;
}

void builder_scope(struct builder *b, struct bytes name, struct bytes version, const struct key_value *attributes,
                   uint32_t count, uint32_t dropped_attributes_count, struct bytes schema_url)
{
    close_scope(b);
    if (b->failed)
        return;
    CHECK(b->resource != NULL);
    struct scope *s = builder_alloc(b, 1, sizeof *s);
    if (s == NULL)
        return;
    *s = (struct scope){.refs = 1, .dropped_attributes_count = dropped_attributes_count};
    arena_init(&s->arena, 0);
    b->scope = s;
    if (copy_attributes(b, &s->arena, attributes, count, &s->attributes) &&
        builder_copy_text(b, &s->arena, name, &s->name) && builder_copy_text(b, &s->arena, version, &s->version) &&
        builder_copy_text(b, &s->arena, schema_url, &s->schema_url))
        s->attribute_count = count;
}

static void check_profile(const struct builder *b, const struct profile *p)
{
    uint32_t strings = b->strings.count;
    CHECK(b->scope != NULL);
    CHECK(p->sample_type.type < strings && p->sample_type.unit < strings);
    CHECK(p->period_type.type < strings && p->period_type.unit < strings);
    CHECK(p->attribute_set < b->attribute_sets.count);
    CHECK(p->columns != NULL && p->observations != NULL);
    CHECK(p->columns->sample_count == p->observations->sample_count);
}

static bool add_profile(struct builder *b, const struct profile *p)
{
    struct profile copy = *p;
    struct arena *a = &b->scope->arena;
    if (!builder_copy_text(b, a, p->original_payload_format, &copy.original_payload_format) ||
        !builder_copy_bytes(b, a, p->original_payload, &copy.original_payload) ||
        !table_room(b, &b->profiles, 1, sizeof copy))
        return false;
    ((struct profile *)b->profiles.items)[b->profiles.count++] = copy;
    return true;
}

void builder_profile(struct builder *b, const struct profile *p)
{
    if (!b->failed) {
        check_profile(b, p);
        if (add_profile(b, p))
            return;
    }
    struct columns *columns = p->columns;
    struct observations *observations = p->observations;
    columns_unref(&columns);
    observations_unref(&observations);
}
