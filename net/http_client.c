// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/connection.h"
#include "net/http1_client.h"
#include "net/sigpipe.h"

enum {
    DEFAULT_CONNECTIONS = 100,
    DEFAULT_IDLE_SECONDS = 90,
    DEFAULT_CONNECT_SECONDS = 10,
    DEFAULT_TIMEOUT_SECONDS = 30,
    HEAD_MAX_BYTES = 1 << 20,
};

// Where a connection leads; two calls with equal routes may share one.
struct route {
    bool tls;
    const struct proxy *proxy;
    char host[URL_HOST_MAX + 1];
    uint16_t port;
};

// A pooled connection and the call it serves now.
struct channel {
    struct http_client *client;
    struct channel *next;
    struct connection *connection;
    struct route route;
    struct http_call *call; // NULL = idle
    bool open, reused, written;
};

struct http_call {
    struct http_client *client;
    struct http_call *next; // in the queue
    struct channel *channel;
    uv_timer_t timer;
    struct route route;
    struct buf head;
    struct bytes body;
    bool no_body, cancelled, resent, want_new, done;
    int64_t timeout_nanos;
    size_t max_response_bytes;
    struct http1_response response; // while it has a channel
    struct err error;
    void (*on_done)(void *arg, const struct http_response *response);
    void *arg;
};

struct http_client {
    uv_loop_t *loop;
    uint32_t max_connections, connection_count;
    uint64_t idle_ms, connect_ms;
    char *user_agent;
    struct proxy_rules proxies;
    struct tls_context *tls;
    struct http_call *waiting, **waiting_tail;
    struct channel *channels; // most recently used first
    uint32_t live;            // calls, channels and the keeper whose memory is still in use
    uv_timer_t keeper;        // its close callback makes on_closed come from the loop
    bool closing;
    void (*on_closed)(void *arg);
    void *on_closed_arg;
};

static void dispatch(struct http_client *c);

static uint64_t to_ms(int64_t nanos, uint64_t default_seconds)
{
    return nanos > 0 ? ((uint64_t)nanos + NANOS_PER_MS - 1) / NANOS_PER_MS : default_seconds * 1000;
}

static void client_free(struct http_client *c)
{
    proxy_rules_fini(&c->proxies);
    tls_context_destroy(&c->tls);
    free(c->user_agent);
    free(c);
}

static void client_unref(struct http_client *c)
{
    if (--c->live > 0)
        return;
    void (*on_closed)(void *) = c->on_closed;
    void *arg = c->on_closed_arg;
    client_free(c);
    if (on_closed != NULL)
        on_closed(arg);
}

static void unlink_waiting(struct http_client *c, struct http_call *call)
{
    struct http_call **at = &c->waiting;
    while (*at != NULL && *at != call)
        at = &(*at)->next;
    if (*at == NULL)
        return;
    *at = call->next;
    if (call->next == NULL)
        c->waiting_tail = at;
    call->next = NULL;
}

// first: a resend keeps its place before those that came later.
static void enqueue(struct http_client *c, struct http_call *call, bool first)
{
    if (first) {
        call->next = c->waiting;
        c->waiting = call;
        if (call->next == NULL)
            c->waiting_tail = &call->next;
        return;
    }
    *c->waiting_tail = call;
    c->waiting_tail = &call->next;
}

static void channel_unlink(struct channel *ch)
{
    struct channel **at = &ch->client->channels;
    while (*at != ch)
        at = &(*at)->next;
    *at = ch->next;
}

static void channel_to_front(struct channel *ch)
{
    channel_unlink(ch);
    ch->next = ch->client->channels;
    ch->client->channels = ch;
}

static void channel_close(struct channel *ch)
{
    channel_unlink(ch);
    ch->client->connection_count--;
    connection_close(ch->connection);
}

// Takes the call off its connection, which goes back to the pool or away.
static void release_channel(struct http_call *call, bool reusable)
{
    struct channel *ch = call->channel;
    if (ch == NULL)
        return;
    call->channel = NULL;
    ch->call = NULL;
    if (!reusable) {
        channel_close(ch);
        return;
    }
    ch->reused = true;
    connection_expire_after(ch->connection, call->client->idle_ms);
}

