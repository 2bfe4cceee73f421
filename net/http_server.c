// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/http1_server.h"
#include "net/sigpipe.h"

enum {
    DEFAULT_CONNECTIONS = 64,
    REQUEST_SECONDS = 10,
    IDLE_SECONDS = 60,
    WRITE_MS = 30 * 1000,
    LINGER_MS = 2 * 1000,
    READ_BYTES = 16 << 10,
    HEAD_MAX_BYTES = 1024,
    BACKLOG = 128,
};

struct http_server {
    uv_loop_t *loop;
    struct http_server_options options;
    uv_tcp_t listener;
    int port;
    uint64_t request_ms, idle_ms;
    struct peer *peers;
    uint32_t peer_count;
    uint32_t live; // the listener and peers whose memory is still in use
    bool closing;
    void (*on_closed)(void *arg);
    void *on_closed_arg;
};

struct peer {
    struct http_server *server;
    struct peer *next;
    uv_tcp_t tcp;
    uv_timer_t timer;
    uint32_t handles;
    bool closing, close_after, lingering, writing;
    uv_write_t write;
    uv_shutdown_t shutdown;
    struct http1_request request;
    struct buf head;
    struct http_page page;
    struct buf pending; // bytes of the next request that came with this one
};

static void read_requests(struct peer *p, struct bytes received);
static void on_peer_timer(uv_timer_t *timer);

static uint64_t to_ms(int64_t nanos, uint64_t default_seconds)
{
    return nanos > 0 ? ((uint64_t)nanos + NANOS_PER_MS - 1) / NANOS_PER_MS : default_seconds * 1000;
}

static void server_unref(struct http_server *s)
{
    if (--s->live > 0)
        return;
    void (*on_closed)(void *) = s->on_closed;
    void *arg = s->on_closed_arg;
    free(s);
    if (on_closed != NULL)
        on_closed(arg);
}

static void on_peer_handle_closed(uv_handle_t *handle)
{
    struct peer *p = handle->data;
    if (--p->handles > 0)
        return;
    struct http_server *s = p->server;
    http1_request_fini(&p->request);
    buf_fini(&p->head);
    buf_fini(&p->page.body);
    buf_fini(&p->pending);
    free(p);
    server_unref(s);
}

static void peer_close(struct peer *p)
{
    if (p->closing)
        return;
    p->closing = true;
    struct peer **at = &p->server->peers;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    p->server->peer_count--;
    uv_close((uv_handle_t *)&p->tcp, on_peer_handle_closed);
    uv_close((uv_handle_t *)&p->timer, on_peer_handle_closed);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    struct peer *p = request->data;
    if (status < 0)
        peer_close(p);
}

// Lets the peer read the answer before the socket goes: closing with unread input would reset it.
static void linger(struct peer *p)
{
    p->lingering = true;
    p->shutdown.data = p;
    uv_timer_start(&p->timer, on_peer_timer, LINGER_MS, 0);
    if (uv_shutdown(&p->shutdown, (uv_stream_t *)&p->tcp, on_shutdown) < 0)
        peer_close(p);
}

static void on_response_written(uv_write_t *write, int status)
{
    struct peer *p = write->data;
    p->writing = false;
    if (p->closing)
        return;
    if (status < 0) {
        peer_close(p);
        return;
    }
    buf_fini(&p->page.body);
    if (p->close_after) {
        linger(p);
        return;
    }
    struct buf pending = p->pending;
    buf_init(&p->pending, READ_BYTES);
    http1_request_next(&p->request);
    uv_timer_start(&p->timer, on_peer_timer, pending.len > 0 ? p->server->request_ms : p->server->idle_ms, 0);
    read_requests(p, buf_bytes(&pending));
    buf_fini(&pending);
}

static void send_response(struct peer *p, const char *extra_header)
{
    const struct http_page *page = &p->page;
    bool is_old = p->request.parser.http_minor == 0 && p->request.state == HTTP1_COMPLETE;
    bool head_only = strcmp(http1_request_method(&p->request), "HEAD") == 0;
    buf_clear(&p->head);
    buf_add_format(&p->head, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s\r\n", page->status,
                   http1_reason(page->status), page->content_type, page->body.len, extra_header,
                   p->close_after ? "Connection: close\r\n"
                   : is_old       ? "Connection: keep-alive\r\n"
                                  : "");
    uv_buf_t bufs[2] = {uv_buf_init((char *)p->head.data, (unsigned)p->head.len),
                        {.base = (char *)page->body.data, .len = page->body.len}};
    p->write.data = p;
    p->writing = true;
    uv_timer_start(&p->timer, on_peer_timer, WRITE_MS, 0);
    unsigned count = head_only || page->body.len == 0 ? 1 : 2;
    if (!buf_ok(&p->head) || uv_write(&p->write, (uv_stream_t *)&p->tcp, bufs, count, on_response_written) < 0)
        peer_close(p);
}

