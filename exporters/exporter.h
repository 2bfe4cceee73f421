// SPDX-License-Identifier: Apache-2.0
// The contract of exporters. To add one: a file like exporters/debug.c, one line in exporters/exporters.c, one
// in CMakeLists.txt, a test, a block in config.example.yaml, a page in docs/exporters/.
#ifndef EXPORTERS_EXPORTER_H
#define EXPORTERS_EXPORTER_H

#include "pipeline/component.h"
#include "pipeline/queue.h"
#include "pipeline/record.h"
#include "profile/batch.h"

struct exporter_module;

struct exporter {
    struct component component;
    const struct exporter_module *module;
};

struct exporter_module {
    struct module module;
    enum err_code (*create)(struct exporter *self, const void *settings, struct err *e);
    // Loop thread. May be NULL.
    enum err_code (*start)(struct exporter *self, struct err *e);
    // Worker thread, several at once (worker_current_index tells them apart): one or several records, in
    // order; none = nothing to send. What can never be sent is dropped, see record_list. The batch stays the caller's.
    enum err_code (*encode)(struct exporter *self, const struct batch *batch, struct record_list *out, struct err *e);
    // Worker thread: can encode do with this unread batch (profile/origin.h)? NULL = never: it is opened before.
    bool (*takes_unread)(struct exporter *self, const struct batch *batch);
    // Loop thread: one attempt; send_done exactly once, now or later. NULL = encode never makes records.
    void (*send)(struct exporter *self, struct send *s);
    // Worker thread, as encode: records with all of one that the peer refused as too large, then marked is_part, as
    // unreadable, or, if it is_divisible, as faulty, then marked was_cut; in order. ERR_MEMORY = may be tried again; any other
    // failure ends the record. May be NULL.
    enum err_code (*replace)(struct exporter *self, const struct record *r, const struct verdict *refusal,
                             struct record_list *out, struct err *e);
    // Loop thread: every send not done yet ends soon (as RETRY). May be NULL.
    void (*cancel)(struct exporter *self);
    // Loop thread, nothing is in flight: calls component_stopped (also after a failed start) once every handle is closed.
    void (*stop)(struct exporter *self);
    void (*destroy)(struct exporter *self);
};

#endif
