// SPDX-License-Identifier: Apache-2.0
#include "profile/regroup.h"

#include "base/mem.h"
#include "profile/regroup_internal.h"

static bool no_memory(struct regroup *g)
{
    return parts_no_memory(g->e) == ERR_OK;
}

static bool ask(struct regroup *g, uint32_t sample_set)
{
    const struct regroup_case at = {g->resource, g->profile_set, sample_set};
    struct answer *a = &g->answers[sample_set];
    if (g->rule->place(g->rule->arg, g, at, &a->destination, g->e) != ERR_OK)
        return false;
    CHECK(a->destination < g->destination_count);
    a->part = g->part;
    return true;
}

static inline bool destination_of(struct regroup *g, uint32_t sample_set, uint32_t *out)
{
    if (g->answers[sample_set].part != g->part && !ask(g, sample_set))
        return false;
    *out = g->answers[sample_set].destination;
    return true;
}

static void begin_case(struct regroup *g, uint32_t resource, uint32_t profile_set)
{
    if (g->part != 0 && g->resource == resource && g->profile_set == profile_set)
        return;
    g->part++;
    g->resource = resource;
    g->profile_set = profile_set;
}

// The destination of each sample, in g->placed.
static bool place_samples(struct regroup *g, const struct columns *c, bool *uniform_out)
{
    if (!mem_try_grow(&g->placed, &g->placed_capacity, c->sample_count, sizeof(uint32_t), SIZE_MAX))
        return no_memory(g);
    uint32_t *placed = g->placed;
    *uniform_out = true;
    for (uint32_t i = 0; i < c->sample_count; i++) {
        if (!destination_of(g, c->attribute_sets == NULL ? 0 : c->attribute_sets[i], &placed[i]))
            return false;
        *uniform_out &= placed[i] == placed[0];
    }
    return true;
}

// --- cutting one profile ---

static void forget_cut(struct regroup *g)
{
    struct group *groups = g->groups;
    for (uint32_t i = 0; i < g->group_count; i++)
        columns_unref(&groups[i].columns);
    g->group_count = 0;
    g->cut_columns = NULL;
}

// The group of this destination in the profile at hand.
static bool group_of(struct regroup *g, uint32_t destination, uint32_t *out)
{
    struct destination *d = &((struct destination *)g->destinations)[destination];
    if (d->cut != g->cut) {
        if (!mem_try_grow(&g->groups, &g->group_capacity, (size_t)g->group_count + 1, sizeof(struct group), UINT32_MAX))
            return no_memory(g);
        d->cut = g->cut;
        d->group = g->group_count++;
        ((struct group *)g->groups)[d->group] = (struct group){.destination = destination};
    }
    *out = d->group;
    return true;
}

static bool count_runs(struct regroup *g, const uint32_t *placed, uint32_t count, size_t *runs_out)
{
    *runs_out = 0;
    for (uint32_t i = 0, id = 0; i < count; i++) {
        if (i > 0 && placed[i] == placed[i - 1])
            continue;
        if (!group_of(g, placed[i], &id))
            return false;
        ((struct group *)g->groups)[id].run_count++;
        ++*runs_out;
    }
    return true;
}

static void fill_runs(struct regroup *g, const uint32_t *placed, uint32_t count)
{
    const struct destination *destinations = g->destinations;
    struct group *groups = g->groups;
    struct run *runs = g->runs;
    size_t start = 0;
    for (uint32_t i = 0; i < g->group_count; i++) {
        groups[i].run_start = start;
        start += groups[i].run_count;
        groups[i].run_count = 0;
    }
    for (uint32_t i = 0; i < count;) {
        struct group *to = &groups[destinations[placed[i]].group];
        struct run *run = &runs[to->run_start + to->run_count++];
        for (*run = (struct run){i, 0}; i < count && placed[i] == placed[run->start]; i++)
            run->count++;
    }
}

static bool pick_columns(struct regroup *g, const struct columns *c)
{
    const struct run *runs = g->runs;
    for (uint32_t i = 0; i < g->group_count; i++) {
        struct group *to = &((struct group *)g->groups)[i];
        to->columns = columns_pick(c, runs + to->run_start, to->run_count);
        if (to->columns == NULL)
            return no_memory(g);
    }
    return true;
}

