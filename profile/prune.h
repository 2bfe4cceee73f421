// SPDX-License-Identifier: Apache-2.0
// What of a dictionary the resources of a batch reference, and the numbers those items get when only they
// are written. Linear in the batch.
//
// A mapping that no location of the whole dictionary uses is kept: pprof lists such mappings (the first is
// the main binary) and a decoder put it there on purpose. A mapping whose locations are all pruned goes.
#ifndef PROFILE_PRUNE_H
#define PROFILE_PRUNE_H

#include "base/err.h"
#include "profile/batch.h"

// new_id[old] is the number in the pruned table, PRUNED if not referenced; new_id[0] is 0. NULL = every
// item is kept under its own number (the usual case costs no table).
#define PRUNED UINT32_MAX

struct prune_table {
    uint32_t *new_ids;
    uint32_t kept; // items kept, element 0 included
};

struct prune {
    struct prune_table strings, mappings, locations, functions, links, attributes, stacks;
};

// ERR_MEMORY only. Strings of resource and scope attributes are no references: they are written in place.
enum err_code prune_init(struct prune *p, const struct batch *b, struct err *e) MUST_USE;
void prune_fini(struct prune *p);

static inline bool prune_keeps(const struct prune_table *t, uint32_t old)
{
    return t->new_ids == NULL || t->new_ids[old] != PRUNED;
}

static inline uint32_t prune_id(const struct prune_table *t, uint32_t old)
{
    return t->new_ids == NULL ? old : t->new_ids[old];
}

#endif
