// SPDX-License-Identifier: Apache-2.0
// Inside processors/: upper and lower case as Go's strings.ToUpper and ToLower have it: character by character, by the
// simple mappings of Unicode 15.0, in no language. (towlower would do it by the C library's own version.)
#ifndef PROCESSORS_RELABEL_CASE_H
#define PROCESSORS_RELABEL_CASE_H

#include "base/arena.h"

enum letter_case { CASE_LOWER, CASE_UPPER };

// Text that does not change is returned as it is, everything else lives in the arena. Bytes that are no UTF-8 become
// U+FFFD. False when out of memory.
bool case_map(struct arena *arena, struct bytes text, enum letter_case to, struct bytes *out) MUST_USE;

#endif
