// SPDX-License-Identifier: Apache-2.0
#include "profile/edit.h"

#include "base/mem.h"
#include "profile/edit_internal.h"
#include "profile/parts.h"

enum err_code batch_replace(struct batch **b, struct dictionary *dictionary, struct resource **resources,
                            uint32_t count, struct err *e)
{
    struct batch *changed = batch_create(dictionary, resources, count);
    free(resources);
    if (changed == NULL)
        return parts_no_memory(e);
    batch_unref(b);
    *b = changed;
    return ERR_OK;
}

// All functions here give a reference: to the same part if nothing changed, to a copy if it did; NULL when
// out of memory or when `change` failed.

static void unref_profiles(struct profile *profiles, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        columns_unref(&profiles[i].columns);
        observations_unref(&profiles[i].observations);
    }
}

static struct scope *walk_scope(const struct profile_walk *w, uint32_t resource, uint32_t index, struct scope *s)
{
    struct profile *profiles = mem_try_array(s->profile_count, sizeof *profiles);
    if (profiles == NULL)
        return NULL;
    bool changed = false, ok = true;
    uint32_t count = 0;
    while (count < s->profile_count && ok) {
        profiles[count] = profile_share(&s->profiles[count]);
        ok = w->change(w->arg, resource, index, &profiles[count++], &changed);
    }
    struct scope *result = NULL;
    if (ok && changed) {
        result = scope_with_profiles(s, profiles, count);
    } else {
        unref_profiles(profiles, count);
        result = ok ? scope_ref(s) : NULL;
    }
    free(profiles);
    return result;
}

static struct resource *rebuild_resource(struct resource *r, struct scope **scopes, uint32_t count)
{
    bool changed = false, complete = count == r->scope_count;
    for (uint32_t i = 0; i < count; i++)
        changed |= scopes[i] != r->scopes[i];
    if (changed && complete)
        return resource_with_scopes(r, scopes, count);
    for (uint32_t i = 0; i < count; i++)
        scope_unref(&scopes[i]);
    return complete ? resource_ref(r) : NULL;
}

static struct resource *walk_resource(const struct profile_walk *w, uint32_t index, struct resource *r)
{
    struct scope **scopes = mem_try_array(r->scope_count, sizeof(struct scope *));
    if (scopes == NULL)
        return NULL;
    uint32_t count = 0;
    while (count < r->scope_count && (scopes[count] = walk_scope(w, index, count, r->scopes[count])) != NULL)
        count++;
    struct resource *result = rebuild_resource(r, scopes, count);
    free(scopes);
    return result;
}

void resources_drop(struct resource **list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        resource_unref(&list[i]);
    free(list);
}

struct resource **batch_walk_profiles(const struct batch *b, const struct profile_walk *w, bool *changed_out)
{
    struct resource **list = mem_try_array(b->resource_count, sizeof(struct resource *));
    uint32_t count = 0;
    *changed_out = false;
    if (list == NULL)
        return NULL;
    while (count < b->resource_count && (list[count] = walk_resource(w, count, b->resources[count])) != NULL) {
        *changed_out |= list[count] != b->resources[count];
        count++;
    }
    if (count == b->resource_count)
        return list;
    resources_drop(list, count);
    return NULL;
}

struct part_edit {
    const struct part_attributes_change *change;
    enum err_code code; // what change said
    struct err *e;
};

static bool ask(struct part_edit *p, uint32_t resource, uint32_t scope, struct part_attributes *part)
{
    p->code = p->change->change(p->change->arg, resource, scope, part, p->e);
    return p->code == ERR_OK;
}

// False = out of memory, or change failed. *out NULL = dropped.
static bool edit_resource(struct part_edit *p, uint32_t index, struct resource *r, struct resource **out)
{
    struct part_attributes part = {.list = r->attributes, .count = r->attribute_count};
    *out = NULL;
    if (!ask(p, index, 0, &part))
        return false;
    if (!part.dropped)
        *out = part.list == r->attributes ? resource_ref(r) : resource_with_attributes(r, part.list, part.count);
    return part.dropped || *out != NULL;
}

static struct scope *edit_scope(struct part_edit *p, uint32_t resource, uint32_t index, struct scope *s)
{
    struct part_attributes part = {s->attributes, s->attribute_count, false, s->name};
    if (!ask(p, resource, index, &part))
        return NULL;
    CHECK(!part.dropped);
    const bool renamed = !bytes_same_place(part.name, s->name);
    if (!renamed && part.list == s->attributes)
        return scope_ref(s);
    struct scope *copy = scope_with_attributes(s, part.list, part.count);
    if (copy != NULL && renamed && !arena_try_copy(&copy->arena, part.name, &copy->name))
        scope_unref(&copy);
    return copy;
}

static bool edit_scopes(struct part_edit *p, uint32_t index, struct resource *r, struct resource **out)
{
    struct scope **scopes = mem_try_array(r->scope_count, sizeof(struct scope *));
    uint32_t count = 0;
    *out = NULL;
    if (scopes == NULL)
        return false;
    while (count < r->scope_count && (scopes[count] = edit_scope(p, index, count, r->scopes[count])) != NULL)
        count++;
    *out = rebuild_resource(r, scopes, count);
    free(scopes);
    return *out != NULL;
}

// The bytes the batch came from still hold all the rest.
static enum err_code replace_parts(struct batch **b, struct resource **list, uint32_t count, struct err *e)
{
    struct batch *before = batch_ref(*b);
    struct dictionary *d = before->dictionary == NULL ? NULL : dictionary_ref(before->dictionary);
    enum err_code code = batch_replace(b, d, list, count, e);
    if (code == ERR_OK)
        batch_keep_origin(*b, before);
    batch_unref(&before);
    return code;
}

enum err_code batch_change_part_attributes(struct batch **b, const struct part_attributes_change *c, struct err *e)
{
    struct part_edit p = {.change = c, .e = e};
    struct resource **list = mem_try_array((*b)->resource_count, sizeof(struct resource *));
    uint32_t count = 0;
    bool changed = false, ok = list != NULL;
    for (uint32_t i = 0; ok && i < (*b)->resource_count; i++) {
        struct resource *old = (*b)->resources[i], *new;
        ok = c->of_scopes ? edit_scopes(&p, i, old, &new) : edit_resource(&p, i, old, &new);
        changed |= new != old;
        if (new != NULL)
            list[count++] = new;
    }
    if (ok && changed && count > 0)
        return replace_parts(b, list, count, e);
    resources_drop(list, count);
    if (ok && changed)
        batch_unref(b);
    return ok ? ERR_OK : p.code != ERR_OK ? p.code : parts_no_memory(e);
}

struct changer {
    bool (*change)(void *arg, struct profile *);
    void *arg;
};

static bool change_header(void *arg, uint32_t resource, uint32_t scope, struct profile *p, bool *changed)
{
    const struct changer *c = arg;
    const struct profile before = *p;
    (void)resource;
    (void)scope;
    *changed |= c->change(c->arg, p);
    CHECK(p->columns == before.columns && p->observations == before.observations);
    return true;
}

enum err_code batch_change_profiles(struct batch **b, bool (*change)(void *arg, struct profile *), void *arg,
                                    struct err *e)
{
    struct changer c = {change, arg};
    bool changed;
    struct resource **list = batch_walk_profiles(*b, &(struct profile_walk){change_header, &c}, &changed);
    if (list == NULL)
        return parts_no_memory(e);
    if (changed)
        return batch_replace(b, dictionary_ref((*b)->dictionary), list, (*b)->resource_count, e);
    resources_drop(list, (*b)->resource_count);
    return ERR_OK;
}
