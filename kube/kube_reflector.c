// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_reflector.h"

#include "base/mem.h"
#include "kube/kube_resource.h"

#include <stdio.h>

enum {
    PAGE_OBJECTS = 500,
    URL_MAX_BYTES = 64 << 10,
    WATCH_STALLS = 5,
    WATCH_MARGIN_SECONDS = 30,
    SOON_TRIES = 4,         // of what is forbidden: an API that has just started forbids everything for a moment
    TRIES_OF_A_VERSION = 5, // of watches that fail; perhaps nobody knows that version any more
    ERROR_BODY_MAX_BYTES = 64 << 10,
};

static const struct metric_family requests_family = {
    .name = "profrelay_kubernetes_requests",
    .help = "Requests to the Kubernetes API by kind and outcome.",
    .type = METRIC_COUNTER,
};
static const struct metric_family relists_family = {
    .name = "profrelay_kubernetes_relists",
    .help = "Complete lists that were read of a kind, the first one included.",
    .type = METRIC_COUNTER,
};
static const struct metric_family events_family = {
    .name = "profrelay_kubernetes_events",
    .help = "Changes that the Kubernetes API told of a kind.",
    .type = METRIC_COUNTER,
};

static void on_timer(uv_timer_t *timer);

static const char *verb(const struct kube_reflector *r)
{
    return r->phase == KUBE_LISTS ? "list" : "watch";
}

static void ask_after(struct kube_reflector *r, int64_t nanos)
{
    uv_update_time(r->options.api->loop);
    uv_timer_start(&r->timer, on_timer, (uint64_t)((nanos + NANOS_PER_MS - 1) / NANOS_PER_MS), 0);
}

static void back_off(struct kube_reflector *r, int64_t least_nanos)
{
    struct kube_api *api = r->options.api;
    ask_after(r, retry_next(&r->retry, &api->timing.retry, kube_api_now(api), least_nanos, random_unit(&api->random)));
}

static void begin_list(struct kube_reflector *r)
{
    r->phase = KUBE_LISTS;
    free(r->continue_token);
    r->continue_token = NULL;
}

static void recovered(struct kube_reflector *r)
{
    kube_health_served(&r->health, verb(r));
    r->let_in = true;
}

static void set_answered(struct kube_reflector *r)
{
    atomic_store(&r->answered, true);
    r->options.on_change(r->options.arg);
}

// --- what comes ---

static void on_item(void *arg, struct kube_object *o)
{
    struct kube_reflector *r = arg;
    if (!kube_store_put(r->options.store, o, clock_wall_nanos(r->options.api->clock)) && r->answer.error.code == ERR_OK)
        err_set(&r->answer.error, ERR_MEMORY, "no memory for the cluster's objects");
}

static void keep_version(struct kube_reflector *r, struct bytes version)
{
    if (version.len == 0 || version.len >= sizeof r->resource_version)
        return;
    memcpy(r->resource_version, version.data, version.len);
    r->resource_version[version.len] = '\0';
}

static void on_change(struct kube_reflector *r, const struct kube_event *event)
{
    struct kube_object *o = event->object;
    keep_version(r, o->resource_version);
    metric_add(r->events, 1);
    if (event->type == KUBE_DELETED) {
        kube_store_delete(r->options.store, r->options.kind, o->uid, clock_wall_nanos(r->options.api->clock));
        kube_object_unref(&o);
    } else {
        on_item(r, o);
    }
    r->options.on_change(r->options.arg);
}

static void on_event(void *arg, const struct kube_event *event)
{
    struct kube_reflector *r = arg;
    r->heard = true;
    atomic_store_explicit(&r->last_event_nanos, kube_api_now(r->options.api), memory_order_relaxed);
    switch (event->type) {
    case KUBE_ADDED:
    case KUBE_MODIFIED:
    case KUBE_DELETED:
        on_change(r, event);
        break;
    case KUBE_BOOKMARK:
        keep_version(r, event->resource_version);
        break;
    case KUBE_ERROR:
        r->answer.event_status = event->status != 0 ? event->status : 500;
        err_set(&r->answer.error, ERR_UNAVAILABLE, "%.*s", BYTES_PRINT(event->message));
        break;
    }
}

