// SPDX-License-Identifier: Apache-2.0
// GET / on localhost:13133: 200 when the service runs, 503 while it starts and ends; in the body, how each exporter does.
#include "base/clean_text.h"
#include "base/mem.h"
#include "codec/json.h"
#include "extensions/extensions.h"
#include "net/http_pages.h"
#include "pipeline/health.h"
#include "receivers/server_settings.h"

#include <time.h>

enum { SECTION_FLAT, SECTION_HTTP, SECTIONS };

struct settings {
    struct server_settings servers[SECTIONS]; // only endpoint and tls
    const char *paths[SECTIONS];
    bool has_http;
    const char *healthy, *unhealthy; // NULL = our JSON
    bool counts_refused, counts_failing;
    int64_t recovery_nanos;
};

struct health_check {
    struct extension extension;
    const struct settings *settings;
    struct http_pages *pages;
};

#define SETTING(member) offsetof(struct settings, member)
#define FLAT_AT SETTING(servers[SECTION_FLAT])
#define HTTP_AT SETTING(servers[SECTION_HTTP])

static const struct field flat_tls_fields[] = {SERVER_TLS_FIELDS(FLAT_AT)};
static const struct field http_tls_fields[] = {SERVER_TLS_FIELDS(HTTP_AT)};

#define ENDPOINT_FIELDS(at_, tls_)                                                                                     \
    {.name = "endpoint",                                                                                               \
     .type = FIELD_STRING,                                                                                             \
     .offset = SERVER_AT(at_, endpoint),                                                                               \
     .default_text = "localhost:13133",                                                                                \
     .help = "HOST:PORT to listen on; a probe from outside the host needs more than localhost"},                       \
        {.name = "tls",                                                                                                \
         .type = FIELD_STRUCT,                                                                                         \
         .fields = (tls_),                                                                                             \
         .present_offset = 1 + SERVER_AT(at_, has_tls),                                                                \
         .help = "TLS; without it, clear text"}

static const struct field response_body_fields[] = {
    {.name = "healthy", .type = FIELD_STRING, .offset = SETTING(healthy), .help = "body of 200"},
    {.name = "unhealthy", .type = FIELD_STRING, .offset = SETTING(unhealthy), .help = "body of all else"},
    {.name = NULL},
};

static const struct field component_health_fields[] = {
    {.name = "include_permanent_errors",
     .type = FIELD_BOOL,
     .offset = SETTING(counts_refused),
     .default_text = "false",
     .help = "500 while an exporter's peer refuses for good what it is sent"},
    {.name = "include_recoverable_errors",
     .type = FIELD_BOOL,
     .offset = SETTING(counts_failing),
     .default_text = "false",
     .help = "500 once an exporter has failed for recovery_duration"},
    {.name = "recovery_duration",
     .type = FIELD_DURATION,
     .offset = SETTING(recovery_nanos),
     .default_text = "5m",
     .min = 0,
     .max = 0x1p62,
     .help = "for which a failing exporter is no reason for 500"},
    {.name = NULL},
};

static const struct field status_fields[] = {
    {.name = "enabled", .type = FIELD_IGNORED, .help = "http without it has no meaning"},
    {.name = "path",
     .type = FIELD_STRING,
     .offset = SETTING(paths[SECTION_HTTP]),
     .default_text = "/status",
     .help = "where the answer is"},
    {.name = NULL},
};

static const struct field http_fields[] = {
    ENDPOINT_FIELDS(HTTP_AT, http_tls_fields),
    {.name = "status", .type = FIELD_STRUCT, .fields = status_fields, .help = "where"},
    {.name = "config", .type = FIELD_IGNORED, .help = "the configuration is not shown"},
    {.name = NULL},
};

