// SPDX-License-Identifier: Apache-2.0
#include "net/http_pool.h"

#include "base/mem.h"

enum { FULL_CHANNELS_MAX = 4 }; // HTTP/2 connections to one endpoint, when the peer takes few streams on each

static void dispatch(struct http_origin *o);

static void unlink_channel(struct http_channel *ch)
{
    struct http_channel **at = &ch->endpoint->channels;
    while (*at != ch)
        at = &(*at)->next;
    *at = ch->next;
}

static void to_front(struct http_channel *ch)
{
    unlink_channel(ch);
    ch->next = ch->endpoint->channels;
    ch->endpoint->channels = ch;
}

static void close_channel(struct http_channel *ch)
{
    unlink_channel(ch);
    ch->endpoint->origin->client->connection_count--;
    http_channel_close(ch);
}

bool http_pool_is_connecting(const struct http_origin *o)
{
    for (const struct http_endpoint *ep = o->endpoints; ep != NULL; ep = ep->next)
        for (const struct http_channel *ch = ep->channels; ch != NULL; ch = ch->next)
            if (!ch->ready)
                return true;
    return o->looking_up && !o->resolved;
}

// Some channel of the origin serves, or will: the waiting calls may hope.
static bool has_hope(const struct http_origin *o)
{
    for (const struct http_endpoint *ep = o->endpoints; ep != NULL; ep = ep->next)
        for (const struct http_channel *ch = ep->channels; ch != NULL; ch = ch->next)
            if (!ch->retired)
                return true;
    return false;
}

static bool speaks_http1(const struct http_origin *o)
{
    const struct http_client *c = o->client;
    return c->channel.protocol == HTTP_1 || (c->channel.protocol == HTTP_BY_ALPN && (!o->route.tls || o->speaks_http1));
}

static void on_ready(struct http_channel *ch)
{
    struct http_endpoint *ep = ch->endpoint;
    ep->origin->speaks_http1 = ch->protocol == &http1_channel;
    // the successor stands: the old ones may go
    for (struct http_channel *other = ep->channels; other != NULL && !http_channel_is_old(ch); other = other->next)
        if (other->ready && !other->retired && http_channel_is_old(other) && ch->protocol == &http2_channel)
            http_channel_retire(other);
    dispatch(ep->origin);
}

static void on_done(struct http_channel *ch, struct http_attempt *a, enum attempt_end end, const struct err *e)
{
    if (!ch->closing && (end == ATTEMPT_ANSWERED || end == ATTEMPT_BAD))
        ch->endpoint->failures = 0;
    http_call_ended((struct http_call *)a, end, e);
}

// A connection that does not come about fails those who waited for it: one call with HTTP/1.1, all with HTTP/2.
static void fail_waiting(struct http_origin *o, const struct err *e)
{
    if (speaks_http1(o)) {
        if (o->waiting != NULL)
            http_call_fail(o->waiting, HTTP_CONNECT_FAILED, e);
        return;
    }
    for (struct http_call *call = o->waiting, *next; call != NULL && !has_hope(o); call = next) {
        next = call->next;
        if (!call->attempt.request.wait_for_ready)
            http_call_fail(call, HTTP_CONNECT_FAILED, e);
    }
}

static void on_end(struct http_channel *ch, const struct err *e)
{
    struct http_endpoint *ep = ch->endpoint;
    struct http_origin *o = ep->origin;
    struct http_client *c = o->client;
    struct err useless = {0};
    if (e == NULL && !ch->served &&
        ch->protocol == &http2_channel) { // else a peer that ends each connection would keep us busy
        err_set(&useless, ERR_UNAVAILABLE, "%s ended the connection before it served", ch->peer);
        e = &useless;
    }
    if (ch->http2 != NULL && http2_client_calm_down(ch->http2))
        c->channel.ping_ms *= 2;
    close_channel(ch);
    o->stale = true;
    if (e != NULL) {
        http_endpoint_failed(ep);
        fail_waiting(o, e);
    }
    http_pool_dispatch_all(c); // others may have waited for a connection to be free
}

static void on_closed(void *owner)
{
    http_client_unref(owner);
}

static const struct http_channel_events channel_events = {
    .on_ready = on_ready,
    .on_done = on_done,
    .on_end = on_end,
    .on_closed = on_closed,
};

