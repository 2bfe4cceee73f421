// SPDX-License-Identifier: Apache-2.0
// The Collector's `k8s_attributes`: resources get what the cluster knows of their pods. Beyond it, samples of a whole host
// go to the resources of their pods.
#include "processors/k8s_attributes.h"

#include "base/file_mark.h"
#include "base/mem.h"
#include "processors/attribute_actions.h"
#include "processors/k8s_downward.h"
#include "processors/k8s_pods.h"
#include "processors/processors.h"

#include <pthread.h>
#include <stdio.h>

enum { LOST_LOG_SECONDS = 60 };

struct exclude_settings {
    const char *name;
};

struct k8s_settings {
    struct kube_watch_settings watch;
    bool passthrough, wait_for_metadata;
    int64_t wait_nanos;
    struct k8s_extract_settings extract;
    struct {
        struct config_structs pods; // of struct exclude_settings
        bool given;
    } exclude;
    struct config_structs associations; // of struct k8s_association_settings
    struct k8s_downward_settings downward;
    bool has_downward;
};

struct k8s_attributes {
    struct processor processor;
    const struct k8s_settings *settings;
    struct arena arena; // of the rules
    struct k8s_rules rules;
    struct kube_watch *watch; // NULL = none
    pthread_mutex_t lock;     // of own
    struct kube_snapshot *own;
    _Atomic bool has_own;
    _Atomic int64_t lost_logged_nanos; // monotonic; 0 = never
    int64_t deadline_nanos;            // monotonic: when waiting for the first list ends
    uv_timer_t refresh;                // of the downward API
    bool refreshes;
    struct file_mark marks[KUBE_MAPS];
};

#define SETTING(member) offsetof(struct k8s_settings, member)

static const struct field excluded_fields[] = {
    {.name = "name",
     .type = FIELD_STRING,
     .offset = offsetof(struct exclude_settings, name),
     .required = true,
     .help = "expression (RE2) found anywhere in the pod's name"},
    {.name = NULL},
};

static const struct field exclude_fields[] = {
    {.name = "pods",
     .type = FIELD_STRUCT_LIST,
     .offset = SETTING(exclude.pods),
     .fields = excluded_fields,
     .struct_size = sizeof(struct exclude_settings),
     .help = "pods that are left alone; exclude not set: jaeger-agent and jaeger-collector"},
    {.name = NULL},
};

static const struct field k8s_fields[] = {
    KUBE_WATCH_FIELDS(SETTING(watch)),
    {.name = "kube_config_path",
     .type = FIELD_STRING,
     .offset = SETTING(watch.kubeconfig),
     .help = "the Collector's spelling of kubeconfig"},
    {.name = "passthrough",
     .type = FIELD_BOOL,
     .offset = SETTING(passthrough),
     .default_text = "false",
     .help = "only k8s.pod.ip is added, from the connection; no API is asked"},
    {.name = "wait_for_metadata",
     .type = FIELD_BOOL,
     .offset = SETTING(wait_for_metadata),
     .default_text = "false",
     .help = "the receivers start once the cluster is known"},
    {.name = "wait_for_metadata_timeout",
     .type = FIELD_DURATION,
     .offset = SETTING(wait_nanos),
     .default_text = "10s",
     .max = 8.64e13,
     .help = "the start fails if it is not by then"},
    {.name = "extract",
     .type = FIELD_STRUCT,
     .offset = SETTING(extract),
     .fields = k8s_extract_fields,
     .help = "what is added"},
    {.name = "exclude",
     .type = FIELD_STRUCT,
     .offset = 0,
     .present_offset = 1 + SETTING(exclude.given),
     .fields = exclude_fields,
     .help = "whose resources nothing is added to"},
    {.name = "pod_association",
     .type = FIELD_STRUCT_LIST,
     .offset = SETTING(associations),
     .fields = k8s_association_fields,
     .struct_size = sizeof(struct k8s_association_settings),
     .help = "rules that lead to a pod, the first that does counts; not set: see the page"},
    {.name = "downward",
     .type = FIELD_STRUCT,
     .offset = SETTING(downward),
     .present_offset = 1 + SETTING(has_downward),
     .fields = k8s_downward_fields,
     .help = "instead of asking the API: the pod that profrelay runs in, told by the downward API"},
    {.name = NULL},
};

