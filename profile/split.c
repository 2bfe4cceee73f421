// SPDX-License-Identifier: Apache-2.0
#include "profile/merge.h"

#include "base/mem.h"
#include "profile/parts.h"
#include "profile/range.h"

#include <inttypes.h>

// Neighbouring profiles of one scope that share columns: better not torn apart.
struct group {
    uint32_t resource, scope, profile, count;
    uint32_t samples; // of each profile
};

struct group_list {
    void *items; // struct group[]
    size_t count, capacity;
};

static uint64_t group_size(const struct group *g)
{
    return (uint64_t)g->samples * g->count;
}

static bool add_profile(struct group_list *l, const struct scope *s, uint32_t resource, uint32_t scope,
                        uint32_t profile)
{
    struct group *groups = l->items;
    if (profile > 0 && s->profiles[profile].columns == s->profiles[profile - 1].columns) {
        groups[l->count - 1].count++;
        return true;
    }
    if (!mem_try_grow(&l->items, &l->capacity, l->count + 1, sizeof(struct group), SIZE_MAX))
        return false;
    groups = l->items;
    groups[l->count++] = (struct group){resource, scope, profile, 1, s->profiles[profile].columns->sample_count};
    return true;
}

static bool list_groups(struct group_list *l, const struct batch *b)
{
    for (uint32_t r = 0; r < b->resource_count; r++) {
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++) {
            const struct scope *scope = b->resources[r]->scopes[s];
            for (uint32_t p = 0; p < scope->profile_count; p++) {
                if (!add_profile(l, scope, r, s, p))
                    return false;
            }
        }
    }
    return true;
}

enum level { LEVEL_RESOURCE, LEVEL_SCOPE, LEVEL_PROFILE, LEVELS };

static enum level level_before(const struct group *g)
{
    if (g[0].resource != g[-1].resource)
        return LEVEL_RESOURCE;
    return g[0].scope != g[-1].scope ? LEVEL_SCOPE : LEVEL_PROFILE;
}

// In front of a group, at the highest level that this is a boundary of.
static struct place place_before(const struct group *g)
{
    switch (level_before(g)) {
    case LEVEL_RESOURCE:
        return (struct place){.resource = g->resource};
    case LEVEL_SCOPE:
        return (struct place){.resource = g->resource, .scope = g->scope};
    default:
        return (struct place){.resource = g->resource, .scope = g->scope, .profile = g->profile};
    }
}

static struct place place_in(const struct group *g, uint32_t sample)
{
    return (struct place){g->resource, g->scope, g->profile, g->count, sample};
}

// Per level the boundary nearest to the middle: samples before it, and the group behind it.
struct boundary {
    const struct group *group; // NULL = none with samples on both sides
    uint64_t before;
};

struct halving {
    uint64_t total;
    struct boundary best[LEVELS];
    const struct group *middle; // the group with the middle sample
    uint64_t before_middle;
};

static uint64_t smaller_side(uint64_t before, uint64_t total)
{
    return before < total - before ? before : total - before;
}

static void consider(struct halving *h, const struct group *g, uint64_t before, bool is_first)
{
    if (before <= h->total / 2) {
        if (group_size(g) > 0) {
            h->middle = g;
            h->before_middle = before;
        }
    }
    if (is_first || before == 0 || before == h->total)
        return;
    struct boundary *best = &h->best[level_before(g)];
    if (best->group == NULL || smaller_side(before, h->total) > smaller_side(best->before, h->total))
        *best = (struct boundary){g, before};
}

static struct halving halve(const struct group_list *l, uint64_t total)
{
    struct halving h = {.total = total};
    const struct group *groups = l->items;
    uint64_t before = 0;
    for (size_t i = 0; i < l->count; i++) {
        consider(&h, &groups[i], before, i == 0);
        before += group_size(&groups[i]);
    }
    return h;
}

static const struct boundary *nearest_of_all(const struct halving *h)
{
    const struct boundary *best = NULL;
    for (int level = 0; level < LEVELS; level++) {
        const struct boundary *b = &h->best[level];
        if (b->group != NULL &&
            (best == NULL || smaller_side(b->before, h->total) > smaller_side(best->before, h->total)))
            best = b;
    }
    return best;
}

// `wanted` of `parts` parts, but neither none nor all.
static uint32_t inner(uint64_t wanted, uint32_t parts)
{
    return wanted < 1 ? 1 : wanted > parts - 1 ? parts - 1 : (uint32_t)wanted;
}

static struct place middle_of_batch(const struct halving *h)
{
    // A boundary is near enough to half if it leaves a quarter on the smaller side.
    for (int level = 0; level < LEVELS; level++) {
        const struct boundary *b = &h->best[level];
        if (b->group != NULL && smaller_side(b->before, h->total) >= (h->total + 3) / 4)
            return place_before(b->group);
    }
    const struct group *g = h->middle;
    CHECK(g != NULL); // there are samples, so there is one in the middle
    uint64_t wanted = h->total / 2 - h->before_middle;
    if (g->samples > 1)
        return place_in(g, inner(wanted / g->count, g->samples));
    const struct boundary *b = nearest_of_all(h);
    if (b != NULL)
        return place_before(b->group);
    return (struct place){.resource = g->resource, .scope = g->scope, .profile = g->profile + inner(wanted, g->count)};
}

