// SPDX-License-Identifier: Apache-2.0
#include "tests/support/http2_peer.h"
#include "tests/support/loop_step.h"

#include "base/mem.h"

#include <stdio.h>

enum { MAX_CONNECTIONS = 512, MAX_REQUESTS = 4096 };

struct peer_connection {
    struct http2_peer *peer;
    size_t number;
    uv_tcp_t tcp;
    nghttp2_session *session;
    SSL *ssl;
    bool gone, tunnel;
    size_t open_streams;
    int32_t most_taken, last; // stream numbers: answered so far; what GOAWAY says
};

struct peer_stream {
    struct http2_seen *seen;
    const struct http2_step *step;
    size_t sent; // of the body
    bool begun;
};

struct http2_peer {
    uv_loop_t *loop;
    struct http2_peer_options options;
    uv_tcp_t listener;
    int port;
    size_t handles;
    const struct http2_step *steps;
    size_t step_count;
    struct peer_connection *connections[MAX_CONNECTIONS];
    size_t connection_count;
    struct http2_seen *seen[MAX_REQUESTS];
    size_t seen_count, pings, resets, most_streams;
    char connect_head[512];
};

struct peer_write {
    uv_write_t write;
    uint8_t data[];
};

static void on_handle_closed(uv_handle_t *handle)
{
    ((struct http2_peer *)handle->data)->handles--;
}

static void cut(struct peer_connection *c)
{
    if (c->gone)
        return;
    c->gone = true;
    c->tcp.data = c->peer;
    uv_close((uv_handle_t *)&c->tcp, on_handle_closed);
}

static void on_sent(uv_write_t *write, int status)
{
    (void)status;
    free(write);
}

static void send_tcp(struct peer_connection *c, const void *data, size_t len)
{
    struct peer_write *w = mem_alloc(sizeof *w + len);
    memcpy(w->data, data, len);
    uv_buf_t b = uv_buf_init((char *)w->data, (unsigned)len);
    if (c->gone || uv_write(&w->write, (uv_stream_t *)&c->tcp, &b, 1, on_sent) != 0)
        free(w);
}

static void flush_tls(struct peer_connection *c)
{
    char *data;
    long len = BIO_get_mem_data(SSL_get_wbio(c->ssl), &data);
    if (len > 0)
        send_tcp(c, data, (size_t)len);
    BIO_reset(SSL_get_wbio(c->ssl));
}

static void send_bytes(struct peer_connection *c, const void *data, size_t len)
{
    if (c->ssl == NULL) {
        send_tcp(c, data, len);
        return;
    }
    CHECK(len == 0 || SSL_write(c->ssl, data, (int)len) == (int)len);
    flush_tls(c);
}

static void flush(struct peer_connection *c)
{
    const uint8_t *data;
    for (ssize_t len;
         !c->gone && !c->peer->options.no_settings && (len = nghttp2_session_mem_send(c->session, &data)) > 0;)
        send_bytes(c, data, (size_t)len);
}

static struct peer_stream *stream_of(struct peer_connection *c, int32_t id)
{
    return id > 0 ? nghttp2_session_get_stream_user_data(c->session, id) : NULL;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct peer_connection *c = arg;
    struct http2_peer *p = c->peer;
    CHECK(p->seen_count < MAX_REQUESTS && p->step_count > 0);
    struct peer_stream *s = MEM_NEW(struct peer_stream);
    s->step = &p->steps[p->seen_count < p->step_count ? p->seen_count : p->step_count - 1];
    s->seen = p->seen[p->seen_count++] = MEM_NEW(struct http2_seen);
    s->seen->connection = c->number;
    s->seen->act = s->step->act;
    buf_init(&s->seen->body, 64 << 20);
    if (++c->open_streams > p->most_streams)
        p->most_streams = c->open_streams;
    return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, s);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *arg)
{
    (void)session;
    (void)flags;
    struct peer_stream *s = stream_of(arg, frame->hd.stream_id);
    size_t used = strlen(s->seen->head);
    snprintf(s->seen->head + used, sizeof s->seen->head - used, "%.*s: %.*s\n", (int)name_len, (const char *)name,
             (int)value_len, (const char *)value);
    return 0;
}