static const struct metric_family association_family = {"otelcol_k8s_pod_association",
                                                        "Look-ups of pods, one for a resource or for each different "
                                                        "list of attributes of its samples, by what they went by.",
                                                        METRIC_COUNTER};
static const struct metric_family missed_family = {
    "profrelay_k8s_missed_containers", "Look-ups that found a pod, but not which of its containers is meant.",
    METRIC_COUNTER};
static const struct metric_family unmatched_family = {
    "profrelay_k8s_unmatched_samples",
    "Samples that stayed in the resource of their host, of which others went to their pods.", METRIC_COUNTER};

// --- settings ---

static const struct exclude_settings *excluded_pods(const struct k8s_settings *s, size_t *count_out)
{
    static const struct exclude_settings usual[] = {{"jaeger-agent"}, {"jaeger-collector"}};
    *count_out = s->exclude.given ? s->exclude.pods.count : COUNT_OF(usual);
    return s->exclude.given ? s->exclude.pods.items : usual;
}

static void check_excluded(const struct k8s_settings *s, const struct component_check *check)
{
    size_t count;
    const struct exclude_settings *pods = excluded_pods(s, &count);
    for (size_t i = 0; i < count; i++) {
        struct regex *regex = NULL;
        struct err e;
        char path[48];
        snprintf(path, sizeof path, "exclude.pods[%zu].name", i);
        if (regex_compile(bytes_from_text(pods[i].name), &regex, &e) != ERR_OK)
            check_error(check, path, "%s", e.text);
        regex_destroy(&regex);
    }
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct k8s_settings *s = settings;
    kube_watch_settings_check(&s->watch, check);
    k8s_extract_check(&s->extract, check);
    k8s_association_check(&s->associations, check);
    check_excluded(s, check);
    if (s->passthrough && s->has_downward)
        check_error(check, "downward", "has no meaning with passthrough: true");
}

static enum err_code make_excluded(struct k8s_attributes *p, struct err *e)
{
    size_t count;
    const struct exclude_settings *pods = excluded_pods(p->settings, &count);
    enum err_code rc = ERR_OK;
    p->rules.excluded = arena_alloc(&p->arena, count * sizeof(struct regex *));
    while (rc == ERR_OK && p->rules.excluded_count < count) {
        rc = regex_compile(bytes_from_text(pods[p->rules.excluded_count].name),
                           &p->rules.excluded[p->rules.excluded_count], e);
        p->rules.excluded_count += rc == ERR_OK;
    }
    return rc;
}

// --- counting ---

static struct metric *association_series(const struct k8s_attributes *p, const char *status, const char *identifier)
{
    const struct metric_label labels[] = {
        {"processor", p->processor.component.id}, {"status", status}, {"pod_identifier", identifier}};
    return metrics_series(p->processor.component.env->metrics, &association_family, labels, COUNT_OF(labels));
}

static void register_metrics(struct k8s_attributes *p)
{
    struct metrics *m = p->processor.component.env->metrics;
    const struct metric_label label = {"processor", p->processor.component.id};
    for (uint32_t i = 0; i < p->rules.associations.count; i++) {
        struct k8s_association *a = &p->rules.associations.items[i];
        a->found = association_series(p, "success", a->name);
        a->lost = association_series(p, "error", a->name);
    }
    p->rules.nameless = association_series(p, "error", "none");
    p->rules.ignored = association_series(p, "excluded", "none");
    p->rules.missed_containers = metrics_series(m, &missed_family, &label, 1);
    p->rules.unmatched_samples = metrics_series(m, &unmatched_family, &label, 1);
}

static void on_lost(void *arg, const struct k8s_found *lost)
{
    struct k8s_attributes *p = arg;
    const int64_t now = clock_monotonic_nanos(p->processor.component.env->clock);
    int64_t last = atomic_load_explicit(&p->lost_logged_nanos, memory_order_relaxed);
    if (last != 0 && now - last < LOST_LOG_SECONDS * NANOS_PER_SECOND)
        return;
    if (!atomic_compare_exchange_strong(&p->lost_logged_nanos, &last, now))
        return;
    char address[K8S_ADDRESS_TEXT];
    const struct bytes text = lost->text.len > 0 ? lost->text : k8s_address_print(&lost->address, address);
    log_warn(&p->processor.component.log,
             "there is no pod for %s \"%.*s\": such profiles go on without what Kubernetes knows of them; see whether "
             "filter leaves the pod out, and otelcol_k8s_pod_association for how many",
             lost->by->name, BYTES_PRINT(text));
}

