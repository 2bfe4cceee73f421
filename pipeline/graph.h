// SPDX-License-Identifier: Apache-2.0
// Pipelines: receivers hand deliveries to a chain of stages that ends in a fan-out over exporter branches.
#ifndef PIPELINE_GRAPH_H
#define PIPELINE_GRAPH_H

#include "pipeline/consumer.h"
#include "pipeline/instance.h"

struct graph;

// Joins created instances as the plan says; sets the receivers' next. find gives the instance of a plan.
struct graph *graph_create(const struct plan *plan, struct instance *(*find)(void *arg, const struct component_plan *),
                           void *arg);
// What processors hold goes on, and nothing is held from now on. Once, from loop 0. NULL = nothing to do.
void graph_drain(struct graph *g);
// Of what was let go everything is held by a queue. After a drain, while no worker is busy.
bool graph_idle(const struct graph *g);
void graph_close(struct graph *g); // idle, once; from loop 0
// Nothing may be on its way any more. Processor instances are not the graph's.
void graph_destroy(struct graph **g);

#endif