static int on_body(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *arg)
{
    (void)session;
    (void)flags;
    struct peer_stream *s = stream_of(arg, id);
    if (s != NULL)
        buf_add(&s->seen->body, data, len);
    return 0;
}

static nghttp2_nv make_nv(const char *name, const char *value)
{
    return (nghttp2_nv){
        .name = (uint8_t *)name, .namelen = strlen(name), .value = (uint8_t *)value, .valuelen = strlen(value)};
}

static ssize_t on_read(nghttp2_session *session, int32_t id, uint8_t *out, size_t room, uint32_t *flags,
                       nghttp2_data_source *source, void *arg)
{
    (void)arg;
    struct peer_stream *s = source->ptr;
    const struct http2_step *step = s->step;
    size_t len = step->body_len > 0 || step->body == NULL ? step->body_len : strlen(step->body);
    size_t total = len * (step->repeat ? step->repeat : 1), used = 0;
    bool half = step->act == HTTP2_BEGIN_ONLY || step->act == HTTP2_CUT_LATE;
    if (half)
        total /= 2;
    for (; s->sent < total && used < room; s->sent++)
        out[used++] = (uint8_t)step->body[s->sent % len];
    if (half && used == 0)
        return NGHTTP2_ERR_DEFERRED;
    if (half || s->sent < total)
        return (ssize_t)used;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (step->trailer_count > 0) {
        nghttp2_nv nv[16];
        for (size_t i = 0; i < step->trailer_count; i++)
            nv[i] = make_nv(step->trailers[i].name, step->trailers[i].value);
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        CHECK(nghttp2_submit_trailer(session, id, nv, step->trailer_count) == 0);
    }
    return (ssize_t)used;
}

static void answer(struct peer_connection *c, int32_t id, struct peer_stream *s)
{
    char status[8];
    nghttp2_nv nv[64];
    size_t n = 0;
    nghttp2_data_provider body = {.source.ptr = s, .read_callback = on_read};
    snprintf(status, sizeof status, "%d", s->step->status ? s->step->status : 200);
    nv[n++] = make_nv(":status", status);
    for (size_t i = 0; i < s->step->header_count; i++)
        nv[n++] = make_nv(s->step->headers[i].name, s->step->headers[i].value);
    bool only_head = s->step->body == NULL && s->step->trailer_count == 0;
    CHECK(nghttp2_submit_response(c->session, id, nv, n, only_head ? NULL : &body) == 0);
}

static void go_away(struct peer_connection *c, int32_t last, uint32_t code)
{
    last = last > c->most_taken ? last : c->most_taken;
    c->last = last < c->last ? last : c->last; // it only goes down
    nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE, c->last, code, NULL, 0);
}

static void act_at_head(struct peer_connection *c, int32_t id, struct peer_stream *s)
{
    switch (s->step->act) {
    case HTTP2_ANSWER_EARLY:
        answer(c, id, s);
        break;
    case HTTP2_RESET:
        nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, id, s->step->code);
        break;
    case HTTP2_GO_AWAY:
        go_away(c, id - 2 > 0 ? id - 2 : 0, s->step->code);
        break;
    case HTTP2_CUT:
        cut(c);
        break;
    default:
        break;
    }
}

static void act_at_end(struct peer_connection *c, int32_t id, struct peer_stream *s)
{
    if (id > c->last) { // as GOAWAY has said
        s->seen->act = HTTP2_SAY_NOTHING;
        return;
    }
    s->seen->whole = true;
    if (id > c->most_taken)
        c->most_taken = id;
    switch (s->step->act) {
    case HTTP2_LAST_ANSWER:
        go_away(c, id, NGHTTP2_NO_ERROR);
        answer(c, id, s);
        break;
    case HTTP2_ANSWER:
    case HTTP2_BEGIN_ONLY:
        answer(c, id, s);
        break;
    case HTTP2_CUT_LATE:
        answer(c, id, s);
        flush(c);
        cut(c);
        break;
    default:
        break;
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct peer_connection *c = arg;
    (void)session;
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0)
        c->peer->pings++;
    if (frame->hd.type == NGHTTP2_RST_STREAM)
        c->peer->resets++;
    struct peer_stream *s = stream_of(c, frame->hd.stream_id);
    if (s == NULL || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS)
        act_at_head(c, frame->hd.stream_id, s);
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && !c->gone)
        act_at_end(c, frame->hd.stream_id, s);
    return 0;
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct peer_stream *s = stream_of(arg, frame->hd.stream_id);
    if (s != NULL && s->step->act == HTTP2_ANSWER_EARLY && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
    struct peer_connection *c = arg;
    (void)session;
    (void)code;
    free(stream_of(c, id));
    nghttp2_session_set_stream_user_data(c->session, id, NULL);
    c->open_streams--;
    return 0;
}

