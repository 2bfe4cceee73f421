// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_watch.h"

#include "base/mem.h"
#include "base/text.h"
#include "kube/kube_reflector.h"
#include "kube/kube_resource.h"
#include "kube/kube_settings.h"

#include <pthread.h>

enum {
    PUBLISH_MS = 100,    // between two snapshots, at least,
    PUBLISH_PAUSES = 10, // and so many times as long as the last one took
    EXPIRE_MS = 5000,
    LARGE_PART = 4, // of the budget: then it is told
    PATH_MAX_BYTES = 32 << 10,
};

struct kube_user {
    struct kube_user *next;
    const struct component *component;
    struct kube_needs needs;
    bool left;
    void (*on_left)(void *arg);
    void *on_left_arg;
};

struct kube_watches {
    struct kube_watch *first;
};

enum watch_state { WATCH_IDLE, WATCH_RUNS, WATCH_CLOSING, WATCH_CLOSED };

struct kube_watch {
    struct kube_watch *next;
    unsigned refs;
    struct kube_watch_settings settings; // its texts are the configuration's
    const struct component_env *env;
    struct loop *loop;
    const char *id; // of the user that made it
    struct logger log;
    struct kube_user *users;
    bool kinds[KUBE_KINDS];
    enum watch_state state;
    unsigned live; // handles and the API
    struct kube_api api;
    struct kube_store *store;
    struct kube_reflector reflectors[KUBE_KINDS];
    uv_timer_t publisher, expirer;
    uint64_t publish_at_ms; // not before
    size_t charged_bytes;   // to the budget
    bool told_large;
    struct metric *objects[KUBE_KINDS], *bytes;
    _Atomic bool synced;
    pthread_mutex_t lock; // of the snapshot
    struct kube_snapshot *snapshot;
};

static const struct metric_family objects_family = {
    .name = "profrelay_kubernetes_objects",
    .help = "Objects of the cluster that are known, by kind; what is gone counts until it is forgotten.",
    .type = METRIC_GAUGE,
};
static const struct metric_family bytes_family = {
    .name = "profrelay_kubernetes_bytes",
    .help = "Memory in bytes of what is known of the cluster.",
    .type = METRIC_GAUGE,
};
static const struct metric_family age_family = {
    .name = "profrelay_kubernetes_last_event_age_seconds",
    .help = "Seconds since the Kubernetes API told something of a kind; bookmarks count, they come every minute or so.",
    .type = METRIC_GAUGE,
};

// --- who asks ---

static bool keeps(void *arg, enum kube_kind kind, enum kube_map map, struct bytes key)
{
    const struct kube_watch *w = arg;
    for (const struct kube_user *u = w->users; u != NULL; u = u->next) {
        const struct kube_keep *k = &u->needs.keep;
        if (!u->left && k->keeps != NULL && k->keeps(k->arg, kind, map, key))
            return true;
    }
    return false;
}

static struct kube_watch *create(const struct component *user, const struct kube_watch_settings *settings)
{
    struct kube_watch *w = MEM_NEW(struct kube_watch);
    struct kube_watches **all = user->env->watches;
    if (*all == NULL)
        *all = MEM_NEW(struct kube_watches);
    w->next = (*all)->first;
    (*all)->first = w;
    w->settings = *settings;
    w->env = user->env;
    w->loop = user->loop;
    w->id = user->id;
    w->log = user->log;
    w->kinds[KUBE_POD] = true;
    CHECK(pthread_mutex_init(&w->lock, NULL) == 0);
    return w;
}

struct kube_watch *kube_watch_join(struct component *user, const struct kube_watch_settings *settings,
                                   const struct kube_needs *needs)
{
    struct kube_watch *w = *user->env->watches != NULL ? (*user->env->watches)->first : NULL;
    while (w != NULL && !kube_settings_equal(&w->settings, settings))
        w = w->next;
    if (w == NULL)
        w = create(user, settings);
    CHECK(w->state == WATCH_IDLE);
    struct kube_user *u = MEM_NEW(struct kube_user);
    *u = (struct kube_user){.next = w->users, .component = user, .needs = *needs};
    w->users = u;
    w->refs++;
    for (int kind = 0; kind < KUBE_CRONJOB; kind++)
        w->kinds[kind] = w->kinds[kind] || needs->kinds[kind];
    return w;
}

// --- snapshots ---

static void replace_snapshot(struct kube_watch *w, struct kube_snapshot *fresh)
{
    pthread_mutex_lock(&w->lock);
    struct kube_snapshot *before = w->snapshot;
    w->snapshot = fresh;
    pthread_mutex_unlock(&w->lock);
    kube_snapshot_unref(&before);
}

struct kube_snapshot *kube_watch_snapshot(struct kube_watch *w)
{
    pthread_mutex_lock(&w->lock);
    struct kube_snapshot *s = w->snapshot != NULL ? kube_snapshot_ref(w->snapshot) : NULL;
    pthread_mutex_unlock(&w->lock);
    return s;
}

