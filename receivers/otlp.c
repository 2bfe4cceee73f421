// SPDX-License-Identifier: Apache-2.0
// OTLP over gRPC and HTTP: keys, listeners, start and stop.
#include "receivers/otlp.h"

#include "base/hash.h"
#include "base/mem.h"
#include "receivers/otlp_request.h"

#include <string.h>

#define GRPC_AT offsetof(struct otlp_settings, servers[OTLP_GRPC])
#define HTTP_AT offsetof(struct otlp_settings, servers[OTLP_HTTP])
#define SETTING(member) offsetof(struct otlp_settings, member)

static const struct field grpc_tls_fields[] = {SERVER_TLS_FIELDS(GRPC_AT)};
static const struct field http_tls_fields[] = {SERVER_TLS_FIELDS(HTTP_AT)};
static const struct field grpc_auth_fields[] = {SERVER_AUTH_FIELDS(GRPC_AT)};
static const struct field http_auth_fields[] = {SERVER_AUTH_FIELDS(HTTP_AT)};

#define KEEPALIVE_FIELD(name_, member_, help_)                                                                         \
    {.name = (name_),                                                                                                  \
     .type = FIELD_DURATION,                                                                                           \
     .offset = SETTING(member_),                                                                                       \
     .default_text = "0s",                                                                                             \
     .min = 0,                                                                                                         \
     .max = 0x1p62,                                                                                                    \
     .help = (help_)}

static const struct field server_parameters_fields[] = {
    KEEPALIVE_FIELD("max_connection_idle", max_idle_nanos,
                    "a connection without a request is closed; 0 = idle_timeout"),
    KEEPALIVE_FIELD("max_connection_age", max_age_nanos, "then a connection ends after what runs on it; 0 = never"),
    KEEPALIVE_FIELD("max_connection_age_grace", max_age_grace_nanos, "after that it is closed; 0 = never"),
    KEEPALIVE_FIELD("time", ping_after_nanos, "of silence before a PING; 0 = 2h"),
    KEEPALIVE_FIELD("timeout", ping_timeout_nanos, "for its answer; 0 = 20s"),
    {.name = NULL},
};

// The Collector's own defaults, 5m and false, end connections of clients with the customary keepalive of 10s.
static const struct field enforcement_policy_fields[] = {
    {.name = "min_time",
     .type = FIELD_DURATION,
     .offset = SETTING(ping_least_nanos),
     .default_text = "5s",
     .min = 0,
     .max = 86400e9,
     .help = "between PINGs of a client; the third that comes earlier ends the connection; 0 = no bound"},
    {.name = "permit_without_stream",
     .type = FIELD_BOOL,
     .offset = SETTING(may_ping_without_stream),
     .default_text = "true",
     .help = "PINGs while no request runs"},
    {.name = NULL},
};

static const struct field keepalive_fields[] = {
    {.name = "server_parameters",
     .type = FIELD_STRUCT,
     .fields = server_parameters_fields,
     .help = "life of a connection"},
    {.name = "enforcement_policy",
     .type = FIELD_STRUCT,
     .fields = enforcement_policy_fields,
     .help = "how often clients may ping"},
    {.name = NULL},
};

static const struct field grpc_fields[] = {
    SERVER_FIELDS(GRPC_AT, "localhost:4317", grpc_tls_fields),
    SERVER_AUTH_FIELD(grpc_auth_fields),
    {.name = "max_recv_msg_size_mib",
     .type = FIELD_INT,
     .offset = SETTING(max_message_mib),
     .default_text = "64",
     .min = 1,
     .max = 2048,
     .unit = "MiB",
     .help = "of a message, as sent and inflated"},
    {.name = "max_concurrent_streams",
     .type = FIELD_INT,
     .offset = SETTING(max_streams),
     .default_text = "250",
     .min = 1,
     .max = 100000,
     .help = "requests at a time on a connection"},
    {.name = "keepalive", .type = FIELD_STRUCT, .fields = keepalive_fields, .help = "PINGs and age"},
    {.name = "read_buffer_size", .type = FIELD_IGNORED, .help = "no meaning here"},
    {.name = "write_buffer_size", .type = FIELD_IGNORED, .help = "no meaning here"},
    {.name = "include_metadata", .type = FIELD_IGNORED, .help = "metadata is not passed on"},
    {.name = NULL},
};

