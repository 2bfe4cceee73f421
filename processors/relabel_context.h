// SPDX-License-Identifier: Apache-2.0
// Inside processors/: what the scopes and profiles of a resource have in common, as labels that rules may read:
// __scope_name, __scope_version, __scope_attribute_NAME, __profile_attribute_NAME. What differs between two scopes or two
// profiles of the resource is not seen.
#ifndef PROCESSORS_RELABEL_CONTEXT_H
#define PROCESSORS_RELABEL_CONTEXT_H

#include "processors/relabel_view.h"

struct relabel_context {
    bool scope, profile;                            // what is to be seen
    struct label_list scope_labels, profile_labels; // of the resource at hand; the tag counts who has it
    struct arena arena;
    uint32_t *set_seen;         // per attribute set: the round in which it was last met
    uint32_t round;             // one for each resource that was loaded
    uint32_t resource_plus_one; // at hand; the user may forget it
};

void relabel_context_init(struct relabel_context *c, bool scope, bool profile);
void relabel_context_fini(struct relabel_context *c);
// Reads the resource; b is the same batch each time.
enum err_code relabel_context_load(struct relabel_context *c, const struct batch *b, uint32_t resource,
                                   struct err *e) MUST_USE;
// Adds the labels to what a view has loaded.
enum err_code relabel_context_add(struct relabel_context *c, struct relabel_view *v, struct err *e) MUST_USE;

#endif
