// SPDX-License-Identifier: Apache-2.0
#include "profile/edit.h"

#include "base/mem.h"
#include "profile/edit_internal.h"
#include "profile/parts.h"

enum err_code batch_replace(struct batch **b, struct dictionary *dictionary, struct resource **resources, struct err *e)
{
    struct batch *changed = batch_create(dictionary, resources, (*b)->resource_count);
    free(resources);
    if (changed == NULL)
        return parts_no_memory(e);
    batch_unref(b);
    *b = changed;
    return ERR_OK;
}

static struct resource **share_resources(const struct batch *b)
{
    struct resource **list = mem_try_array(b->resource_count, sizeof(struct resource *));
    for (uint32_t i = 0; list != NULL && i < b->resource_count; i++)
        list[i] = resource_ref(b->resources[i]);
    return list;
}

// Takes over `changed`, which is NULL when memory was out.
static enum err_code replace_resource(struct batch **b, uint32_t index, struct resource *changed, struct err *e)
{
    struct resource **list = changed == NULL ? NULL : share_resources(*b);
    if (list == NULL) {
        resource_unref(&changed);
        return parts_no_memory(e);
    }
    resource_unref(&list[index]);
    list[index] = changed;
    return batch_replace(b, dictionary_ref((*b)->dictionary), list, e);
}

enum err_code batch_set_resource_attributes(struct batch **b, uint32_t index, const struct key_value *attributes,
                                            uint32_t count, struct err *e)
{
    CHECK(index < (*b)->resource_count);
    return replace_resource(b, index, resource_with_attributes((*b)->resources[index], attributes, count), e);
}

static struct resource *with_scope(const struct resource *r, uint32_t index, struct scope *changed)
{
    struct scope **scopes = mem_try_array(r->scope_count, sizeof(struct scope *));
    if (scopes == NULL) {
        scope_unref(&changed);
        return NULL;
    }
    for (uint32_t i = 0; i < r->scope_count; i++)
        scopes[i] = i == index ? changed : scope_ref(r->scopes[i]);
    struct resource *result = resource_with_scopes(r, scopes, r->scope_count);
    free(scopes);
    return result;
}

enum err_code batch_set_scope_attributes(struct batch **b, uint32_t resource, uint32_t scope,
                                         const struct key_value *attributes, uint32_t count, struct err *e)
{
    CHECK(resource < (*b)->resource_count && scope < (*b)->resources[resource]->scope_count);
    const struct resource *r = (*b)->resources[resource];
    struct scope *changed = scope_with_attributes(r->scopes[scope], attributes, count);
    return replace_resource(b, resource, changed == NULL ? NULL : with_scope(r, scope, changed), e);
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
    enum err_code code;
    struct err *e;
};

// The new list in *out, NULL for no change; false when change failed.
static bool ask(struct part_edit *p, uint32_t resource, uint32_t scope, const struct key_value *list, uint32_t count,
                const struct key_value **out, uint32_t *count_out)
{
    p->code = p->change->change(p->change->arg, resource, scope, list, count, out, count_out, p->e);
    if (*out == list)
        *out = NULL;
    return p->code == ERR_OK;
}

static struct resource *edit_resource(struct part_edit *p, uint32_t index, struct resource *r)
{
    const struct key_value *list;
    uint32_t count;
    if (!ask(p, index, 0, r->attributes, r->attribute_count, &list, &count))
        return NULL;
    return list == NULL ? resource_ref(r) : resource_with_attributes(r, list, count);
}

static struct scope *edit_scope(struct part_edit *p, uint32_t resource, uint32_t index, struct scope *s)
{
    const struct key_value *list;
    uint32_t count;
    if (!ask(p, resource, index, s->attributes, s->attribute_count, &list, &count))
        return NULL;
    return list == NULL ? scope_ref(s) : scope_with_attributes(s, list, count);
}

static struct resource *edit_scopes(struct part_edit *p, uint32_t index, struct resource *r)
{
    struct scope **scopes = mem_try_array(r->scope_count, sizeof(struct scope *));
    if (scopes == NULL)
        return NULL;
    uint32_t count = 0;
    while (count < r->scope_count && (scopes[count] = edit_scope(p, index, count, r->scopes[count])) != NULL)
        count++;
    struct resource *result = rebuild_resource(r, scopes, count);
    free(scopes);
    return result;
}

enum err_code batch_change_part_attributes(struct batch **b, const struct part_attributes_change *c, struct err *e)
{
    struct part_edit p = {.change = c, .e = e};
    uint32_t total = (*b)->resource_count, count = 0;
    struct resource **list = mem_try_array(total, sizeof(struct resource *));
    if (list == NULL)
        return parts_no_memory(e);
    bool changed = false;
    for (; count < total; count++) {
        struct resource *old = (*b)->resources[count];
        list[count] = c->of_scopes ? edit_scopes(&p, count, old) : edit_resource(&p, count, old);
        if (list[count] == NULL)
            break;
        changed |= list[count] != old;
    }
    if (count == total && changed)
        return batch_replace(b, dictionary_ref((*b)->dictionary), list, e);
    resources_drop(list, count);
    if (count == total)
        return ERR_OK;
    return p.code == ERR_OK ? parts_no_memory(e) : p.code;
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
        return batch_replace(b, dictionary_ref((*b)->dictionary), list, e);
    resources_drop(list, (*b)->resource_count);
    return ERR_OK;
}
