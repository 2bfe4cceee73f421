// SPDX-License-Identifier: Apache-2.0
// Inside processors/: what k8s_pods.c (resources) and k8s_split.c (samples) share.
#ifndef PROCESSORS_K8S_WORK_H
#define PROCESSORS_K8S_WORK_H

#include "processors/k8s_pods.h"

// What the resources of a batch may take together, once they were changed; of those that are split see profile/regroup.h.
#define K8S_MAX_BYTES ((size_t)64 << 20)

struct k8s_work {
    const struct k8s_rules *rules;
    const struct kube_snapshot *snapshot;
    const struct sender *from;
    const struct batch *batch;
    struct k8s_list list;
    size_t bytes; // of the resources that were changed
};

struct k8s_pick {
    const struct kube_object *pod; // NULL = nothing is added
    const struct kube_container *container;
};

// About a resource by itself: its addresses were its when its first profile ended.
struct k8s_subject k8s_subject_of(const struct k8s_work *w, uint32_t resource);
// By the rules from `first` on.
void k8s_find(const struct k8s_work *w, uint32_t first, struct k8s_subject *subject, struct k8s_found *found);
// Counts what came of a look-up, and finds the container.
struct k8s_pick k8s_settle(const struct k8s_work *w, const struct k8s_subject *subject, const struct k8s_found *found);
// The resource's attributes and what is added to them, in w->list.
enum err_code k8s_make_list(struct k8s_work *w, uint32_t resource, struct k8s_pick pick, struct err *e) MUST_USE;

// k8s_split.c: the batch, whose samples may say which pods they are; true if some do: then it is done with all of it.
bool k8s_split(struct k8s_work *w, struct batch **batch, enum err_code *rc_out, struct err *e);

#endif
