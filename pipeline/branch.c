// SPDX-License-Identifier: Apache-2.0
#include "pipeline/branch.h"

#include "base/mem.h"
#include "base/text.h"
#include "exporters/exporter.h"

struct branch {
    struct consumer consumer;
    struct instance *instance;
    struct metric *failed;
};

static const struct metric_family failed_family = {"profrelay_exporter_encode_failed_profile_samples",
                                                   "Samples that could not be encoded for this exporter.",
                                                   METRIC_COUNTER};

static void fail(struct branch *b, struct delivery *d, enum err_code rc, const struct err *e)
{
    metric_add(b->failed, (int64_t)d->batch->sample_count);
    log_error(&b->instance->component->log, "cannot encode %s: %s", TEXT_COUNT(d->batch->profile_count, "profile"),
              e->text);
    struct verdict v = verdict_make(rc == ERR_MEMORY ? VERDICT_RETRY : VERDICT_REFUSED, "%s", e->text);
    delivery_end(d, &v);
}

static bool takes_unread(struct exporter *x, const struct batch *batch)
{
    return x->module->takes_unread != NULL && x->module->takes_unread(x, batch);
}

static void branch_take(struct consumer *self, struct delivery d)
{
    struct branch *b = (struct branch *)self;
    struct exporter *x = (struct exporter *)b->instance->component;
    struct record_list records;
    struct err e = {0};
    record_list_init(&records);
    enum err_code rc = takes_unread(x, d.batch) ? ERR_OK : delivery_open(&d, &e);
    if (rc == ERR_OK)
        rc = x->module->encode(x, d.batch, &records, &e);
    if (rc != ERR_OK) {
        record_list_fini(&records);
        fail(b, &d, rc, &e);
        return;
    }
    for (struct record *r = record_list_take(&records), *next; r != NULL; r = next) {
        next = r->next;
        ticket_add_record(d.ticket, b->instance->queue, r);
    }
    const struct verdict v = record_list_verdict(&records);
    record_list_fini(&records);
    delivery_end(&d, &v);
}

static bool branch_has_room(struct consumer *self, struct verdict *refusal)
{
    const struct branch *b = (const struct branch *)self;
    return b->instance->queue == NULL || queue_has_room(b->instance->queue, refusal);
}

struct branch *branch_create(struct instance *exporter)
{
    struct branch *b = MEM_NEW(struct branch);
    const struct metric_label label = {"exporter", exporter->plan->id};
    b->consumer.take = branch_take;
    b->consumer.has_room = branch_has_room;
    b->instance = exporter;
    b->failed = metrics_series(exporter->component->env->metrics, &failed_family, &label, 1);
    return b;
}

void branch_destroy(struct branch **b)
{
    free(*b);
    *b = NULL;
}

struct consumer *branch_consumer(struct branch *b)
{
    return &b->consumer;
}