static void on_call_closed(uv_handle_t *timer)
{
    struct http_call *call = timer->data;
    struct http_client *c = call->client;
    http1_response_fini(&call->response);
    buf_fini(&call->head);
    free(call);
    client_unref(c);
}

static void finish(struct http_call *call, bool reusable, const struct http_response *response)
{
    struct http_client *c = call->client;
    struct http_response cancelled = {.outcome = HTTP_CANCELLED, .error = "the call was cancelled"};
    release_channel(call, reusable);
    unlink_waiting(c, call);
    call->done = true;
    uv_close((uv_handle_t *)&call->timer, on_call_closed);
    call->on_done(call->arg, call->cancelled ? &cancelled : response);
    dispatch(c);
}

static void fail(struct http_call *call, enum http_outcome outcome)
{
    struct http_response response = {
        .outcome = outcome, .status = http1_response_status(&call->response), .error = call->error.text};
    finish(call, false, &response);
}

static void resend(struct http_call *call)
{
    release_channel(call, false);
    http1_response_fini(&call->response);
    call->resent = call->want_new = true;
    enqueue(call->client, call, true);
    dispatch(call->client);
}

static void answered(struct http_call *call)
{
    struct http_response response;
    http1_response_view(&call->response, &response);
    finish(call, call->response.keep_alive && call->channel->written, &response);
}

static void bad_response(struct http_call *call)
{
    char where[URL_AUTHORITY_MAX];
    call->error = call->response.error;
    err_prefix(&call->error, "%s", authority_format(call->route.host, call->route.port, where));
    fail(call, HTTP_BAD_RESPONSE);
}

static void start_request(struct channel *ch)
{
    struct http_call *call = ch->call;
    http1_response_init(&call->response, call->no_body, call->max_response_bytes);
    ch->written = false;
    connection_expire_after(ch->connection, 0);
    connection_write(ch->connection, buf_bytes(&call->head), call->body);
}

static void on_open(void *owner)
{
    struct channel *ch = owner;
    ch->open = true;
    start_request(ch);
}

static void on_data(void *owner, struct bytes data)
{
    struct channel *ch = owner;
    if (ch->call == NULL) {
        channel_close(ch); // a peer that speaks out of turn
        return;
    }
    enum http1_state state = http1_response_feed(&ch->call->response, data);
    if (state == HTTP1_COMPLETE)
        answered(ch->call);
    else if (state == HTTP1_FAILED)
        bad_response(ch->call);
}

static void on_written(void *owner)
{
    struct channel *ch = owner;
    ch->written = true;
}

static void lost(struct http_call *call, const struct err *e)
{
    char where[URL_AUTHORITY_MAX];
    if (call->channel->reused && !call->resent && !call->response.any_byte && !call->cancelled) {
        resend(call);
        return;
    }
    if (e == NULL && http1_response_end(&call->response) == HTTP1_COMPLETE) {
        answered(call);
        return;
    }
    if (e != NULL)
        err_set(&call->error, ERR_IO, "%s before the response was complete", e->text);
    else
        err_set(&call->error, ERR_IO, "%s: connection closed before the response was complete",
                authority_format(call->route.host, call->route.port, where));
    fail(call, HTTP_LOST);
}

static void on_end(void *owner, const struct err *e)
{
    struct channel *ch = owner;
    struct http_call *call = ch->call;
    if (call == NULL) {
        channel_close(ch);
    } else if (!ch->open) {
        call->error = *e;
        fail(call, HTTP_CONNECT_FAILED);
    } else {
        lost(call, e);
    }
}

static void on_connection_closed(void *owner)
{
    struct channel *ch = owner;
    struct http_client *c = ch->client;
    free(ch);
    client_unref(c);
}

static const struct connection_events channel_events = {
    .on_open = on_open,
    .on_data = on_data,
    .on_written = on_written,
    .on_end = on_end,
    .on_closed = on_connection_closed,
};

