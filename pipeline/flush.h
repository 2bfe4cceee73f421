// SPDX-License-Identifier: Apache-2.0
// The end of a wait: on a worker, a processor joins the deliveries that were held, and one goes on in place of them.
#ifndef PIPELINE_FLUSH_H
#define PIPELINE_FLUSH_H

#include "pipeline/consumer.h"
#include "pipeline/offers.h"
#include "processors/processor.h"

struct stage_meters { // in samples, and nanoseconds
    struct metric *incoming, *outgoing, *failed, *nanos;
};

struct flush_target {
    struct processor *processor;
    const struct stage_meters *meters;
    struct consumer *next;
    struct offers *offers; // of a holder that keeps what it takes: what goes on is offered; NULL = handed on
};

struct delivery_list {
    void *items; // struct delivery[]
    size_t capacity, count;
};

bool delivery_list_add(struct delivery_list *l,
                       struct delivery d) MUST_USE; // false: out of memory, d stays the caller's

// Takes the list over. While the budget has no room for what they become, or they cannot be joined, each goes on by
// itself; where it is kept, as it is. Any thread; the target must outlive the job.
void flush_submit(const struct flush_target *to, struct delivery_list list);

// Ends a delivery that a processor failed on: what it should have hidden or added must not go on without it.
void processor_fail(struct processor *p, const struct stage_meters *meters, struct delivery *d, enum err_code rc,
                    const struct err *e);

#endif
