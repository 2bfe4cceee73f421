// SPDX-License-Identifier: Apache-2.0
// Inside processors/: what is remembered of each of many keys (hashes of services, of tenants), of so many at most; further
// ones share item 0. Not thread-safe.
#ifndef PROCESSORS_KNOWN_KEYS_H
#define PROCESSORS_KNOWN_KEYS_H

#include "base/index_table.h"

struct known_keys {
    size_t item_bytes;
    uint32_t most;  // keys that are told apart
    uint32_t count; // of items, item 0 included
    struct index_table index;
    void *items; // each begins with its key, a uint64_t
    size_t capacity;
};

// Item 0 is all zero.
void known_keys_init(struct known_keys *k, size_t item_bytes, uint32_t most);
void known_keys_fini(struct known_keys *k);

// Until the next call of add or sweep.
static inline void *known_keys_item(const struct known_keys *k, uint32_t id)
{
    return (char *)k->items + id * k->item_bytes;
}

static inline bool known_keys_full(const struct known_keys *k)
{
    return k->count > k->most;
}

bool known_keys_find(const struct known_keys *k, uint64_t key, uint32_t *id_out);
// Of a key that is not found: its new item, all zero but for the key; 0 where there is no room, neither by number nor of
// memory.
uint32_t known_keys_add(struct known_keys *k, uint64_t key);
// Forgets those that `stays` says no to; item 0 is not asked for.
void known_keys_sweep(struct known_keys *k, bool (*stays)(void *arg, void *item), void *arg);

#endif
