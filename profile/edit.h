// SPDX-License-Identifier: Apache-2.0
// Copy on write: each function gives a new batch that shares everything but the part that changes.
#ifndef PROFILE_EDIT_H
#define PROFILE_EDIT_H

#include "base/err.h"
#include "profile/batch.h"

// `change` gets a private copy of each profile's header and returns true if it changed it. Takes over the reference in
// *b and puts the new batch there (the same one if nothing changed); on failure *b is unchanged. So do all here.
enum err_code batch_change_profiles(struct batch **b, bool (*change)(void *arg, struct profile *), void *arg,
                                    struct err *e) MUST_USE;

// Attributes of resources, or of the scopes of each resource.
struct part_attributes {
    const struct key_value *list;
    uint32_t count;
    bool dropped;
    struct bytes name; // of a scope; another one may be put here, too, if the batch has no origin
};
// `change` is called for each and finds its attributes in *part. It leaves them, or puts another list there (borrowed until
// it is called again), or, of resources alone, sets dropped: *b is NULL when all are.
struct part_attributes_change {
    bool of_scopes;
    enum err_code (*change)(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part, struct err *e);
    void *arg;
};
enum err_code batch_change_part_attributes(struct batch **b, const struct part_attributes_change *c,
                                           struct err *e) MUST_USE;

// Attributes of profiles and samples lie in the dictionary as sets, with units.
struct unit_attribute {
    struct bytes key, unit;
    struct value value;
};

// The members of a set in *list, which grows (free() it); false when out of memory.
bool attribute_set_list(const struct dictionary *d, uint32_t set, struct unit_attribute **list,
                        size_t *capacity) MUST_USE;

enum attribute_level { LEVEL_PROFILE, LEVEL_SAMPLE };

// Changes the attribute sets that the profiles, or the samples, of a batch use. `change` is called once for each pair of
// resource and set in use (so its cost does not grow with the samples), set 0 included. It returns the new list in *out
// and *count_out (borrowed until it is called again; unique keys), *out == list for no change.
struct attribute_sets_change {
    enum attribute_level level;
    enum err_code (*change)(void *arg, uint32_t resource, const struct unit_attribute *list, uint32_t count,
                            const struct unit_attribute **out, uint32_t *count_out, struct err *e);
    void *arg;
    // NULL, or asked before the first profile of each scope: false leaves the scope's profiles as they are. With it, change
    // is called for each pair of scope and set in use: its answers may depend on the scope asked for last.
    bool (*scope)(void *arg, uint32_t resource, uint32_t scope);
};
// The dictionary's tables that grow are copied, the others and all texts are shared with the old one. Profiles that share
// columns share them afterwards; one that changes loses its original payload, which would tell the old story.
enum err_code batch_change_attribute_sets(struct batch **b, const struct attribute_sets_change *c,
                                          struct err *e) MUST_USE;

#endif
