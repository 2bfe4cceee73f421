// SPDX-License-Identifier: Apache-2.0
#include "profile/range.h"

#include "base/mem.h"
#include "profile/parts.h"

// Inside one scope: profiles [first, end), where the first_cut profiles at the start lose the samples in
// front of first_sample, and those from last on the samples from last_sample on.
struct scope_range {
    uint32_t first, end;
    uint32_t first_cut, first_sample;
    uint32_t last, last_sample; // last == end: nothing is cut there
};

// The newest cut columns: profiles that shared columns share them again.
struct cutter {
    const struct columns *source;
    struct run run;
    struct columns *columns;
};

static bool starts_resource(struct place p)
{
    return p.scope == 0 && p.profile == 0 && p.sample == 0;
}

static bool starts_scope(struct place p)
{
    return p.profile == 0 && p.sample == 0;
}

static struct scope_range range_in_scope(const struct scope *s, const struct place *from, const struct place *to)
{
    struct scope_range r = {.end = s->profile_count, .last = s->profile_count};
    if (from != NULL) {
        r.first = from->profile;
        r.first_cut = from->sample > 0 ? from->count : 0;
        r.first_sample = from->sample;
    }
    if (to != NULL) {
        r.last = to->profile;
        r.last_sample = to->sample;
        r.end = to->profile + (to->sample > 0 ? to->count : 0);
    }
    return r;
}

static struct run samples_of(const struct scope_range *r, uint32_t profile, uint32_t sample_count)
{
    uint32_t start = profile - r->first < r->first_cut ? r->first_sample : 0;
    uint32_t end = profile >= r->last ? r->last_sample : sample_count;
    return (struct run){start, end - start};
}

static struct columns *cut_columns(struct cutter *c, const struct columns *source, struct run run)
{
    if (c->columns != NULL && c->source == source && c->run.start == run.start && c->run.count == run.count)
        return columns_ref(c->columns);
    struct columns *picked = columns_pick(source, &run, 1);
    if (picked == NULL)
        return NULL;
    columns_unref(&c->columns);
    *c = (struct cutter){source, run, columns_ref(picked)};
    return picked;
}

static bool cut_profile(struct cutter *c, const struct profile *p, struct run run, struct profile *out)
{
    if (run.count == p->columns->sample_count) {
        *out = profile_share(p);
        return true;
    }
    *out = *p;
    profile_drop_payload(out);
    out->columns = cut_columns(c, p->columns, run);
    if (out->columns == NULL)
        return false;
    out->observations = observations_pick(p->observations, &run, 1);
    if (out->observations == NULL)
        columns_unref(&out->columns);
    return out->observations != NULL;
}

static struct scope *build_scope(const struct scope *s, const struct scope_range *r, struct profile *profiles)
{
    struct cutter cutter = {0};
    uint32_t made = 0;
    bool ok = true;
    for (uint32_t p = r->first; p < r->end && ok; p++) {
        struct run run = samples_of(r, p, s->profiles[p].columns->sample_count);
        ok = cut_profile(&cutter, &s->profiles[p], run, &profiles[made]);
        made += ok;
    }
    columns_unref(&cutter.columns);
    if (ok)
        return scope_with_profiles(s, profiles, made);
    for (uint32_t i = 0; i < made; i++) {
        columns_unref(&profiles[i].columns);
        observations_unref(&profiles[i].observations);
    }
    return NULL;
}

static struct scope *range_of_scope(struct scope *s, const struct place *from, const struct place *to)
{
    if (from == NULL && to == NULL)
        return scope_ref(s);
    struct scope_range r = range_in_scope(s, from, to);
    struct profile *profiles = mem_try_array(r.end - r.first, sizeof *profiles);
    struct scope *built = profiles == NULL ? NULL : build_scope(s, &r, profiles);
    free(profiles);
    return built;
}

// NULL for a bound that does not lie inside this part.
static const struct place *inside(const struct place *bound, bool is_inside)
{
    return is_inside ? bound : NULL;
}

static struct resource *build_resource(struct resource *r, const struct place *from, const struct place *to,
                                       struct scope **scopes)
{
    uint32_t first = from != NULL ? from->scope : 0, made = 0;
    uint32_t end = to == NULL ? r->scope_count : to->scope + (starts_scope(*to) ? 0 : 1);
    for (uint32_t s = first; s < end; s++) {
        const struct place *scope_from = inside(from, from != NULL && s == from->scope && !starts_scope(*from));
        const struct place *scope_to = inside(to, to != NULL && s == to->scope);
        scopes[made] = range_of_scope(r->scopes[s], scope_from, scope_to);
        if (scopes[made] == NULL)
            break;
        made++;
    }
    if (made == end - first)
        return resource_with_scopes(r, scopes, made);
    for (uint32_t i = 0; i < made; i++)
        scope_unref(&scopes[i]);
    return NULL;
}

static struct resource *range_of_resource(struct resource *r, const struct place *from, const struct place *to)
{
    if (from == NULL && to == NULL)
        return resource_ref(r);
    struct scope **scopes = mem_try_array(r->scope_count, sizeof(struct scope *));
    struct resource *built = scopes == NULL ? NULL : build_resource(r, from, to, scopes);
    free(scopes);
    return built;
}

static struct batch *build_batch(struct batch *b, struct place from, struct place to, struct resource **list)
{
    uint32_t end = to.resource + (starts_resource(to) ? 0 : 1), made = 0;
    for (uint32_t r = from.resource; r < end; r++) {
        const struct place *resource_from = inside(&from, r == from.resource && !starts_resource(from));
        const struct place *resource_to = inside(&to, r == to.resource);
        list[made] = range_of_resource(b->resources[r], resource_from, resource_to);
        if (list[made] == NULL)
            break;
        made++;
    }
    if (made == end - from.resource)
        return batch_create(dictionary_ref(b->dictionary), list, made);
    for (uint32_t i = 0; i < made; i++)
        resource_unref(&list[i]);
    return NULL;
}

struct batch *batch_range_between(struct batch *b, struct place from, struct place to)
{
    struct resource **list = mem_try_array((size_t)to.resource - from.resource + 1, sizeof(struct resource *));
    struct batch *part = list == NULL ? NULL : build_batch(b, from, to, list);
    free(list);
    return part;
}
