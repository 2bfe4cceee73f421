// SPDX-License-Identifier: Apache-2.0
// What the files of config/ share and nobody else needs.
#ifndef CONFIG_INTERNAL_H
#define CONFIG_INTERNAL_H

#include "base/buf.h"
#include "base/err.h"
#include "config/tree.h"

struct yaml_request {
    struct arena *arena;
    struct bytes text;
    const char *source;
    struct config_errors *errors;    // NULL: nobody wants to know
    struct config_position fixed_at; // source set: all nodes stand here (the text came from a reference)
    int depth;                       // of the node that the document replaces
    size_t *nodes_left;
};

// The tree even when it has errors that do not hinder reading on (then *clean_out is false); NULL otherwise.
struct config_node *config_read_yaml(const struct yaml_request *request, bool *clean_out);

// Later wins: maps merge, everything else replaces. Returns the merged node; both may be changed.
struct config_node *config_merge(struct arena *arena, struct config_node *base, struct config_node *later);

// Where references get their values; injected so that fuzzing reaches neither environment nor files.
struct config_sources {
    const char *(*env_value)(void *arg, const char *name); // NULL = not set
    bool (*read_file)(void *arg, const char *path, struct buf *text, struct err *e);
    void *arg;
};
extern const struct config_sources config_sources_system;
enum { CONFIG_READ_STEP = 4096 }; // read_file needs this much room behind the last byte

// Replaces every ${...} and $$ in the values of the tree; false when an error was added.
bool config_expand(struct config_node *root, struct arena *arena, const struct config_sources *sources,
                   struct config_errors *errors);

// [A-Za-z_][A-Za-z0-9_]*
bool config_env_name_valid(const char *name);
// Length of the scheme of "file:x", without the colon; 0 = none (a scheme has at least two characters).
size_t config_scheme_length(const char *uri);
// "password", "api_key", "headers", ...: what stands below is not for showing. "password_file" is.
bool config_key_is_secret(const char *key);

// How YAML reads a scalar that is not quoted.
bool config_scalar_is_null(const char *text);
bool config_scalar_bool(const char *text, bool *value_out); // true/false and 1.1's yes/no/on/off
bool config_scalar_int(const char *text, int64_t *value_out);
bool config_scalar_double(const char *text, double *value_out);

#endif
