// SPDX-License-Identifier: Apache-2.0
// OTLP over gRPC (opentelemetry-proto docs/specification.md, "OTLP/gRPC").
#include "base/limits.h"
#include "base/mem.h"
#include "codec/compress.h"
#include "codec/otlp_status.h"
#include "exporters/http_auth.h"
#include "exporters/http_partition.h"
#include "exporters/otlp_layouts.h"
#include "exporters/peer_words.h"
#include "exporters/request_size.h"
#include "net/grpc_client.h"
#include "net/url.h"

#include <stdio.h>
#include <strings.h>

#define EXPORT_PATH "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define LONGEST_DELAY_NANOS (86400 * NANOS_PER_SECOND)

enum balancer { PICK_FIRST, ROUND_ROBIN };

struct otlp_grpc_settings {
    struct otlp_settings common;
    const char *endpoint, *authority, *user_agent;
    bool insecure;
    bool wait_for_ready;
    int balancer;
    struct http_keepalive keepalive;
};

struct otlp_grpc {
    struct otlp_exporter common;
    const struct otlp_grpc_settings *settings;
    char *origin;
};

static const char *const balancer_names[] = {[PICK_FIRST] = "pick_first", [ROUND_ROBIN] = "round_robin", NULL};

#define SETTING(member) offsetof(struct otlp_grpc_settings, member)

static const struct field tls_fields[] = {
    {.name = "insecure",
     .type = FIELD_BOOL,
     .offset = SETTING(insecure),
     .default_text = "false",
     .help = "clear text, unless the endpoint's scheme says otherwise"},
    HTTP_EXPORTER_TLS_FIELDS,
    {.name = NULL},
};

static const struct field keepalive_fields[] = {
    {.name = "time",
     .type = FIELD_DURATION,
     .offset = SETTING(keepalive.time_nanos),
     .default_text = "0s",
     .min = 0,
     .max = 86400e9,
     .help = "a ping after so long without a byte from the peer; 0 = never. Servers end connections that ping often"},
    {.name = "timeout",
     .type = FIELD_DURATION,
     .offset = SETTING(keepalive.timeout_nanos),
     .default_text = "10s",
     .min = (double)NANOS_PER_MS,
     .max = 86400e9,
     .help = "the connection ends when nothing comes back for so long"},
    {.name = "permit_without_stream",
     .type = FIELD_BOOL,
     .offset = SETTING(keepalive.without_stream),
     .default_text = "false",
     .help = "ping also while nothing is sent"},
    {.name = NULL},
};

static const struct field otlp_grpc_fields[] = {
    {.name = "endpoint",
     .type = FIELD_STRING,
     .offset = SETTING(endpoint),
     .help = "HOST:PORT, https://HOST:PORT, http://HOST:PORT (clear text) or unix:PATH (clear text)"},
    OTLP_REQUEST_FIELDS("5s", "4MB"),
    {.name = "authority",
     .type = FIELD_STRING,
     .offset = SETTING(authority),
     .help = ":authority of the requests; default: the endpoint"},
    {.name = "user_agent", .type = FIELD_STRING, .offset = SETTING(user_agent), .help = "default: profrelay/VERSION"},
    {.name = "balancer_name",
     .type = FIELD_ENUM,
     .offset = SETTING(balancer),
     .default_text = "round_robin",
     .names = balancer_names,
     .help = "round_robin: requests in turn to every address of the name"},
    {.name = "keepalive", .type = FIELD_STRUCT, .fields = keepalive_fields, .help = "pings"},
    {.name = "wait_for_ready",
     .type = FIELD_BOOL,
     .offset = SETTING(wait_for_ready),
     .default_text = "false",
     .help = "connect again within an attempt until its timeout"},
    {.name = "tls", .type = FIELD_STRUCT, .fields = tls_fields, .help = "TLS is on by default"},
    {.name = "read_buffer_size", .type = FIELD_IGNORED, .help = "no meaning here"},
    {.name = "write_buffer_size", .type = FIELD_IGNORED, .help = "no meaning here"},
    {.name = NULL},
};

// --- the endpoint ---

// The path of the socket; NULL: another endpoint.
static const char *unix_path(const char *endpoint)
{
    if (strncmp(endpoint, "unix:", 5) != 0)
        return NULL;
    return strncmp(endpoint, "unix://", 7) == 0 ? endpoint + 7 : endpoint + 5;
}

static bool has_scheme(const char *endpoint)
{
    return strncasecmp(endpoint, "http://", 7) == 0 || strncasecmp(endpoint, "https://", 8) == 0;
}