static const struct field cors_fields[] = {
    {.name = "allowed_origins",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(cors.allowed_origins),
     .help = "of web pages that may send; one * stands for any text: https://*.example.com"},
    {.name = "allowed_headers",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(cors.allowed_headers),
     .help = "that they may set besides the ordinary ones"},
    {.name = "exposed_headers",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(cors.exposed_headers),
     .help = "of answers that they may read"},
    {.name = "max_age",
     .type = FIELD_INT,
     .offset = SETTING(cors.max_age),
     .default_text = "0",
     .min = 0,
     .max = 86400,
     .unit = "seconds",
     .help = "for which a browser may remember the permission; 0 = its own default"},
    {.name = NULL},
};

static const struct field http_fields[] = {
    SERVER_FIELDS(HTTP_AT, "localhost:4318", http_tls_fields),
    SERVER_AUTH_FIELD(http_auth_fields),
    {.name = "profiles_url_path",
     .type = FIELD_STRING,
     .offset = SETTING(path),
     .default_text = "/v1development/profiles",
     .help = "where profiles are taken"},
    {.name = "max_request_body_size",
     .type = FIELD_SIZE,
     .offset = SETTING(max_body_bytes),
     .default_text = "64MiB",
     .min = 1024,
     .max = 2147483648.0,
     .help = "of a request, as sent and inflated"},
    {.name = "cors", .type = FIELD_STRUCT, .fields = cors_fields, .help = "web pages that send profiles"},
    {.name = "response_headers",
     .type = FIELD_STRING_MAP,
     .offset = SETTING(response_headers),
     .help = "sent with every answer"},
    {.name = "traces_url_path", .type = FIELD_IGNORED, .help = "only profiles are taken"},
    {.name = "metrics_url_path", .type = FIELD_IGNORED, .help = "only profiles are taken"},
    {.name = "logs_url_path", .type = FIELD_IGNORED, .help = "only profiles are taken"},
    {.name = "include_metadata", .type = FIELD_IGNORED, .help = "headers are not passed on"},
    {.name = "keep_alives_enabled", .type = FIELD_IGNORED, .help = "connections are kept"},
    {.name = NULL},
};

static const struct field protocols_fields[] = {
    {.name = "grpc",
     .type = FIELD_STRUCT,
     .fields = grpc_fields,
     .present_offset = 1 + SETTING(has[OTLP_GRPC]),
     .help = "OTLP/gRPC"},
    {.name = "http",
     .type = FIELD_STRUCT,
     .fields = http_fields,
     .present_offset = 1 + SETTING(has[OTLP_HTTP]),
     .help = "OTLP/HTTP, protobuf and JSON"},
    {.name = NULL},
};

static const struct field layouts_fields[] = {OTLP_LAYOUTS_FIELDS(SETTING(layouts))};

static const struct field otlp_fields[] = {
    {.name = "protocols",
     .type = FIELD_STRUCT,
     .fields = protocols_fields,
     .help = "what is listened for; one at least"},
    {.name = "layouts",
     .type = FIELD_STRUCT,
     .fields = layouts_fields,
     .help = "of OTLP profiles, which moved fields in nearly every release up to 1.10"},
    {.name = NULL},
};

// --- settings ---

// On one endpoint one listener serves both; the settings of the gRPC section are those of its connections.
static bool is_shared(const struct otlp_settings *s)
{
    const struct server_settings *grpc = &s->servers[OTLP_GRPC], *http = &s->servers[OTLP_HTTP];
    return s->has[OTLP_GRPC] && s->has[OTLP_HTTP] &&
           strcmp(server_settings_endpoint(grpc), server_settings_endpoint(http)) == 0 &&
           shared_server_may_share(grpc->endpoint);
}

