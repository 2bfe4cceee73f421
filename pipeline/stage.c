// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage.h"

#include "base/mem.h"
#include "pipeline/holder.h"
#include "pipeline/mailbox.h"
#include "profile/origin.h"

struct stage {
    struct consumer consumer;
    struct instance *instance;
    struct consumer *next;
    struct stage_meters meters;
    struct metric *refused; // of a processor that admits
    struct holder *holder;  // of a processor that joins
};

// Of a serial processor, shared by its stages in all pipelines.
struct shared_mailbox {
    struct mailbox mailbox;
    size_t stages;
};

struct arrival {
    struct letter letter;
    struct stage *stage;
    struct delivery delivery;
};

static const struct metric_family incoming_family = {"otelcol_processor_incoming_items",
                                                     "Samples that entered the processor.", METRIC_COUNTER};
static const struct metric_family outgoing_family = {"otelcol_processor_outgoing_items",
                                                     "Samples that left the processor.", METRIC_COUNTER};
static const struct metric_family failed_family = {
    "profrelay_processor_failed_items", "Samples the processor failed on; they did not go on.", METRIC_COUNTER};
static const struct metric_family refused_family = {"otelcol_processor_refused_profile_samples",
                                                    "Samples the processor did not let in; their sender keeps them.",
                                                    METRIC_COUNTER};
static const struct metric_family nanos_family = {"profrelay_processor_duration_nanoseconds",
                                                  "Time spent in the processor.", METRIC_COUNTER};

static enum err_code run_processor(struct stage *s, struct processor *p, struct delivery *d, struct err *e)
{
    const struct clock *clock = p->component.env->clock;
    int64_t start = clock_monotonic_nanos(clock);
    enum err_code rc = p->module->process(p, &d->batch, delivery_sender(d), e);
    metric_add(s->meters.nanos, clock_monotonic_nanos(clock) - start);
    return rc;
}

static bool must_open(struct processor *p, const struct delivery *d)
{
    if (!p->takes_unread)
        return true;
    return batch_is_unread(d->batch) && p->module->wants_samples != NULL &&
           p->module->wants_samples(p, d->batch, delivery_sender(d));
}

static void process(struct stage *s, struct delivery d)
{
    struct processor *p = (struct processor *)s->instance->component;
    struct err e = {0};
    metric_add(s->meters.incoming, (int64_t)d.batch->sample_count);
    enum err_code rc = must_open(p, &d) ? delivery_open(&d, &e) : ERR_OK;
    if (rc == ERR_OK)
        rc = run_processor(s, p, &d, &e);
    if (rc != ERR_OK) {
        processor_fail(p, &s->meters, &d, rc, &e);
        return;
    }
    if (d.batch == NULL) {
        delivery_end(&d, NULL);
        return;
    }
    metric_add(s->meters.outgoing, (int64_t)d.batch->sample_count);
    consumer_take(s->next, d);
}

static bool run_admit(struct stage *s, struct processor *p, const struct batch *b, struct verdict *refusal)
{
    const struct clock *clock = p->component.env->clock;
    int64_t start = clock_monotonic_nanos(clock);
    bool admitted = p->module->admit(p, b, refusal);
    metric_add(s->meters.nanos, clock_monotonic_nanos(clock) - start);
    return admitted;
}

static void admit(struct stage *s, struct delivery d)
{
    struct processor *p = (struct processor *)s->instance->component;
    struct verdict refusal = {.kind = VERDICT_RETRY};
    struct err e = {0};
    uint64_t samples = d.batch->sample_count;
    metric_add(s->meters.incoming, (int64_t)samples);
    enum err_code rc = p->takes_unread ? ERR_OK : delivery_open(&d, &e);
    if (rc != ERR_OK) {
        processor_fail(p, &s->meters, &d, rc, &e);
    } else if (run_admit(s, p, d.batch, &refusal)) {
        metric_add(s->meters.outgoing, (int64_t)samples);
        consumer_take(s->next, d);
    } else {
        metric_add(s->refused, (int64_t)samples);
        delivery_end(&d, &refusal);
    }
}

