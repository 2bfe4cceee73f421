// SPDX-License-Identifier: Apache-2.0
#include "net/http_pool.h"

#include "base/mem.h"

enum { MAX_ENDPOINTS = 64, BACKOFF_FIRST_MS = 1000, BACKOFF_MAX_MS = 30000, RESOLVE_AGAIN_MS = 1000 };

static bool route_equal(const struct http_route *a, const struct http_route *b)
{
    if (a->tls != b->tls || a->proxy != b->proxy || a->plain_proxy != b->plain_proxy)
        return false;
    return a->plain_proxy || (a->port == b->port && strcmp(a->host, b->host) == 0);
}

static struct http_endpoint *add_endpoint(struct http_origin *o, const struct sockaddr_storage *address)
{
    struct http_endpoint *ep = MEM_NEW(struct http_endpoint), **at = &o->endpoints;
    ep->origin = o;
    if (address != NULL) {
        ep->has_address = true;
        ep->address = *address;
    }
    while (*at != NULL)
        at = &(*at)->next;
    *at = ep;
    return ep;
}

struct http_origin *http_origin_get(struct http_client *c, const struct http_route *route)
{
    for (struct http_origin *o = c->origins; o != NULL; o = o->next)
        if (route_equal(&o->route, route))
            return o;
    struct http_origin *o = MEM_NEW(struct http_origin);
    o->client = c;
    o->route = *route;
    o->waiting_tail = &o->waiting;
    o->next = c->origins;
    c->origins = o;
    return o;
}

static struct http_endpoint *find_endpoint(struct http_origin *o, const struct sockaddr_storage *address)
{
    struct http_endpoint *ep = o->endpoints;
    while (ep != NULL && memcmp(&ep->address, address, sizeof *address) != 0)
        ep = ep->next;
    return ep;
}

static void retire_removed(struct http_origin *o)
{
    for (struct http_endpoint *ep = o->endpoints; ep != NULL; ep = ep->next)
        if (ep->removed)
            for (struct http_channel *ch = ep->channels; ch != NULL; ch = ch->next)
                http_channel_retire(ch);
}

static void take_addresses(struct http_origin *o, const struct address_list *found)
{
    for (struct http_endpoint *ep = o->endpoints; ep != NULL; ep = ep->next)
        ep->removed = true;
    for (size_t i = 0; i < found->count && i < MAX_ENDPOINTS; i++) {
        struct http_endpoint *ep = find_endpoint(o, &found->items[i]);
        if (ep == NULL)
            ep = add_endpoint(o, &found->items[i]);
        ep->removed = false;
    }
    retire_removed(o);
    o->resolved = true;
    o->stale = false;
    o->failures = 0;
    o->resolved_ms = uv_now(o->client->loop);
}

uint64_t http_backoff_ms(unsigned failures)
{
    uint64_t ms = BACKOFF_FIRST_MS;
    for (unsigned i = 1; i < failures && ms < BACKOFF_MAX_MS; i++)
        ms = ms * 8 / 5;
    return ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS;
}

static void lookup_failed(struct http_origin *o, const struct err *e)
{
    o->failures++;
    o->retry_at_ms = uv_now(o->client->loop) + http_backoff_ms(o->failures);
    o->resolved_ms = uv_now(o->client->loop); // of the addresses that are known, the next interval begins
    for (struct http_call *call = o->waiting, *next; call != NULL && !o->resolved; call = next) {
        next = call->next;
        if (!call->attempt.request.wait_for_ready)
            http_call_fail(call, HTTP_CONNECT_FAILED, e);
    }
}

static void on_resolved(struct lookup *l, struct address_list *found, const struct err *e)
{
    struct http_origin *o = (struct http_origin *)((char *)l - offsetof(struct http_origin, lookup));
    struct http_client *c = o->client;
    o->looking_up = false;
    if (!c->closing && e != NULL)
        lookup_failed(o, e);
    else if (!c->closing)
        take_addresses(o, found);
    address_list_fini(found);
    if (c->closing)
        http_origin_clean(o);
    else
        http_pool_dispatch_all(c);
    http_client_unref(c);
}

static void look_up(struct http_origin *o)
{
    struct address_list known;
    struct err e = {0};
    if (address_list_known(o->route.host, o->route.port, &known)) {
        take_addresses(o, &known);
        address_list_fini(&known);
    } else if (lookup_start(&o->lookup, o->client->loop, o->route.host, o->route.port, on_resolved, &e) == ERR_OK) {
        o->looking_up = true;
        o->client->live++;
    } else {
        lookup_failed(o, &e);
    }
}

static bool is_time_to_look_up(const struct http_origin *o)
{
    uint64_t now = uv_now(o->client->loop), age = now - o->resolved_ms;
    if (o->looking_up)
        return false;
    if (!o->resolved) // a call that does not wait wants an answer now
        return o->urgent_count > 0 || (o->waiting != NULL && now >= o->retry_at_ms);
    return age >= (o->stale ? RESOLVE_AGAIN_MS : o->client->resolve_interval_ms);
}

struct http_endpoint *http_origin_endpoints(struct http_origin *o)
{
    bool by_address = o->client->round_robin && o->route.proxy == NULL;
    if (!by_address && o->endpoints == NULL)
        add_endpoint(o, NULL);
    if (by_address && is_time_to_look_up(o))
        look_up(o);
    return o->endpoints;
}

void http_origin_used(struct http_origin *o, struct http_endpoint *ep)
{
    struct http_endpoint **at = &o->endpoints;
    while (*at != ep)
        at = &(*at)->next;
    *at = ep->next;
    ep->next = NULL;
    while (*at != NULL)
        at = &(*at)->next;
    *at = ep;
}

void http_endpoint_failed(struct http_endpoint *ep)
{
    ep->failures++;
    ep->retry_at_ms = uv_now(ep->origin->client->loop) + http_backoff_ms(ep->failures);
}

static void free_endpoints(struct http_origin *o, bool removed_only)
{
    for (struct http_endpoint **at = &o->endpoints; *at != NULL;) {
        struct http_endpoint *ep = *at;
        if (ep->channels != NULL || (removed_only && !ep->removed)) {
            at = &ep->next;
            continue;
        }
        *at = ep->next;
        free(ep);
    }
}

void http_origin_clean(struct http_origin *o)
{
    bool used = o->waiting != NULL || o->looking_up;
    for (struct http_endpoint *ep = o->endpoints; ep != NULL; ep = ep->next)
        used = used || ep->channels != NULL;
    free_endpoints(o, used);
    if (used)
        return;
    struct http_origin **at = &o->client->origins;
    while (*at != o)
        at = &(*at)->next;
    *at = o->next;
    free(o);
}
