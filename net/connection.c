// SPDX-License-Identifier: Apache-2.0
#include "net/connection.h"

#include "base/clock.h"
#include "base/mem.h"
#include "net/http1_client.h"
#include "net/lookup.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
    READ_BYTES = 16 << 10, // libuv reads up to 32 times in a turn of the loop: a fast peer must not keep it for long
    PROXY_HEAD_BYTES = 64 << 10,
    TLS_CHUNK_BYTES = 16 << 10,  // one record
    TLS_FLIGHT_BYTES = 64 << 10, // what is encrypted ahead of the socket
    KEEPALIVE_SECONDS = 60,
    PROXY_ANSWER_BYTES = 4096,
};

enum phase { STARTING, RESOLVING, CONNECTING, TUNNELLING, HANDSHAKING, OPEN, ENDED };

struct connection {
    uv_loop_t *loop;
    const struct connection_events *events;
    void *owner;
    struct connection_target target;
    char *host;
    enum phase phase;
    bool closing;
    uint32_t pending; // handles and requests that still call back

    uv_timer_t timer;
    uint64_t connect_deadline_ms;
    struct lookup lookup;
    bool resolving;
    struct sockaddr_storage address; // the target's
    struct address_list candidates;  // in the order they are tried
    size_t candidate_at;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    bool socket_live, next_when_closed;
    uv_connect_t connecting;
    struct http1_response *tunnel;

    struct tls_session *tls;
    uv_write_t write;
    bool writing;             // the kernel still takes bytes
    bool owner_writes;        // on_written is owed
    struct bytes to_write[2]; // the owner's bytes that TLS has not taken yet
    struct buf flight;
    struct err error;
};

static void try_next_address(struct connection *c);
static void on_timer(uv_timer_t *timer);

static uint64_t connect_time_left_ms(const struct connection *c)
{
    uint64_t now = uv_now(c->loop);
    return c->connect_deadline_ms > now ? c->connect_deadline_ms - now : 0;
}

static const char *where(const struct connection *c, char text[URL_AUTHORITY_MAX])
{
    bool tunnelled = c->phase > CONNECTING;
    if (c->address.ss_family == AF_UNIX) {
        snprintf(text, URL_AUTHORITY_MAX, "unix:%s", ((const struct sockaddr_un *)&c->address)->sun_path);
        return text;
    }
    const struct proxy *proxy = tunnelled ? NULL : c->target.proxy;
    return proxy ? authority_format(proxy->host, proxy->port, text) : authority_format(c->host, c->target.port, text);
}

static void maybe_free(struct connection *c)
{
    if (--c->pending > 0)
        return;
    void (*on_closed)(void *) = c->events->on_closed;
    void *owner = c->owner;
    free(c->host);
    address_list_fini(&c->candidates);
    free(c);
    on_closed(owner);
}

static void on_timer_closed(uv_handle_t *handle)
{
    maybe_free(handle->data);
}

static void on_socket_closed(uv_handle_t *handle)
{
    struct connection *c = handle->data;
    c->socket_live = false;
    if (c->next_when_closed && !c->closing) {
        c->next_when_closed = false;
        c->pending--; // the timer still counts
        try_next_address(c);
        return;
    }
    maybe_free(c);
}

static void close_socket(struct connection *c)
{
    if (c->socket_live && !uv_is_closing(&c->socket.handle))
        uv_close(&c->socket.handle, on_socket_closed);
}

static void release_parts(struct connection *c)
{
    if (c->tunnel != NULL)
        http1_response_fini(c->tunnel);
    free(c->tunnel);
    c->tunnel = NULL;
    tls_session_destroy(&c->tls);
    buf_fini(&c->flight);
}

// Best effort: a goodbye or an alert, if the socket takes it at once.
static void send_last_words(struct connection *c)
{
    if (c->tls == NULL || c->phase == ENDED || c->writing)
        return;
    struct buf *out = tls_session_output(c->tls);
    if (c->phase == OPEN)
        tls_session_goodbye(c->tls);
    uv_buf_t b = uv_buf_init((char *)out->data, (unsigned)out->len);
    if (out->len > 0 && uv_try_write(&c->socket.stream, &b, 1) < 0)
        buf_clear(out);
}

