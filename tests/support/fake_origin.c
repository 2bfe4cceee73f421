// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_origin.h"

#include "base/mem.h"
#include "profile/edit_internal.h"
#include "profile/parts.h"

static struct scope *without_profiles(struct scope *s)
{
    struct scope *bare = scope_with_profiles(s, NULL, 0);
    CHECK(bare != NULL);
    return bare;
}

static struct resource *bare_resource(const struct resource *r)
{
    struct scope **scopes = mem_try_array(r->scope_count + 1, sizeof(struct scope *));
    CHECK(scopes != NULL);
    for (uint32_t i = 0; i < r->scope_count; i++)
        scopes[i] = without_profiles(r->scopes[i]);
    struct resource *bare = resource_with_scopes(r, scopes, r->scope_count);
    CHECK(bare != NULL);
    free(scopes);
    return bare;
}

static struct origin_count count_of(const struct resource *r)
{
    struct origin_count c = {0};
    for (uint32_t s = 0; s < r->scope_count; s++) {
        c.profiles += r->scopes[s]->profile_count;
        for (uint32_t p = 0; p < r->scopes[s]->profile_count; p++)
            c.samples += r->scopes[s]->profiles[p].columns->sample_count;
    }
    return c;
}

// Not the batch itself: what is read has parts of its own.
static struct batch *fresh_copy(const struct batch *whole)
{
    struct resource **list = mem_try_array(whole->resource_count, sizeof(struct resource *));
    for (uint32_t i = 0; list != NULL && i < whole->resource_count; i++) {
        const struct resource *r = whole->resources[i];
        list[i] = resource_with_attributes(r, r->attributes, r->attribute_count);
        if (list[i] == NULL) {
            resources_drop(list, i);
            list = NULL;
        }
    }
    struct batch *b =
        list == NULL ? NULL : batch_create(dictionary_ref(whole->dictionary), list, whole->resource_count);
    free(list);
    return b;
}

static enum err_code read_fake(const struct origin *self, size_t max_bytes, struct batch **out, struct err *e)
{
    struct fake_origin *o = (struct fake_origin *)(uintptr_t)self;
    *out = NULL;
    if (o->fails != ERR_OK)
        return err_set(e, o->fails, "as told");
    if (max_bytes != 0 && max_bytes < o->needed_bytes)
        return err_set(e, ERR_LIMIT, "%zu bytes are too few", max_bytes);
    *out = fresh_copy(o->whole);
    o->reads += *out != NULL;
    return *out != NULL ? ERR_OK : parts_no_memory(e);
}

static void destroy_fake(struct origin *self)
{
    struct fake_origin *o = (struct fake_origin *)self;
    if (o->destroyed != NULL)
        ++*o->destroyed;
    origin_fini(self);
    batch_unref(&o->whole);
    free(o);
}

struct batch *fake_unread_batch(struct batch *whole, size_t bytes, struct fake_origin **origin_out)
{
    static const struct origin_type type = {read_fake, destroy_fake};
    struct fake_origin *o = MEM_NEW(struct fake_origin);
    struct resource **resources = mem_try_array(whole->resource_count, sizeof(struct resource *));
    struct origin_count *counts = mem_try_array(whole->resource_count, sizeof *counts);
    CHECK(resources != NULL && counts != NULL);
    for (uint32_t i = 0; i < whole->resource_count; i++) {
        resources[i] = bare_resource(whole->resources[i]);
        counts[i] = count_of(whole->resources[i]);
    }
    CHECK(origin_init(&o->origin, &type, resources, counts, whole->resource_count));
    o->origin.bytes = bytes;
    o->whole = batch_ref(whole);
    struct origin *origin = &o->origin;
    struct batch *b = origin_batch(origin);
    CHECK(b != NULL);
    origin_unref(&origin);
    *origin_out = o;
    return b;
}
