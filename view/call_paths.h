// SPDX-License-Identifier: Apache-2.0
// The stacks of batches as paths of functions: what call trees and function tables are both made from. Here it is
// decided which samples count, what a frame is called and which frames are dropped.
#ifndef VIEW_CALL_PATHS_H
#define VIEW_CALL_PATHS_H

#include "view/call_functions.h"

// One stack, or several that come to the same frames, with the sum of its samples.
struct call_path {
    const struct call_functions *functions;
    const uint32_t *runs; // of functions; leaf first
    uint32_t count;
    int side;
    int64_t value; // never 0
};

// False = stop; err is set.
typedef bool visit_path_fn(void *arg, const struct call_path *path, struct err *e);

// Calls visit for each path of one or two batches. *out gets all but the nodes; it is empty after a failure.
enum err_code call_paths_read(const struct batch *const *batches, int count, const struct call_tree_options *options,
                              visit_path_fn *visit, void *arg, struct call_tree *out, struct err *e) MUST_USE;

#endif
