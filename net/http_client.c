// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.h"

#include "base/clock.h"
#include "base/mem.h"
#include "net/http_pool.h"
#include "net/sigpipe.h"

#include <sys/un.h>

enum {
    DEFAULT_CONNECTIONS = 100,
    DEFAULT_IDLE_SECONDS = 90,
    DEFAULT_CONNECT_SECONDS = 10,
    DEFAULT_TIMEOUT_SECONDS = 30,
    DEFAULT_AGE_SECONDS = 300,
    DEFAULT_RESOLVE_SECONDS = 30,
    DEFAULT_PING_TIMEOUT_SECONDS = 20,
    HEAD_MAX_BYTES = 1 << 20,
    REFUSED_RESENDS = 1,
    UNTOUCHED_RESENDS = 5, // a peer that is replaced may have others before it that go away, too
};

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

void http_client_unref(struct http_client *c)
{
    if (--c->live > 0)
        return;
    void (*on_closed)(void *) = c->on_closed;
    void *arg = c->on_closed_arg;
    client_free(c);
    if (on_closed != NULL)
        on_closed(arg);
}

static void on_call_closed(uv_handle_t *timer)
{
    struct http_call *call = timer->data;
    struct http_client *c = call->client;
    *call->link = call->next_of_all;
    if (call->next_of_all != NULL)
        call->next_of_all->link = call->link;
    http_attempt_fini(&call->attempt);
    free(call);
    http_client_unref(c);
}

static void finish(struct http_call *call, struct http_response *response)
{
    struct http_response cancelled = {.outcome = HTTP_CANCELLED,
                                      .error = "the call was cancelled",
                                      .error_code = ERR_CANCELLED,
                                      .may_have_been_processed = response->may_have_been_processed,
                                      .reset_code = HTTP2_NO_RESET};
    call->done = true;
    uv_close((uv_handle_t *)&call->timer, on_call_closed);
    call->on_done(call->arg, call->cancelled ? &cancelled : response);
}

static void report_failure(struct http_call *call, enum http_outcome outcome)
{
    struct http_response response = {.outcome = outcome,
                                     .status = http_attempt_status(&call->attempt),
                                     .error = call->error.text,
                                     .error_code = call->error.code,
                                     .may_have_been_processed = call->may_have_been_processed,
                                     .reset_code = HTTP2_NO_RESET};
    if (call->attempt.spoken == HTTP_2 && outcome == HTTP_LOST)
        response.reset_code = call->attempt.h2.reset_code;
    finish(call, &response);
}

static void resend(struct http_call *call)
{
    call->resends++;
    call->want_new = true;
    http_attempt_reset(&call->attempt, call->attempt.spoken);
    http_pool_add(call->client, &call->route, call, true);
}

static void answered(struct http_call *call)
{
    struct http_response response;
    http_attempt_view(&call->attempt, &response);
    response.may_have_been_processed = true;
    response.reset_code = HTTP2_NO_RESET;
    finish(call, &response);
}

static bool may_resend(const struct http_call *call, enum attempt_end end)
{
    if (call->cancelled || call->streamed || call->client->closing)
        return false;
    return end == ATTEMPT_STALE || (end == ATTEMPT_REFUSED && call->resends < REFUSED_RESENDS) ||
           (end == ATTEMPT_UNTOUCHED && call->resends < UNTOUCHED_RESENDS);
}

void http_call_ended(struct http_call *call, enum attempt_end end, const struct err *e)
{
    static const enum http_outcome outcomes[] = {
        [ATTEMPT_ANSWERED] = HTTP_ANSWERED,
        [ATTEMPT_BAD] = HTTP_BAD_RESPONSE,
        [ATTEMPT_LOST] = HTTP_LOST,
        [ATTEMPT_STALE] = HTTP_LOST,
        [ATTEMPT_REFUSED] = HTTP_LOST,
        [ATTEMPT_UNTOUCHED] = HTTP_LOST,
        [ATTEMPT_UNWRITABLE] = HTTP_CONNECT_FAILED,
    };
    if (may_resend(call, end)) {
        resend(call);
    } else if (end == ATTEMPT_ANSWERED) {
        answered(call);
    } else {
        call->error = *e;
        call->may_have_been_processed = end == ATTEMPT_BAD || end == ATTEMPT_LOST || end == ATTEMPT_STALE;
        report_failure(call, outcomes[end]);
    }
}

