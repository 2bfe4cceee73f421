// SPDX-License-Identifier: Apache-2.0
// Inside processors/: a label or an annotation, or all whose key matches, becomes an attribute.
#ifndef PROCESSORS_K8S_LABELS_H
#define PROCESSORS_K8S_LABELS_H

#include "kube/kube_model.h"
#include "pipeline/component.h"
#include "processors/relabel_template.h"

// An item of extract.labels or extract.annotations.
struct k8s_label_settings {
    const char *tag_name, *key, *key_regex;
    int from; // index in the names of kinds
};

extern const struct field k8s_label_fields[];

struct k8s_label_rule {
    enum kube_kind kind;
    enum kube_map map;
    struct bytes key; // len 0 = what the expression matches
    struct relabel_regex regex;
    struct relabel_template tag; // with a key: one text
    struct bytes name;           // of the attribute, with a key
};

void k8s_label_check(const struct config_structs *list, const char *key, const struct component_check *check);

// The rules of both lists, in the arena.
struct k8s_label_rules {
    struct k8s_label_rule *items;
    size_t count;
};
enum err_code k8s_label_rules_create(const struct config_structs *labels, const struct config_structs *annotations,
                                     struct arena *arena, struct k8s_label_rules *out, struct err *e) MUST_USE;
void k8s_label_rules_fini(struct k8s_label_rules *rules); // also of what create left half made

// Does this key become an attribute? Its name, if so; it is borrowed or lies in the arena. ERR_LIMIT, ERR_MEMORY.
enum err_code k8s_label_name(const struct k8s_label_rule *rule, struct bytes key, struct arena *arena, bool *taken_out,
                             struct bytes *name_out, struct err *e) MUST_USE;
bool k8s_label_takes(const struct k8s_label_rule *rule, struct bytes key);

#endif
