// SPDX-License-Identifier: Apache-2.0
#include "tests/support/raw_peer.h"
#include "tests/support/loop_step.h"

#include "base/check.h"
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

enum { MAX_CONNECTIONS = 64, MAX_SCRIPTS = 16 };

struct raw_script {
    const struct raw_step *steps;
    size_t count;
};

struct raw_connection {
    struct raw_peer *peer;
    uv_tcp_t tcp;
    const struct raw_script *script;
    size_t at, sent; // of the step
    char *received;
    size_t received_len, capacity, searched;
    bool busy, gone;
    SSL *ssl;
};

struct raw_write {
    uv_write_t write;
    struct raw_connection *connection;
    char *data;
    bool continues;
};

struct raw_peer {
    uv_loop_t *loop;
    SSL_CTX *tls;
    uv_tcp_t listener;
    int port;
    struct raw_script scripts[MAX_SCRIPTS];
    size_t script_count;
    struct raw_connection *connections[MAX_CONNECTIONS];
    size_t connection_count;
    size_t handles;
};

static void advance(struct raw_connection *c);

static void on_handle_closed(uv_handle_t *handle)
{
    struct raw_peer *p = handle->data;
    p->handles--;
}

static void connection_end(struct raw_connection *c, bool reset)
{
    if (uv_is_closing((uv_handle_t *)&c->tcp))
        return;
    c->gone = true;
    c->tcp.data = c->peer;
    if (!reset || uv_tcp_close_reset(&c->tcp, on_handle_closed) != 0)
        uv_close((uv_handle_t *)&c->tcp, on_handle_closed);
}

static void on_sent(uv_write_t *write, int status)
{
    struct raw_write *w = (struct raw_write *)write;
    struct raw_connection *c = w->connection;
    bool continues = w->continues;
    free(w->data);
    free(w);
    if (!continues || c->gone)
        return;
    c->busy = false;
    if (status == 0)
        advance(c);
}

static void send_raw(struct raw_connection *c, const void *data, size_t len, bool continues)
{
    struct raw_write *w = MEM_NEW(struct raw_write);
    w->connection = c;
    w->continues = continues;
    w->data = mem_alloc(len);
    memcpy(w->data, data, len);
    c->busy = c->busy || continues;
    uv_buf_t b = {.base = w->data, .len = len};
    if (uv_write(&w->write, (uv_stream_t *)&c->tcp, &b, 1, on_sent) != 0) {
        free(w->data);
        free(w);
    }
}

static void flush_tls(struct raw_connection *c, bool continues)
{
    char *data;
    long len = BIO_get_mem_data(SSL_get_wbio(c->ssl), &data);
    if (len > 0 || continues)
        send_raw(c, data, (size_t)len, continues);
    BIO_reset(SSL_get_wbio(c->ssl));
}

static void send_plain(struct raw_connection *c, const char *data, size_t len)
{
    if (c->ssl == NULL) {
        send_raw(c, data, len, true);
        return;
    }
    CHECK(SSL_write(c->ssl, data, (int)len) == (int)len);
    flush_tls(c, true);
}

static void start_tls(struct raw_connection *c)
{
    CHECK(c->peer->tls != NULL);
    c->ssl = SSL_new(c->peer->tls);
    SSL_set_bio(c->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(c->ssl), -1);
    SSL_set_accept_state(c->ssl);
}

static bool found(struct raw_connection *c, const char *text)
{
    const char *at = c->received ? strstr(c->received + c->searched, text) : NULL;
    size_t len = strlen(text);
    if (at != NULL)
        c->searched = (size_t)(at - c->received) + len;
    else if (c->received_len > c->searched + len)
        c->searched = c->received_len - len;
    return at != NULL;
}

// Does one step; false when it must wait.
static bool step(struct raw_connection *c, const struct raw_step *s)
{
    size_t len = s->text ? strlen(s->text) : 0, times = s->repeat ? s->repeat : 1;
    switch (s->kind) {
    case RAW_EXPECT:
        return found(c, s->text);
    case RAW_SEND:
    case RAW_SEND_BYTEWISE:
        if (s->kind == RAW_SEND_BYTEWISE)
            times = len;
        if (c->sent == times)
            return true;
        send_plain(c, s->kind == RAW_SEND ? s->text : s->text + c->sent, s->kind == RAW_SEND ? len : 1);
        c->sent++;
        return false;
    case RAW_START_TLS:
        start_tls(c);
        return true;
    case RAW_STOP_READING:
        uv_read_stop((uv_stream_t *)&c->tcp);
        return true;
    case RAW_CLOSE:
        if (c->ssl != NULL) {
            SSL_shutdown(c->ssl);
            flush_tls(c, false);
        }
        connection_end(c, false);
        return false;
    case RAW_CUT:
        connection_end(c, false);
        return false;
    case RAW_RESET:
        connection_end(c, true);
        return false;
    }
    return false;
}

