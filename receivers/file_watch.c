// SPDX-License-Identifier: Apache-2.0
#include "receivers/file_watch.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_UNHELD = 16,     // files read and decoded at a time; once its records are queued a file counts no more
    RETRY_FLOOR_MS = 20, // between two tries when jobs or memory are out
};

enum watched_state {
    WATCHED_NEW, // to be sent once it has settled
    WATCHED_ON_WAY,
    WATCHED_DONE,     // sent, or found to be known
    WATCHED_REJECTED, // not a profile, or refused for good: left alone until it changes
    WATCHED_SKIPPED,  // was there at the start with start_at: end
};

// A path that matched, from the first sight until it is gone and forgotten.
struct watched {
    char *path;
    struct file_identity identity;
    int64_t unchanged_since_nanos; // monotonic; when this identity was first seen
    int64_t retry_at_nanos;        // monotonic; not before this
    bool gone;                     // was not there at the last look
    enum watched_state state;
    bool unheld; // counts against MAX_UNHELD
    bool has_key;
    struct known_key key;
    struct file_watch *watch;
    struct profile_file *file; // while on its way
};

struct scan {
    struct job job;
    struct loop_task done;
    struct file_watch *watch;
    struct found_files found;
    struct err e;
};

struct file_watch {
    struct receiver *receiver;
    const struct file_watch_settings *settings;
    struct profile_file_options options;
    struct known_files *known;
    struct watched **items; // ordered by path
    size_t count;
    struct watched **ready; // to be sent, oldest first
    size_t ready_count, ready_next;
    size_t unheld, on_way;
    bool scanning, first_scan_done, closed, timer_closed;
    bool blocked;        // a peer's queue is full: nothing is decoded only to be refused
    bool said_unmatched; // that a path does not match
    struct scan scan;
    uv_timer_t timer, retry_timer;
    unsigned open_timers;
    void (*on_stopped)(void *arg);
    void *on_stopped_arg;
    struct metric *outcomes[FILE_OUTCOME_COUNT], *deleted;
};

static const struct metric_family files_family = {"profrelay_receiver_files", "Files by what became of them.",
                                                  METRIC_COUNTER};
static const struct metric_family deleted_family = {"profrelay_receiver_files_deleted",
                                                    "Files deleted after every peer had taken them.", METRIC_COUNTER};

static void dispatch(struct file_watch *w);
static void maybe_stopped(struct file_watch *w);

static const struct logger *logger(const struct file_watch *w)
{
    return &w->receiver->component.log;
}

static int64_t now_nanos(const struct file_watch *w)
{
    return clock_monotonic_nanos(w->receiver->component.env->clock);
}

static void register_metrics(struct file_watch *w)
{
    struct metrics *m = w->receiver->component.env->metrics;
    for (int o = 0; o < FILE_OUTCOME_COUNT; o++) {
        const struct metric_label labels[] = {{"receiver", w->receiver->component.id},
                                              {"outcome", file_outcome_name((enum file_outcome)o)}};
        w->outcomes[o] = metrics_series(m, &files_family, labels, 2);
    }
    const struct metric_label label = {"receiver", w->receiver->component.id};
    w->deleted = metrics_series(m, &deleted_family, &label, 1);
}

// --- what became of a file ---

static void delete_file(struct watched *f)
{
    struct file_watch *w = f->watch;
    struct stat st;
    struct file_identity now;
    // New content under the old name is not ours to delete.
    if (stat(f->path, &st) != 0 || (now = file_identity_of(&st), !file_identity_equal(&now, &f->identity)))
        return;
    if (unlink(f->path) != 0) {
        log_warn(logger(w), "cannot delete %s after it was sent: %s", f->path, strerror(errno));
        return;
    }
    metric_add(w->deleted, 1);
}

static void set_key(struct watched *f)
{
    if (!f->has_key)
        known_files_join(f->watch->known, &f->key);
    f->has_key = true;
}

