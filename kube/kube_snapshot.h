// SPDX-License-Identifier: Apache-2.0
// All objects of a watch at one moment: immutable, counted, read from any thread. A lookup takes less than a microsecond
// and allocates nothing; what it finds lives as long as the snapshot.
#ifndef KUBE_KUBE_SNAPSHOT_H
#define KUBE_KUBE_SNAPSHOT_H

#include "kube/kube_model.h"

struct kube_snapshot;

struct kube_snapshot *kube_snapshot_ref(struct kube_snapshot *s); // returns s
void kube_snapshot_unref(struct kube_snapshot **s);               // may be NULL

// NULL = not known.
const struct kube_object *kube_pod_by_uid(const struct kube_snapshot *s, struct bytes uid);
const struct kube_object *kube_pod_by_name(const struct kube_snapshot *s, struct bytes namespace_name,
                                           struct bytes name);
// Never one with hostNetwork. An address that several have had is that one's who had it at at_nanos (wall time); if none
// had it then, the newest one's that is there and not done. 0 = now: also of one that was there until lately.
const struct kube_object *kube_pod_by_address(const struct kube_snapshot *s, const struct ip_address *address,
                                              int64_t at_nanos);
// Does it matter when? Not for an address that one pod alone has had, and has now.
bool kube_address_needs_time(const struct kube_snapshot *s, const struct ip_address *address);
// id: with or without a scheme. The container's entry in *container_out.
const struct kube_object *kube_pod_by_container(const struct kube_snapshot *s, struct bytes id,
                                                const struct kube_container **container_out);
// Everything but pods. namespace_name is empty for what belongs to the cluster (namespaces, nodes).
const struct kube_object *kube_object_by_name(const struct kube_snapshot *s, enum kube_kind kind,
                                              struct bytes namespace_name, struct bytes name);
const struct kube_object *kube_object_by_uid(const struct kube_snapshot *s, enum kube_kind kind, struct bytes uid);

// Those that are there: not what is only still found.
size_t kube_snapshot_count(const struct kube_snapshot *s, enum kube_kind kind);
size_t kube_snapshot_bytes(const struct kube_snapshot *s); // of its tables, without the objects

#endif
