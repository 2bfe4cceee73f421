// SPDX-License-Identifier: Apache-2.0
#include "net/http_server_connection.h"

#include "base/mem.h"
#include "net/proxy_protocol.h"

#include <arpa/inet.h>
#include <stdio.h>

enum {
    LINGER_MS = 2000,
    FIRST_READ_BYTES = 8 << 10,
    TLS_RECORD_BYTES = 16 << 10,
    PREFACE_BYTES = 24,
    READS_PER_TURN = 4,
    WRITES_PER_TURN = 4
};

static const char preface[PREFACE_BYTES + 1] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static void pump(struct server_connection *c);
static void on_timer(uv_timer_t *timer);

static struct server_connection *of(struct http_link *link)
{
    return (struct server_connection *)link;
}

static uint64_t now_ms(const struct http_link *link)
{
    return http_server_now(((const struct server_connection *)link)->server);
}

static const char *date(struct http_link *link)
{
    return http_server_date(of(link)->server);
}

// Goes on in the next turn of the loop.
static void defer(struct server_connection *c)
{
    c->server->deferred_count += !c->deferred;
    c->deferred = true;
    http_server_turn_soon(c->server);
}

static void wake(struct http_link *link)
{
    pump(of(link));
}

static void tell_problem(struct server_connection *c, const char *text)
{
    const struct http_server_handler *h = c->link.handler;
    if (h->on_problem != NULL)
        h->on_problem(h->arg, &c->link.peer, text);
}

// The list of idle connections.

static void set_idle(struct server_connection *c, bool idle)
{
    struct http_server *s = c->server;
    if (c->idle == idle)
        return;
    c->idle = idle;
    if (idle) {
        c->idle_next = NULL;
        c->idle_prev = s->idle_last;
        *(s->idle_last != NULL ? &s->idle_last->idle_next : &s->idle_first) = c;
        s->idle_last = c;
        return;
    }
    *(c->idle_prev != NULL ? &c->idle_prev->idle_next : &s->idle_first) = c->idle_next;
    *(c->idle_next != NULL ? &c->idle_next->idle_prev : &s->idle_last) = c->idle_prev;
}

// Ending.

static void on_handle_closed(uv_handle_t *handle)
{
    struct server_connection *c = handle->data;
    struct http_server *s = c->server;
    if (--c->handles > 0)
        return;
    if (c->engine != NULL)
        c->engine->ops->destroy(c->engine);
    tls_session_destroy(&c->tls);
    buf_fini(&c->first);
    free(c->unsent);
    free(c->subject);
    free(c);
    http_server_unref(s);
}

void server_connection_close(struct server_connection *c)
{
    struct http_server *s = c->server;
    if (c->stage == STAGE_CLOSED)
        return;
    CHECK(!c->busy); // not from inside a handler
    c->stage = STAGE_CLOSED;
    c->busy = true;
    if (c->engine != NULL)
        c->engine->ops->abort(c->engine);
    set_idle(c, false);
    *(c->prev != NULL ? &c->prev->next : &s->connections) = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    s->connection_count--;
    s->deferred_count -= c->deferred;
    c->deferred = false;
    uv_close(&c->socket.handle, on_handle_closed);
    uv_close((uv_handle_t *)&c->timer, on_handle_closed);
    http_server_connection_gone(s);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    struct server_connection *c = request->handle->data;
    (void)status;
    if (c->stage == STAGE_LINGER && status < 0)
        server_connection_close(c);
}

static void flush_tls(struct server_connection *c);

// Lets the peer read the last words before the socket goes: closing with unread input would reset it.
static void linger(struct server_connection *c)
{
    if (c->stage >= STAGE_LINGER)
        return;
    c->stage = STAGE_LINGER;
    c->linger_ms = now_ms(&c->link);
    set_idle(c, false);
    if (c->engine != NULL) {
        bool was_busy = c->busy;
        c->busy = true;
        c->engine->ops->abort(c->engine);
        c->busy = was_busy;
    }
    if (c->tls != NULL)
        tls_session_goodbye(c->tls);
    flush_tls(c);
    if (uv_shutdown(&c->shutdown, &c->socket.stream, on_shutdown) < 0)
        c->failed = true;
}

// Writing.

