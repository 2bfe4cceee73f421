// SPDX-License-Identifier: Apache-2.0
#include "exporters/otlp_common.h"
#include "exporters/otlp_encode.h"
#include "exporters/otlp_layouts.h"

#include "base/mem.h"
#include "base/text.h"
#include "codec/otlp.h"
#include "net/lookup.h"
#include "net/proxy.h"
#include "net/tls.h"
#include "pipeline/authentication.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

const char *const otlp_compression_names[] = {
    [COMPRESSION_NONE] = "none", [COMPRESSION_GZIP] = "gzip", [COMPRESSION_ZSTD] = "zstd", "", NULL};

enum compression otlp_compression(const struct otlp_settings *s)
{
    return s->compression > COMPRESSION_ZSTD ? COMPRESSION_NONE : (enum compression)s->compression;
}

const struct field otlp_params_fields[] = {
    {.name = "level",
     .type = FIELD_INT,
     .offset = OTLP_SETTING(compression_level),
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

static struct tls_client_options tls_options(const struct otlp_settings *s)
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

static void check_tls(const struct otlp_settings *s, const struct component_check *check)
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

void otlp_settings_check(const struct otlp_settings *s, const char *const *reserved,
                         const struct component_check *check)
{
    for (size_t i = 0; i < s->headers.count; i++)
        check_header(&s->headers.items[i], i + 1, reserved, check);
    otlp_layouts_check(s, check);
    check_tls(s, check);
    auth_check(check, "auth.authenticator", s->authenticator, AUTH_ROLE_CLIENT);
    if (s->compression == COMPRESSION_GZIP && s->compression_level > 12)
        check_error(check, "compression_params.level", "gzip has the levels 1 to 12, found %" PRId64,
                    s->compression_level);
}

void otlp_check_host(const char *url, const char *proxy_url, bool as_https, const char *key,
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

static void add_own_header(struct otlp_exporter *x, const struct http_header *own)
{
    const struct config_pairs *given = &x->settings->headers;
    for (size_t i = 0; i < given->count; i++)
        if (strcasecmp(given->items[i].name, own->name) == 0)
            return;
    x->headers[x->header_count++] = *own;
}

void otlp_exporter_init(struct otlp_exporter *x, const struct otlp_settings *settings, const struct http_header *own,
                        size_t own_count)
{
    const struct config_pairs *given = &settings->headers;
    x->settings = settings;
    otlp_encode_init(x);
    otlp_layouts_init(x);
    worker_compressors_init(&x->compressors, workers_count(x->exporter.component.env->workers),
                            otlp_compression(settings), (int)settings->compression_level);
    x->headers = mem_alloc((given->count + own_count) * sizeof *x->headers);
    for (size_t i = 0; i < own_count; i++)
        add_own_header(x, &own[i]);
    for (size_t i = 0; i < given->count; i++)
        x->headers[x->header_count++] = (struct http_header){given->items[i].name, given->items[i].value};
}

static void on_reload(void *arg, const struct err *e)
{
    const struct otlp_exporter *x = arg;
    if (e == NULL)
        log_info(&x->exporter.component.log, "certificates were read anew");
    else
        log_warn(&x->exporter.component.log, "the old certificates stay in use: %s", e->text);
}

enum err_code otlp_exporter_connect(struct otlp_exporter *x, struct http_client_options options, struct err *e)
{
    options.tls = tls_options(x->settings);
    options.max_connections = 1000; // the queue's consumers bound it
    options.on_reload = on_reload;
    options.on_reload_arg = x;
    return http_client_create(&x->exporter.component.loop->uv, &options, &x->client, e);
}

struct otlp_flight *otlp_flight_begin(struct otlp_exporter *x, struct send *s)
{
    struct otlp_flight *f = MEM_NEW(struct otlp_flight);
    *f = (struct otlp_flight){.next = x->flights, .link = &x->flights, .exporter = x, .send = s};
    if (f->next != NULL)
        f->next->link = &f->next;
    x->flights = f;
    return f;
}

void otlp_flight_end(struct otlp_flight *f, const struct verdict *v)
{
    struct send *send = f->send;
    otlp_note_size(f->exporter, send_record(send), v);
    otlp_layouts_note(f->exporter, send_record(send), v);
    *f->link = f->next;
    if (f->next != NULL)
        f->next->link = f->link;
    free(f);
    send_done(send, v);
}

void otlp_exporter_cancel(struct otlp_exporter *x, void (*cancel)(struct otlp_flight *f))
{
    for (struct otlp_flight *f = x->flights, *next; f != NULL; f = next) {
        next = f->next;
        cancel(f);
    }
}

static bool is_control(struct bytes character)
{
    const uint8_t *c = character.data;
    return c[0] <= ' ' || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
}

void otlp_clean_words(struct bytes raw, bool is_page, char out[OTLP_MAX_WORDS + 1])
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
        if (used + space + len > OTLP_MAX_WORDS)
            break;
        if (space)
            out[used++] = ' ';
        memcpy(out + used, raw.data, len);
        used += len;
        space = false;
    }
    out[used] = '\0';
}

struct verdict otlp_judge_success(const struct otlp_exporter *x, struct bytes body)
{
    int64_t rejected = 0;
    struct bytes message = {NULL, 0};
    char text[OTLP_MAX_WORDS + 1];
    // Taken is taken: an answer we cannot read does not undo it.
    if (!otlp_decode_response(body, &rejected, &message))
        return (struct verdict){.kind = VERDICT_OK};
    otlp_clean_words(message, false, text);
    if (rejected > 0) {
        struct verdict v = verdict_make(VERDICT_PARTIAL, "%s", text);
        v.rejected_profiles = (uint64_t)rejected;
        return v;
    }
    if (text[0] != '\0')
        log_warn(&x->exporter.component.log, "the peer took a request with a warning: %s", text);
    return (struct verdict){.kind = VERDICT_OK};
}

static void on_closed(void *arg)
{
    struct otlp_exporter *x = arg;
    component_stopped(&x->exporter.component);
}

void otlp_exporter_stop(struct exporter *self)
{
    struct otlp_exporter *x = (struct otlp_exporter *)self;
    if (x->client == NULL)
        component_stopped(&self->component);
    else
        http_client_close(&x->client, on_closed, x);
}

void otlp_exporter_destroy(struct exporter *self)
{
    struct otlp_exporter *x = (struct otlp_exporter *)self;
    worker_compressors_fini(&x->compressors);
    free(x->headers);
}