static void page_reset(struct http_page *page, int status)
{
    buf_fini(&page->body);
    *page = (struct http_page){.status = status, .content_type = "text/plain; charset=utf-8"};
    buf_init(&page->body, LIMIT_METRICS_PAGE_BYTES);
}

static void refuse(struct peer *p, int status, const char *text)
{
    page_reset(&p->page, status);
    buf_add_format(&p->page.body, "%s\n", text);
    p->close_after = true;
    send_response(p, status == 405 ? "Allow: GET, HEAD\r\n" : "");
}

static void answer(struct peer *p)
{
    struct http1_request *r = &p->request;
    struct bytes target = buf_bytes(&r->target);
    const uint8_t *mark = memchr(target.data, '?', target.len);
    size_t path_len = mark != NULL ? (size_t)(mark - target.data) : target.len;
    struct http_page_request request = {.method = bytes_from_text(http1_request_method(r)),
                                        .path = {target.data, path_len}};
    if (mark != NULL)
        request.query = (struct bytes){mark + 1, target.len - path_len - 1};
    if (!bytes_equal_text(request.method, "GET") && !bytes_equal_text(request.method, "HEAD")) {
        refuse(p, 405, "only GET and HEAD are allowed here");
        return;
    }
    page_reset(&p->page, 200);
    p->server->options.on_request(p->server->options.arg, &request, &p->page);
    p->close_after = !r->keep_alive;
    if (buf_ok(&p->page.body))
        send_response(p, "");
    else
        refuse(p, 500, "the page is too large or memory is out");
}

static void invite_body(struct peer *p)
{
    char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    uv_buf_t b = uv_buf_init(text, sizeof text - 1);
    p->request.expects_continue = false;
    uv_try_write((uv_stream_t *)&p->tcp, &b, 1);
}

static void read_requests(struct peer *p, struct bytes received)
{
    size_t used;
    if (p->close_after)
        return; // what follows the last answer is not read
    if (p->writing) {
        buf_add(&p->pending, received.data, received.len);
        if (!buf_ok(&p->pending))
            peer_close(p); // pipelines more than it reads
        return;
    }
    if (!p->request.begun && received.len > 0)
        uv_timer_start(&p->timer, on_peer_timer, p->server->request_ms, 0);
    enum http1_state state = http1_request_feed(&p->request, received, &used);
    if (state == HTTP1_FAILED) {
        refuse(p, p->request.refusal, p->request.refusal_text);
    } else if (state == HTTP1_COMPLETE) {
        buf_add(&p->pending, received.data + used, received.len - used);
        answer(p);
    } else if (p->request.expects_continue) {
        invite_body(p);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)handle;
    (void)suggested;
    char *data = mem_try_alloc(READ_BYTES);
    *out = uv_buf_init(data, data != NULL ? READ_BYTES : 0);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct peer *p = stream->data;
    if (n < 0)
        peer_close(p);
    else if (n > 0 && !p->closing && !p->lingering)
        read_requests(p, (struct bytes){(const uint8_t *)b->base, (size_t)n});
    free(b->base);
}

static void on_peer_timer(uv_timer_t *timer)
{
    peer_close(timer->data);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct http_server *s = listener->data;
    if (status < 0 || s->closing)
        return;
    struct peer *p = MEM_NEW(struct peer);
    p->server = s;
    p->handles = 2;
    CHECK(uv_tcp_init(s->loop, &p->tcp) == 0 && uv_timer_init(s->loop, &p->timer) == 0);
    p->tcp.data = p->timer.data = p;
    http1_request_init(&p->request);
    buf_init(&p->head, HEAD_MAX_BYTES);
    buf_init(&p->pending, READ_BYTES);
    page_reset(&p->page, 200);
    p->next = s->peers;
    s->peers = p;
    s->peer_count++;
    s->live++;
    bool refused = uv_accept(listener, (uv_stream_t *)&p->tcp) < 0 || s->peer_count > s->options.max_connections;
    if (refused || uv_read_start((uv_stream_t *)&p->tcp, on_alloc, on_read) < 0) {
        peer_close(p);
        return;
    }
    uv_tcp_nodelay(&p->tcp, 1);
    uv_timer_start(&p->timer, on_peer_timer, p->server->request_ms, 0);
}

