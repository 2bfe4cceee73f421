// SPDX-License-Identifier: Apache-2.0
// Text from outside, for people: neither forges lines nor steers a terminal.
#ifndef BASE_CLEAN_TEXT_H
#define BASE_CLEAN_TEXT_H

#include "base/buf.h"

// Control characters (C1 too) and broken UTF-8 as \xNN, everything else as it is.
void clean_text_add(struct buf *out, struct bytes text);
// Nothing in it that clean_text_add would change, lines and tabs aside.
bool clean_text_is(struct bytes text);

#endif
