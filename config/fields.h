// SPDX-License-Identifier: Apache-2.0
// A module declares its keys as rows; from the same rows come parsing, defaults, range checks, errors with
// suggestions, `profrelay components`, the reference pages and the check of config.example.yaml.
//
// To add a key: one row. See FIELD in receivers/pprof.c for an example.
#ifndef CONFIG_FIELDS_H
#define CONFIG_FIELDS_H

#include "config/tree.h"

#include <stddef.h>
#include <stdint.h>

enum field_type {
    FIELD_BOOL,        // bool
    FIELD_INT,         // int64_t, min..max
    FIELD_DOUBLE,      // double, min..max
    FIELD_DURATION,    // int64_t nanoseconds, min..max in nanoseconds
    FIELD_SIZE,        // uint64_t bytes: 4096, 64MiB; min..max
    FIELD_STRING,      // const char *, NULL when not set and no default
    FIELD_SECRET,      // const char *, never printed
    FIELD_ENUM,        // int, index into names
    FIELD_STRING_LIST, // struct config_strings; a single string is a list of one, split at commas
    FIELD_STRING_MAP,  // struct config_pairs: a map, or a list of {name, value}; print-config hides the values
    FIELD_ATTRIBUTES,  // struct config_attributes: a map of key to typed value
    FIELD_ANY,         // struct config_any: one typed value; kind CONFIG_ANY_UNSET when not given
    FIELD_STRUCT,      // a nested table, in place
    FIELD_STRUCT_LIST, // struct config_structs: a list of maps
    FIELD_IGNORED,     // a Collector key with no meaning here: accepted, named in one warning
};

enum config_any_kind {
    CONFIG_ANY_UNSET,
    CONFIG_ANY_STRING,
    CONFIG_ANY_BOOL,
    CONFIG_ANY_INT,
    CONFIG_ANY_DOUBLE,
    CONFIG_ANY_LIST,
    CONFIG_ANY_MAP,
};

struct config_attribute;

struct config_any {
    enum config_any_kind kind;
    const char *string;
    bool boolean;
    int64_t integer;
    double number;
    const struct config_any *items;            // LIST
    const struct config_attribute *attributes; // MAP
    size_t count;
};

struct config_attribute {
    const char *key;
    struct config_any value;
};

struct config_strings {
    const char *const *items;
    size_t count;
};

struct config_pairs {
    const struct config_pair {
        const char *name, *value;
    } *items;
    size_t count;
};

struct config_attributes {
    const struct config_attribute *items;
    size_t count;
};

struct config_structs {
    const void *items; // count structs of struct_size each
    size_t count;
};

struct field {
    const char *name;
    enum field_type type;
    size_t offset;              // of the member in the settings
    const char *default_text;   // as it would be written in YAML, may lie outside the range; NULL = zero/empty/not set
    double min, max;            // both 0 = no range, max < min = no upper bound; durations in ns, sizes in bytes
    const char *unit;           // for documentation: "bytes", "samples"; durations and sizes need none
    const char *help;           // one line
    const char *const *names;   // ENUM: NULL-terminated
    const struct field *fields; // STRUCT, STRUCT_LIST: the nested table, ends with a row whose name is NULL
    size_t struct_size;         // STRUCT_LIST: size of one item
    // STRUCT: 1 + offset of a bool, in the same settings as offset, told whether the key was given (null
    // counts); 0 = none.
    size_t present_offset;
    bool required; // in a nested table: only when that table was given
};

// One table and the settings its rows write to.
struct field_target {
    const struct field *fields; // ends with a row whose name is NULL
    void *settings;
};

// Fills the settings of all targets from node (a MAP, or NULL/CONFIG_NULL for defaults only). A key is
// looked up in the targets in order. Every problem is added to errors as
// "COMPONENT: key.path: what is wrong, did you mean ...". Texts and lists live in arena. True if no error was added.
bool fields_decode(const struct field_target *targets, size_t target_count, const struct config_node *node,
                   struct config_position component_at, const char *component, struct arena *arena,
                   struct config_errors *errors);

// Reports a problem a module finds by itself, at the position of the key ("file.include", "" = the component).
// node is the component's node, may be NULL.
void fields_error(const struct config_node *node, struct config_position component_at, const char *component,
                  const char *key, struct config_errors *errors, const char *format, ...) PRINTF_LIKE(6, 7);

// The rows as commented YAML with their defaults, indented: what config.example.yaml and docs are held against.
void fields_print_yaml(const struct field *fields, int indent, FILE *out);
// The rows as a Markdown table (key, type, default, range, meaning), nested keys with dots.
void fields_print_markdown(const struct field *fields, FILE *out);
// Calls visit for each row, nested ones with their dotted path.
void fields_walk(const struct field *fields, void (*visit)(void *arg, const char *path, const struct field *f),
                 void *arg);

#endif