void http_call_fail(struct http_call *call, enum http_outcome outcome, const struct err *e)
{
    http_pool_remove(call);
    call->failed = true;
    call->outcome = outcome;
    if (e != NULL)
        call->error = *e;
    uv_timer_start(&call->timer, call->timer.timer_cb, 0, 0);
}

static bool is_idle(const struct http_call *call)
{
    return call->idle_ms > 0 && uv_now(call->client->loop) < call->deadline_ms;
}

static void timed_out(struct http_call *call)
{
    char where[URL_AUTHORITY_MAX];
    double seconds = (double)call->timeout_nanos / (double)NANOS_PER_SECOND;
    authority_format(call->route.host, call->route.port, where);
    call->may_have_been_processed = call->attempt.channel != NULL;
    if (call->attempt.channel != NULL && is_idle(call))
        err_set(&call->error, ERR_UNAVAILABLE, "%s: nothing of the response came for %gs", where,
                (double)call->idle_ms / 1e3);
    else if (call->attempt.channel != NULL)
        err_set(&call->error, ERR_UNAVAILABLE, "%s: no complete response within %gs", where, seconds);
    else if (call->origin != NULL && http_pool_is_connecting(call->origin))
        err_set(&call->error, ERR_UNAVAILABLE, "connect to %s: not connected within %gs", where, seconds);
    else
        err_set(&call->error, ERR_UNAVAILABLE, "%s: no connection was free within %gs (all %u are in use)", where,
                seconds, call->client->connection_count);
    http_pool_remove(call);
    http_channel_abandon(&call->attempt);
    report_failure(call, HTTP_TIMED_OUT);
}

static void on_call_timer(uv_timer_t *timer);

static bool wait_more(struct http_call *call)
{
    uint64_t now = uv_now(call->client->loop), due = call->deadline_ms;
    if (call->idle_ms > 0 && call->heard_ms + call->idle_ms < due)
        due = call->heard_ms + call->idle_ms;
    if (due > now)
        uv_timer_start(&call->timer, on_call_timer, due - now, 0);
    return due > now;
}

static void on_call_timer(uv_timer_t *timer)
{
    struct http_call *call = timer->data;
    if (call->failed)
        report_failure(call, call->outcome);
    else if (!wait_more(call))
        timed_out(call);
}

static bool on_piece(void *arg, struct bytes data)
{
    struct http_call *call = arg;
    const struct http_request *request = &call->attempt.request;
    struct http_response head;
    http_attempt_view(&call->attempt, &head);
    call->streamed = true;
    call->heard_ms = uv_now(call->client->loop);
    call->cancelled = !request->on_body(request->on_body_arg, &head, data);
    return !call->cancelled;
}

static void choose_route(struct http_call *call)
{
    struct http_client *c = call->client;
    struct url url = call->attempt.url;
    call->route.tls = url.tls;
    call->route.port = url.port;
    memcpy(call->route.host, url.host.data, url.host.len);
    // through a tunnel whatever the scheme, as gRPC's clients do: theirs is the https proxy
    url.tls = url.tls || c->channel.protocol == HTTP_2;
    if (c->unix_address.ss_family != AF_UNIX)
        call->route.proxy = proxy_rules_choose(&c->proxies, &url);
    call->route.plain_proxy = call->route.proxy != NULL && !url.tls;
}

static struct http_call *call_create(struct http_client *c, const struct http_request *request)
{
    struct http_call *call = MEM_NEW(struct http_call);
    call->client = c;
    http_attempt_init(&call->attempt, request);
    choose_route(call);
    call->timeout_nanos =
        request->timeout_nanos > 0 ? request->timeout_nanos : DEFAULT_TIMEOUT_SECONDS * NANOS_PER_SECOND;
    call->next_of_all = c->calls;
    call->link = &c->calls;
    if (c->calls != NULL)
        c->calls->link = &call->next_of_all;
    c->calls = call;
    c->live++;
    uv_update_time(c->loop);
    CHECK(uv_timer_init(c->loop, &call->timer) == 0);
    call->timer.data = call;
    call->heard_ms = uv_now(c->loop);
    call->deadline_ms = call->heard_ms + to_ms(call->timeout_nanos, 0);
    call->idle_ms = to_ms(request->idle_timeout_nanos, 0);
    if (request->on_body != NULL)
        call->attempt.sink = (struct http_sink){on_piece, call};
    if (!wait_more(call))
        uv_timer_start(&call->timer, on_call_timer, 0, 0);
    return call;
}

