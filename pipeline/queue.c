// SPDX-License-Identifier: Apache-2.0
#include "pipeline/queue.h"

#include "base/mem.h"
#include "base/random.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

// One sender: at most one record at a time, with its own back-off.
struct send {
    struct queue *queue;
    struct record *record; // NULL = free
    uv_timer_t timer;
    struct retry_state retry;
    int64_t began_nanos; // the attempt under way
    bool backing_off;
};

struct queue_counters {
    struct metric *sent, *send_failed, *enqueue_failed, *dropped, *retries, *in_flight, *last_success;
};

struct queue {
    struct queue_options options;
    struct queue_counters counters;
    pthread_mutex_t lock;       // of what follows, up to the loop's own
    struct queue_health health; // but for what the queue holds; the loop's thread alone writes it
    struct record_list waiting;
    size_t requests, items, bytes; // waiting and reserved
    size_t active;                 // senders that hold a record
    struct loop_task pump_task;
    bool pump_posted;
    // Loop thread only.
    struct send *senders;
    size_t sender_count, open_timers; // once closed: and a pump task that is still to run
    bool draining, failing;
    int64_t failing_since_nanos, worked_nanos; // worked: the last success
    struct random random;
    void (*on_closed)(void *arg);
    void *on_closed_arg;
};

static const struct metric_family sent_family = {"otelcol_exporter_sent_profile_samples", "Samples the peer has taken.",
                                                 METRIC_COUNTER};
static const struct metric_family send_failed_family = {
    "otelcol_exporter_send_failed_profile_samples", "Samples given up after failed attempts or refused by the peer.",
    METRIC_COUNTER};
static const struct metric_family enqueue_failed_family = {"otelcol_exporter_enqueue_failed_profile_samples",
                                                           "Samples that found the queue full.", METRIC_COUNTER};
static const struct metric_family dropped_family = {"profrelay_exporter_dropped_profile_samples",
                                                    "Samples dropped by on_full: drop_new or drop_oldest.",
                                                    METRIC_COUNTER};
static const struct metric_family retries_family = {"profrelay_exporter_retries",
                                                    "Attempts that failed and will be repeated.", METRIC_COUNTER};
static const struct metric_family in_flight_family = {
    "otelcol_exporter_in_flight_requests", "Requests being sent or waiting for their next attempt.", METRIC_GAUGE};
static const struct metric_family last_success_family = {"profrelay_exporter_last_success_timestamp_seconds",
                                                         "When the peer last took a request, seconds since 1970.",
                                                         METRIC_GAUGE};
static const struct metric_family size_family = {"otelcol_exporter_queue_size",
                                                 "What waits in the queue, in the unit of its sizer.", METRIC_GAUGE};
static const struct metric_family bytes_family = {"profrelay_exporter_queue_bytes",
                                                  "Bytes of the records that wait in the queue.", METRIC_GAUGE};
static const struct metric_family capacity_family = {
    "otelcol_exporter_queue_capacity", "What the queue can hold, in the unit of its sizer.", METRIC_GAUGE};

static size_t queue_load(const struct queue *q)
{
    switch (q->options.settings->sizer) {
    case QUEUE_ITEMS:
        return q->items;
    case QUEUE_BYTES:
        return q->bytes;
    default:
        return q->requests;
    }
}

static const char *const units[] = {[QUEUE_REQUESTS] = "requests", [QUEUE_ITEMS] = "samples", [QUEUE_BYTES] = "bytes"};

static size_t record_size(const struct queue *q, const struct record *r)
{
    switch (q->options.settings->sizer) {
    case QUEUE_ITEMS:
        return (size_t)r->samples;
    case QUEUE_BYTES:
        return r->len;
    default:
        return 1;
    }
}

static int64_t read_load(void *arg)
{
    struct queue *q = arg;
    pthread_mutex_lock(&q->lock);
    size_t load = queue_load(q);
    pthread_mutex_unlock(&q->lock);
    return (int64_t)load;
}

static int64_t read_bytes(void *arg)
{
    struct queue *q = arg;
    pthread_mutex_lock(&q->lock);
    size_t bytes = q->bytes;
    pthread_mutex_unlock(&q->lock);
    return (int64_t)bytes;
}