static bool all_answered(const struct kube_watch *w)
{
    for (int kind = 0; kind < KUBE_KINDS; kind++)
        if (w->kinds[kind] && !atomic_load(&w->reflectors[kind].answered))
            return false;
    return true;
}

static void tell_synced(struct kube_watch *w, const struct kube_snapshot *s)
{
    if (atomic_load(&w->synced) || !all_answered(w))
        return;
    log_info(&w->log, "the cluster behind %s is known: %zu pods", w->api.access.server,
             kube_snapshot_count(s, KUBE_POD));
    atomic_store(&w->synced, true);
}

// All of it is there already: where there is no room for it, it is others who have to wait.
static void charge(struct kube_watch *w)
{
    struct budget *b = w->env->budget;
    size_t bytes = kube_store_bytes(w->store) + (w->snapshot != NULL ? kube_snapshot_bytes(w->snapshot) : 0);
    budget_take(b, bytes);
    budget_give(b, w->charged_bytes);
    w->charged_bytes = bytes;
    metric_set(w->bytes, (int64_t)bytes);
    if (w->told_large || bytes <= b->limit / LARGE_PART)
        return;
    w->told_large = true;
    log_warn(&w->log,
             "what is known of the cluster takes %s of the %s that service.memory_limit allows: watch less of it "
             "(filter.node, filter.namespace, filter.labels), or allow more",
             text_bytes((char[48]){0}, 48, bytes), text_bytes((char[48]){0}, 48, b->limit));
}

static void publish_later(struct kube_watch *w, uint64_t ms);

static struct kube_snapshot *make_snapshot(struct kube_watch *w)
{
    uint64_t begin = uv_hrtime();
    struct kube_snapshot *fresh = kube_store_snapshot(w->store);
    uint64_t pause_ms = (uv_hrtime() - begin) / NANOS_PER_MS * PUBLISH_PAUSES;
    uv_update_time(w->api.loop);
    w->publish_at_ms = uv_now(w->api.loop) + (pause_ms > PUBLISH_MS ? pause_ms : PUBLISH_MS);
    return fresh;
}

static void on_publish(uv_timer_t *timer)
{
    struct kube_watch *w = timer->data;
    struct kube_snapshot *fresh = make_snapshot(w);
    if (fresh == NULL) {
        log_warn(&w->log, "no memory for a new picture of the cluster: the old one stays in use");
        publish_later(w, EXPIRE_MS);
        return;
    }
    for (int kind = 0; kind < KUBE_KINDS; kind++)
        if (w->kinds[kind])
            metric_set(w->objects[kind], (int64_t)kube_snapshot_count(fresh, kind));
    replace_snapshot(w, kube_snapshot_ref(fresh));
    charge(w);
    tell_synced(w, fresh);
    kube_snapshot_unref(&fresh);
}

static void publish_later(struct kube_watch *w, uint64_t ms)
{
    uv_timer_start(&w->publisher, on_publish, ms, 0);
}

static void on_change(void *arg)
{
    struct kube_watch *w = arg;
    uint64_t due = w->publish_at_ms, now = uv_now(w->api.loop);
    if (!uv_is_active((uv_handle_t *)&w->publisher))
        publish_later(w, due > now ? due - now : 0);
}

static void on_expire(uv_timer_t *timer)
{
    struct kube_watch *w = timer->data;
    if (kube_store_expire(w->store, clock_wall_nanos(w->api.clock)))
        on_change(w);
    charge(w); // a long list grows for a while before it is published
}

bool kube_watch_synced(const struct kube_watch *w)
{
    return atomic_load(&w->synced);
}

// --- start ---

static int64_t read_age(void *arg)
{
    struct kube_reflector *r = arg;
    int64_t last = atomic_load_explicit(&r->last_event_nanos, memory_order_relaxed);
    return (kube_api_now(r->options.api) - last) / NANOS_PER_SECOND;
}

static void read_ages(struct kube_watch *w, int64_t (*read)(void *))
{
    for (int kind = 0; kind < KUBE_KINDS; kind++) {
        if (!w->kinds[kind])
            continue;
        const struct metric_label labels[] = {{"watch", w->id}, {"kind", kube_resource_of(kind)->plural}};
        metrics_series_read(w->env->metrics, &age_family, labels, COUNT_OF(labels), read, &w->reflectors[kind]);
        w->objects[kind] = metrics_series(w->env->metrics, &objects_family, labels, COUNT_OF(labels));
    }
    const struct metric_label label = {"watch", w->id};
    w->bytes = metrics_series(w->env->metrics, &bytes_family, &label, 1);
}

static enum err_code find_node(const struct kube_watch *w, const char **out, struct err *e)
{
    const char *variable = w->settings.node_from_env_var;
    *out = w->settings.node;
    if (variable == NULL)
        return ERR_OK;
    *out = getenv(variable);
    if (*out != NULL && kube_name_is_plain(*out))
        return ERR_OK;
    return err_set(e, ERR_INVALID,
                   "filter.node_from_env_var: %s is %s: give the container that variable with fieldRef "
                   "spec.nodeName",
                   variable, *out == NULL || **out == '\0' ? "not set" : "not a node's name");
}

