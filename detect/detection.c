// SPDX-License-Identifier: Apache-2.0
#include "detect/detection.h"

#include "base/mem.h"
#include "detect/detector.h"

#include <pthread.h>
#include <stdlib.h>

enum { CONNECT_SECONDS = 1, CONNECTIONS = 8, LOGGED_BYTES = 4096 };

// One detector: what it found last counts until it finds something else.
struct source {
    struct detector_run run;
    struct detector_found known;
    struct metric *outcomes[2]; // failure, success
};

struct detection {
    struct component *owner;
    const struct detect_settings *settings;
    struct detect_environment environment;
    struct source *sources;
    size_t source_count;
    struct metric *attributes;
    pthread_mutex_t lock; // of current
    struct detected *current;
    // The loop's.
    uv_timer_t timeout, refresh;
    struct http_client *client; // while a round needs it
    size_t open;                // handles and clients that are not closed
    size_t pending;             // runs of this round, and the beginning itself
    bool started, timed_out, stopping, first_done, required_failed;
    struct err required_error;
    void (*on_stopped)(void *arg);
    void *on_stopped_arg;
};

static const struct metric_family runs_family = {"profrelay_resource_detection_runs",
                                                 "How often a detector was asked, by outcome.", METRIC_COUNTER};
static const struct metric_family attributes_family = {"profrelay_resource_detection_attributes",
                                                       "Attributes that are known now.", METRIC_GAUGE};

// --- what is published ---

void detected_unref(struct detected **d)
{
    struct detected *old = *d;
    *d = NULL;
    if (old == NULL || atomic_fetch_sub_explicit(&old->refs, 1, memory_order_acq_rel) != 1)
        return;
    arena_fini(&old->arena);
    free(old);
}

static struct detected *detected_create(void)
{
    struct detected *d = MEM_NEW(struct detected);
    atomic_init(&d->refs, 1);
    arena_init(&d->arena, 0);
    return d;
}

struct detected *detection_current(struct detection *d)
{
    pthread_mutex_lock(&d->lock);
    struct detected *current = d->current;
    atomic_fetch_add_explicit(&current->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&d->lock);
    return current;
}

static size_t known_count(const struct detection *d)
{
    size_t count = 0;
    for (size_t i = 0; i < d->source_count; i++)
        count += d->sources[i].known.count;
    return count;
}

static bool copy_known(const struct detection *d, struct detected *out)
{
    const size_t most = known_count(d);
    struct key_value *list = mem_try_array(most + 1, sizeof *list);
    bool good = list != NULL;
    for (size_t i = 0; good && i < d->source_count; i++) {
        const struct detector_found *f = &d->sources[i].known;
        for (uint32_t k = 0; k < f->count; k++)
            if (key_values_find(list, out->count, f->list[k].key) == NULL)
                list[out->count++] = f->list[k];
    }
    good = good && key_values_copy(&out->arena, list, out->count, &out->list);
    free(list);
    return good;
}

static bool is_same(const struct detected *a, const struct detected *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = bytes_equal(a->list[i].key, b->list[i].key) && value_equal(&a->list[i].value, &b->list[i].value);
    return same;
}

static void log_found(const struct detection *d, const struct detected *found)
{
    struct buf names;
    buf_init(&names, LOGGED_BYTES);
    for (uint32_t i = 0; i < found->count; i++)
        buf_add_format(&names, "%s%.*s", i > 0 ? ", " : "", BYTES_PRINT(found->list[i].key));
    log_info(&d->owner->log, "found %u attributes%s%.*s", found->count, found->count > 0 ? ": " : "",
             BYTES_PRINT(buf_bytes(&names)));
    buf_fini(&names);
}

static void publish(struct detection *d)
{
    struct detected *next = detected_create();
    if (!copy_known(d, next)) {
        log_warn(&d->owner->log, "out of memory: what was known before stays in use");
        detected_unref(&next);
        return;
    }
    if (!d->first_done || !is_same(next, d->current))
        log_found(d, next);
    metric_set(d->attributes, next->count);
    pthread_mutex_lock(&d->lock);
    struct detected *old = d->current;
    d->current = next;
    pthread_mutex_unlock(&d->lock);
    detected_unref(&old);
}

