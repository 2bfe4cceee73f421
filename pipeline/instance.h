// SPDX-License-Identifier: Apache-2.0
// Components made from a plan: allocation, naming, the calls of their life cycle on their own loop.
#ifndef PIPELINE_INSTANCE_H
#define PIPELINE_INSTANCE_H

#include "pipeline/plan.h"

struct instance_owner;

struct instance {
    const struct component_plan *plan;
    struct component *component;    // the module's struct; begins with struct component
    struct queue *queue;            // exporters
    struct shared_mailbox *mailbox; // serial processors; of the stages that drive it
    bool created, started, stopped;
    struct loop_task stopped_task; // brings "stopped" to loop 0
    struct instance_owner *owner;
    struct metric *outcomes[2][3]; // receivers: by transport and enum receiver_outcome
};

// Hears on loop 0 that an instance has stopped.
struct instance_owner {
    struct loop *loop;
    void (*on_stopped)(struct instance_owner *owner, struct instance *instance);
};

// Creates (module->create). The instance must be zeroed; destroy it also after a failure.
enum err_code instance_create(struct instance *i, const struct component_plan *plan, struct loop *loop,
                              const struct component_env *env, struct log *log, struct arena *arena,
                              struct instance_owner *owner, struct err *e) MUST_USE;
// On the component's loop, waiting for it.
enum err_code instance_start(struct instance *i, struct err *e) MUST_USE;
// Processors, which are on loop 0, there: ERR_UNAVAILABLE = not yet.
enum err_code instance_ready(struct instance *i, struct err *e) MUST_USE;
void instance_close(struct instance *i);  // receivers
void instance_cancel(struct instance *i); // exporters
void instance_stop(struct instance *i);   // on_stopped follows, at once for those never created
void instance_destroy(struct instance *i);

#endif