static enum err_code cut_in_two(struct batch *b, struct place at, struct batch **first_out, struct batch **second_out,
                                struct err *e)
{
    *first_out = batch_range_between(b, (struct place){0}, at);
    *second_out = batch_range_between(b, at, (struct place){.resource = b->resource_count});
    if (*first_out != NULL && *second_out != NULL)
        return ERR_OK;
    batch_unref(first_out);
    batch_unref(second_out);
    return parts_no_memory(e);
}

enum err_code batch_split_half(struct batch *b, struct batch **first_out, struct batch **second_out, struct err *e)
{
    *first_out = *second_out = NULL;
    if (b->sample_count <= 1)
        return err_set(e, ERR_LIMIT, "a batch of %" PRIu64 " samples cannot be split", b->sample_count);
    struct group_list groups = {0};
    enum err_code code;
    if (list_groups(&groups, b)) {
        struct halving h = halve(&groups, b->sample_count);
        code = cut_in_two(b, middle_of_batch(&h), first_out, second_out, e);
    } else {
        code = parts_no_memory(e);
    }
    free(groups.items);
    return code;
}

enum err_code batch_split_at(struct batch *b, struct profile_position at, struct batch **first_out,
                             struct batch **second_out, struct err *e)
{
    CHECK(at.resource < b->resource_count);
    return cut_in_two(b, (struct place){.resource = at.resource, .scope = at.scope, .profile = at.profile}, first_out,
                      second_out, e);
}

enum err_code batch_own_dictionary(struct batch **b, struct err *e)
{
    struct batch *own;
    struct builder *builder = builder_create(0);
    builder_add_batch(builder, *b);
    enum err_code rc = builder_finish(builder, &own, e);
    builder_destroy(&builder);
    if (rc != ERR_OK)
        return rc;
    batch_unref(b);
    *b = own;
    return ERR_OK;
}

// Cutting into many: groups are laid into parts one after the other.
struct packer {
    uint64_t max_samples, room; // left in the open part
    void *places;               // struct place[]: where each part but the first begins
    size_t count, capacity;
};

static bool cut_at(struct packer *p, struct place at)
{
    if (!mem_try_grow(&p->places, &p->capacity, p->count + 1, sizeof at, SIZE_MAX))
        return false;
    ((struct place *)p->places)[p->count++] = at;
    p->room = p->max_samples;
    return true;
}

static bool pack_pieces(struct packer *p, const struct group *g)
{
    uint32_t count = g->count;
    uint64_t piece = p->max_samples / count, start = piece;
    for (; start < g->samples; start += piece) {
        if (!cut_at(p, place_in(g, (uint32_t)start)))
            return false;
    }
    p->room -= (g->samples - (start - piece)) * count;
    return true;
}

// More sample types than samples allowed: profile by profile.
static bool pack_profiles(struct packer *p, const struct group *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        struct group one = {g->resource, g->scope, g->profile + i, 1, g->samples};
        if (p->room < p->max_samples && one.samples > p->room) {
            struct place at = {.resource = g->resource, .scope = g->scope, .profile = one.profile};
            if (!cut_at(p, at))
                return false;
        }
        if (one.samples <= p->room)
            p->room -= one.samples;
        else if (!pack_pieces(p, &one))
            return false;
    }
    return true;
}

static bool pack_group(struct packer *p, const struct group *g)
{
    if (group_size(g) <= p->room) {
        p->room -= group_size(g);
        return true;
    }
    if (p->room < p->max_samples && !cut_at(p, place_before(g)))
        return false;
    if (g->count > p->max_samples)
        return pack_profiles(p, g);
    if (group_size(g) <= p->max_samples) {
        p->room -= group_size(g);
        return true;
    }
    return pack_pieces(p, g);
}

static bool pack(struct packer *p, const struct batch *b)
{
    struct group_list groups = {0};
    bool ok = list_groups(&groups, b);
    for (size_t i = 0; i < groups.count && ok; i++)
        ok = pack_group(p, (const struct group *)groups.items + i);
    free(groups.items);
    return ok;
}

static enum err_code make_parts(struct batch *b, const struct packer *p, struct batch ***parts_out, size_t *count_out,
                                struct err *e)
{
    struct batch **parts = mem_try_array(p->count + 1, sizeof(struct batch *));
    if (parts == NULL)
        return parts_no_memory(e);
    const struct place *places = p->places;
    struct place from = {0}, end = {.resource = b->resource_count};
    size_t made = 0;
    for (; made <= p->count; made++) {
        struct place to = made < p->count ? places[made] : end;
        parts[made] = p->count == 0 ? batch_ref(b) : batch_range_between(b, from, to);
        if (parts[made] == NULL)
            break;
        from = to;
    }
    if (made == p->count + 1) {
        *parts_out = parts;
        *count_out = made;
        return ERR_OK;
    }
    while (made > 0)
        batch_unref(&parts[--made]);
    free(parts);
    return parts_no_memory(e);
}

enum err_code batch_split(struct batch *b, uint64_t max_samples, struct batch ***parts_out, size_t *count_out,
                          struct err *e)
{
    CHECK(max_samples > 0);
    *parts_out = NULL;
    *count_out = 0;
    struct packer p = {.max_samples = max_samples, .room = max_samples};
    enum err_code code = pack(&p, b) ? make_parts(b, &p, parts_out, count_out, e) : parts_no_memory(e);
    free(p.places);
    return code;
}