bool connection_is_quiet(const struct connection *c)
{
    uv_os_fd_t fd;
    char byte;
    if (uv_fileno(&c->socket.handle, &fd) != 0)
        return false;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n < 0 ? errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR : n > 0 && c->tls != NULL;
}

void connection_close(struct connection *c)
{
    CHECK(!c->closing);
    send_last_words(c);
    c->closing = true;
    c->phase = ENDED;
    if (c->resolving)
        lookup_cancel(&c->lookup);
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
    close_socket(c);
    release_parts(c);
}

static void end(struct connection *c, const struct err *e)
{
    send_last_words(c);
    c->phase = ENDED;
    uv_timer_stop(&c->timer);
    close_socket(c);
    c->events->on_end(c->owner, e);
}

static void end_with_error(struct connection *c)
{
    char text[URL_AUTHORITY_MAX];
    switch (c->phase) {
    case STARTING:
    case RESOLVING:
    case CONNECTING:
        err_prefix(&c->error, "connect to %s", where(c, text));
        break;
    case TUNNELLING:
        err_prefix(&c->error, "proxy %s", authority_format(c->target.proxy->host, c->target.proxy->port, text));
        break;
    case HANDSHAKING:
        err_prefix(&c->error, "TLS with %s", where(c, text));
        break;
    case OPEN:
    case ENDED:
        err_prefix(&c->error, "%s", where(c, text));
    }
    end(c, &c->error);
}

static void end_with_status(struct connection *c, int status)
{
    err_set(&c->error, ERR_IO, "%s", status == UV_EOF ? "the connection was closed" : uv_strerror(status));
    end_with_error(c);
}

// For failures inside a call of the owner: the event comes from the loop.
static void end_later(struct connection *c)
{
    uv_timer_start(&c->timer, on_timer, 0, 0);
}

static void on_write_done(uv_write_t *write, int status);

static void send_bufs(struct connection *c, const uv_buf_t *bufs, unsigned count)
{
    c->writing = true;
    int status = uv_write(&c->write, &c->socket.stream, bufs, count, on_write_done);
    if (status == 0)
        return;
    c->writing = false;
    err_set(&c->error, ERR_IO, "%s", uv_strerror(status));
    end_later(c);
}

// Encrypts up to one flight of what the owner gave.
static bool encrypt_some(struct connection *c)
{
    struct buf *out = tls_session_output(c->tls);
    for (size_t i = 0; i < COUNT_OF(c->to_write); i++) {
        struct bytes *b = &c->to_write[i];
        while (b->len > 0 && out->len < TLS_FLIGHT_BYTES) {
            struct bytes chunk = {b->data, b->len < TLS_CHUNK_BYTES ? b->len : TLS_CHUNK_BYTES};
            if (tls_session_write(c->tls, chunk, &c->error) != TLS_OK)
                return false;
            *b = (struct bytes){b->data + chunk.len, b->len - chunk.len};
        }
    }
    return true;
}

static void flush_tls(struct connection *c)
{
    struct buf *out = tls_session_output(c->tls);
    if (c->writing)
        return;
    buf_fini(&c->flight);
    if (c->phase == OPEN && !encrypt_some(c)) {
        end_later(c);
        return;
    }
    if (out->len == 0)
        return;
    c->flight = *out;
    buf_init(out, c->flight.max_bytes);
    uv_buf_t b = uv_buf_init((char *)c->flight.data, (unsigned)c->flight.len);
    send_bufs(c, &b, 1);
}

// A failed write is not the end: the peer may have answered early and closed. Reading tells.
static void on_write_done(uv_write_t *write, int status)
{
    struct connection *c = write->data;
    c->writing = false;
    if (c->closing || c->phase == ENDED || status < 0)
        return;
    if (c->tls != NULL)
        flush_tls(c);
    if (c->writing || !c->owner_writes || c->phase != OPEN || c->error.code != ERR_OK)
        return;
    c->owner_writes = false;
    c->events->on_written(c->owner);
}

