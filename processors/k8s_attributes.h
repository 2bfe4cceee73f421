// SPDX-License-Identifier: Apache-2.0
#ifndef PROCESSORS_K8S_ATTRIBUTES_H
#define PROCESSORS_K8S_ATTRIBUTES_H

#include "kube/kube_watch.h"
#include "processors/processor.h"

// What the processor knows from now on, instead of what its watch tells; takes over the reference. So the downward API
// is read, and tests and the bench need no API server. Any thread.
void k8s_attributes_publish(struct processor *self, struct kube_snapshot *s);

// What it wants to know of the cluster. Lives as long as the processor.
void k8s_attributes_needs(struct processor *self, struct kube_needs *out);

#endif
