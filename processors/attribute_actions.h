// SPDX-License-Identifier: Apache-2.0
// Inside processors/: the Collector's attribute actions on one list of attributes.
#ifndef PROCESSORS_ATTRIBUTE_ACTIONS_H
#define PROCESSORS_ATTRIBUTE_ACTIONS_H

#include "base/regex.h"
#include "profile/edit.h"

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
    struct bytes key;            // delete and hash: len 0 = only the pattern counts
    struct bytes from_attribute; // len 0 = take value
    struct value value;          // with from_attribute: for when that one is absent
    bool has_value;
    struct regex *pattern; // delete and hash: of keys; extract: its groups, all named, become attributes
    enum attribute_type converted_type;
};

struct attribute_steps {
    const struct attribute_step *items;
    size_t count;
    size_t room; // how many attributes they add at most
};

// A list being changed. Keys and values are borrowed from where they came or live in arena.
struct attribute_edit {
    struct arena arena;
    struct unit_attribute *items;
    uint32_t count;
    bool changed; // the list says something else than before
};

// Begins with a copy of list that has room for what the steps add. In place; fini in every case.
enum err_code attribute_edit_init(struct attribute_edit *edit, const struct unit_attribute *list, uint32_t count,
                                  size_t room, struct err *e) MUST_USE;
// The same of attributes without units.
enum err_code attribute_edit_init_key_values(struct attribute_edit *edit, const struct key_value *list, uint32_t count,
                                             size_t room, struct err *e) MUST_USE;
void attribute_edit_fini(struct attribute_edit *edit);
enum err_code attribute_edit_apply(struct attribute_edit *edit, const struct attribute_steps *steps,
                                   struct err *e) MUST_USE;
// The list without units, in the edit's arena; NULL when out of memory.
const struct key_value *attribute_edit_key_values(struct attribute_edit *edit);

enum err_code attribute_no_memory(struct err *e); // sets and returns ERR_MEMORY

#endif