static void start_session(struct peer_connection *c)
{
    const struct http2_peer_options *o = &c->peer->options;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    CHECK(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_body);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_option_set_no_auto_ping_ack(option, o->keeps_pings);
    nghttp2_option_set_no_auto_window_update(option, o->small_window);
    nghttp2_option_set_max_send_header_block_length(option, 1 << 20);
    CHECK(nghttp2_session_server_new2(&c->session, callbacks, c, option) == 0);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, o->settings, o->setting_count);
}

static void receive(struct peer_connection *c, const uint8_t *data, size_t len)
{
    if (nghttp2_session_mem_recv(c->session, data, len) < 0)
        cut(c);
    flush(c);
    if (!c->gone && !nghttp2_session_want_read(c->session) && !nghttp2_session_want_write(c->session))
        cut(c);
    if (c->peer->options.deaf && c->peer->seen_count > 0 && !c->gone)
        uv_read_stop((uv_stream_t *)&c->tcp);
}

static void receive_tls(struct peer_connection *c, const char *data, size_t len)
{
    uint8_t plain[16384];
    BIO_write(SSL_get_rbio(c->ssl), data, (int)len);
    for (int n; !c->gone && (n = SSL_read(c->ssl, plain, sizeof plain)) > 0;)
        receive(c, plain, (size_t)n);
    flush_tls(c);
}

static void open_tunnel(struct peer_connection *c, const char *head, size_t len)
{
    static const char ok[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    snprintf(c->peer->connect_head, sizeof c->peer->connect_head, "%.*s", (int)len, head);
    c->tunnel = true;
    send_tcp(c, ok, sizeof ok - 1);
    flush(c);
}

static void on_tcp_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct peer_connection *c = stream->data;
    if (n < 0)
        cut(c);
    else if (n > 0 && c->peer->options.is_proxy && !c->tunnel)
        open_tunnel(c, b->base, (size_t)n);
    else if (n > 0 && c->ssl != NULL)
        receive_tls(c, b->base, (size_t)n);
    else if (n > 0)
        receive(c, (const uint8_t *)b->base, (size_t)n);
    free(b->base);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)handle;
    *out = uv_buf_init(malloc(suggested), (unsigned)suggested);
}

static void start_tls(struct peer_connection *c)
{
    c->ssl = SSL_new(c->peer->options.tls);
    SSL_set_bio(c->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(c->ssl), -1);
    SSL_set_accept_state(c->ssl);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct http2_peer *p = listener->data;
    CHECK(status == 0 && p->connection_count < MAX_CONNECTIONS);
    struct peer_connection *c = MEM_NEW(struct peer_connection);
    c->number = p->connection_count;
    c->last = INT32_MAX;
    p->connections[p->connection_count++] = c;
    p->handles++;
    c->peer = p;
    uv_tcp_init(p->loop, &c->tcp);
    c->tcp.data = c;
    CHECK(uv_accept(listener, (uv_stream_t *)&c->tcp) == 0);
    start_session(c);
    if (p->options.tls != NULL)
        start_tls(c);
    if (p->options.greeting != NULL)
        send_tcp(c, p->options.greeting, strlen(p->options.greeting));
    uv_tcp_nodelay(&c->tcp, 1);
    uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_tcp_read);
}

