// SPDX-License-Identifier: Apache-2.0
// Copies of some samples of columns and observations, run by run.
#include "profile/parts.h"

#include "base/mem.h"

bool run_list_add(struct run_list *l, uint32_t sample)
{
    struct run *runs = l->items;
    if (l->count > 0 && runs[l->count - 1].start + runs[l->count - 1].count == sample) {
        runs[l->count - 1].count++;
        l->samples++;
        return true;
    }
    if (!mem_try_grow(&l->items, &l->capacity, l->count + 1, sizeof(struct run), UINT32_MAX))
        return false;
    ((struct run *)l->items)[l->count++] = (struct run){sample, 1};
    l->samples++;
    return true;
}

static uint32_t count_samples(const struct run *runs, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += runs[i].count;
    return sum;
}

static bool any_set(const uint32_t *column, const struct run *runs, size_t count)
{
    for (size_t r = 0; column != NULL && r < count; r++) {
        for (uint32_t i = 0; i < runs[r].count; i++) {
            if (column[runs[r].start + i] != 0)
                return true;
        }
    }
    return false;
}

static bool pick_column(const uint32_t *from, const struct run *runs, size_t count, uint32_t samples,
                        const uint32_t **column_out, size_t *bytes)
{
    uint32_t *column = mem_try_array(samples, sizeof *column);
    if (column == NULL)
        return false;
    *column_out = column;
    *bytes += samples * sizeof *column;
    for (size_t r = 0; r < count; r++) {
        memcpy(column, from + runs[r].start, runs[r].count * sizeof *column);
        column += runs[r].count;
    }
    return true;
}

static bool fill_columns(struct columns *to, const struct columns *from, const struct run *runs, size_t count)
{
    uint32_t n = to->sample_count;
    return (n == 0 || pick_column(from->stacks, runs, count, n, &to->stacks, &to->bytes)) &&
           (!any_set(from->attribute_sets, runs, count) ||
            pick_column(from->attribute_sets, runs, count, n, &to->attribute_sets, &to->bytes)) &&
           (!any_set(from->links, runs, count) || pick_column(from->links, runs, count, n, &to->links, &to->bytes));
}

struct columns *columns_pick(const struct columns *c, const struct run *runs, size_t count)
{
    struct columns *picked = mem_try_alloc(sizeof *picked);
    if (picked == NULL)
        return NULL;
    *picked = (struct columns){.refs = 1, .sample_count = count_samples(runs, count), .bytes = sizeof *picked};
    if (!fill_columns(picked, c, runs, count))
        columns_unref(&picked);
    return picked;
}

// Values or timestamps: 8 bytes each, either without ends (one each) or with.
struct list {
    const void *items;
    const uint32_t *ends;
};

static struct run run_of_items(const struct list *l, struct run samples)
{
    if (l->items == NULL || l->ends == NULL || samples.count == 0)
        return l->items == NULL ? (struct run){0, 0} : samples;
    uint32_t start = samples.start == 0 ? 0 : l->ends[samples.start - 1];
    return (struct run){start, l->ends[samples.start + samples.count - 1] - start};
}

static size_t count_items(const struct list *l, const struct run *runs, size_t count)
{
    size_t sum = 0;
    for (size_t r = 0; r < count; r++)
        sum += run_of_items(l, runs[r]).count;
    return sum;
}

static void copy_items(const struct list *l, const struct run *runs, size_t count, uint8_t *to)
{
    for (size_t r = 0; r < count; r++) {
        struct run items = run_of_items(l, runs[r]);
        memcpy(to, (const uint8_t *)l->items + items.start * sizeof(uint64_t), items.count * sizeof(uint64_t));
        to += items.count * sizeof(uint64_t);
    }
}

static void copy_ends(const struct list *l, const struct run *runs, size_t count, uint32_t *to)
{
    uint32_t end = 0;
    for (size_t r = 0; r < count; r++) {
        uint32_t before = run_of_items(l, runs[r]).start;
        for (uint32_t i = 0; i < runs[r].count; i++)
            *to++ = end + l->ends[runs[r].start + i] - before;
        end += run_of_items(l, runs[r]).count;
    }
}

static bool one_each(const uint32_t *ends, uint32_t samples)
{
    for (uint32_t i = 0; i < samples; i++) {
        if (ends[i] != i + 1)
            return false;
    }
    return true;
}

static bool pick_list(const struct list *from, const struct run *runs, size_t count, uint32_t samples,
                      const void **items_out, const uint32_t **ends_out, size_t *bytes)
{
    size_t item_count = count_items(from, runs, count);
    if (item_count == 0)
        return true;
    uint8_t *items = mem_try_array(item_count, sizeof(uint64_t));
    if (items == NULL)
        return false;
    copy_items(from, runs, count, items);
    *items_out = items;
    *bytes += item_count * sizeof(uint64_t);
    if (from->ends == NULL)
        return true;
    uint32_t *ends = mem_try_array(samples, sizeof *ends);
    if (ends == NULL)
        return false;
    copy_ends(from, runs, count, ends);
    *ends_out = ends;
    *bytes += samples * sizeof *ends;
    return true;
}

static bool fill_observations(struct observations *to, const struct observations *from, const struct run *runs,
                              size_t count)
{
    struct list values = {from->values, from->value_ends}, timestamps = {from->timestamps, from->timestamp_ends};
    const void *items = NULL;
    bool ok = pick_list(&values, runs, count, to->sample_count, &items, &to->value_ends, &to->bytes);
    to->values = items;
    items = NULL;
    ok = ok && pick_list(&timestamps, runs, count, to->sample_count, &items, &to->timestamp_ends, &to->bytes);
    to->timestamps = items;
    return ok;
}

static void drop_needless_ends(struct observations *o)
{
    if (o->value_ends == NULL || !one_each(o->value_ends, o->sample_count))
        return;
    free((void *)(uintptr_t)o->value_ends);
    o->value_ends = NULL;
    o->bytes -= o->sample_count * sizeof(uint32_t);
}

struct observations *observations_pick(const struct observations *o, const struct run *runs, size_t count)
{
    struct observations *picked = mem_try_alloc(sizeof *picked);
    if (picked == NULL)
        return NULL;
    *picked = (struct observations){.refs = 1, .sample_count = count_samples(runs, count), .bytes = sizeof *picked};
    if (fill_observations(picked, o, runs, count))
        drop_needless_ends(picked);
    else
        observations_unref(&picked);
    return picked;
}