static void clear_key(struct watched *f, int64_t now)
{
    if (f->has_key)
        known_files_leave(f->watch->known, &f->key, now);
    f->has_key = false;
}

static void file_done(struct watched *f)
{
    f->state = WATCHED_DONE;
    if (f->watch->settings->after == AFTER_DELETE)
        delete_file(f);
}

static void leave_way(struct watched *f)
{
    struct file_watch *w = f->watch;
    w->on_way--;
    if (w->closed)
        maybe_stopped(w);
    else
        dispatch(w);
}

static void on_remembered(void *arg, bool failed)
{
    struct watched *f = arg;
    if (failed) {
        // Sent, but a restart would send it again: the file stays, so that this can be seen.
        log_warn(logger(f->watch), "%s was sent, but the storage cannot remember it: after a restart it is sent again",
                 f->path);
        f->state = WATCHED_DONE;
    } else {
        file_done(f);
    }
    leave_way(f);
}

static void remember(struct watched *f)
{
    struct file_watch *w = f->watch;
    set_key(f);
    known_files_remember(w->known, &f->key, f->path, &f->identity, w->receiver->component.loop, on_remembered, f);
}

static void try_again(struct watched *f, int64_t wait_nanos)
{
    f->state = WATCHED_NEW;
    f->retry_at_nanos = now_nanos(f->watch) + wait_nanos;
}

static void log_outcome(struct watched *f, enum file_outcome outcome, const struct err *e)
{
    const struct logger *l = logger(f->watch);
    switch (outcome) {
    case FILE_INVALID:
        log_warn(l, "%s is not sent: %s", f->path, e->text);
        return;
    case FILE_REFUSED:
        log_error(l, "%s is refused and not offered again until it changes: %s", f->path, e->text);
        return;
    case FILE_UNREADABLE:
        log_warn(l, "%s: %s", f->path, e->text);
        return;
    case FILE_GAVE_UP:
        log_debug(l, "%s could not be delivered and stays for another try: %s", f->path, e->text);
        return;
    case FILE_KNOWN:
        log_debug(l, "%s has content that was sent before", f->path);
        return;
    default:
        return;
    }
}

// A file like any other, but somebody may miss what its path was to give.
static void log_unmatched(struct file_watch *w, const struct profile_file *p)
{
    if (!p->unmatched || w->said_unmatched)
        return;
    w->said_unmatched = true;
    log_warn(logger(w), "%s does not match file.match: no attributes come from its path (said once)", p->path);
}

// Returns true if the way ends here; false while the storage remembers.
static bool settle_outcome(struct watched *f, const struct profile_file *p)
{
    struct file_watch *w = f->watch;
    switch (p->outcome) {
    case FILE_SENT:
    case FILE_PARTIAL:
        w->blocked = false;
        log_debug(logger(w), "%s is sent: %s, %s", f->path, TEXT_COUNT(p->profiles, "profile"),
                  TEXT_COUNT(p->samples, "sample"));
        profile_file_log_report(p);
        remember(f);
        return false;
    case FILE_KNOWN:
        set_key(f);
        file_done(f);
        return true;
    case FILE_QUEUE_FULL:
        w->blocked = true;
        try_again(f, 0);
        return true;
    case FILE_GAVE_UP:
        try_again(f, p->retry_after_nanos > w->settings->interval_nanos ? p->retry_after_nanos
                                                                        : w->settings->interval_nanos);
        return true;
    case FILE_CHANGED:
        f->identity = p->identity;
        f->unchanged_since_nanos = now_nanos(w);
        try_again(f, 0);
        return true;
    case FILE_IN_FLIGHT:
    case FILE_BUSY:
        try_again(f, 0);
        return true;
    case FILE_UNREADABLE:
        try_again(f, w->settings->interval_nanos);
        return true;
    default:
        f->state = WATCHED_REJECTED;
        return true;
    }
}

