// SPDX-License-Identifier: Apache-2.0
// The end of a pipeline: has the exporter encode the batch and adds the records to the ticket.
#ifndef PIPELINE_BRANCH_H
#define PIPELINE_BRANCH_H

#include "pipeline/consumer.h"
#include "pipeline/instance.h"

struct branch;

struct branch *branch_create(struct instance *exporter);
void branch_destroy(struct branch **b);
struct consumer *branch_consumer(struct branch *b);

#endif
