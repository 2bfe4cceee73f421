// SPDX-License-Identifier: Apache-2.0
// Inside processors/: attributes have names with dots, labels are written without them.
#ifndef PROCESSORS_RELABEL_NAMES_H
#define PROCESSORS_RELABEL_NAMES_H

#include "base/arena.h"

// The label that an attribute is seen as: every character but A-Z, a-z, 0-9 and _ becomes _. Borrowed from key if there
// is none, else from the arena. False when out of memory.
bool label_name(struct arena *arena, struct bytes key, struct bytes *out) MUST_USE;
// Is this the label that the attribute is seen as?
bool label_is_of(struct bytes label, struct bytes key);
// The name with dots of a label that stands for a well-known attribute; otherwise the label itself.
struct bytes attribute_name(struct bytes label);

#endif
