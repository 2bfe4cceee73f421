// SPDX-License-Identifier: Apache-2.0
// How the API names what we ask for: paths, selectors, and the rule that permits it.
#ifndef KUBE_KUBE_RESOURCE_H
#define KUBE_KUBE_RESOURCE_H

#include "base/buf.h"
#include "kube/kube_watch.h"

struct kube_resource {
    const char *group; // "" = core
    const char *plural;
    bool of_cluster; // it belongs to no namespace
    bool whole;      // its metadata is not enough
};

// Of a kind that is watched: not KUBE_CRONJOB.
const struct kube_resource *kube_resource_of(enum kube_kind kind);

// What is the same for all requests of a kind: "/api/v1/namespaces/shop/pods?fieldSelector=...&", so that parameters may
// follow. node: of settings->node or its variable; NULL = all.
void kube_resource_write(enum kube_kind kind, const struct kube_watch_settings *settings, const char *node,
                         struct buf *path);
// Percent-encodes a parameter's value.
void kube_query_escape(struct bytes value, struct buf *out);
// What RBAC must have, and where: `{apiGroups: ["apps"], resources: ["replicasets"], verbs: ["list", "watch"]} in its
// ClusterRole`. namespace_name: of the filter, or NULL.
void kube_resource_rule(enum kube_kind kind, const char *namespace_name, struct buf *out);

#endif