// --- life ---

void k8s_attributes_needs(struct processor *self, struct kube_needs *out)
{
    struct k8s_attributes *p = (struct k8s_attributes *)self;
    *out = (struct kube_needs){.keep = {k8s_extract_keeps, &p->rules.extract}};
    memcpy(out->kinds, p->rules.extract.kinds, sizeof out->kinds);
}

static void join_watch(struct k8s_attributes *p)
{
    struct kube_needs needs;
    k8s_attributes_needs(&p->processor, &needs);
    p->watch = kube_watch_join(&p->processor.component, &p->settings->watch, &needs);
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    struct k8s_attributes *p = (struct k8s_attributes *)self;
    const struct k8s_settings *s = settings;
    p->settings = s;
    arena_init(&p->arena, 0);
    CHECK(pthread_mutex_init(&p->lock, NULL) == 0);
    k8s_associations_init(&p->rules.associations, &s->associations, &p->arena);
    self->takes_unread = true;
    if (s->has_downward) {
        p->rules.own_namespace = k8s_downward_variable(s->downward.namespace_env);
        p->rules.own_name = k8s_downward_variable(s->downward.name_env);
        p->rules.own = association_series(p, "success", "downward");
    }
    p->rules.on_lost = on_lost;
    p->rules.arg = p;
    register_metrics(p);
    enum err_code rc = k8s_extract_init(&p->rules.extract, &s->extract, &p->arena, e);
    if (rc == ERR_OK)
        rc = make_excluded(p, e);
    if (rc == ERR_OK && !s->passthrough && !s->has_downward)
        join_watch(p);
    return rc;
}

void k8s_attributes_publish(struct processor *self, struct kube_snapshot *s)
{
    struct k8s_attributes *p = (struct k8s_attributes *)self;
    pthread_mutex_lock(&p->lock);
    struct kube_snapshot *before = p->own;
    p->own = s;
    pthread_mutex_unlock(&p->lock);
    atomic_store(&p->has_own, true);
    kube_snapshot_unref(&before);
}

static struct kube_snapshot *take_snapshot(struct k8s_attributes *p)
{
    if (!atomic_load(&p->has_own))
        return p->watch != NULL ? kube_watch_snapshot(p->watch) : NULL;
    pthread_mutex_lock(&p->lock);
    struct kube_snapshot *s = kube_snapshot_ref(p->own);
    pthread_mutex_unlock(&p->lock);
    return s;
}

// --- the downward API ---

static struct file_mark mark_of(const struct k8s_downward_settings *s, enum kube_map map)
{
    const char *path = map == KUBE_LABELS ? s->labels_file : s->annotations_file;
    return path == NULL ? (struct file_mark){.size = 0} : file_mark_of(path);
}

static bool files_changed(struct k8s_attributes *p)
{
    bool changed = false;
    for (int map = 0; map < KUBE_MAPS; map++) {
        const struct file_mark now = mark_of(&p->settings->downward, (enum kube_map)map);
        changed |= !file_mark_equal(&now, &p->marks[map]);
        p->marks[map] = now;
    }
    return changed;
}

// The marks were taken before: what changes meanwhile is seen the next time.
static enum err_code read_own(struct k8s_attributes *p, struct err *e)
{
    struct kube_needs needs;
    struct kube_snapshot *s;
    k8s_attributes_needs(&p->processor, &needs);
    enum err_code rc = k8s_downward_read(&p->settings->downward, &needs.keep, &s, e);
    if (rc == ERR_OK)
        k8s_attributes_publish(&p->processor, s);
    return rc;
}

static void on_refresh(uv_timer_t *timer)
{
    struct k8s_attributes *p = timer->data;
    struct err e;
    if (files_changed(p) && read_own(p, &e) != ERR_OK)
        log_warn(&p->processor.component.log, "downward: %s; what was read before stays in use", e.text);
}

