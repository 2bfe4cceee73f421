// SPDX-License-Identifier: Apache-2.0
// Text as people have it, line by line: a BOM is passed over, UTF-16 with one becomes UTF-8, lines end with LF or CRLF,
// the last one perhaps with nothing. NUL bytes and broken UTF-8 are handed on as they are.
#ifndef CODEC_TEXT_LINES_H
#define CODEC_TEXT_LINES_H

#include "codec/decode.h"

struct text_lines {
    const uint8_t *at, *end;
    uint64_t number; // of the line handed out last, from 1
    size_t max_line_bytes;
    struct decode_report *report;
    struct buf utf8; // what was UTF-16
};

// data must outlive it, and so must the lines' users: lines are borrowed from data, or from here if it was UTF-16.
// A line of more than max_line_bytes (0 = any) is passed over and counted as a bad one. ERR_MEMORY only.
enum err_code text_lines_init(struct text_lines *t, struct bytes data, size_t max_line_bytes,
                              struct decode_report *report, struct err *e) MUST_USE;
bool text_lines_next(struct text_lines *t, struct bytes *line_out);
void text_lines_fini(struct text_lines *t); // also after a failure

// To look at the first lines, whatever data is: false if it does not begin like text. fini is due in every case.
bool text_lines_peek(struct text_lines *t, struct bytes data);

bool text_is_probable(struct bytes data); // UTF-8, or UTF-16 with a BOM

static inline bool text_is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

struct bytes text_trim(struct bytes line); // without blanks at both ends

#endif
