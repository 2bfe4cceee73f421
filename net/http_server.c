// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/http_server_connection.h"
#include "net/sigpipe.h"

#include <time.h>

enum {
    CONNECTIONS = 4096,
    STREAMS = 250,
    HEADER_SECONDS = 10,
    BODY_SECONDS = 60,
    IDLE_SECONDS = 5 * 60,
    WRITE_SECONDS = 30,
    PING_AFTER_SECONDS = 2 * 3600,
    PING_TIMEOUT_SECONDS = 20,
    RELOAD_SECONDS = 30,
    HANDSHAKES_PER_TURN = 8,
    NEVER = 0,
};

static uint64_t to_ms(int64_t nanos, uint64_t default_seconds)
{
    if (nanos == 0)
        return default_seconds == NEVER ? HTTP_NEVER : default_seconds * 1000;
    return nanos < 0 ? HTTP_NEVER : ((uint64_t)nanos + NANOS_PER_MS - 1) / NANOS_PER_MS;
}

void http_server_limit(struct http_server *s, const struct http_server_options *o)
{
    s->limits = (struct http_limits){
        .max_streams = o->max_streams > 0 ? o->max_streams : STREAMS,
        .max_header_bytes = o->max_header_bytes > 0 ? o->max_header_bytes : LIMIT_HTTP_HEADER_BYTES,
        .header_ms = to_ms(o->header_timeout_nanos, HEADER_SECONDS),
        .body_ms = to_ms(o->body_timeout_nanos, BODY_SECONDS),
        .idle_ms = to_ms(o->idle_timeout_nanos, IDLE_SECONDS),
        .write_ms = to_ms(o->write_timeout_nanos, WRITE_SECONDS),
        .ping_after_ms = to_ms(o->ping_after_nanos, PING_AFTER_SECONDS),
        .ping_timeout_ms = to_ms(o->ping_timeout_nanos, PING_TIMEOUT_SECONDS),
        .ping_least_ms = to_ms(o->ping_least_nanos, 0),
        .pings_need_stream = o->pings_need_stream,
    };
    s->max_connections = o->max_connections > 0 ? o->max_connections : CONNECTIONS;
    s->age_ms = to_ms(o->max_age_nanos, NEVER);
    s->grace_ms = to_ms(o->max_age_grace_nanos, NEVER);
}

void http_server_unref(struct http_server *s)
{
    if (--s->live > 0)
        return;
    void (*on_closed)(void *) = s->on_closed;
    void *arg = s->on_closed_arg;
    tls_server_destroy(&s->tls);
    free(s);
    if (on_closed != NULL)
        on_closed(arg);
}

static void on_handle_closed(uv_handle_t *handle)
{
    http_server_unref(handle->data);
}

static void on_listener_closed(void *arg)
{
    http_server_unref(arg);
}

static void on_waiting(void *arg)
{
    server_connection_accept(arg);
}

static void on_turn(uv_prepare_t *prepare)
{
    struct http_server *s = prepare->data;
    s->handshakes_left = HANDSHAKES_PER_TURN;
    s->turn_number++;
    if (s->deferred_count == 0)
        return;
    for (struct server_connection *c = s->connections; c != NULL; c = c->next)
        server_connection_resume(c);
    if (s->deferred_count == 0)
        uv_idle_stop(&s->hurry);
}

static void on_hurry(uv_idle_t *idle)
{
    (void)idle; // its presence keeps the loop from waiting
}

void http_server_turn_soon(struct http_server *s)
{
    uv_idle_start(&s->hurry, on_hurry);
}

static void on_reload(uv_timer_t *timer)
{
    struct http_server *s = timer->data;
    struct err e;
    bool changed;
    if (tls_server_reload(s->tls, &changed, &e) == ERR_OK || s->handler.on_problem == NULL)
        return;
    err_prefix(&e, "the old TLS certificate stays in use");
    s->handler.on_problem(s->handler.arg, NULL, e.text);
}

static void start_timers(struct http_server *s, int64_t reload_nanos)
{
    uint64_t reload_ms = to_ms(reload_nanos, RELOAD_SECONDS);
    CHECK(uv_prepare_init(s->loop, &s->turn) == 0 && uv_idle_init(s->loop, &s->hurry) == 0);
    CHECK(uv_timer_init(s->loop, &s->reload) == 0);
    s->turn.data = s->hurry.data = s->reload.data = s;
    uv_prepare_start(&s->turn, on_turn);
    if (s->tls != NULL && reload_ms != HTTP_NEVER)
        uv_timer_start(&s->reload, on_reload, reload_ms, reload_ms);
}

