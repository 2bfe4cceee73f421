// SPDX-License-Identifier: Apache-2.0
// Inside profile/: the walk over all profiles of a batch that edits share.
#ifndef PROFILE_EDIT_INTERNAL_H
#define PROFILE_EDIT_INTERNAL_H

#include "base/err.h"
#include "profile/batch.h"

// change gets a private copy of a profile's header with a reference to each of its parts, which it may replace, and sets
// *changed when it did something. False = it failed.
struct profile_walk {
    bool (*change)(void *arg, uint32_t resource, uint32_t scope, struct profile *p, bool *changed);
    void *arg;
};

// A reference to each resource, changed or not, malloc'ed; NULL when memory is out or change failed.
struct resource **batch_walk_profiles(const struct batch *b, const struct profile_walk *w, bool *changed_out) MUST_USE;
void resources_drop(struct resource **list, uint32_t count); // list may be NULL

// The same bytes or items in memory: equal, and known without a look at them. False says nothing.
static inline bool bytes_same_place(struct bytes a, struct bytes b)
{
    return a.data == b.data && a.len == b.len;
}
bool value_same_place(const struct value *a, const struct value *b);

// profile/origin.c: `to` comes from the same bytes as `from`, with changed attributes of resources or scopes.
void batch_keep_origin(struct batch *to, const struct batch *from);

// *b becomes a batch of these resources; the dictionary (NULL: unread) and the list are taken over in every case.
enum err_code batch_replace(struct batch **b, struct dictionary *dictionary, struct resource **resources,
                            uint32_t count, struct err *e) MUST_USE;

#endif
