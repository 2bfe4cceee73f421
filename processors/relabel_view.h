// SPDX-License-Identifier: Apache-2.0
// Inside processors/: attributes as labels, and the labels that rules leave as attributes again.
//
// An attribute is seen under its label name (relabel_names.h). Where two have the same, the one that is written so wins,
// else the first; the others are not seen and stay as they are, as do attributes with an empty value. Values that are no
// strings are seen as text, and are themselves again where the text did not change.
#ifndef PROCESSORS_RELABEL_VIEW_H
#define PROCESSORS_RELABEL_VIEW_H

#include "base/log.h"
#include "processors/relabel_rules.h"
#include "profile/edit.h"

struct relabel_rules {
    struct relabel_rule *items;
    size_t count;
    bool may_drop, may_change;  // what rules of their kind can do
    struct bytes *dotted_names; // names of attributes written in the rules: their labels are these again
    size_t dotted_count;
};

struct view_attribute {
    struct bytes label, text; // label.len 0 = not seen
    struct bytes now;         // the text after the rules
};

// Memory for one evaluation after the other. One thread.
struct relabel_view {
    struct relabel_run run;
    struct view_attribute *seen; // own, then those below
    size_t seen_capacity;
    const struct unit_attribute *own;
    const struct key_value *below;
    uint32_t own_count, below_count;
    struct unit_attribute *out;
    size_t out_capacity, out_count;
    struct label_list keys; // of out, while labels are added to it
    bool changed;
    const struct logger *trace; // NULL = off
};

void relabel_view_init(struct relabel_view *v);
void relabel_view_fini(struct relabel_view *v);

// Begins with these attributes: own ones are what rules change; those below (NULL = none) are seen where own ones leave
// room, and one that a rule changes becomes an own one.
enum err_code relabel_view_load(struct relabel_view *v, const struct unit_attribute *own, uint32_t own_count,
                                const struct key_value *below, uint32_t below_count, struct err *e) MUST_USE;
// One more label, that no attribute comes of.
enum err_code relabel_view_add(struct relabel_view *v, struct bytes label, struct bytes text, struct err *e) MUST_USE;
// Applies the rules; v->run.kept tells whether one of them dropped it all, else v->changed whether the own attributes are
// to be v->out (v->out_count of them, borrowed from what was loaded and from v until it is loaded again).
enum err_code relabel_view_apply(struct relabel_view *v, const struct relabel_rules *rules, struct err *e) MUST_USE;

// A value as rules see it.
enum err_code relabel_value_text(struct arena *arena, const struct value *value, struct bytes *out,
                                 struct err *e) MUST_USE;

#endif
