// SPDX-License-Identifier: Apache-2.0
// Inside of net/http_client.h: where calls wait, and the connections that serve them.
//
// client -> origins (where a URL leads) -> endpoints (one; with round_robin one per address) -> channels.
// Calls wait in their origin, in order.
#ifndef NET_HTTP_POOL_H
#define NET_HTTP_POOL_H

#include "net/http_channel.h"
#include "net/lookup.h"

struct http_origin;

// Where a connection leads; calls with equal routes may share one.
struct http_route {
    bool tls;
    const struct proxy *proxy;
    bool plain_proxy; // requests are the proxy's to pass on; else through a tunnel
    char host[URL_HOST_MAX + 1];
    uint16_t port;
};

struct http_call {
    struct http_attempt attempt; // first
    struct http_client *client;
    struct http_origin *origin; // while it waits there
    struct http_call *next;
    struct http_call *next_of_all, **link; // the client's
    struct http_route route;
    uv_timer_t timer;
    bool cancelled, done, want_new;
    bool streamed; // something of an answer was given out
    bool failed;   // outcome and error are known; the timer is about to say so
    unsigned resends;
    int64_t timeout_nanos;
    uint64_t deadline_ms, heard_ms, idle_ms; // heard: of an answer that is streamed; idle_ms 0 = any time
    enum http_outcome outcome;
    bool may_have_been_processed;
    struct err error;
    void (*on_done)(void *arg, const struct http_response *response);
    void *arg;
};

struct http_endpoint {
    struct http_endpoint *next;
    struct http_origin *origin;
    bool has_address; // else the connection resolves the name
    bool removed;     // the name does not lead there any more
    struct sockaddr_storage address;
    struct http_channel *channels; // most recently used first
    unsigned failures;             // connects in a row
    uint64_t retry_at_ms;
};

struct http_origin {
    struct http_origin *next;
    struct http_client *client;
    struct http_route route;
    struct http_call *waiting, **waiting_tail;
    size_t waiting_count, urgent_count; // urgent: do not wait for ready
    struct http_endpoint *endpoints;    // the next to be used first
    struct lookup lookup;
    bool looking_up, resolved, stale;
    bool speaks_http1; // chosen by ALPN
    uint64_t resolved_ms;
    unsigned failures; // look-ups in a row
    uint64_t retry_at_ms;
};

struct http_client {
    uv_loop_t *loop;
    struct http_channel_options channel; // what all have in common
    uint32_t max_connections, max_idle, connection_count;
    bool round_robin;
    struct sockaddr_storage unix_address; // ss_family 0 = TCP
    uint64_t resolve_interval_ms;
    char *user_agent;
    struct proxy_rules proxies;
    struct tls_context *tls;
    void (*on_reload)(void *arg, const struct err *e);
    void *on_reload_arg;
    struct http_call *calls;
    struct http_origin *origins;
    uint32_t live;     // calls, channels, look-ups and the keeper whose memory is still in use
    uv_timer_t keeper; // wakes what waits for its next try; its close makes on_closed come from the loop
    bool closing;
    void (*on_closed)(void *arg);
    void *on_closed_arg;
};

// http_client.c
void http_client_unref(struct http_client *c);
void http_call_ended(struct http_call *call, enum attempt_end end, const struct err *e);
void http_call_fail(struct http_call *call, enum http_outcome outcome, const struct err *e); // reported from the loop

// http_pool.c. The first for calls that are sent again: they keep their place before those that came later.
void http_pool_add(struct http_client *c, const struct http_route *route, struct http_call *call, bool first);
void http_pool_remove(struct http_call *call);
void http_pool_dispatch_all(struct http_client *c);
bool http_pool_is_connecting(const struct http_origin *o);
void http_pool_close(struct http_client *c); // after every call was cancelled

// http_origin.c
struct http_origin *http_origin_get(struct http_client *c, const struct http_route *route);
// The endpoints to use; starts a look-up when it is time for one. NULL = not known yet.
struct http_endpoint *http_origin_endpoints(struct http_origin *o);
void http_origin_used(struct http_origin *o, struct http_endpoint *ep); // to the end of the round
void http_endpoint_failed(struct http_endpoint *ep);
uint64_t http_backoff_ms(unsigned failures);
void http_origin_clean(struct http_origin *o); // frees what nobody needs any more, perhaps o itself

#endif
