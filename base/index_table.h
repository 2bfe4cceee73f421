// SPDX-License-Identifier: Apache-2.0
// Open addressing from a hash to a u32 id; the items themselves live with the owner, who compares them.
#ifndef BASE_INDEX_TABLE_H
#define BASE_INDEX_TABLE_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_slot {
    uint32_t hash;
    uint32_t id_plus_one; // 0 = free
};

struct index_table {
    struct index_slot *slots;
    uint32_t mask; // slot count - 1; 0 = nothing allocated yet
    uint32_t used;
};

void index_table_fini(struct index_table *t);

// A table is filled to two thirds at most: runs are short, and smaller tables are in nearer caches.
static inline uint32_t index_table_fill(uint32_t mask)
{
    return mask - mask / 3;
}

// Makes sure one more id fits; false when memory is out. Call before index_table_start + insert.
bool index_table_reserve(struct index_table *t) MUST_USE;
// The same for `ids` ids in all, sized once instead of growing there.
bool index_table_expect(struct index_table *t, uint32_t ids) MUST_USE;
// What `ids` ids take, in bytes.
size_t index_table_bytes(uint32_t ids);

// Usage: for (uint32_t s = index_table_start(t, h); index_table_next(t, h, &s, &id); index_table_skip(t, &s))
// compare id; when the loop ends, s is the free slot for index_table_insert. Looking up without reserving is
// fine: an empty table has nothing.
static inline uint32_t index_table_start(const struct index_table *t, uint64_t hash)
{
    return (uint32_t)(hash >> 32) & t->mask;
}

static inline bool index_table_next(const struct index_table *t, uint64_t hash, uint32_t *slot, uint32_t *id_out)
{
    uint32_t tag = (uint32_t)(hash >> 32);
    if (t->slots == NULL)
        return false;
    for (;; *slot = (*slot + 1) & t->mask) {
        struct index_slot s = t->slots[*slot];
        if (s.id_plus_one == 0)
            return false;
        if (s.hash == tag) {
            *id_out = s.id_plus_one - 1;
            return true;
        }
    }
}

// After a mismatch of the id just given: go on with the next slot.
static inline void index_table_skip(const struct index_table *t, uint32_t *slot)
{
    *slot = (*slot + 1) & t->mask;
}

static inline void index_table_insert(struct index_table *t, uint64_t hash, uint32_t slot, uint32_t id)
{
    t->slots[slot] = (struct index_slot){(uint32_t)(hash >> 32), id + 1};
    t->used++;
}

#endif
