// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 as a server: one exchange at a time; what is pipelined behind it waits in one buffer, and reading stops.
#include "base/mem.h"
#include "net/http1_request.h"
#include "net/http_engine.h"

enum {
    READ_BYTES = 8 << 10,
    READ_BODY_BYTES = 64 << 10,
    ANSWER_HEAD_MAX_BYTES = 64 << 10,
    // A refused body of so many bytes is read and dropped, so that the connection lives on.
    DROP_MAX_BYTES = 256 << 10,
    // So many pipelined requests are served before others have their turn.
    PIPELINED_AT_ONCE = 32,
};

struct http1_server {
    struct http_engine engine;
    struct http1_request request;
    struct http_exchange *x; // between its head and its answer
    bool ended;              // the request is complete
    bool answered;           // its answer is in out
    bool head_only;          // an answer to HEAD
    bool close_after, draining, deaf;
    struct buf pending; // received behind the request
    struct buf out;     // heads
    struct buf body;    // of the answer
    struct buf tail;    // of a body in chunks: the last one, and trailers
    size_t out_sent, body_sent, tail_sent;
    uint64_t since_ms; // the phase began
    uint64_t received; // bytes of this body
};

static struct http1_server *of(const struct http_engine *e)
{
    return (struct http1_server *)e;
}

static uint64_t now(const struct http1_server *s)
{
    return s->engine.link->now_ms(s->engine.link);
}

static void write_header(struct buf *out, const char *name, const char *value)
{
    buf_add_text(out, name);
    buf_add_text(out, ": ");
    buf_add_text(out, value);
    buf_add_text(out, "\r\n");
}

static void write_headers(struct buf *out, const struct http_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (http_answer_takes(&headers[i]))
            write_header(out, headers[i].name, headers[i].value);
}

static const char *connection_header(const struct http1_server *s)
{
    if (s->close_after)
        return "Connection: close\r\n";
    return s->request.is_old ? "Connection: keep-alive\r\n" : "";
}

// What of the request's body is still to come can be dropped cheaply.
static bool can_drop_rest(const struct http1_server *s)
{
    const struct http1_request *r = &s->request;
    return r->content_length >= 0 && r->content_length <= DROP_MAX_BYTES && !r->expects_continue;
}

// Trailers need a body in chunks: here it is one.
static void write_framing(struct http1_server *s, const struct http_answer *a, size_t len)
{
    if (a->trailer_count == 0 || s->request.is_old) {
        buf_add_format(&s->out, "Content-Length: %zu\r\n", len);
        return;
    }
    buf_add_text(&s->out, "Transfer-Encoding: chunked\r\n");
    for (size_t i = 0; i < a->trailer_count; i++)
        if (http_answer_takes(&a->trailers[i]))
            write_header(&s->out, "Trailer", a->trailers[i].name);
    if (s->head_only)
        return;
    buf_add_text(&s->tail, len > 0 ? "\r\n0\r\n" : "0\r\n");
    write_headers(&s->tail, a->trailers, a->trailer_count);
    buf_add_text(&s->tail, "\r\n");
}

static void begin_answer(struct http1_server *s, const struct http_answer *a)
{
    bool bodiless = a->status == 204 || a->status == 304;
    size_t len = a->body != NULL && !bodiless ? a->body->len : 0;
    s->close_after = s->close_after || s->draining || !s->request.keep_alive || (!s->ended && !can_drop_rest(s));
    s->deaf = s->close_after;
    buf_add_format(&s->out, "HTTP/1.1 %d %s\r\n", a->status, http_reason(a->status));
    write_header(&s->out, "Date", s->engine.link->date(s->engine.link));
    write_headers(&s->out, a->headers, a->header_count);
    if (!bodiless)
        write_framing(s, a, len);
    buf_add_text(&s->out, connection_header(s));
    buf_add_text(&s->out, "\r\n");
    if (len > 0 && !s->head_only) {
        if (s->tail.len > 0)
            buf_add_format(&s->out, "%zx\r\n", len);
        s->body = *a->body;
        *a->body = (struct buf){0};
    }
    s->answered = true;
    s->x = NULL;
}

