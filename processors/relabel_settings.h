// SPDX-License-Identifier: Apache-2.0
// Inside processors/: the settings of `relabel`.
#ifndef PROCESSORS_RELABEL_SETTINGS_H
#define PROCESSORS_RELABEL_SETTINGS_H

#include "pipeline/component.h"
#include "processors/relabel_rules.h"

enum relabel_level { RELABEL_RESOURCE, RELABEL_SAMPLE };

struct relabel_settings {
    struct config_structs rules;
    int level; // enum relabel_level
    bool trace;
    struct config_strings include;
};

extern const struct field relabel_fields[];
void relabel_check_settings(const void *settings, const struct component_check *check);

size_t relabel_settings_rule_count(const struct relabel_settings *s);
// Rule i as written; its list lives in the arena, its texts where the settings live.
struct relabel_rule_text relabel_settings_rule(struct arena *arena, const struct relabel_settings *s, size_t i);
bool relabel_settings_includes(const struct relabel_settings *s, const char *what); // "scope", "profile"

#endif
