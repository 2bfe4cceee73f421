// SPDX-License-Identifier: Apache-2.0
#include "pipeline/flush.h"

#include "base/mem.h"
#include "base/text.h"

// Deliveries on their way to a worker.
struct flush {
    struct job job;
    const struct flush_target *target;
    struct delivery_list list;
};

void processor_fail(struct processor *p, const struct stage_meters *meters, struct delivery *d, enum err_code rc,
                    const struct err *e)
{
    const struct component *c = &p->component;
    metric_add(meters->failed, (int64_t)d->batch->sample_count);
    log_error(&c->log, "cannot process a batch of %s: %s", TEXT_COUNT(d->batch->sample_count, "sample"), e->text);
    struct verdict v =
        verdict_make(rc == ERR_MEMORY ? VERDICT_RETRY : VERDICT_REFUSED, "processor %s: %s", c->id, e->text);
    delivery_end(d, &v);
}

bool delivery_list_add(struct delivery_list *l, struct delivery d)
{
    if (!mem_try_grow(&l->items, &l->capacity, l->count + 1, sizeof d, UINT32_MAX))
        return false;
    ((struct delivery *)l->items)[l->count++] = d;
    return true;
}

struct parts {
    struct batch **items;
    size_t count;
};

static void drop_parts(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        batch_unref(&parts->items[i]);
    free(parts->items);
    *parts = (struct parts){NULL, 0};
}

static enum err_code join_batches(const struct flush_target *to, struct batch *const *batches, size_t count,
                                  struct parts *out, struct err *e)
{
    const struct clock *clock = to->processor->component.env->clock;
    int64_t start = clock_monotonic_nanos(clock);
    *out = (struct parts){NULL, 0};
    enum err_code rc = to->processor->module->join(to->processor, batches, count, &out->items, &out->count, e);
    metric_add(to->meters->nanos, clock_monotonic_nanos(clock) - start);
    return rc;
}

static void hand_on(const struct flush_target *to, struct delivery d)
{
    metric_add(to->meters->outgoing, (int64_t)d.batch->sample_count);
    if (to->offers != NULL)
        offers_take(to->offers, d);
    else
        consumer_take(to->next, d);
}

static void send_part(const struct flush_target *to, struct delivery d, struct batch *part)
{
    batch_unref(&d.batch);
    d.batch = batch_ref(part);
    hand_on(to, d);
}

// All parts under the ticket of d.
static void send_parts(const struct flush_target *to, struct delivery *d, struct parts *parts)
{
    for (size_t i = 0; i + 1 < parts->count; i++)
        send_part(to, delivery_share(d), parts->items[i]);
    if (parts->count > 0)
        send_part(to, *d, parts->items[parts->count - 1]);
    else
        delivery_end(d, NULL);
    drop_parts(parts);
}

// What is kept goes on as it is: its sender has gone.
static void fail(const struct flush_target *to, struct delivery *d, enum err_code rc, const struct err *e)
{
    if (to->offers == NULL) {
        processor_fail(to->processor, to->meters, d, rc, e);
        return;
    }
    log_warn(&to->processor->component.log, "%s go on as they are: %s", TEXT_COUNT(d->batch->sample_count, "sample"),
             e->text);
    metric_add(to->meters->failed, (int64_t)d->batch->sample_count);
    hand_on(to, *d);
}

static void send_alone(const struct flush_target *to, struct delivery *d)
{
    struct parts parts = {NULL, 0};
    struct err e = {0};
    enum err_code rc = to->processor->takes_unread ? ERR_OK : delivery_open(d, &e);
    if (rc == ERR_OK)
        rc = join_batches(to, &d->batch, 1, &parts, &e);
    if (rc == ERR_OK)
        send_parts(to, d, &parts);
    else
        fail(to, d, rc, &e);
}

// Those that cannot be opened are not in the list afterwards.
static void open_all(const struct flush_target *to, struct delivery_list *list)
{
    struct delivery *d = list->items;
    size_t opened = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct err e = {0};
        enum err_code rc = delivery_open(&d[i], &e);
        if (rc == ERR_OK)
            d[opened++] = d[i];
        else
            fail(to, &d[i], rc, &e);
    }
    list->count = opened;
}

static bool join_parts(const struct flush_target *to, const struct delivery_list *list, struct parts *out)
{
    const struct delivery *d = list->items;
    struct batch **batches = mem_try_array(list->count, sizeof(struct batch *));
    struct err e = {0};
    if (batches == NULL)
        return false;
    for (size_t i = 0; i < list->count; i++)
        batches[i] = d[i].batch;
    enum err_code rc = join_batches(to, batches, list->count, out, &e);
    free(batches);
    if (rc != ERR_OK)
        log_warn(&to->processor->component.log, "cannot join %s, each goes on by itself: %s",
                 TEXT_COUNT(list->count, "part"), e.text);
    return rc == ERR_OK;
}

// What it takes beside the one before: parts of one delivery follow each other and share their dictionary.
static size_t memory_beside(const struct batch *b, const struct batch *before)
{
    bool shared = before != NULL && b->dictionary == before->dictionary;
    return batch_memory_bytes(b) - (shared ? b->dictionary->bytes : 0);
}

static bool join_deliveries(const struct flush_target *to, struct delivery_list *list, struct parts *parts,
                            size_t *charged, struct delivery *joint_out)
{
    struct budget *budget = to->processor->component.env->budget;
    if (!join_parts(to, list, parts))
        return false;
    size_t bytes = 0;
    for (size_t i = 0; i < parts->count; i++)
        bytes += memory_beside(parts->items[i], i > 0 ? parts->items[i - 1] : NULL);
    if (budget_try_change(budget, *charged, bytes)) // without room for what is larger, as it can be, it goes without
        *charged = bytes;
    struct batch *first = batch_ref(parts->count > 0 ? parts->items[0] : ((struct delivery *)list->items)[0].batch);
    if (delivery_join(first, list->items, list->count, budget, *charged, joint_out))
        return true;
    batch_unref(&first);
    drop_parts(parts);
    return false;
}

// The new batch takes no more than those it is made of, perhaps much less. false: all are as they were.
static bool send_joined(const struct flush_target *to, struct delivery_list *list)
{
    struct budget *budget = to->processor->component.env->budget;
    const struct delivery *d = list->items;
    struct parts parts = {NULL, 0};
    struct delivery joint;
    size_t bytes = 0;
    for (size_t i = 0; i < list->count; i++)
        bytes += memory_beside(d[i].batch, i > 0 ? d[i - 1].batch : NULL);
    if (!budget_try_take(budget, bytes))
        return false;
    if (!join_deliveries(to, list, &parts, &bytes, &joint)) {
        budget_give(budget, bytes);
        return false;
    }
    send_parts(to, &joint, &parts);
    return true;
}

static void run_flush(struct job *job)
{
    struct flush *f = CONTAINER_OF(job, struct flush, job);
    const struct flush_target *to = f->target;
    struct delivery *d = f->list.items;
    if (f->list.count > 1)
        open_all(to, &f->list);
    if (f->list.count < 2 || !send_joined(to, &f->list))
        for (size_t i = 0; i < f->list.count; i++)
            send_alone(to, &d[i]);
    free(f->list.items);
    free(f);
}

void flush_submit(const struct flush_target *to, struct delivery_list list)
{
    struct flush *f = MEM_NEW(struct flush);
    *f = (struct flush){.job.run = run_flush, .target = to, .list = list};
    workers_submit(to->processor->component.env->workers, &f->job);
}
