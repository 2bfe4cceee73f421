// SPDX-License-Identifier: Apache-2.0
// Inside processors/: a set of labels while rules work on it. As in Prometheus an empty value is an absent label, and
// the order is: first what was there at the beginning and never set since, by name, then what was set, in order.
#ifndef PROCESSORS_RELABEL_LABELS_H
#define PROCESSORS_RELABEL_LABELS_H

#include "base/bytes.h"
#include "base/check.h"
#include "base/index_table.h"

struct label {
    struct bytes name, value; // borrowed; value.len 0 = gone
    uint32_t tag;             // the user's, kept with the name; 0 for a name that rules made
    bool was_set;
};

void labels_sort(struct label *items, size_t count); // by name

struct label_list {
    struct label *items; // with those that are gone
    size_t capacity, count;
    struct index_table index; // by name, once there are many
    size_t indexed;
};

// In place, allocates nothing. A list that was cleared keeps its memory.
void label_list_init(struct label_list *l);
void label_list_fini(struct label_list *l);
void label_list_clear(struct label_list *l);

// A label of the beginning, whose name must not be there yet. These functions return false when out of memory; a lookup
// in a large list needs some, too.
bool label_list_add(struct label_list *l, struct bytes name, struct bytes value, uint32_t tag) MUST_USE;
void label_list_sort(struct label_list *l); // before any was set
// The one of this name, which may be gone; NULL if there never was one. Valid until the list grows.
bool label_list_find(struct label_list *l, struct bytes name, struct label **out) MUST_USE;
bool label_list_get(struct label_list *l, struct bytes name, struct bytes *value_out) MUST_USE; // len 0 = absent
bool label_list_set(struct label_list *l, struct bytes name, struct bytes value) MUST_USE;

#endif
