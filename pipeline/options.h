// SPDX-License-Identifier: Apache-2.0
// Command lines from tables: "--name VALUE", "--name=VALUE", "-n VALUE", "-nVALUE". The rows are constant; the values
// lie in a struct of the command's own, at the offset the row says.
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
    char letter;       // 'o': also given as -o; 0 = none
    bool files;        // a value is the name of a file
    const char *value; // in help: "FILE"; "a|b|c" in lower case = one of these; NULL = a switch
    const char *help;
    // The i-th of the values that are allowed, NULL behind the last; NULL = as `value` says.
    const char *(*choice)(size_t i);
    size_t offset; // of its struct option_values; a switch adds "true", --NAME=false empties it
};

struct option_table {
    const struct option *rows;
    size_t count;
};

// Options go to their values, everything else is moved to the front of argv and counted in rest_out; "--" ends the
// options, and so does --help or -h, which every table has without a row. ERR_INVALID for unknown options (with a
// suggestion), a value that is missing or not one of the choices, or too many of something; never with the value
// itself, which may be a secret.
enum err_code options_parse(const struct option_table *table, void *values, int argc, char **argv, int *rest_out,
                            bool *help_out, struct err *e) MUST_USE;

// The i-th value that an option allows, to out; false = there is no such, or it takes any.
bool option_choice(const struct option *o, size_t i, char *out, size_t out_size);
// "-o, --output OUT". Returns out.
char *option_usage(const struct option *o, char *out, size_t out_size);

static inline const char *option_last(const struct option_values *v)
{
    return v->count == 0 ? NULL : v->items[v->count - 1];
}

#endif
