// SPDX-License-Identifier: Apache-2.0
// OTLP over HTTP/1.1 (opentelemetry-proto docs/specification.md, "OTLP/HTTP").
#include "base/limits.h"
#include "base/mem.h"
#include "codec/otlp.h"
#include "exporters/otlp_auth.h"
#include "exporters/otlp_encode.h"
#include "exporters/otlp_layouts.h"
#include "exporters/otlp_partition.h"
#include "net/url.h"

#include <strings.h>

#define PROFILES_PATH "/v1development/profiles"
#define PROTOBUF_TYPE "application/x-protobuf"

struct otlp_http_settings {
    struct otlp_settings common;
    const char *endpoint, *profiles_endpoint;
    int encoding;
    const char *proxy_url;
    int64_t idle_timeout_nanos;
};

struct otlp_http {
    struct otlp_exporter common;
    const struct otlp_http_settings *settings;
    char *url;
};

static const char *const encoding_names[] = {"proto", NULL};

#define SETTING(member) offsetof(struct otlp_http_settings, member)

static const struct field tls_fields[] = {
    OTLP_TLS_FIELDS,
    {.name = "insecure", .type = FIELD_IGNORED, .help = "the scheme of the endpoint decides"},
    {.name = NULL},
};

static const struct field otlp_http_fields[] = {
    {.name = "endpoint",
     .type = FIELD_STRING,
     .offset = SETTING(endpoint),
     .help = "base URL; " PROFILES_PATH " is appended"},
    {.name = "profiles_endpoint",
     .type = FIELD_STRING,
     .offset = SETTING(profiles_endpoint),
     .help = "full URL, used as it is instead of endpoint"},
    {.name = "encoding",
     .type = FIELD_ENUM,
     .offset = SETTING(encoding),
     .default_text = "proto",
     .names = encoding_names,
     .help = "of the request"},
    OTLP_REQUEST_FIELDS("30s", "16MiB"),
    {.name = "proxy_url",
     .type = FIELD_SECRET,
     .offset = SETTING(proxy_url),
     .help = "default: HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the environment"},
    {.name = "tls", .type = FIELD_STRUCT, .fields = tls_fields, .help = "for https endpoints"},
    {.name = "idle_conn_timeout",
     .type = FIELD_DURATION,
     .offset = SETTING(idle_timeout_nanos),
     .default_text = "90s",
     .min = 0,
     .max = 86400e9,
     .help = "connections unused for this long are closed"},
    {.name = "traces_endpoint", .type = FIELD_IGNORED, .help = "only profiles are sent"},
    {.name = "metrics_endpoint", .type = FIELD_IGNORED, .help = "only profiles are sent"},
    {.name = "logs_endpoint", .type = FIELD_IGNORED, .help = "only profiles are sent"},
    {.name = "read_buffer_size", .type = FIELD_IGNORED, .help = "no meaning here"},
    {.name = "write_buffer_size", .type = FIELD_IGNORED, .help = "no meaning here"},
    {.name = "max_idle_conns", .type = FIELD_IGNORED, .help = "sending_queue.num_consumers bounds connections"},
    {.name = "max_idle_conns_per_host",
     .type = FIELD_IGNORED,
     .help = "sending_queue.num_consumers bounds connections"},
    {.name = "max_conns_per_host", .type = FIELD_IGNORED, .help = "sending_queue.num_consumers bounds connections"},
    {.name = "disable_keep_alives", .type = FIELD_IGNORED, .help = "connections are kept"},
    {.name = "force_attempt_http2", .type = FIELD_IGNORED, .help = "requests are HTTP/1.1"},
    {.name = NULL},
};

static void check_url(const char *url, const char *key, const struct otlp_http_settings *s,
                      const struct component_check *check)
{
    struct err e = {0};
    if (url != NULL && http_url_check(url, &e) != ERR_OK)
        check_error(check, key, "%s", e.text);
    else if (url != NULL)
        otlp_check_host(url, s->proxy_url, false, key, check);
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct otlp_http_settings *s = settings;
    if (s->endpoint == NULL && s->profiles_endpoint == NULL)
        check_error(check, "", "at least one endpoint must be specified: set endpoint or profiles_endpoint");
    check_url(s->endpoint, "endpoint", s, check);
    check_url(s->profiles_endpoint, "profiles_endpoint", s, check);
    static const char *const reserved[] = {"Content-Encoding", "follows from compression", NULL};
    otlp_settings_check(&s->common, reserved, check);
}

static enum err_code create(struct exporter *self, const void *settings, struct err *e)
{
    (void)e;
    struct otlp_http *x = (struct otlp_http *)self;
    x->settings = settings;
    x->url = x->settings->profiles_endpoint != NULL ? mem_copy_text(x->settings->profiles_endpoint)
                                                    : http_url_join(x->settings->endpoint, PROFILES_PATH);
    static const struct http_header own[] = {{"Content-Type", PROTOBUF_TYPE}, {OTLP_VERSION_HEADER, "1"}};
    otlp_exporter_init(&x->common, &x->settings->common, own, COUNT_OF(own));
    return ERR_OK;
}

