// SPDX-License-Identifier: Apache-2.0
// Inside processors/: which attributes a pod gives to a resource.
#ifndef PROCESSORS_K8S_EXTRACT_H
#define PROCESSORS_K8S_EXTRACT_H

#include "base/index_table.h"
#include "kube/kube_decode.h"
#include "processors/k8s_labels.h"
#include "processors/k8s_metadata.h"

// The section `extract`.
struct k8s_extract_settings {
    struct config_strings metadata;
    struct config_structs labels, annotations; // of struct k8s_label_settings
    bool otel_annotations, deployment_name_from_replicaset;
};

extern const struct field k8s_extract_fields[];
void k8s_extract_check(const struct k8s_extract_settings *s, const struct component_check *check);

struct k8s_extract {
    const struct k8s_metadata **rows;
    size_t row_count;
    struct k8s_label_rules rules;
    bool otel_annotations;
    bool of_container; // some row tells of a container
    bool kinds[KUBE_KINDS];
};

// In place, with what it needs in the arena; fini in every case.
enum err_code k8s_extract_init(struct k8s_extract *x, const struct k8s_extract_settings *s, struct arena *arena,
                               struct err *e) MUST_USE;
void k8s_extract_fini(struct k8s_extract *x);
// Is this label or annotation needed? A kube_keep's keeps: arg is a struct k8s_extract. Any thread.
bool k8s_extract_keeps(void *arg, enum kube_kind kind, enum kube_map map, struct bytes key);

#define K8S_IGNORE_ANNOTATION "opentelemetry.io/k8s-processor.ignore"

// A list of attributes that grows. Keys and values are borrowed, or lie in the arena.
struct k8s_list {
    struct key_value *items;
    void *room; // items, to be freed
    size_t capacity;
    uint32_t count;
    bool changed;
    struct arena arena;
    struct index_table index; // of a long one, of its first `indexed` items
    uint32_t indexed;
};

void k8s_list_init(struct k8s_list *list);
void k8s_list_fini(struct k8s_list *list);
// Begins anew with these; what was put together before goes.
bool k8s_list_begin(struct k8s_list *list, const struct key_value *from, uint32_t count) MUST_USE;
// Unless there is one of this name that says something. False: out of memory.
bool k8s_list_put(struct k8s_list *list, struct bytes key, struct value v) MUST_USE;

// Adds what the pod gives; its container may be NULL.
enum err_code k8s_extract_run(const struct k8s_extract *x, const struct kube_snapshot *snapshot,
                              const struct kube_object *pod, const struct kube_container *container,
                              struct k8s_list *list, struct err *e) MUST_USE;

#endif
