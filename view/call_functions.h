// SPDX-License-Identifier: Apache-2.0
// The functions of a call tree, each once, and what locations are: runs of them.
#ifndef VIEW_CALL_FUNCTIONS_H
#define VIEW_CALL_FUNCTIONS_H

#include "base/index_table.h"
#include "view/call_tree.h"

enum { MARK_FOCUS = 1, MARK_IGNORE = 2 }; // what a function's name matches

// The functions of one location, outermost call first; never none.
struct frame_run {
    uint32_t start, count; // in run_functions
    uint8_t marks;         // of all of them
};

// An array grown with mem_try_grow.
struct grown_array {
    void *items;
    size_t capacity;
};

struct call_functions {
    struct call_tree *tree; // has their count and texts
    const struct call_tree_options *options;
    struct err *e;
    struct grown_array functions, marks;    // struct call_function, uint8_t
    struct grown_array runs, run_functions; // struct frame_run, uint32_t
    uint32_t run_count, run_function_count;
    struct index_table function_table, name_table;
};

// All return false with *c->e set when memory is out.
bool call_functions_init(struct call_functions *c, struct call_tree *tree, const struct call_tree_options *options,
                         struct err *e) MUST_USE;
void call_functions_fini(struct call_functions *c);
bool call_functions_no_memory(struct call_functions *c); // false

// The id of a function as it should be; its texts are copied, own and namesake are found.
bool call_function_find(struct call_functions *c, const struct call_function *wanted, uint32_t *id_out) MUST_USE;
// Runs: call_run_add for each function, then call_run_end.
bool call_run_add(struct call_functions *c, uint32_t function) MUST_USE;
bool call_run_end(struct call_functions *c, uint32_t start, uint32_t *run_out) MUST_USE;

#endif
