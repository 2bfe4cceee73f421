// SPDX-License-Identifier: Apache-2.0
// Inside processors/: rules that say which frames go out of stacks.
#ifndef PROCESSORS_FILTER_FRAMES_H
#define PROCESSORS_FILTER_FRAMES_H

#include "pipeline/component.h"
#include "profile/batch.h"

struct frame_settings {
    int match_type;
    struct config_structs drop;
};

extern const struct field frame_fields[]; // of struct frame_settings

struct frame_rules;

// ERR_INVALID says what is wrong. *out is NULL after a failure and where there are no rules.
enum err_code frame_rules_create(const struct frame_settings *s, struct frame_rules **out, struct err *e) MUST_USE;
void frame_rules_destroy(struct frame_rules **r); // *r may be NULL
// As a processor's process. Each name, file and mapping is looked at once for each rule.
enum err_code frame_rules_run(const struct frame_rules *r, struct batch **batch, struct err *e) MUST_USE;

#endif