struct http2_peer *http2_peer_create(uv_loop_t *loop, const struct http2_peer_options *options)
{
    struct http2_peer *p = MEM_NEW(struct http2_peer);
    struct sockaddr_in address;
    int len = sizeof address;
    p->loop = loop;
    if (options != NULL)
        p->options = *options;
    p->handles = 1;
    uv_tcp_init(loop, &p->listener);
    p->listener.data = p;
    uv_ip4_addr(p->options.address ? p->options.address : "127.0.0.1", p->options.port, &address);
    CHECK(uv_tcp_bind(&p->listener, (struct sockaddr *)&address, 0) == 0);
    CHECK(uv_listen((uv_stream_t *)&p->listener, 64, on_connection) == 0);
    CHECK(uv_tcp_getsockname(&p->listener, (struct sockaddr *)&address, &len) == 0);
    p->port = ntohs(address.sin_port);
    return p;
}

int http2_peer_port(const struct http2_peer *p)
{
    return p->port;
}

void http2_peer_script(struct http2_peer *p, const struct http2_step *steps, size_t count)
{
    p->steps = steps;
    p->step_count = count;
}

size_t http2_peer_connections(const struct http2_peer *p)
{
    return p->connection_count;
}

size_t http2_peer_open_connections(const struct http2_peer *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->connection_count; i++)
        n += !p->connections[i]->gone;
    return n;
}

size_t http2_peer_requests(const struct http2_peer *p)
{
    return p->seen_count;
}

const struct http2_seen *http2_peer_seen(const struct http2_peer *p, size_t i)
{
    CHECK(i < p->seen_count);
    return p->seen[i];
}

const char *http2_peer_connect_head(const struct http2_peer *p)
{
    return p->connect_head;
}

size_t http2_peer_pings(const struct http2_peer *p)
{
    return p->pings;
}

size_t http2_peer_resets(const struct http2_peer *p)
{
    return p->resets;
}

size_t http2_peer_most_streams(const struct http2_peer *p)
{
    return p->most_streams;
}

void http2_peer_send_raw(struct http2_peer *p, const void *data, size_t len)
{
    for (size_t i = 0; i < p->connection_count; i++)
        if (!p->connections[i]->gone)
            send_bytes(p->connections[i], data, len);
}

void http2_peer_goaway(struct http2_peer *p)
{
    for (size_t i = 0; i < p->connection_count; i++) {
        struct peer_connection *c = p->connections[i];
        if (c->gone)
            continue;
        nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(c->session),
                              NGHTTP2_NO_ERROR, NULL, 0);
        flush(c);
    }
}

void http2_peer_settings(struct http2_peer *p, const nghttp2_settings_entry *settings, size_t count)
{
    for (size_t i = 0; i < p->connection_count; i++) {
        nghttp2_submit_settings(p->connections[i]->session, NGHTTP2_FLAG_NONE, settings, count);
        flush(p->connections[i]);
    }
}

void http2_peer_open_window(struct http2_peer *p, int32_t bytes)
{
    for (size_t i = 0; i < p->connection_count; i++) {
        struct peer_connection *c = p->connections[i];
        nghttp2_submit_window_update(c->session, NGHTTP2_FLAG_NONE, 0, bytes);
        for (int32_t id = 1; id < 200; id += 2)
            if (stream_of(c, id) != NULL)
                nghttp2_submit_window_update(c->session, NGHTTP2_FLAG_NONE, id, bytes);
        flush(c);
    }
}

void http2_peer_cut(struct http2_peer *p)
{
    for (size_t i = 0; i < p->connection_count; i++)
        cut(p->connections[i]);
}

static void free_connection(struct peer_connection *c)
{
    for (int32_t id = 1; id < 2 * MAX_REQUESTS; id += 2)
        free(stream_of(c, id));
    nghttp2_session_del(c->session);
    SSL_free(c->ssl);
    free(c);
}

void http2_peer_destroy(struct http2_peer **peer)
{
    struct http2_peer *p = *peer;
    *peer = NULL;
    http2_peer_cut(p);
    uv_close((uv_handle_t *)&p->listener, on_handle_closed);
    while (p->handles > 0)
        loop_step(p->loop);
    for (size_t i = 0; i < p->connection_count; i++)
        free_connection(p->connections[i]);
    for (size_t i = 0; i < p->seen_count; i++) {
        buf_fini(&p->seen[i]->body);
        free(p->seen[i]);
    }
    free(p);
}
