// SPDX-License-Identifier: Apache-2.0
// A queue with a peer that answers when the test says so, on the loop of the test's thread.
#ifndef TESTS_UNIT_PIPELINE_QUEUE_FIXTURE_H
#define TESTS_UNIT_PIPELINE_QUEUE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "pipeline/queue.h"
#include "tests/support/fake_modules.h"

#include <stdio.h>
#include <string.h>

struct shared {
    struct loop loop;
    struct budget budget;
    struct metrics *metrics;
    struct fake_world world; // for its clock
    struct log *log;
    FILE *log_stream;
    char *log_text;
    size_t log_size;
    bool have_copies; // senders, of what is offered from now on
};

static inline void shared_init(struct shared *s, size_t budget_bytes)
{
    *s = (struct shared){0};
    loop_init(&s->loop, 0);
    budget_init(&s->budget, budget_bytes);
    s->metrics = metrics_create();
    fake_world_init(&s->world);
    s->log_stream = open_memstream(&s->log_text, &s->log_size);
    const struct log_options options = {.stream = s->log_stream};
    s->log = log_create(&options);
}

// Runs what is ready: posted tasks, timers that are due.
static inline void shared_run(struct shared *s)
{
    for (int i = 0; i < 8; i++)
        uv_run(&s->loop.uv, UV_RUN_NOWAIT);
}

static inline const char *shared_log(struct shared *s)
{
    fflush(s->log_stream);
    return s->log_text;
}

static inline void shared_fini(struct shared *s)
{
    assert_int_equal(atomic_load(&s->budget.used), 0); // nothing leaks
    loop_stop(&s->loop);
    loop_fini(&s->loop);
    metrics_destroy(&s->metrics);
    log_destroy(&s->log);
    fclose(s->log_stream);
    free(s->log_text);
    fake_world_fini(&s->world);
}

enum { PEER_MAX = 64 };

struct peer {
    struct shared *shared;
    const char *id;
    struct queue_settings settings;
    struct retry_settings retry;
    struct queue *queue;
    bool auto_ok; // answers at once
    struct send *sends[PEER_MAX];
    size_t send_count, attempts;
    uint64_t last_samples;
    bool closed;
    // Of records that are too large. NULL: they cannot be split.
    struct workers *workers;
    size_t most_bytes; // larger ones are refused at once for their size; 0 = as peer_answer says
    struct split_script {
        size_t parts;
        bool drops; // something
        enum err_code rc;
    } split;
    bool split_is_cut;
    _Atomic unsigned splits;
};

static inline void on_peer_closed(void *arg)
{
    ((struct peer *)arg)->closed = true;
}

static inline struct record *new_record(size_t bytes, uint64_t samples)
{
    struct record *r = record_create(mem_alloc(bytes), bytes);
    r->samples = samples;
    r->profiles = 2;
    return r;
}

// On a worker. Each part is a little larger than its share.
static inline enum err_code on_peer_split(void *arg, const struct record *r, const struct verdict *refusal,
                                          struct record_list *out, struct err *e)
{
    (void)refusal;
    struct peer *p = arg;
    atomic_fetch_add(&p->splits, 1);
    if (p->split.rc != ERR_OK)
        return err_set(e, p->split.rc, "told to fail");
    for (size_t i = 0; i < p->split.parts; i++) {
        struct record *part = new_record(r->len / p->split.parts + 5, r->samples / p->split.parts);
        part->is_part = !p->split_is_cut;
        part->was_cut = p->split_is_cut;
        record_list_add(out, part);
    }
    if (p->split.drops)
        record_list_drop(out, "told to drop");
    out->dropped_profiles = p->split.drops;
    return ERR_OK;
}

static inline void peer_refuse_size(struct send *s)
{
    struct verdict v = verdict_make(VERDICT_REFUSED, "too large, as told");
    v.too_large = true;
    send_done(s, &v);
}

static inline void on_peer_send(void *arg, struct send *s)
{
    struct peer *p = arg;
    const struct verdict ok = {.kind = VERDICT_OK};
    p->attempts++;
    p->last_samples = send_record(s)->samples;
    if (p->most_bytes != 0 && send_record(s)->len > p->most_bytes) {
        peer_refuse_size(s);
        return;
    }
    if (p->auto_ok) {
        send_done(s, &ok);
        return;
    }
    assert_true(p->send_count < PEER_MAX);
    p->sends[p->send_count++] = s;
}