static void init_reflector(struct kube_watch *w, enum kube_kind kind, const char *node)
{
    struct buf path;
    buf_init(&path, PATH_MAX_BYTES);
    kube_resource_write(kind, &w->settings, node, &path);
    buf_add_byte(&path, '\0');
    struct kube_reflector_options options = {
        .api = &w->api,
        .store = w->store,
        .kind = kind,
        .path = buf_ok(&path) ? (const char *)path.data : "/",
        .namespace_name = w->settings.namespace_name,
        .keep = {keeps, w},
        .metrics = w->env->metrics,
        .watch_id = w->id,
        .on_change = on_change,
        .arg = w,
    };
    kube_reflector_init(&w->reflectors[kind], &options);
    buf_fini(&path);
}

static void init_timer(struct kube_watch *w, uv_timer_t *timer)
{
    CHECK(uv_timer_init(w->api.loop, timer) == 0);
    timer->data = w;
}

enum err_code kube_watch_start(struct kube_watch *w, struct err *e)
{
    const char *node;
    if (w->state != WATCH_IDLE)
        return ERR_OK;
    enum err_code rc = find_node(w, &node, e);
    if (rc == ERR_OK)
        rc = kube_api_open(&w->api, &w->loop->uv, &w->settings, w->env->clock, &w->log, e);
    if (rc != ERR_OK)
        return rc;
    w->state = WATCH_RUNS;
    w->store =
        kube_store_create(&(struct kube_store_options){.keep_deleted_nanos = w->settings.pod_delete_grace_nanos});
    init_timer(w, &w->publisher);
    init_timer(w, &w->expirer);
    uv_timer_start(&w->expirer, on_expire, EXPIRE_MS, EXPIRE_MS);
    for (int kind = 0; kind < KUBE_KINDS; kind++) {
        if (!w->kinds[kind])
            continue;
        init_reflector(w, kind, node);
        kube_reflector_start(&w->reflectors[kind]);
    }
    read_ages(w, read_age);
    return ERR_OK;
}

// --- end ---

static void end_users(struct kube_watch *w)
{
    for (struct kube_user *u = w->users; u != NULL; u = u->next) {
        void (*on_left)(void *) = u->on_left;
        u->on_left = NULL;
        if (on_left != NULL)
            on_left(u->on_left_arg);
    }
}

static void part_closed(struct kube_watch *w)
{
    if (--w->live > 0)
        return;
    for (int kind = 0; kind < KUBE_KINDS; kind++)
        if (w->kinds[kind])
            kube_reflector_fini(&w->reflectors[kind]);
    kube_store_destroy(&w->store);
    budget_give(w->env->budget, w->charged_bytes);
    w->charged_bytes = 0;
    w->state = WATCH_CLOSED;
    w->refs++; // a user may release it when it hears
    end_users(w);
    kube_watch_release(w);
}

static void on_timer_closed(uv_handle_t *timer)
{
    part_closed(timer->data);
}

static void on_reflector_stopped(uv_handle_t *timer)
{
    struct kube_reflector *r = timer->data;
    part_closed(r->options.arg);
}

static void on_api_closed(void *arg)
{
    part_closed(arg);
}

static void close_watch(struct kube_watch *w)
{
    w->state = WATCH_CLOSING;
    w->live = 3;
    read_ages(w, NULL);
    for (int kind = 0; kind < KUBE_KINDS; kind++) {
        if (!w->kinds[kind])
            continue;
        w->live++;
        kube_reflector_stop(&w->reflectors[kind], on_reflector_stopped);
    }
    uv_close((uv_handle_t *)&w->publisher, on_timer_closed);
    uv_close((uv_handle_t *)&w->expirer, on_timer_closed);
    kube_api_close(&w->api, on_api_closed, w);
}

static bool all_left(const struct kube_watch *w)
{
    for (const struct kube_user *u = w->users; u != NULL; u = u->next)
        if (!u->left)
            return false;
    return true;
}

void kube_watch_leave(struct kube_watch *w, struct component *user, void (*on_left)(void *arg), void *arg)
{
    struct kube_user *u = w->users;
    while (u->component != user)
        u = u->next;
    u->left = true;
    if (w->state == WATCH_RUNS && all_left(w)) {
        u->on_left = on_left;
        u->on_left_arg = arg;
        close_watch(w);
    } else {
        on_left(arg);
    }
}

static void free_watch(struct kube_watch *w)
{
    struct kube_watches **all = w->env->watches;
    struct kube_watch **at = &(*all)->first;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    if ((*all)->first == NULL) {
        free(*all);
        *all = NULL;
    }
    for (struct kube_user *u = w->users, *next; u != NULL; u = next) {
        next = u->next;
        free(u);
    }
    kube_snapshot_unref(&w->snapshot);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void kube_watch_release(struct kube_watch *w)
{
    if (--w->refs == 0)
        free_watch(w);
}