static const struct field fields[] = {
    ENDPOINT_FIELDS(FLAT_AT, flat_tls_fields),
    {.name = "path",
     .type = FIELD_STRING,
     .offset = SETTING(paths[SECTION_FLAT]),
     .default_text = "/",
     .help = "where the answer is; / is everywhere"},
    {.name = "response_body", .type = FIELD_STRUCT, .fields = response_body_fields, .help = "instead of JSON"},
    {.name = "component_health",
     .type = FIELD_STRUCT,
     .fields = component_health_fields,
     .help = "whether exporters count; a restart does not help them"},
    {.name = "http",
     .type = FIELD_STRUCT,
     .fields = http_fields,
     .present_offset = 1 + SETTING(has_http),
     .help = "endpoint, tls and path as healthcheckv2 has them, instead of those above"},
    {.name = "use_v2", .type = FIELD_IGNORED, .help = "http is read wherever it stands"},
    {.name = "grpc", .type = FIELD_IGNORED, .help = "the receiver otlp answers grpc.health.v1 on its own port"},
    {.name = "check_collector_pipeline", .type = FIELD_IGNORED, .help = "see component_health"},
    {.name = NULL},
};

static int section(const struct settings *s)
{
    return s->has_http ? SECTION_HTTP : SECTION_FLAT;
}

static void check(const void *settings, const struct component_check *c)
{
    const struct settings *s = settings;
    server_settings_check(&s->servers[section(s)], s->has_http ? "http" : "", c);
    if (s->paths[section(s)][0] != '/')
        check_error(c, s->has_http ? "http.status.path" : "path", "must begin with /");
}

// --- the page ---

static const char *const phases[] = {
    [SERVICE_STARTING] = "starting", [SERVICE_READY] = "ready", [SERVICE_ENDING] = "draining"};

static void put_text(struct buf *out, const char *key, const char *text)
{
    struct buf clean;
    buf_init(&clean, 4 * VERDICT_TEXT_MAX + LIMIT_PATH_BYTES);
    clean_text_add(&clean, bytes_from_text(text));
    if (key != NULL)
        buf_add_format(out, "\"%s\":", key);
    json_put_string(out, buf_bytes(&clean));
    buf_fini(&clean);
}

static void put_time(struct buf *out, const char *key, int64_t wall_nanos)
{
    time_t seconds = (time_t)(wall_nanos / NANOS_PER_SECOND);
    struct tm t;
    char text[32];
    gmtime_r(&seconds, &t);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t);
    put_text(out, key, text);
}

static void put_lasted(struct buf *out, const char *key, int64_t nanos)
{
    buf_add_format(out, "\"%s\":\"%.1fs\"", key, (double)(nanos > 0 ? nanos : 0) / (double)NANOS_PER_SECOND);
}

static void put_exporter(struct buf *out, const struct exporter_health *x, int64_t now)
{
    const struct queue_health *q = &x->queue;
    put_text(out, NULL, x->id);
    buf_add_format(out, ":{\"status\":\"%s\",", !q->failing ? "ok" : q->refused ? "refused" : "failing");
    if (q->failing) {
        put_time(out, "failingSince", q->failing_since_nanos);
        buf_add_byte(out, ',');
        put_lasted(out, "failingFor", now - q->failing_since_nanos);
        buf_add_byte(out, ',');
        put_text(out, "lastError", q->error);
        buf_add_byte(out, ',');
    }
    buf_add_format(out, "\"queue\":{\"size\":%zu,\"capacity\":%zu,\"unit\":\"%s\",\"bytes\":%zu}}", q->load,
                   q->capacity, q->unit, q->bytes);
}

static bool counts(const struct settings *s, const struct queue_health *q, int64_t now)
{
    if (!q->failing)
        return false;
    return q->refused ? s->counts_refused : s->counts_failing && now - q->failing_since_nanos >= s->recovery_nanos;
}

// Whether they are as they should be; what they are is added to out.
static bool put_exporters(const struct health_check *h, struct buf *out, int64_t now)
{
    const struct component_env *env = h->extension.component.env;
    struct exporter_health x;
    bool good = true;
    buf_add_text(out, "\"exporters\":{");
    for (size_t i = 0; env->exporter_health(env->service, i, &x); i++) {
        if (i > 0)
            buf_add_byte(out, ',');
        put_exporter(out, &x, now);
        good = good && !counts(h->settings, &x.queue, now);
    }
    buf_add_byte(out, '}');
    return good;
}

