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
bool matcher_takes_resource(const struct attribute_matcher *m, const struct resource *r); // services and resources
bool matcher_takes_scope(const struct attribute_matcher *m, const struct scope *s);       // libraries; NULL has none
bool matcher_takes_list(const struct attribute_matcher *m, const struct unit_attribute *list, uint32_t count);

// The same of sets of one dictionary: each attribute is looked at once, however many sets have it.
struct matcher_memo {
    uint8_t *answers; // by condition and attribute
    uint32_t attribute_count;
};
bool matcher_memo_init(struct matcher_memo *memo, const struct attribute_matcher *m,
                       const struct dictionary *d) MUST_USE; // false: no memory; m may be NULL
void matcher_memo_fini(struct matcher_memo *memo);
bool matcher_takes_set(const struct attribute_matcher *m, const struct dictionary *d, uint32_t set,
                       struct matcher_memo *memo);

#endif
