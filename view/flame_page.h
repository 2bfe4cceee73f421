// SPDX-License-Identifier: Apache-2.0
// A flame graph in one self-contained HTML file, or as a still SVG. Every text from a profile is escaped.
#ifndef VIEW_FLAME_PAGE_H
#define VIEW_FLAME_PAGE_H

#include "base/buf.h"
#include "view/call_tree.h"

struct flame_options {
    const char *title; // as the user sees it: the file's name, or "A -> B"
};

// trees: one for each sample type that can be switched to; the first is shown. All with the same side_count.
enum err_code flame_html(const struct call_tree *trees, size_t count, const struct flame_options *options,
                         struct buf *out, struct err *e) MUST_USE;
enum err_code flame_svg(const struct call_tree *tree, const struct flame_options *options, struct buf *out,
                        struct err *e) MUST_USE;

#endif
