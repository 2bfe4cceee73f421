// SPDX-License-Identifier: Apache-2.0
#include "pipeline/instance.h"

#include "base/mem.h"
#include "exporters/exporter.h"
#include "extensions/extension.h"
#include "pipeline/attributes.h"
#include "processors/processor.h"
#include "receivers/receiver.h"

static const struct metric_family outcome_families[] = {
    [RECEIVER_ACCEPTED] = {"otelcol_receiver_accepted_profile_samples", "Samples that entered the pipeline.",
                           METRIC_COUNTER},
    [RECEIVER_REFUSED] = {"otelcol_receiver_refused_profile_samples",
                          "Samples the pipeline could not take now; their sender keeps them.", METRIC_COUNTER},
    [RECEIVER_FAILED] = {"otelcol_receiver_failed_profile_samples",
                         "Samples (or inputs, where samples cannot be counted) that are not readable.", METRIC_COUNTER},
};

void receiver_count(struct receiver *self, unsigned transport, enum receiver_outcome outcome, uint64_t samples)
{
    metric_add(self->component.instance->outcomes[transport][outcome], (int64_t)samples);
}

static void make_outcomes(struct instance *i, const char *transport, struct metric *outcomes[])
{
    const struct metric_label labels[] = {{"receiver", i->plan->id}, {"transport", transport}};
    for (size_t o = 0; o < COUNT_OF(outcome_families); o++)
        outcomes[o] = metrics_series(i->component->env->metrics, &outcome_families[o], labels, COUNT_OF(labels));
}

static void prepare_receiver(struct instance *i, struct arena *arena)
{
    struct receiver *r = (struct receiver *)i->component;
    const struct receiver_settings *common = i->plan->common;
    r->module = CONTAINER_OF(i->plan->module, struct receiver_module, module);
    r->resource_attributes = attribute_list(arena, &common->resource_attributes);
    r->resource_attribute_count = (uint32_t)common->resource_attributes.count;
    _Static_assert(RECEIVER_TRANSPORTS == COUNT_OF(i->outcomes), "one row each");
    for (size_t t = 0; t < RECEIVER_TRANSPORTS; t++)
        if (r->module->transports[t] != NULL)
            make_outcomes(i, r->module->transports[t], i->outcomes[t]);
}

static enum err_code create_module(struct instance *i, struct arena *arena, struct err *e)
{
    const struct component_plan *p = i->plan;
    switch (p->kind) {
    case KIND_RECEIVER: {
        prepare_receiver(i, arena);
        struct receiver *r = (struct receiver *)i->component;
        return r->module->create(r, p->settings, e);
    }
    case KIND_PROCESSOR: {
        struct processor *c = (struct processor *)i->component;
        c->module = CONTAINER_OF(p->module, struct processor_module, module);
        return c->module->create(c, p->settings, e);
    }
    case KIND_EXPORTER: {
        struct exporter *x = (struct exporter *)i->component;
        x->module = CONTAINER_OF(p->module, struct exporter_module, module);
        return x->module->create(x, p->settings, e);
    }
    default: {
        struct extension *x = (struct extension *)i->component;
        x->module = CONTAINER_OF(p->module, struct extension_module, module);
        return x->module->create(x, p->settings, e);
    }
    }
}

enum err_code instance_create(struct instance *i, const struct component_plan *plan, struct loop *loop,
                              const struct component_env *env, struct log *log, struct arena *arena,
                              struct instance_owner *owner, struct err *e)
{
    i->plan = plan;
    i->owner = owner;
    i->component = mem_alloc(plan->module->instance_size);
    *i->component = (struct component){
        .kind = kind_names[plan->kind],
        .id = plan->id,
        .log = {log, kind_names[plan->kind], plan->id},
        .loop = loop,
        .env = env,
        .instance = i,
    };
    i->created = true;
    enum err_code rc = create_module(i, arena, e);
    if (rc != ERR_OK)
        err_prefix(e, "%s.%s", kind_sections[plan->kind], plan->id);
    return rc;
}

struct start_call {
    struct instance *instance;
    enum err_code rc;
    struct err *e;
};

