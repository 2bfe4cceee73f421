// SPDX-License-Identifier: Apache-2.0
#include "exporters/http_exporter.h"

#include "base/limits.h"
#include "base/mem.h"
#include "exporters/http_auth.h"
#include "exporters/request_size.h"
#include "net/lookup.h"
#include "net/proxy.h"
#include "net/tls.h"
#include "pipeline/authentication.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

const char *const http_exporter_compression_names[] = {
    [COMPRESSION_NONE] = "none", [COMPRESSION_GZIP] = "gzip", [COMPRESSION_ZSTD] = "zstd", "", NULL};

enum compression http_exporter_compression(const struct http_exporter_settings *s)
{
    return s->compression > COMPRESSION_ZSTD ? COMPRESSION_NONE : (enum compression)s->compression;
}

const struct field http_exporter_params_fields[] = {
    {.name = "level",
     .type = FIELD_INT,
     .offset = HTTP_EXPORTER_SETTING(compression_level),
     .default_text = "0",
     .min = 0,
     .max = 22,
     .help = "0 = the default: gzip 1 (8 % more bytes than 6 for a third of the CPU), zstd 3"},
    {.name = NULL},
};

static void check_header(const struct config_pair *header, size_t number, const char *const *reserved,
                         const struct component_check *check)
{
    if (!http_header_valid(header->name, header->value))
        check_error(check, "headers",
                    "header %zu is not valid: a name is letters, digits and -, a value has no line ends or other "
                    "control characters",
                    number);
    for (; *reserved != NULL; reserved += 2)
        if (strcasecmp(header->name, reserved[0]) == 0)
            check_error(check, "headers", "%s %s: leave it out", reserved[0], reserved[1]);
}

const struct field http_exporter_tls_fields[] = {
    HTTP_EXPORTER_TLS_FIELDS,
    {.name = "insecure", .type = FIELD_IGNORED, .help = "the scheme of the endpoint decides"},
    {.name = NULL},
};

static struct tls_client_options tls_options(const struct http_exporter_settings *s)
{
    struct tls_client_options o = s->tls;
    if (s->cipher_suites.count > 0) {
        o.parameters.cipher_suites = s->cipher_suites.items;
        o.parameters.cipher_suite_count = s->cipher_suites.count;
    }
    if (s->curves.count > 0) {
        o.parameters.curves = s->curves.items;
        o.parameters.curve_count = s->curves.count;
    }
    return o;
}

// certificate and key fit, authorities can be read
static void check_tls_files(const struct tls_client_options *o, const struct component_check *check)
{
    struct err e = {0};
    if (o->ca_file == NULL && o->ca_pem == NULL && o->cert_file == NULL && o->cert_pem == NULL)
        return;
    struct tls_context *tls = tls_context_create(o);
    if (tls_context_prepare(tls, &e) != ERR_OK)
        check_error(check, "tls", "%s", tls_error_text(&e));
    tls_context_destroy(&tls);
}

static void check_tls(const struct http_exporter_settings *s, const struct component_check *check)
{
    const struct tls_client_options o = tls_options(s);
    struct err e = {0};
    size_t errors = check->errors->error_count;
    if (o.ca_file != NULL && o.ca_pem != NULL)
        check_error(check, "tls", "provide either ca_file or ca_pem, but not both");
    if (o.cert_file != NULL && o.cert_pem != NULL)
        check_error(check, "tls", "provide either cert_file or cert_pem, but not both");
    if (o.key_file != NULL && o.key_pem != NULL)
        check_error(check, "tls", "provide either key_file or key_pem, but not both");
    if ((o.cert_file == NULL && o.cert_pem == NULL) != (o.key_file == NULL && o.key_pem == NULL))
        check_error(check, "tls",
                    "provide both certificate and key (cert_file or cert_pem, key_file or key_pem), or "
                    "neither");
    if (tls_parameters_check(&o.parameters, &e) != ERR_OK)
        check_error(check, "tls", "%s", tls_error_text(&e));
    if (check->errors->error_count == errors)
        check_tls_files(&o, check);
}

void http_exporter_check(const struct http_exporter_settings *s, const char *const *reserved,
                         const struct component_check *check)
{
    for (size_t i = 0; i < s->headers.count; i++)
        check_header(&s->headers.items[i], i + 1, reserved, check);
    check_tls(s, check);
    auth_check(check, "auth.authenticator", s->authenticator, AUTH_ROLE_CLIENT);
    if (s->compression == COMPRESSION_GZIP && s->compression_level > 12)
        check_error(check, "compression_params.level", "gzip has the levels 1 to 12, found %" PRId64,
                    s->compression_level);
}

void http_exporter_check_host(const char *url, const char *proxy_url, bool as_https, const char *key,
                              const struct component_check *check)
{
    char host[URL_HOST_MAX + 1];
    struct url u;
    struct proxy_rules rules;
    struct address_list known = {0};
    struct err e = {0};
    if (url_parse(url, &u, &e) != ERR_OK)
        return;
    u.tls = u.tls || as_https;
    if (proxy_rules_init(&rules, proxy_url, &e) != ERR_OK) {
        check_error(check, proxy_url != NULL ? "proxy_url" : key, "%s", e.text);
        return;
    }
    const struct proxy *proxy = proxy_rules_choose(&rules, &u);
    snprintf(host, sizeof host, "%.*s", (int)u.host.len, (const char *)u.host.data);
    if (proxy != NULL)
        snprintf(host, sizeof host, "%s", proxy->host);
    if (!address_list_known(host, 0, &known))
        check->add_host(check, key, host);
    address_list_fini(&known);
    proxy_rules_fini(&rules);
}

