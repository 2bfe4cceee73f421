// SPDX-License-Identifier: Apache-2.0
// Profiles to a Pyroscope server, or to who speaks its protocol: push.v1.PusherService/Push over Connect, or POST /ingest.
#include "base/mem.h"
#include "codec/compress.h"
#include "exporters/http_auth.h"
#include "exporters/http_partition.h"
#include "exporters/pyroscope_answer.h"
#include "exporters/pyroscope_encode.h"
#include "exporters/pyroscope_upload.h"
#include "exporters/request_size.h"

#include <stdio.h>
#include <strings.h>

#define TENANT_HEADER "X-Scope-OrgID"

static const char *const api_names[] = {[PYROSCOPE_PUSH] = "push", [PYROSCOPE_INGEST] = "ingest", NULL};
static const char *const profile_compression_names[] = {[COMPRESSION_NONE] = "none", [COMPRESSION_GZIP] = "gzip", NULL};
static const char *const primary_names[] = {[PYROSCOPE_ALL_TYPES] = "all", [PYROSCOPE_PRIMARY_TYPE] = "auto", NULL};

#define SETTING(member) offsetof(struct pyroscope_exporter_settings, member)

static const struct field label_fields[] = {
    {.name = "allow",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(labels.allow),
     .help = "attributes of resource and scope that become labels; default: all"},
    {.name = "rename",
     .type = FIELD_STRING_MAP,
     .offset = SETTING(labels.rename),
     .help = "attribute to label, e.g. k8s.pod.name: pod"},
    {.name = "sanitize",
     .type = FIELD_BOOL,
     .offset = SETTING(labels.sanitize),
     .default_text = "false",
     .help = "what is not in [a-zA-Z0-9_] becomes _ in names: servers before 2.0 take nothing else"},
    {.name = "max",
     .type = FIELD_INT,
     .offset = SETTING(labels.max),
     .default_text = "30",
     .min = 2,
     .max = 256,
     .help = "labels of a series; more are left out"},
    {.name = "max_name_bytes",
     .type = FIELD_INT,
     .offset = SETTING(labels.max_name_bytes),
     .default_text = "1024",
     .min = 1,
     .max = 65536,
     .help = "longer names are cut"},
    {.name = "max_value_bytes",
     .type = FIELD_INT,
     .offset = SETTING(labels.max_value_bytes),
     .default_text = "2048",
     .min = 1,
     .max = 65536,
     .help = "longer values are cut"},
    {.name = NULL},
};

static const struct field tenant_fields[] = {
    {.name = "id",
     .type = FIELD_STRING,
     .offset = SETTING(tenant_id),
     .help = TENANT_HEADER " of all requests, or of those without the attribute"},
    {.name = "attribute",
     .type = FIELD_STRING,
     .offset = SETTING(tenant_attribute),
     .help = "attribute of the resource whose value is the tenant"},
    {.name = NULL},
};

static const struct field pyroscope_fields[] = {
    {.name = "endpoint",
     .type = FIELD_STRING,
     .offset = SETTING(endpoint),
     .help = "URL of the server with its base path; the API's path is appended unless it is there"},
    {.name = "api",
     .type = FIELD_ENUM,
     .offset = SETTING(api),
     .default_text = "push",
     .names = api_names,
     .help = "push: " PYROSCOPE_PUSH_PATH ", ingest: " PYROSCOPE_INGEST_PATH "; JFR always goes to the second"},
    {.name = "profile_compression",
     .type = FIELD_ENUM,
     .offset = SETTING(profile_compression),
     .default_text = "gzip",
     .names = profile_compression_names,
     .help = "of each pprof"},
    HTTP_EXPORTER_COMPRESSION_FIELDS("none"),
    HTTP_EXPORTER_TIMEOUT_FIELD("30s"),
    HTTP_EXPORTER_SIZE_FIELD("max_profile_bytes", "2MiB",
                             "of one profile before compression, labels included; larger ones are split"),
    {.name = "max_profile_samples",
     .type = FIELD_INT,
     .offset = SETTING(max_profile_samples),
     .default_text = "16000",
     .min = 1,
     .max = 1e9,
     .help = "of one profile; larger ones are split"},
    {.name = "max_age",
     .type = FIELD_DURATION,
     .offset = SETTING(max_age_nanos),
     .default_text = "0s",
     .min = 0,
     .max = 31536000e9,
     .help = "older profiles are dropped here; 0 = none: the server judges"},
    {.name = "max_ahead",
     .type = FIELD_DURATION,
     .offset = SETTING(max_ahead_nanos),
     .default_text = "0s",
     .min = 0,
     .max = 31536000e9,
     .help = "profiles of a later time are dropped here; 0 = none: the server judges"},
    {.name = "primary_type",
     .type = FIELD_ENUM,
     .offset = SETTING(primary_type),
     .default_text = "all",
     .names = primary_names,
     .help = "auto: of several sample types only cpu, else wall, in-use bytes, allocated bytes, the first"},
    {.name = "labels", .type = FIELD_STRUCT, .fields = label_fields, .help = "of each series"},
    {.name = "tenant", .type = FIELD_STRUCT, .fields = tenant_fields, .help = "of a server for several"},
    HTTP_EXPORTER_HEADER_FIELDS,
    HTTP_EXPORTER_CLIENT_FIELDS,
    {.name = NULL},
};