static void on_written(uv_write_t *write, int status)
{
    struct server_connection *c = write->handle->data;
    free(c->unsent);
    c->unsent = NULL;
    c->writing = false;
    if (c->stage == STAGE_CLOSED)
        return;
    c->failed = c->failed || status < 0;
    flush_tls(c);
    pump(c);
}

static void send_rest(struct server_connection *c, const uint8_t *data, size_t len)
{
    uv_buf_t b = {.base = NULL, .len = len};
    c->unsent = mem_try_alloc(len);
    b.base = (char *)c->unsent;
    c->failed = c->failed || c->unsent == NULL;
    if (c->failed)
        return;
    memcpy(c->unsent, data, len);
    c->writing = uv_write(&c->write, &c->socket.stream, &b, 1, on_written) == 0;
    c->wrote_ms = now_ms(&c->link);
    c->failed = !c->writing;
}

// At once as much as the socket takes; the rest, which is copied, when it can.
static void send_wire(struct server_connection *c, struct bytes data)
{
    CHECK(!c->writing);
    if (c->failed || data.len == 0)
        return;
    uv_buf_t b = {.base = (char *)(uintptr_t)data.data, .len = data.len};
    int sent = uv_try_write(&c->socket.stream, &b, 1);
    if (sent < 0 && sent != UV_EAGAIN) {
        c->failed = true;
        return;
    }
    size_t done = sent > 0 ? (size_t)sent : 0;
    if (done < data.len)
        send_rest(c, data.data + done, data.len - done);
}

static void flush_tls(struct server_connection *c)
{
    if (c->tls == NULL || c->writing)
        return;
    struct buf *output = tls_session_output(c->tls);
    send_wire(c, buf_bytes(output));
    buf_fini(output);
}

static void send_plain(struct server_connection *c, struct bytes data)
{
    if (c->tls == NULL) {
        send_wire(c, data);
        return;
    }
    while (data.len > 0 && !c->failed) {
        size_t n = data.len < TLS_RECORD_BYTES ? data.len : TLS_RECORD_BYTES;
        c->failed = tls_session_write(c->tls, (struct bytes){data.data, n}, NULL) != TLS_OK;
        data = (struct bytes){data.data + n, data.len - n};
    }
    flush_tls(c);
}

// To a peer that speaks what is not spoken here: the answer that most clients show to people.
static void send_refusal(struct server_connection *c, int status, const char *text)
{
    char answer[512];
    int len = snprintf(answer, sizeof answer,
                       "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
                       "Connection: close\r\n\r\n%s\n",
                       status, http_reason(status), strlen(text) + 1, text);
    send_plain(c, (struct bytes){(const uint8_t *)answer, (size_t)len});
    tell_problem(c, text);
    linger(c);
}

// Reading.

static void start_engine(struct server_connection *c, bool http2)
{
    unsigned wanted = http2 ? HTTP_SERVE_2 : HTTP_SERVE_1;
    c->stage = STAGE_SERVE;
    if ((c->server->protocols & wanted) != 0)
        c->engine = http2 ? http2_server_create(&c->link) : http1_server_create(&c->link);
    else
        send_refusal(c, 505, http2 ? "this port speaks HTTP/1.1 only" : "this port speaks HTTP/2 only (gRPC)");
}

static void take_plain(struct server_connection *c, struct bytes data);

// HTTP/2 begins with its preface (RFC 9113 §3.4); whatever else is HTTP/1.
static void sniff(struct server_connection *c, struct bytes data)
{
    size_t had = c->first.len, n = PREFACE_BYTES - had < data.len ? PREFACE_BYTES - had : data.len;
    buf_add(&c->first, data.data, n);
    if (!buf_ok(&c->first)) {
        c->failed = true;
        return;
    }
    bool is_http2 = memcmp(c->first.data, preface, c->first.len) == 0;
    if (is_http2 && c->first.len < PREFACE_BYTES)
        return;
    struct buf first = c->first;
    buf_init(&c->first, 0);
    start_engine(c, is_http2);
    take_plain(c, buf_bytes(&first));
    take_plain(c, (struct bytes){data.data + n, data.len - n});
    buf_fini(&first);
}

static void take_plain(struct server_connection *c, struct bytes data)
{
    if (data.len == 0)
        return;
    if (c->stage == STAGE_SNIFF)
        sniff(c, data);
    else if (c->stage == STAGE_SERVE)
        c->engine->ops->receive(c->engine, data);
}