static enum err_code start(struct exporter *self, struct err *e)
{
    struct otlp_http *x = (struct otlp_http *)self;
    struct http_client_options options = {
        .proxy_url = x->settings->proxy_url,
        .idle_timeout_nanos = x->settings->idle_timeout_nanos,
    };
    enum err_code rc = otlp_exporter_connect(&x->common, options, e);
    return rc == ERR_OK ? otlp_auth_start(&x->common, x->url, false, e) : rc;
}

static bool has_type(const struct http_response *response, const char *media_type)
{
    const char *type = http_response_header(response, "content-type");
    return type != NULL && strncasecmp(type, media_type, strlen(media_type)) == 0;
}

// The peer's own words: google.rpc.Status, or the beginning of a text.
static void peer_message(const struct http_response *response, char out[OTLP_MAX_WORDS + 1])
{
    int32_t code;
    struct bytes message = {NULL, 0};
    if (!has_type(response, PROTOBUF_TYPE) || !otlp_decode_status(response->body, &code, &message))
        message = response->body;
    otlp_clean_words(message, has_type(response, "text/html"), out);
}

// A Collector's HTTP server says 400 for a body that is too large.
static bool blames_size(int status, const char *words)
{
    return status == 413 || (status == 400 && strstr(words, "body too large") != NULL);
}

static struct verdict judge_status(struct otlp_http *x, const struct record *r, const struct http_response *response)
{
    int status = response->status;
    if (status >= 200 && status < 300)
        return otlp_judge_success(&x->common, response->body);
    bool again = status == 429 || status == 502 || status == 503 || status == 504;
    char text[OTLP_MAX_WORDS + 1];
    peer_message(response, text);
    // The query may hold a key.
    struct verdict v = verdict_make(again ? VERDICT_RETRY : VERDICT_REFUSED, "%.*s answers %d%s%s",
                                    (int)strcspn(x->url, "?"), x->url, status, text[0] != '\0' ? ": " : "", text);
    v.retry_after_nanos = retry_after_parse(http_response_header(response, "retry-after"),
                                            clock_wall_nanos(x->common.exporter.component.env->clock));
    if (blames_size(status, text))
        otlp_blame_size(&x->common, r, true, &v);
    if (status == 400)
        otlp_layouts_blame(&x->common, r, text, &v);
    return v;
}

static void send_flight(struct otlp_flight *f);

static void on_done(void *arg, const struct http_response *response)
{
    struct otlp_flight *f = arg;
    if (response->status == 401 && otlp_auth_again(f)) {
        send_flight(f);
        return;
    }
    // A status whose body broke off, or is too large to read, says as much: taken is taken.
    struct verdict v = response->status != 0
                           ? judge_status((struct otlp_http *)f->exporter, send_record(f->send), response)
                           : verdict_make(VERDICT_RETRY, "%s", response->error);
    otlp_flight_end(f, &v);
}

static void send_flight(struct otlp_flight *f)
{
    struct otlp_http *x = (struct otlp_http *)f->exporter;
    const struct record *r = send_record(f->send);
    struct header_set headers;
    otlp_auth_headers(&x->common, r, &headers);
    if (r->compression != COMPRESSION_NONE)
        header_set_put(&headers, "Content-Encoding", compression_name((enum compression)r->compression));
    struct http_request request = {
        .method = "POST",
        .url = x->url,
        .headers = headers.items,
        .header_count = headers.count,
        .body = {r->data, r->len},
        .timeout_nanos = x->settings->common.timeout_nanos,
        .max_response_bytes = LIMIT_HTTP_RESPONSE_BYTES,
    };
    f->call = http_client_send(x->common.client, &request, on_done, f);
    header_set_fini(&headers);
}

static void send_attempt(struct exporter *self, struct send *s)
{
    send_flight(otlp_flight_begin((struct otlp_exporter *)self, s));
}

static void cancel_call(struct otlp_flight *f)
{
    http_call_cancel(f->call);
}

static void cancel(struct exporter *self)
{
    otlp_exporter_cancel((struct otlp_exporter *)self, cancel_call);
}

static void destroy(struct exporter *self)
{
    free(((struct otlp_http *)self)->url);
    otlp_exporter_destroy(self);
}

static const char *const aliases[] = {"otlphttp", NULL};

const struct exporter_module otlp_http_exporter = {
    .module =
        {
            .type = "otlp_http",
            .aliases = aliases,
            .help = "Sends OTLP over HTTP to any server that speaks it.",
            .settings_size = sizeof(struct otlp_http_settings),
            .instance_size = sizeof(struct otlp_http),
            .fields = otlp_http_fields,
            .check = check_settings,
        },
    .create = create,
    .start = start,
    .encode = otlp_partition_encode,
    .takes_unread = otlp_partition_takes_unread,
    .replace = otlp_partition_replace,
    .send = send_attempt,
    .cancel = cancel,
    .stop = otlp_exporter_stop,
    .destroy = destroy,
};