void http_exporter_check_url(const struct http_exporter_settings *s, const char *url, const char *key,
                             const struct component_check *check)
{
    struct err e = {0};
    if (url != NULL && http_url_check(url, &e) != ERR_OK)
        check_error(check, key, "%s", e.text);
    else if (url != NULL)
        http_exporter_check_host(url, s->proxy_url, false, key, check);
}

// --- the exporter ---

bool http_exporter_is_given(const struct http_exporter *x, const char *name)
{
    const struct config_pairs *given = &x->settings->headers;
    for (size_t i = 0; i < given->count; i++)
        if (strcasecmp(given->items[i].name, name) == 0)
            return true;
    return false;
}

void http_exporter_init(struct http_exporter *x, const struct http_exporter_settings *settings,
                        const struct http_exporter_encoder *encoder, const struct http_header *own, size_t own_count)
{
    const struct config_pairs *given = &settings->headers;
    x->settings = settings;
    x->encoder = encoder;
    request_size_init(x);
    worker_compressors_init(&x->compressors, workers_count(x->exporter.component.env->workers),
                            http_exporter_compression(settings), (int)settings->compression_level);
    x->headers = mem_alloc((given->count + own_count) * sizeof *x->headers);
    for (size_t i = 0; i < own_count; i++)
        if (!http_exporter_is_given(x, own[i].name))
            x->headers[x->header_count++] = own[i];
    for (size_t i = 0; i < given->count; i++)
        x->headers[x->header_count++] = (struct http_header){given->items[i].name, given->items[i].value};
}

void http_exporter_headers(const struct http_exporter *x, struct header_set *out)
{
    header_set_init(out, x->headers, x->header_count);
}

static void on_reload(void *arg, const struct err *e)
{
    const struct http_exporter *x = arg;
    if (e == NULL)
        log_info(&x->exporter.component.log, "certificates were read anew");
    else
        log_warn(&x->exporter.component.log, "the old certificates stay in use: %s", e->text);
}

enum err_code http_exporter_connect(struct http_exporter *x, struct http_client_options options, struct err *e)
{
    options.tls = tls_options(x->settings);
    options.max_connections = 1000; // the queue's consumers bound it
    options.on_reload = on_reload;
    options.on_reload_arg = x;
    return http_client_create(&x->exporter.component.loop->uv, &options, &x->client, e);
}

enum err_code http_exporter_start(struct http_exporter *x, const char *url, struct err *e)
{
    const struct http_client_options options = {
        .proxy_url = x->settings->proxy_url,
        .idle_timeout_nanos = x->settings->idle_timeout_nanos,
    };
    enum err_code rc = http_exporter_connect(x, options, e);
    return rc == ERR_OK ? http_auth_start(x, url, false, e) : rc;
}

// --- attempts ---

struct http_flight *http_flight_begin(struct http_exporter *x, struct send *s)
{
    struct http_flight *f = MEM_NEW(struct http_flight);
    *f = (struct http_flight){.next = x->flights, .link = &x->flights, .exporter = x, .send = s};
    if (f->next != NULL)
        f->next->link = &f->next;
    x->flights = f;
    return f;
}

void http_flight_end(struct http_flight *f, const struct verdict *v)
{
    struct send *send = f->send;
    request_size_note(f->exporter, send_record(send), v);
    *f->link = f->next;
    if (f->next != NULL)
        f->next->link = f->link;
    free(f);
    send_done(send, v);
}

void http_exporter_cancel(struct http_exporter *x, void (*cancel)(struct http_flight *f))
{
    for (struct http_flight *f = x->flights, *next; f != NULL; f = next) {
        next = f->next;
        cancel(f);
    }
}

void http_flight_post(struct http_flight *f, const char *url, struct header_set *headers, struct bytes body,
                      void (*on_done)(void *arg, const struct http_response *response))
{
    const struct http_request request = {
        .method = "POST",
        .url = url,
        .headers = headers->items,
        .header_count = headers->count,
        .body = body,
        .timeout_nanos = f->exporter->settings->timeout_nanos,
        .max_response_bytes = LIMIT_HTTP_RESPONSE_BYTES,
    };
    f->call = http_client_send(f->exporter->client, &request, on_done, f);
    header_set_fini(headers);
}

static void cancel_post(struct http_flight *f)
{
    http_call_cancel(f->call);
}

void http_exporter_cancel_posts(struct exporter *self)
{
    http_exporter_cancel((struct http_exporter *)self, cancel_post);
}

// --- the end ---

static void on_closed(void *arg)
{
    struct http_exporter *x = arg;
    component_stopped(&x->exporter.component);
}

void http_exporter_stop(struct exporter *self)
{
    struct http_exporter *x = (struct http_exporter *)self;
    if (x->client == NULL)
        component_stopped(&self->component);
    else
        http_client_close(&x->client, on_closed, x);
}

void http_exporter_destroy(struct exporter *self)
{
    struct http_exporter *x = (struct http_exporter *)self;
    worker_compressors_fini(&x->compressors);
    free(x->headers);
}