static bool on_body(void *arg, const struct http_response *head, struct bytes data)
{
    struct kube_reflector *r = arg;
    (void)head;
    r->accepted = true;
    if (data.len == 0) { // the head
        if (r->phase == KUBE_WATCHES)
            recovered(r);
        return true;
    }
    if (kube_stream_feed(r->stream, data, &r->answer.error) != ERR_OK)
        return false;
    return r->answer.error.code == ERR_OK;
}

// --- asking ---

static void add_list_query(struct kube_reflector *r, struct buf *url)
{
    if (!r->whole_list)
        buf_add_format(url, "limit=%d", PAGE_OBJECTS);
    if (r->continue_token != NULL) {
        buf_add_text(url, "&continue=");
        kube_query_escape(bytes_from_text(r->continue_token), url);
    } else if (r->first_list) {
        buf_add_text(url, "&resourceVersion=0"); // from the API's memory: every agent of a cluster may start at once
    }
}

static int64_t watch_seconds(struct kube_reflector *r)
{
    struct kube_api *api = r->options.api;
    return (int64_t)((double)api->timing.watch_seconds * (1 + random_unit(&api->random)));
}

static void add_watch_query(const struct kube_reflector *r, int64_t seconds, struct buf *url)
{
    buf_add_text(url, "watch=1&allowWatchBookmarks=true&resourceVersion=");
    kube_query_escape(bytes_from_text(r->resource_version), url);
    buf_add_format(url, "&timeoutSeconds=%lld", (long long)seconds);
}

static const char *accepted(const struct kube_reflector *r)
{
    if (r->resource->whole || r->full_objects)
        return "application/json";
    return r->phase == KUBE_LISTS ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
                                  : "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
}

static void on_done(void *arg, const struct http_response *response);

static void send_request(struct kube_reflector *r, const char *url, int64_t timeout_nanos, int64_t idle_nanos)
{
    struct kube_api *api = r->options.api;
    const char *authorization = kube_access_authorization(&api->access, kube_api_now(api), api->log);
    struct http_header headers[] = {{"Accept", accepted(r)}, {"Authorization", authorization}};
    struct http_request request = {
        .method = "GET",
        .url = url,
        .headers = headers,
        .header_count = authorization != NULL ? 2 : 1,
        .timeout_nanos = timeout_nanos,
        .idle_timeout_nanos = idle_nanos,
        .max_response_bytes = ERROR_BODY_MAX_BYTES,
        .on_body = on_body,
        .on_body_arg = r,
    };
    r->call = http_client_send(api->http, &request, on_done, r);
}

static void open_stream(struct kube_reflector *r)
{
    struct kube_stream_options options = {.kind = r->options.kind, .keep = r->options.keep, .arg = r};
    if (r->phase == KUBE_LISTS)
        options.on_item = on_item;
    else
        options.on_event = on_event;
    r->stream = kube_stream_create(&options);
    r->answer = (struct kube_answer){0};
    r->accepted = r->heard = false;
    r->asked_nanos = kube_api_now(r->options.api);
}

static void ask(struct kube_reflector *r)
{
    struct kube_api *api = r->options.api;
    const struct kube_timing *t = &api->timing;
    int64_t seconds = watch_seconds(r);
    struct buf url;
    buf_init(&url, URL_MAX_BYTES);
    buf_add_format(&url, "%s%s", api->access.server, r->path);
    if (r->phase == KUBE_LISTS)
        add_list_query(r, &url);
    else
        add_watch_query(r, seconds, &url);
    buf_add_byte(&url, '\0');
    if (!buf_ok(&url)) {
        kube_health_troubled(&r->health, verb(r), "the request is too long: fewer filters, please");
        back_off(r, 0);
    } else {
        if (r->phase == KUBE_LISTS && r->continue_token == NULL)
            kube_store_begin_list(r->options.store, r->options.kind);
        open_stream(r);
        if (r->phase == KUBE_LISTS)
            send_request(r, (const char *)url.data, t->list_nanos, t->stall_nanos);
        else
            send_request(r, (const char *)url.data, (seconds + WATCH_MARGIN_SECONDS) * NANOS_PER_SECOND,
                         WATCH_STALLS * t->stall_nanos);
    }
    buf_fini(&url);
}

