// SPDX-License-Identifier: Apache-2.0
// Is an OTLP request one that can travel as it came? Faster than decoding it by a multiple, since nothing is built.
#ifndef CODEC_OTLP_CHECK_H
#define CODEC_OTLP_CHECK_H

#include "codec/otlp.h"
#include "profile/origin.h"

struct otlp_index {
    struct origin_count *counts; // of each resource; malloc'ed
    uint32_t resource_count;
    bool references;           // attributes of resources or scopes name strings by their index (1.10)
    bool attribute_references; // values in the attribute table do
};

// True for a request of the current layout that otlp_decode takes without repairing anything, and that strict readers
// take, too: every table with its zero element first, the messages written even when empty that some miss otherwise, an
// empty Link 0. False says nothing: decode it, and hear why. Linear; no recursion but for nested values, within the limit.
bool otlp_check(struct bytes data, const struct otlp_limits *limits, struct otlp_index *out) MUST_USE;

#endif
