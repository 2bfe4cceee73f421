// SPDX-License-Identifier: Apache-2.0
// Inside profile/: numbers for the distinct parts of a batch, so that shared ones are handled once.
#ifndef PROFILE_POINTER_MAP_H
#define PROFILE_POINTER_MAP_H

#include "base/index_table.h"

struct pointer_map {
    struct index_table index;
    void *keys; // const void *[], ids are positions
    size_t capacity;
    uint32_t count;
    const void *last; // neighbours share: most lookups end here
    uint32_t last_id;
};

// All zero is an empty map.
void pointer_map_fini(struct pointer_map *m);
// The number of key, counted from 0 in order of first appearance. False when out of memory.
bool pointer_map_put(struct pointer_map *m, const void *key, uint32_t *id_out, bool *is_new_out) MUST_USE;

#endif