// What the socket takes at once is gone from bufs.
static bool try_write(struct connection *c, uv_buf_t bufs[2])
{
    int sent = uv_try_write(&c->socket.stream, bufs, 2);
    for (size_t i = 0, left = sent > 0 ? (size_t)sent : 0; i < 2; i++) {
        size_t taken = left < bufs[i].len ? left : bufs[i].len;
        bufs[i] = (uv_buf_t){.base = bufs[i].len > taken ? bufs[i].base + taken : NULL, .len = bufs[i].len - taken};
        left -= taken;
    }
    return bufs[0].len + bufs[1].len == 0;
}

bool connection_write(struct connection *c, struct bytes head, struct bytes body)
{
    CHECK(c->phase == OPEN && !c->owner_writes);
    c->owner_writes = true;
    if (c->tls != NULL) {
        c->to_write[0] = head;
        c->to_write[1] = body;
        flush_tls(c);
        return false;
    }
    uv_buf_t bufs[2] = {{.base = (char *)head.data, .len = head.len}, {.base = (char *)body.data, .len = body.len}};
    if (try_write(c, bufs)) {
        c->owner_writes = false;
        return true;
    }
    send_bufs(c, bufs, 2);
    return false;
}

static void open_stream(struct connection *c)
{
    c->phase = OPEN;
    uv_timer_stop(&c->timer);
    c->events->on_open(c->owner);
}

static void continue_handshake(struct connection *c)
{
    enum tls_result result = tls_session_handshake(c->tls, &c->error);
    if (result == TLS_ENDED) {
        err_set(&c->error, ERR_IO, "the connection was closed");
        result = TLS_FAILED;
    }
    if (result == TLS_FAILED) {
        end_with_error(c);
        return;
    }
    flush_tls(c);
    if (result == TLS_OK)
        open_stream(c);
}

static void start_tls(struct connection *c)
{
    c->phase = HANDSHAKING;
    if (tls_session_create(c->target.tls, c->host, c->target.alpn, &c->tls, &c->error) != ERR_OK)
        end_with_error(c);
    else
        continue_handshake(c);
}

static void read_tls(struct connection *c, struct bytes received)
{
    uint8_t plain[TLS_CHUNK_BYTES];
    tls_session_feed(c->tls, received);
    if (c->phase == HANDSHAKING)
        continue_handshake(c);
    while (c->phase == OPEN) {
        size_t len = 0;
        enum tls_result result = tls_session_read(c->tls, plain, sizeof plain, &len, &c->error);
        if (result == TLS_OK) {
            c->events->on_data(c->owner, (struct bytes){plain, len});
            continue;
        }
        if (result == TLS_FAILED)
            end_with_error(c);
        else if (result == TLS_ENDED)
            end(c, NULL);
        else
            flush_tls(c);
        return;
    }
}

