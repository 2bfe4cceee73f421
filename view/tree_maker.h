// SPDX-License-Identifier: Apache-2.0
// What a call tree is made with: functions and nodes are looked up, the rest is steps remembered to be quick.
#ifndef VIEW_TREE_MAKER_H
#define VIEW_TREE_MAKER_H

#include "base/index_table.h"
#include "view/call_tree.h"

enum { MARK_FOCUS = 1, MARK_IGNORE = 2 }; // what a function's name matches

// The functions of one location, outermost call first.
struct frame_run {
    uint32_t start, count; // in run_functions
    uint8_t marks;         // of all of them
};

// From a node over a run of functions to another node.
struct tree_step {
    uint32_t parent, run, node;
};

// Arrays of the kinds named, grown with mem_try_grow.
struct grown_array {
    void *items;
    size_t capacity;
};

struct tree_maker {
    struct call_tree *tree;
    const struct call_tree_options *options;
    struct err *e;
    struct grown_array functions, marks, nodes;    // struct call_function, uint8_t, struct call_node
    struct grown_array runs, run_functions, steps; // struct frame_run, uint32_t, struct tree_step
    uint32_t run_count, run_function_count, step_count;
    struct index_table function_table, name_table, node_table, step_table;
};

// All return false with *m->e set when memory or a limit is out.
bool tree_maker_init(struct tree_maker *m, struct call_tree *out, const struct call_tree_options *options,
                     struct err *e) MUST_USE;
void tree_maker_fini(struct tree_maker *m);
bool tree_no_memory(struct tree_maker *m); // false

// The id of a function as it should be; its texts are copied, own and namesake are found.
bool tree_function(struct tree_maker *m, const struct call_function *wanted, uint32_t *id_out) MUST_USE;
// Runs: tree_run_add for each function, then tree_run_end.
bool tree_run_add(struct tree_maker *m, uint32_t function) MUST_USE;
bool tree_run_end(struct tree_maker *m, uint32_t start, uint32_t *run_out) MUST_USE;
bool tree_step(struct tree_maker *m, uint32_t parent, uint32_t run, uint32_t *node_out) MUST_USE;
// Totals from the values of the nodes themselves; hands all over to the tree.
void tree_maker_finish(struct tree_maker *m);

#endif