static const char *without_resolver(const char *endpoint)
{
    return strncmp(endpoint, "dns:///", 7) == 0 ? endpoint + 7 : endpoint;
}

static char *make_origin(const struct otlp_grpc_settings *s)
{
    if (unix_path(s->endpoint) != NULL)
        return mem_copy_text("http://localhost");
    if (has_scheme(s->endpoint))
        return mem_copy_text(s->endpoint);
    const char *authority = without_resolver(s->endpoint);
    size_t size = strlen(authority) + sizeof "https://";
    char *origin = mem_alloc(size);
    snprintf(origin, size, "%s://%s", s->insecure ? "http" : "https", authority);
    return origin;
}

static enum err_code check_endpoint(const char *endpoint, struct err *e)
{
    char host[URL_HOST_MAX + 1];
    uint16_t port;
    struct url url;
    if (unix_path(endpoint) != NULL)
        return *unix_path(endpoint) != '\0' ? ERR_OK : err_set(e, ERR_INVALID, "unix: needs the path of a socket");
    if (!has_scheme(endpoint)) {
        if (strstr(without_resolver(endpoint), "//") != NULL)
            return err_set(e, ERR_INVALID, "write HOST:PORT, dns:///HOST:PORT, http://, https:// or unix:PATH");
        enum err_code code = endpoint_parse(without_resolver(endpoint), host, &port, e);
        if (code == ERR_OK && (host[0] == '\0' || port == 0))
            code = err_set(e, ERR_INVALID, "expected HOST:PORT of the server, e.g. collector:4317");
        return code;
    }
    enum err_code code = http_url_check(endpoint, e);
    if (code != ERR_OK)
        return code;
    code = url_parse(endpoint, &url, e);
    if (code == ERR_OK && url.target.len > 0 && !bytes_equal_text(url.target, "/"))
        code = err_set(e, ERR_INVALID, "a gRPC endpoint has no path: leave it out, or use the exporter otlp_http");
    return code;
}

static void check_host(const struct otlp_grpc_settings *s, const struct component_check *check)
{
    char *origin = make_origin(s);
    if (unix_path(s->endpoint) == NULL)
        http_exporter_check_host(origin, NULL, true, "endpoint", check);
    free(origin);
}

static void check_settings(const void *settings, const struct component_check *check)
{
    static const char because[] = "belongs to gRPC";
    static const char *const reserved[] = {"Content-Type",
                                           because,
                                           "TE",
                                           because,
                                           "grpc-encoding",
                                           because,
                                           "grpc-timeout",
                                           because,
                                           "grpc-accept-encoding",
                                           because,
                                           "Host",
                                           "has the key authority",
                                           "User-Agent",
                                           "has the key user_agent",
                                           NULL};
    const struct otlp_grpc_settings *s = settings;
    struct err e = {0};
    if (s->endpoint == NULL || s->endpoint[0] == '\0')
        check_error(check, "", "requires a non-empty \"endpoint\": HOST:PORT of a gRPC server");
    else if (check_endpoint(s->endpoint, &e) != ERR_OK)
        check_error(check, "endpoint", "%s", e.text);
    else
        check_host(s, check);
    if (s->authority != NULL && !http_header_valid("Host", s->authority))
        check_error(check, "authority", "has line ends or other control characters");
    if (s->user_agent != NULL && !http_header_valid("User-Agent", s->user_agent))
        check_error(check, "user_agent", "has line ends or other control characters");
    otlp_settings_check(&s->common, reserved, check);
}

// --- the exporter ---

static enum err_code create(struct exporter *self, const void *settings, struct err *e)
{
    (void)e;
    struct otlp_grpc *x = (struct otlp_grpc *)self;
    x->settings = settings;
    x->origin = make_origin(x->settings);
    struct http_header own[] = {{OTLP_VERSION_HEADER, "1"}, {"Host", x->settings->authority}};
    otlp_exporter_init(&x->common, &x->settings->common, own, x->settings->authority != NULL ? 2 : 1);
    return ERR_OK;
}

static enum err_code start(struct exporter *self, struct err *e)
{
    struct otlp_grpc *x = (struct otlp_grpc *)self;
    const struct otlp_grpc_settings *s = x->settings;
    struct http_client_options options = {
        .protocol = HTTP_2,
        .unix_path = unix_path(s->endpoint),
        .round_robin = s->balancer == ROUND_ROBIN,
        .keepalive = s->keepalive,
        .user_agent = s->user_agent,
    };
    enum err_code rc = http_exporter_connect(&x->common.http, options, e);
    return rc == ERR_OK ? http_auth_start(&x->common.http, x->origin, unix_path(s->endpoint) != NULL, e) : rc;
}

