// SPDX-License-Identifier: Apache-2.0
#include "profile/aggregate_rows.h"

#include "base/hash.h"
#include "base/mem.h"
#include "profile/parts.h"

void rows_fini(struct rows *r)
{
    index_table_fini(&r->index);
    columns_unref(&r->columns);
    free(r->rows);
    free(r->row_of);
    free(r->placed);
    free(r->values);
    free(r->extras);
    *r = (struct rows){0};
}

// --- which row a sample belongs to ---

static struct row row_of_sample(const struct columns *c, uint32_t i)
{
    return (struct row){c->stacks[i], c->attribute_sets == NULL ? 0 : c->attribute_sets[i],
                        c->links == NULL ? 0 : c->links[i]};
}

static bool find_row(struct rows *r, struct row row, uint32_t *id_out)
{
    uint64_t hash = hash_bytes(&row, sizeof row);
    if (!index_table_reserve(&r->index))
        return false;
    uint32_t slot = index_table_start(&r->index, hash);
    for (; index_table_next(&r->index, hash, &slot, id_out); index_table_skip(&r->index, &slot))
        if (memcmp((struct row *)r->rows + *id_out, &row, sizeof row) == 0)
            return true;
    if (!mem_try_grow(&r->rows, &r->row_capacity, (size_t)r->count + 1, sizeof row, UINT32_MAX - 1))
        return false;
    *id_out = r->count++;
    ((struct row *)r->rows)[*id_out] = row;
    index_table_insert(&r->index, hash, slot, *id_out);
    return true;
}

static bool place_samples(struct rows *r, const struct columns *c, size_t *at)
{
    if (!mem_try_grow(&r->row_of, &r->row_of_capacity, *at + c->sample_count, sizeof(uint32_t), SIZE_MAX))
        return false;
    uint32_t *row_of = r->row_of;
    for (uint32_t i = 0; i < c->sample_count; i++)
        if (!find_row(r, row_of_sample(c, i), &row_of[(*at)++]))
            return false;
    return true;
}

static bool are_placed(const struct rows *r, const struct profile *const *profiles, size_t count)
{
    const struct columns **placed = r->placed;
    if (r->placed_count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (placed[i] != profiles[i]->columns)
            return false;
    return true;
}

static bool place(struct rows *r, const struct profile *const *profiles, size_t count)
{
    size_t at = 0;
    if (are_placed(r, profiles, count))
        return true;
    index_table_fini(&r->index);
    r->index = (struct index_table){0};
    columns_unref(&r->columns);
    r->count = 0;
    r->placed_count = 0;
    if (!mem_try_grow(&r->placed, &r->placed_capacity, count, sizeof(struct columns *), SIZE_MAX))
        return false;
    for (size_t i = 0; i < count; i++) {
        ((const struct columns **)r->placed)[i] = profiles[i]->columns;
        if (!place_samples(r, profiles[i]->columns, &at))
            return false;
    }
    r->placed_count = count;
    return true;
}

// --- values ---

static bool add_value(struct rows *r, uint32_t row, int64_t value)
{
    int64_t *sum = (int64_t *)r->values + row, more;
    if (!__builtin_add_overflow(*sum, value, &more)) {
        *sum = more;
        return true;
    }
    if (!mem_try_grow(&r->extras, &r->extra_capacity, (size_t)r->extra_count + 1, sizeof(struct extra_value),
                      UINT32_MAX - 1 - r->count))
        return false;
    ((struct extra_value *)r->extras)[r->extra_count++] = (struct extra_value){row, value};
    return true;
}

static bool add_sample(struct rows *r, uint32_t row, const struct observations *o, uint32_t sample)
{
    uint32_t start, count;
    observations_values(o, sample, &start, &count);
    if (count == 0) {
        observations_timestamps(o, sample, &start, &count);
        return add_value(r, row, count);
    }
    for (uint32_t i = 0; i < count; i++)
        if (!add_value(r, row, o->values[start + i]))
            return false;
    return true;
}

static bool add_values(struct rows *r, const struct profile *const *profiles, size_t count)
{
    const uint32_t *row_of = r->row_of;
    if (!mem_try_grow(&r->values, &r->value_capacity, r->count, sizeof(int64_t), UINT32_MAX))
        return false;
    if (r->count > 0)
        memset(r->values, 0, r->count * sizeof(int64_t));
    r->extra_count = 0;
    for (size_t p = 0; p < count; p++)
        for (uint32_t i = 0; i < profiles[p]->columns->sample_count; i++)
            if (!add_sample(r, *row_of++, profiles[p]->observations, i))
                return false;
    return true;
}

// --- the range in time ---

struct range {
    uint64_t first, last; // first > last: nothing is known
    uint64_t longest;     // of profiles that do not say when they began
};

static void widen(struct range *range, uint64_t from, uint64_t to)
{
    range->first = from < range->first ? from : range->first;
    range->last = to > range->last ? to : range->last;
}

static void widen_by_profile(struct range *range, const struct profile *p)
{
    const struct observations *o = p->observations;
    uint32_t timestamps = o->timestamps == NULL || o->sample_count == 0 ? 0 : o->timestamp_ends[o->sample_count - 1];
    uint64_t end;
    for (uint32_t i = 0; i < timestamps; i++)
        widen(range, o->timestamps[i], o->timestamps[i]);
    if (p->time_nanos == 0)
        range->longest = p->duration_nanos > range->longest ? p->duration_nanos : range->longest;
    else
        widen(range, p->time_nanos, __builtin_add_overflow(p->time_nanos, p->duration_nanos, &end) ? UINT64_MAX : end);
}

static void set_time(struct profile *p, const struct profile *const *profiles, size_t count)
{
    struct range range = {UINT64_MAX, 0, 0};
    for (size_t i = 0; i < count; i++)
        widen_by_profile(&range, profiles[i]);
    bool known = range.first <= range.last;
    uint64_t covered = known ? range.last - range.first : 0;
    p->time_nanos = known ? range.first : 0;
    p->duration_nanos = covered > range.longest ? covered : range.longest;
}

// --- the new profile ---

static const struct row *row_at(const struct rows *r, uint32_t i)
{
    const struct extra_value *extras = r->extras;
    return (const struct row *)r->rows + (i < r->count ? i : extras[i - r->count].row);
}

static uint32_t row_field(const struct row *row, size_t offset)
{
    uint32_t id;
    memcpy(&id, (const uint8_t *)row + offset, sizeof id);
    return id;
}

// One column; none if it is optional and all zero. False when out of memory.
static bool make_column(const struct rows *r, size_t offset, bool optional, struct columns *c, const uint32_t **out)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < r->count; i++)
        used |= row_field((const struct row *)r->rows + i, offset);
    if (c->sample_count == 0 || (optional && used == 0))
        return true;
    uint32_t *column = mem_try_array(c->sample_count, sizeof *column);
    for (uint32_t i = 0; column != NULL && i < c->sample_count; i++)
        column[i] = row_field(row_at(r, i), offset);
    *out = column;
    c->bytes += c->sample_count * sizeof *column;
    return column != NULL;
}

