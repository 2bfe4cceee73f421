// SPDX-License-Identifier: Apache-2.0
// Inside processors/: what the rules made of resources seen before. The same program sends the same resource again and
// again; it is looked up then, at a fraction of what the rules cost. Any thread.
#ifndef PROCESSORS_RELABEL_CACHE_H
#define PROCESSORS_RELABEL_CACHE_H

#include "profile/batch.h"

#include <pthread.h>

enum { CACHE_SLOTS = 1024, CACHE_ANSWER_BYTES = 8 << 10 }; // 8 MiB at most, usually a few hundred KiB

struct relabel_answer {
    _Atomic uint32_t refs;
    const struct key_value *attributes, *out; // what the rules were given, and made of it
    uint32_t count, out_count;
    bool kept, changed; // out is set only if both
    struct arena arena;
};

struct relabel_cache {
    pthread_mutex_t lock;
    struct cache_slot {
        uint64_t hash;                 // of what was asked for last; 0 = nothing
        struct relabel_answer *answer; // from the second time on
    } slots[CACHE_SLOTS];
};

void relabel_cache_init(struct relabel_cache *c);
void relabel_cache_fini(struct relabel_cache *c);

// One reference, or NULL. *wanted_out is set when an answer should be put there: not before the second time, so that
// resources that never come again cost no copy.
struct relabel_answer *relabel_cache_get(struct relabel_cache *c, const struct resource *r, uint64_t *hash_out,
                                         bool *wanted_out);
// Copies attributes and answer; does nothing when they are large or memory is out.
void relabel_cache_put(struct relabel_cache *c, uint64_t hash, const struct resource *r,
                       const struct relabel_answer *answer);
void relabel_answer_unref(struct relabel_answer **answer);

#endif
