// SPDX-License-Identifier: Apache-2.0
// What is known of a cluster's objects: of each, the few fields that describe profiles. Objects are sealed and counted;
// texts are borrowed from the one block that each object is.
#ifndef KUBE_KUBE_MODEL_H
#define KUBE_KUBE_MODEL_H

#include "base/check.h"
#include "base/ip_address.h"

#include <stdatomic.h>
#include <stdint.h>

enum kube_kind {
    KUBE_POD,
    KUBE_NAMESPACE,
    KUBE_NODE,
    KUBE_REPLICASET,
    KUBE_DEPLOYMENT,
    KUBE_STATEFULSET,
    KUBE_DAEMONSET,
    KUBE_JOB,
    KUBE_CRONJOB, // only as an owner: it is not watched
    KUBE_NO_KIND, // owners that we know nothing of
};
enum { KUBE_KINDS = KUBE_NO_KIND };

// What an object says about itself by keys.
enum kube_map { KUBE_LABELS, KUBE_ANNOTATIONS, KUBE_MAPS };

struct kube_pair {
    struct bytes key, value;
};

struct kube_owner { // the one that is the controller (or the only one)
    enum kube_kind kind;
    struct bytes name, uid;
};

struct kube_container { // init and ephemeral ones, too
    struct bytes name;
    struct bytes id, last_id; // without scheme ("containerd://"); of the one before it was restarted
    struct bytes image;       // as the pod asked for it
    struct bytes image_id;    // as the node runs it: with a digest, without scheme ("docker-pullable://")
    uint32_t restart_count;
    bool is_init, is_ephemeral;
};

struct kube_pod {
    struct bytes node_name, hostname;
    struct bytes start_time; // as the API writes it: RFC 3339
    int64_t start_nanos;     // the same since 1970; 0 = not known
    int64_t end_nanos;       // of one that is done: when its last container ended; 0 = not known
    const struct ip_address *addresses;
    const struct kube_container *containers;
    uint32_t address_count, container_count;
    bool host_network; // its addresses are the node's
    bool is_done;      // Succeeded or Failed: its addresses may be another's
};

struct kube_object {
    _Atomic uint32_t refs;
    enum kube_kind kind;
    size_t bytes;                // of memory
    struct bytes namespace_name; // empty: of the cluster
    struct bytes name, uid;
    struct bytes resource_version;
    struct kube_owner owner;                 // KUBE_NO_KIND = none
    const struct kube_pair *maps[KUBE_MAPS]; // only those that somebody asks for
    uint32_t map_counts[KUBE_MAPS];
    // Wall time, set by the store while others read: when it was gone; 0 = it is there.
    _Atomic int64_t deleted_nanos;
    struct kube_pod pod; // of a pod
};

// "Pod"; of what has no kind "none".
const char *kube_kind_name(enum kube_kind kind);

// A copy in one block, with one reference: of a draft whose parts are borrowed from anywhere. NULL: memory is out.
struct kube_object *kube_object_create(const struct kube_object *draft) MUST_USE;
struct kube_object *kube_object_ref(struct kube_object *o); // returns o
void kube_object_unref(struct kube_object **o);
// The value of a label or an annotation; false if there is none.
bool kube_object_find(const struct kube_object *o, enum kube_map map, const char *key, struct bytes *out);

// "abc" of "containerd://abc" and of "abc".
struct bytes kube_without_scheme(struct bytes id);

#endif