// otlp-profiles specification, "OTLP/gRPC Response", failures; the remedies are ours.
static const struct {
    bool again;
    const char *remedy;
} statuses[] = {
    [GRPC_CANCELLED] = {true, NULL},
    [GRPC_DEADLINE_EXCEEDED] = {true, NULL},
    [GRPC_PERMISSION_DENIED] = {false, "are the headers right?"},
    [GRPC_RESOURCE_EXHAUSTED] = {false, "a request too large for the peer? Its limit is max_recv_msg_size_mib in a "
                                        "Collector"},
    [GRPC_ABORTED] = {true, NULL},
    [GRPC_OUT_OF_RANGE] = {true, NULL},
    [GRPC_UNIMPLEMENTED] = {false,
                            "it speaks no gRPC profiles service: has it a profiles pipeline, is this the port of "
                            "gRPC?"},
    [GRPC_UNAVAILABLE] = {true, NULL},
    [GRPC_DATA_LOSS] = {true, NULL},
    [GRPC_UNAUTHENTICATED] = {false, "are headers and auth.authenticator right?"},
};

// How servers say that a message is larger than they take: grpc-go, C++ (Python, Ruby), Node; Java; .NET; tonic;
// profrelay.
static const char *const size_words[] = {"larger than max", "exceeds maximum size",
                                         "exceeds the maximum configured message size", "message length too large",
                                         "max_recv_msg_size"};

static bool names_size(const struct grpc_response *r)
{
    for (size_t i = 0; i < COUNT_OF(size_words); i++)
        if (strstr(r->message, size_words[i]) != NULL)
            return true;
    return false;
}

enum blame { NOT_SIZE, PERHAPS_SIZE, SURELY_SIZE };

// tonic says OUT_OF_RANGE; a proxy in front may speak HTTP only.
static enum blame blame_of(const struct grpc_response *r, bool has_retry_info)
{
    bool exhausted = r->status == GRPC_RESOURCE_EXHAUSTED, out_of_range = r->status == GRPC_OUT_OF_RANGE;
    if (r->outcome != HTTP_ANSWERED || has_retry_info)
        return NOT_SIZE;
    if ((r->http != NULL && r->http->status == 413) || ((exhausted || out_of_range) && names_size(r)))
        return SURELY_SIZE;
    return exhausted ? PERHAPS_SIZE : NOT_SIZE;
}

static bool may_repeat(const struct grpc_response *r, bool has_retry_info)
{
    switch (r->outcome) {
    case HTTP_LOST:
    case HTTP_TIMED_OUT:
    case HTTP_CANCELLED:
        return true;
    case HTTP_CONNECT_FAILED:
        return r->status == GRPC_UNAVAILABLE;
    case HTTP_BAD_RESPONSE:
        return !r->may_have_been_processed;
    case HTTP_ANSWERED:
        break;
    }
    if (r->status == GRPC_RESOURCE_EXHAUSTED)
        return has_retry_info;
    return (size_t)r->status < COUNT_OF(statuses) && statuses[r->status].again;
}

static const char *remedy_of(const struct otlp_grpc *x, const struct grpc_response *r)
{
    if (r->outcome == HTTP_ANSWERED)
        return (size_t)r->status < COUNT_OF(statuses) ? statuses[r->status].remedy : NULL;
    // A certificate that is not trusted was shown by a peer that speaks TLS.
    if (r->outcome == HTTP_CONNECT_FAILED && !has_scheme(x->settings->endpoint) &&
        strncmp(r->message, "TLS with ", 9) == 0 && strstr(r->message, "certificate") == NULL)
        return "TLS is the default here; for clear text set tls.insecure: true";
    return NULL;
}

static struct verdict judge_failure(struct otlp_grpc *x, const struct record *record, const struct grpc_response *r)
{
    char words[PEER_WORDS_MAX + 1];
    int64_t delay;
    bool has_retry_info = otlp_decode_retry_info(r->details, &delay);
    enum blame blame = blame_of(r, has_retry_info);
    bool again = blame == NOT_SIZE && may_repeat(r, has_retry_info);
    bool answered = r->outcome == HTTP_ANSWERED;
    const char *remedy = answered && again ? NULL : remedy_of(x, r), *endpoint = x->settings->endpoint;
    peer_words_clean(bytes_from_text(r->message), false, words);
    struct verdict v =
        verdict_make(again ? VERDICT_RETRY : VERDICT_REFUSED, "%s %s%s%s%s%s%s%s", endpoint,
                     answered ? "answers " : "gives no answer", answered ? grpc_status_name(r->status) : "",
                     words[0] != '\0' ? ": " : "", words, remedy != NULL ? " (" : "", remedy != NULL ? remedy : "",
                     remedy != NULL ? ")" : "");
    if (again)
        v.retry_after_nanos = delay < LONGEST_DELAY_NANOS ? delay : LONGEST_DELAY_NANOS;
    if (blame != NOT_SIZE)
        request_size_blame(&x->common.http, record, blame == SURELY_SIZE, &v);
    bool of_layout = answered && (r->status == GRPC_INVALID_ARGUMENT || r->status == GRPC_INTERNAL) &&
                     otlp_layouts_blame(&x->common, record, words, &v);
    v.faulty = answered && r->status == GRPC_INVALID_ARGUMENT && !v.too_large && !of_layout;
    return v;
}