static bool route_equal(const struct route *a, const struct route *b)
{
    if (a->tls != b->tls || a->proxy != b->proxy)
        return false;
    return (a->proxy != NULL && !a->tls) || (a->port == b->port && strcmp(a->host, b->host) == 0);
}

static struct channel *find_idle(struct http_client *c, const struct route *route)
{
    for (struct channel *ch = c->channels; ch != NULL; ch = ch->next)
        if (ch->call == NULL && (route == NULL || route_equal(&ch->route, route)))
            return ch;
    return NULL;
}

static void open_channel(struct http_client *c, struct http_call *call)
{
    struct channel *ch = MEM_NEW(struct channel);
    const struct route *route = &call->route;
    bool plain_proxy = route->proxy != NULL && !route->tls;
    struct connection_target target = {
        .host = plain_proxy ? route->proxy->host : route->host,
        .port = plain_proxy ? route->proxy->port : route->port,
        .proxy = plain_proxy ? NULL : route->proxy,
        .tls = route->tls ? c->tls : NULL,
        .alpn = "http/1.1",
        .connect_timeout_ms = c->connect_ms,
    };
    ch->client = c;
    ch->route = *route;
    ch->call = call;
    call->channel = ch;
    ch->next = c->channels;
    c->channels = ch;
    c->connection_count++;
    c->live++;
    ch->connection = connection_create(c->loop, &target, &channel_events, ch);
}

// Gives the first waiting call a connection; false when it must wait.
static bool serve(struct http_client *c, struct http_call *call)
{
    struct channel *ch = call->want_new ? NULL : find_idle(c, &call->route);
    if (ch == NULL && c->connection_count >= c->max_connections) {
        struct channel *other = find_idle(c, NULL);
        if (other == NULL)
            return false;
        channel_close(other);
    }
    unlink_waiting(c, call);
    if (ch == NULL) {
        open_channel(c, call);
        return true;
    }
    ch->call = call;
    call->channel = ch;
    channel_to_front(ch);
    start_request(ch);
    return true;
}

static void dispatch(struct http_client *c)
{
    while (!c->closing && c->waiting != NULL && serve(c, c->waiting))
        ;
}

static void timed_out(struct http_call *call)
{
    char where[URL_AUTHORITY_MAX];
    double seconds = (double)call->timeout_nanos / (double)NANOS_PER_SECOND;
    authority_format(call->route.host, call->route.port, where);
    if (call->channel == NULL)
        err_set(&call->error, ERR_UNAVAILABLE, "%s: no connection was free within %gs (all %u are in use)", where,
                seconds, call->client->max_connections);
    else if (!call->channel->open)
        err_set(&call->error, ERR_UNAVAILABLE, "connect to %s: not connected within %gs", where, seconds);
    else
        err_set(&call->error, ERR_UNAVAILABLE, "%s: no complete response within %gs", where, seconds);
    fail(call, HTTP_TIMED_OUT);
}

static void on_call_timer(uv_timer_t *timer)
{
    struct http_call *call = timer->data;
    if (call->error.code != ERR_OK)
        fail(call, HTTP_CONNECT_FAILED);
    else
        timed_out(call);
}

static void write_head(struct http_call *call, const struct url *url, const struct http_request *request)
{
    const struct proxy *proxy = call->route.proxy;
    struct http1_request_line line = {.url = url, .user_agent = call->client->user_agent};
    if (proxy != NULL && !url->tls) {
        line.absolute_form = true;
        line.proxy_authorization = proxy->authorization;
    }
    buf_init(&call->head, HEAD_MAX_BYTES);
    http1_request_write(&call->head, &line, request);
    if (call->head.too_large)
        err_set(&call->error, ERR_LIMIT, "the request's headers are larger than %d bytes", HEAD_MAX_BYTES);
    else if (!buf_ok(&call->head))
        err_set(&call->error, ERR_MEMORY, "out of memory");
}

