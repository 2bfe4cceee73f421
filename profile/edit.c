// SPDX-License-Identifier: Apache-2.0
#include "profile/edit.h"

#include "base/mem.h"
#include "profile/parts.h"

// A batch with the resources of this list, which is taken over; then *b is the new batch.
static enum err_code replace_batch(struct batch **b, struct resource **resources, uint32_t count, struct err *e)
{
    struct batch *changed = batch_create(dictionary_ref((*b)->dictionary), resources, count);
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

enum err_code batch_set_resource_attributes(struct batch **b, uint32_t index, const struct key_value *attributes,
                                            uint32_t count, struct err *e)
{
    CHECK(index < (*b)->resource_count);
    struct resource *changed = resource_with_attributes((*b)->resources[index], attributes, count);
    struct resource **list = changed == NULL ? NULL : share_resources(*b);
    if (list == NULL) {
        resource_unref(&changed);
        return parts_no_memory(e);
    }
    resource_unref(&list[index]);
    list[index] = changed;
    return replace_batch(b, list, (*b)->resource_count, e);
}

struct changer {
    bool (*change)(void *arg, struct profile *);
    void *arg;
};

// All functions here give a reference: to the same part if nothing changed, to a copy if it did; NULL when
// out of memory.

static struct scope *change_scope(const struct changer *c, struct scope *s)
{
    struct profile *profiles = mem_try_array(s->profile_count, sizeof *profiles);
    if (profiles == NULL)
        return NULL;
    bool changed = false;
    for (uint32_t i = 0; i < s->profile_count; i++) {
        const struct profile *old = &s->profiles[i];
        profiles[i] = *old;
        changed |= c->change(c->arg, &profiles[i]);
        CHECK(profiles[i].columns == old->columns && profiles[i].observations == old->observations);
    }
    for (uint32_t i = 0; changed && i < s->profile_count; i++)
        profile_share(&profiles[i]);
    struct scope *result = changed ? scope_with_profiles(s, profiles, s->profile_count) : scope_ref(s);
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

static struct resource *change_resource(const struct changer *c, struct resource *r)
{
    struct scope **scopes = mem_try_array(r->scope_count, sizeof(struct scope *));
    if (scopes == NULL)
        return NULL;
    uint32_t count = 0;
    while (count < r->scope_count && (scopes[count] = change_scope(c, r->scopes[count])) != NULL)
        count++;
    struct resource *result = rebuild_resource(r, scopes, count);
    free(scopes);
    return result;
}

static void unref_resources(struct resource **list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        resource_unref(&list[i]);
    free(list);
}

enum err_code batch_change_profiles(struct batch **b, bool (*change)(void *arg, struct profile *), void *arg,
                                    struct err *e)
{
    struct changer c = {change, arg};
    uint32_t total = (*b)->resource_count, count = 0;
    struct resource **list = mem_try_array(total, sizeof(struct resource *));
    if (list == NULL)
        return parts_no_memory(e);
    bool changed = false;
    while (count < total && (list[count] = change_resource(&c, (*b)->resources[count])) != NULL) {
        changed |= list[count] != (*b)->resources[count];
        count++;
    }
    if (count == total && changed)
        return replace_batch(b, list, total, e);
    unref_resources(list, count);
    return count == total ? ERR_OK : parts_no_memory(e);
}