static void on_answer(struct http_engine *e, struct http_exchange *x, const struct http_answer *a)
{
    struct http1_server *s = of(e);
    CHECK(s->x == x);
    begin_answer(s, a);
    if (!buf_ok(&s->out) || !buf_ok(&s->tail)) { // memory is out, or headers without end: nothing sensible can be said
        buf_clear(&s->out);
        buf_clear(&s->tail);
        buf_fini(&s->body);
        s->close_after = s->deaf = true;
    }
}

static void refuse_request(struct http1_server *s)
{
    const struct http_header type = {"content-type", "text/plain; charset=utf-8"};
    const char *text = s->request.refusal_text;
    s->close_after = s->deaf = true;
    if (s->x != NULL) {
        http_exchange_refuse(s->x, s->request.refusal, text);
        return;
    }
    // the answer is on its way, and nonsense follows it; or nobody is there to understand one
    if (s->answered || s->request.refusal == HTTP1_NOT_HTTP)
        return;
    struct buf body;
    buf_init(&body, READ_BYTES);
    buf_add_format(&body, "%s\n", text);
    struct http_answer answer = {.status = s->request.refusal, .headers = &type, .header_count = 1, .body = &body};
    begin_answer(s, &answer);
    buf_fini(&body);
}

static void fill_head(struct http1_server *s, struct http_exchange *x)
{
    struct http1_request *r = &s->request;
    x->head.version = r->is_old ? HTTP_VERSION_1_0 : HTTP_VERSION_1_1;
    x->head.method = bytes_from_text(http1_request_method(r));
    x->head.content_length = r->content_length;
    x->head.authority = r->authority;
    http_exchange_split_target(x, r->path);
    x->raw = r->headers;
    x->target = r->target; // path and authority point into it
    size_t seen = r->headers.seen_bytes, max = r->headers.max_bytes;
    http1_headers_init(&r->headers);
    http1_headers_limit(&r->headers, max);
    r->headers.seen_bytes = seen;
    r->headers.complete = true; // trailers are counted
    buf_init(&r->target, max);
}

static void begin_exchange(struct http1_server *s)
{
    struct http_exchange *x = http_exchange_create(&s->engine);
    s->x = x;
    s->since_ms = now(s);
    s->received = 0;
    s->head_only = s->request.parser.method == HTTP_HEAD;
    fill_head(s, x);
    if (!http_exchange_index(x)) {
        s->request.refusal = 503;
        s->request.refusal_text = "out of memory";
        s->x = NULL;
        http_exchange_destroy(x);
        refuse_request(s);
    } else if (http_exchange_begin(x) && s->request.expects_continue) {
        buf_add_text(&s->out, "HTTP/1.1 100 Continue\r\n\r\n");
        s->request.expects_continue = false; // from here on the body comes
    }
}

static void on_body(void *arg, struct bytes piece)
{
    struct http1_server *s = arg;
    s->received += piece.len;
    if (s->x != NULL && !http_exchange_add(s->x, piece))
        CHECK(s->x == NULL);
}

static void end_request(struct http1_server *s)
{
    s->ended = true;
    if (s->x != NULL)
        http_exchange_complete(s->x);
}

static void process(struct http1_server *s, struct bytes data)
{
    while (!s->deaf) {
        if (s->ended) {
            buf_add(&s->pending, data.data, data.len);
            if (!buf_ok(&s->pending))
                s->close_after = s->deaf = true;
            return;
        }
        if (!s->request.begun && data.len > 0)
            s->since_ms = now(s);
        switch (http1_request_feed(&s->request, &data)) {
        case HTTP1_REQUEST_MORE:
            return;
        case HTTP1_REQUEST_HEAD:
            begin_exchange(s);
            break;
        case HTTP1_REQUEST_END:
            end_request(s);
            break;
        case HTTP1_REQUEST_BAD:
            refuse_request(s);
            return;
        }
    }
}

// Answer sent and request complete: on to the next one, which may be here already.
static void next_request(struct http1_server *s)
{
    struct buf pending = s->pending;
    buf_init(&s->pending, READ_BODY_BYTES);
    s->ended = s->answered = s->head_only = false;
    s->since_ms = now(s);
    http1_request_next(&s->request);
    process(s, buf_bytes(&pending));
    buf_fini(&pending);
}

static void receive(struct http_engine *e, struct bytes data)
{
    struct http1_server *s = of(e);
    process(s, data);
}

