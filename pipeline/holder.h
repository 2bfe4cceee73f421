// SPDX-License-Identifier: Apache-2.0
// Holds deliveries for a processor that joins them, in groups, until one is large or old enough; a worker then makes one
// delivery of it. Each delivery keeps its ticket open meanwhile, and what its batch takes stays charged: who waits for the
// verdict goes on waiting, and nothing is promised before it is held further down. A processor that keeps for long
// (processor_hold.keeps) is a queue of its own instead: who waits hears held at once, and what goes on is offered
// (pipeline/offers.h) until it is held further down; final is told as ever.
#ifndef PIPELINE_HOLDER_H
#define PIPELINE_HOLDER_H

#include "pipeline/flush.h"

struct holder;

// meters must outlive it.
struct holder *holder_create(struct processor *p, const char *pipeline_id, const struct stage_meters *meters,
                             struct consumer *next);
// Takes the delivery over. Any thread; a worker, of a processor that keeps.
void holder_take(struct holder *h, struct delivery d);
// Lets go of all that is held; from now on nothing is. Once, from loop 0.
void holder_drain(struct holder *h);
// Of what was let go everything is held further down. Any thread, after a drain and while no worker is busy.
bool holder_idle(const struct holder *h);
void holder_close(struct holder *h);    // idle, nothing will come any more; from loop 0
void holder_destroy(struct holder **h); // drained, or never given anything

#endif