static void on_timer(uv_timer_t *timer)
{
    struct kube_reflector *r = timer->data;
    struct kube_api *api = r->options.api;
    int64_t wait = kube_pace_take(&api->pace, kube_api_now(api));
    if (wait > 0)
        ask_after(r, wait);
    else
        ask(r);
}

// --- what came of it ---

static void count(const struct kube_reflector *r, enum kube_outcome outcome)
{
    const struct metric_label labels[] = {
        {"watch", r->options.watch_id}, {"kind", r->resource->plural}, {"outcome", kube_outcome_name(outcome)}};
    metric_add(metrics_series(r->options.metrics, &requests_family, labels, COUNT_OF(labels)), 1);
}

static void reset_retry(struct kube_reflector *r)
{
    struct kube_api *api = r->options.api;
    retry_begin(&r->retry, &api->timing.retry, kube_api_now(api));
    r->relists_again = false;
}

static void list_is_complete(struct kube_reflector *r)
{
    kube_store_end_list(r->options.store, r->options.kind, clock_wall_nanos(r->options.api->clock));
    metric_add(r->relists, 1);
    atomic_store_explicit(&r->last_event_nanos, kube_api_now(r->options.api), memory_order_relaxed);
    r->first_list = r->whole_list = false;
    r->phase = KUBE_WATCHES;
    set_answered(r);
    ask_after(r, 0);
}

// False: the error says what it is not.
static bool end_page(struct kube_reflector *r)
{
    struct kube_list_meta meta;
    if (kube_stream_end_list(r->stream, &meta, &r->answer.error) != ERR_OK)
        return false;
    recovered(r);
    free(r->continue_token);
    r->continue_token = meta.continue_token;
    if (meta.continue_token == NULL)
        memcpy(r->resource_version, meta.resource_version, sizeof r->resource_version);
    return true;
}

static void failed(struct kube_reflector *r, enum kube_outcome outcome, const struct http_response *response)
{
    struct kube_api *api = r->options.api;
    struct err why = {0};
    kube_answer_explain(&r->answer, response, &why);
    int64_t least = retry_after_parse(http_response_header(response, "Retry-After"), clock_wall_nanos(api->clock));
    kube_health_troubled(&r->health, verb(r), why.text);
    if (outcome == KUBE_OUTCOME_INVALID || (outcome == KUBE_OUTCOME_REFUSED && r->retry.attempts >= TRIES_OF_A_VERSION))
        begin_list(r);
    back_off(r, least);
}

static void gone(struct kube_reflector *r)
{
    log_debug(r->options.api->log, "%s of %s: what was asked for is too old, all are listed anew", verb(r),
              r->resource->plural);
    r->whole_list = r->continue_token != NULL;
    r->first_list = false;
    begin_list(r);
    if (r->relists_again)
        back_off(r, 0);
    else
        ask_after(r, 0);
    r->relists_again = true;
}

static void unauthorized(struct kube_reflector *r, const struct http_response *response)
{
    bool first = r->let_in;
    r->let_in = false;
    kube_access_refused(&r->options.api->access);
    if (first)
        ask_after(r, 0);
    else
        failed(r, KUBE_OUTCOME_UNAUTHORIZED, response);
}

static void forbidden(struct kube_reflector *r, const struct http_response *response)
{
    struct err why = {0};
    if (r->health.forbidden == NULL)
        reset_retry(r);
    kube_answer_explain(&r->answer, response, &why);
    kube_health_forbidden(&r->health, verb(r), kube_answer_status(&r->answer, response), why.text);
    begin_list(r);
    if (r->options.kind != KUBE_POD)
        set_answered(r); // the pods go without
    back_off(r, r->retry.attempts < SOON_TRIES ? 0 : r->options.api->timing.forbidden_nanos);
}