static void admitting_take(struct consumer *self, struct delivery d)
{
    admit((struct stage *)self, d);
}

static void stage_take(struct consumer *self, struct delivery d)
{
    process((struct stage *)self, d);
}

static void read_arrival(struct letter *letter)
{
    struct arrival *a = CONTAINER_OF(letter, struct arrival, letter);
    struct stage *s = a->stage;
    struct delivery d = a->delivery;
    free(a);
    process(s, d);
}

static void mailbox_take(struct consumer *self, struct delivery d)
{
    struct stage *s = (struct stage *)self;
    struct arrival *a = MEM_NEW(struct arrival);
    *a = (struct arrival){.letter.read = read_arrival, .stage = s, .delivery = d};
    mailbox_post(&s->instance->mailbox->mailbox, &a->letter);
}

static void mailbox_join(struct instance *processor)
{
    if (processor->mailbox == NULL) {
        processor->mailbox = MEM_NEW(struct shared_mailbox);
        mailbox_init(&processor->mailbox->mailbox, processor->component->env->workers);
    }
    processor->mailbox->stages++;
}

static void mailbox_leave(struct instance *processor)
{
    struct shared_mailbox *m = processor->mailbox;
    if (m == NULL || --m->stages != 0)
        return;
    mailbox_fini(&m->mailbox);
    free(m);
    processor->mailbox = NULL;
}

static void holder_stage_take(struct consumer *self, struct delivery d)
{
    struct stage *s = (struct stage *)self;
    metric_add(s->meters.incoming, (int64_t)d.batch->sample_count);
    holder_take(s->holder, d);
}

static void register_metrics(struct stage *s, const char *pipeline_id)
{
    struct metrics *m = s->instance->component->env->metrics;
    const struct metric_label labels[] = {{"processor", s->instance->plan->id}, {"pipeline", pipeline_id}};
    s->meters.incoming = metrics_series(m, &incoming_family, labels, 2);
    s->meters.outgoing = metrics_series(m, &outgoing_family, labels, 2);
    s->meters.failed = metrics_series(m, &failed_family, labels, 2);
    s->meters.nanos = metrics_series(m, &nanos_family, labels, 2);
    if (((struct processor *)s->instance->component)->module->admit != NULL)
        s->refused = metrics_series(m, &refused_family, labels, 2);
}

static bool stage_has_room(struct consumer *self, struct verdict *refusal)
{
    const struct stage *s = (struct stage *)self;
    struct processor *p = (struct processor *)s->instance->component;
    if (p->module->has_room != NULL && !p->module->has_room(p, refusal))
        return false;
    return consumer_has_room(s->next, refusal);
}

static void choose_take(struct stage *s, struct processor *p, const char *pipeline_id)
{
    s->consumer.take = stage_take;
    if (p->module->join != NULL) {
        s->holder = holder_create(p, pipeline_id, &s->meters, s->next);
        s->consumer.take = holder_stage_take;
    } else if (p->module->admit != NULL) {
        s->consumer.take = admitting_take;
    } else if (p->module->serial) {
        mailbox_join(s->instance);
        s->consumer.take = mailbox_take;
    }
}

struct stage *stage_create(struct instance *processor, const char *pipeline_id, struct consumer *next)
{
    struct stage *s = MEM_NEW(struct stage);
    s->instance = processor;
    s->next = next;
    s->consumer.has_room = stage_has_room;
    register_metrics(s, pipeline_id);
    choose_take(s, (struct processor *)processor->component, pipeline_id);
    return s;
}

void stage_drain(struct stage *s)
{
    if (s->holder != NULL)
        holder_drain(s->holder);
}

bool stage_idle(const struct stage *s)
{
    return s->holder == NULL || holder_idle(s->holder);
}

void stage_close(struct stage *s)
{
    if (s->holder != NULL)
        holder_close(s->holder);
}

void stage_destroy(struct stage **s)
{
    if ((*s)->holder != NULL)
        holder_destroy(&(*s)->holder);
    mailbox_leave((*s)->instance);
    free(*s);
    *s = NULL;
}

struct consumer *stage_consumer(struct stage *s)
{
    return &s->consumer;
}
