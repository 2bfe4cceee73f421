// SPDX-License-Identifier: Apache-2.0
#include "profile/pointer_map.h"

#include "base/hash.h"
#include "base/mem.h"

void pointer_map_fini(struct pointer_map *m)
{
    index_table_fini(&m->index);
    free(m->keys);
    *m = (struct pointer_map){0};
}

static bool find(const struct pointer_map *m, const void *key, uint64_t hash, uint32_t *slot_out, uint32_t *id_out)
{
    const void **keys = m->keys;
    uint32_t slot = index_table_start(&m->index, hash);
    while (index_table_next(&m->index, hash, &slot, id_out)) {
        if (keys[*id_out] == key)
            return true;
        index_table_skip(&m->index, &slot);
    }
    *slot_out = slot;
    return false;
}

bool pointer_map_put(struct pointer_map *m, const void *key, uint32_t *id_out, bool *is_new_out)
{
    *is_new_out = false;
    *id_out = m->last_id;
    if (m->count > 0 && m->last == key)
        return true;
    if (!index_table_reserve(&m->index) ||
        !mem_try_grow(&m->keys, &m->capacity, (size_t)m->count + 1, sizeof(void *), UINT32_MAX - 1))
        return false;
    uint64_t hash = hash_bytes(&key, sizeof key);
    uint32_t slot;
    if (!find(m, key, hash, &slot, id_out)) {
        *is_new_out = true;
        *id_out = m->count++;
        ((const void **)m->keys)[*id_out] = key;
        index_table_insert(&m->index, hash, slot, *id_out);
    }
    m->last = key;
    m->last_id = *id_out;
    return true;
}
