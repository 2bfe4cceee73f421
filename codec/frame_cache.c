// SPDX-License-Identifier: Apache-2.0
#include "codec/frame_cache.h"

#include "base/hash.h"
#include "base/mem.h"

void frame_cache_fini(struct frame_cache *c)
{
    index_table_fini(&c->index);
    free(c->frames);
    c->frames = NULL;
}

bool frame_cache_find(const struct frame_cache *c, struct bytes text, uint64_t *hash_out, uint32_t *location_out)
{
    const uint64_t hash = *hash_out = hash_bytes(text.data, text.len);
    uint32_t id;
    for (uint32_t s = index_table_start(&c->index, hash); index_table_next(&c->index, hash, &s, &id);
         index_table_skip(&c->index, &s)) {
        const struct known_frame *f = &c->frames[id];
        if (f->len == text.len && memcmp(f->text, text.data, text.len) == 0) {
            *location_out = f->location;
            return true;
        }
    }
    return false;
}

static bool has_room(struct frame_cache *c)
{
    void *frames = c->frames;
    c->no_memory |= !mem_try_grow(&frames, &c->capacity, (size_t)c->count + 1, sizeof *c->frames, UINT32_MAX - 1) ||
                    !index_table_reserve(&c->index);
    c->frames = frames;
    return !c->no_memory;
}

void frame_cache_put(struct frame_cache *c, struct bytes text, uint64_t hash, uint32_t location)
{
    uint32_t id;
    if (text.len > UINT32_MAX || !has_room(c))
        return;
    uint32_t slot = index_table_start(&c->index, hash);
    while (index_table_next(&c->index, hash, &slot, &id))
        index_table_skip(&c->index, &slot);
    index_table_insert(&c->index, hash, slot, c->count);
    c->frames[c->count++] = (struct known_frame){text.data, (uint32_t)text.len, location};
}
