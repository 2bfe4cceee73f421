// SPDX-License-Identifier: Apache-2.0
// Command lines: long options with "=VALUE" or a following VALUE, from a table.
#ifndef PIPELINE_OPTIONS_H
#define PIPELINE_OPTIONS_H

#include "base/err.h"

#include <stddef.h>

struct option_values { // of one option, in order
    const char *items[64];
    size_t count;
};

struct option {
    const char *name;  // "config": given as --config
    const char *value; // "FILE" in help; NULL = a switch
    const char *help;
    struct option_values *values; // a switch adds "true"; --NAME=false empties it
};

// Options go to their tables, everything else is moved to the front of argv and counted in rest_out; "--" ends
// the options. ERR_INVALID for unknown options (with a suggestion), a missing value, or too many of something.
enum err_code options_parse(const struct option *options, size_t count, int argc, char **argv, int *rest_out,
                            struct err *e) MUST_USE;

// One line per option, for --help.
void options_print(const struct option *options, size_t count);

static inline const char *option_last(const struct option_values *v)
{
    return v->count == 0 ? NULL : v->items[v->count - 1];
}

#endif
