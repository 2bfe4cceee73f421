// SPDX-License-Identifier: Apache-2.0
// Which range holds an address. Ranges may overlap; memory is cut at all their ends, and each piece given to the first
// range that covers it. Pieces that have an owner are jumped over, so that n ranges cost n log n whatever they are.
#include "base/mem.h"
#include "codec/legacy.h"

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// The last i with bounds[i] <= address; there must be one.
static size_t piece_of(const struct legacy_ranges *r, uint64_t address)
{
    size_t low = 0, high = r->count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (r->bounds[middle] <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// The first piece from i on without owner; next[] is shortened on the way.
static size_t next_free(size_t *next, size_t i)
{
    while (next[i] != i) {
        next[i] = next[next[i]];
        i = next[i];
    }
    return i;
}

static void give(struct legacy_ranges *r, size_t *next, const struct legacy_range *range, uint32_t owner)
{
    const size_t end = piece_of(r, range->limit);
    for (size_t i = next_free(next, piece_of(r, range->start)); i < end; i = next_free(next, i)) {
        r->owners[i] = owner;
        next[i] = i + 1;
    }
}

static void collect_bounds(struct legacy_ranges *r, const struct legacy_range *ranges, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].start >= ranges[i].limit)
            continue;
        r->bounds[n++] = ranges[i].start;
        r->bounds[n++] = ranges[i].limit;
    }
    if (n > 0)
        qsort(r->bounds, n, sizeof *r->bounds, compare);
    for (size_t i = 0; i < n; i++)
        if (r->count == 0 || r->bounds[r->count - 1] != r->bounds[i])
            r->bounds[r->count++] = r->bounds[i];
}

bool legacy_ranges_build(struct legacy_ranges *r, const struct legacy_range *ranges, size_t count)
{
    *r = (struct legacy_ranges){0};
    r->bounds = mem_try_array(2 * count + 1, sizeof *r->bounds);
    r->owners = mem_try_array(2 * count + 1, sizeof *r->owners);
    size_t *next = mem_try_array(2 * count + 1, sizeof *next);
    if (r->bounds == NULL || r->owners == NULL || next == NULL) {
        free(next);
        return false;
    }
    collect_bounds(r, ranges, count);
    for (size_t i = 0; i <= r->count; i++) {
        r->owners[i] = LEGACY_NONE;
        next[i] = i;
    }
    for (size_t i = 0; i < count; i++)
        if (ranges[i].start < ranges[i].limit)
            give(r, next, &ranges[i], (uint32_t)i);
    free(next);
    return true;
}

void legacy_ranges_fini(struct legacy_ranges *r)
{
    free(r->bounds);
    free(r->owners);
    *r = (struct legacy_ranges){0};
}

uint32_t legacy_ranges_find(const struct legacy_ranges *r, uint64_t address)
{
    if (r->count == 0 || address < r->bounds[0])
        return LEGACY_NONE;
    return r->owners[piece_of(r, address)];
}
