// SPDX-License-Identifier: Apache-2.0
// OTLP over HTTP/1.1 (opentelemetry-proto docs/specification.md, "OTLP/HTTP").
#include "base/limits.h"
#include "base/mem.h"
#include "codec/compress.h"
#include "codec/otlp.h"
#include "exporters/exporter.h"
#include "net/http_client.h"

#include <inttypes.h>
#include <stdio.h>

#define PROFILES_PATH "/v1development/profiles"
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
    struct compressor **compressors; // one per worker
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

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct otlp_http_settings *s = settings;
    if (s->endpoint == NULL && s->profiles_endpoint == NULL)
        check_error(check, "", "at least one endpoint must be specified: set endpoint or profiles_endpoint");
    check_url(s->endpoint, "endpoint", check);
    check_url(s->profiles_endpoint, "profiles_endpoint", check);
    for (size_t i = 0; i < s->headers.count; i++)
        if (!http_header_valid(s->headers.items[i].name, s->headers.items[i].value))
            check_error(check, "headers",
                        "header %zu is not valid: a name is letters, digits and -, a value has no "
                        "line ends or other control characters",
                        i + 1);
    if (s->tls.ca_file != NULL && s->tls.ca_pem != NULL)
        check_error(check, "tls", "provide either ca_file or ca_pem, but not both");
    if ((s->tls.cert_file == NULL) != (s->tls.key_file == NULL))
        check_error(check, "tls", "provide both cert_file and key_file, or neither");
    if (s->compression == COMPRESSION_GZIP && s->compression_level > 12)
        check_error(check, "compression_params.level", "gzip has the levels 1 to 12, found %" PRId64,
                    s->compression_level);
}

static void fill_headers(struct otlp_http *x)
{
    const struct config_pairs *own = &x->settings->headers;
    x->headers = mem_alloc((own->count + OWN_HEADERS) * sizeof *x->headers);
    x->headers[x->header_count++] = (struct http_header){"Content-Type", "application/x-protobuf"};
    x->headers[x->header_count++] = (struct http_header){VERSION_HEADER, "1"};
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
    x->compressors = mem_alloc(workers_count(self->component.env->workers) * sizeof(struct compressor *));
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

static struct compressor *worker_compressor(struct otlp_http *x)
{
    struct compressor **c = &x->compressors[worker_current_index()];
    if (*c == NULL)
        *c = compressor_create((enum compression)x->settings->compression, (int)x->settings->compression_level);
    return *c;
}

// raw becomes the body, compressed if so configured; raw is emptied.
static enum err_code make_body(struct otlp_http *x, struct buf *raw, struct buf *body, struct err *e)
{
    if (x->settings->compression == COMPRESSION_NONE) {
        *body = *raw;
        buf_init(raw, 0);
        return ERR_OK;
    }
    struct compressor *c = worker_compressor(x);
    if (c == NULL)
        return err_set(e, ERR_MEMORY, "out of memory for the compressor");
    return compressor_run(c, buf_bytes(raw), body, e);
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

// The peer's own words: google.rpc.Status, or the beginning of a text.
static struct bytes peer_message(const struct http_response *response)
{
    const char *type = http_response_header(response, "content-type");
    int32_t code;
    struct bytes message = {NULL, 0};
    if (type != NULL && strncmp(type, "application/x-protobuf", 22) == 0 &&
        otlp_decode_status(response->body, &code, &message))
        return message;
    message = response->body;
    if (message.len > MAX_MESSAGE)
        message.len = MAX_MESSAGE;
    return message;
}

static struct verdict judge_success(const struct otlp_http *x, const struct http_response *response)
{
    int64_t rejected = 0;
    struct bytes message = {NULL, 0};
    // Taken is taken: an answer we cannot read does not undo it.
    if (!otlp_decode_response(response->body, &rejected, &message))
        return (struct verdict){.kind = VERDICT_OK};
    if (rejected > 0) {
        struct verdict v = verdict_make(VERDICT_PARTIAL, "%.*s", BYTES_PRINT(message));
        v.rejected_profiles = (uint64_t)rejected;
        return v;
    }
    if (message.len != 0)
        log_warn(&x->exporter.component.log, "the peer took a request with a warning: %.*s", BYTES_PRINT(message));
    return (struct verdict){.kind = VERDICT_OK};
}

static struct verdict judge_status(const struct otlp_http *x, const struct http_response *response)
{
    int status = response->status;
    if (status >= 200 && status < 300)
        return judge_success(x, response);
    bool again = status == 429 || status == 502 || status == 503 || status == 504;
    struct bytes message = peer_message(response);
    struct verdict v = verdict_make(again ? VERDICT_RETRY : VERDICT_REFUSED, "%s answers %d%s%.*s", x->url, status,
                                    message.len != 0 ? ": " : "", BYTES_PRINT(message));
    v.retry_after_nanos = retry_after_parse(http_response_header(response, "retry-after"),
                                            clock_wall_nanos(x->exporter.component.env->clock));
    return v;
}

static void on_done(void *arg, const struct http_response *response)
{
    struct flight *f = arg;
    struct otlp_http *x = f->exporter;
    struct send *send = f->send;
    struct verdict v = response->outcome == HTTP_ANSWERED ? judge_status(x, response)
                                                          : verdict_make(VERDICT_RETRY, "%s", response->error);
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
    unsigned workers = workers_count(self->component.env->workers);
    for (unsigned i = 0; x->compressors != NULL && i < workers; i++)
        compressor_destroy(&x->compressors[i]);
    free(x->compressors);
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
