// SPDX-License-Identifier: Apache-2.0
#include "base/index_table.h"

#include "base/mem.h"

#include <string.h>

enum { FIRST_SLOTS = 64 };

void index_table_fini(struct index_table *t)
{
    free(t->slots);
    *t = (struct index_table){0};
}

static void move_slots(const struct index_table *from, struct index_table *to)
{
    for (uint32_t i = 0; i <= from->mask; i++) {
        struct index_slot s = from->slots[i];
        if (s.id_plus_one == 0)
            continue;
        uint32_t at = s.hash & to->mask;
        while (to->slots[at].id_plus_one != 0)
            at = (at + 1) & to->mask;
        to->slots[at] = s;
    }
}

static bool resize(struct index_table *t, size_t count)
{
    if (count > UINT32_MAX)
        return false;
    struct index_table grown = {.slots = mem_try_array(count, sizeof *t->slots), .mask = (uint32_t)count - 1};
    if (grown.slots == NULL)
        return false;
    memset(grown.slots, 0, count * sizeof *grown.slots);
    if (t->slots != NULL)
        move_slots(t, &grown);
    grown.used = t->used;
    free(t->slots);
    *t = grown;
    return true;
}

bool index_table_reserve(struct index_table *t)
{
    if (t->slots != NULL && t->used < index_table_fill(t->mask))
        return true;
    return resize(t, t->slots == NULL ? FIRST_SLOTS : 2 * ((size_t)t->mask + 1));
}

static size_t slots_for(uint32_t ids)
{
    size_t count = FIRST_SLOTS;
    while (index_table_fill((uint32_t)(count - 1)) < ids)
        count *= 2;
    return count;
}

size_t index_table_bytes(uint32_t ids)
{
    return slots_for(ids) * sizeof(struct index_slot);
}

bool index_table_expect(struct index_table *t, uint32_t ids)
{
    size_t count = slots_for(ids);
    return (t->slots != NULL && count <= (size_t)t->mask + 1) || resize(t, count);
}
