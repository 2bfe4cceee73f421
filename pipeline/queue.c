// SPDX-License-Identifier: Apache-2.0
#include "pipeline/queue.h"

#include "base/mem.h"

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
    pthread_mutex_t lock; // of what follows, up to the loop's own
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
    uint64_t random_state;
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
    q->random_state = options->random_seed | 1;
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

// xorshift64*: jitter needs no better.
static double next_random(struct queue *q)
{
    uint64_t x = q->random_state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    q->random_state = x;
    return (double)((x * 0x2545F4914F6CDD1DULL) >> 11) / 9007199254740992.0;
}

// --- admission: any thread ---

static bool fits(const struct queue *q, const struct record *r)
{
    size_t load = queue_load(q), capacity = (size_t)q->options.settings->queue_size;
    size_t size = record_size(q, r);
    // A record larger than the whole queue fits into an empty one, or its sender would try for ever.
    return load == 0 || (load < capacity && size <= capacity - load);
}

static bool take_room(struct queue *q, struct record *r)
{
    if (!fits(q, r) || !budget_try_take(q->options.budget, r->len))
        return false;
    r->charged_bytes = r->len;
    r->has_room = true;
    q->requests++;
    q->items += (size_t)r->samples;
    q->bytes += r->len;
    return true;
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
    static const char *const units[] = {"requests", "samples", "bytes"};
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
    if (!room && q->options.settings->on_full == QUEUE_REFUSE)
        refuse(q, refusal);
    pthread_mutex_unlock(&q->lock);
    if (room || q->options.settings->on_full != QUEUE_REFUSE)
        return true;
    metric_add(q->counters.enqueue_failed, (int64_t)r->samples);
    return false;
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
    log_warn(&q->options.log, "the queue is full: dropping %" PRIu64 " samples, as on_full says", r->samples);
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

static void note_working(struct queue *q)
{
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
        log_warn(&q->options.log, "the peer took a request but rejected %" PRIu64 " of its %" PRIu64 " profiles: %s",
                 v->rejected_profiles, r->profiles, v->text);
    if (v->kind == VERDICT_REFUSED)
        log_error(&q->options.log, "the peer refuses %" PRIu64 " profiles (%" PRIu64 " samples) for good: %s",
                  r->profiles, r->samples, v->text);
    if (v->kind == VERDICT_RETRY)
        log_error(&q->options.log, "giving up %" PRIu64 " profiles (%" PRIu64 " samples) after %u attempts: %s",
                  r->profiles, r->samples, attempts, v->text);
}

static void finish(struct send *s, const struct verdict *v)
{
    struct queue *q = s->queue;
    struct record *r = s->record;
    s->record = NULL;
    count_outcome(q, r, v, s->retry.attempts);
    metric_add(q->counters.in_flight, -1);
    end_record(q, r, v);
    pthread_mutex_lock(&q->lock);
    q->active--;
    if (q->waiting.head != NULL)
        post_pump(q); // not from here: a peer that answers at once must not grow the stack
    pthread_mutex_unlock(&q->lock);
}

void send_done(struct send *s, const struct verdict *v)
{
    struct queue *q = s->queue;
    if (v->kind != VERDICT_RETRY) {
        finish(s, v);
        return;
    }
    note_failing(q, s, v->text);
    int64_t wait = retry_next(&s->retry, q->options.retry, clock_monotonic_nanos(q->options.clock),
                              v->retry_after_nanos, next_random(q));
    if (wait < 0 || q->draining) {
        finish(s, v);
        return;
    }
    metric_add(q->counters.retries, 1);
    s->backing_off = true;
    uv_timer_start(&s->timer, on_backed_off, (uint64_t)((wait + NANOS_PER_MS - 1) / NANOS_PER_MS), 0);
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
                  "%" PRIu64 " requests (%" PRIu64 " samples) could not be sent before the end; files among them are "
                  "read again at the next start, the rest is lost",
                  records, samples);
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
