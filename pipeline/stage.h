// SPDX-License-Identifier: Apache-2.0
// Drives one processor: counts, times and names it; runs serial ones from a mailbox, one batch at a time; and
// those that join, by a holder.
#ifndef PIPELINE_STAGE_H
#define PIPELINE_STAGE_H

#include "pipeline/consumer.h"
#include "pipeline/instance.h"

struct stage;

struct stage *stage_create(struct instance *processor, const char *pipeline_id, struct consumer *next);
// Whatever it holds goes on, and nothing is held from now on. Once, from loop 0; its loop must still run.
void stage_drain(struct stage *s);
bool stage_idle(const struct stage *s); // see holder_idle
void stage_close(struct stage *s);
void stage_destroy(struct stage **s);
struct consumer *stage_consumer(struct stage *s);

#endif