static void register_metrics(struct queue *q)
{
    struct metrics *m = q->options.metrics;
    const struct metric_label labels[] = {{"exporter", q->options.exporter_id}, {"data_type", "profiles"}};
    q->counters = (struct queue_counters){
        .sent = metrics_series(m, &sent_family, labels, 1),
        .send_failed = metrics_series(m, &send_failed_family, labels, 1),
        .enqueue_failed = metrics_series(m, &enqueue_failed_family, labels, 1),
        .dropped = metrics_series(m, &dropped_family, labels, 1),
        .retries = metrics_series(m, &retries_family, labels, 1),
        .in_flight = metrics_series(m, &in_flight_family, labels, 1),
        .last_success = metrics_series(m, &last_success_family, labels, 1),
    };
    metric_set(metrics_series(m, &capacity_family, labels, 2), q->options.settings->queue_size);
    metrics_series_read(m, &size_family, labels, 2, read_load, q);
    metrics_series_read(m, &bytes_family, labels, 2, read_bytes, q);
}

// What reads the queue must not outlive it.
static void unregister_metrics(struct queue *q)
{
    const struct metric_label labels[] = {{"exporter", q->options.exporter_id}, {"data_type", "profiles"}};
    metrics_series_read(q->options.metrics, &size_family, labels, 2, NULL, NULL);
    metrics_series_read(q->options.metrics, &bytes_family, labels, 2, NULL, NULL);
}

static void on_backed_off(uv_timer_t *timer);
static void run_pump(struct loop_task *task);

static void init_senders(void *arg)
{
    struct queue *q = arg;
    for (size_t i = 0; i < q->sender_count; i++) {
        struct send *s = &q->senders[i];
        s->queue = q;
        CHECK(uv_timer_init(&q->options.loop->uv, &s->timer) == 0);
        s->timer.data = s;
        q->open_timers++;
    }
}

struct queue *queue_create(const struct queue_options *options)
{
    struct queue *q = MEM_NEW(struct queue);
    q->options = *options;
    random_init(&q->random, options->random_seed);
    CHECK(pthread_mutex_init(&q->lock, NULL) == 0);
    record_list_init(&q->waiting);
    q->pump_task.run = run_pump;
    q->sender_count = (size_t)options->settings->num_consumers;
    q->senders = mem_alloc(q->sender_count * sizeof *q->senders);
    loop_call(options->loop, init_senders, q);
    register_metrics(q);
    return q;
}

bool queue_holds(const struct queue *q)
{
    return q->options.settings->enabled;
}

// --- admission: any thread ---

static bool fits(const struct queue *q, const struct record *r)
{
    size_t load = queue_load(q), capacity = (size_t)q->options.settings->queue_size;
    size_t size = record_size(q, r);
    // A record larger than the whole queue fits into an empty one, or its sender would try for ever.
    return load == 0 || (load < capacity && size <= capacity - load);
}

static void add_room(struct queue *q, struct record *r)
{
    r->has_room = true;
    q->requests++;
    q->items += (size_t)r->samples;
    q->bytes += r->len;
}

static bool take_room(struct queue *q, struct record *r)
{
    if (!fits(q, r) || !budget_try_take(q->options.budget, record_bytes(r)))
        return false;
    r->charged_bytes = record_bytes(r);
    add_room(q, r);
    return true;
}

static void take_past(struct queue *q, struct record *r)
{
    budget_take(q->options.budget, record_bytes(r));
    r->charged_bytes = record_bytes(r);
    add_room(q, r);
}

static void leave_room(struct queue *q, struct record *r)
{
    if (!r->has_room)
        return;
    r->has_room = false;
    q->requests--;
    q->items -= (size_t)r->samples;
    q->bytes -= r->len;
}

static void give_charge(struct queue *q, struct record *r)
{
    budget_give(q->options.budget, r->charged_bytes);
    r->charged_bytes = 0;
}

static void refuse(struct queue *q, struct verdict *refusal)
{
    *refusal = verdict_make(VERDICT_RETRY,
                            "exporter %s: sending queue is full: %zu of %" PRId64 " %s, %zu of %zu bytes of "
                            "service.memory_limit in use",
                            q->options.exporter_id, queue_load(q), q->options.settings->queue_size,
                            units[q->options.settings->sizer], atomic_load(&q->options.budget->used),
                            q->options.budget->limit);
    refusal->queue_full = true;
}

