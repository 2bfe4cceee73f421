// SPDX-License-Identifier: Apache-2.0
// The contract of processors: no I/O, no formats. To add one: a file like processors/resource.c, one line in
// processors/processors.c, one in CMakeLists.txt, a test, a block in config.example.yaml, a page in docs/processors/.
#ifndef PROCESSORS_PROCESSOR_H
#define PROCESSORS_PROCESSOR_H

#include "pipeline/component.h"
#include "pipeline/consumer.h"
#include "profile/batch.h"

struct processor_module;

enum hold_sizer { HOLD_SAMPLES, HOLD_PROFILES, HOLD_BYTES };

// Senders do not wait for longer: a Collector gives up after 5 s, and sends again.
#define HOLD_WAITS_NANOS (2 * NANOS_PER_SECOND)

// How long deliveries wait for each other, so that a processor can join them. Their senders wait with them, and hear what
// became of the whole.
struct processor_hold {
    int64_t longest_nanos; // 0 = nothing waits
    // Longer than a sender can wait (HOLD_WAITS_NANOS): it hears that what it sent is kept, here. Not of what takes_unread.
    bool keeps;
    uint64_t enough; // of what sizer counts: so much goes on at once; 0 = time alone counts
    enum hold_sizer sizer;
    const struct config_strings *keys; // attributes of resources; what differs in one is not joined. NULL = none
    uint64_t most_groups;              // at a time, or the oldest goes on; 0 = no bound
};

struct processor {
    struct component component;
    const struct processor_module *module;
    // Set by create when process reads and changes the attributes of resources and scopes alone: it is given unread
    // batches (profile/origin.h), too.
    bool takes_unread;
    struct processor_hold hold; // set by create, of a processor that joins
};

struct processor_module {
    struct module module;
    // One batch at a time, in order; otherwise process may run on several workers at once.
    bool serial;
    enum err_code (*create)(struct processor *self, const void *settings, struct err *e);
    // Loop thread, before the receivers start. May be NULL.
    enum err_code (*start)(struct processor *self, struct err *e);
    // Loop thread, after start, asked until it is no longer ERR_UNAVAILABLE: the receivers start then. Another error ends
    // the program. NULL = ready at once.
    enum err_code (*ready)(struct processor *self, struct err *e);
    // Loop thread, once nothing is on its way: calls component_stopped (also after a failed start) once quiet. NULL =
    // nothing to stop.
    void (*stop)(struct processor *self);
    // Changes *batch (replacing the reference), leaves it, or sets it to NULL to drop it on purpose. An error
    // is counted and logged by the driver; *batch must then be as it came.
    enum err_code (*process)(struct processor *self, struct batch **batch, const struct sender *from, struct err *e);
    // Of one that takes_unread, asked before process with a batch that is unread: true = it is opened first, as not all that
    // counts is to be seen from outside. NULL = it always is.
    bool (*wants_samples)(struct processor *self, const struct batch *b, const struct sender *from);
    // Instead of process, of a processor that changes nothing: false = the delivery ends here with this verdict. Counted
    // by the driver. The batch may be unread, if takes_unread.
    bool (*admit)(struct processor *self, const struct batch *b, struct verdict *refusal);
    // Any thread, before a request is read: false while any delivery would be refused. NULL = it never is.
    bool (*has_room)(struct processor *self, struct verdict *refusal);
    // Instead of process, of a processor that holds deliveries (pipeline/holder.h): makes batches, in one malloc'ed list,
    // of those that were held; may run on several workers at once. Of a single one it is called, too (then alone it may be
    // unread, if takes_unread). After an error, each of several is tried by itself.
    enum err_code (*join)(struct processor *self, struct batch *const *batches, size_t count, struct batch ***out,
                          size_t *count_out, struct err *e);
    void (*destroy)(struct processor *self);
};

#endif
