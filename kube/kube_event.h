// SPDX-License-Identifier: Apache-2.0
// One event of a watch. Internal to the decoder.
#ifndef KUBE_KUBE_EVENT_H
#define KUBE_KUBE_EVENT_H

#include "kube/kube_object_reader.h"

struct kube_event_sink {
    void (*on_event)(void *arg, const struct kube_event *event);
    void *arg;
    uint64_t passed_over; // objects without name or uid
};

enum err_code kube_event_run(struct kube_object_reader *o, struct bytes json, struct kube_event_sink *sink,
                             struct err *e) MUST_USE;

#endif
