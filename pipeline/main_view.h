// SPDX-License-Identifier: Apache-2.0
// What top, flamegraph, diff and show have in common: the files are read, then shown in one way.
#ifndef PIPELINE_MAIN_VIEW_H
#define PIPELINE_MAIN_VIEW_H

#include "pipeline/profile_input.h"
#include "view/call_tree.h"

struct view_options {
    struct input_options input; // first: see INPUT_OPTIONS
    struct option_values type, focus, ignore, own, by, rows, raw, output, to, title, layout;
};

// A command at work: one file, or two to compare.
struct view {
    const struct command_line *line;
    const struct view_options *o;
    struct batch *batches[CALL_SIDES];
    struct decode_report reports[CALL_SIDES];
    int count;
    struct regex *focus, *ignore, *own;
    struct call_tree_options tree_options;
    int64_t rows;
    bool bad_usage;
    struct err e;
};

enum err_code view_show_table(struct view *v);  // top, diff
enum err_code view_show_flames(struct view *v); // to --output
enum err_code view_show_diff(struct view *v);   // both
enum err_code view_show_dump(struct view *v);
enum err_code view_show_layout(struct view *v); // also of a file that cannot be read further

#endif
