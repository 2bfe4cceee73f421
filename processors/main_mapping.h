// SPDX-License-Identifier: Apache-2.0
// Inside processors/: the file of the program that profiles are of.
#ifndef PROCESSORS_MAIN_MAPPING_H
#define PROCESSORS_MAIN_MAPPING_H

#include "profile/batch.h"

enum { MAIN_MAPPING_FRAMES = 1 << 16 }; // that are looked at for one batch

// The path of the mapping next to the root of the first stacks of a resource that is neither a library nor the kernel's;
// empty when there is none, and for an unread batch. *frames_left is what may be looked at.
struct bytes main_mapping_find(const struct batch *b, const struct resource *r, uint32_t *frames_left);

#endif
