// SPDX-License-Identifier: Apache-2.0
// Inside processors/: the Collector's `include` and `exclude`: which resources, scopes and lists of attributes are meant.
#ifndef PROCESSORS_ATTRIBUTE_MATCHER_H
#define PROCESSORS_ATTRIBUTE_MATCHER_H

#include "pipeline/component.h"
#include "profile/edit.h"

struct matcher_settings {
    bool given;
    int match_type;
    struct config_strings services;
    struct config_structs resources, attributes, libraries;
};

extern const struct field matcher_fields[]; // of struct matcher_settings

struct attribute_matcher;

// ERR_INVALID says what is wrong with the settings. *out is NULL after a failure and where the settings were not given.
enum err_code matcher_create(const struct matcher_settings *s, struct attribute_matcher **out, struct err *e) MUST_USE;
void matcher_destroy(struct attribute_matcher **m); // *m may be NULL

bool matcher_names_libraries(const struct attribute_matcher *m);
// Services, resources and libraries. Without a scope libraries match nothing.
bool matcher_takes_part(const struct attribute_matcher *m, const struct resource *r, const struct scope *s);
bool matcher_takes_list(const struct attribute_matcher *m, const struct unit_attribute *list, uint32_t count);

#endif