static void check_compression(const struct pyroscope_exporter_settings *s, const struct component_check *check)
{
    const enum compression c = http_exporter_compression(&s->http);
    if (c == COMPRESSION_ZSTD)
        check_error(check, "compression", "Pyroscope reads gzip only; profile_compression is usually enough");
    else if (c != COMPRESSION_NONE && s->api == PYROSCOPE_INGEST)
        check_error(check, "compression", "servers do not look at it with api: ingest; set profile_compression");
}

static void check_labels(const struct pyroscope_exporter_settings *s, const struct component_check *check)
{
    for (size_t i = 0; i < s->labels.rename.count; i++)
        if (s->labels.rename.items[i].value == NULL || s->labels.rename.items[i].value[0] == '\0')
            check_error(check, "labels.rename", "%s needs the name of a label; leave an attribute out by labels.allow",
                        s->labels.rename.items[i].name);
}

static void check_settings(const void *settings, const struct component_check *check)
{
    static const char *const reserved[] = {"Content-Encoding",
                                           "follows from compression",
                                           "Content-Type",
                                           "belongs to the API",
                                           "Connect-Protocol-Version",
                                           "belongs to the API",
                                           NULL};
    const struct pyroscope_exporter_settings *s = settings;
    if (s->endpoint == NULL || s->endpoint[0] == '\0')
        check_error(check, "", "requires an \"endpoint\": the URL of the server, e.g. http://localhost:4040");
    else
        http_exporter_check_url(&s->http, s->endpoint, "endpoint", check);
    if (s->tenant_id != NULL && !http_header_valid(TENANT_HEADER, s->tenant_id))
        check_error(check, "tenant.id", "has line ends or other control characters");
    check_compression(s, check);
    check_labels(s, check);
    http_exporter_check(&s->http, reserved, check);
}

// --- the exporter ---

// The path of an API at its end belongs to no base.
static char *base_of(const char *endpoint)
{
    static const char *const paths[] = {PYROSCOPE_PUSH_PATH, PYROSCOPE_INGEST_PATH};
    size_t len = strcspn(endpoint, "?"), end = len;
    while (end > 0 && endpoint[end - 1] == '/')
        end--;
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        const size_t n = strlen(paths[i]);
        if (end > n && memcmp(endpoint + end - n, paths[i], n) == 0) {
            const size_t size = end - n + strlen(endpoint + len) + 1;
            char *base = mem_alloc(size);
            snprintf(base, size, "%.*s%s", (int)(end - n), endpoint, endpoint + len);
            return base;
        }
    }
    return mem_copy_text(endpoint);
}

static void init_labels(struct pyroscope_exporter *x)
{
    const struct pyroscope_exporter_settings *s = x->settings;
    x->rename = mem_alloc((s->labels.rename.count + 1) * sizeof *x->rename);
    for (size_t i = 0; i < s->labels.rename.count; i++)
        x->rename[i] = (struct pyroscope_label_rename){s->labels.rename.items[i].name, s->labels.rename.items[i].value};
    x->labels = (struct pyroscope_label_settings){
        .allow = s->labels.allow.count > 0 ? s->labels.allow.items : NULL,
        .allow_count = s->labels.allow.count,
        .rename = x->rename,
        .rename_count = s->labels.rename.count,
        .sanitize = s->labels.sanitize,
        .max_labels = (uint32_t)s->labels.max,
        .max_name_bytes = (uint32_t)s->labels.max_name_bytes,
        .max_value_bytes = (uint32_t)s->labels.max_value_bytes,
    };
}

