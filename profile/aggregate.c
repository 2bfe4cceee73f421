// SPDX-License-Identifier: Apache-2.0
#include "profile/aggregate.h"

#include "base/hash.h"
#include "base/mem.h"
#include "profile/aggregate_rows.h"
#include "profile/parts.h"
#include "profile/regroup.h"

// Profiles of one kind in the scope at hand.
struct kind {
    uint32_t first, last, count; // of the members: places in the scope
};

struct aggregator {
    const struct batch *batch;
    const struct aggregate_rule *rule;
    struct rows rows;
    struct index_table index; // of kinds
    void *kinds, *next;       // struct kind[]; uint32_t[], the next member of the same kind for each profile
    void *members, *sums;     // const struct profile *[], of one kind; struct profile[], of the scope
    size_t kind_capacity, next_capacity, member_capacity, sum_capacity;
    uint32_t kind_count;
};

static uint64_t kind_hash(const struct profile *p)
{
    const uint64_t words[] = {p->sample_type.type, p->sample_type.unit, p->period_type.type,        p->period_type.unit,
                              (uint64_t)p->period, p->attribute_set,    p->dropped_attributes_count};
    return hash_bytes(words, sizeof words);
}

static bool same_type(struct value_type a, struct value_type b)
{
    return a.type == b.type && a.unit == b.unit;
}

static bool same_kind(const struct profile *a, const struct profile *b)
{
    return same_type(a->sample_type, b->sample_type) && same_type(a->period_type, b->period_type) &&
           a->period == b->period && a->attribute_set == b->attribute_set &&
           a->dropped_attributes_count == b->dropped_attributes_count;
}

static bool find_kind(struct aggregator *a, const struct scope *s, uint64_t hash, uint32_t place, uint32_t *slot_out)
{
    struct kind *kinds = a->kinds;
    uint32_t slot = index_table_start(&a->index, hash), id;
    for (; index_table_next(&a->index, hash, &slot, &id); index_table_skip(&a->index, &slot)) {
        if (!same_kind(&s->profiles[kinds[id].first], &s->profiles[place]))
            continue;
        ((uint32_t *)a->next)[kinds[id].last] = place;
        kinds[id].last = place;
        kinds[id].count++;
        return true;
    }
    *slot_out = slot;
    return false;
}

static bool add_profile(struct aggregator *a, const struct scope *s, uint32_t place)
{
    const struct profile *p = &s->profiles[place];
    bool sums = a->rule->sums == NULL || a->rule->sums(a->rule->arg, a->batch, p);
    uint64_t hash = kind_hash(p);
    uint32_t slot = 0;
    if (!index_table_reserve(&a->index) ||
        !mem_try_grow(&a->kinds, &a->kind_capacity, (size_t)a->kind_count + 1, sizeof(struct kind), UINT32_MAX - 1))
        return false;
    if (sums && find_kind(a, s, hash, place, &slot))
        return true;
    if (sums)
        index_table_insert(&a->index, hash, slot, a->kind_count);
    ((struct kind *)a->kinds)[a->kind_count++] = (struct kind){place, place, 1};
    return true;
}

static bool find_kinds(struct aggregator *a, const struct scope *s)
{
    index_table_fini(&a->index);
    a->index = (struct index_table){0};
    a->kind_count = 0;
    if (!mem_try_grow(&a->next, &a->next_capacity, s->profile_count, sizeof(uint32_t), UINT32_MAX))
        return false;
    for (uint32_t i = 0; i < s->profile_count; i++)
        if (!add_profile(a, s, i))
            return false;
    return true;
}

static bool sum_kind(struct aggregator *a, const struct scope *s, const struct kind *k, struct profile *out)
{
    if (k->count == 1) {
        *out = profile_share(&s->profiles[k->first]);
        return true;
    }
    if (!mem_try_grow(&a->members, &a->member_capacity, k->count, sizeof(struct profile *), UINT32_MAX))
        return false;
    const struct profile **members = a->members;
    for (uint32_t i = 0, place = k->first; i < k->count; i++, place = ((uint32_t *)a->next)[place])
        members[i] = &s->profiles[place];
    return rows_sum(&a->rows, members, k->count, out);
}

static void drop_sums(struct profile *sums, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        columns_unref(&sums[i].columns);
        observations_unref(&sums[i].observations);
    }
}

// One reference; s itself when there is nothing to sum.
static struct scope *sum_scope(struct aggregator *a, struct scope *s)
{
    if (!find_kinds(a, s))
        return NULL;
    if (a->kind_count == s->profile_count)
        return scope_ref(s);
    if (!mem_try_grow(&a->sums, &a->sum_capacity, a->kind_count, sizeof(struct profile), UINT32_MAX))
        return NULL;
    struct profile *sums = a->sums;
    for (uint32_t i = 0; i < a->kind_count; i++) {
        if (!sum_kind(a, s, (struct kind *)a->kinds + i, &sums[i])) {
            drop_sums(sums, i);
            return NULL;
        }
    }
    return scope_with_profiles(s, sums, a->kind_count);
}

static struct resource *sum_resource(struct aggregator *a, struct resource *r)
{
    struct scope **scopes = mem_try_array(r->scope_count, sizeof *scopes);
    uint32_t done = 0;
    bool changed = false;
    if (scopes == NULL)
        return NULL;
    for (; done < r->scope_count; done++) {
        scopes[done] = sum_scope(a, r->scopes[done]);
        if (scopes[done] == NULL)
            break;
        changed = changed || scopes[done] != r->scopes[done];
    }
    struct resource *sum = NULL;
    if (done == r->scope_count && changed) {
        sum = resource_with_scopes(r, scopes, done);
        done = 0; // they are taken over
    } else if (done == r->scope_count) {
        sum = resource_ref(r);
    }
    for (uint32_t i = 0; i < done; i++)
        scope_unref(&scopes[i]);
    free(scopes);
    return sum;
}

static struct batch *sum_batch(struct aggregator *a, const struct batch *b)
{
    struct resource **resources = mem_try_array(b->resource_count, sizeof *resources);
    uint32_t done = 0;
    if (resources == NULL)
        return NULL;
    for (; done < b->resource_count; done++)
        if ((resources[done] = sum_resource(a, b->resources[done])) == NULL)
            break;
    struct batch *sum = NULL;
    if (done == b->resource_count)
        sum = batch_create(dictionary_ref(b->dictionary), resources, done);
    else
        while (done-- > 0)
            resource_unref(&resources[done]);
    free(resources);
    return sum;
}

static void aggregator_fini(struct aggregator *a)
{
    rows_fini(&a->rows);
    index_table_fini(&a->index);
    free(a->kinds);
    free(a->next);
    free(a->members);
    free(a->sums);
}

static enum err_code stay(void *arg, struct regroup *g, struct regroup_case at, uint32_t *destination_out,
                          struct err *e)
{
    (void)arg;
    return regroup_stay(g, at.resource, destination_out, e);
}

enum err_code batch_aggregate(struct batch **b, const struct aggregate_rule *rule, struct err *e)
{
    const struct regroup_rule equal_ones = {.place = stay};
    struct batch *grouped = batch_ref(*b);
    enum err_code rc = batch_regroup(&grouped, &equal_ones, e);
    if (rc == ERR_OK) {
        struct aggregator a = {.batch = grouped, .rule = rule};
        struct batch *sum = sum_batch(&a, grouped);
        aggregator_fini(&a);
        rc = sum != NULL ? ERR_OK : parts_no_memory(e);
        if (sum != NULL) {
            batch_unref(b);
            *b = sum;
        }
    }
    batch_unref(&grouped);
    return rc;
}
