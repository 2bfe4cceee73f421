// SPDX-License-Identifier: Apache-2.0
#include "processors/known_keys.h"

#include "base/mem.h"

#include <string.h>

static uint64_t key_at(const struct known_keys *k, uint32_t id)
{
    return *(const uint64_t *)known_keys_item(k, id);
}

void known_keys_init(struct known_keys *k, size_t item_bytes, uint32_t most)
{
    *k = (struct known_keys){.item_bytes = item_bytes, .most = most, .count = 1, .capacity = 1};
    k->items = mem_alloc(item_bytes);
}

void known_keys_fini(struct known_keys *k)
{
    index_table_fini(&k->index);
    free(k->items);
}

static bool find(const struct known_keys *k, uint64_t key, uint32_t *slot_out, uint32_t *id_out)
{
    for (*slot_out = index_table_start(&k->index, key); index_table_next(&k->index, key, slot_out, id_out);
         index_table_skip(&k->index, slot_out))
        if (key_at(k, *id_out) == key)
            return true;
    return false;
}

bool known_keys_find(const struct known_keys *k, uint64_t key, uint32_t *id_out)
{
    uint32_t slot;
    return find(k, key, &slot, id_out);
}

static void note(struct known_keys *k, uint64_t key, uint32_t id)
{
    uint32_t slot, other;
    find(k, key, &slot, &other); // where it would be
    index_table_insert(&k->index, key, slot, id);
}

uint32_t known_keys_add(struct known_keys *k, uint64_t key)
{
    if (known_keys_full(k) || !index_table_reserve(&k->index) ||
        !mem_try_grow(&k->items, &k->capacity, (size_t)k->count + 1, k->item_bytes, SIZE_MAX))
        return 0;
    const uint32_t id = k->count++;
    memset(known_keys_item(k, id), 0, k->item_bytes);
    *(uint64_t *)known_keys_item(k, id) = key;
    note(k, key, id);
    return id;
}

void known_keys_sweep(struct known_keys *k, bool (*stays)(void *arg, void *item), void *arg)
{
    const uint32_t count = k->count;
    index_table_fini(&k->index);
    k->count = 1;
    for (uint32_t i = 1; i < count; i++) {
        if (!stays(arg, known_keys_item(k, i)) || !index_table_reserve(&k->index))
            continue;
        memmove(known_keys_item(k, k->count), known_keys_item(k, i), k->item_bytes);
        note(k, key_at(k, k->count), k->count);
        k->count++;
    }
}
