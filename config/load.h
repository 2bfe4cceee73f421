// SPDX-License-Identifier: Apache-2.0
// From the command line to one merged, expanded tree, with the Collector's rules (collector.md §3.1):
// sources merge in order, later wins; maps merge, scalars and lists replace, an explicit null in a later
// source wipes; ${env:VAR:-default}, ${VAR}, ${file:PATH}, ${yaml:...}, nested; $$ is a literal $.
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include "config/tree.h"

struct config_arguments {
    const char *const *configs; // --config values in order: a path, file:PATH, env:NAME, yaml:a::b: value
    size_t config_count;
    const char *const *sets; // --set a.b.c=value, applied last
    size_t set_count;
};

struct config {
    struct arena arena;       // owns the tree
    struct config_node *root; // a MAP (possibly empty); after errors what could be read, or NULL
};

// In place; false when errors were added: then root serves only to find more errors. Unset variables
// without a default are warnings. Call config_fini in either case. Reads files; blocks.
bool config_load(struct config *c, const struct config_arguments *arguments, struct config_errors *errors);
void config_fini(struct config *c);

// The tree as YAML again, keys in order. redact: what came from a file or a secret variable, what stands
// under a key such as "token" or "headers", and passwords in URLs appear as "[REDACTED]". Strings are quoted
// where YAML would read them otherwise.
void config_print(const struct config_node *root, bool redact, FILE *out);

#endif
