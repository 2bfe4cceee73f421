// SPDX-License-Identifier: Apache-2.0
// Inside profile/: what regroup.c (samples), regroup_places.c (resources and scopes) share.
#ifndef PROFILE_REGROUP_INTERNAL_H
#define PROFILE_REGROUP_INTERNAL_H

#include "base/index_table.h"
#include "profile/parts.h"
#include "profile/regroup.h"

struct destination {
    const struct resource *like;
    const struct key_value *attributes, *sorted; // own ones of `like`, or in the arena; by key
    uint32_t attribute_count;
    uint64_t hash;
    uint32_t first_scope, last_scope; // 1 + index in scopes; 0 = none
    uint32_t scope_count;
    bool kept;              // also without scopes
    uint32_t cut, group;    // its group in the profile that is cut, if that is this one
    const struct scope *at; // the last scope at hand of which something came here, and what that is here
    uint32_t at_id;
};

struct new_scope {
    const struct scope *like;
    uint64_t hash;
    uint32_t destination, next; // next: 1 + index
    void *profiles;             // struct profile[], with their references
    size_t capacity;
    uint32_t count;
    bool changed; // has others than the first profiles of `like`, in order
};

struct group { // of samples of one profile
    uint32_t destination;
    uint32_t run_count;
    size_t run_start;
    struct columns *columns;
};

struct regroup {
    const struct batch *batch;
    const struct regroup_rule *rule;
    struct arena arena;
    void *sorted; // struct key_value[], of the last look-up
    size_t sorted_capacity;
    void *destinations, *scopes; // struct destination[], struct new_scope[]
    size_t destination_capacity, scope_capacity;
    uint32_t destination_count, scope_count;
    struct index_table destination_index, scope_index;
    size_t bytes; // of new resources and scopes

    // The case at hand: answers by sample set, as long as stamp is `part`.
    struct answer {
        uint32_t part, destination;
    } *answers;
    uint32_t part, resource, profile_set;
    const struct scope *scope; // at hand
    uint64_t scope_hash;
    bool scope_used;            // by a destination already: more of it are copies
    uint32_t stayed, stayed_to; // the last resource that was asked for as it is (counted from 1), and its destination

    // The profile at hand, and the one that was cut last: sample types that are cut alike share columns.
    void *placed, *cut_placed; // uint32_t[], destination of each sample
    size_t placed_capacity, cut_placed_capacity;
    const struct columns *cut_columns;
    void *groups, *runs; // struct group[], struct run[]
    size_t group_capacity, run_capacity;
    uint32_t group_count, cut;
    struct err *e;
};

// regroup_places.c. False: e is set.
void regroup_enter_scope(struct regroup *g, const struct scope *s);
bool regroup_keep_scope(struct regroup *g, uint32_t destination) MUST_USE; // the scope at hand, even if empty
// Adds a profile to it, taking its references over; `whole` is the one it is a copy of, NULL = it was cut.
bool regroup_put(struct regroup *g, uint32_t destination, const struct profile *p,
                 const struct profile *whole) MUST_USE;
bool regroup_seal(struct regroup *g, struct batch **b) MUST_USE;
void regroup_places_fini(struct regroup *g);

#endif
