// SPDX-License-Identifier: Apache-2.0
// Folded (collapsed) stacks: "root;...;leaf count", a line for each stack. docs/formats/folded.md has the dialects.
#ifndef CODEC_FOLDED_H
#define CODEC_FOLDED_H

#include "codec/formats.h"

// The contract of each is in codec/formats.h.
enum err_code folded_decode(struct bytes data, struct bytes original, const struct decode_options *options,
                            struct batch **out, struct decode_report *report, struct err *e);
enum err_code folded_encode(const struct batch *b, const struct encode_options *options, struct buf *out,
                            struct encode_report *report, struct err *e);
bool folded_recognise(struct bytes data);

// One line.
enum folded_kind {
    FOLDED_STACK,
    FOLDED_COMMENT,    // or empty
    FOLDED_NO_COUNT,   // it ends with no number; stack is the whole line
    FOLDED_TWO_COUNTS, // a number stands before the last one; stack ends with it, why tells
    FOLDED_BAD,        // why tells
};

struct folded_count {
    bool negative;
    uint64_t whole;
    uint32_t billionths; // of the fraction; what is finer is dropped
};

struct folded_line {
    struct bytes stack; // frames and separators, without blanks at both ends; may be empty
    struct folded_count count;
    const char *why;
};

enum folded_kind folded_parse(struct bytes line, struct folded_line *out);
// Where a count would start if the text were a line: behind its last blank. 0 = there is none.
size_t folded_count_start(struct bytes text);

#endif
