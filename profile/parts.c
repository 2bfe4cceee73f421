// SPDX-License-Identifier: Apache-2.0
#include "profile/parts.h"

#include "base/mem.h"

enum err_code parts_no_memory(struct err *e)
{
    return err_set(e, ERR_MEMORY, "out of memory while changing a batch");
}

static void unref_profiles(const struct profile *profiles, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct columns *columns = profiles[i].columns;
        struct observations *observations = profiles[i].observations;
        columns_unref(&columns);
        observations_unref(&observations);
    }
}

static bool copy_profiles(struct scope *s, const struct profile *from, uint32_t count)
{
    struct profile *copy = arena_try_alloc(&s->arena, count * sizeof *copy);
    if (copy == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = from[i];
        if (!arena_try_copy(&s->arena, from[i].original_payload_format, &copy[i].original_payload_format) ||
            !arena_try_copy(&s->arena, from[i].original_payload, &copy[i].original_payload))
            return false;
    }
    s->profiles = copy;
    s->profile_count = count;
    return true;
}

static bool fill_scope(struct scope *to, const struct scope *from, const struct key_value *attributes, uint32_t count)
{
    to->attribute_count = count;
    to->dropped_attributes_count = from->dropped_attributes_count;
    return arena_try_copy(&to->arena, from->name, &to->name) &&
           arena_try_copy(&to->arena, from->version, &to->version) &&
           arena_try_copy(&to->arena, from->schema_url, &to->schema_url) &&
           key_values_copy(&to->arena, attributes, count, &to->attributes);
}

static struct scope *new_scope(void)
{
    struct scope *s = mem_try_alloc(sizeof *s);
    if (s == NULL)
        return NULL;
    *s = (struct scope){.refs = 1};
    arena_init(&s->arena, 0);
    return s;
}

struct scope *scope_with_profiles(const struct scope *s, const struct profile *profiles, uint32_t count)
{
    struct scope *copy = new_scope();
    if (copy != NULL && fill_scope(copy, s, s->attributes, s->attribute_count) && copy_profiles(copy, profiles, count))
        return copy;
    unref_profiles(profiles, count);
    scope_unref(&copy);
    return NULL;
}

struct scope *scope_with_attributes(const struct scope *s, const struct key_value *attributes, uint32_t count)
{
    struct scope *copy = new_scope();
    if (copy == NULL || !fill_scope(copy, s, attributes, count) ||
        !copy_profiles(copy, s->profiles, s->profile_count)) {
        scope_unref(&copy);
        return NULL;
    }
    for (uint32_t i = 0; i < copy->profile_count; i++)
        profile_share(&copy->profiles[i]);
    return copy;
}

static bool copy_entity_refs(struct resource *to, const struct resource *from)
{
    if (from->entity_ref_count == 0)
        return true;
    struct bytes *copy = arena_try_alloc(&to->arena, from->entity_ref_count * sizeof *copy);
    if (copy == NULL)
        return false;
    for (uint32_t i = 0; i < from->entity_ref_count; i++) {
        if (!arena_try_copy(&to->arena, from->entity_refs[i], &copy[i]))
            return false;
    }
    to->entity_refs = copy;
    to->entity_ref_count = from->entity_ref_count;
    return true;
}

// Takes over the scopes only when it succeeds.
static bool fill_resource(struct resource *to, const struct resource *from, const struct key_value *attributes,
                          uint32_t attribute_count, struct scope *const *scopes, uint32_t scope_count)
{
    struct scope **list = arena_try_alloc(&to->arena, scope_count * sizeof(struct scope *));
    if (list == NULL || !arena_try_copy(&to->arena, from->schema_url, &to->schema_url) ||
        !key_values_copy(&to->arena, attributes, attribute_count, &to->attributes) || !copy_entity_refs(to, from))
        return false;
    to->attribute_count = attribute_count;
    to->dropped_attributes_count = from->dropped_attributes_count;
    to->origin_index = from->origin_index;
    for (uint32_t i = 0; i < scope_count; i++)
        list[i] = scopes[i];
    to->scopes = list;
    to->scope_count = scope_count;
    return true;
}

static struct resource *new_resource(void)
{
    struct resource *r = mem_try_alloc(sizeof *r);
    if (r == NULL)
        return NULL;
    *r = (struct resource){.refs = 1};
    arena_init(&r->arena, 0);
    return r;
}

struct resource *resource_with_scopes(const struct resource *r, struct scope *const *scopes, uint32_t count)
{
    struct resource *copy = new_resource();
    if (copy != NULL && fill_resource(copy, r, r->attributes, r->attribute_count, scopes, count))
        return copy;
    for (uint32_t i = 0; i < count; i++) {
        struct scope *scope = scopes[i];
        scope_unref(&scope);
    }
    resource_unref(&copy);
    return NULL;
}

struct resource *resource_with_attributes(const struct resource *r, const struct key_value *attributes, uint32_t count)
{
    struct resource *copy = new_resource();
    if (copy == NULL || !fill_resource(copy, r, attributes, count, r->scopes, r->scope_count)) {
        resource_unref(&copy);
        return NULL;
    }
    for (uint32_t i = 0; i < copy->scope_count; i++)
        scope_ref(copy->scopes[i]);
    return copy;
}