// --- a round ---

static void close_one(struct detection *d)
{
    if (--d->open == 0 && d->stopping && d->pending == 0)
        d->on_stopped(d->on_stopped_arg);
}

static void on_client_closed(void *arg)
{
    close_one(arg);
}

static bool is_required(const struct detection *d, const struct detector_run *r)
{
    return d->settings->fail_on_missing_metadata ||
           (r->detector == &detector_ec2 && d->settings->ec2.fail_on_missing_metadata);
}

static void take_found(struct source *s)
{
    detector_found_fini(&s->known);
    s->known = s->run.found;
    s->run.found = (struct detector_found){.list = NULL};
}

static void finish_round(struct detection *d)
{
    uv_timer_stop(&d->timeout);
    if (d->client != NULL)
        http_client_close(&d->client, on_client_closed, d);
    if (d->stopping)
        return;
    publish(d);
    d->first_done = true;
    if (d->settings->refresh_nanos > 0)
        uv_timer_start(&d->refresh, d->refresh.timer_cb,
                       (uint64_t)(d->settings->refresh_nanos + NANOS_PER_MS - 1) / NANOS_PER_MS, 0);
}

static void leave_round(struct detection *d)
{
    if (--d->pending == 0)
        finish_round(d);
}

static void fail(struct detection *d, const struct detector_run *r, const struct err *e)
{
    struct err late = {0};
    if (d->timed_out)
        e = (err_set(&late, ERR_UNAVAILABLE, "no answer within timeout (%gs)",
                     (double)d->settings->timeout_nanos / 1e9),
             &late);
    log_warn(&d->owner->log, "detector %s: %s", r->detector->name, e->text);
    if (is_required(d, r) && !d->required_failed) {
        d->required_failed = true;
        err_set(&d->required_error, ERR_IO, "detector %s: %s", r->detector->name, e->text);
    }
}

static void on_run_end(struct detector_run *r, const struct err *e)
{
    struct source *s = CONTAINER_OF(r, struct source, run);
    struct detection *d = r->detection;
    if (!d->stopping) {
        metric_add(s->outcomes[e == NULL], 1);
        if (e != NULL)
            fail(d, r, e);
        else
            take_found(s);
    }
    detector_found_fini(&r->found);
    leave_round(d);
}

static void begin_round(struct detection *d)
{
    d->timed_out = false;
    d->pending = 1;
    uv_update_time(&d->owner->loop->uv);
    uv_timer_start(&d->timeout, d->timeout.timer_cb,
                   (uint64_t)(d->settings->timeout_nanos + NANOS_PER_MS - 1) / NANOS_PER_MS, 0);
    for (size_t i = 0; i < d->source_count; i++) {
        struct detector_run *r = &d->sources[i].run;
        d->pending++;
        r->pending = true;
        r->failed = false;
        arena_init(&r->found.arena, 0);
        r->detector->begin(r);
    }
    leave_round(d);
}

static void cancel_runs(struct detection *d)
{
    d->pending++;
    for (size_t i = 0; i < d->source_count; i++)
        if (d->sources[i].run.pending)
            d->sources[i].run.detector->cancel(&d->sources[i].run);
    leave_round(d);
}

static void on_timeout(uv_timer_t *timer)
{
    struct detection *d = timer->data;
    d->timed_out = true;
    cancel_runs(d);
}

static void on_refresh(uv_timer_t *timer)
{
    begin_round(timer->data);
}

// --- for detectors ---

const char *detector_env(const struct detector_run *r, const char *name)
{
    const struct detect_environment *environment = &r->detection->environment;
    const char *text = environment->get(environment->arg, name);
    return text != NULL && *text != '\0' ? text : NULL;
}

