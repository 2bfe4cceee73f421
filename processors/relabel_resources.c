// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "processors/relabel_work.h"
#include "profile/parts.h"

enum { KEPT_ARENA_BYTES = 64 << 10, KEPT_ITEMS = 1000 };

// The resources that remain, once one has changed or is gone.
struct remaining {
    const struct batch *batch;
    struct resource **items; // NULL: all so far are as they were
    uint32_t count;
};

static enum err_code no_memory(struct err *e)
{
    return err_set(e, ERR_MEMORY, "out of memory while relabelling");
}

static void remaining_fini(struct remaining *r)
{
    for (uint32_t i = 0; r->items != NULL && i < r->count; i++)
        resource_unref(&r->items[i]);
    free(r->items);
    r->items = NULL;
}

static bool begin_list(struct remaining *r, uint32_t index)
{
    if (r->items != NULL)
        return true;
    r->items = mem_try_array(r->batch->resource_count, sizeof(struct resource *));
    for (uint32_t i = 0; r->items != NULL && i < index; i++)
        r->items[i] = resource_ref(r->batch->resources[i]);
    r->count = r->items != NULL ? index : 0;
    return r->items != NULL;
}

static enum err_code take_answer(const struct relabel_answer *a, struct remaining *left, uint32_t index, struct err *e)
{
    struct resource *r = left->batch->resources[index];
    bool same = a->kept && !a->changed;
    if (same && left->items == NULL)
        return ERR_OK;
    if (!begin_list(left, index))
        return no_memory(e);
    if (!a->kept)
        return ERR_OK;
    struct resource *result = same ? resource_ref(r) : resource_with_attributes(r, a->out, a->out_count);
    if (result == NULL)
        return no_memory(e);
    left->items[left->count++] = result;
    return ERR_OK;
}

void relabel_work_init(struct relabel_work *w, const struct relabel_rules *rules, bool scope, bool profile)
{
    *w = (struct relabel_work){.rules = rules};
    relabel_view_init(&w->view);
    relabel_context_init(&w->context, scope, profile);
}

void relabel_work_fini(struct relabel_work *w)
{
    relabel_view_fini(&w->view);
    relabel_context_fini(&w->context);
    free(w->own);
    w->own = NULL;
}

bool relabel_work_is_large(const struct relabel_work *w)
{
    const struct relabel_view *v = &w->view;
    return v->run.arena.total_bytes > KEPT_ARENA_BYTES || v->seen_capacity > KEPT_ITEMS ||
           v->run.labels.capacity > KEPT_ITEMS || v->out_capacity > KEPT_ITEMS || w->own_capacity > KEPT_ITEMS ||
           v->keys.capacity > KEPT_ITEMS || v->run.snapshot_capacity > KEPT_ITEMS;
}

static enum err_code load(struct relabel_work *w, const struct resource *r, struct err *e)
{
    void *own = w->own;
    if (!mem_try_grow(&own, &w->own_capacity, (size_t)r->attribute_count + 1, sizeof *w->own, SIZE_MAX))
        return no_memory(e);
    w->own = own;
    for (uint32_t i = 0; i < r->attribute_count; i++)
        w->own[i] = (struct unit_attribute){.key = r->attributes[i].key, .value = r->attributes[i].value};
    return relabel_view_load(&w->view, w->own, r->attribute_count, NULL, 0, e);
}

static enum err_code run_rules(struct relabel_work *w, const struct batch *b, uint32_t index, struct err *e)
{
    enum err_code rc = load(w, b->resources[index], e);
    if (rc == ERR_OK && (w->context.scope || w->context.profile)) {
        rc = relabel_context_load(&w->context, b, index, e);
        if (rc == ERR_OK)
            rc = relabel_context_add(&w->context, &w->view, e);
    }
    return rc == ERR_OK ? relabel_view_apply(&w->view, w->rules, e) : rc;
}

// What the rules said, its list borrowed from the view.
static enum err_code read_answer(struct relabel_view *v, struct relabel_answer *out, struct err *e)
{
    *out = (struct relabel_answer){.kept = v->run.kept, .changed = v->changed};
    if (!out->kept || !out->changed)
        return ERR_OK;
    struct key_value *list = arena_try_alloc(&v->run.arena, v->out_count * sizeof *list);
    if (list == NULL)
        return no_memory(e);
    for (size_t i = 0; i < v->out_count; i++)
        list[i] = (struct key_value){v->out[i].key, v->out[i].value};
    out->out = list;
    out->out_count = (uint32_t)v->out_count;
    return ERR_OK;
}

static enum err_code relabel_resource(struct relabel_work *w, struct remaining *left, uint32_t index, struct err *e)
{
    const struct resource *r = left->batch->resources[index];
    struct relabel_answer answer;
    uint64_t hash = 0;
    bool wanted = false;
    struct relabel_answer *known = w->cache == NULL ? NULL : relabel_cache_get(w->cache, r, &hash, &wanted);
    enum err_code rc;
    if (known != NULL) {
        rc = take_answer(known, left, index, e);
        relabel_answer_unref(&known);
        return rc;
    }
    rc = run_rules(w, left->batch, index, e);
    if (rc == ERR_OK)
        rc = read_answer(&w->view, &answer, e);
    if (rc == ERR_OK)
        rc = take_answer(&answer, left, index, e);
    if (rc == ERR_OK && wanted)
        relabel_cache_put(w->cache, hash, r, &answer);
    return rc;
}

static enum err_code replace_batch(struct batch **batch, struct remaining *left, struct err *e)
{
    struct batch *result = NULL;
    if (left->count != 0) {
        result = batch_create(dictionary_ref((*batch)->dictionary), left->items, left->count);
        left->count = 0; // taken over
        if (result == NULL)
            return no_memory(e);
    }
    batch_unref(batch);
    *batch = result;
    return ERR_OK;
}

enum err_code relabel_resources(struct relabel_work *w, struct batch **batch, struct err *e)
{
    struct remaining left = {.batch = *batch};
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < left.batch->resource_count; i++)
        rc = relabel_resource(w, &left, i, e);
    if (rc == ERR_OK && left.items != NULL)
        rc = replace_batch(batch, &left, e);
    remaining_fini(&left);
    return rc;
}