bool queue_reserve(struct queue *q, struct record *r, struct verdict *refusal)
{
    pthread_mutex_lock(&q->lock);
    bool room = take_room(q, r);
    if (!room && q->options.settings->on_full == QUEUE_REFUSE) {
        room = refusal == NULL;
        if (room)
            take_past(q, r);
        else
            refuse(q, refusal);
    }
    pthread_mutex_unlock(&q->lock);
    if (room || q->options.settings->on_full != QUEUE_REFUSE)
        return true;
    metric_add(q->counters.enqueue_failed, (int64_t)r->samples);
    return false;
}

bool queue_has_room(struct queue *q, struct verdict *refusal)
{
    if (q->options.settings->on_full != QUEUE_REFUSE)
        return true;
    pthread_mutex_lock(&q->lock);
    size_t load = queue_load(q);
    bool room = load == 0 || load < (size_t)q->options.settings->queue_size;
    if (!room)
        refuse(q, refusal);
    pthread_mutex_unlock(&q->lock);
    return room;
}

void queue_cancel(struct queue *q, struct record *r)
{
    pthread_mutex_lock(&q->lock);
    leave_room(q, r);
    pthread_mutex_unlock(&q->lock);
    give_charge(q, r);
}

static struct record *pop_waiting(struct queue *q)
{
    struct record *r = q->waiting.head;
    if (r == NULL)
        return NULL;
    q->waiting.head = r->next;
    if (q->waiting.head == NULL)
        q->waiting.tail = &q->waiting.head;
    r->next = NULL;
    return r;
}

static void end_record(struct queue *q, struct record *r, const struct verdict *v)
{
    give_charge(q, r);
    struct ticket *t = r->ticket;
    record_destroy(&r);
    ticket_record_final(t, v);
}

static void drop_record(struct queue *q, struct record *r)
{
    const struct verdict wanted = {.kind = VERDICT_OK};
    metric_add(q->counters.dropped, (int64_t)r->samples);
    log_warn(&q->options.log, "the queue is full: dropping %s, as on_full says", TEXT_COUNT(r->samples, "sample"));
    end_record(q, r, &wanted);
}

static void post_pump(struct queue *q)
{
    if (q->pump_posted)
        return;
    q->pump_posted = true;
    loop_post(q->options.loop, &q->pump_task);
}

// Gives the oldest their way out until r fits. Returns those that must go, linked.
static struct record *make_room(struct queue *q, struct record *r)
{
    struct record *victims = NULL, *oldest;
    while (!take_room(q, r) && (oldest = pop_waiting(q)) != NULL) {
        leave_room(q, oldest);
        give_charge(q, oldest);
        oldest->next = victims;
        victims = oldest;
    }
    return victims;
}

void queue_commit(struct queue *q, struct record *r)
{
    struct record *victims = NULL;
    pthread_mutex_lock(&q->lock);
    if (!r->has_room && q->options.settings->on_full == QUEUE_DROP_OLDEST)
        victims = make_room(q, r);
    if (r->has_room) {
        r->created_nanos = clock_monotonic_nanos(q->options.clock);
        record_list_add(&q->waiting, r);
        post_pump(q);
        r = NULL;
    }
    pthread_mutex_unlock(&q->lock);
    if (r != NULL)
        drop_record(q, r);
    while (victims != NULL) {
        struct record *next = victims->next;
        drop_record(q, victims);
        victims = next;
    }
}

// --- sending: loop thread ---

const struct record *send_record(const struct send *s)
{
    return s->record;
}

void send_doubt(struct send *s)
{
    s->record->doubts++;
}

static void attempt(struct send *s)
{
    s->backing_off = false;
    s->began_nanos = clock_monotonic_nanos(s->queue->options.clock);
    s->queue->options.send(s->queue->options.arg, s);
}

static struct send *free_sender(struct queue *q)
{
    for (size_t i = 0; i < q->sender_count; i++)
        if (q->senders[i].record == NULL)
            return &q->senders[i];
    return NULL;
}

static struct record *next_record(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    struct record *r = pop_waiting(q);
    if (r != NULL) {
        leave_room(q, r);
        q->active++;
    }
    pthread_mutex_unlock(&q->lock);
    return r;
}