static void count_held(struct watched *f)
{
    if (!f->unheld)
        return;
    f->unheld = false;
    f->watch->unheld--;
}

static void on_outcome(struct profile_file *p)
{
    struct watched *f = p->owner;
    f->file = NULL;
    f->key = p->key;
    count_held(f);
    metric_add(f->watch->outcomes[p->outcome], 1);
    log_outcome(f, p->outcome, &p->e);
    log_unmatched(f->watch, p);
    bool ended = settle_outcome(f, p);
    free(p);
    if (ended)
        leave_way(f);
}

static void on_held(struct profile_file *p)
{
    struct watched *f = p->owner;
    count_held(f);
    if (!f->watch->closed)
        dispatch(f->watch);
}

// --- sending what is ready ---

static void on_retry_timer(uv_timer_t *timer)
{
    dispatch(timer->data);
}

static bool send_file(struct file_watch *w, struct watched *f)
{
    struct profile_file *p = MEM_NEW(struct profile_file);
    p->receiver = w->receiver;
    p->options = &w->options;
    p->known = w->known;
    p->path = f->path;
    p->identity = f->identity;
    p->on_held = on_held;
    p->on_outcome = on_outcome;
    p->owner = f;
    if (!profile_file_submit(p)) {
        free(p);
        return false;
    }
    f->file = p;
    f->state = WATCHED_ON_WAY;
    f->unheld = true;
    w->unheld++;
    w->on_way++;
    return true;
}

static void dispatch(struct file_watch *w)
{
    while (!w->closed && !w->blocked && w->unheld < MAX_UNHELD && w->ready_next < w->ready_count) {
        struct watched *f = w->ready[w->ready_next];
        if (f->state == WATCHED_NEW && !send_file(w, f)) {
            uv_timer_start(&w->retry_timer, on_retry_timer, RETRY_FLOOR_MS, 0);
            return;
        }
        w->ready_next++;
    }
}

// --- looking ---

static void run_scan_done(struct loop_task *task);

// A folder that is not there, or not for us, looks like one without files.
static void note_folders(const struct file_watch *w)
{
    const struct config_strings *include = &w->settings->include;
    char folder[LIMIT_PATH_BYTES];
    for (size_t i = 0; i < include->count; i++) {
        int why = files_look(include->items[i], folder, sizeof folder);
        if (why != 0)
            log_warn(logger(w), "include %s finds nothing now: %s: %s", include->items[i], folder, strerror(why));
    }
}

static void run_scan(struct job *job)
{
    struct scan *s = CONTAINER_OF(job, struct scan, job);
    const struct file_watch_settings *settings = s->watch->settings;
    if (!s->watch->first_scan_done)
        note_folders(s->watch);
    if (files_find(&settings->include, &settings->exclude, &s->found, &s->e) != ERR_OK)
        log_error(logger(s->watch), "%s", s->e.text);
    s->done.run = run_scan_done;
    loop_post(s->watch->receiver->component.loop, &s->done);
}

static void free_watched(struct watched *f)
{
    free(f->path);
    free(f);
}

static struct watched *new_watched(struct file_watch *w, struct found_file *found)
{
    struct watched *f = MEM_NEW(struct watched);
    *f = (struct watched){.path = found->path, .identity = found->identity, .watch = w};
    found->path = NULL;
    // What an earlier run sent, and what must not be sent at all.
    if (known_files_unchanged(w->known, f->path, &f->identity, &f->key)) {
        set_key(f);
        file_done(f);
    } else if (!w->first_scan_done && w->settings->start_at == START_AT_END) {
        f->state = WATCHED_SKIPPED;
    }
    return f;
}

static void see_again(struct watched *f, const struct found_file *found, int64_t now)
{
    f->gone = false;
    if (f->state == WATCHED_ON_WAY || file_identity_equal(&f->identity, &found->identity))
        return;
    f->identity = found->identity;
    f->unchanged_since_nanos = now;
    f->retry_at_nanos = 0;
    clear_key(f, now);
    f->state = WATCHED_NEW;
}

