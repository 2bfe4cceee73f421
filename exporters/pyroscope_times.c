// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_times.h"

#include "base/hash.h"
#include "base/mem.h"

struct entry {
    uint64_t labels;
    int64_t nanos;
    int64_t next; // a time behind this run of taken ones, or within it
};

void pyroscope_times_init(struct pyroscope_times *t)
{
    *t = (struct pyroscope_times){.count = 0};
}

void pyroscope_times_fini(struct pyroscope_times *t)
{
    index_table_fini(&t->table);
    free(t->items);
}

// NULL: free. *slot_out is where it would be.
static struct entry *find(struct pyroscope_times *t, uint64_t labels, int64_t nanos, uint64_t hash, uint32_t *slot_out)
{
    struct entry *items = t->items;
    uint32_t id;
    *slot_out = index_table_start(&t->table, hash);
    for (; index_table_next(&t->table, hash, slot_out, &id); index_table_skip(&t->table, slot_out))
        if (items[id].labels == labels && items[id].nanos == nanos)
            return &items[id];
    return NULL;
}

static uint64_t hash_of(uint64_t labels, int64_t nanos)
{
    const uint64_t words[] = {labels, (uint64_t)nanos};
    return hash_bytes(words, sizeof words);
}

static bool make_room(struct pyroscope_times *t)
{
    return index_table_reserve(&t->table) &&
           mem_try_grow(&t->items, &t->capacity, t->count + 1, sizeof(struct entry), UINT32_MAX - 1);
}

bool pyroscope_times_take(struct pyroscope_times *t, uint64_t labels, int64_t *nanos)
{
    uint32_t slot;
    if (!make_room(t))
        return false;
    uint64_t hash = hash_of(labels, *nanos);
    struct entry *first = find(t, labels, *nanos, hash, &slot);
    for (struct entry *at = first; at != NULL; at = find(t, labels, *nanos, hash, &slot)) {
        *nanos = at->next;
        hash = hash_of(labels, *nanos);
    }
    if (first != NULL)
        first->next = *nanos + 1;
    ((struct entry *)t->items)[t->count] = (struct entry){labels, *nanos, *nanos + 1};
    index_table_insert(&t->table, hash, slot, (uint32_t)t->count++);
    return true;
}
