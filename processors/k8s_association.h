// SPDX-License-Identifier: Apache-2.0
// Inside processors/: which pod a resource, or samples of it, came from.
#ifndef PROCESSORS_K8S_ASSOCIATION_H
#define PROCESSORS_K8S_ASSOCIATION_H

#include "pipeline/component.h"
#include "pipeline/consumer.h"
#include "processors/k8s_metadata.h"

enum { K8S_SOURCES_MAX = 4, K8S_ASSOCIATIONS_MAX = 32, K8S_SLOTS_MAX = K8S_SOURCES_MAX * K8S_ASSOCIATIONS_MAX + 2 };

enum k8s_from { K8S_CONNECTION, K8S_RESOURCE, K8S_PROFILE, K8S_SAMPLE };

struct k8s_source_settings {
    int from; // enum k8s_from
    const char *name;
};

// An item of pod_association.
struct k8s_association_settings {
    struct config_structs sources; // of struct k8s_source_settings
};

extern const struct field k8s_association_fields[];
void k8s_association_check(const struct config_structs *list, const struct component_check *check);

// What a source says of a pod.
enum k8s_key { K8S_ADDRESS, K8S_UID, K8S_CONTAINER_ID, K8S_POD_NAME, K8S_NAMESPACE, K8S_OTHER };

struct k8s_source {
    enum k8s_from from;
    enum k8s_key key;
    struct bytes name;
    uint32_t slot;                  // of profile and sample: which of k8s_associations.names
    const struct k8s_metadata *row; // K8S_OTHER
};

struct k8s_association {
    struct k8s_source sources[K8S_SOURCES_MAX];
    uint32_t count;
    const char *name;            // "resource_attribute:k8s.pod.uid,connection"
    bool of_samples;             // some source is in profiles or samples
    bool of_connection;          // some source is the connection
    bool names_pod;              // who has what it asks for says which pod it is; host.name may be the node's
    struct metric *found, *lost; // NULL: nobody counts
};

struct k8s_associations {
    struct k8s_association *items;
    uint32_t count, first_of_samples; // count = none is
    // Attributes of profiles and samples that are looked at: those of sources, then those that only tell the container.
    struct bytes names[K8S_SLOTS_MAX];
    uint32_t name_count, source_name_count;
    uint32_t container_id, container_name; // slots
};

// The defaults if the list is empty. What they need is in the arena.
void k8s_associations_init(struct k8s_associations *a, const struct config_structs *list, struct arena *arena);
// What is to be associated.
struct k8s_subject {
    const struct kube_snapshot *snapshot;
    const struct resource *resource;
    const struct sender *from;
    int64_t at_nanos;                                   // when its addresses were its; 0 = now
    const struct value *const *profile, *const *sample; // by slot; NULL = not looked at
    bool names_pod;  // it, or some of its samples, said which pod it is: the connection has no say then
    bool needs_time; // it has an address that several have had, and at_nanos is 0
};

struct k8s_found {
    const struct kube_object *pod;          // NULL = none
    const struct kube_container *container; // if that is what it was found by
    const struct k8s_association *by;       // or the first that had all it asks for, and found nothing; NULL = none had
    struct bytes text;                      // of it: what was looked for first; empty: the address
    struct ip_address address;
};

// The rules from `first` up to `end`, in order; true once one finds a pod.
bool k8s_associate(const struct k8s_associations *a, uint32_t first, uint32_t end, struct k8s_subject *subject,
                   struct k8s_found *out);
// False: there is no value, or it is no text, or empty.
bool k8s_text_of(const struct value *v, struct bytes *out);

#endif
