// SPDX-License-Identifier: Apache-2.0
// The call tree of one sample type of one batch, or of two that are compared: what every view for people is made
// from. Root first; inlined calls are frames of their own. Equal paths of functions are one node. What pprof would not
// show for drop_frames and keep_frames of a profile is left out.
#ifndef VIEW_CALL_TREE_H
#define VIEW_CALL_TREE_H

#include "base/err.h"
#include "base/regex.h"
#include "profile/batch.h"

enum { CALL_SIDES = 2 }; // before, after; a tree of one batch uses side 0 only

// Functions differ by name and file, by name and module where the file is unknown. Tables for people add up those of
// one name, as pprof does.
struct call_function {
    struct bytes name;   // what a person reads; never empty: "[libc.so.6]" or "[unknown]" where there is no function
    struct bytes file;   // of the source; len 0 = unknown
    struct bytes module; // file of the mapping; len 0 = unknown
    bool own;            // the user's own code by the rules of view/own_code.h
    uint32_t namesake;   // the first function of the same name: itself, mostly
};

struct call_node {
    uint32_t function, parent;          // parent of the root is itself
    uint32_t first_child, next_sibling; // 0 = none (node 0 is the root, no child of anyone)
    int64_t self[CALL_SIDES], total[CALL_SIDES];
};

struct call_tree {
    struct bytes sample_type, unit;
    int side_count;                  // 1 or 2
    struct call_function *functions; // function 0 is "all", that of the root alone
    struct call_node *nodes;         // node 0 is the root, its total the sum of all; parents stand before children
    uint32_t function_count, node_count;
    uint64_t samples;     // that were counted
    uint64_t cut_samples; // that focus and ignore left out
    uint32_t small_nodes; // that call_tree_trim put together, all below small_share of the whole
    double small_share;
    struct arena arena; // texts
};

struct call_tree_options {
    struct bytes sample_type;           // "cpu", or "cpu/nanoseconds"; len 0 = the default: that of the first profile
    const struct regex *focus, *ignore; // found in a function's name, anywhere on the stack; NULL = all, none
    const struct regex *own;            // instead of the built-in rules; NULL = those
    uint32_t max_nodes;                 // 0 = no limit; more is ERR_LIMIT
};

// batches: one, or two to compare (their sample types must be of one unit). The samples of every profile of the sample
// type are added up, whatever resource they are of. A sample type that is not there is ERR_INVALID naming those that are.
// Sums beyond int64 stay at its ends. *out is empty after a failure.
enum err_code call_tree_build(const struct batch *const *batches, int count, const struct call_tree_options *options,
                              struct call_tree *out, struct err *e) MUST_USE;
void call_tree_fini(struct call_tree *t); // also after a failure

// For each node its part of all values, from 0 to 1: of their absolute amounts, so that no child has more than its parent;
// of two sides, the mean of both.
void call_tree_weigh(const struct call_tree *t, double *weights_out);
// Makes a tree have at most max_nodes, at least 2: the children below some share of the whole become one, "[below 0.01 %]",
// at each parent that has any. A tree that fits stays as it is. Unchanged after a failure.
enum err_code call_tree_trim(struct call_tree *t, uint32_t max_nodes, struct err *e) MUST_USE;

// The different sample types of a batch in the order they appear: borrowed from it. At most max are told; returns how
// many there are (of those told only, when memory is out).
struct sample_type_name {
    struct bytes type, unit;
};
size_t batch_sample_types(const struct batch *b, struct sample_type_name *out, size_t max);

#endif
