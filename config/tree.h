// SPDX-License-Identifier: Apache-2.0
// YAML as a tree whose nodes know where they stand.
#ifndef CONFIG_TREE_H
#define CONFIG_TREE_H

#include "base/bytes.h"
#include "config/errors.h"

enum config_kind { CONFIG_NULL, CONFIG_SCALAR, CONFIG_LIST, CONFIG_MAP };

struct config_node;

struct config_entry { // of a map, in order
    const char *key;
    struct config_position key_at;
    struct config_node *value; // never NULL
};

struct config_node {
    enum config_kind kind;
    struct config_position at;
    const char *text; // SCALAR: as written, after ${...}
    // The whole value is one reference: its text before YAML read it, for string fields (any kind); else NULL.
    const char *original;
    const char *origin; // the reference the value came from, "${env:NAME}", to name it in errors; else NULL
    // SCALAR: quoted in YAML, or put together from text and references: a string, whatever it looks like.
    bool quoted;
    bool secret;                  // the text came from a file or a variable that print-config must not show
    struct config_node **items;   // LIST
    struct config_entry *entries; // MAP
    size_t count;                 // of items or entries
};

// Parses one YAML document into arena. Duplicate keys, anchors that expand beyond LIMIT_CONFIG_NODES, tags
// other than YAML's own, more than one document and too deep nesting are errors. Merge keys (<<) work.
// NULL after an error. An empty document is a CONFIG_NULL node.
struct config_node *config_parse_yaml(struct arena *arena, struct bytes text, const char *source,
                                      struct config_errors *errors);

// The entry of a map; NULL if node is NULL, no map, or has no such key.
struct config_node *config_get(const struct config_node *node, const char *key);
// Path with "::" between the keys ("service::telemetry::logs"); NULL if a step is missing.
struct config_node *config_get_path(const struct config_node *root, const char *path);

#endif
