// SPDX-License-Identifier: Apache-2.0
#include "profile/merge.h"

#include "base/mem.h"
#include "profile/parts.h"
#include "profile/pointer_map.h"

typedef bool keep_fn(void *arg, const struct batch *b, struct sample_position at);
typedef bool keep_profile_fn(void *arg, const struct batch *b, struct profile_position at);

// The newest cut of some columns: the next sample type that keeps the same samples shares it.
struct cut_columns {
    struct run_list runs;
    struct columns *columns;
};

struct selector {
    struct batch *batch;
    keep_fn *keep;
    keep_profile_fn *keep_profile; // instead: profiles stay whole or go whole
    void *arg;
    struct run_list runs; // of the profile at hand
    struct pointer_map seen;
    void *cuts; // struct cut_columns[], by number in `seen`
    size_t cut_capacity, cut_count;
};

static void selector_fini(struct selector *s)
{
    struct cut_columns *cuts = s->cuts;
    for (size_t i = 0; i < s->cut_count; i++) {
        free(cuts[i].runs.items);
        columns_unref(&cuts[i].columns);
    }
    free(s->cuts);
    free(s->runs.items);
    pointer_map_fini(&s->seen);
}

static struct cut_columns *cut_of(struct selector *s, const struct columns *source)
{
    uint32_t id;
    bool is_new;
    if (!pointer_map_put(&s->seen, source, &id, &is_new) ||
        !mem_try_grow(&s->cuts, &s->cut_capacity, (size_t)id + 1, sizeof(struct cut_columns), UINT32_MAX))
        return NULL;
    struct cut_columns *cuts = s->cuts;
    if (id >= s->cut_count)
        cuts[s->cut_count++] = (struct cut_columns){0};
    return &cuts[id];
}

static bool same_runs(const struct run_list *a, const struct run_list *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof(struct run)) == 0);
}

static struct columns *select_columns(struct selector *s, const struct columns *source)
{
    struct cut_columns *cut = cut_of(s, source);
    if (cut == NULL)
        return NULL;
    if (cut->columns != NULL && same_runs(&cut->runs, &s->runs))
        return columns_ref(cut->columns);
    struct columns *picked = columns_pick(source, s->runs.items, s->runs.count);
    if (picked == NULL)
        return NULL;
    columns_unref(&cut->columns);
    cut->columns = columns_ref(picked);
    struct run_list old = cut->runs;
    cut->runs = s->runs;
    s->runs = old;
    return picked;
}

static bool list_kept(struct selector *s, struct sample_position at, uint32_t sample_count)
{
    s->runs.count = s->runs.samples = 0;
    for (at.sample = 0; at.sample < sample_count; at.sample++) {
        if (s->keep(s->arg, s->batch, at) && !run_list_add(&s->runs, at.sample))
            return false;
    }
    return true;
}

static bool cut_profile(struct selector *s, const struct profile *p, struct profile *out)
{
    *out = *p;
    profile_drop_payload(out);
    out->observations = observations_pick(p->observations, s->runs.items, s->runs.count);
    if (out->observations == NULL)
        return false;
    out->columns = select_columns(s, p->columns); // moves the runs away: last
    if (out->columns == NULL)
        observations_unref(&out->observations);
    return out->columns != NULL;
}

// The profiles of a scope that stay, each with its references.
struct kept_profiles {
    struct profile *items;
    uint32_t count;
    bool changed;
};

static void select_whole(struct selector *s, struct sample_position at, const struct profile *p,
                         struct kept_profiles *kept)
{
    const struct profile_position position = {at.resource, at.scope, at.profile};
    if (s->keep_profile(s->arg, s->batch, position))
        kept->items[kept->count++] = profile_share(p);
    else
        kept->changed = true;
}

static bool select_profile(struct selector *s, struct sample_position at, const struct profile *p,
                           struct kept_profiles *kept)
{
    uint32_t before = p->columns->sample_count;
    if (s->keep_profile != NULL) {
        select_whole(s, at, p, kept);
        return true;
    }
    if (!list_kept(s, at, before))
        return false;
    if (s->runs.samples == before) {
        kept->items[kept->count++] = profile_share(p);
        return true;
    }
    kept->changed = true;
    if (s->runs.samples == 0)
        return true;
    if (!cut_profile(s, p, &kept->items[kept->count]))
        return false;
    kept->count++;
    return true;
}

static void drop_kept(struct kept_profiles *kept)
{
    for (uint32_t i = 0; i < kept->count; i++) {
        columns_unref(&kept->items[i].columns);
        observations_unref(&kept->items[i].observations);
    }
}

