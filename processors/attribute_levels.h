// SPDX-License-Identifier: Apache-2.0
// Inside processors/: attribute actions on one level of a batch.
#ifndef PROCESSORS_ATTRIBUTE_LEVELS_H
#define PROCESSORS_ATTRIBUTE_LEVELS_H

#include "processors/attribute_actions.h"
#include "processors/attribute_matcher.h"

enum attribute_place { PLACE_RESOURCE, PLACE_SCOPE, PLACE_PROFILE, PLACE_SAMPLE };
extern const char *const attribute_place_names[]; // for FIELD_ENUM

// Of the settings of a processor with such a level: adds an error unless the matcher can be made and has a meaning there.
void attribute_level_check_matcher(const struct component_check *check, const char *key,
                                   const struct matcher_settings *s, int level);

struct attribute_plan {
    enum attribute_place place;
    struct attribute_steps steps;
    struct attribute_matcher *include, *exclude; // NULL = everything, nothing
};

// As a processor's process: after a failure the batch is as it came. Each list of attributes is looked at once,
// however many samples have it.
enum err_code attribute_plan_run(const struct attribute_plan *plan, struct batch **batch, struct err *e) MUST_USE;

#endif
