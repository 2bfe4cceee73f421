// SPDX-License-Identifier: Apache-2.0
// OTLP over HTTP/1.1 (opentelemetry-proto docs/specification.md, "OTLP/HTTP").
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "codec/otlp.h"
#include "exporters/exporter.h"
#include "exporters/worker_compressors.h"
#include "net/http_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#define PROFILES_PATH "/v1development/profiles"
#define PROTOBUF_TYPE "application/x-protobuf"
#define VERSION_HEADER "otlp-profiles-development-version"

// The queue resends records as they are, so a header table of this size serves all of them.
enum { OWN_HEADERS = 3, MAX_MESSAGE = 160 };

struct otlp_http_settings {
    const char *endpoint, *profiles_endpoint;
    int encoding;
    int compression; // enum compression
    int64_t compression_level;
    int64_t timeout_nanos;
    uint64_t max_request_bytes;
    struct config_pairs headers;
    const char *proxy_url;
    struct tls_client_options tls;
    int64_t idle_timeout_nanos;
};

struct otlp_http;

// One attempt on its way.
struct flight {
    struct flight *next, **link;
    struct otlp_http *exporter;
    struct send *send;
    struct http_call *call;
};

struct otlp_http {
    struct exporter exporter;
    const struct otlp_http_settings *settings;
    char *url;
    struct http_header *headers; // all but Content-Encoding, which depends on the record
    size_t header_count;
    struct worker_compressors compressors;
    struct http_client *client;
    struct flight *flights;
};

static const char *const encoding_names[] = {"proto", NULL};
static const char *const compression_names[] = {
    [COMPRESSION_NONE] = "none", [COMPRESSION_GZIP] = "gzip", [COMPRESSION_ZSTD] = "zstd", NULL};

#define SETTING(member) offsetof(struct otlp_http_settings, member)

static const struct field params_fields[] = {
    {.name = "level",
     .type = FIELD_INT,
     .offset = SETTING(compression_level),
     .default_text = "0",
     .min = 0,
     .max = 22,
     .help = "0 = the default: gzip 1 (8 % more bytes than 6 for a third of the CPU), zstd 3"},
    {.name = NULL},
};