static void on_listener_closed(uv_handle_t *handle)
{
    server_unref(handle->data);
}

static void note_port(struct http_server *s)
{
    struct sockaddr_storage address;
    int len = sizeof address;
    if (uv_tcp_getsockname(&s->listener, (struct sockaddr *)&address, &len) < 0)
        return;
    s->port = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                  : ((struct sockaddr_in *)&address)->sin_port);
}

static void on_failed_listener_closed(uv_handle_t *handle)
{
    free(handle->data);
}

// One socket bound and listening, or an error of libuv.
static int listen_on(uv_loop_t *loop, uv_tcp_t *tcp, const struct sockaddr *address)
{
    CHECK(uv_tcp_init(loop, tcp) == 0);
    int status = uv_tcp_bind(tcp, address, 0);
    return status < 0 ? status : uv_listen((uv_stream_t *)tcp, BACKLOG, on_connection);
}

// IPv4 first: "localhost" then is where everybody expects it.
static int listen_on_first(uv_loop_t *loop, const struct addrinfo *addresses, struct http_server **out)
{
    static const int families[] = {AF_INET, AF_INET6};
    int status = UV_EAI_NONAME;
    for (size_t f = 0; f < COUNT_OF(families); f++)
        for (const struct addrinfo *a = addresses; a != NULL; a = a->ai_next) {
            if (a->ai_family != families[f])
                continue;
            struct http_server *s = MEM_NEW(struct http_server);
            status = listen_on(loop, &s->listener, a->ai_addr);
            if (status == 0) {
                *out = s;
                return 0;
            }
            s->listener.data = s;
            uv_close((uv_handle_t *)&s->listener, on_failed_listener_closed);
        }
    return status;
}

static enum err_code resolve(uv_loop_t *loop, const char *endpoint, uv_getaddrinfo_t *request, struct err *e)
{
    char host[URL_HOST_MAX + 1], port_text[8];
    uint16_t port;
    enum err_code code = endpoint_parse(endpoint, host, &port, e);
    if (code != ERR_OK)
        return code;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    snprintf(port_text, sizeof port_text, "%u", port);
    // RFC 6761 §6.3: localhost needs no name service
    const char *name = strcasecmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    // without a callback libuv resolves here and now: a listening address is local or a literal
    int status = uv_getaddrinfo(loop, request, NULL, name, port_text, &hints);
    return status == 0 ? ERR_OK : err_set(e, ERR_IO, "resolve %s: %s", host, uv_strerror(status));
}

enum err_code http_server_create(uv_loop_t *loop, const struct http_server_options *options, struct http_server **out,
                                 struct err *e)
{
    *out = NULL;
    sigpipe_ignore();
    uv_getaddrinfo_t request;
    enum err_code code = resolve(loop, options->endpoint, &request, e);
    if (code != ERR_OK) {
        err_prefix(e, "listen on %s", options->endpoint);
        return code;
    }
    struct http_server *s = NULL;
    int status = listen_on_first(loop, request.addrinfo, &s);
    uv_freeaddrinfo(request.addrinfo);
    if (s == NULL)
        return err_set(e, ERR_IO, "listen on %s: %s", options->endpoint, uv_strerror(status));
    s->loop = loop;
    s->options = *options;
    if (s->options.max_connections == 0)
        s->options.max_connections = DEFAULT_CONNECTIONS;
    s->request_ms = to_ms(options->request_timeout_nanos, REQUEST_SECONDS);
    s->idle_ms = to_ms(options->idle_timeout_nanos, IDLE_SECONDS);
    s->live = 1;
    s->listener.data = s;
    note_port(s);
    *out = s;
    return ERR_OK;
}

int http_server_port(const struct http_server *s)
{
    return s->port;
}

void http_server_close(struct http_server **server, void (*on_closed)(void *arg), void *arg)
{
    struct http_server *s = *server;
    if (s == NULL)
        return;
    *server = NULL;
    s->closing = true;
    s->on_closed = on_closed;
    s->on_closed_arg = arg;
    while (s->peers != NULL)
        peer_close(s->peers);
    uv_close((uv_handle_t *)&s->listener, on_listener_closed);
}
