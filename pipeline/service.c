// SPDX-License-Identifier: Apache-2.0
#include "pipeline/service.h"

#include "base/hash.h"
#include "base/mem.h"
#include "exporters/exporter.h"
#include "extensions/extension.h"
#include "pipeline/graph.h"
#include "pipeline/health.h"
#include "pipeline/trim.h"
#include "receivers/receiver.h"

#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum {
    FORCED_END_SECONDS = 5,
    POLL_MS = 5, // how often the end of a phase of the shutdown is looked for
    JOB_RING_ENTRIES = 4096,
    MALLOC_KEEP_BYTES = 32 << 20, // the most that glibc allows
    MALLOC_ARENAS = 2,            // glibc makes eight per core otherwise, and keeps what each once needed
};

// Processors stop with the exporters: nothing is on its way then.
enum phase { PHASE_RUN, PHASE_DRAIN, PHASE_STOP_RECEIVERS, PHASE_STOP_EXPORTERS, PHASE_STOP_EXTENSIONS, PHASE_END };

struct service {
    const struct service_options *options;
    const struct clock *clock;
    struct log *log;
    struct logger logger;
    struct metrics *metrics;
    struct budget budget;
    struct workers *workers;
    struct loop *loops;
    unsigned loop_count;
    struct component_env env;
    struct shared_listener *listeners; // the first of a list; its users keep it
    struct kube_watches *watches;      // so of this
    struct arena arena;
    struct instance *instances[KIND_COUNT];
    struct instance metrics_page;
    struct component_plan metrics_page_plan;
    struct endpoint_settings metrics_settings;
    struct instance_owner owner;
    struct graph *graph;
    pthread_mutex_t health_lock; // of health, and of the instances' queues against those who look at them
    struct service_health health;
    // Loop 0.
    enum phase phase;
    int exit_code;
    size_t waiting_for; // instances or queues that have not stopped
    int64_t drain_deadline_nanos;
    unsigned late_polls; // since the deadline has passed
    bool hurry;
    uv_signal_t signals[3];
    size_t signal_count;
    uv_timer_t poll;
    struct trim trim;
    struct loop_task ready_task;
};

struct metrics *service_metrics(struct service *s)
{
    return s->metrics;
}

static size_t kind_count(const struct service *s, enum component_kind kind)
{
    return s->options->plan->components[kind].count;
}

static struct instance *find_instance(void *arg, const struct component_plan *plan)
{
    struct service *s = arg;
    for (size_t i = 0; i < kind_count(s, plan->kind); i++)
        if (s->options->plan->components[plan->kind].items[i] == plan)
            return &s->instances[plan->kind][i];
    CHECK(false);
    return NULL;
}

struct component *service_component(struct service *s, enum component_kind kind, const char *id)
{
    for (size_t i = 0; i < kind_count(s, kind); i++)
        if (strcmp(s->options->plan->components[kind].items[i]->id, id) == 0)
            return s->instances[kind][i].component;
    return NULL;
}

static struct storage *find_storage(void *service, const char *extension_id, struct err *e)
{
    struct extension *x = (struct extension *)service_component(service, KIND_EXTENSION, extension_id);
    if (x == NULL || x->module->storage == NULL) {
        err_set(e, ERR_INVALID, "no storage extension \"%s\" is started: list it in service.extensions", extension_id);
        return NULL;
    }
    return x->module->storage(x);
}

static struct authenticator *find_authenticator(void *service, const char *extension_id, unsigned role, struct err *e)
{
    struct extension *x = (struct extension *)service_component(service, KIND_EXTENSION, extension_id);
    if (x == NULL || x->module->authenticator == NULL ||
        (x->module->auth_roles(x->component.instance->plan->settings) & role) == 0) {
        err_set(e, ERR_INVALID, "no authenticator \"%s\" is started: list it in service.extensions", extension_id);
        return NULL;
    }
    return x->module->authenticator(x);
}

// --- health ---

static void set_health(struct service *s, enum service_phase phase)
{
    pthread_mutex_lock(&s->health_lock);
    s->health = (struct service_health){phase, clock_wall_nanos(s->clock)};
    pthread_mutex_unlock(&s->health_lock);
}

static void read_health(void *service, struct service_health *out)
{
    struct service *s = service;
    pthread_mutex_lock(&s->health_lock);
    *out = s->health;
    pthread_mutex_unlock(&s->health_lock);
}