// As many as there are senders at a time: peers that answer at once must not keep the loop from other work.
static void pump(struct queue *q)
{
    struct send *s;
    struct record *r;
    for (size_t n = 0; n < q->sender_count && (s = free_sender(q)) != NULL && (r = next_record(q)) != NULL; n++) {
        s->record = r;
        metric_add(q->counters.in_flight, 1);
        retry_begin(&s->retry, q->options.retry, clock_monotonic_nanos(q->options.clock));
        attempt(s);
    }
}

// One less that may still call into the queue; the last frees it.
static void release(struct queue *q)
{
    if (--q->open_timers != 0)
        return;
    void (*on_closed)(void *) = q->on_closed;
    void *arg = q->on_closed_arg;
    pthread_mutex_destroy(&q->lock);
    free(q->senders);
    free(q);
    on_closed(arg);
}

static void run_pump(struct loop_task *task)
{
    struct queue *q = CONTAINER_OF(task, struct queue, pump_task);
    pthread_mutex_lock(&q->lock);
    q->pump_posted = false;
    pthread_mutex_unlock(&q->lock);
    if (q->on_closed != NULL)
        release(q);
    else
        pump(q);
}

static void on_backed_off(uv_timer_t *timer)
{
    attempt(timer->data);
}

// An attempt that began before the last success tells nothing new.
static void note_failing(struct queue *q, const struct send *s, const char *text)
{
    if (q->failing || s->began_nanos < q->worked_nanos)
        return;
    q->failing = true;
    q->failing_since_nanos = clock_monotonic_nanos(q->options.clock);
    log_warn(&q->options.log, "sending fails, will retry: %s", text);
}

// What others are told, refusals among it.
static void tell_trouble(struct queue *q, const struct verdict *v)
{
    struct queue_health *h = &q->health;
    pthread_mutex_lock(&q->lock);
    if (!h->failing)
        h->failing_since_nanos = clock_wall_nanos(q->options.clock);
    h->failing = true;
    h->refused = v->kind == VERDICT_REFUSED;
    memcpy(h->error, v->text, sizeof h->error);
    pthread_mutex_unlock(&q->lock);
}

static void tell_working(struct queue *q)
{
    if (!q->health.failing)
        return;
    pthread_mutex_lock(&q->lock);
    q->health = (struct queue_health){.failing = false};
    pthread_mutex_unlock(&q->lock);
}

void queue_health(struct queue *q, struct queue_health *out)
{
    pthread_mutex_lock(&q->lock);
    *out = q->health;
    out->load = queue_load(q);
    out->bytes = q->bytes;
    pthread_mutex_unlock(&q->lock);
    out->capacity = (size_t)q->options.settings->queue_size;
    out->unit = units[q->options.settings->sizer];
}

static void note_working(struct queue *q)
{
    tell_working(q);
    metric_set(q->counters.last_success, clock_wall_nanos(q->options.clock) / NANOS_PER_SECOND);
    q->worked_nanos = clock_monotonic_nanos(q->options.clock);
    if (!q->failing)
        return;
    q->failing = false;
    int64_t lasted = q->worked_nanos - q->failing_since_nanos;
    log_info(&q->options.log, "sending works again after %.1f s, %" PRId64 " bytes wait",
             (double)lasted / (double)NANOS_PER_SECOND, read_bytes(q));
}

static void count_outcome(struct queue *q, const struct record *r, const struct verdict *v, unsigned attempts)
{
    bool taken = v->kind == VERDICT_OK || v->kind == VERDICT_PARTIAL;
    metric_add(taken ? q->counters.sent : q->counters.send_failed, (int64_t)r->samples);
    if (taken)
        note_working(q);
    if (v->kind == VERDICT_PARTIAL)
        log_warn(&q->options.log, "the peer took a request but rejected %" PRIu64 " of its %s: %s",
                 v->rejected_profiles, TEXT_COUNT(r->profiles, "profile"), v->text);
    if (v->kind == VERDICT_REFUSED)
        log_error(&q->options.log, "the peer refuses %s (%s) for good: %s", TEXT_COUNT(r->profiles, "profile"),
                  TEXT_COUNT(r->samples, "sample"), v->text);
    if (v->kind == VERDICT_RETRY)
        log_error(&q->options.log, "giving up %s (%s) after %s: %s", TEXT_COUNT(r->profiles, "profile"),
                  TEXT_COUNT(r->samples, "sample"), TEXT_COUNT(attempts, "attempt"), v->text);
}

