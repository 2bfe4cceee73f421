// SPDX-License-Identifier: Apache-2.0
// Attributes written in the configuration, as attributes of profiles.
#ifndef PIPELINE_ATTRIBUTES_H
#define PIPELINE_ATTRIBUTES_H

#include "config/fields.h"
#include "profile/value.h"

// Copies into arena; aborts when memory is out (configuration is small). Strings with broken UTF-8 were
// refused by YAML.
struct value attribute_value(struct arena *arena, const struct config_any *any);
const struct key_value *attribute_list(struct arena *arena, const struct config_attributes *list);

#endif
