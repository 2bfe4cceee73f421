// SPDX-License-Identifier: Apache-2.0
// Inside processors/: the Collector's attribute actions on one list of attributes.
#ifndef PROCESSORS_RESOURCE_ACTIONS_H
#define PROCESSORS_RESOURCE_ACTIONS_H

#include "base/err.h"
#include "profile/value.h"

enum attribute_action {
    ACTION_INSERT,
    ACTION_UPDATE,
    ACTION_UPSERT,
    ACTION_DELETE,
    ACTION_HASH,
    ACTION_CONVERT,
    ACTION_EXTRACT,
};

enum attribute_type { TYPE_NONE, TYPE_INT, TYPE_DOUBLE, TYPE_STRING };

struct attribute_step {
    enum attribute_action action;
    struct bytes key;
    struct bytes from_attribute; // len 0 = take value
    struct value value;
    enum attribute_type converted_type;
};

// A list being changed. Keys and values are borrowed from where they came or live in arena.
struct attribute_edit {
    struct arena arena;
    struct key_value *items;
    uint32_t count;
    bool changed; // the list says something else than before
};

// Begins with a copy of list that has room for `steps` more. In place; fini in every case.
enum err_code attribute_edit_init(struct attribute_edit *edit, const struct key_value *list, uint32_t count,
                                  size_t steps, struct err *e) MUST_USE;
void attribute_edit_fini(struct attribute_edit *edit);
enum err_code attribute_edit_apply(struct attribute_edit *edit, const struct attribute_step *step,
                                   struct err *e) MUST_USE;

#endif