static void reload_tls(struct http_client *c)
{
    struct err e = {0};
    bool changed;
    enum err_code code = tls_context_reload(c->tls, &changed, &e);
    if ((changed || code != ERR_OK) && c->on_reload != NULL)
        c->on_reload(c->on_reload_arg, code != ERR_OK ? &e : NULL);
}

static void open_channel(struct http_endpoint *ep)
{
    struct http_client *c = ep->origin->client;
    const struct http_route *route = &ep->origin->route;
    struct http_channel_options options = c->channel;
    bool plain_proxy = route->plain_proxy;
    options.target.host = plain_proxy ? route->proxy->host : route->host;
    options.target.port = plain_proxy ? route->proxy->port : route->port;
    options.target.proxy = plain_proxy ? NULL : route->proxy;
    options.target.tls = route->tls ? c->tls : NULL;
    options.target.address = ep->has_address ? &ep->address : NULL;
    if (c->unix_address.ss_family == AF_UNIX)
        options.target.address = &c->unix_address;
    options.absolute_form = plain_proxy;
    options.proxy_authorization = plain_proxy ? route->proxy->authorization : NULL;
    if (route->tls)
        reload_tls(c);
    struct http_channel *ch = http_channel_open(c->loop, &options, &channel_events, c);
    ch->endpoint = ep;
    ch->next = ep->channels;
    ep->channels = ch;
    c->connection_count++;
    c->live++;
}

static struct http_channel *longest_idle(struct http_client *c, uint32_t *count_out)
{
    struct http_channel *found = NULL;
    *count_out = 0;
    for (struct http_origin *o = c->origins; o != NULL; o = o->next)
        for (struct http_endpoint *ep = o->endpoints; ep != NULL; ep = ep->next)
            for (struct http_channel *ch = ep->channels; ch != NULL; ch = ch->next) {
                if (!http_channel_is_idle(ch))
                    continue;
                ++*count_out;
                if (found == NULL || ch->idle_since_ms <= found->idle_since_ms)
                    found = ch;
            }
    return found;
}

// false: all connections are in use.
static bool try_open(struct http_endpoint *ep)
{
    struct http_client *c = ep->origin->client;
    uint32_t idle;
    struct http_channel *victim = c->connection_count >= c->max_connections ? longest_idle(c, &idle) : NULL;
    if (victim != NULL)
        close_channel(victim);
    if (c->connection_count >= c->max_connections)
        return false;
    open_channel(ep);
    return true;
}

static void keep_few_idle(struct http_client *c)
{
    uint32_t idle;
    struct http_channel *victim;
    while (c->max_idle > 0 && (victim = longest_idle(c, &idle)) != NULL && idle > c->max_idle)
        close_channel(victim);
}

struct channel_counts {
    size_t all, connecting, fresh; // fresh: usable, or will be, and not old
};

static struct channel_counts count_channels(const struct http_endpoint *ep)
{
    struct channel_counts n = {0};
    for (const struct http_channel *ch = ep->channels; ch != NULL; ch = ch->next) {
        if (ch->retired)
            continue;
        n.all++;
        n.connecting += !ch->ready;
        n.fresh += !ch->ready || !http_channel_is_old(ch);
    }
    return n;
}

static void open_for_http1(struct http_endpoint *ep)
{
    struct http_origin *o = ep->origin;
    for (size_t n = count_channels(ep).connecting; n < o->waiting_count; n++)
        if (!try_open(ep))
            return;
}

// One connection to each endpoint; more only when the peer takes too few streams on one.
static void open_for_http2(struct http_endpoint *ep, bool hope)
{
    struct http_origin *o = ep->origin;
    struct channel_counts n = count_channels(ep);
    bool urgent = !hope && o->urgent_count > 0;
    bool may = urgent || uv_now(o->client->loop) >= ep->retry_at_ms;
    bool want_more = o->waiting != NULL && n.connecting == 0 && n.all < FULL_CHANNELS_MAX;
    if (may && (n.fresh == 0 || want_more))
        try_open(ep);
}

