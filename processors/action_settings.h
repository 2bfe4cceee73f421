// SPDX-License-Identifier: Apache-2.0
// Inside processors/: the settings of a list of attribute actions, from rows to steps.
#ifndef PROCESSORS_ACTION_SETTINGS_H
#define PROCESSORS_ACTION_SETTINGS_H

#include "pipeline/component.h"
#include "processors/attribute_actions.h"

struct action_settings {
    const char *key;
    int action; // enum attribute_action
    struct config_any value;
    const char *from_attribute;
    struct config_any default_value;
    const char *pattern;
    int converted_type; // enum attribute_type
};

extern const struct field action_fields[];

// For a module's check: `list` is of struct action_settings, `key` the name it has in the configuration.
void actions_check(const struct config_structs *list, const char *key, const struct component_check *check);

// The steps of checked settings, in arena but for the patterns; destroy is due also after a failure.
enum err_code actions_create(const struct config_structs *list, struct arena *arena, struct attribute_steps *steps,
                             struct err *e) MUST_USE;
void actions_destroy(struct attribute_steps *steps);

#endif
