// SPDX-License-Identifier: Apache-2.0
// Inside processors/: what a cluster knows of a pod and of one of its containers, by the names of the semantic conventions.
#ifndef PROCESSORS_K8S_METADATA_H
#define PROCESSORS_K8S_METADATA_H

#include "kube/kube_snapshot.h"
#include "profile/value.h"

// A pod at hand.
struct k8s_view {
    const struct kube_snapshot *snapshot;
    const struct kube_object *pod;
    const struct kube_container *container; // NULL = it is not known which
    struct arena *arena;                    // of texts that are put together
    bool failed;                            // out of memory
};

struct k8s_metadata {
    const char *name;
    // False: it is not known. Texts are borrowed from the snapshot or lie in the arena.
    bool (*read)(struct k8s_view *v, const struct k8s_metadata *row, struct value *out);
    bool of_container;         // nothing is known without one
    bool likes_container;      // more is known with one
    enum kube_kind kind;       // what it tells of
    bool is_uid;               // and which
    const char *const *labels; // of the pod, that it is made of; NULL = none
    bool has_annotation;       // of the pod: resource.opentelemetry.io/NAME goes before everything else
};

// Ends with a row without a name.
extern const struct k8s_metadata k8s_metadata[];
// NULL = there is none.
const struct k8s_metadata *k8s_metadata_find(const char *name);

#define K8S_ANNOTATION_PREFIX "resource.opentelemetry.io/"

// The object of this kind that the pod is part of; NULL if it is not known.
const struct kube_object *k8s_object_of(struct k8s_view *v, enum kube_kind kind);

enum { K8S_ADDRESS_TEXT = 46 };
struct bytes k8s_address_print(const struct ip_address *address, char out[K8S_ADDRESS_TEXT]); // returns out

// "registry:5000/shop/cart:1.2@sha256:..."; parts that are missing are empty.
struct k8s_image {
    struct bytes name, tag, digest;
};
struct k8s_image k8s_image_parse(struct bytes text);

#endif