static bool cut_alike(const struct regroup *g, const struct columns *c)
{
    return g->cut_columns == c && memcmp(g->placed, g->cut_placed, c->sample_count * sizeof(uint32_t)) == 0;
}

static bool cut_columns(struct regroup *g, const struct columns *c)
{
    size_t runs;
    forget_cut(g);
    g->cut++;
    if (!count_runs(g, g->placed, c->sample_count, &runs))
        return false;
    if (!mem_try_grow(&g->runs, &g->run_capacity, runs, sizeof(struct run), SIZE_MAX) ||
        !mem_try_grow(&g->cut_placed, &g->cut_placed_capacity, c->sample_count, sizeof(uint32_t), SIZE_MAX))
        return no_memory(g);
    fill_runs(g, g->placed, c->sample_count);
    memcpy(g->cut_placed, g->placed, c->sample_count * sizeof(uint32_t));
    if (!pick_columns(g, c))
        return false;
    g->cut_columns = c;
    return true;
}

static bool put_group(struct regroup *g, const struct profile *p, const struct group *group)
{
    struct profile part = *p;
    profile_drop_payload(&part);
    part.observations =
        observations_pick(p->observations, (const struct run *)g->runs + group->run_start, group->run_count);
    if (part.observations == NULL)
        return no_memory(g);
    part.columns = columns_ref(group->columns);
    return regroup_put(g, group->destination, &part, NULL);
}

static bool put_parts(struct regroup *g, const struct profile *p)
{
    if (!cut_alike(g, p->columns) && !cut_columns(g, p->columns))
        return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->group_count; i++)
        ok = put_group(g, p, &((struct group *)g->groups)[i]);
    return ok;
}

// --- the walk ---

static bool put_whole(struct regroup *g, const struct profile *p, uint32_t destination)
{
    const struct profile shared = profile_share(p);
    return regroup_put(g, destination, &shared, p);
}

static bool walk_profile(struct regroup *g, uint32_t resource, const struct profile *p)
{
    uint32_t destination;
    bool uniform = true;
    begin_case(g, resource, p->attribute_set);
    if (p->columns->sample_count == 0)
        return destination_of(g, 0, &destination) && put_whole(g, p, destination);
    if (!place_samples(g, p->columns, &uniform))
        return false;
    return uniform ? put_whole(g, p, *(const uint32_t *)g->placed) : put_parts(g, p);
}

static bool walk_scope(struct regroup *g, uint32_t resource, const struct scope *s)
{
    uint32_t destination;
    bool ok = true;
    regroup_enter_scope(g, s);
    if (s->profile_count == 0)
        return regroup_stay(g, resource, &destination, g->e) == ERR_OK && regroup_keep_scope(g, destination);
    for (uint32_t i = 0; ok && i < s->profile_count; i++)
        ok = walk_profile(g, resource, &s->profiles[i]);
    return ok;
}

static bool walk_resource(struct regroup *g, uint32_t resource, const struct resource *r)
{
    uint32_t destination;
    if (r->scope_count == 0) {
        if (regroup_stay(g, resource, &destination, g->e) != ERR_OK)
            return false;
        ((struct destination *)g->destinations)[destination].kept = true;
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->scope_count; i++)
        ok = walk_scope(g, resource, r->scopes[i]);
    return ok;
}

static bool walk_batch(struct regroup *g)
{
    bool ok = true;
    g->answers = mem_try_array(g->batch->dictionary->attribute_set_count, sizeof *g->answers);
    if (g->answers == NULL)
        return no_memory(g);
    memset(g->answers, 0, g->batch->dictionary->attribute_set_count * sizeof *g->answers);
    for (uint32_t i = 0; ok && i < g->batch->resource_count; i++)
        ok = walk_resource(g, i, g->batch->resources[i]);
    return ok;
}

static void fini(struct regroup *g)
{
    forget_cut(g);
    regroup_places_fini(g);
    free(g->answers);
    free(g->placed);
    free(g->cut_placed);
    free(g->groups);
    free(g->runs);
}

enum err_code batch_regroup(struct batch **b, const struct regroup_rule *rule, struct err *e)
{
    struct regroup g = {.batch = *b, .rule = rule, .e = e};
    arena_init(&g.arena, 0);
    bool ok = walk_batch(&g) && regroup_seal(&g, b);
    fini(&g);
    return ok ? ERR_OK : e->code;
}