// Parts of a record: they were admitted with the whole, however full the queue is now.
static void put_in_front(struct queue *q, struct record *parts)
{
    struct record_list rest = q->waiting;
    if (parts == NULL)
        return;
    record_list_init(&q->waiting);
    for (struct record *r = parts, *next; r != NULL; r = next) {
        next = r->next;
        add_room(q, r);
        record_list_add(&q->waiting, r);
    }
    *q->waiting.tail = rest.head;
    if (rest.head != NULL)
        q->waiting.tail = rest.tail;
}

// The sender is free for what waits now.
static void leave_sender(struct send *s, struct record *parts)
{
    struct queue *q = s->queue;
    s->record = NULL;
    metric_add(q->counters.in_flight, -1);
    pthread_mutex_lock(&q->lock);
    put_in_front(q, parts);
    q->active--;
    if (q->waiting.head != NULL)
        post_pump(q); // not from here: a peer that answers at once must not grow the stack
    pthread_mutex_unlock(&q->lock);
}

static void finish(struct send *s, const struct verdict *v)
{
    struct record *r = s->record;
    struct verdict told = *v;
    count_outcome(s->queue, r, v, s->retry.attempts);
    if (v->kind == VERDICT_REFUSED && r->was_cut) { // the rest of the whole may have been taken
        told.kind = VERDICT_PARTIAL;
        told.rejected_profiles = r->profiles;
    }
    end_record(s->queue, r, &told);
    leave_sender(s, NULL);
}

// --- a record that the peer refuses as it is becomes others ---

struct replacing {
    struct job job;
    struct loop_task task;
    struct send *send;
    struct verdict refusal; // the peer's
    struct record_list parts;
    enum err_code rc;
    struct err e;
};

// The parts take over what the whole was charged for.
static void move_charge(struct queue *q, struct record *whole, struct record *parts)
{
    size_t wanted = 0;
    for (const struct record *r = parts; r != NULL; r = r->next)
        wanted += record_bytes(r);
    // Together they are larger: each has its own dictionary. They are there already, so a budget without room for the
    // difference does without it.
    if (parts != NULL && budget_try_change(q->options.budget, whole->charged_bytes, wanted))
        whole->charged_bytes = wanted;
    for (struct record *r = parts; r != NULL; r = r->next) {
        r->charged_bytes = record_bytes(r) < whole->charged_bytes ? record_bytes(r) : whole->charged_bytes;
        whole->charged_bytes -= r->charged_bytes;
    }
}

static void put_in_place(struct send *s, struct record_list *list, const struct verdict *refusal)
{
    struct queue *q = s->queue;
    struct record *whole = s->record;
    struct verdict dropped = record_list_verdict(list);
    dropped.faulty = refusal->faulty; // nothing is taken as yet
    struct record *parts = record_list_take(list);
    move_charge(q, whole, parts);
    for (struct record *r = parts; r != NULL; r = r->next) {
        r->ticket = whole->ticket;
        r->queue = q;
        r->created_nanos = whole->created_nanos;
        ticket_record_admitted(r->ticket);
    }
    end_record(q, whole, &dropped);
    leave_sender(s, parts);
}

static void run_replace_done(struct loop_task *task)
{
    struct replacing *x = CONTAINER_OF(task, struct replacing, task);
    struct send *s = x->send;
    if (x->rc == ERR_OK) {
        put_in_place(s, &x->parts, &x->refusal);
    } else if (x->rc == ERR_MEMORY) {
        const struct verdict again = verdict_make(VERDICT_RETRY, "%s", x->e.text);
        send_done(s, &again);
    } else {
        log_error(&s->queue->options.log, "cannot %s a request: %s", x->refusal.unreadable ? "rewrite" : "split",
                  x->e.text);
        finish(s, &x->refusal);
    }
    record_list_fini(&x->parts);
    free(x);
}

static void run_replace(struct job *job)
{
    struct replacing *x = CONTAINER_OF(job, struct replacing, job);
    const struct queue_options *o = &x->send->queue->options;
    x->rc = o->replace(o->arg, x->send->record, &x->refusal, &x->parts, &x->e);
    loop_post(o->loop, &x->task);
}

