// SPDX-License-Identifier: Apache-2.0
// What Pyroscope's SDKs and agents send: /ingest and Push. Keys, listener, start and stop.
#include "receivers/pyroscope.h"

#include "base/clean_text.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define SERVER offsetof(struct pyroscope_receiver_settings, server)
#define SETTING(member) offsetof(struct pyroscope_receiver_settings, member)

static const char *const jfr_names[] = {[PYROSCOPE_JFR_REJECT] = "reject", [PYROSCOPE_JFR_PASS] = "pass", NULL};
static const char *const labels_names[] = {
    [PYROSCOPE_LABELS_TO_RESOURCE] = "resource", [PYROSCOPE_LABELS_TO_SCOPE] = "scope", NULL};

static const struct field tls_fields[] = {SERVER_TLS_FIELDS(SERVER)};
static const struct field auth_fields[] = {SERVER_AUTH_FIELDS(SERVER)};
static const struct field tenant_fields[] = {TENANT_FIELDS(SETTING(tenant))};

static const struct field pyroscope_fields[] = {
    SERVER_FIELDS(SERVER, "localhost:4040", tls_fields),
    SERVER_AUTH_FIELD(auth_fields),
    {.name = "max_request_body_size",
     .type = FIELD_SIZE,
     .offset = SETTING(max_body_bytes),
     .default_text = "64MiB",
     .min = 1024,
     .max = 2147483648.0,
     .help = "of a request, as sent and inflated"},
    {.name = "max_concurrent_streams",
     .type = FIELD_INT,
     .offset = SETTING(max_streams),
     .default_text = "250",
     .min = 1,
     .max = 100000,
     .help = "requests at a time on a connection, HTTP/2"},
    {.name = "prefixes",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(prefixes),
     .default_text = "[/, /pyroscope, /v1/profiles/pyroscope]",
     .help = "of the paths that are served: PREFIX/ingest, PREFIX/" PYROSCOPE_PUSH_PATH},
    {.name = "jfr",
     .type = FIELD_ENUM,
     .offset = SETTING(jfr),
     .default_text = "reject",
     .names = jfr_names,
     .help = "recordings of Java agents; pass: handed on as they came, for an exporter `pyroscope`"},
    {.name = "labels",
     .type = FIELD_ENUM,
     .offset = SETTING(labels),
     .default_text = "resource",
     .names = labels_names,
     .help = "whose attributes the labels of a series become, but for those that have a meaning of their own"},
    {.name = "tenant", .type = FIELD_STRUCT, .fields = tenant_fields, .help = "the header X-Scope-OrgID"},
    {.name = NULL},
};

static void check_prefix(const char *prefix, const struct component_check *check)
{
    bool good = prefix[0] == '/';
    for (const char *c = prefix; good && *c != '\0'; c++)
        good = *c > ' ' && *c < 0x7f && strchr("?#%", *c) == NULL && !(c[0] == '/' && c[1] == '/');
    if (!good)
        check_error(check, "prefixes", "\"%s\" is no path: it begins with one / and has no ?, #, %% or blanks", prefix);
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct pyroscope_receiver_settings *s = settings;
    server_settings_check(&s->server, "", check);
    tenant_settings_check(&s->tenant, "tenant", check);
    if (s->prefixes.count == 0)
        check_error(check, "prefixes", "is empty: nothing could be sent; \"/\" is no prefix");
    for (size_t i = 0; i < s->prefixes.count; i++)
        check_prefix(s->prefixes.items[i], check);
}

static size_t endpoints(const void *settings, const char *out[RECEIVER_ENDPOINTS])
{
    const struct pyroscope_receiver_settings *s = settings;
    out[0] = server_settings_endpoint(&s->server);
    return 1;
}

// --- the server's handler ---

enum { LOGGED_PATH_BYTES = 256 };

// Clients that say nothing of a 404 have nobody else to say it.
static void log_path(const struct pyroscope_receiver *r, const struct http_head *head)
{
    struct buf path;
    buf_init(&path, 8 * LOGGED_PATH_BYTES);
    const size_t len = head->path.len < LOGGED_PATH_BYTES ? head->path.len : LOGGED_PATH_BYTES;
    clean_text_add(&path, (struct bytes){head->path.data, len});
    log_warn(&r->receiver.component.log, "%s: a request is refused: there is nothing at %.*s", head->peer->address,
             BYTES_PRINT(buf_bytes(&path)));
    buf_fini(&path);
}

static void refuse_path(struct pyroscope_receiver *r, struct http_exchange *x)
{
    char paths[768], text[1024];
    shared_server_paths(r->server, paths, sizeof paths);
    snprintf(text, sizeof text, "there is nothing at this path; %s", paths);
    log_path(r, http_exchange_head(x));
    pyroscope_answer(r, x, &(struct upload_outcome){.fate = UPLOAD_NO_SUCH_PATH, .text = text});
}

// Of the routes to look at. False: answered.
static bool is_method(struct http_exchange *x, const struct http_head *head, const char *method)
{
    char text[64];
    if (bytes_equal_text(head->method, method))
        return true;
    snprintf(text, sizeof text, "use %s", method);
    http_exchange_answer_text(x, 405, text, &(struct http_header){"allow", method}, 1);
    return false;
}