static struct columns *make_columns(const struct rows *r)
{
    struct columns *c = mem_try_alloc(sizeof *c);
    if (c == NULL)
        return NULL;
    *c = (struct columns){.refs = 1, .sample_count = r->count + r->extra_count, .bytes = sizeof *c};
    if (!make_column(r, offsetof(struct row, stack), false, c, &c->stacks) ||
        !make_column(r, offsetof(struct row, attribute_set), true, c, &c->attribute_sets) ||
        !make_column(r, offsetof(struct row, link), true, c, &c->links))
        columns_unref(&c);
    return c;
}

static struct columns *columns_of(struct rows *r)
{
    if (r->extra_count > 0)
        return make_columns(r);
    if (r->columns == NULL)
        r->columns = make_columns(r);
    return r->columns == NULL ? NULL : columns_ref(r->columns);
}

static struct observations *make_observations(const struct rows *r)
{
    uint32_t count = r->count + r->extra_count;
    struct observations *o = mem_try_alloc(sizeof *o);
    int64_t *values = mem_try_array(count, sizeof *values);
    if (o == NULL || values == NULL) {
        free(o);
        free(values);
        return NULL;
    }
    if (r->count > 0)
        memcpy(values, r->values, r->count * sizeof *values);
    for (uint32_t i = 0; i < r->extra_count; i++)
        values[r->count + i] = ((struct extra_value *)r->extras)[i].value;
    *o = (struct observations){
        .refs = 1, .sample_count = count, .values = values, .bytes = sizeof *o + count * sizeof *values};
    return o;
}

bool rows_sum(struct rows *r, const struct profile *const *profiles, size_t count, struct profile *sum_out)
{
    if (!place(r, profiles, count) || !add_values(r, profiles, count))
        return false;
    struct profile p = *profiles[0];
    p.columns = columns_of(r);
    p.observations = make_observations(r);
    if (p.columns == NULL || p.observations == NULL) {
        columns_unref(&p.columns);
        observations_unref(&p.observations);
        return false;
    }
    p.has_profile_id = false;
    memset(p.profile_id, 0, sizeof p.profile_id);
    profile_drop_payload(&p);
    set_time(&p, profiles, count);
    *sum_out = p;
    return true;
}
