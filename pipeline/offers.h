// SPDX-License-Identifier: Apache-2.0
// Offers deliveries to the next consumer again and again until they are held there. For a stage that keeps what it took:
// who sent it has been told so, and will not offer it again.
#ifndef PIPELINE_OFFERS_H
#define PIPELINE_OFFERS_H

#include "pipeline/component.h"
#include "pipeline/consumer.h"

struct offers;

// loop: where its timer runs.
struct offers *offers_create(const struct component_env *env, struct loop *loop, struct consumer *next);
// Takes the delivery over. Any thread.
void offers_take(struct offers *o, struct delivery d);
// From now on the next try comes soon. Loop 0.
void offers_drain(struct offers *o);
// Nothing waits for another try. Any thread; what is being tried has a worker busy.
bool offers_idle(const struct offers *o);
void offers_close(struct offers *o); // idle, for good; its loop must still run
void offers_destroy(struct offers **o);

#endif