// grpc-go answers with the request's compression, whatever the client says it accepts.
static struct verdict judge_body(const struct otlp_exporter *x, const struct grpc_response *r)
{
    enum compression compression;
    struct err e;
    struct buf body;
    if (r->body_encoding == NULL)
        return otlp_judge_success(x, r->body);
    buf_init(&body, LIMIT_HTTP_RESPONSE_BYTES);
    bool good = compression_from_name(r->body_encoding, &compression) &&
                decompress(compression, r->body, LIMIT_HTTP_RESPONSE_BYTES, "the answer", &body, &e) == ERR_OK;
    // Taken is taken, whatever is in an answer we cannot read.
    struct verdict v = good ? otlp_judge_success(x, buf_bytes(&body)) : (struct verdict){.kind = VERDICT_OK};
    buf_fini(&body);
    return v;
}

// Also when its message is not one: the request is taken all the same.
static bool peer_says_ok(const struct grpc_response *r)
{
    for (size_t i = 0; i < r->http->trailer_count; i++)
        if (strcasecmp(r->http->trailers[i].name, "grpc-status") == 0)
            return strcmp(r->http->trailers[i].value, "0") == 0;
    return r->status == GRPC_OK;
}

static void send_flight(struct http_flight *f);

static void on_done(void *arg, const struct grpc_response *r)
{
    struct http_flight *f = arg;
    if (r->outcome == HTTP_ANSWERED && r->status == GRPC_UNAUTHENTICATED && http_auth_again(f)) {
        send_flight(f);
        return;
    }
    struct verdict v = peer_says_ok(r) ? judge_body((const struct otlp_exporter *)f->exporter, r)
                                       : judge_failure((struct otlp_grpc *)f->exporter, send_record(f->send), r);
    otlp_flight_end(f, &v);
}

static void send_flight(struct http_flight *f)
{
    struct otlp_grpc *x = (struct otlp_grpc *)f->exporter;
    const struct record *r = send_record(f->send);
    struct header_set headers;
    otlp_flight_headers(f, &headers);
    enum compression compression = (enum compression)r->compression;
    struct grpc_request request = {
        .origin = x->origin,
        .path = EXPORT_PATH,
        .message = {r->data, r->len},
        .encoding = compression == COMPRESSION_NONE ? NULL : compression_name(compression),
        .metadata = headers.items,
        .metadata_count = headers.count,
        .timeout_nanos = x->settings->common.http.timeout_nanos,
        .max_response_bytes = LIMIT_HTTP_RESPONSE_BYTES,
        .wait_for_ready = x->settings->wait_for_ready,
    };
    f->call = grpc_client_send(f->exporter->client, &request, on_done, f);
    header_set_fini(&headers);
}

static void send_attempt(struct exporter *self, struct send *s)
{
    send_flight(http_flight_begin((struct http_exporter *)self, s));
}

static void cancel_call(struct http_flight *f)
{
    grpc_call_cancel(f->call);
}

static void cancel(struct exporter *self)
{
    http_exporter_cancel((struct http_exporter *)self, cancel_call);
}

static void destroy(struct exporter *self)
{
    free(((struct otlp_grpc *)self)->origin);
    http_exporter_destroy(self);
}

static const char *const aliases[] = {"otlp", NULL};

const struct exporter_module otlp_grpc_exporter = {
    .module =
        {
            .type = "otlp_grpc",
            .aliases = aliases,
            .help = "Sends OTLP over gRPC to any server that speaks it.",
            .settings_size = sizeof(struct otlp_grpc_settings),
            .instance_size = sizeof(struct otlp_grpc),
            .fields = otlp_grpc_fields,
            .check = check_settings,
        },
    .create = create,
    .start = start,
    .encode = http_partition_encode,
    .takes_unread = http_partition_takes_unread,
    .replace = http_partition_replace,
    .send = send_attempt,
    .cancel = cancel,
    .stop = http_exporter_stop,
    .destroy = destroy,
};