static struct http_call *call_create(struct http_client *c, const struct http_request *request)
{
    struct http_call *call = MEM_NEW(struct http_call);
    struct url url;
    CHECK(url_parse(request->url, &url, NULL) == ERR_OK && url.user_info.data == NULL);
    for (size_t i = 0; i < request->header_count; i++)
        CHECK(http_header_valid(request->headers[i].name, request->headers[i].value));
    call->client = c;
    call->route.tls = url.tls;
    call->route.port = url.port;
    call->route.proxy = proxy_rules_choose(&c->proxies, &url);
    memcpy(call->route.host, url.host.data, url.host.len);
    call->body = request->body;
    call->no_body = strcmp(request->method, "HEAD") == 0;
    call->timeout_nanos =
        request->timeout_nanos > 0 ? request->timeout_nanos : DEFAULT_TIMEOUT_SECONDS * NANOS_PER_SECOND;
    call->max_response_bytes = request->max_response_bytes ? request->max_response_bytes : LIMIT_HTTP_RESPONSE_BYTES;
    write_head(call, &url, request);
    return call;
}

struct http_call *http_client_send(struct http_client *c, const struct http_request *request,
                                   void (*on_done)(void *arg, const struct http_response *response), void *arg)
{
    CHECK(!c->closing);
    struct http_call *call = call_create(c, request);
    call->on_done = on_done;
    call->arg = arg;
    c->live++;
    uv_update_time(c->loop);
    CHECK(uv_timer_init(c->loop, &call->timer) == 0);
    call->timer.data = call;
    bool refused = call->error.code != ERR_OK;
    uv_timer_start(&call->timer, on_call_timer, refused ? 0 : to_ms(call->timeout_nanos, 0), 0);
    if (!refused) {
        enqueue(c, call, false);
        dispatch(c);
    }
    return call;
}

void http_call_cancel(struct http_call *call)
{
    if (call->cancelled || call->done)
        return;
    call->cancelled = true;
    unlink_waiting(call->client, call);
    release_channel(call, false);
    uv_timer_start(&call->timer, on_call_timer, 0, 0);
}

static void on_keeper_closed(uv_handle_t *keeper)
{
    client_unref(keeper->data);
}

void http_client_close(struct http_client **client, void (*on_closed)(void *arg), void *arg)
{
    struct http_client *c = *client;
    if (c == NULL)
        return;
    *client = NULL;
    c->closing = true;
    c->on_closed = on_closed;
    c->on_closed_arg = arg;
    while (c->waiting != NULL)
        http_call_cancel(c->waiting);
    while (c->channels != NULL) {
        struct channel *ch = c->channels;
        if (ch->call != NULL)
            http_call_cancel(ch->call);
        else
            channel_close(ch);
    }
    uv_close((uv_handle_t *)&c->keeper, on_keeper_closed);
}

static bool names_files(const struct tls_client_options *tls)
{
    return tls->ca_file || tls->ca_pem || tls->cert_file || tls->key_file;
}

static void client_configure(struct http_client *c, const struct http_client_options *options)
{
    c->max_connections = options->max_connections ? options->max_connections : DEFAULT_CONNECTIONS;
    c->idle_ms = to_ms(options->idle_timeout_nanos, DEFAULT_IDLE_SECONDS);
    c->connect_ms = to_ms(options->connect_timeout_nanos, DEFAULT_CONNECT_SECONDS);
    c->user_agent = mem_copy_text(options->user_agent ? options->user_agent : "profrelay/" PROFRELAY_VERSION);
    CHECK(http_header_valid("User-Agent", c->user_agent));
    c->tls = tls_context_create(&options->tls);
    c->waiting_tail = &c->waiting;
}

enum err_code http_client_create(uv_loop_t *loop, const struct http_client_options *options, struct http_client **out,
                                 struct err *e)
{
    *out = NULL;
    sigpipe_ignore();
    struct http_client *c = MEM_NEW(struct http_client);
    client_configure(c, options);
    enum err_code code = proxy_rules_init(&c->proxies, options->proxy_url, e);
    if (code == ERR_OK && names_files(&options->tls))
        code = tls_context_prepare(c->tls, e);
    if (code != ERR_OK) {
        client_free(c);
        return code;
    }
    c->loop = loop;
    c->live = 1;
    CHECK(uv_timer_init(loop, &c->keeper) == 0);
    c->keeper.data = c;
    *out = c;
    return ERR_OK;
}