static size_t read_size(const struct http_engine *e)
{
    const struct http1_server *s = of(e);
    if (s->pending.len > 0 || s->deaf)
        return 0;
    return s->x != NULL && !s->ended ? READ_BODY_BYTES : READ_BYTES;
}

static size_t take(const struct buf *from, size_t *sent, uint8_t *room, size_t size)
{
    size_t left = from->len - *sent, n = left < size ? left : size;
    if (n > 0)
        memcpy(room, from->data + *sent, n);
    *sent += n;
    return n;
}

static void clear_sent(struct http1_server *s)
{
    buf_fini(&s->out);
    buf_init(&s->out, ANSWER_HEAD_MAX_BYTES);
    buf_fini(&s->body);
    buf_fini(&s->tail);
    buf_init(&s->tail, ANSWER_HEAD_MAX_BYTES);
    s->out_sent = s->body_sent = s->tail_sent = 0;
}

static size_t produce(struct http_engine *e, uint8_t *room, size_t size)
{
    struct http1_server *s = of(e);
    size_t n = 0;
    for (int i = 0; i < PIPELINED_AT_ONCE; i++) {
        n += take(&s->out, &s->out_sent, room + n, size - n);
        n += take(&s->body, &s->body_sent, room + n, size - n);
        n += take(&s->tail, &s->tail_sent, room + n, size - n);
        if (s->out_sent < s->out.len || s->body_sent < s->body.len || s->tail_sent < s->tail.len)
            return n;
        clear_sent(s);
        if (!s->answered || !s->ended || s->close_after)
            return n;
        next_request(s);
    }
    return n;
}

static bool is_idle(const struct http_engine *e)
{
    const struct http1_server *s = of(e);
    return s->x == NULL && !s->answered && !s->request.begun && s->out.len == 0;
}

static bool is_finished(const struct http_engine *e)
{
    const struct http1_server *s = of(e);
    if (s->x != NULL || s->out.len > 0 || s->body.len > 0 || s->tail.len > 0)
        return false;
    return s->close_after || (s->draining && is_idle(e));
}

static void drain(struct http_engine *e)
{
    of(e)->draining = true;
}

static uint64_t deadline_ms(const struct http_engine *e)
{
    const struct http1_server *s = of(e);
    const struct http_limits *l = e->link->limits;
    if (s->deaf || s->ended)
        return HTTP_NEVER;
    if (!s->request.begun)
        return http_time_after(s->since_ms, l->idle_ms);
    if (s->x == NULL && !s->answered)
        return http_time_after(s->since_ms, l->header_ms);
    return http_body_deadline(l, s->since_ms, s->received);
}

static void expire(struct http_engine *e)
{
    struct http1_server *s = of(e);
    if (!s->request.begun) {
        s->close_after = s->deaf = true;
        return;
    }
    s->request.refusal = 408;
    s->request.refusal_text = "the request came too slowly";
    refuse_request(s);
}

static void abort_all(struct http_engine *e)
{
    struct http1_server *s = of(e);
    struct http_exchange *x = s->x;
    s->x = NULL;
    s->close_after = s->deaf = true;
    if (x != NULL)
        http_exchange_abort(x);
}

static void destroy(struct http_engine *e)
{
    struct http1_server *s = of(e);
    http1_request_fini(&s->request);
    buf_fini(&s->pending);
    buf_fini(&s->out);
    buf_fini(&s->body);
    buf_fini(&s->tail);
    free(s);
}

static const struct http_engine_ops ops = {
    .receive = receive,
    .read_size = read_size,
    .produce = produce,
    .is_finished = is_finished,
    .is_idle = is_idle,
    .drain = drain,
    .deadline_ms = deadline_ms,
    .expire = expire,
    .abort = abort_all,
    .destroy = destroy,
    .answer = on_answer,
};

struct http_engine *http1_server_create(struct http_link *link)
{
    struct http1_server *s = MEM_NEW(struct http1_server);
    s->engine = (struct http_engine){&ops, link};
    http1_request_init(&s->request, link->limits->max_header_bytes, on_body, s);
    buf_init(&s->pending, READ_BODY_BYTES);
    buf_init(&s->out, ANSWER_HEAD_MAX_BYTES);
    buf_init(&s->tail, ANSWER_HEAD_MAX_BYTES);
    s->since_ms = now(s);
    return &s->engine;
}