static const struct field tls_fields[] = {
    {.name = "ca_file",
     .type = FIELD_STRING,
     .offset = SETTING(tls.ca_file),
     .help = "certificates to trust; default: the system's"},
    {.name = "ca_pem", .type = FIELD_STRING, .offset = SETTING(tls.ca_pem), .help = "the same, in place"},
    {.name = "cert_file", .type = FIELD_STRING, .offset = SETTING(tls.cert_file), .help = "client certificate"},
    {.name = "key_file", .type = FIELD_STRING, .offset = SETTING(tls.key_file), .help = "its private key"},
    {.name = "server_name_override",
     .type = FIELD_STRING,
     .offset = SETTING(tls.server_name),
     .help = "name to ask for and to verify instead of the endpoint's host"},
    {.name = "insecure_skip_verify",
     .type = FIELD_BOOL,
     .offset = SETTING(tls.insecure_skip_verify),
     .default_text = "false",
     .help = "do not verify the peer's certificate"},
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
    {.name = "compression",
     .type = FIELD_ENUM,
     .offset = SETTING(compression),
     .default_text = "gzip",
     .names = compression_names,
     .help = "of the request body"},
    {.name = "compression_params", .type = FIELD_STRUCT, .fields = params_fields, .help = "tuning"},
    {.name = "timeout",
     .type = FIELD_DURATION,
     .offset = SETTING(timeout_nanos),
     .default_text = "30s",
     .min = (double)NANOS_PER_MS,
     .max = 86400e9,
     .help = "of one attempt, from connecting to the whole answer"},
    {.name = "max_encoded_bytes",
     .type = FIELD_SIZE,
     .offset = SETTING(max_request_bytes),
     .default_text = "1GiB",
     .min = 1024,
     .max = 4294967296.0,
     .help = "a request larger than this before compression is not made"},
    {.name = "headers", .type = FIELD_STRING_MAP, .offset = SETTING(headers), .help = "sent with every request"},
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

static void check_url(const char *url, const char *key, const struct component_check *check)
{
    struct err e = {0};
    if (url != NULL && http_url_check(url, &e) != ERR_OK)
        check_error(check, key, "%s", e.text);
}

static void check_header(const struct config_pair *header, size_t number, const struct component_check *check)
{
    if (!http_header_valid(header->name, header->value))
        check_error(check, "headers",
                    "header %zu is not valid: a name is letters, digits and -, a value has no line ends or other "
                    "control characters",
                    number);
    else if (strcasecmp(header->name, "Content-Encoding") == 0)
        check_error(check, "headers", "Content-Encoding follows from compression: leave it out");
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct otlp_http_settings *s = settings;
    if (s->endpoint == NULL && s->profiles_endpoint == NULL)
        check_error(check, "", "at least one endpoint must be specified: set endpoint or profiles_endpoint");
    check_url(s->endpoint, "endpoint", check);
    check_url(s->profiles_endpoint, "profiles_endpoint", check);
    for (size_t i = 0; i < s->headers.count; i++)
        check_header(&s->headers.items[i], i + 1, check);
    if (s->tls.ca_file != NULL && s->tls.ca_pem != NULL)
        check_error(check, "tls", "provide either ca_file or ca_pem, but not both");
    if ((s->tls.cert_file == NULL) != (s->tls.key_file == NULL))
        check_error(check, "tls", "provide both cert_file and key_file, or neither");
    if (s->compression == COMPRESSION_GZIP && s->compression_level > 12)
        check_error(check, "compression_params.level", "gzip has the levels 1 to 12, found %" PRId64,
                    s->compression_level);
}

static void add_own_header(struct otlp_http *x, const char *name, const char *value)
{
    const struct config_pairs *given = &x->settings->headers;
    for (size_t i = 0; i < given->count; i++)
        if (strcasecmp(given->items[i].name, name) == 0)
            return;
    x->headers[x->header_count++] = (struct http_header){name, value};
}

static void fill_headers(struct otlp_http *x)
{
    const struct config_pairs *own = &x->settings->headers;
    x->headers = mem_alloc((own->count + OWN_HEADERS) * sizeof *x->headers);
    add_own_header(x, "Content-Type", PROTOBUF_TYPE);
    add_own_header(x, VERSION_HEADER, "1");
    for (size_t i = 0; i < own->count; i++)
        x->headers[x->header_count++] = (struct http_header){own->items[i].name, own->items[i].value};
}

static enum err_code create(struct exporter *self, const void *settings, struct err *e)
{
    (void)e;
    struct otlp_http *x = (struct otlp_http *)self;
    x->settings = settings;
    x->url = x->settings->profiles_endpoint != NULL ? mem_copy_text(x->settings->profiles_endpoint)
                                                    : http_url_join(x->settings->endpoint, PROFILES_PATH);
    worker_compressors_init(&x->compressors, workers_count(self->component.env->workers),
                            (enum compression)x->settings->compression, (int)x->settings->compression_level);
    fill_headers(x);
    return ERR_OK;
}

static enum err_code start(struct exporter *self, struct err *e)
{
    struct otlp_http *x = (struct otlp_http *)self;
    struct http_client_options options = {
        .proxy_url = x->settings->proxy_url,
        .tls = x->settings->tls,
        .idle_timeout_nanos = x->settings->idle_timeout_nanos,
        .max_connections = 1000, // the queue's consumers bound it
    };
    return http_client_create(&self->component.loop->uv, &options, &x->client, e);
}

// raw becomes the body, compressed if so configured; raw is emptied.
static enum err_code make_body(struct otlp_http *x, struct buf *raw, struct buf *body, struct err *e)
{
    if (x->settings->compression == COMPRESSION_NONE) {
        *body = *raw;
        buf_init(raw, 0);
        return ERR_OK;
    }
    return worker_compressors_run(&x->compressors, buf_bytes(raw), body, e);
}

static enum err_code encode(struct exporter *self, const struct batch *batch, struct record_list *out, struct err *e)
{
    struct otlp_http *x = (struct otlp_http *)self;
    struct buf raw, body;
    buf_init(&raw, (size_t)x->settings->max_request_bytes);
    buf_init(&body, (size_t)x->settings->max_request_bytes);
    enum err_code rc = otlp_encode(batch, &raw, e);
    size_t raw_bytes = raw.len;
    if (rc == ERR_OK)
        rc = make_body(x, &raw, &body, e);
    buf_fini(&raw);
    if (rc == ERR_OK) {
        size_t len;
        uint8_t *data = buf_take(&body, &len);
        struct record *r = record_create(data, len);
        r->compression = (unsigned)x->settings->compression;
        r->raw_bytes = raw_bytes;
        r->profiles = batch->profile_count;
        r->samples = batch->sample_count;
        record_list_add(out, r);
    }
    buf_fini(&body);
    return rc;
}

static bool is_control(struct bytes character)
{
    const uint8_t *c = character.data;
    return c[0] <= ' ' || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
}

// What a peer says goes to logs and terminals: no controls, no broken characters, no runs of spaces; of a page
// only its text.
static void clean_message(struct bytes raw, bool is_page, char out[MAX_MESSAGE + 1])
{
    size_t used = 0, len;
    bool in_tag = false, space = false;
    for (; raw.len != 0; raw = (struct bytes){raw.data + len, raw.len - len}) {
        size_t valid = utf8_char_len(raw);
        len = valid != 0 ? valid : 1;
        in_tag = is_page && (in_tag || raw.data[0] == '<');
        if (in_tag || valid == 0 || is_control(raw)) {
            in_tag = in_tag && raw.data[0] != '>';
            space = used != 0;
            continue;
        }
        if (used + space + len > MAX_MESSAGE)
            break;
        if (space)
            out[used++] = ' ';
        memcpy(out + used, raw.data, len);
        used += len;
        space = false;
    }
    out[used] = '\0';
}

static bool has_type(const struct http_response *response, const char *media_type)
{
    const char *type = http_response_header(response, "content-type");
    return type != NULL && strncasecmp(type, media_type, strlen(media_type)) == 0;
}

// The peer's own words: google.rpc.Status, or the beginning of a text.
static void peer_message(const struct http_response *response, char out[MAX_MESSAGE + 1])
{
    int32_t code;
    struct bytes message = {NULL, 0};
    if (!has_type(response, PROTOBUF_TYPE) || !otlp_decode_status(response->body, &code, &message))
        message = response->body;
    clean_message(message, has_type(response, "text/html"), out);
}

static struct verdict judge_success(const struct otlp_http *x, const struct http_response *response)
{
    int64_t rejected = 0;
    struct bytes message = {NULL, 0};
    char text[MAX_MESSAGE + 1];
    // Taken is taken: an answer we cannot read does not undo it.
    if (!otlp_decode_response(response->body, &rejected, &message))
        return (struct verdict){.kind = VERDICT_OK};
    clean_message(message, false, text);
    if (rejected > 0) {
        struct verdict v = verdict_make(VERDICT_PARTIAL, "%s", text);
        v.rejected_profiles = (uint64_t)rejected;
        return v;
    }
    if (text[0] != '\0')
        log_warn(&x->exporter.component.log, "the peer took a request with a warning: %s", text);
    return (struct verdict){.kind = VERDICT_OK};
}

static struct verdict judge_status(const struct otlp_http *x, const struct http_response *response)
{
    int status = response->status;
    if (status >= 200 && status < 300)
        return judge_success(x, response);
    bool again = status == 429 || status == 502 || status == 503 || status == 504;
    char text[MAX_MESSAGE + 1];
    peer_message(response, text);
    // The query may hold a key.
    struct verdict v = verdict_make(again ? VERDICT_RETRY : VERDICT_REFUSED, "%.*s answers %d%s%s",
                                    (int)strcspn(x->url, "?"), x->url, status, text[0] != '\0' ? ": " : "", text);
    v.retry_after_nanos = retry_after_parse(http_response_header(response, "retry-after"),
                                            clock_wall_nanos(x->exporter.component.env->clock));
    return v;
}

static void on_done(void *arg, const struct http_response *response)
{
    struct flight *f = arg;
    struct otlp_http *x = f->exporter;
    struct send *send = f->send;
    // A status whose body broke off, or is too large to read, says as much: taken is taken.
    struct verdict v =
        response->status != 0 ? judge_status(x, response) : verdict_make(VERDICT_RETRY, "%s", response->error);
    *f->link = f->next;
    if (f->next != NULL)
        f->next->link = f->link;
    free(f);
    send_done(send, &v);
}

static struct flight *add_flight(struct otlp_http *x, struct send *s)
{
    struct flight *f = MEM_NEW(struct flight);
    *f = (struct flight){.next = x->flights, .link = &x->flights, .exporter = x, .send = s};
    if (f->next != NULL)
        f->next->link = &f->next;
    x->flights = f;
    return f;
}

static void send_attempt(struct exporter *self, struct send *s)
{
    struct otlp_http *x = (struct otlp_http *)self;
    const struct record *r = send_record(s);
    size_t count = x->header_count;
    if (r->compression != COMPRESSION_NONE)
        x->headers[count++] =
            (struct http_header){"Content-Encoding", compression_name((enum compression)r->compression)};
    struct http_request request = {
        .method = "POST",
        .url = x->url,
        .headers = x->headers,
        .header_count = count,
        .body = {r->data, r->len},
        .timeout_nanos = x->settings->timeout_nanos,
        .max_response_bytes = LIMIT_HTTP_RESPONSE_BYTES,
    };
    struct flight *f = add_flight(x, s);
    f->call = http_client_send(x->client, &request, on_done, f);
}

static void cancel(struct exporter *self)
{
    struct otlp_http *x = (struct otlp_http *)self;
    for (struct flight *f = x->flights, *next; f != NULL; f = next) {
        next = f->next;
        http_call_cancel(f->call);
    }
}

static void on_closed(void *arg)
{
    struct otlp_http *x = arg;
    component_stopped(&x->exporter.component);
}

static void stop(struct exporter *self)
{
    struct otlp_http *x = (struct otlp_http *)self;
    if (x->client == NULL)
        component_stopped(&self->component);
    else
        http_client_close(&x->client, on_closed, x);
}

static void destroy(struct exporter *self)
{
    struct otlp_http *x = (struct otlp_http *)self;
    worker_compressors_fini(&x->compressors);
    free(x->headers);
    free(x->url);
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
    .encode = encode,
    .send = send_attempt,
    .cancel = cancel,
    .stop = stop,
    .destroy = destroy,
};
