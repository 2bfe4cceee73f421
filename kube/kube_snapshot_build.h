// SPDX-License-Identifier: Apache-2.0
// How the store makes a snapshot. Internal to the two.
#ifndef KUBE_KUBE_SNAPSHOT_BUILD_H
#define KUBE_KUBE_SNAPSHOT_BUILD_H

#include "kube/kube_snapshot.h"

// Takes references of its own. NULL: memory is out.
struct kube_snapshot *kube_snapshot_build(struct kube_object *const *objects, uint32_t count) MUST_USE;

#endif