// True if the entry goes with its file; one on its way stays until its end.
static bool file_is_gone(struct watched *f, int64_t now)
{
    f->gone = true;
    if (f->state == WATCHED_ON_WAY)
        return false;
    clear_key(f, now);
    return true;
}

// Both lists are ordered by path: one pass brings them together.
static void merge_found(struct file_watch *w, struct found_files *found, int64_t now)
{
    struct watched **merged = mem_alloc((w->count + found->count) * sizeof *merged);
    size_t count = 0, i = 0, j = 0;
    while (i < w->count || j < found->count) {
        int order = i == w->count ? 1 : j == found->count ? -1 : strcmp(w->items[i]->path, found->items[j].path);
        if (order < 0) {
            struct watched *f = w->items[i++];
            if (file_is_gone(f, now))
                free_watched(f);
            else
                merged[count++] = f;
            continue;
        }
        if (order == 0) {
            see_again(w->items[i], &found->items[j], now);
            merged[count++] = w->items[i++];
        } else {
            struct watched *f = new_watched(w, &found->items[j]);
            f->unchanged_since_nanos = now;
            merged[count++] = f;
        }
        j++;
    }
    free(w->items);
    w->items = merged;
    w->count = count;
}

// How long until the file counts as complete; 0 = it does. Its own time is believed where it is sane, so that
// files which lay there before the start need not wait.
static int64_t settle_wait(const struct file_watch *w, const struct watched *f, int64_t now, int64_t wall)
{
    int64_t age = now - f->unchanged_since_nanos, by_time = wall - f->identity.mtime_nanos;
    if (by_time > age)
        age = by_time;
    return age >= w->settings->settle_nanos ? 0 : w->settings->settle_nanos - age;
}

static int by_age(const void *a, const void *b)
{
    const struct watched *x = *(struct watched *const *)a, *y = *(struct watched *const *)b;
    if (x->identity.mtime_nanos != y->identity.mtime_nanos)
        return x->identity.mtime_nanos < y->identity.mtime_nanos ? -1 : 1;
    return strcmp(x->path, y->path);
}

// Fills the ready list. Returns when to look next: in an interval, or sooner if a file settles before.
static int64_t collect_ready(struct file_watch *w, int64_t now)
{
    int64_t wall = clock_wall_nanos(w->receiver->component.env->clock), next = w->settings->interval_nanos;
    free(w->ready);
    w->ready = mem_alloc(w->count * sizeof *w->ready);
    w->ready_count = w->ready_next = 0;
    for (size_t i = 0; i < w->count; i++) {
        struct watched *f = w->items[i];
        if (f->state != WATCHED_NEW || f->gone)
            continue;
        int64_t wait = settle_wait(w, f, now, wall);
        if (wait < f->retry_at_nanos - now)
            wait = f->retry_at_nanos - now;
        if (wait <= 0)
            w->ready[w->ready_count++] = f;
        else if (wait < next)
            next = wait;
    }
    if (w->ready_count != 0)
        qsort(w->ready, w->ready_count, sizeof *w->ready, by_age);
    return next;
}

static void on_timer(uv_timer_t *timer)
{
    struct file_watch *w = timer->data;
    if (w->closed || w->scanning)
        return;
    w->scan = (struct scan){.watch = w, .job.run = run_scan};
    w->scanning = workers_try_submit(w->receiver->component.env->workers, &w->scan.job);
    if (!w->scanning)
        uv_timer_start(&w->timer, on_timer, RETRY_FLOOR_MS, 0);
}

static void note_first_scan(struct file_watch *w)
{
    if (w->first_scan_done)
        return;
    w->first_scan_done = true;
    log_info(logger(w), "watching %s, %zu of them to be sent", TEXT_COUNT(w->count, "file"), w->ready_count);
}

