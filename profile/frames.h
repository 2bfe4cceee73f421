// SPDX-License-Identifier: Apache-2.0
// Changes of the frames of all stacks of a batch. A frame is a line of a location (one of the calls inlined there), or a
// location that has none.
#ifndef PROFILE_FRAMES_H
#define PROFILE_FRAMES_H

#include "base/err.h"
#include "profile/batch.h"

struct batch_frame {
    uint32_t mapping;
    bool has_line; // else it has no function
    uint32_t function;
};

// Takes out the frames for which drops(arg, ...) is true, asked for each frame of the dictionary. Stacks become shorter, to
// nothing perhaps; samples stay as they are, also where their stacks become equal. The new batch has a dictionary with
// nothing but what it needs; profiles that changed lose their original payload. *b is the same batch if no stack in use
// changes, and as it came after a failure.
enum err_code batch_drop_frames(struct batch **b,
                                bool (*drops)(void *arg, const struct dictionary *d, struct batch_frame frame),
                                void *arg, struct err *e) MUST_USE;

#endif
