// SPDX-License-Identifier: Apache-2.0
#include "receivers/server_settings.h"
#include "base/limits.h"
#include "net/lookup.h"
#include "net/url.h"
#include "pipeline/authentication.h"

#include <stdio.h>

const char *const server_transport_names[] = {[SERVER_TCP] = "tcp", [SERVER_UNIX] = "unix", NULL};

static struct tls_server_options tls_options(const struct server_tls_settings *s)
{
    struct tls_server_options o = s->options;
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

static void name_key(char out[128], const char *section, const char *key)
{
    snprintf(out, 128, "%s%s%s", section, section[0] != '\0' ? "." : "", key);
}

// What net/listener.h takes; a host's address is looked up for validate.
static void check_address(const struct server_settings *s, const char *key, const struct component_check *check)
{
    char host[URL_HOST_MAX + 1], text[32];
    uint16_t port;
    struct err e = {0};
    struct address_list known = {0};
    bool everywhere = s->endpoint[0] == ':';
    if (s->transport == SERVER_UNIX || strncmp(s->endpoint, "unix:", 5) == 0)
        return;
    snprintf(text, sizeof text, "h%s", everywhere ? s->endpoint : "");
    if (endpoint_parse(everywhere ? text : s->endpoint, host, &port, &e) != ERR_OK)
        check_error(check, key, "%s", e.text);
    else if (!everywhere && !address_list_known(host, port, &known))
        check->add_host(check, key, host);
    address_list_fini(&known);
}

void server_settings_check(const struct server_settings *s, const char *key, const struct component_check *check)
{
    char at[128];
    struct err e = {0};
    struct tls_server *tls = NULL;
    name_key(at, key, "endpoint");
    if (s->endpoint == NULL || s->endpoint[0] == '\0')
        check_error(check, at, "is empty: give HOST:PORT, e.g. \"localhost:4318\"");
    else
        check_address(s, at, check);
    name_key(at, key, "auth.authenticator");
    auth_check(check, at, s->authenticator, AUTH_ROLE_SERVER);
    if (!s->has_tls)
        return;
    const struct tls_server_options options = tls_options(&s->tls);
    name_key(at, key, "tls");
    if (tls_server_create(&options, &tls, &e) != ERR_OK)
        check_error(check, at, "%s", tls_error_text(&e));
    tls_server_destroy(&tls);
}

void server_settings_log_address(const struct logger *log, const char *what, const char *endpoint, int port)
{
    if (port != 0)
        log_info(log, "%s at %s, port %d", what, endpoint, port);
    else
        log_info(log, "%s at %s", what, endpoint);
}

const char *server_settings_endpoint(const struct server_settings *s)
{
    return s->endpoint + (strncmp(s->endpoint, "unix:", 5) == 0 ? 5 : 0);
}

bool server_settings_same_tls(const struct server_settings *a, const struct server_settings *b)
{
    const struct tls_server_options x = tls_options(&a->tls), y = tls_options(&b->tls);
    return a->has_tls == b->has_tls && (!a->has_tls || tls_server_options_equal(&x, &y));
}

static int64_t or_never(int64_t nanos)
{
    return nanos == 0 ? -1 : nanos;
}

void server_settings_apply(const struct server_settings *s, char text[LIMIT_PATH_BYTES], struct tls_server_options *tls,
                           struct http_server_options *out)
{
    bool is_path = s->transport == SERVER_UNIX && strncmp(s->endpoint, "unix:", 5) != 0;
    snprintf(text, LIMIT_PATH_BYTES, "%s%s", is_path ? "unix:" : "", s->endpoint);
    *tls = tls_options(&s->tls);
    *out = (struct http_server_options){
        .endpoint = text,
        .tls = s->has_tls ? tls : NULL,
        .proxy_protocol = s->proxy_protocol,
        .max_connections = (uint32_t)s->max_connections,
        .max_header_bytes = (size_t)s->max_header_bytes,
        .header_timeout_nanos = or_never(s->header_timeout_nanos),
        .body_timeout_nanos = or_never(s->body_timeout_nanos),
        .write_timeout_nanos = or_never(s->write_timeout_nanos),
        .idle_timeout_nanos = or_never(s->idle_timeout_nanos),
        .tls_reload_nanos = s->tls.reload_nanos,
    };
}