uv_loop_t *detector_loop(const struct detector_run *r)
{
    return &r->detection->owner->loop->uv;
}

struct http_client *detector_http_client(struct detector_run *r, struct err *e)
{
    struct detection *d = r->detection;
    const struct http_client_options options = {
        .protocol = HTTP_1,
        .max_connections = CONNECTIONS,
        .connect_timeout_nanos = CONNECT_SECONDS * NANOS_PER_SECOND,
        .direct = true,
    };
    if (d->client == NULL && http_client_create(detector_loop(r), &options, &d->client, e) == ERR_OK)
        d->open++;
    return d->client;
}

// --- its life ---

static const char *get_environment(void *arg, const char *name)
{
    (void)arg;
    return getenv(name);
}

struct detection *detection_create(struct component *owner, const struct detect_settings *settings,
                                   const struct detect_environment *environment)
{
    struct detection *d = MEM_NEW(struct detection);
    d->owner = owner;
    d->settings = settings;
    d->environment = environment != NULL ? *environment : (struct detect_environment){get_environment, NULL};
    CHECK(pthread_mutex_init(&d->lock, NULL) == 0);
    d->current = detected_create();
    d->source_count = settings->detectors.count;
    d->sources = mem_alloc(d->source_count * sizeof *d->sources);
    for (size_t i = 0; i < d->source_count; i++)
        d->sources[i].run = (struct detector_run){
            .detector = detector_find(settings->detectors.items[i]),
            .detection = d,
            .settings = settings,
            .on_end = on_run_end,
        };
    return d;
}

static void register_metrics(struct detection *d)
{
    static const char *const outcomes[2] = {"failure", "success"};
    const struct metric_label processor = {"processor", d->owner->id};
    d->attributes = metrics_series(d->owner->env->metrics, &attributes_family, &processor, 1);
    for (size_t i = 0; i < d->source_count; i++)
        for (size_t k = 0; k < 2; k++) {
            const struct metric_label labels[] = {
                processor, {"detector", d->sources[i].run.detector->name}, {"outcome", outcomes[k]}};
            d->sources[i].outcomes[k] = metrics_series(d->owner->env->metrics, &runs_family, labels, 3);
        }
}

static void init_timer(struct detection *d, uv_timer_t *timer, uv_timer_cb callback)
{
    CHECK(uv_timer_init(&d->owner->loop->uv, timer) == 0);
    timer->data = d;
    timer->timer_cb = callback;
    d->open++;
}

void detection_start(struct detection *d)
{
    d->started = true;
    register_metrics(d);
    init_timer(d, &d->timeout, on_timeout);
    init_timer(d, &d->refresh, on_refresh);
    begin_round(d);
}

enum err_code detection_ready(const struct detection *d, struct err *e)
{
    if (!d->first_done)
        return err_set(e, ERR_UNAVAILABLE, "the detectors have not answered yet");
    return d->required_failed ? err_set(e, ERR_IO, "%s", d->required_error.text) : ERR_OK;
}

static void on_timer_closed(uv_handle_t *timer)
{
    close_one(timer->data);
}

void detection_stop(struct detection *d, void (*on_stopped)(void *arg), void *arg)
{
    d->stopping = true;
    d->on_stopped = on_stopped;
    d->on_stopped_arg = arg;
    if (!d->started) {
        on_stopped(arg);
        return;
    }
    if (d->pending > 0)
        cancel_runs(d);
    uv_close((uv_handle_t *)&d->timeout, on_timer_closed);
    uv_close((uv_handle_t *)&d->refresh, on_timer_closed);
}

void detection_destroy(struct detection **d)
{
    struct detection *old = *d;
    *d = NULL;
    if (old == NULL)
        return;
    for (size_t i = 0; i < old->source_count; i++) {
        detector_found_fini(&old->sources[i].known);
        detector_found_fini(&old->sources[i].run.found);
    }
    free(old->sources);
    detected_unref(&old->current);
    pthread_mutex_destroy(&old->lock);
    free(old);
}