static void on_head(void *arg, struct http_exchange *x, const struct http_head *head)
{
    struct pyroscope_receiver *r = arg;
    switch (pyroscope_route_of(&r->settings->prefixes, head->path)) {
    case PYROSCOPE_ROUTE_INGEST:
        if (is_method(x, head, "POST"))
            pyroscope_begin_ingest(r, x, head);
        return;
    case PYROSCOPE_ROUTE_PUSH:
        pyroscope_begin_push(r, x);
        return;
    case PYROSCOPE_ROUTE_READY:
        if (is_method(x, head, "GET"))
            http_exchange_answer_text(x, r->closing ? 503 : 200, r->closing ? "shutting down" : "ready", NULL, 0);
        return;
    case PYROSCOPE_ROUTE_VALIDATE:
        if (is_method(x, head, "GET"))
            pyroscope_answer_validate(r, x);
        return;
    case PYROSCOPE_ROUTE_NONE:
        break;
    }
    refuse_path(r, x);
}

// A path that is nearly ours should be answered by us, who know the right one.
static bool is_nearly(struct bytes path)
{
    return memmem(path.data, path.len, "ingest", strlen("ingest")) != NULL ||
           memmem(path.data, path.len, "PusherService", strlen("PusherService")) != NULL;
}

static enum shared_wish wish(void *arg, const struct http_exchange *x, const struct http_head *head)
{
    const struct pyroscope_receiver *r = arg;
    (void)x;
    if (pyroscope_route_of(&r->settings->prefixes, head->path) != PYROSCOPE_ROUTE_NONE)
        return SHARED_MINE;
    return is_nearly(head->path) ? SHARED_LIKE_MINE : SHARED_NOT_MINE;
}

static void on_problem(void *arg, const struct http_peer *peer, const char *text)
{
    const struct pyroscope_receiver *r = arg;
    log_warn(&r->receiver.component.log, "%s: %s", peer != NULL ? peer->address : "listener", text);
}

// --- life ---

static enum err_code create(struct receiver *self, const void *settings, struct err *e)
{
    static const struct metric_family repaired = {
        "profrelay_receiver_repaired_times",
        "Times of profiles or requests that were 0, in the wrong unit or made no sense.", METRIC_COUNTER};
    struct pyroscope_receiver *r = (struct pyroscope_receiver *)self;
    const struct metric_label label = {"receiver", self->component.id};
    (void)e;
    r->settings = settings;
    r->work.component = &self->component;
    r->paths = pyroscope_paths_text(&r->settings->prefixes);
    r->repaired_times = metrics_series(self->component.env->metrics, &repaired, &label, 1);
    random_init(&r->random, hash_bytes(self->component.id, strlen(self->component.id)));
    return ERR_OK;
}

static enum err_code start(struct receiver *self, struct err *e)
{
    struct pyroscope_receiver *r = (struct pyroscope_receiver *)self;
    const char *authenticator = r->settings->server.authenticator;
    char endpoint[LIMIT_PATH_BYTES], name[LIMIT_PATH_BYTES];
    struct tls_server_options tls;
    struct shared_server_user user = {.name = name, .paths = r->paths, .wish = wish};
    if (authenticator != NULL && server_auth_create(&self->component, authenticator, "http", &r->auth, e) != ERR_OK)
        return e->code;
    snprintf(name, sizeof name, "receivers.%s", self->component.id);
    server_settings_apply(&r->settings->server, endpoint, &tls, &user.options);
    user.options.max_streams = (uint32_t)r->settings->max_streams;
    user.options.handler = upload_handler(r, on_head, on_problem);
    enum err_code rc =
        shared_server_open(self->component.env->listeners, &self->component.loop->uv, &user, &r->server, e);
    if (rc != ERR_OK)
        return rc;
    r->work.servers++;
    server_settings_log_address(&self->component.log, "Pyroscope", endpoint, shared_server_port(r->server));
    return ERR_OK;
}

static void close_receiver(struct receiver *self)
{
    struct pyroscope_receiver *r = (struct pyroscope_receiver *)self;
    r->closing = true;
    if (r->server != NULL)
        shared_server_drain(r->server);
}

static void stop(struct receiver *self)
{
    struct pyroscope_receiver *r = (struct pyroscope_receiver *)self;
    shared_server_close(&r->server, open_work_server_closed, &r->work);
    open_work_stop(&r->work);
}

static void destroy(struct receiver *self)
{
    struct pyroscope_receiver *r = (struct pyroscope_receiver *)self;
    server_auth_destroy(&r->auth);
    free(r->paths);
}

const struct receiver_module pyroscope_receiver = {
    .module =
        {
            .type = "pyroscope",
            .help = "Takes what Pyroscope's SDKs and agents send: /ingest and Push (Connect, gRPC, gRPC-Web).",
            .settings_size = sizeof(struct pyroscope_receiver_settings),
            .instance_size = sizeof(struct pyroscope_receiver),
            .fields = pyroscope_fields,
            .check = check_settings,
        },
    .transports = {"http"},
    .endpoints = endpoints,
    .create = create,
    .start = start,
    .close = close_receiver,
    .stop = stop,
    .destroy = destroy,
};
