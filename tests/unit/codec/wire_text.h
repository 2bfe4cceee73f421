// SPDX-License-Identifier: Apache-2.0
// Protobuf messages written by hand: "1{2:5 3=7 4[1,2] 5<1,2> 6'text'}" is a message 1 of a varint, a fixed64, a packed list of
// varints, one of fixed64, and bytes. Aborts for any other text.
#ifndef TESTS_UNIT_CODEC_WIRE_TEXT_H
#define TESTS_UNIT_CODEC_WIRE_TEXT_H

#include "base/buf.h"

void wire_text(struct buf *out, const char *text);

#endif