static bool read_exporter_health(void *service, size_t i, struct exporter_health *out)
{
    struct service *s = service;
    if (s->instances[KIND_EXPORTER] == NULL || i >= kind_count(s, KIND_EXPORTER))
        return false;
    const struct instance *x = &s->instances[KIND_EXPORTER][i];
    pthread_mutex_lock(&s->health_lock);
    bool there = x->queue != NULL;
    if (there)
        queue_health(x->queue, &out->queue);
    pthread_mutex_unlock(&s->health_lock);
    out->id = there ? x->plan->id : NULL;
    return there;
}

// --- start ---

static unsigned worker_count(const struct service *s)
{
    int64_t wanted = s->options->plan->service.workers;
    if (wanted == 0)
        wanted = sysconf(_SC_NPROCESSORS_ONLN);
    return wanted < 1 ? 1 : (unsigned)wanted;
}

static void init_threads(struct service *s)
{
    s->loop_count = (unsigned)s->options->plan->service.loops;
    s->loops = mem_alloc(s->loop_count * sizeof *s->loops);
    for (unsigned i = 0; i < s->loop_count; i++)
        loop_init(&s->loops[i], i);
    for (unsigned i = 1; i < s->loop_count; i++)
        loop_start_thread(&s->loops[i]);
    uint64_t limit = s->options->plan->service.memory_limit;
    budget_init(&s->budget, budget_default_limit("/"));
    if (limit != 0)
        budget_set_limit(&s->budget, (size_t)limit);
    s->workers = workers_create(worker_count(s), JOB_RING_ENTRIES, s->budget.limit);
    CHECK(uv_timer_init(&s->loops[0].uv, &s->poll) == 0);
    s->poll.data = s;
    uint64_t trim_after = s->options->trim_after_ms;
    trim_start(&s->trim, &s->loops[0].uv, trim_after != 0 ? trim_after : TRIM_AFTER_MS, s->workers, &s->budget);
}

static void init_log(struct service *s)
{
    const struct log_settings *logs = &s->options->plan->service.logs;
    struct log_options options = {
        .level = s->options->quiet && logs->level < LOG_WARN ? LOG_WARN : (enum log_level)logs->level,
        .encoding = (enum log_encoding)logs->encoding,
        .stream = s->options->log_stream,
        .clock = s->clock,
        .burst = 10,
    };
    s->log = log_create(&options);
    s->logger = (struct logger){s->log, "service", NULL};
}

static void request_stop(void *service, int exit_code)
{
    service_stop(service, exit_code);
}

static int64_t read_budget(void *arg)
{
    struct budget *b = arg;
    return (int64_t)atomic_load(&b->used);
}

static int64_t read_limit(void *arg)
{
    const struct budget *b = arg;
    return (int64_t)b->limit;
}

static int64_t read_rss(void *arg)
{
    (void)arg;
    size_t rss = 0;
    return uv_resident_set_memory(&rss) == 0 ? (int64_t)rss : 0;
}

static void register_metrics(struct service *s)
{
    static const struct metric_family used = {
        "profrelay_memory_used_bytes", "What files, batches and requests take of service.memory_limit.", METRIC_GAUGE};
    static const struct metric_family limit = {"profrelay_memory_limit_bytes", "service.memory_limit.", METRIC_GAUGE};
    static const struct metric_family rss = {"otelcol_process_memory_rss", "Resident memory in bytes.", METRIC_GAUGE};
    static const struct metric_family version = {"profrelay_build_info", "Always 1; the version is a label.",
                                                 METRIC_GAUGE};
    const struct metric_label label = {"version", PROFRELAY_VERSION};
    metrics_series_read(s->metrics, &used, NULL, 0, read_budget, &s->budget);
    metrics_series_read(s->metrics, &limit, NULL, 0, read_limit, &s->budget);
    metrics_series_read(s->metrics, &rss, NULL, 0, read_rss, NULL);
    metric_set(metrics_series(s->metrics, &version, &label, 1), 1);
}

static size_t endpoints_of(const struct component_plan *p, const char *out[RECEIVER_ENDPOINTS])
{
    if (p->kind != KIND_RECEIVER)
        return 0;
    const struct receiver_module *m = CONTAINER_OF(p->module, struct receiver_module, module);
    return m->endpoints != NULL ? m->endpoints(p->settings, out) : 0;
}

