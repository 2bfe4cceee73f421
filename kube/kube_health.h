// SPDX-License-Identifier: Apache-2.0
// What is told of how the API serves one kind: when that changes, and once.
#ifndef KUBE_KUBE_HEALTH_H
#define KUBE_KUBE_HEALTH_H

#include "kube/kube_api.h"

struct kube_health {
    struct kube_api *api;
    enum kube_kind kind;
    const char *namespace_name;       // that is asked for; NULL = all
    const char *troubled, *forbidden; // what is: "list", "watch"; NULL = nothing
};

// verb: "list", "watch". A list that works says nothing of watches: one behind the other, they would be told again and
// again.
void kube_health_served(struct kube_health *h, const char *verb);
// why: one sentence.
void kube_health_troubled(struct kube_health *h, const char *verb, const char *why);
// It must not be had (403), or is not there (404): with the rule that is missing.
void kube_health_forbidden(struct kube_health *h, const char *verb, int status, const char *why);

#endif