// "status", "upSince" and "uptime" are the Collector's.
static int put_page(const struct health_check *h, struct buf *out)
{
    const struct component_env *env = h->extension.component.env;
    struct service_health service;
    struct buf exporters;
    int64_t now = clock_wall_nanos(env->clock);
    env->health(env->service, &service);
    buf_init(&exporters, out->max_bytes);
    bool ready = service.phase == SERVICE_READY, good = put_exporters(h, &exporters, now);
    buf_add_format(out, "{\"status\":\"Server %savailable\",\"state\":\"%s\",", ready && good ? "" : "not ",
                   phases[service.phase]);
    if (ready) {
        put_time(out, "upSince", service.since_nanos);
        buf_add_byte(out, ',');
        put_lasted(out, "uptime", now - service.since_nanos);
        buf_add_byte(out, ',');
    }
    buf_add(out, exporters.data, exporters.len);
    buf_add_text(out, "}\n");
    buf_fini(&exporters);
    return !ready ? 503 : good ? 200 : 500;
}

static void on_page(void *arg, const struct http_page_request *request, struct http_page *page)
{
    struct health_check *h = arg;
    const struct settings *s = h->settings;
    const char *path = s->paths[section(s)];
    if (strcmp(path, "/") != 0 && !bytes_equal_text(request->path, path)) {
        page->status = 404;
        buf_add_format(&page->body, "There is nothing here; how the service does is told at %s.\n", path);
        return;
    }
    page->status = put_page(h, &page->body);
    page->content_type = "application/json";
    const char *text = page->status == 200 ? s->healthy : s->unhealthy;
    if (text == NULL)
        return;
    page->content_type = "text/plain; charset=utf-8";
    buf_clear(&page->body);
    buf_add_text(&page->body, text);
}

// --- life ---

static enum err_code create(struct extension *self, const void *settings, struct err *e)
{
    (void)e;
    ((struct health_check *)self)->settings = settings;
    return ERR_OK;
}

static enum err_code start(struct extension *self, struct err *e)
{
    struct health_check *h = (struct health_check *)self;
    char endpoint[LIMIT_PATH_BYTES];
    struct tls_server_options tls;
    struct http_server_options server;
    server_settings_apply(&h->settings->servers[section(h->settings)], endpoint, &tls, &server);
    const struct http_pages_options options = {.endpoint = server.endpoint,
                                               .tls = server.tls,
                                               .tls_reload_nanos = server.tls_reload_nanos,
                                               .on_page = on_page,
                                               .arg = h};
    enum err_code rc = http_pages_create(&self->component.loop->uv, &options, &h->pages, e);
    if (rc == ERR_OK)
        log_info(&self->component.log, "health at %s, port %d", endpoint, http_pages_port(h->pages));
    return rc;
}

static void on_closed(void *arg)
{
    struct health_check *h = arg;
    component_stopped(&h->extension.component);
}

static void stop(struct extension *self)
{
    struct health_check *h = (struct health_check *)self;
    if (h->pages == NULL)
        component_stopped(&self->component);
    else
        http_pages_close(&h->pages, on_closed, h);
}

static void destroy(struct extension *self)
{
    (void)self;
}

static const char *const aliases[] = {"healthcheckv2", NULL};

const struct extension_module health_check_extension = {
    .module =
        {
            .type = "health_check",
            .aliases = aliases,
            .help = "Tells over HTTP whether the service runs, and how each exporter does.",
            .settings_size = sizeof(struct settings),
            .instance_size = sizeof(struct health_check),
            .fields = fields,
            .check = check,
        },
    .create = create,
    .start = start,
    .stop = stop,
    .destroy = destroy,
};