static void run_start(void *arg)
{
    struct start_call *c = arg;
    struct component *component = c->instance->component;
    switch (c->instance->plan->kind) {
    case KIND_RECEIVER: {
        struct receiver *r = (struct receiver *)component;
        c->rc = r->module->start(r, c->e);
        return;
    }
    case KIND_EXPORTER: {
        struct exporter *x = (struct exporter *)component;
        c->rc = x->module->start != NULL ? x->module->start(x, c->e) : ERR_OK;
        return;
    }
    case KIND_EXTENSION: {
        struct extension *x = (struct extension *)component;
        c->rc = x->module->start != NULL ? x->module->start(x, c->e) : ERR_OK;
        return;
    }
    default: {
        struct processor *p = (struct processor *)component;
        c->rc = p->module->start != NULL ? p->module->start(p, c->e) : ERR_OK;
    }
    }
}

enum err_code instance_start(struct instance *i, struct err *e)
{
    struct start_call call = {.instance = i, .e = e};
    i->started = true;
    loop_call(i->component->loop, run_start, &call);
    if (call.rc != ERR_OK)
        err_prefix(e, "%s.%s", kind_sections[i->plan->kind], i->plan->id);
    return call.rc;
}

enum err_code instance_ready(struct instance *i, struct err *e)
{
    struct processor *p = (struct processor *)i->component;
    enum err_code rc = p->module->ready != NULL ? p->module->ready(p, e) : ERR_OK;
    if (rc != ERR_OK)
        err_prefix(e, "%s.%s", kind_sections[i->plan->kind], i->plan->id);
    return rc;
}

static void run_close(void *arg)
{
    struct receiver *r = (struct receiver *)((struct instance *)arg)->component;
    r->module->close(r);
}

void instance_close(struct instance *i)
{
    if (i->started)
        loop_call(i->component->loop, run_close, i);
}

static void run_cancel(void *arg)
{
    struct exporter *x = (struct exporter *)((struct instance *)arg)->component;
    if (x->module->cancel != NULL)
        x->module->cancel(x);
}

void instance_cancel(struct instance *i)
{
    loop_call(i->component->loop, run_cancel, i);
}

static void run_stopped(struct loop_task *task)
{
    struct instance *i = CONTAINER_OF(task, struct instance, stopped_task);
    i->stopped = true;
    i->owner->on_stopped(i->owner, i);
}

void component_stopped(struct component *c)
{
    c->instance->stopped_task.run = run_stopped;
    loop_post(c->instance->owner->loop, &c->instance->stopped_task);
}

static void run_stop(void *arg)
{
    struct component *component = ((struct instance *)arg)->component;
    switch (((struct instance *)arg)->plan->kind) {
    case KIND_RECEIVER: {
        struct receiver *r = (struct receiver *)component;
        r->module->stop(r);
        return;
    }
    case KIND_EXPORTER: {
        struct exporter *x = (struct exporter *)component;
        x->module->stop(x);
        return;
    }
    case KIND_EXTENSION: {
        struct extension *x = (struct extension *)component;
        x->module->stop(x);
        return;
    }
    default: {
        struct processor *p = (struct processor *)component;
        if (p->module->stop != NULL)
            p->module->stop(p);
        else
            component_stopped(component);
    }
    }
}

void instance_stop(struct instance *i)
{
    if (i->started)
        loop_call(i->component->loop, run_stop, i);
    else
        component_stopped(i->component);
}

static void destroy_module(struct instance *i)
{
    struct component *component = i->component;
    switch (i->plan->kind) {
    case KIND_RECEIVER: {
        struct receiver *r = (struct receiver *)component;
        r->module->destroy(r);
        return;
    }
    case KIND_PROCESSOR: {
        struct processor *c = (struct processor *)component;
        c->module->destroy(c);
        return;
    }
    case KIND_EXPORTER: {
        struct exporter *x = (struct exporter *)component;
        x->module->destroy(x);
        return;
    }
    default: {
        struct extension *x = (struct extension *)component;
        x->module->destroy(x);
        return;
    }
    }
}

void instance_destroy(struct instance *i)
{
    if (!i->created)
        return;
    destroy_module(i);
    free(i->component);
    i->component = NULL;
    i->created = false;
}