// Settings may be changed between prepare and open.
static inline void peer_prepare(struct peer *p, struct shared *s, const char *id)
{
    *p = (struct peer){.shared = s, .id = id};
    p->settings = (struct queue_settings){.enabled = true, .num_consumers = 1, .queue_size = 3};
    p->retry = (struct retry_settings){
        .enabled = true, .initial_interval_nanos = NANOS_PER_MS, .max_interval_nanos = NANOS_PER_MS, .multiplier = 1};
}

static inline void peer_open(struct peer *p)
{
    const struct queue_options options = {.settings = &p->settings,
                                          .retry = &p->retry,
                                          .loop = &p->shared->loop,
                                          .budget = &p->shared->budget,
                                          .clock = &p->shared->world.clock,
                                          .log = {p->shared->log, "exporter", p->id},
                                          .metrics = p->shared->metrics,
                                          .exporter_id = p->id,
                                          .send = on_peer_send,
                                          .replace = p->workers != NULL ? on_peer_split : NULL,
                                          .workers = p->workers,
                                          .arg = p,
                                          .random_seed = 1};
    p->queue = queue_create(&options);
}

// Answers the oldest attempt that has no answer.
static inline void peer_answer(struct peer *p, enum verdict_kind kind)
{
    assert_true(p->send_count != 0);
    struct send *s = p->sends[0];
    p->send_count--;
    memmove(p->sends, p->sends + 1, p->send_count * sizeof *p->sends);
    struct verdict v = verdict_make(kind, "as told");
    v.rejected_profiles = kind == VERDICT_PARTIAL ? 1 : 0;
    send_done(s, &v);
}

static inline void peer_close(struct peer *p)
{
    assert_true(queue_idle(p->queue));
    queue_close(&p->queue, on_peer_closed, p);
    assert_null(p->queue);
    shared_run(p->shared);
    assert_true(p->closed);
}

static inline int64_t peer_counter(struct peer *p, const char *name)
{
    // The registry has the family already: descriptors of one name are one.
    const struct metric_family family = {name, "", strstr(name, "in_flight") ? METRIC_GAUGE : METRIC_COUNTER};
    const struct metric_label label = {"exporter", p->id};
    return metric_get(metrics_series(p->shared->metrics, &family, &label, 1));
}

#define SENT "otelcol_exporter_sent_profile_samples"
#define SEND_FAILED "otelcol_exporter_send_failed_profile_samples"
#define ENQUEUE_FAILED "otelcol_exporter_enqueue_failed_profile_samples"
#define DROPPED "profrelay_exporter_dropped_profile_samples"
#define RETRIES "profrelay_exporter_retries"
#define IN_FLIGHT "otelcol_exporter_in_flight_requests"

// Whoever waits for one delivery.
struct told {
    struct shared *shared;
    unsigned held, final;
    struct verdict held_verdict, verdict;
};

static inline void on_told(void *arg, enum verdict_moment moment, const struct verdict *v)
{
    struct told *t = arg;
    assert_true(loop_is_current(&t->shared->loop));
    assert_int_equal(t->final, 0); // nothing after final
    if (moment == MOMENT_HELD) {
        t->held++;
        t->held_verdict = *v;
        return;
    }
    t->final++;
    t->verdict = *v;
}

static inline struct delivery begin_delivery(struct shared *s, struct told *t, size_t charged)
{
    *t = (struct told){.shared = s};
    if (charged != 0)
        assert_true(budget_try_take(&s->budget, charged));
    const struct waiter waiter = {
        .loop = &s->loop, .has_copy = s->have_copies, .wants_held = true, .on_verdict = on_told, .arg = t};
    return delivery_create(fake_batch(1), &waiter, &s->budget, charged);
}

// One record of so many bytes and samples, in one delivery of its own.
static inline void offer(struct peer *p, struct told *t, size_t bytes, uint64_t samples)
{
    struct delivery d = begin_delivery(p->shared, t, 0);
    ticket_add_record(d.ticket, p->queue, new_record(bytes, samples));
    delivery_end(&d, NULL);
}

#endif