static void open_needed(struct http_origin *o)
{
    bool hope = has_hope(o);
    for (struct http_endpoint *ep = o->endpoints; ep != NULL; ep = ep->next) {
        if (ep->removed)
            continue;
        if (speaks_http1(o))
            open_for_http1(ep);
        else
            open_for_http2(ep, hope);
    }
}

// A kept connection of HTTP/1.1 that its peer has closed in the meantime: what would be sent on it is lost, or worse.
static bool is_stale(const struct http_channel *ch, const struct http_call *call)
{
    return ch->served && ch->protocol == &http1_channel && (call->want_new || !connection_is_quiet(ch->connection));
}

static struct http_channel *pick_channel(const struct http_endpoint *ep, const struct http_call *call)
{
    struct http_channel *old = NULL;
    for (struct http_channel *ch = ep->channels; ch != NULL; ch = ch->next) {
        if (http_channel_room(ch) == 0 || is_stale(ch, call))
            continue;
        if (!http_channel_is_old(ch))
            return ch;
        old = ch;
    }
    return old;
}

static struct http_channel *pick(const struct http_origin *o, const struct http_call *call)
{
    for (const struct http_endpoint *ep = o->endpoints; ep != NULL; ep = ep->next) {
        struct http_channel *ch = ep->removed ? NULL : pick_channel(ep, call);
        if (ch != NULL)
            return ch;
    }
    return NULL;
}

// Calls that wait for ready, with nothing on the way: wakes at the next try.
static void wake_at_next_try(struct http_origin *o)
{
    struct http_client *c = o->client;
    uint64_t now = uv_now(c->loop), due = o->resolved || o->endpoints != NULL ? UINT64_MAX : o->retry_at_ms;
    for (const struct http_endpoint *ep = o->endpoints; ep != NULL; ep = ep->next)
        if (!ep->removed && ep->retry_at_ms < due)
            due = ep->retry_at_ms;
    uint64_t wait = due > now ? due - now : 1;
    if (!uv_is_active((uv_handle_t *)&c->keeper) || uv_timer_get_due_in(&c->keeper) > wait)
        uv_timer_start(&c->keeper, c->keeper.timer_cb, wait, 0);
}

static void dispatch(struct http_origin *o)
{
    if (o->client->closing)
        return;
    bool asked = o->waiting != NULL; // else connections that nobody needs stay away
    http_origin_endpoints(o);
    for (struct http_call *call; (call = o->waiting) != NULL;) {
        struct http_channel *ch = pick(o, call);
        if (ch == NULL)
            break;
        http_pool_remove(call);
        to_front(ch);
        http_origin_used(o, ch->endpoint);
        http_channel_start(ch, &call->attempt);
    }
    if (asked)
        open_needed(o);
    keep_few_idle(o->client);
    if (o->waiting != NULL && !has_hope(o) && !o->looking_up)
        wake_at_next_try(o);
}

void http_pool_dispatch_all(struct http_client *c)
{
    for (struct http_origin *o = c->origins, *next; o != NULL; o = next) {
        next = o->next;
        dispatch(o);
        http_origin_clean(o);
    }
}

void http_pool_add(struct http_client *c, const struct http_route *route, struct http_call *call, bool first)
{
    struct http_origin *o = call->origin = http_origin_get(c, route);
    struct http_call **at = first ? &o->waiting : o->waiting_tail;
    call->next = *at;
    *at = call;
    if (call->next == NULL)
        o->waiting_tail = &call->next;
    o->waiting_count++;
    o->urgent_count += !call->attempt.request.wait_for_ready;
    dispatch(o);
}

void http_pool_remove(struct http_call *call)
{
    struct http_origin *o = call->origin;
    if (o == NULL)
        return;
    struct http_call **at = &o->waiting;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    if (call->next == NULL)
        o->waiting_tail = at;
    call->next = NULL;
    call->origin = NULL;
    o->waiting_count--;
    o->urgent_count -= !call->attempt.request.wait_for_ready;
}

void http_pool_close(struct http_client *c)
{
    for (struct http_origin *o = c->origins, *next; o != NULL; o = next) {
        next = o->next;
        for (struct http_endpoint *ep = o->endpoints; ep != NULL; ep = ep->next)
            while (ep->channels != NULL)
                close_channel(ep->channels);
        if (o->looking_up)
            lookup_cancel(&o->lookup);
        http_origin_clean(o);
    }
}
