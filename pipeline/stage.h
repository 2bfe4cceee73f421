// SPDX-License-Identifier: Apache-2.0
// Drives one processor: counts, times and names it; runs serial ones from a mailbox, one batch at a time.
#ifndef PIPELINE_STAGE_H
#define PIPELINE_STAGE_H

#include "pipeline/consumer.h"
#include "pipeline/instance.h"

struct stage;

struct stage *stage_create(struct instance *processor, const char *pipeline_id, struct consumer *next);
void stage_destroy(struct stage **s);
struct consumer *stage_consumer(struct stage *s);

#endif
