// SPDX-License-Identifier: Apache-2.0
// How one log line looks, console or JSON. Knows no stream, no lock and no limits.
#ifndef BASE_LOG_LINE_H
#define BASE_LOG_LINE_H

#include "base/limits.h"
#include "base/log.h"

#include <stddef.h>
#include <stdint.h>

struct log_line {
    int64_t wall_nanos;
    enum log_level level;
    const char *kind, *id; // id may be NULL
    const char *message;
    uint64_t left_out; // lines like this before it; 0 = not said
};

// Writes the line with its '\n' into out and returns its length. A message that is too long is cut and ends in
// "...". Any thread, allocates nothing.
size_t log_line_write(const struct log_line *line, enum log_encoding encoding, char out[LIMIT_LOG_LINE_BYTES]);

#endif