static void not_acceptable(struct kube_reflector *r, const struct http_response *response)
{
    if (r->full_objects) {
        failed(r, KUBE_OUTCOME_NOT_ACCEPTABLE, response);
        return;
    }
    r->full_objects = true;
    back_off(r, 0);
}

static bool has_lived(const struct kube_reflector *r)
{
    const struct kube_api *api = r->options.api;
    return r->phase == KUBE_WATCHES && r->accepted && kube_api_now(api) - r->asked_nanos >= api->timing.healthy_nanos;
}

// A watch ends: as it was asked to, or because something between us went away. It goes on where it was; not at once
// when it was cut, for so were those of all others.
static void watch_ended(struct kube_reflector *r, bool was_cut)
{
    if (r->heard)
        reset_retry(r);
    if (has_lived(r) && !was_cut)
        ask_after(r, 0);
    else
        back_off(r, 0);
}

static void answered(struct kube_reflector *r, bool was_cut)
{
    if (r->phase == KUBE_WATCHES)
        watch_ended(r, was_cut);
    else if (r->continue_token != NULL)
        ask_after(r, 0);
    else
        list_is_complete(r);
}

static void go_on(struct kube_reflector *r, const struct http_response *response)
{
    enum kube_outcome outcome = kube_answer_judge(&r->answer, response);
    if (outcome == KUBE_OUTCOME_OK && r->phase == KUBE_LISTS && !end_page(r))
        outcome = KUBE_OUTCOME_INVALID;
    bool was_cut = outcome == KUBE_OUTCOME_LOST && r->phase == KUBE_WATCHES && r->accepted;
    count(r, outcome);
    if (has_lived(r))
        reset_retry(r);
    switch (was_cut ? KUBE_OUTCOME_OK : outcome) {
    case KUBE_OUTCOME_OK:
        answered(r, was_cut);
        break;
    case KUBE_OUTCOME_GONE:
        gone(r);
        break;
    case KUBE_OUTCOME_UNAUTHORIZED:
        unauthorized(r, response);
        break;
    case KUBE_OUTCOME_FORBIDDEN:
        forbidden(r, response);
        break;
    case KUBE_OUTCOME_NOT_ACCEPTABLE:
        not_acceptable(r, response);
        break;
    default:
        failed(r, outcome, response);
    }
}

static void on_done(void *arg, const struct http_response *response)
{
    struct kube_reflector *r = arg;
    r->call = NULL;
    if (!r->stopping)
        go_on(r, response);
    kube_stream_destroy(&r->stream);
}

// --- life ---

void kube_reflector_init(struct kube_reflector *r, const struct kube_reflector_options *options)
{
    *r = (struct kube_reflector){.options = *options, .first_list = true, .let_in = true};
    r->resource = kube_resource_of(options->kind);
    r->health = (struct kube_health){options->api, options->kind, options->namespace_name, NULL, NULL};
    r->path = mem_copy_text(options->path);
    const struct metric_label labels[] = {{"watch", options->watch_id}, {"kind", r->resource->plural}};
    r->relists = metrics_series(options->metrics, &relists_family, labels, COUNT_OF(labels));
    r->events = metrics_series(options->metrics, &events_family, labels, COUNT_OF(labels));
    CHECK(uv_timer_init(options->api->loop, &r->timer) == 0);
    r->timer.data = r;
    reset_retry(r);
}

void kube_reflector_start(struct kube_reflector *r)
{
    atomic_store_explicit(&r->last_event_nanos, kube_api_now(r->options.api), memory_order_relaxed);
    ask_after(r, 0);
}

void kube_reflector_stop(struct kube_reflector *r, uv_close_cb on_stopped)
{
    r->stopping = true;
    uv_close((uv_handle_t *)&r->timer, on_stopped);
}

void kube_reflector_fini(struct kube_reflector *r)
{
    CHECK(r->call == NULL && r->stream == NULL);
    free(r->continue_token);
    free(r->path);
}
