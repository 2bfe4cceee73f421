// SPDX-License-Identifier: Apache-2.0
// A stack being read, leaf first, by formats whose frames are texts: cut at a depth, never empty.
#ifndef CODEC_FRAME_STACK_H
#define CODEC_FRAME_STACK_H

#include "codec/decode.h"

// Frames that stand for what is not there.
#define FRAME_UNKNOWN "[unknown]"     // the whole stack, or a function without a name
#define FRAME_TRUNCATED "[truncated]" // the root's end of a stack that was too deep

struct frame_stack {
    struct builder *builder;
    uint32_t *locations;
    size_t capacity;
    uint32_t count, max;
    bool cut, no_memory;
};

void frame_stack_init(struct frame_stack *s, struct builder *b, uint32_t max_depth);
void frame_stack_fini(struct frame_stack *s);
// False: nothing that follows is wanted, the stack is as deep as it may be (or memory is out).
bool frame_stack_add(struct frame_stack *s, uint32_t location);
// The builder's id of the stack (0 only after a failure); it is empty again.
uint32_t frame_stack_take(struct frame_stack *s, struct decode_report *report);

#endif