// What becomes of a scope or resource: false = out of memory; *out is NULL when nothing is left, else one
// reference, to the same part if nothing changed.

static bool select_scope(struct selector *s, struct sample_position at, struct scope *scope, struct scope **out)
{
    struct kept_profiles kept = {.items = mem_try_array(scope->profile_count, sizeof(struct profile))};
    *out = NULL;
    if (kept.items == NULL)
        return false;
    bool ok = true;
    for (at.profile = 0; at.profile < scope->profile_count && ok; at.profile++)
        ok = select_profile(s, at, &scope->profiles[at.profile], &kept);
    if (ok && kept.changed && kept.count > 0) {
        *out = scope_with_profiles(scope, kept.items, kept.count);
        ok = *out != NULL;
    } else {
        drop_kept(&kept);
        if (ok && !kept.changed)
            *out = scope_ref(scope);
    }
    free(kept.items);
    return ok;
}

static bool finish_resource(struct resource *r, struct scope **scopes, uint32_t count, bool changed,
                            struct resource **out)
{
    if (changed && count > 0) {
        *out = resource_with_scopes(r, scopes, count);
        return *out != NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        scope_unref(&scopes[i]);
    if (!changed)
        *out = resource_ref(r);
    return true;
}

static bool select_resource(struct selector *s, struct sample_position at, struct resource *r, struct resource **out)
{
    struct scope **scopes = mem_try_array(r->scope_count, sizeof(struct scope *));
    *out = NULL;
    if (scopes == NULL)
        return false;
    uint32_t count = 0;
    bool ok = true, changed = false;
    for (at.scope = 0; at.scope < r->scope_count && ok; at.scope++) {
        struct scope *kept;
        ok = select_scope(s, at, r->scopes[at.scope], &kept);
        changed |= kept != r->scopes[at.scope];
        if (kept != NULL)
            scopes[count++] = kept;
    }
    if (ok) {
        ok = finish_resource(r, scopes, count, changed, out);
    } else {
        for (uint32_t i = 0; i < count; i++)
            scope_unref(&scopes[i]);
    }
    free(scopes);
    return ok;
}

static bool finish_batch(struct batch *b, struct resource **list, uint32_t count, bool changed, struct batch **out)
{
    if (changed && count > 0) {
        *out = batch_create(dictionary_ref(b->dictionary), list, count);
        return *out != NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        resource_unref(&list[i]);
    if (!changed)
        *out = batch_ref(b);
    return true;
}

static bool select_resources(struct selector *s, struct resource **list, struct batch **out)
{
    struct batch *b = s->batch;
    struct sample_position at = {0};
    uint32_t count = 0;
    bool changed = false, ok = true;
    for (; at.resource < b->resource_count && ok; at.resource++) {
        struct resource *kept;
        ok = select_resource(s, at, b->resources[at.resource], &kept);
        changed |= kept != b->resources[at.resource];
        if (kept != NULL)
            list[count++] = kept;
    }
    if (ok)
        return finish_batch(b, list, count, changed, out);
    for (uint32_t i = 0; i < count; i++)
        resource_unref(&list[i]);
    return false;
}

static enum err_code run(struct selector *s, struct batch **out, struct err *e)
{
    *out = NULL;
    struct resource **list = mem_try_array(s->batch->resource_count, sizeof(struct resource *));
    bool ok = list != NULL && select_resources(s, list, out);
    free(list);
    selector_fini(s);
    return ok ? ERR_OK : parts_no_memory(e);
}

enum err_code batch_select(struct batch *b, keep_fn *keep, void *arg, struct batch **out, struct err *e)
{
    return run(&(struct selector){.batch = b, .keep = keep, .arg = arg}, out, e);
}

enum err_code batch_select_profiles(struct batch *b, keep_profile_fn *keep, void *arg, struct batch **out,
                                    struct err *e)
{
    return run(&(struct selector){.batch = b, .keep_profile = keep, .arg = arg}, out, e);
}

enum err_code batch_select_resources(struct batch *b, uint32_t first, uint32_t count, struct batch **out, struct err *e)
{
    CHECK(first <= b->resource_count && count <= b->resource_count - first);
    *out = NULL;
    if (count == b->resource_count) {
        *out = batch_ref(b);
        return ERR_OK;
    }
    struct resource **list = mem_try_array(count, sizeof(struct resource *));
    if (list == NULL)
        return parts_no_memory(e);
    for (uint32_t i = 0; i < count; i++)
        list[i] = resource_ref(b->resources[first + i]);
    *out = batch_create(dictionary_ref(b->dictionary), list, count);
    free(list);
    return *out != NULL ? ERR_OK : parts_no_memory(e);
}