enum err_code http_server_create(uv_loop_t *loop, const struct http_server_options *options, struct http_server **out,
                                 struct err *e)
{
    *out = NULL;
    sigpipe_ignore();
    struct http_server *s = MEM_NEW(struct http_server);
    s->loop = loop;
    s->handler = options->handler;
    s->protocols = options->protocols != 0 ? options->protocols : HTTP_SERVE_1 | HTTP_SERVE_2;
    s->proxy_protocol = options->proxy_protocol;
    s->handshakes_left = HANDSHAKES_PER_TURN;
    http_server_limit(s, options);
    enum err_code code = options->tls != NULL ? tls_server_create(options->tls, &s->tls, e) : ERR_OK;
    if (code == ERR_OK)
        code = listener_create(loop, options->endpoint, on_waiting, s, &s->listener, e);
    if (code != ERR_OK) {
        tls_server_destroy(&s->tls);
        free(s);
        return code;
    }
    s->live = 4; // the listener, three handles
    s->port = listener_port(s->listener);
    start_timers(s, options->tls_reload_nanos);
    *out = s;
    return ERR_OK;
}

int http_server_port(const struct http_server *s)
{
    return s->port;
}

uint32_t http_server_connections(const struct http_server *s)
{
    return s->connection_count;
}

const char *http_server_date(struct http_server *s)
{
    uint64_t now = uv_now(s->loop);
    if (s->date[0] != '\0' && now - s->date_ms < 1000)
        return s->date;
    time_t seconds = (time_t)(clock_wall_nanos(&clock_system) / NANOS_PER_SECOND);
    struct tm t;
    gmtime_r(&seconds, &t);
    strftime(s->date, sizeof s->date, "%a, %d %b %Y %H:%M:%S GMT", &t);
    s->date_ms = now;
    return s->date;
}

void http_server_connection_gone(struct http_server *s)
{
    if (s->draining && s->connection_count == 0 && s->on_drained != NULL) {
        void (*on_drained)(void *) = s->on_drained;
        s->on_drained = NULL;
        on_drained(s->on_drained_arg);
        return;
    }
    server_connection_accept(s);
}

uint64_t http_server_now(const struct http_server *s)
{
    return (s->paused ? s->paused_at_ms : uv_now(s->loop)) - s->paused_ms;
}

void http_server_pause(struct http_server *s, bool paused)
{
    if (s->paused == paused)
        return;
    if (paused)
        s->paused_at_ms = uv_now(s->loop);
    else
        s->paused_ms += uv_now(s->loop) - s->paused_at_ms;
    s->paused = paused;
    for (struct server_connection *c = s->connections; c != NULL; c = c->next)
        server_connection_update(c);
    server_connection_accept(s);
}

static void close_listener(struct http_server *s)
{
    if (s->listener != NULL)
        listener_close(&s->listener, on_listener_closed, s);
}

void http_server_drain(struct http_server *s, void (*on_drained)(void *arg), void *arg)
{
    s->draining = true;
    s->on_drained = on_drained;
    s->on_drained_arg = arg;
    close_listener(s);
    for (struct server_connection *c = s->connections, *next; c != NULL; c = next) {
        next = c->next;
        server_connection_drain(c);
    }
    if (s->connection_count == 0 && s->on_drained != NULL)
        http_server_connection_gone(s);
}

void http_server_close(struct http_server **server, void (*on_closed)(void *arg), void *arg)
{
    struct http_server *s = *server;
    if (s == NULL)
        return;
    *server = NULL;
    s->closing = true;
    s->on_drained = NULL;
    s->on_closed = on_closed;
    s->on_closed_arg = arg;
    while (s->connections != NULL)
        server_connection_close(s->connections);
    close_listener(s);
    uv_close((uv_handle_t *)&s->turn, on_handle_closed);
    uv_close((uv_handle_t *)&s->hurry, on_handle_closed);
    uv_close((uv_handle_t *)&s->reload, on_handle_closed);
}