static bool share_endpoint(const struct component_plan *a, const struct component_plan *b)
{
    const char *ours[RECEIVER_ENDPOINTS], *theirs[RECEIVER_ENDPOINTS];
    size_t our_count = endpoints_of(a, ours), their_count = our_count > 0 ? endpoints_of(b, theirs) : 0;
    for (size_t i = 0; i < our_count; i++)
        for (size_t j = 0; j < their_count; j++)
            if (strcmp(ours[i], theirs[j]) == 0)
                return true;
    return false;
}

// The loop of each component of a kind: one after the other, but those that share a listener have the same, and
// processors, which may share a watch and do little there, all have the first.
static void place(const struct service *s, struct component_plan *const *plans, size_t count, unsigned *loops)
{
    for (size_t i = 0; i < count; i++) {
        loops[i] = plans[i]->kind == KIND_PROCESSOR ? 0 : (unsigned)(i % s->loop_count);
        for (size_t j = 0; j < i; j++) {
            if (loops[j] == loops[i] || !share_endpoint(plans[i], plans[j]))
                continue;
            for (size_t k = 0, old = loops[i]; k <= i; k++)
                if (loops[k] == old)
                    loops[k] = loops[j];
        }
    }
}

static enum err_code create_kind(struct service *s, enum component_kind kind, struct err *e)
{
    size_t count = kind_count(s, kind);
    struct component_plan *const *plans = s->options->plan->components[kind].items;
    unsigned *loops = arena_alloc(&s->arena, count * sizeof *loops);
    place(s, plans, count, loops);
    s->instances[kind] = mem_alloc(count * sizeof(struct instance));
    for (size_t i = 0; i < count; i++) {
        enum err_code rc = instance_create(&s->instances[kind][i], plans[i], &s->loops[loops[i]], &s->env, s->log,
                                           &s->arena, &s->owner, e);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

static enum err_code start_kind(struct service *s, enum component_kind kind, struct err *e)
{
    for (size_t i = 0; i < kind_count(s, kind); i++) {
        enum err_code rc = instance_start(&s->instances[kind][i], e);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

static void send_record_by(void *arg, struct send *send)
{
    struct exporter *x = arg;
    x->module->send(x, send);
}

static enum err_code replace_record_by(void *arg, const struct record *r, const struct verdict *refusal,
                                       struct record_list *out, struct err *e)
{
    struct exporter *x = arg;
    return x->module->replace(x, r, refusal, out, e);
}

static void create_queues(struct service *s)
{
    for (size_t i = 0; i < kind_count(s, KIND_EXPORTER); i++) {
        struct instance *x = &s->instances[KIND_EXPORTER][i];
        const struct exporter_settings *common = x->plan->common;
        struct queue_options options = {
            .settings = &common->queue,
            .retry = &common->retry,
            .loop = x->component->loop,
            .budget = &s->budget,
            .clock = s->clock,
            .log = x->component->log,
            .metrics = s->metrics,
            .exporter_id = x->plan->id,
            .send = send_record_by,
            .replace = ((struct exporter *)x->component)->module->replace != NULL ? replace_record_by : NULL,
            .workers = s->workers,
            .arg = x->component,
            .random_seed = hash_bytes(x->plan->id, strlen(x->plan->id)),
        };
        x->queue = queue_create(&options);
    }
}

// A port of ours that is taken is a warning: profiles matter more than their metrics.
static void start_metrics_page(struct service *s)
{
    const struct service_settings *settings = &s->options->plan->service;
    const struct reader_settings *readers = settings->metrics_readers.items;
    if (s->options->metrics_page == NULL || settings->metrics_level == METRICS_NONE)
        return;
    const char *endpoint = settings->metrics_address != NULL ? settings->metrics_address : "localhost:8888";
    for (size_t i = 0; i < settings->metrics_readers.count; i++) {
        const struct prometheus_settings *p = &readers[i].pull.exporter.prometheus;
        if (!p->present)
            continue;
        bool bare_ipv6 = strchr(p->host, ':') != NULL && p->host[0] != '[';
        endpoint = arena_format(&s->arena, bare_ipv6 ? "[%s]:%" PRId64 : "%s:%" PRId64, p->host, p->port);
        break;
    }
    s->metrics_settings.endpoint = endpoint;
    s->metrics_page_plan = (struct component_plan){
        .kind = KIND_EXTENSION, .id = "metrics", .module = s->options->metrics_page, .settings = &s->metrics_settings};
    struct err e = {0};
    if (instance_create(&s->metrics_page, &s->metrics_page_plan, &s->loops[0], &s->env, s->log, &s->arena, &s->owner,
                        &e) != ERR_OK ||
        instance_start(&s->metrics_page, &e) != ERR_OK)
        log_warn(&s->logger, "going on without a metrics page: %s", e.text);
}

static enum err_code start_all(struct service *s, struct err *e)
{
    for (int kind = KIND_COUNT; kind-- > 0;)
        if (create_kind(s, (enum component_kind)kind, e) != ERR_OK)
            return e->code;
    create_queues(s);
    if (start_kind(s, KIND_EXTENSION, e) != ERR_OK)
        return e->code;
    start_metrics_page(s);
    s->graph = graph_create(s->options->plan, find_instance, s);
    if (start_kind(s, KIND_EXPORTER, e) != ERR_OK)
        return e->code;
    return start_kind(s, KIND_PROCESSOR, e);
}

static enum err_code processors_ready(struct service *s, struct err *e)
{
    for (size_t i = 0; i < kind_count(s, KIND_PROCESSOR); i++) {
        enum err_code rc = instance_ready(&s->instances[KIND_PROCESSOR][i], e);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

static void run_ready(struct loop_task *task)
{
    struct service *s = CONTAINER_OF(task, struct service, ready_task);
    if (s->options->feature_gates != NULL)
        log_info(&s->logger, "feature gates have no meaning here: %s", s->options->feature_gates);
    if (s->phase == PHASE_RUN)
        set_health(s, SERVICE_READY);
    log_info(&s->logger, "Everything is ready. Begin running and processing data.");
    if (s->options->on_ready != NULL)
        s->options->on_ready(s->options->arg, s);
}

static void stop_now(struct service *s, int exit_code);

static void fail_to_start(struct service *s, const struct err *e)
{
    log_error(&s->logger, "cannot start: %s", e->text);
    stop_now(s, 1);
}

static void on_wait(uv_timer_t *timer)
{
    struct service *s = timer->data;
    struct err e = {0};
    enum err_code rc = processors_ready(s, &e);
    if (rc == ERR_UNAVAILABLE)
        return;
    uv_timer_stop(timer);
    if (rc == ERR_OK)
        rc = start_kind(s, KIND_RECEIVER, &e);
    if (rc != ERR_OK) {
        fail_to_start(s, &e);
        return;
    }
    s->ready_task.run = run_ready;
    loop_post(&s->loops[0], &s->ready_task);
}

// Receivers are last: what they take in must find everything ready.
static void start_receivers_when_ready(struct service *s)
{
    struct err e = {0};
    if (processors_ready(s, &e) == ERR_UNAVAILABLE) {
        log_info(&s->logger, "not receiving yet: %s", e.text);
        uv_timer_start(&s->poll, on_wait, POLL_MS, POLL_MS);
    } else {
        on_wait(&s->poll);
    }
}

// --- end ---

static void on_poll(uv_timer_t *timer);

static struct queue *exporter_queue(const struct service *s, size_t i)
{
    return s->instances[KIND_EXPORTER] != NULL ? s->instances[KIND_EXPORTER][i].queue : NULL;
}

static void call_drain(void *arg)
{
    queue_drain(arg);
}

static void call_abandon(void *arg)
{
    queue_abandon(arg);
}

static void for_each_queue(struct service *s, void (*call)(void *queue))
{
    for (size_t i = 0; i < kind_count(s, KIND_EXPORTER); i++)
        if (exporter_queue(s, i) != NULL)
            loop_call(s->instances[KIND_EXPORTER][i].component->loop, call, exporter_queue(s, i));
}

static void begin_drain(struct service *s)
{
    log_info(&s->logger, "Starting shutdown...");
    set_health(s, SERVICE_ENDING);
    s->phase = PHASE_DRAIN;
    s->drain_deadline_nanos = clock_monotonic_nanos(s->clock) + s->options->plan->service.shutdown_timeout_nanos;
    for (size_t i = 0; s->instances[KIND_RECEIVER] != NULL && i < kind_count(s, KIND_RECEIVER); i++)
        instance_close(&s->instances[KIND_RECEIVER][i]);
    graph_drain(s->graph);
    for_each_queue(s, call_drain);
    uv_timer_start(&s->poll, on_poll, 0, POLL_MS);
}

static bool everything_sent(struct service *s)
{
    if (workers_busy(s->workers) != 0 || !graph_idle(s->graph))
        return false;
    for (size_t i = 0; i < kind_count(s, KIND_EXPORTER); i++)
        if (exporter_queue(s, i) != NULL && !queue_idle(exporter_queue(s, i)))
            return false;
    return true;
}

static void give_up_sending(struct service *s)
{
    for (size_t i = 0; i < kind_count(s, KIND_EXPORTER); i++)
        if (exporter_queue(s, i) != NULL)
            instance_cancel(&s->instances[KIND_EXPORTER][i]);
    for_each_queue(s, call_abandon);
}

static void stop_kind(struct service *s, enum component_kind kind)
{
    for (size_t i = 0; s->instances[kind] != NULL && i < kind_count(s, kind); i++) {
        if (!s->instances[kind][i].created)
            continue;
        s->waiting_for++;
        instance_stop(&s->instances[kind][i]);
    }
}

// On the exporter's loop; the way to loop 0 is that of a stopped component.
static void on_queue_closed(void *arg)
{
    component_stopped(arg);
}

static void call_close_queue(void *arg)
{
    struct instance *x = arg;
    struct service *s = CONTAINER_OF(x->owner, struct service, owner);
    pthread_mutex_lock(&s->health_lock);
    struct queue *q = x->queue;
    x->queue = NULL;
    pthread_mutex_unlock(&s->health_lock);
    queue_close(&q, on_queue_closed, x->component);
}

static void close_queues(struct service *s)
{
    for (size_t i = 0; i < kind_count(s, KIND_EXPORTER); i++) {
        if (exporter_queue(s, i) == NULL)
            continue;
        struct instance *x = &s->instances[KIND_EXPORTER][i];
        s->waiting_for++;
        loop_call(x->component->loop, call_close_queue, x);
    }
}

static void on_instance_stopped(struct instance_owner *owner, struct instance *instance)
{
    (void)instance;
    struct service *s = CONTAINER_OF(owner, struct service, owner);
    s->waiting_for--;
}

static void close_handles(struct service *s)
{
    for (size_t i = 0; i < s->signal_count; i++)
        uv_close((uv_handle_t *)&s->signals[i], NULL);
    uv_close((uv_handle_t *)&s->poll, NULL);
    trim_close(&s->trim);
    for (unsigned i = s->loop_count; i-- > 0;)
        loop_stop(&s->loops[i]);
}

static void enter_phase(struct service *s, enum phase phase)
{
    s->phase = phase;
    switch (phase) {
    case PHASE_STOP_RECEIVERS:
        graph_close(s->graph);
        stop_kind(s, KIND_RECEIVER);
        return;
    case PHASE_STOP_EXPORTERS:
        // The metrics page reads the queues: it goes first.
        if (s->metrics_page.created) {
            s->waiting_for++;
            instance_stop(&s->metrics_page);
        }
        stop_kind(s, KIND_EXPORTER);
        stop_kind(s, KIND_PROCESSOR);
        return;
    case PHASE_STOP_EXTENSIONS:
        close_queues(s);
        stop_kind(s, KIND_EXTENSION);
        return;
    default:
        close_handles(s);
    }
}

static void poll_drain(struct service *s)
{
    if (everything_sent(s)) {
        enter_phase(s, PHASE_STOP_RECEIVERS);
        return;
    }
    if (s->hurry || clock_monotonic_nanos(s->clock) >= s->drain_deadline_nanos)
        give_up_sending(s);
}

// Never a hang: a file system or a module that does not come to an end does not keep the process.
static void end_by_force_if_late(struct service *s)
{
    if (clock_monotonic_nanos(s->clock) < s->drain_deadline_nanos ||
        ++s->late_polls < FORCED_END_SECONDS * 1000 / POLL_MS)
        return;
    log_error(&s->logger,
              "ending by force: something has not stopped %d s after the shutdown timeout; what was not "
              "answered is sent again at the next start",
              FORCED_END_SECONDS);
    _exit(EXIT_FAILURE);
}

static void on_poll(uv_timer_t *timer)
{
    struct service *s = timer->data;
    end_by_force_if_late(s);
    if (s->phase == PHASE_DRAIN)
        poll_drain(s);
    else if (s->waiting_for == 0 && s->phase < PHASE_END)
        enter_phase(s, (enum phase)(s->phase + 1));
}

struct stop_task {
    struct loop_task task;
    struct service *service;
    int exit_code;
};

static void stop_now(struct service *s, int exit_code)
{
    if (s->phase == PHASE_RUN) {
        s->exit_code = exit_code;
        begin_drain(s);
    } else if (s->phase == PHASE_DRAIN && !s->hurry) {
        log_warn(&s->logger, "asked to end a second time: not waiting for what is queued");
        s->hurry = true;
        s->drain_deadline_nanos = clock_monotonic_nanos(s->clock);
    }
}

static void run_stop(struct loop_task *task)
{
    struct stop_task *t = (struct stop_task *)task;
    stop_now(t->service, t->exit_code);
    free(t);
}

void service_stop(struct service *s, int exit_code)
{
    struct stop_task *t = MEM_NEW(struct stop_task);
    *t = (struct stop_task){.task.run = run_stop, .service = s, .exit_code = exit_code};
    loop_post(&s->loops[0], &t->task);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct service *s = handle->data;
    if (signum == SIGHUP) { // a Collector reads its configuration again then
        log_warn(&s->logger, "received SIGHUP: the configuration is read at the start only; to read it anew, restart");
        return;
    }
    log_info(&s->logger, "received %s", signum == SIGINT ? "SIGINT" : "SIGTERM");
    stop_now(s, 0);
}

static void handle_signals(struct service *s)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    if (!s->options->handle_signals)
        return;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        CHECK(uv_signal_init(&s->loops[0].uv, &s->signals[i]) == 0);
        s->signals[i].data = s;
        CHECK(uv_signal_start(&s->signals[i], on_signal, numbers[i]) == 0);
        s->signal_count++;
    }
}

static void free_all(struct service *s)
{
    for (unsigned i = 0; i < s->loop_count; i++)
        loop_fini(&s->loops[i]);
    workers_stop(s->workers);
    graph_destroy(&s->graph);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        for (size_t i = 0; s->instances[kind] != NULL && i < kind_count(s, (enum component_kind)kind); i++)
            instance_destroy(&s->instances[kind][i]);
        free(s->instances[kind]);
    }
    instance_destroy(&s->metrics_page);
    workers_destroy(&s->workers);
    free(s->loops);
    metrics_destroy(&s->metrics);
    log_info(&s->logger, "Shutdown complete.");
    log_destroy(&s->log);
    arena_fini(&s->arena);
    pthread_mutex_destroy(&s->health_lock);
}

int service_run(const struct service_options *options)
{
    struct service s = {.options = options, .clock = options->clock != NULL ? options->clock : &clock_system};
    struct err e = {0};
    signal(SIGPIPE, SIG_IGN);
    mallopt(M_ARENA_MAX, MALLOC_ARENAS);
    // Large buffers come and go with every file: fetching their pages from the system each time costs a
    // quarter of the work. They stay with the process until it has been quiet for a while (see trim.h).
    mallopt(M_MMAP_THRESHOLD, MALLOC_KEEP_BYTES);
    mallopt(M_TRIM_THRESHOLD, MALLOC_KEEP_BYTES);
    arena_init(&s.arena, 0);
    init_log(&s);
    s.metrics = metrics_create();
    CHECK(pthread_mutex_init(&s.health_lock, NULL) == 0);
    set_health(&s, SERVICE_STARTING);
    init_threads(&s);
    register_metrics(&s);
    s.owner = (struct instance_owner){&s.loops[0], on_instance_stopped};
    s.env = (struct component_env){
        .workers = s.workers,
        .budget = &s.budget,
        .metrics = s.metrics,
        .clock = s.clock,
        .service = &s,
        .listeners = &s.listeners,
        .watches = &s.watches,
        .find_storage = find_storage,
        .find_authenticator = find_authenticator,
        .health = read_health,
        .exporter_health = read_exporter_health,
        .request_stop = request_stop,
    };
    handle_signals(&s);
    if (start_all(&s, &e) == ERR_OK)
        start_receivers_when_ready(&s);
    else
        fail_to_start(&s, &e);
    loop_run(&s.loops[0]);
    free_all(&s);
    return s.exit_code;
}