struct http_call *http_client_send(struct http_client *c, const struct http_request *request,
                                   void (*on_done)(void *arg, const struct http_response *response), void *arg)
{
    CHECK(!c->closing);
    struct http_call *call = call_create(c, request);
    struct err e = {0};
    call->on_done = on_done;
    call->arg = arg;
    if (http_attempt_head_bytes(&call->attempt) > HEAD_MAX_BYTES) {
        err_set(&e, ERR_LIMIT, "the request's headers are larger than %d bytes", HEAD_MAX_BYTES);
        http_call_fail(call, HTTP_CONNECT_FAILED, &e);
    } else {
        http_pool_add(c, &call->route, call, false);
    }
    return call;
}

void http_call_cancel(struct http_call *call)
{
    if (call->done || (call->cancelled && call->failed)) // one that its consumer stopped is still with its channel
        return;
    call->cancelled = true;
    call->may_have_been_processed = call->attempt.channel != NULL;
    http_channel_abandon(&call->attempt);
    http_call_fail(call, HTTP_CANCELLED, NULL);
}

static void on_keeper(uv_timer_t *keeper)
{
    http_pool_dispatch_all(keeper->data);
}

static void on_keeper_closed(uv_handle_t *keeper)
{
    http_client_unref(keeper->data);
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
    for (struct http_call *call = c->calls; call != NULL; call = call->next_of_all)
        http_call_cancel(call);
    http_pool_close(c);
    uv_close((uv_handle_t *)&c->keeper, on_keeper_closed);
}

static bool names_files(const struct tls_client_options *tls)
{
    return tls->ca_file || tls->ca_pem || tls->cert_file || tls->cert_pem || tls->key_file || tls->key_pem;
}

static void configure_channels(struct http_client *c, const struct http_client_options *options)
{
    c->channel = (struct http_channel_options){
        .target.connect_timeout_ms = to_ms(options->connect_timeout_nanos, DEFAULT_CONNECT_SECONDS),
        .protocol = options->protocol,
        .user_agent = c->user_agent,
        .idle_ms = to_ms(options->idle_timeout_nanos, DEFAULT_IDLE_SECONDS),
        .max_age_ms = to_ms(options->max_age_nanos, DEFAULT_AGE_SECONDS),
        .ping_ms = to_ms(options->keepalive.time_nanos, 0),
        .ping_timeout_ms = to_ms(options->keepalive.timeout_nanos, DEFAULT_PING_TIMEOUT_SECONDS),
        .ping_without_stream = options->keepalive.without_stream,
        .close_after_each = options->close_after_each,
    };
}

static void client_configure(struct http_client *c, const struct http_client_options *options)
{
    c->max_connections = options->max_connections ? options->max_connections : DEFAULT_CONNECTIONS;
    c->max_idle = options->max_idle_connections;
    c->round_robin = options->round_robin && options->protocol == HTTP_2 && options->unix_path == NULL;
    c->resolve_interval_ms = to_ms(options->resolve_interval_nanos, DEFAULT_RESOLVE_SECONDS);
    c->user_agent = mem_copy_text(options->user_agent ? options->user_agent : "profrelay/" PROFRELAY_VERSION);
    CHECK(http_header_valid("User-Agent", c->user_agent));
    c->tls = tls_context_create(&options->tls);
    c->on_reload = options->on_reload;
    c->on_reload_arg = options->on_reload_arg;
    configure_channels(c, options);
}

static enum err_code take_unix_path(struct http_client *c, const char *path, struct err *e)
{
    struct sockaddr_un *address = (struct sockaddr_un *)&c->unix_address;
    if (path == NULL)
        return ERR_OK;
    if (*path == '\0' || strlen(path) >= sizeof address->sun_path)
        return err_set(e, ERR_LIMIT, "the path of a Unix socket has %zu bytes, allowed are 1 to %zu", strlen(path),
                       sizeof address->sun_path - 1);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, strlen(path) + 1);
    return ERR_OK;
}

enum err_code http_client_create(uv_loop_t *loop, const struct http_client_options *options, struct http_client **out,
                                 struct err *e)
{
    *out = NULL;
    sigpipe_ignore();
    struct http_client *c = MEM_NEW(struct http_client);
    client_configure(c, options);
    enum err_code code = options->direct ? ERR_OK : proxy_rules_init(&c->proxies, options->proxy_url, e);
    if (code == ERR_OK)
        code = take_unix_path(c, options->unix_path, e);
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
    c->keeper.timer_cb = on_keeper;
    *out = c;
    return ERR_OK;
}
