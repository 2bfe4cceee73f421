// SPDX-License-Identifier: Apache-2.0
#include "exporters/http_auth.h"

#include "net/authenticator.h"
#include "net/lookup.h"
#include "net/url.h"
#include "pipeline/authentication.h"

#include <netinet/in.h>

const struct field http_exporter_auth_fields[] = {
    {.name = "authenticator",
     .type = FIELD_STRING,
     .offset = HTTP_EXPORTER_SETTING(authenticator),
     .help = "id of an extension that adds credentials to requests"},
    {.name = NULL},
};

static bool is_loopback(const struct sockaddr_storage *a)
{
    if (a->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
    return a->ss_family == AF_INET && ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

// Names that must be asked for are elsewhere.
static bool is_here(const char *host)
{
    struct address_list list = {0};
    bool here = address_list_known(host, 0, &list);
    for (size_t i = 0; i < list.count; i++)
        here = here && is_loopback(&list.items[i]);
    address_list_fini(&list);
    return here;
}

enum err_code http_auth_start(struct http_exporter *x, const char *url, bool to_socket, struct err *e)
{
    const struct component *c = &x->exporter.component;
    const char *id = x->settings->authenticator;
    struct url parts;
    char host[URL_HOST_MAX + 1];
    enum err_code rc = url_parse(url, &parts, e);
    if (rc != ERR_OK || id == NULL)
        return rc;
    x->authenticator = c->env->find_authenticator(c->env->service, id, AUTH_ROLE_CLIENT, e);
    if (x->authenticator == NULL)
        return e->code;
    snprintf(host, sizeof host, "%.*s", BYTES_PRINT(parts.host));
    if (!parts.tls && !to_socket && !is_here(host))
        log_warn(&c->log, "credentials go to %s in clear text: whoever is on the way can read them; use TLS", host);
    return ERR_OK;
}

void http_auth_add(const struct http_exporter *x, const struct record *r, struct header_set *headers)
{
    if (x->authenticator != NULL)
        x->authenticator->ops->apply(x->authenticator, r->header_values, headers);
}

bool http_auth_again(struct http_flight *f)
{
    struct authenticator *a = f->exporter->authenticator;
    if (a == NULL || f->is_repeated)
        return false;
    bool changed = a->ops->renew(a);
    f->is_repeated = true;
    log_info(&f->exporter->exporter.component.log, "the peer refuses the credentials: one more try with %s",
             changed ? "those that are there now" : "the same, nothing has changed");
    return true;
}
