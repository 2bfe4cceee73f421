// SPDX-License-Identifier: Apache-2.0
// Inside processors/: rules that say which profiles go, by what they measure.
#ifndef PROCESSORS_FILTER_TYPES_H
#define PROCESSORS_FILTER_TYPES_H

#include "pipeline/component.h"

struct type_settings {
    int match_type;
    struct config_strings include, exclude;
};

extern const struct field type_fields[]; // of struct type_settings

struct text_pattern;

struct pattern_list {
    struct text_pattern *items;
    size_t count;
};

struct type_rules {
    struct pattern_list include, exclude;
};

void type_rules_check(const struct component_check *check, const struct type_settings *s);
// fini is due also after a failure.
enum err_code type_rules_init(const struct type_settings *s, struct type_rules *out, struct err *e) MUST_USE;
void type_rules_fini(struct type_rules *r);
bool type_rules_any(const struct type_rules *r);
bool type_rules_keep(const struct type_rules *r, struct bytes type, struct bytes unit);

#endif