static void check_settings(const void *settings, const struct component_check *check)
{
    static const char *const keys[] = {"protocols.grpc", "protocols.http"};
    const struct otlp_settings *s = settings;
    if (!s->has[OTLP_GRPC] && !s->has[OTLP_HTTP])
        check_error(check, "protocols",
                    "must specify at least one protocol when using the OTLP receiver: grpc or http");
    for (int p = 0; p < OTLP_PROTOCOLS; p++)
        if (s->has[p])
            server_settings_check(&s->servers[p], keys[p], check);
    if (is_shared(s) && !server_settings_same_tls(&s->servers[OTLP_GRPC], &s->servers[OTLP_HTTP]))
        check_error(check, "protocols.http.tls", "grpc and http share the endpoint: give both the same tls");
    otlp_layout_settings_check(&s->layouts, check);
    if (s->path[0] != '/')
        check_error(check, "protocols.http.profiles_url_path", "must begin with /");
    for (size_t i = 0; i < s->response_headers.count; i++)
        if (!http_header_valid(s->response_headers.items[i].name, s->response_headers.items[i].value))
            check_error(check, "protocols.http.response_headers",
                        "header %zu is not valid: a name is letters, digits and -, a value has no control characters",
                        i + 1);
}

bool otlp_version_ok(const struct http_exchange *x, bool *is_there_out, const char **text_out)
{
    size_t count;
    const char *version = http_exchange_header(x, "otlp-profiles-development-version", &count);
    *text_out = "invalid or unsupported otlp-profiles-development-version: supported version is 1";
    if (count > 1 || (version != NULL && strcmp(version, "1") != 0))
        return false;
    *text_out = NULL;
    *is_there_out = version != NULL;
    return true;
}

static size_t endpoints(const void *settings, const char *out[RECEIVER_ENDPOINTS])
{
    const struct otlp_settings *s = settings;
    size_t count = 0;
    for (int p = 0; p < OTLP_PROTOCOLS; p++)
        if (s->has[p])
            out[count++] = server_settings_endpoint(&s->servers[p]);
    return count;
}

// --- the server's handler ---

// gRPC is ours as far as nobody else has that very path.
static enum shared_wish wish(void *arg, const struct http_exchange *x, const struct http_head *head)
{
    const struct otlp_listener *l = arg;
    if (l->serves[OTLP_GRPC] && otlp_is_grpc(x))
        return SHARED_LIKE_MINE;
    return l->serves[OTLP_HTTP] ? otlp_http_wish(l, head->path) : SHARED_NOT_MINE;
}

static void on_head(void *arg, struct http_exchange *x, const struct http_head *head)
{
    if (otlp_is_grpc(x))
        otlp_grpc_head(arg, x, head);
    else
        otlp_http_head(arg, x, head);
}

static const char *listener_name(const struct otlp_listener *l)
{
    return l->serves[OTLP_GRPC] ? "OTLP/gRPC" : "OTLP/HTTP";
}

static void on_problem(void *arg, const struct http_peer *peer, const char *text)
{
    const struct otlp_listener *l = arg;
    log_warn(&l->receiver->receiver.component.log, "%s: %s", peer != NULL ? peer->address : listener_name(l), text);
}

// --- life ---

static enum err_code create(struct receiver *self, const void *settings, struct err *e)
{
    (void)e;
    struct otlp_receiver *r = (struct otlp_receiver *)self;
    r->settings = settings;
    r->work.component = &self->component;
    r->layouts = otlp_layout_rules_of(&r->settings->layouts);
    r->senders = otlp_senders_create(&self->component);
    random_init(&r->random, hash_bytes(self->component.id, strlen(self->component.id)));
    return ERR_OK;
}

static void apply_keepalive(const struct otlp_settings *s, struct http_server_options *o)
{
    if (s->max_idle_nanos != 0)
        o->idle_timeout_nanos = s->max_idle_nanos;
    o->max_streams = (uint32_t)s->max_streams;
    o->max_age_nanos = s->max_age_nanos;
    o->max_age_grace_nanos = s->max_age_grace_nanos;
    o->ping_after_nanos = s->ping_after_nanos;
    o->ping_timeout_nanos = s->ping_timeout_nanos;
    o->ping_least_nanos = s->ping_least_nanos;
    o->pings_need_stream = !s->may_ping_without_stream;
}

