// SPDX-License-Identifier: Apache-2.0
// speedscope's file format (JSON): read only. The mapping is in docs/formats/speedscope.md.
#ifndef CODEC_SPEEDSCOPE_H
#define CODEC_SPEEDSCOPE_H

#include "codec/decode.h"

bool speedscope_recognise(struct bytes data);
// As the decode of a struct format, codec/formats.h.
enum err_code speedscope_decode(struct bytes data, struct bytes original, const struct decode_options *options,
                                struct batch **out, struct decode_report *report, struct err *e) MUST_USE;

#endif
