// SPDX-License-Identifier: Apache-2.0
// Joining, selecting and splitting batches: linear in what is touched; no whole dictionary is ever copied
// into parts (select and split share it; pruning happens once, when encoding, see prune.h).
#ifndef PROFILE_MERGE_H
#define PROFILE_MERGE_H

#include "profile/builder.h"

// Adds every resource of `from` to the builder, its dictionary items interned and all ids mapped.
// A failure sticks in the builder. Columns shared by several profiles stay shared.
void builder_add_batch(struct builder *b, const struct batch *from);

// One batch with the resources of all, in order. Inputs keep their references. Batches that share one
// dictionary (parts of a split) are joined without touching it.
enum err_code batch_merge(struct batch *const *batches, size_t count, struct batch **out, struct err *e) MUST_USE;

// Selecting and splitting: a profile of which some samples go loses its original_payload, too; it would tell
// another story.

// The samples for which keep(arg, ...) is true. Profiles, scopes and resources that lose all of their
// samples go too; those that had none before stay. A batch that does not change is returned as another
// reference to itself; *out is NULL (and ERR_OK) when nothing is left.
struct sample_position {
    uint32_t resource, scope, profile, sample;
};
enum err_code batch_select(struct batch *b, bool (*keep)(void *arg, const struct batch *, struct sample_position),
                           void *arg, struct batch **out, struct err *e) MUST_USE;

// The profiles for which keep(arg, ...) is true, whole, also those without samples; else the same.
struct profile_position {
    uint32_t resource, scope, profile;
};
enum err_code batch_select_profiles(struct batch *b,
                                    bool (*keep)(void *arg, const struct batch *, struct profile_position), void *arg,
                                    struct batch **out, struct err *e) MUST_USE;

// A part with only the resources [first, first + count).
enum err_code batch_select_resources(struct batch *b, uint32_t first, uint32_t count, struct batch **out,
                                     struct err *e) MUST_USE;

// Cuts b into two batches of about half its samples, at the highest level that can be cut: between
// resources, then scopes, then profiles, then samples. ERR_LIMIT when b has a single sample or none.
enum err_code batch_split_half(struct batch *b, struct batch **first_out, struct batch **second_out,
                               struct err *e) MUST_USE;

// What is in front of a profile of b, and the rest from it on, which is not nothing.
enum err_code batch_split_at(struct batch *b, struct profile_position at, struct batch **first_out,
                             struct batch **second_out, struct err *e) MUST_USE;

// Gives *b, which may be a part of something larger, a dictionary with nothing but what it needs.
enum err_code batch_own_dictionary(struct batch **b, struct err *e) MUST_USE;

// Parts of at most max_samples samples each (> 0), in order. parts_out is malloc'ed, the caller unrefs each.
enum err_code batch_split(struct batch *b, uint64_t max_samples, struct batch ***parts_out, size_t *count_out,
                          struct err *e) MUST_USE;

#endif