static enum err_code open_listener(struct otlp_receiver *r, int protocol, struct err *e)
{
    struct otlp_listener *l = &r->listeners[protocol];
    char endpoint[LIMIT_PATH_BYTES];
    struct tls_server_options tls;
    char name[LIMIT_PATH_BYTES], paths[LIMIT_PATH_BYTES];
    struct shared_server_user user = {.name = name, .paths = l->serves[OTLP_HTTP] ? paths : NULL, .wish = wish};
    snprintf(name, sizeof name, "receivers.%s", r->receiver.component.id);
    snprintf(paths, sizeof paths, "OTLP profiles are sent with POST to %s", r->settings->path);
    server_settings_apply(&r->settings->servers[protocol], endpoint, &tls, &user.options);
    if (protocol == OTLP_GRPC)
        apply_keepalive(r->settings, &user.options);
    user.options.handler = upload_handler(l, on_head, on_problem);
    const struct component *c = &r->receiver.component;
    enum err_code rc = shared_server_open(c->env->listeners, &c->loop->uv, &user, &l->server, e);
    if (rc != ERR_OK) {
        err_prefix(e, "protocols.%s", protocol == OTLP_GRPC ? "grpc" : "http");
        return rc;
    }
    r->work.servers++;
    server_settings_log_address(&r->receiver.component.log, protocol == OTLP_GRPC ? "OTLP/gRPC" : "OTLP/HTTP", endpoint,
                                shared_server_port(l->server));
    return ERR_OK;
}

static enum err_code find_authenticators(struct otlp_receiver *r, struct err *e)
{
    enum err_code rc = ERR_OK;
    for (int p = 0; rc == ERR_OK && p < OTLP_PROTOCOLS; p++) {
        const char *id = r->settings->servers[p].authenticator;
        if (r->settings->has[p] && id != NULL)
            rc = server_auth_create(&r->receiver.component, id, p == OTLP_GRPC ? "grpc" : "http", &r->auth[p], e);
    }
    return rc;
}

static enum err_code start(struct receiver *self, struct err *e)
{
    struct otlp_receiver *r = (struct otlp_receiver *)self;
    const bool *has = r->settings->has;
    bool shared = is_shared(r->settings);
    enum err_code rc = find_authenticators(r, e);
    for (int p = 0; p < OTLP_PROTOCOLS; p++)
        r->listeners[p] = (struct otlp_listener){.receiver = r,
                                                 .serves[OTLP_GRPC] = has[p] && p == OTLP_GRPC,
                                                 .serves[OTLP_HTTP] = has[p] && (p == OTLP_HTTP) != shared};
    if (rc == ERR_OK && has[OTLP_GRPC])
        rc = open_listener(r, OTLP_GRPC, e);
    if (rc == ERR_OK && has[OTLP_HTTP] && !shared)
        rc = open_listener(r, OTLP_HTTP, e);
    return rc;
}

static void close_receiver(struct receiver *self)
{
    struct otlp_receiver *r = (struct otlp_receiver *)self;
    r->closing = true;
    for (int p = 0; p < OTLP_PROTOCOLS; p++)
        if (r->listeners[p].server != NULL)
            shared_server_drain(r->listeners[p].server);
}

static void stop(struct receiver *self)
{
    struct otlp_receiver *r = (struct otlp_receiver *)self;
    for (int p = 0; p < OTLP_PROTOCOLS; p++)
        shared_server_close(&r->listeners[p].server, open_work_server_closed, &r->work);
    open_work_stop(&r->work);
}

static void destroy(struct receiver *self)
{
    struct otlp_receiver *r = (struct otlp_receiver *)self;
    for (int p = 0; p < OTLP_PROTOCOLS; p++)
        server_auth_destroy(&r->auth[p]);
    otlp_senders_destroy(&r->senders);
}

const struct receiver_module otlp_receiver = {
    .module =
        {
            .type = "otlp",
            .help = "Takes profiles over OTLP: gRPC and HTTP, protobuf and JSON.",
            .settings_size = sizeof(struct otlp_settings),
            .instance_size = sizeof(struct otlp_receiver),
            .fields = otlp_fields,
            .check = check_settings,
        },
    .transports = {[OTLP_GRPC] = "grpc", [OTLP_HTTP] = "http"},
    .endpoints = endpoints,
    .create = create,
    .start = start,
    .close = close_receiver,
    .stop = stop,
    .destroy = destroy,
};