static void run_scan_done(struct loop_task *task)
{
    struct scan *s = CONTAINER_OF(task, struct scan, done);
    struct file_watch *w = s->watch;
    w->scanning = false;
    if (s->found.truncated)
        log_warn(logger(w), "more than %d files match: the rest is left alone", FILE_WALK_MAX);
    if (!w->closed && s->e.code == ERR_OK) {
        int64_t now = now_nanos(w);
        w->blocked = false;
        merge_found(w, &s->found, now);
        known_files_expire(w->known, now, w->settings->forget_nanos, w->receiver->component.loop);
        int64_t next = collect_ready(w, now);
        note_first_scan(w);
        uv_timer_start(&w->timer, on_timer, (uint64_t)(next / NANOS_PER_MS + 1), 0);
        dispatch(w);
    } else if (!w->closed) {
        uv_timer_start(&w->timer, on_timer, (uint64_t)(w->settings->interval_nanos / NANOS_PER_MS), 0);
    }
    found_files_fini(&s->found);
    if (w->closed)
        maybe_stopped(w);
}

// --- life ---

struct profile_file_options file_watch_options(const struct file_watch_settings *s, const struct format *const *allowed)
{
    struct profile_file_options o = s->options;
    o.allowed = allowed;
    o.limits.max_line_bytes = (uint32_t)s->max_line_bytes;
    o.limits.max_sample_types = (uint32_t)s->max_sample_types;
    o.limits.max_samples = (uint32_t)s->max_samples;
    o.limits.max_stack_depth = (uint32_t)s->max_stack_depth;
    o.limits.max_labels = (uint32_t)s->max_labels;
    return o;
}

struct file_watch *file_watch_create(struct receiver *receiver, const struct file_watch_settings *settings,
                                     const struct format *const *allowed, const struct path_attributes *match,
                                     struct known_files *known)
{
    struct file_watch *w = MEM_NEW(struct file_watch);
    w->receiver = receiver;
    w->settings = settings;
    w->known = known;
    w->options = file_watch_options(settings, allowed);
    w->options.match = match;
    register_metrics(w);
    uv_timer_t *timers[] = {&w->timer, &w->retry_timer};
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        CHECK(uv_timer_init(&receiver->component.loop->uv, timers[i]) == 0);
        timers[i]->data = w;
        w->open_timers++;
    }
    uv_timer_start(&w->timer, on_timer, (uint64_t)(settings->initial_delay_nanos / NANOS_PER_MS), 0);
    return w;
}

void file_watch_close(struct file_watch *w)
{
    w->closed = true;
    uv_timer_stop(&w->timer);
    uv_timer_stop(&w->retry_timer);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct file_watch *w = handle->data;
    if (--w->open_timers != 0)
        return;
    void (*on_stopped)(void *) = w->on_stopped;
    void *arg = w->on_stopped_arg;
    for (size_t i = 0; i < w->count; i++)
        free_watched(w->items[i]);
    free(w->items);
    free(w->ready);
    free(w);
    on_stopped(arg);
}

static void on_known_idle(void *arg)
{
    maybe_stopped(arg);
}

static void maybe_stopped(struct file_watch *w)
{
    if (w->on_stopped == NULL || w->timer_closed || w->on_way != 0 || w->scanning || known_files_pending(w->known) != 0)
        return;
    w->timer_closed = true;
    uv_close((uv_handle_t *)&w->timer, on_timer_closed);
    uv_close((uv_handle_t *)&w->retry_timer, on_timer_closed);
}

void file_watch_stop(struct file_watch *w, void (*on_stopped)(void *arg), void *arg)
{
    w->on_stopped = on_stopped;
    w->on_stopped_arg = arg;
    known_files_on_idle(w->known, on_known_idle, w);
    maybe_stopped(w);
}