static void on_handshaken(struct server_connection *c)
{
    struct bytes protocol = tls_session_alpn(c->tls);
    c->stage = STAGE_SNIFF;
    c->link.peer.certificate_subject = c->subject = tls_session_subject(c->tls);
    if (bytes_equal_text(protocol, "h2"))
        start_engine(c, true);
    else if (bytes_equal_text(protocol, "http/1.1"))
        start_engine(c, false);
}

// False: it goes on when more has come, or not at all.
static bool handshake(struct server_connection *c)
{
    struct err e = {0};
    enum tls_result result = tls_session_handshake(c->tls, &e);
    flush_tls(c);
    if (result == TLS_OK)
        on_handshaken(c);
    if (result == TLS_FAILED || result == TLS_ENDED) {
        err_prefix(&e, "TLS handshake");
        tell_problem(c, e.text);
        linger(c);
    }
    return result == TLS_OK;
}

static bool looks_like_http(struct bytes data)
{
    return data.len > 0 && data.data[0] >= 'A' && data.data[0] <= 'Z';
}

static void take_tls(struct server_connection *c, struct bytes data)
{
    struct http_server *s = c->server;
    if (c->tls == NULL && looks_like_http(data)) {
        send_refusal(c, 400, "this port speaks TLS: use https://");
        return;
    }
    if (c->tls == NULL)
        c->tls = tls_server_session(s->tls, s->protocols == HTTP_SERVE_1   ? "http/1.1"
                                            : s->protocols == HTTP_SERVE_2 ? "h2"
                                                                           : "h2,http/1.1");
    if (c->stage == STAGE_HANDSHAKE && s->handshakes_left > 0)
        s->handshakes_left--;
    tls_session_feed(c->tls, data);
    if (c->stage == STAGE_HANDSHAKE && !handshake(c))
        return;
    enum tls_result result = TLS_OK;
    size_t len = 0;
    while (c->stage < STAGE_LINGER && !c->failed) {
        result = tls_session_read(c->tls, s->plain_bytes, sizeof s->plain_bytes, &len, NULL);
        if (result != TLS_OK)
            break;
        take_plain(c, (struct bytes){s->plain_bytes, len});
    }
    flush_tls(c);
    c->failed = c->failed || result == TLS_FAILED || result == TLS_ENDED;
}

static void take_wire(struct server_connection *c, struct bytes data)
{
    if (c->stage >= STAGE_HANDSHAKE && c->server->tls != NULL)
        take_tls(c, data);
    else
        take_plain(c, data);
}

static void note_source(struct server_connection *c, const struct proxy_source *source)
{
    if (source->address[0] != '\0') {
        snprintf(c->link.peer.address, sizeof c->link.peer.address, "%s", source->address);
        c->link.peer.port = source->port;
    }
    c->stage = c->server->tls != NULL ? STAGE_HANDSHAKE : STAGE_SNIFF;
}

static void take_proxy_header(struct server_connection *c, struct bytes data)
{
    struct proxy_source source;
    size_t had = c->first.len, room = PROXY_HEADER_MAX_BYTES - had, used = 0;
    buf_add(&c->first, data.data, data.len < room ? data.len : room);
    c->failed = c->failed || !buf_ok(&c->first);
    if (c->failed)
        return;
    enum proxy_result result = proxy_protocol_parse(buf_bytes(&c->first), &used, &source);
    if (result == PROXY_BAD) {
        tell_problem(c, "the connection does not begin with a PROXY protocol header");
        c->failed = true;
    }
    if (result != PROXY_OK)
        return;
    CHECK(used > had && used - had <= data.len);
    buf_fini(&c->first);
    note_source(c, &source);
    if (data.len > used - had)
        take_wire(c, (struct bytes){data.data + (used - had), data.len - (used - had)});
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct server_connection *c = handle->data;
    struct http_server *s = c->server;
    size_t size = FIRST_READ_BYTES;
    (void)suggested;
    if (c->engine != NULL && c->stage == STAGE_SERVE)
        size = c->engine->ops->read_size(c->engine);
    if (c->stage == STAGE_HANDSHAKE && s->tls != NULL && s->handshakes_left == 0)
        size = 0;
    *out = uv_buf_init((char *)s->read_bytes, (unsigned)(size < sizeof s->read_bytes ? size : sizeof s->read_bytes));
}

