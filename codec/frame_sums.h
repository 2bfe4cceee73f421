// SPDX-License-Identifier: Apache-2.0
// The one profile of formats that are stacks with a value each: equal stacks are added up.
#ifndef CODEC_FRAME_SUMS_H
#define CODEC_FRAME_SUMS_H

#include "codec/decode.h"

struct frame_sums {
    struct builder *builder; // has no stacks but those that were added here
    int64_t *values;         // of stack 1, 2, ...: the builder's ids of stacks are the rows
    size_t capacity;
    uint32_t count;
    bool no_memory;
};

void frame_sums_fini(struct frame_sums *s);
// stack 0 (after a failure of the builder) is passed over. False: the sum does not fit 64 bits and stays as it was.
bool frame_sums_add(struct frame_sums *s, uint32_t stack, int64_t value);
// Opens resource and scope and adds the profile, of which the caller gives types and period, and the duration if the
// format says one.
void frame_sums_finish(struct frame_sums *s, const struct decode_options *o, struct profile *p,
                       struct decode_report *report);

#endif