static enum err_code create(struct exporter *self, const void *settings, struct err *e)
{
    (void)e;
    struct pyroscope_exporter *x = (struct pyroscope_exporter *)self;
    x->settings = settings;
    char *base = base_of(x->settings->endpoint);
    x->push_url = http_url_join(base, PYROSCOPE_PUSH_PATH);
    x->ingest_url = http_url_join(base, PYROSCOPE_INGEST_PATH);
    free(base);
    const struct http_header own[] = {{TENANT_HEADER, x->settings->tenant_id}};
    http_exporter_init(&x->http, &x->settings->http, &pyroscope_encoder, own, x->settings->tenant_id != NULL);
    x->http.own_attribute = x->settings->tenant_attribute;
    worker_compressors_init(&x->profile_compressors, workers_count(self->component.env->workers), COMPRESSION_GZIP, 0);
    init_labels(x);
    pyroscope_encode_init(x);
    return ERR_OK;
}

static enum err_code start(struct exporter *self, struct err *e)
{
    return http_exporter_start((struct http_exporter *)self, ((const struct pyroscope_exporter *)self)->push_url, e);
}

// --- requests ---

static void send_flight(struct http_flight *f);

static const char *url_of(const struct http_flight *f)
{
    const struct pyroscope_exporter *x = (const struct pyroscope_exporter *)f->exporter;
    return send_record(f->send)->encoding == PYROSCOPE_PUSH ? x->push_url : x->ingest_url;
}

static void on_done(void *arg, const struct http_response *response)
{
    struct http_flight *f = arg;
    if (response->status == 401 && http_auth_again(f)) {
        send_flight(f);
        return;
    }
    const struct pyroscope_request request = {
        .url = url_of(f),
        .record = send_record(f->send),
        .now_nanos = clock_wall_nanos(f->exporter->exporter.component.env->clock),
    };
    struct pyroscope_judgement j = pyroscope_answer_judge(&request, response);
    if (j.is_size)
        request_size_blame(f->exporter, request.record, true, &j.verdict);
    if (j.is_doubtful)
        send_doubt(f->send);
    http_flight_end(f, &j.verdict);
}

// The record's own tenant goes before that of all.
static void put_headers(const struct http_flight *f, const char *content_type, struct header_set *out)
{
    const struct record *r = send_record(f->send);
    const char *tenant = http_partition_own_value(f->exporter, r);
    http_exporter_headers(f->exporter, out);
    header_set_put(out, "Content-Type", content_type);
    if (tenant != NULL)
        header_set_put(out, TENANT_HEADER, tenant);
    http_auth_add(f->exporter, r, out);
}

static void post_push(struct http_flight *f, const struct record *r)
{
    struct header_set headers;
    put_headers(f, "application/proto", &headers);
    header_set_put(&headers, "Connect-Protocol-Version", "1");
    if (r->compression != COMPRESSION_NONE)
        header_set_put(&headers, "Content-Encoding", compression_name((enum compression)r->compression));
    http_flight_post(f, url_of(f), &headers, (struct bytes){r->data, r->len}, on_done);
}

static void post_upload(struct http_flight *f, const struct record *r)
{
    const struct pyroscope_upload_parts parts = pyroscope_upload_read((struct bytes){r->data, r->len});
    const char *base = url_of(f);
    struct header_set headers;
    const size_t size = strlen(base) + strlen(parts.query) + 2;
    char *url = mem_alloc(size);
    snprintf(url, size, "%s%c%s", base, strchr(base, '?') != NULL ? '&' : '?', parts.query);
    put_headers(f, parts.content_type, &headers);
    http_flight_post(f, url, &headers, parts.body, on_done);
    free(url);
}

static void send_flight(struct http_flight *f)
{
    const struct record *r = send_record(f->send);
    if (r->encoding == PYROSCOPE_PUSH)
        post_push(f, r);
    else
        post_upload(f, r);
}

static void send_attempt(struct exporter *self, struct send *s)
{
    send_flight(http_flight_begin((struct http_exporter *)self, s));
}

static void destroy(struct exporter *self)
{
    struct pyroscope_exporter *x = (struct pyroscope_exporter *)self;
    free(x->push_url);
    free(x->ingest_url);
    free(x->rename);
    worker_compressors_fini(&x->profile_compressors);
    http_exporter_destroy(self);
}

const struct exporter_module pyroscope_exporter = {
    .module =
        {
            .type = "pyroscope",
            .help = "Pushes to a Pyroscope server, Grafana Cloud Profiles or whoever speaks their protocol.",
            .settings_size = sizeof(struct pyroscope_exporter_settings),
            .instance_size = sizeof(struct pyroscope_exporter),
            .fields = pyroscope_fields,
            .check = check_settings,
        },
    .create = create,
    .start = start,
    .encode = http_partition_encode,
    .replace = http_partition_replace,
    .send = send_attempt,
    .cancel = http_exporter_cancel_posts,
    .stop = http_exporter_stop,
    .destroy = destroy,
};
