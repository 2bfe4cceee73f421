// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "processors/relabel_work.h"

enum { KEPT_ARENA_BYTES = 64 << 10, KEPT_ITEMS = 1000 };

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
        return relabel_no_memory(e);
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
        return relabel_no_memory(e);
    for (size_t i = 0; i < v->out_count; i++)
        list[i] = (struct key_value){v->out[i].key, v->out[i].value};
    out->out = list;
    out->out_count = (uint32_t)v->out_count;
    return ERR_OK;
}

struct resource_change {
    struct relabel_work *work;
    const struct batch *batch;
    struct relabel_answer *known; // the last one, if the cache had it: the batch borrows its list for a moment
};

static void take_answer(const struct relabel_answer *a, struct part_attributes *part)
{
    part->dropped = !a->kept;
    if (a->kept && a->changed) {
        part->list = a->out;
        part->count = a->out_count;
    }
}

static enum err_code relabel_resource(void *arg, uint32_t index, uint32_t scope, struct part_attributes *part,
                                      struct err *e)
{
    struct resource_change *c = arg;
    struct relabel_work *w = c->work;
    const struct resource *r = c->batch->resources[index];
    struct relabel_answer answer;
    uint64_t hash = 0;
    bool wanted = false;
    (void)scope;
    relabel_answer_unref(&c->known);
    c->known = w->cache == NULL ? NULL : relabel_cache_get(w->cache, r, &hash, &wanted);
    if (c->known != NULL) {
        take_answer(c->known, part);
        return ERR_OK;
    }
    enum err_code rc = run_rules(w, c->batch, index, e);
    if (rc == ERR_OK)
        rc = read_answer(&w->view, &answer, e);
    if (rc != ERR_OK)
        return rc;
    if (wanted)
        relabel_cache_put(w->cache, hash, r, &answer);
    take_answer(&answer, part);
    return ERR_OK;
}

enum err_code relabel_resources(struct relabel_work *w, struct batch **batch, struct err *e)
{
    struct resource_change arg = {.work = w, .batch = *batch};
    const struct part_attributes_change change = {.change = relabel_resource, .arg = &arg};
    enum err_code rc = batch_change_part_attributes(batch, &change, e);
    relabel_answer_unref(&arg.known);
    return rc;
}
