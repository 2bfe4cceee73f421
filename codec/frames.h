// SPDX-License-Identifier: Apache-2.0
// For formats whose frames are texts: a location with one line for each frame.
#ifndef CODEC_FRAMES_H
#define CODEC_FRAMES_H

#include "profile/builder.h"

struct frame {
    struct bytes name;   // of the function
    struct bytes file;   // of the source; len 0 = unknown
    struct bytes module; // file of the mapping; len 0 = unknown
    struct bytes type;   // profile.frame.type: "jvm", "kernel" ...; len 0 = not known
    uint64_t address;
    int64_t line, column; // from 1; 0 = unknown
};

// The builder's location of a frame. Equal frames have one location.
uint32_t frame_location(struct builder *b, const struct frame *f);

// Opens the one resource and scope that these formats have, as the options tell.
struct decode_options;
void frames_begin(struct builder *b, const struct decode_options *options);

#endif