static void replace(struct send *s, const struct verdict *refusal)
{
    struct replacing *x = MEM_NEW(struct replacing);
    x->job.run = run_replace;
    x->task.run = run_replace_done;
    x->send = s;
    x->refusal = *refusal;
    record_list_init(&x->parts);
    workers_submit(s->queue->options.workers, &x->job);
}

// --- the outcome of an attempt ---

enum { LONGEST_WAIT_AT_THE_END_MS = 500 };

// While the program ends: what its sender would offer again is not waited for.
static bool is_last_try(const struct send *s)
{
    return s->queue->draining && (!queue_holds(s->queue) || ticket_has_copy(s->record->ticket));
}

static void back_off(struct send *s, int64_t wait_nanos)
{
    uint64_t wait_ms = (uint64_t)((wait_nanos + NANOS_PER_MS - 1) / NANOS_PER_MS);
    if (s->queue->draining && wait_ms > LONGEST_WAIT_AT_THE_END_MS)
        wait_ms = LONGEST_WAIT_AT_THE_END_MS;
    metric_add(s->queue->counters.retries, 1);
    s->backing_off = true;
    uv_timer_start(&s->timer, on_backed_off, wait_ms, 0);
}

void send_done(struct send *s, const struct verdict *v)
{
    struct queue *q = s->queue;
    bool may_replace = v->too_large || v->unreadable || (v->faulty && s->record->is_divisible);
    if (may_replace && q->options.replace != NULL) {
        replace(s, v);
        return;
    }
    if (v->kind >= VERDICT_RETRY && s->began_nanos >= q->worked_nanos)
        tell_trouble(q, v);
    if (v->kind != VERDICT_RETRY) {
        finish(s, v);
        return;
    }
    note_failing(q, s, v->text);
    int64_t wait = retry_next(&s->retry, q->options.retry, clock_monotonic_nanos(q->options.clock),
                              v->retry_after_nanos, random_unit(&q->random));
    if (wait < 0 || is_last_try(s))
        finish(s, v);
    else
        back_off(s, wait);
}

// --- the end ---

bool queue_idle(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool idle = q->requests == 0 && q->active == 0;
    pthread_mutex_unlock(&q->lock);
    return idle;
}

void queue_drain(struct queue *q)
{
    q->draining = true;
    for (size_t i = 0; i < q->sender_count; i++) {
        struct send *s = &q->senders[i];
        if (s->record != NULL && s->backing_off) {
            uv_timer_stop(&s->timer);
            attempt(s);
        }
    }
}

void queue_abandon(struct queue *q)
{
    const struct verdict ended = verdict_make(VERDICT_RETRY, "the program ended before it could be sent");
    uint64_t records = 0, samples = 0;
    struct record *r;
    for (size_t i = 0; i < q->sender_count; i++) {
        struct send *s = &q->senders[i];
        if (s->record == NULL || !s->backing_off)
            continue;
        uv_timer_stop(&s->timer);
        finish(s, &ended);
    }
    for (;;) {
        pthread_mutex_lock(&q->lock);
        r = pop_waiting(q);
        if (r != NULL)
            leave_room(q, r);
        pthread_mutex_unlock(&q->lock);
        if (r == NULL)
            break;
        records++;
        samples += r->samples;
        metric_add(q->counters.send_failed, (int64_t)r->samples);
        end_record(q, r, &ended);
    }
    if (records != 0)
        log_error(&q->options.log,
                  "%s (%s) could not be sent before the end; files among them are read again at the next start, the "
                  "rest is lost",
                  TEXT_COUNT(records, "request"), TEXT_COUNT(samples, "sample"));
}

static void on_timer_closed(uv_handle_t *handle)
{
    release(((struct send *)handle->data)->queue);
}

void queue_close(struct queue **queue, void (*on_closed)(void *arg), void *arg)
{
    struct queue *q = *queue;
    *queue = NULL;
    CHECK(queue_idle(q));
    unregister_metrics(q);
    pthread_mutex_lock(&q->lock);
    q->open_timers += q->pump_posted;
    pthread_mutex_unlock(&q->lock);
    q->on_closed = on_closed;
    q->on_closed_arg = arg;
    for (size_t i = 0; i < q->sender_count; i++)
        uv_close((uv_handle_t *)&q->senders[i].timer, on_timer_closed);
}
