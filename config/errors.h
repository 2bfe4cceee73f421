// SPDX-License-Identifier: Apache-2.0
// All errors of a run, so that a user mends a file once.
#ifndef CONFIG_ERRORS_H
#define CONFIG_ERRORS_H

#include "base/arena.h"
#include "base/check.h"

#include <stdbool.h>
#include <stdio.h>

// Where something stands. source is "config.yaml", "env:NAME", "yaml:..." or "--set"; line and column are
// 1-based, 0 = unknown.
struct config_position {
    const char *source;
    int line, column;
};

struct config_message {
    struct config_position at;
    const char *text; // without the position
    bool warning;
};

struct config_errors {
    struct arena arena;
    struct config_message *items;
    size_t count, capacity;
    size_t error_count; // those that are no warnings
    size_t left_out;    // messages beyond the 100 that are kept
};

void config_errors_init(struct config_errors *e);
void config_errors_fini(struct config_errors *e);
// Adds "text"; the position may be unknown (source NULL) and is copied. At most 100 are kept; the rest are
// counted. e may be NULL: the message is dropped.
void config_error(struct config_errors *e, struct config_position at, const char *format, ...) PRINTF_LIKE(3, 4);
void config_warning(struct config_errors *e, struct config_position at, const char *format, ...) PRINTF_LIKE(3, 4);
// One line each, "file:line:column: text" ("warning: " before the text of warnings), ordered by position.
void config_errors_print(const struct config_errors *e, FILE *out);

#endif
