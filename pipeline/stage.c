// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage.h"

#include "base/mem.h"
#include "base/text.h"
#include "processors/processor.h"

struct stage {
    struct consumer consumer;
    struct instance *instance;
    struct consumer *next;
    struct metric *incoming, *outgoing, *failed, *nanos;
};

// Of a serial processor, shared by its stages in all pipelines: deliveries wait here; whoever brings the first
// letter submits the job.
struct mailbox {
    struct ring ring;
    _Atomic size_t letters; // waiting or being processed
    struct job drain_job;
    struct workers *workers;
    size_t stages;
};

struct letter {
    struct ring_node node;
    struct stage *stage;
    struct delivery delivery;
};

static const struct metric_family incoming_family = {"otelcol_processor_incoming_items",
                                                     "Samples that entered the processor.", METRIC_COUNTER};
static const struct metric_family outgoing_family = {"otelcol_processor_outgoing_items",
                                                     "Samples that left the processor.", METRIC_COUNTER};
static const struct metric_family failed_family = {
    "profrelay_processor_failed_items", "Samples the processor failed on; they did not go on.", METRIC_COUNTER};
static const struct metric_family nanos_family = {"profrelay_processor_duration_nanoseconds",
                                                  "Time spent in the processor.", METRIC_COUNTER};

static enum err_code run_processor(struct stage *s, struct processor *p, struct batch **batch, struct err *e)
{
    const struct clock *clock = p->component.env->clock;
    int64_t start = clock_monotonic_nanos(clock);
    enum err_code rc = p->module->process(p, batch, e);
    metric_add(s->nanos, clock_monotonic_nanos(clock) - start);
    return rc;
}

// A processor that fails ends the delivery: what it should have hidden or added must not go on without it.
static void fail(struct stage *s, struct delivery *d, enum err_code rc, const struct err *e)
{
    const struct component *c = s->instance->component;
    metric_add(s->failed, (int64_t)d->batch->sample_count);
    log_error(&c->log, "cannot process a batch of %s: %s", TEXT_COUNT(d->batch->sample_count, "sample"), e->text);
    struct verdict v =
        verdict_make(rc == ERR_MEMORY ? VERDICT_RETRY : VERDICT_REFUSED, "processor %s: %s", c->id, e->text);
    delivery_end(d, &v);
}

static void process(struct stage *s, struct delivery d)
{
    struct processor *p = (struct processor *)s->instance->component;
    struct err e = {0};
    metric_add(s->incoming, (int64_t)d.batch->sample_count);
    enum err_code rc = p->takes_unread ? ERR_OK : delivery_open(&d, &e);
    if (rc == ERR_OK)
        rc = run_processor(s, p, &d.batch, &e);
    if (rc != ERR_OK) {
        fail(s, &d, rc, &e);
        return;
    }
    if (d.batch == NULL) {
        delivery_end(&d, NULL);
        return;
    }
    metric_add(s->outgoing, (int64_t)d.batch->sample_count);
    consumer_take(s->next, d);
}

static void stage_take(struct consumer *self, struct delivery d)
{
    process((struct stage *)self, d);
}

// One letter per run, so that other work gets its turn; the job goes back behind what waits.
static void drain_mailbox(struct job *job)
{
    struct mailbox *m = CONTAINER_OF(job, struct mailbox, drain_job);
    struct letter *letter = (struct letter *)ring_take(&m->ring);
    CHECK(letter != NULL);
    struct stage *s = letter->stage;
    struct delivery d = letter->delivery;
    free(letter);
    process(s, d);
    if (atomic_fetch_sub(&m->letters, 1) != 1)
        workers_submit(m->workers, &m->drain_job);
}

static void mailbox_take(struct consumer *self, struct delivery d)
{
    struct stage *s = (struct stage *)self;
    struct mailbox *m = s->instance->mailbox;
    struct letter *letter = MEM_NEW(struct letter);
    letter->stage = s;
    letter->delivery = d;
    ring_post(&m->ring, &letter->node);
    if (atomic_fetch_add(&m->letters, 1) == 0)
        workers_submit(m->workers, &m->drain_job);
}

static void mailbox_join(struct instance *processor)
{
    struct mailbox *m = processor->mailbox;
    if (m == NULL) {
        m = processor->mailbox = MEM_NEW(struct mailbox);
        m->drain_job.run = drain_mailbox;
        m->workers = processor->component->env->workers;
        atomic_init(&m->letters, 0);
        ring_init(&m->ring, 0, 0, NULL, NULL);
    }
    m->stages++;
}

static void mailbox_leave(struct instance *processor)
{
    struct mailbox *m = processor->mailbox;
    if (m == NULL || --m->stages != 0)
        return;
    ring_fini(&m->ring);
    free(m);
    processor->mailbox = NULL;
}

static void register_metrics(struct stage *s, const char *pipeline_id)
{
    struct metrics *m = s->instance->component->env->metrics;
    const struct metric_label labels[] = {{"processor", s->instance->plan->id}, {"pipeline", pipeline_id}};
    s->incoming = metrics_series(m, &incoming_family, labels, 2);
    s->outgoing = metrics_series(m, &outgoing_family, labels, 2);
    s->failed = metrics_series(m, &failed_family, labels, 2);
    s->nanos = metrics_series(m, &nanos_family, labels, 2);
}

static bool stage_has_room(struct consumer *self, struct verdict *refusal)
{
    return consumer_has_room(((struct stage *)self)->next, refusal);
}

struct stage *stage_create(struct instance *processor, const char *pipeline_id, struct consumer *next)
{
    struct stage *s = MEM_NEW(struct stage);
    const struct processor *p = (const struct processor *)processor->component;
    s->instance = processor;
    s->next = next;
    s->consumer.take = p->module->serial ? mailbox_take : stage_take;
    s->consumer.has_room = stage_has_room;
    if (p->module->serial)
        mailbox_join(processor);
    register_metrics(s, pipeline_id);
    return s;
}

void stage_destroy(struct stage **s)
{
    mailbox_leave((*s)->instance);
    free(*s);
    *s = NULL;
}

struct consumer *stage_consumer(struct stage *s)
{
    return &s->consumer;
}