static enum err_code start_downward(struct k8s_attributes *p, struct err *e)
{
    const uint64_t ms = (uint64_t)(p->settings->downward.refresh_nanos / NANOS_PER_MS);
    (void)files_changed(p);
    enum err_code rc = read_own(p, e);
    if (rc != ERR_OK) {
        err_prefix(e, "downward");
        return rc;
    }
    CHECK(uv_timer_init(&p->processor.component.loop->uv, &p->refresh) == 0);
    p->refresh.data = p;
    p->refreshes = true;
    uv_timer_start(&p->refresh, on_refresh, ms, ms);
    return ERR_OK;
}

static enum err_code start(struct processor *self, struct err *e)
{
    struct k8s_attributes *p = (struct k8s_attributes *)self;
    p->deadline_nanos = clock_monotonic_nanos(self->component.env->clock) + p->settings->wait_nanos;
    if (p->settings->has_downward)
        return start_downward(p, e);
    return p->watch == NULL ? ERR_OK : kube_watch_start(p->watch, e);
}

static enum err_code ready(struct processor *self, struct err *e)
{
    const struct k8s_attributes *p = (const struct k8s_attributes *)self;
    if (!p->settings->wait_for_metadata || p->watch == NULL || kube_watch_synced(p->watch))
        return ERR_OK;
    if (clock_monotonic_nanos(self->component.env->clock) < p->deadline_nanos)
        return err_set(e, ERR_UNAVAILABLE, "the cluster is not known yet");
    return err_set(e, ERR_IO,
                   "the Kubernetes API has not told all that is asked for within %lld ms: the log says what it "
                   "answered; wait_for_metadata_timeout sets how long to wait, wait_for_metadata: false starts without",
                   (long long)(p->settings->wait_nanos / NANOS_PER_MS));
}

static void on_left(void *arg)
{
    struct processor *self = arg;
    component_stopped(&self->component);
}

static void on_closed(uv_handle_t *timer)
{
    struct k8s_attributes *p = timer->data;
    component_stopped(&p->processor.component);
}

static void stop(struct processor *self)
{
    struct k8s_attributes *p = (struct k8s_attributes *)self;
    if (p->refreshes)
        uv_close((uv_handle_t *)&p->refresh, on_closed);
    else if (p->watch != NULL)
        kube_watch_leave(p->watch, &self->component, on_left, p);
    else
        component_stopped(&self->component);
}

static void destroy(struct processor *self)
{
    struct k8s_attributes *p = (struct k8s_attributes *)self;
    if (p->watch != NULL)
        kube_watch_release(p->watch);
    kube_snapshot_unref(&p->own);
    k8s_extract_fini(&p->rules.extract);
    for (size_t i = 0; i < p->rules.excluded_count; i++)
        regex_destroy(&p->rules.excluded[i]);
    pthread_mutex_destroy(&p->lock);
    arena_fini(&p->arena);
}

static bool wants_samples(struct processor *self, const struct batch *b, const struct sender *from)
{
    struct k8s_attributes *p = (struct k8s_attributes *)self;
    struct kube_snapshot *s = p->settings->passthrough ? NULL : take_snapshot(p);
    const bool wants = s != NULL && k8s_wants_samples(&p->rules, s, from, b);
    kube_snapshot_unref(&s);
    return wants;
}

static enum err_code process(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    struct k8s_attributes *p = (struct k8s_attributes *)self;
    if (p->settings->passthrough)
        return k8s_pass_through(from, batch, e);
    struct kube_snapshot *s = take_snapshot(p);
    if (s == NULL) {
        metric_add(p->rules.nameless, (*batch)->resource_count);
        return ERR_OK;
    }
    enum err_code rc = k8s_describe(&p->rules, s, from, batch, e);
    kube_snapshot_unref(&s);
    return rc;
}

const struct processor_module k8s_attributes_processor = {
    .module =
        {
            .type = "k8s_attributes",
            .aliases = (const char *const[]){"k8sattributes", NULL},
            .help = "Adds what Kubernetes knows of the pods that profiles came from.",
            .settings_size = sizeof(struct k8s_settings),
            .instance_size = sizeof(struct k8s_attributes),
            .fields = k8s_fields,
            .check = check_settings,
        },
    .create = create,
    .start = start,
    .ready = ready,
    .stop = stop,
    .wants_samples = wants_samples,
    .process = process,
    .destroy = destroy,
};
