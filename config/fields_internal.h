// SPDX-License-Identifier: Apache-2.0
// Between the files that serve config/fields.h.
#ifndef CONFIG_FIELDS_INTERNAL_H
#define CONFIG_FIELDS_INTERNAL_H

#include "base/buf.h"
#include "config/fields.h"

struct decoder {
    struct arena *arena;
    struct config_errors *errors;
    const char *component;
    struct buf ignored; // names of FIELD_IGNORED keys met so far, with commas
    struct config_position ignored_at;
    bool defaults; // default texts are being read: no ranges, no warnings
};

// Adds "COMPONENT: PATH: text"; an empty path is left out.
void decoder_error(struct decoder *d, const struct config_node *at, const char *path, const char *format, ...)
    PRINTF_LIKE(4, 5);

// What stands there, for "found ...": `"abc"`, `a map`, `a value that is not shown`. Text of the arena or constant.
const char *decoder_describe(struct decoder *d, const struct config_node *node, const char *path);

// The text for a string field, NULL if node has none.
const char *node_string(const struct config_node *node);

// Writes one value that is no table to member; false after an error. node is not NULL.
bool field_read_value(struct decoder *d, const struct field *f, const struct config_node *node, const char *path,
                      void *member);

// "5s", "64MiB", "1024": a bound or a measured value as a user would write it.
void field_print_number(const struct field *f, double value, char *out, size_t out_size);
size_t field_size(const struct field *f); // of the member
bool field_has_range(const struct field *f);
// "duration", "list of strings", ...
const char *field_type_name(enum field_type type);

#endif
