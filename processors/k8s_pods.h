// SPDX-License-Identifier: Apache-2.0
// Inside processors/: one batch and the pods that its profiles came from.
#ifndef PROCESSORS_K8S_PODS_H
#define PROCESSORS_K8S_PODS_H

#include "base/regex.h"
#include "processors/k8s_association.h"
#include "processors/k8s_extract.h"

// What one processor does, whatever the batch. Any thread.
struct k8s_rules {
    struct k8s_associations associations;
    struct k8s_extract extract;
    struct regex **excluded; // names of pods, found anywhere
    size_t excluded_count;
    struct bytes own_namespace, own_name; // of the pod that all is of that says nothing else; name empty = none
    // NULL: nobody counts.
    struct metric *own;               // look-ups that ended there
    struct metric *nameless;          // look-ups of what did not say which pod it is
    struct metric *ignored;           // those that led to excluded pods
    struct metric *missed_containers; // those whose container was asked for and is not known
    struct metric *unmatched_samples;
    // Once in a while: that no pod was found, by what.
    void (*on_lost)(void *arg, const struct k8s_found *lost);
    void *arg;
};

// Adds to each resource what its pod gives; of a batch that is not unread, samples of several pods go to a resource each.
// After a failure the batch is as it came.
enum err_code k8s_describe(const struct k8s_rules *rules, const struct kube_snapshot *snapshot,
                           const struct sender *from, struct batch **batch, struct err *e) MUST_USE;

// Of an unread batch: some resource is not found by itself, or by an address of which only the profiles' time says whose
// it was.
bool k8s_wants_samples(const struct k8s_rules *rules, const struct kube_snapshot *snapshot, const struct sender *from,
                       const struct batch *b);

// Adds k8s.pod.ip of who sent it, no more.
enum err_code k8s_pass_through(const struct sender *from, struct batch **batch, struct err *e) MUST_USE;

#endif
