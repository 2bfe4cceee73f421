// SPDX-License-Identifier: Apache-2.0
// Locations by the text their frame was read from, so that a frame that is there again costs one look-up.
#ifndef CODEC_FRAME_CACHE_H
#define CODEC_FRAME_CACHE_H

#include "base/bytes.h"
#include "base/index_table.h"

struct known_frame {
    const uint8_t *text;
    uint32_t len, location;
};

struct frame_cache {
    struct index_table index;
    struct known_frame *frames;
    size_t capacity;
    uint32_t count;
    bool no_memory;
};

void frame_cache_fini(struct frame_cache *c); // all zero is an empty one
// *hash_out is what put wants afterwards.
bool frame_cache_find(const struct frame_cache *c, struct bytes text, uint64_t *hash_out, uint32_t *location_out);
void frame_cache_put(struct frame_cache *c, struct bytes text, uint64_t hash, uint32_t location); // borrows text

#endif