static void start_tunnel(struct connection *c)
{
    char authority[URL_AUTHORITY_MAX];
    c->phase = TUNNELLING;
    c->tunnel = MEM_NEW(struct http1_response);
    http1_response_init(c->tunnel, true, PROXY_ANSWER_BYTES);
    authority_format(c->host, c->target.port, authority);
    buf_add_format(&c->flight, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", authority, authority);
    if (c->target.proxy->authorization != NULL)
        buf_add_format(&c->flight, "Proxy-Authorization: %s\r\n", c->target.proxy->authorization);
    buf_add_text(&c->flight, "\r\n");
    if (!buf_ok(&c->flight)) {
        err_set(&c->error, ERR_MEMORY, "out of memory");
        end_with_error(c);
        return;
    }
    uv_buf_t b = uv_buf_init((char *)c->flight.data, (unsigned)c->flight.len);
    send_bufs(c, &b, 1);
}

static void read_tunnel(struct connection *c, struct bytes received)
{
    char authority[URL_AUTHORITY_MAX];
    enum http1_state state = http1_response_feed(c->tunnel, received);
    if (state == HTTP1_MORE)
        return;
    int status = c->tunnel->parser.status_code;
    const uint8_t *rest = (const uint8_t *)llhttp_get_error_pos(&c->tunnel->parser);
    if (state == HTTP1_FAILED)
        c->error = c->tunnel->error;
    else if (status / 100 != 2)
        err_set(&c->error, ERR_UNAVAILABLE, "no tunnel to %s: status %d%s",
                authority_format(c->host, c->target.port, authority), status,
                status == 407 ? " (the proxy wants a user name and password in its URL)" : "");
    if (c->error.code != ERR_OK)
        end_with_error(c);
    else if (c->target.tls != NULL)
        start_tls(c);
    else
        open_stream(c);
    // a peer without TLS may have spoken already
    if (c->phase == OPEN && rest != NULL && rest < received.data + received.len)
        c->events->on_data(c->owner, (struct bytes){rest, (size_t)(received.data + received.len - rest)});
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)handle;
    (void)suggested;
    // taken per read and given back, so that idle connections cost nothing
    char *data = mem_try_alloc(READ_BYTES);
    *out = uv_buf_init(data, data != NULL ? READ_BYTES : 0);
}

static void on_stream_end(struct connection *c, ssize_t status)
{
    if (c->phase == OPEN && status == UV_EOF && c->tls == NULL)
        end(c, NULL);
    else if (c->phase == OPEN && status == UV_EOF) {
        err_set(&c->error, ERR_IO, "the TLS stream was cut");
        end_with_error(c);
    } else
        end_with_status(c, (int)status);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct connection *c = stream->data;
    struct bytes received = {(const uint8_t *)b->base, n > 0 ? (size_t)n : 0};
    if (c->closing || c->phase == ENDED || n == 0)
        ;
    else if (n < 0)
        on_stream_end(c, n);
    else if (c->phase == TUNNELLING)
        read_tunnel(c, received);
    else if (c->tls != NULL)
        read_tls(c, received);
    else if (c->phase == OPEN)
        c->events->on_data(c->owner, received);
    free(b->base);
}

static void on_connected(uv_connect_t *connecting, int status)
{
    struct connection *c = connecting->data;
    // the attempt was given up for the next address, or everything was
    if (c->closing || c->phase != CONNECTING || c->next_when_closed)
        return;
    if (status == 0)
        status = uv_read_start(&c->socket.stream, on_alloc, on_read);
    if (status < 0 && c->candidate_at < c->candidates.count) {
        c->next_when_closed = true;
        close_socket(c);
    } else if (status < 0) {
        end_with_status(c, status);
    } else if (c->target.tls != NULL || c->target.proxy != NULL) {
        uv_timer_start(&c->timer, on_timer, connect_time_left_ms(c), 0);
        c->target.proxy ? start_tunnel(c) : start_tls(c);
    } else {
        open_stream(c);
    }
}

// A share of the time that is left, so that one silent address does not use up the others' chance.
static void limit_attempt(struct connection *c)
{
    uv_timer_start(&c->timer, on_timer, connect_time_left_ms(c) / (c->candidates.count - c->candidate_at), 0);
}

static void connect_tcp(struct connection *c, const struct sockaddr *address)
{
    int status = uv_tcp_connect(&c->connecting, &c->socket.tcp, address, on_connected);
    if (status == 0) {
        uv_tcp_nodelay(&c->socket.tcp, 1);
        uv_tcp_keepalive(&c->socket.tcp, 1, KEEPALIVE_SECONDS);
    } else {
        on_connected(&c->connecting, status);
    }
}

static void try_next_address(struct connection *c)
{
    c->phase = CONNECTING;
    limit_attempt(c);
    const struct sockaddr_storage *address = &c->candidates.items[c->candidate_at++];
    bool is_unix = address->ss_family == AF_UNIX;
    CHECK((is_unix ? uv_pipe_init(c->loop, &c->socket.pipe, 0) : uv_tcp_init(c->loop, &c->socket.tcp)) == 0);
    c->socket.handle.data = c;
    c->socket_live = true;
    c->pending++;
    if (is_unix)
        uv_pipe_connect(&c->connecting, &c->socket.pipe, ((const struct sockaddr_un *)address)->sun_path, on_connected);
    else
        connect_tcp(c, (const struct sockaddr *)address);
}

