// SPDX-License-Identifier: Apache-2.0
// OTLP over HTTP/1.1 (opentelemetry-proto docs/specification.md, "OTLP/HTTP").
#include "base/mem.h"
#include "codec/otlp_status.h"
#include "exporters/http_auth.h"
#include "exporters/http_partition.h"
#include "exporters/otlp_layouts.h"
#include "exporters/peer_words.h"
#include "exporters/request_size.h"

#include <strings.h>

#define PROFILES_PATH "/v1development/profiles"
#define PROTOBUF_TYPE "application/x-protobuf"

struct otlp_http_settings {
    struct otlp_settings common;
    const char *endpoint, *profiles_endpoint;
    int encoding;
};

struct otlp_http {
    struct otlp_exporter common;
    const struct otlp_http_settings *settings;
    char *url;
};

static const char *const encoding_names[] = {"proto", NULL};

#define SETTING(member) offsetof(struct otlp_http_settings, member)

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
    HTTP_EXPORTER_CLIENT_FIELDS,
    {.name = "traces_endpoint", .type = FIELD_IGNORED, .help = "only profiles are sent"},
    {.name = "metrics_endpoint", .type = FIELD_IGNORED, .help = "only profiles are sent"},
    {.name = "logs_endpoint", .type = FIELD_IGNORED, .help = "only profiles are sent"},
    {.name = NULL},
};

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct otlp_http_settings *s = settings;
    if (s->endpoint == NULL && s->profiles_endpoint == NULL)
        check_error(check, "", "at least one endpoint must be specified: set endpoint or profiles_endpoint");
    http_exporter_check_url(&s->common.http, s->endpoint, "endpoint", check);
    http_exporter_check_url(&s->common.http, s->profiles_endpoint, "profiles_endpoint", check);
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
    return http_exporter_start((struct http_exporter *)self, ((const struct otlp_http *)self)->url, e);
}

static bool has_type(const struct http_response *response, const char *media_type)
{
    const char *type = http_response_header(response, "content-type");
    return type != NULL && strncasecmp(type, media_type, strlen(media_type)) == 0;
}

// The peer's own words: google.rpc.Status, or the beginning of a text.
static void peer_message(const struct http_response *response, char out[PEER_WORDS_MAX + 1])
{
    int32_t code;
    struct bytes message = {NULL, 0};
    if (!has_type(response, PROTOBUF_TYPE) || !otlp_decode_status(response->body, &code, &message))
        message = response->body;
    peer_words_clean(message, has_type(response, "text/html"), out);
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
    char text[PEER_WORDS_MAX + 1];
    peer_message(response, text);
    // The query may hold a key.
    struct verdict v = verdict_make(again ? VERDICT_RETRY : VERDICT_REFUSED, "%.*s answers %d%s%s",
                                    (int)strcspn(x->url, "?"), x->url, status, text[0] != '\0' ? ": " : "", text);
    v.retry_after_nanos = retry_after_parse(http_response_header(response, "retry-after"),
                                            clock_wall_nanos(x->common.http.exporter.component.env->clock));
    if (blames_size(status, text))
        request_size_blame(&x->common.http, r, true, &v);
    bool of_layout = status == 400 && otlp_layouts_blame(&x->common, r, text, &v);
    v.faulty = (status == 400 || status == 422) && !v.too_large && !of_layout;
    return v;
}

static void send_flight(struct http_flight *f);

static void on_done(void *arg, const struct http_response *response)
{
    struct http_flight *f = arg;
    if (response->status == 401 && http_auth_again(f)) {
        send_flight(f);
        return;
    }
    // A status whose body broke off, or is too large to read, says as much: taken is taken.
    struct verdict v = response->status != 0
                           ? judge_status((struct otlp_http *)f->exporter, send_record(f->send), response)
                           : verdict_make(VERDICT_RETRY, "%s", response->error);
    otlp_flight_end(f, &v);
}

static void send_flight(struct http_flight *f)
{
    const struct otlp_http *x = (const struct otlp_http *)f->exporter;
    const struct record *r = send_record(f->send);
    struct header_set headers;
    otlp_flight_headers(f, &headers);
    if (r->compression != COMPRESSION_NONE)
        header_set_put(&headers, "Content-Encoding", compression_name((enum compression)r->compression));
    http_flight_post(f, x->url, &headers, (struct bytes){r->data, r->len}, on_done);
}

static void send_attempt(struct exporter *self, struct send *s)
{
    send_flight(http_flight_begin((struct http_exporter *)self, s));
}

static void destroy(struct exporter *self)
{
    free(((struct otlp_http *)self)->url);
    http_exporter_destroy(self);
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
    .encode = http_partition_encode,
    .takes_unread = http_partition_takes_unread,
    .replace = http_partition_replace,
    .send = send_attempt,
    .cancel = http_exporter_cancel_posts,
    .stop = http_exporter_stop,
    .destroy = destroy,
};