// So that a connection with much to say does not keep the others waiting.
static void count_read(struct server_connection *c)
{
    c->reads = c->turn == c->server->turn_number ? c->reads + 1 : 1;
    c->turn = c->server->turn_number;
    if (c->reads >= READS_PER_TURN)
        defer(c);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct server_connection *c = stream->data;
    if (n == 0 || c->stage == STAGE_CLOSED)
        return;
    if (n == UV_ENOBUFS) { // no turn to shake hands, or the engine wants no more
        if (c->stage == STAGE_HANDSHAKE)
            defer(c);
        server_connection_update(c);
        return;
    }
    if (n < 0) {
        server_connection_close(c);
        return;
    }
    struct bytes data = {(const uint8_t *)b->base, (size_t)n};
    count_read(c);
    c->busy = true;
    if (c->stage == STAGE_PROXY)
        take_proxy_header(c, data);
    else if (c->stage < STAGE_LINGER)
        take_wire(c, data);
    c->busy = false;
    pump(c);
}

static bool wants_read(const struct server_connection *c)
{
    if (c->stage == STAGE_CLOSED || c->deferred)
        return false;
    if (c->stage == STAGE_LINGER)
        return true;
    if (c->server->paused || c->writing)
        return false;
    return c->engine == NULL || c->engine->ops->read_size(c->engine) > 0;
}

// Time.

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// A little of its own for each connection, so that not all go at once.
static uint64_t age_deadline(const struct server_connection *c)
{
    uint64_t age = c->server->age_ms;
    if (age == HTTP_NEVER)
        return HTTP_NEVER;
    uint64_t drains = http_time_after(c->opened_ms, age + age / 1000 * ((uintptr_t)c / 64 % 100));
    return c->draining ? http_time_after(drains, c->server->grace_ms) : drains;
}

static uint64_t deadline(const struct server_connection *c)
{
    if (c->stage == STAGE_LINGER)
        return http_time_after(c->linger_ms, LINGER_MS);
    uint64_t when = age_deadline(c);
    if (c->writing)
        when = earlier(when, http_time_after(c->wrote_ms, c->link.limits->write_ms));
    if (c->stage < STAGE_SERVE)
        return earlier(when, http_time_after(c->opened_ms, c->link.limits->header_ms));
    return earlier(when, c->engine->ops->deadline_ms(c->engine));
}

