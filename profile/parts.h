// SPDX-License-Identifier: Apache-2.0
// Inside profile/: new parts made from old ones, for select, split and edit. NULL always means out of memory.
#ifndef PROFILE_PARTS_H
#define PROFILE_PARTS_H

#include "base/err.h"
#include "profile/batch.h"

// A scope like s with other profiles. Their columns and observations are taken over in every case; names,
// attributes and payloads are copied.
struct scope *scope_with_profiles(const struct scope *s, const struct profile *profiles, uint32_t count) MUST_USE;
// The same profiles with other attributes (copied).
struct scope *scope_with_attributes(const struct scope *s, const struct key_value *attributes, uint32_t count) MUST_USE;

// A resource like r with other scopes (references taken over in every case) or other attributes (copied).
struct resource *resource_with_scopes(const struct resource *r, struct scope *const *scopes, uint32_t count) MUST_USE;
struct resource *resource_with_attributes(const struct resource *r, const struct key_value *attributes,
                                          uint32_t count) MUST_USE;

// A run of samples.
struct run {
    uint32_t start, count;
};

struct run_list {
    void *items; // struct run[]
    size_t capacity, count;
    uint32_t samples; // in all runs
};

bool run_list_add(struct run_list *l, uint32_t sample) MUST_USE; // ascending

// The samples of these runs alone. Columns that become all zero and ends that become needless go.
struct columns *columns_pick(const struct columns *c, const struct run *runs, size_t count) MUST_USE;
struct observations *observations_pick(const struct observations *o, const struct run *runs, size_t count) MUST_USE;

// A profile whose samples change loses its original payload: it would tell another story.
static inline void profile_drop_payload(struct profile *p)
{
    p->original_payload = p->original_payload_format = (struct bytes){NULL, 0};
}

static inline struct profile profile_share(const struct profile *p)
{
    columns_ref(p->columns);
    observations_ref(p->observations);
    return *p;
}

enum err_code parts_no_memory(struct err *e); // sets and returns ERR_MEMORY

#endif