static void on_resolved(struct lookup *l, struct address_list *found, const struct err *e)
{
    struct connection *c = (struct connection *)((char *)l - offsetof(struct connection, lookup));
    c->resolving = false;
    c->candidates = *found;
    if (c->closing || c->phase != RESOLVING) {
        maybe_free(c);
        return;
    }
    c->pending--; // the timer still counts
    if (e == NULL) {
        try_next_address(c);
        return;
    }
    c->error = *e;
    end(c, &c->error);
}

static bool take_known(struct connection *c, const char *host, uint16_t port)
{
    if (c->target.address == NULL)
        return address_list_known(host, port, &c->candidates);
    c->candidates.items = mem_alloc(sizeof *c->candidates.items);
    c->candidates.items[0] = c->address;
    c->candidates.count = 1;
    return true;
}

static void start(struct connection *c)
{
    const struct proxy *proxy = c->target.proxy;
    const char *host = proxy ? proxy->host : c->host;
    uint16_t port = proxy ? proxy->port : c->target.port;
    c->phase = RESOLVING;
    if (take_known(c, host, port)) {
        try_next_address(c);
        return;
    }
    if (lookup_start(&c->lookup, c->loop, host, port, on_resolved, &c->error) != ERR_OK) {
        end(c, &c->error);
        return;
    }
    c->resolving = true;
    c->pending++;
    uv_timer_start(&c->timer, on_timer, connect_time_left_ms(c), 0);
}

static void on_connect_time_is_up(struct connection *c)
{
    if (c->phase == CONNECTING && c->candidate_at < c->candidates.count) {
        c->next_when_closed = true;
        close_socket(c);
        return;
    }
    if (c->phase == RESOLVING)
        err_set(&c->error, ERR_UNAVAILABLE, "the name is not resolved within %g s",
                (double)c->target.connect_timeout_ms / 1e3);
    else
        err_set(&c->error, ERR_UNAVAILABLE, "no answer within %g s", (double)c->target.connect_timeout_ms / 1e3);
    end_with_error(c);
}

static void on_timer(uv_timer_t *timer)
{
    struct connection *c = timer->data;
    if (c->phase == STARTING) {
        start(c);
    } else if (c->error.code != ERR_OK) {
        end_with_error(c);
    } else if (c->phase == OPEN) {
        c->events->on_timer(c->owner);
    } else if (!c->next_when_closed) {
        on_connect_time_is_up(c);
    }
}

void connection_wake_after(struct connection *c, uint64_t ms)
{
    if (c->error.code != ERR_OK || c->phase != OPEN)
        return; // its end is on the way
    if (ms == CONNECTION_NEVER)
        uv_timer_stop(&c->timer);
    else
        uv_timer_start(&c->timer, on_timer, ms, 0);
}

struct bytes connection_alpn(const struct connection *c)
{
    return c->tls != NULL ? tls_session_alpn(c->tls) : (struct bytes){0};
}

struct connection *connection_create(uv_loop_t *loop, const struct connection_target *target,
                                     const struct connection_events *events, void *owner)
{
    struct connection *c = MEM_NEW(struct connection);
    c->loop = loop;
    c->events = events;
    c->owner = owner;
    c->target = *target;
    c->host = mem_copy_text(target->host);
    if (target->address != NULL)
        c->address = *target->address;
    c->write.data = c->connecting.data = c;
    buf_init(&c->flight, PROXY_HEAD_BYTES);
    CHECK(uv_timer_init(loop, &c->timer) == 0);
    c->timer.data = c;
    c->pending = 1;
    c->connect_deadline_ms = uv_now(loop) + target->connect_timeout_ms;
    uv_timer_start(&c->timer, on_timer, 0, 0);
    return c;
}