// The timer may ring too early, never too late; so most changes cost nothing.
static void arm(struct server_connection *c)
{
    uint64_t when = deadline(c), now = now_ms(&c->link);
    if (when == HTTP_NEVER || c->server->paused || (uv_is_active((uv_handle_t *)&c->timer) && c->armed_ms <= when))
        return;
    c->armed_ms = when;
    uv_timer_start(&c->timer, on_timer, when > now ? when - now : 0, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct server_connection *c = timer->data;
    uint64_t now = now_ms(&c->link);
    if (c->server->paused || deadline(c) > now) {
        arm(c);
        return;
    }
    bool write_stuck = c->writing && http_time_after(c->wrote_ms, c->link.limits->write_ms) <= now;
    if (c->stage != STAGE_SERVE || write_stuck || (c->draining && age_deadline(c) <= now)) {
        server_connection_close(c);
        return;
    }
    if (age_deadline(c) <= now)
        server_connection_drain(c);
    c->busy = true;
    if (c->stage == STAGE_SERVE && c->engine->ops->deadline_ms(c->engine) <= now)
        c->engine->ops->expire(c->engine);
    c->busy = false;
    pump(c);
}

// All together: sends what there is, ends when all is said, reads or not, sets the clock.

static void produce(struct server_connection *c)
{
    struct http_server *s = c->server;
    size_t n = 1;
    c->busy = true;
    for (int i = 0; i < WRITES_PER_TURN && n > 0 && !c->writing && !c->failed && c->stage == STAGE_SERVE; i++) {
        n = c->engine->ops->produce(c->engine, s->write_bytes, sizeof s->write_bytes);
        if (n > 0)
            send_plain(c, (struct bytes){s->write_bytes, n});
    }
    if (n > 0 && !c->writing && c->stage == STAGE_SERVE)
        defer(c);
    c->busy = false;
}

static void pump(struct server_connection *c)
{
    if (c->busy || c->stage == STAGE_CLOSED)
        return;
    if (c->deferred) { // the loop would read on
        server_connection_update(c);
        return;
    }
    produce(c);
    if (!c->failed && !c->writing && !c->deferred && c->stage == STAGE_SERVE && c->engine->ops->is_finished(c->engine))
        linger(c);
    if (c->failed) {
        server_connection_close(c);
        return;
    }
    set_idle(c, c->stage == STAGE_SERVE && !c->writing && c->engine->ops->is_idle(c->engine));
    server_connection_update(c);
}

void server_connection_update(struct server_connection *c)
{
    bool wanted = wants_read(c);
    if (c->stage == STAGE_CLOSED)
        return;
    if (wanted && !c->reading)
        c->failed = uv_read_start(&c->socket.stream, on_alloc, on_read) < 0 || c->failed;
    else if (!wanted && c->reading)
        uv_read_stop(&c->socket.stream);
    c->reading = wanted;
    arm(c);
}

void server_connection_resume(struct server_connection *c)
{
    if (!c->deferred)
        return;
    c->deferred = false;
    c->server->deferred_count--;
    pump(c);
}

void server_connection_drain(struct server_connection *c)
{
    bool was_busy = c->busy;
    c->draining = c->busy = true; // answers wait for the pump
    if (c->stage == STAGE_SERVE)
        c->engine->ops->drain(c->engine);
    else if (c->stage < STAGE_SERVE)
        c->failed = true;
    c->busy = was_busy;
    pump(c);
}

// Beginning.

static void note_peer(struct server_connection *c)
{
    struct http_peer *peer = &c->link.peer;
    struct sockaddr_storage a;
    int len = sizeof a;
    snprintf(peer->address, sizeof peer->address, "unix");
    if (c->socket.handle.type != UV_TCP || uv_tcp_getpeername(&c->socket.tcp, (struct sockaddr *)&a, &len) < 0)
        return;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a;
    bool is_v6 = a.ss_family == AF_INET6;
    peer->port = ntohs(is_v6 ? v6->sin6_port : v4->sin_port);
    if (is_v6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        inet_ntop(AF_INET, v6->sin6_addr.s6_addr + 12, peer->address, sizeof peer->address);
    else
        inet_ntop(a.ss_family, is_v6 ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr, peer->address,
                  sizeof peer->address);
}

static struct server_connection *create(struct http_server *s)
{
    struct server_connection *c = MEM_NEW(struct server_connection);
    c->server = s;
    c->link = (struct http_link){.limits = &s->limits,
                                 .handler = &s->handler,
                                 .tls = s->tls != NULL,
                                 .now_ms = now_ms,
                                 .date = date,
                                 .wake = wake};
    c->stage = s->proxy_protocol ? STAGE_PROXY : s->tls != NULL ? STAGE_HANDSHAKE : STAGE_SNIFF;
    c->opened_ms = http_server_now(s);
    c->handles = 2;
    buf_init(&c->first, s->proxy_protocol ? PROXY_HEADER_MAX_BYTES : PREFACE_BYTES);
    CHECK(uv_timer_init(s->loop, &c->timer) == 0);
    c->timer.data = c;
    c->next = s->connections;
    if (c->next != NULL)
        c->next->prev = c;
    s->connections = c;
    s->connection_count++;
    s->live++;
    return c;
}

// Room for one more: the one that has been idle for longest goes.
static bool make_room(struct http_server *s)
{
    struct server_connection *c = s->idle_first;
    if (s->connection_count < s->max_connections)
        return true;
    if (c == NULL)
        return false;
    server_connection_drain(c);
    if (c->stage != STAGE_CLOSED)
        server_connection_close(c);
    return true;
}

static void accept_one(struct http_server *s)
{
    struct server_connection *c = create(s);
    bool ok = listener_accept(s->listener, &c->socket);
    c->socket.handle.data = c;
    c->failed = !ok;
    if (ok) {
        note_peer(c);
        if (c->socket.handle.type == UV_TCP)
            uv_tcp_nodelay(&c->socket.tcp, 1);
    }
    pump(c);
}

void server_connection_accept(struct http_server *s)
{
    if (s->accepting)
        return;
    s->accepting = true;
    while (s->listener != NULL && !s->paused && !s->closing && listener_has_waiting(s->listener) && make_room(s))
        accept_one(s);
    s->accepting = false;
}
