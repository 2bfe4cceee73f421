// SPDX-License-Identifier: Apache-2.0
// What the page and the still picture have in common: order and width of frames, colours, texts made harmless.
#ifndef VIEW_FLAME_PARTS_H
#define VIEW_FLAME_PARTS_H

#include "base/buf.h"
#include "view/call_tree.h"

// Plain files of view/page, put together by cmake/EmbedPage.cmake when profrelay is built.
extern const struct bytes flame_page_before_data, flame_page_after_data, flame_palette;

enum {
    FLAME_HUES = 8,   // classes c0..c7 of own code, c8..c15 of the rest; page/palette.css
    FLAME_STEPS = 11, // classes d0..d10: share shrank .. grew
};

// Frames in preorder, the widest of siblings first. Wide is what has much weight (call_tree_weigh). So a frame is never
// wider than its parent, and what is gone has its place.
struct flame_layout {
    uint32_t *nodes; // of the tree; nodes[0] = 0
    uint32_t *depths;
    double *weights; // by node of the tree
    uint32_t count;
};

enum err_code flame_layout_build(const struct call_tree *tree, struct flame_layout *out, struct err *e) MUST_USE;
void flame_layout_fini(struct flame_layout *l); // also after a failure

// Number of the class c: one package, one hue.
uint32_t flame_color(const struct call_function *f);
// Number of the class d: the middle is unchanged, the last has doubled its share or more.
uint32_t flame_step(double share_before, double share_after);

// Inside a JSON string of a script block, or inside an XML text or attribute. Broken UTF-8 becomes U+FFFD; control
// characters and those that turn the direction of writing are spelled out ("\u202e").
void flame_json_text(struct buf *out, struct bytes text);
void flame_xml_text(struct buf *out, struct bytes text);

// What a writer that used `out` says at its end.
enum err_code flame_written(const struct buf *out, struct err *e);

#endif
