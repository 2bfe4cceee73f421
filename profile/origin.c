// SPDX-License-Identifier: Apache-2.0
#include "profile/origin.h"

#include "base/mem.h"
#include "profile/edit_internal.h"
#include "profile/parts.h"

bool origin_init(struct origin *o, const struct origin_type *type, struct resource **resources,
                 struct origin_count *counts, uint32_t count)
{
    *o = (struct origin){.type = type, .resources = resources, .counts = counts, .resource_count = count};
    atomic_init(&o->refs, 1);
    for (uint32_t i = 0; i < count; i++)
        resources[i]->origin_index = i;
    return pthread_mutex_init(&o->lock, NULL) == 0;
}

void origin_fini(struct origin *o)
{
    batch_unref(&o->read);
    resources_drop((struct resource **)(uintptr_t)o->resources, o->resource_count);
    free((void *)(uintptr_t)o->counts);
    pthread_mutex_destroy(&o->lock);
}

struct origin *origin_ref(struct origin *o)
{
    atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    return o;
}

void origin_unref(struct origin **o)
{
    struct origin *old = *o;
    *o = NULL;
    if (old != NULL && atomic_fetch_sub_explicit(&old->refs, 1, memory_order_acq_rel) == 1)
        old->type->destroy(old);
}

static void set_totals(struct batch *b)
{
    b->profile_count = b->sample_count = 0;
    for (uint32_t i = 0; i < b->resource_count; i++) {
        const struct origin_count *c = &b->origin->counts[b->resources[i]->origin_index];
        b->profile_count += c->profiles;
        b->sample_count += c->samples;
    }
}

void batch_keep_origin(struct batch *to, const struct batch *from)
{
    if (from->origin == NULL)
        return;
    to->origin = origin_ref(from->origin);
    if (batch_is_unread(to))
        set_totals(to);
}

struct batch *origin_batch(struct origin *o)
{
    struct resource **list = mem_try_array(o->resource_count, sizeof(struct resource *));
    if (list == NULL)
        return NULL;
    for (uint32_t i = 0; i < o->resource_count; i++)
        list[i] = resource_ref(o->resources[i]);
    struct batch *b = batch_create(NULL, list, o->resource_count);
    free(list);
    if (b != NULL)
        batch_keep_origin(b, &(struct batch){.origin = o});
    return b;
}

// --- opening ---

static enum err_code read_locked(struct origin *o, size_t max_bytes, struct err *e)
{
    if (o->read != NULL)
        return ERR_OK;
    enum err_code code = o->type->read(o, max_bytes, &o->read, e);
    if (code != ERR_OK)
        return code;
    CHECK(o->read->resource_count == o->resource_count && o->read->origin == NULL);
    for (uint32_t i = 0; i < o->resource_count; i++)
        o->read->resources[i]->origin_index = i;
    return ERR_OK;
}

// A reference to the whole batch of the origin; NULL: see *code.
static struct batch *read_once(struct origin *o, size_t max_bytes, struct err *e, enum err_code *code)
{
    pthread_mutex_lock(&o->lock);
    *code = read_locked(o, max_bytes, e);
    struct batch *b = *code == ERR_OK ? batch_ref(o->read) : NULL;
    pthread_mutex_unlock(&o->lock);
    return b;
}

// What an unread scope became, with the profiles of the read one.
static struct scope *open_scope(struct scope *unread, struct scope *came, struct scope *read)
{
    return unread == came ? scope_ref(read) : scope_with_attributes(read, unread->attributes, unread->attribute_count);
}

static struct resource *open_scopes(const struct resource *unread, const struct resource *came,
                                    const struct resource *read)
{
    struct scope **scopes = mem_try_array(read->scope_count, sizeof(struct scope *));
    uint32_t count = 0;
    CHECK(unread->scope_count == read->scope_count && came->scope_count == read->scope_count);
    if (scopes == NULL)
        return NULL;
    while (count < read->scope_count &&
           (scopes[count] = open_scope(unread->scopes[count], came->scopes[count], read->scopes[count])) != NULL)
        count++;
    struct resource *r = NULL;
    if (count == read->scope_count)
        r = resource_with_scopes(read, scopes, count);
    for (uint32_t i = 0; i < count && count != read->scope_count; i++)
        scope_unref(&scopes[i]);
    free(scopes);
    return r;
}

static struct resource *open_resource(struct resource *unread, const struct origin *o, const struct batch *read)
{
    const struct resource *came = o->resources[unread->origin_index];
    struct resource *r = read->resources[unread->origin_index];
    if (unread == came)
        return resource_ref(r);
    struct resource *with_scopes = open_scopes(unread, came, r), *result = NULL;
    if (with_scopes != NULL)
        result = resource_with_attributes(with_scopes, unread->attributes, unread->attribute_count);
    resource_unref(&with_scopes);
    return result;
}

static struct batch *open_with(const struct batch *b, const struct batch *read)
{
    struct resource **list = mem_try_array(b->resource_count, sizeof(struct resource *));
    uint32_t count = 0;
    if (list == NULL)
        return NULL;
    while (count < b->resource_count && (list[count] = open_resource(b->resources[count], b->origin, read)) != NULL)
        count++;
    if (count < b->resource_count) {
        resources_drop(list, count);
        return NULL;
    }
    struct batch *opened = batch_create(dictionary_ref(read->dictionary), list, count);
    free(list);
    if (opened != NULL)
        batch_keep_origin(opened, b);
    return opened;
}

enum err_code batch_open(struct batch **b, size_t max_bytes, struct err *e)
{
    enum err_code code;
    if (!batch_is_unread(*b))
        return ERR_OK;
    struct batch *read = read_once((*b)->origin, max_bytes, e, &code);
    if (read == NULL)
        return code;
    struct batch *opened = open_with(*b, read);
    batch_unref(&read);
    if (opened == NULL)
        return parts_no_memory(e);
    batch_unref(b);
    *b = opened;
    return ERR_OK;
}

enum err_code batch_leave_origin(struct batch **b, struct err *e)
{
    CHECK(!batch_is_unread(*b));
    if ((*b)->origin == NULL)
        return ERR_OK;
    struct resource **list = mem_try_array((*b)->resource_count, sizeof(struct resource *));
    if (list == NULL)
        return parts_no_memory(e);
    for (uint32_t i = 0; i < (*b)->resource_count; i++)
        list[i] = resource_ref((*b)->resources[i]);
    return batch_replace(b, dictionary_ref((*b)->dictionary), list, (*b)->resource_count, e);
}

// --- what changed ---

// The resource as it came, in the state the batch is in.
static const struct resource *came_resource(const struct batch *b, uint32_t resource)
{
    const struct origin *o = b->origin;
    uint32_t index = b->resources[resource]->origin_index;
    return batch_is_unread(b) ? o->resources[index] : o->read->resources[index];
}

bool batch_resource_as_came(const struct batch *b, uint32_t resource)
{
    return b->origin != NULL && b->resources[resource] == came_resource(b, resource);
}

bool batch_scope_as_came(const struct batch *b, uint32_t resource, uint32_t scope)
{
    return b->origin != NULL && b->resources[resource]->scopes[scope] == came_resource(b, resource)->scopes[scope];
}

bool batch_as_came(const struct batch *b)
{
    if (b->origin == NULL || b->resource_count != b->origin->resource_count)
        return false;
    for (uint32_t i = 0; i < b->resource_count; i++)
        if (b->resources[i]->origin_index != i || !batch_resource_as_came(b, i))
            return false;
    return true;
}