static void advance(struct raw_connection *c)
{
    while (!c->busy && !c->gone && c->at < c->script->count && step(c, &c->script->steps[c->at])) {
        c->at++;
        c->sent = 0;
    }
}

static void keep(struct raw_connection *c, const char *data, size_t len)
{
    if (c->received_len + len + 1 > c->capacity) {
        c->capacity = 2 * (c->received_len + len + 1);
        c->received = realloc(c->received, c->capacity);
        CHECK(c->received != NULL);
    }
    memcpy(c->received + c->received_len, data, len);
    c->received_len += len;
    c->received[c->received_len] = '\0';
}

static void receive_tls(struct raw_connection *c, const char *data, size_t len)
{
    char plain[16384];
    BIO_write(SSL_get_rbio(c->ssl), data, (int)len);
    for (int n; (n = SSL_read(c->ssl, plain, sizeof plain)) > 0;)
        keep(c, plain, (size_t)n);
    flush_tls(c, false);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct raw_connection *c = stream->data;
    if (n < 0) {
        connection_end(c, false);
    } else if (n > 0) {
        c->ssl != NULL ? receive_tls(c, b->base, (size_t)n) : keep(c, b->base, (size_t)n);
        advance(c);
    }
    free(b->base);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)handle;
    *out = uv_buf_init(malloc(suggested), (unsigned)suggested);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct raw_peer *p = listener->data;
    CHECK(status == 0 && p->connection_count < MAX_CONNECTIONS && p->script_count > 0);
    struct raw_connection *c = MEM_NEW(struct raw_connection);
    size_t i = p->connection_count++;
    p->connections[i] = c;
    p->handles++;
    c->peer = p;
    c->script = &p->scripts[i < p->script_count ? i : p->script_count - 1];
    uv_tcp_init(p->loop, &c->tcp);
    c->tcp.data = c;
    CHECK(uv_accept(listener, (uv_stream_t *)&c->tcp) == 0);
    uv_tcp_nodelay(&c->tcp, 1);
    uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
    advance(c);
}

struct raw_peer *raw_peer_create(uv_loop_t *loop, SSL_CTX *tls)
{
    struct raw_peer *p = MEM_NEW(struct raw_peer);
    struct sockaddr_in address;
    int len = sizeof address;
    p->loop = loop;
    p->tls = tls;
    p->handles = 1;
    uv_tcp_init(loop, &p->listener);
    p->listener.data = p;
    uv_ip4_addr("127.0.0.1", 0, &address);
    CHECK(uv_tcp_bind(&p->listener, (struct sockaddr *)&address, 0) == 0);
    CHECK(uv_listen((uv_stream_t *)&p->listener, 64, on_connection) == 0);
    CHECK(uv_tcp_getsockname(&p->listener, (struct sockaddr *)&address, &len) == 0);
    p->port = ntohs(address.sin_port);
    return p;
}

int raw_peer_port(const struct raw_peer *p)
{
    return p->port;
}

void raw_peer_script(struct raw_peer *p, const struct raw_step *steps, size_t count)
{
    CHECK(p->script_count < MAX_SCRIPTS);
    p->scripts[p->script_count++] = (struct raw_script){steps, count};
}

size_t raw_peer_connections(const struct raw_peer *p)
{
    return p->connection_count;
}

const char *raw_peer_received(const struct raw_peer *p, size_t i)
{
    CHECK(i < p->connection_count);
    return p->connections[i]->received ? p->connections[i]->received : "";
}

size_t raw_peer_received_len(const struct raw_peer *p, size_t i)
{
    CHECK(i < p->connection_count);
    return p->connections[i]->received_len;
}

bool raw_peer_gone(const struct raw_peer *p, size_t i)
{
    return i < p->connection_count && p->connections[i]->gone;
}

void raw_peer_destroy(struct raw_peer **peer)
{
    struct raw_peer *p = *peer;
    *peer = NULL;
    for (size_t i = 0; i < p->connection_count; i++)
        connection_end(p->connections[i], false);
    uv_close((uv_handle_t *)&p->listener, on_handle_closed);
    while (p->handles > 0)
        loop_step(p->loop);
    for (size_t i = 0; i < p->connection_count; i++) {
        SSL_free(p->connections[i]->ssl);
        free(p->connections[i]->received);
        free(p->connections[i]);
    }
    free(p);
}
