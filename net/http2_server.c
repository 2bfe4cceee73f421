// SPDX-License-Identifier: Apache-2.0
// HTTP/2 as a server (RFC 9113) on nghttp2: one exchange per stream. What a peer can make us do for nothing (resets,
// pings, settings, empty frames) is paid from two purses that fill slowly.
#include "base/mem.h"
#include "net/http2_headers.h"
#include "net/http2_purse.h"
#include "net/http_engine.h"

enum {
    STREAM_WINDOW_BYTES = 1 << 20,
    CONNECTION_WINDOW_BYTES = 4 << 20,
    READ_BYTES = 64 << 10,
    FRAME_MAX_BYTES = (16 << 10) + 64, // of ours, with its header
    HEADER_OVERHEAD_BYTES = 32,        // RFC 9113 §6.5.2
    // Beyond so many times the limit a header block is not worth an answer.
    HEADERS_HOPELESS = 4,
    GOAWAY_WAIT_MS = 1000,
    // After an early answer the client may send so much more, then its window runs dry, and its stream is reset after so
    // long: some clients (curl 7.88) lose an answer that a reset follows at once.
    LATE_WAIT_MS = 1000,
    LATE_MAX_BYTES = 256 << 10,
    STREAM_OUT_MAX_BYTES = 1 << 20,
    UNASKED_PING_MS = 2 * 3600 * 1000, // between PINGs where none is allowed
    MAX_CONTINUATIONS = 8,
    MAX_SETTINGS = 32,
    MAX_ACKS = 1000,
};

static const struct http2_purse_size reset_purse = {.capacity = 1000, .per_second = 100};
static const struct http2_purse_size control_purse = {.capacity = 10000, .per_second = 1000};
static const uint8_t drain_ping[8] = "drain";
static const uint8_t alive_ping[8] = "alive";

struct http2_stream {
    struct http2_stream *prev, *next;
    int32_t id;
    struct http_exchange *x; // until it is answered or gone
    uint64_t header_bytes;
    bool ended;   // by the peer
    bool open;    // the answer comes in pieces
    bool waiting; // its handler, until what it has said is sent
    bool answered;
    bool late; // the answer is sent, the request still comes
    struct buf body;
    size_t sent;
    struct http2_headers trailers;
    uint64_t since_ms; // the head came; then the answer's last progress; of a stream: any
    uint64_t received, late_bytes;
};

struct http2_server {
    struct http_engine engine;
    nghttp2_session *session;
    struct http2_stream *streams;
    size_t stream_count;
    struct http2_ids ids;
    struct http2_purse resets, controls;
    struct http2_pings pings;
    bool dead, draining, has_waiting;                                            // waiting: streams, perhaps
    uint64_t idle_since_ms, head_since_ms, heard_ms, ping_sent_ms, goaway_at_ms; // HTTP_NEVER = not now
    uint64_t check_ms; // the earliest deadline of a stream, or before it
};

static struct http2_server *of(const struct http_engine *e)
{
    return (struct http2_server *)e;
}

static uint64_t now(const struct http2_server *s)
{
    return s->engine.link->now_ms(s->engine.link);
}

static const struct http_limits *limits(const struct http2_server *s)
{
    return s->engine.link->limits;
}

static void check_by(struct http2_server *s, uint64_t when_ms)
{
    if (when_ms < s->check_ms)
        s->check_ms = when_ms;
}

static void calm_down(struct http2_server *s)
{
    nghttp2_session_terminate_session(s->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

static struct http2_stream *find(struct http2_server *s, int32_t id)
{
    return nghttp2_session_get_stream_user_data(s->session, id);
}

static struct http2_stream *stream_create(struct http2_server *s, int32_t id)
{
    struct http2_stream *st = MEM_NEW(struct http2_stream);
    st->id = id;
    st->x = http_exchange_create(&s->engine);
    st->x->stream = st;
    http1_headers_limit(&st->x->raw, limits(s)->max_header_bytes);
    st->next = s->streams;
    if (st->next != NULL)
        st->next->prev = st;
    s->streams = st;
    s->stream_count++;
    s->idle_since_ms = HTTP_NEVER;
    return st;
}

static void stream_destroy(struct http2_server *s, struct http2_stream *st)
{
    if (st->prev != NULL)
        st->prev->next = st->next;
    else
        s->streams = st->next;
    if (st->next != NULL)
        st->next->prev = st->prev;
    if (--s->stream_count == 0)
        s->idle_since_ms = now(s);
    buf_fini(&st->body);
    http2_headers_fini(&st->trailers);
    free(st);
}

// Reading.

static void pay_control(struct http2_server *s)
{
    if (!http2_purse_pay(&s->controls, &control_purse, now(s)))
        calm_down(s);
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *arg)
{
    struct http2_server *s = arg;
    bool is_control = hd->type != NGHTTP2_HEADERS && hd->type != NGHTTP2_CONTINUATION && hd->type != NGHTTP2_DATA;
    if (is_control)
        pay_control(s);
    if (hd->type != NGHTTP2_HEADERS)
        return 0;
    s->head_since_ms = now(s);
    // the library answers a new stream with a number that was skipped; RFC 9113 §5.1.1 wants the end
    if (find(s, hd->stream_id) == NULL && !http2_ids_open(&s->ids, hd->stream_id))
        nghttp2_session_terminate_session(session, NGHTTP2_PROTOCOL_ERROR);
    return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct http2_server *s = arg;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct http2_stream *st = stream_create(s, frame->hd.stream_id);
    nghttp2_session_set_stream_user_data(session, st->id, st);
    return 0;
}

static bool keep_header(struct http1_headers *h, const uint8_t *name, size_t name_len, const uint8_t *value,
                        size_t value_len)
{
    return http1_headers_field(h, (const char *)name, name_len) &&
           http1_headers_value(h, (const char *)value, value_len) && http1_headers_value_end(h);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *arg)
{
    struct http2_server *s = arg;
    struct http2_stream *st = find(s, frame->hd.stream_id);
    (void)session;
    (void)flags;
    if (st == NULL)
        return 0;
    st->header_bytes += name_len + value_len + HEADER_OVERHEAD_BYTES;
    if (st->header_bytes > HEADERS_HOPELESS * (uint64_t)limits(s)->max_header_bytes)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (st->x == NULL || st->x->raw.complete) // trailers
        return 0;
    struct http1_headers *h = &st->x->raw;
    if (st->header_bytes > limits(s)->max_header_bytes)
        h->too_large = true;
    if (!h->too_large && !h->no_memory && !keep_header(h, name, name_len, value, value_len))
        return 0; // the flag is set; answered once all is there
    return 0;
}

static void fill_head(struct http_exchange *x)
{
    const char *value;
    x->head.version = HTTP_VERSION_2;
    http1_headers_find(&x->raw, ":method", &value);
    x->head.method = bytes_from_text(value);
    http1_headers_find(&x->raw, ":authority", &value);
    x->head.authority = bytes_from_text(value);
    http1_headers_find(&x->raw, ":path", &value);
    http_exchange_split_target(x, bytes_from_text(value));
    if (http1_headers_find(&x->raw, "content-length", &value) > 0)
        x->head.content_length = strtoll(value, NULL, 10); // the library has checked that it is a number
}

// Streams.

static size_t to_send(const struct http2_stream *st)
{
    return st->body.len - st->sent;
}

// As long as its handler uses what has come.
static void feed(struct http2_server *s, struct http2_stream *st)
{
    size_t used = 1, total = 0;
    st->waiting = false;
    while (used > 0 && st->x != NULL && (st->x->body_used < st->x->body_len || st->ended)) {
        st->waiting = to_send(st) > 0;
        if (st->waiting)
            break;
        used = http_exchange_feed(st->x, st->ended);
        total += used;
    }
    s->has_waiting = s->has_waiting || st->waiting;
    CHECK(st->x == NULL || st->waiting || !st->ended); // it has answered
    nghttp2_session_consume_stream(s->session, st->id, total);
}

static void feed_waiting(struct http2_server *s)
{
    s->has_waiting = false;
    for (struct http2_stream *st = s->streams; st != NULL; st = st->next)
        if (st->waiting)
            feed(s, st);
}

static void complete_request(struct http2_server *s, struct http2_stream *st)
{
    if (st->x->streams)
        feed(s, st);
    else
        http_exchange_complete(st->x);
}

static void begin_exchange(struct http2_server *s, struct http2_stream *st, bool ended)
{
    struct http_exchange *x = st->x;
    bool too_large = x->raw.too_large;
    x->raw.complete = true;
    st->since_ms = now(s);
    st->ended = ended;
    check_by(s, http_body_deadline(limits(s), st->since_ms, 0));
    if (too_large || x->raw.no_memory || !http_exchange_index(x)) {
        x->head.headers = NULL;
        x->head.header_count = 0;
        http_exchange_answer_text(x, too_large ? 431 : 503, too_large ? "the headers are too large" : "out of memory",
                                  NULL, 0);
        return;
    }
    fill_head(x);
    if (ended)
        x->head.content_length = 0;
    if (bytes_equal_text(x->head.method, "CONNECT"))
        http_exchange_answer_text(x, 501, "CONNECT: this is not a proxy", NULL, 0);
    else if (http_exchange_begin(x) && ended)
        complete_request(s, st);
    if (s->draining && st->x != NULL)
        http_exchange_drain(st->x);
}

static void end_request(struct http2_server *s, struct http2_stream *st, bool ended)
{
    if (st == NULL || !ended)
        return;
    st->ended = true;
    if (st->x != NULL)
        complete_request(s, st);
}

static void add_ping(struct http2_server *s)
{
    static const char why[] = "too_many_pings"; // gRPC's clients know it, and ping less
    bool may = s->stream_count > 0 || !limits(s)->pings_need_stream;
    if (!http2_pings_add(&s->pings, now(s), may ? limits(s)->ping_least_ms : UNASKED_PING_MS))
        return;
    nghttp2_submit_goaway(s->session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(s->session),
                          NGHTTP2_ENHANCE_YOUR_CALM, (const uint8_t *)why, strlen(why));
    calm_down(s);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct http2_server *s = arg;
    bool ended = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    struct http2_stream *st = frame->hd.stream_id > 0 ? find(s, frame->hd.stream_id) : NULL;
    (void)session;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        s->head_since_ms = HTTP_NEVER;
        if (st != NULL && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
            begin_exchange(s, st, ended);
            break;
        }
        end_request(s, st, ended);
        break;
    case NGHTTP2_DATA:
        if (!ended && frame->hd.length <= frame->data.padlen)
            pay_control(s); // it brought nothing
        end_request(s, st, ended);
        break;
    case NGHTTP2_RST_STREAM:
        if (!http2_purse_pay(&s->resets, &reset_purse, now(s)))
            calm_down(s);
        break;
    case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
            add_ping(s);
            break;
        }
        s->ping_sent_ms = HTTP_NEVER;
        if (memcmp(frame->ping.opaque_data, drain_ping, sizeof drain_ping) == 0 && s->goaway_at_ms != HTTP_NEVER)
            s->goaway_at_ms = 0;
        break;
    default:
        break;
    }
    return 0;
}

static void drop_late(struct http2_server *s, struct http2_stream *st, size_t len)
{
    st->late_bytes += len;
    if (st->late_bytes <= LATE_MAX_BYTES)
        nghttp2_session_consume_stream(s->session, st->id, len);
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
                         void *arg)
{
    struct http2_server *s = arg;
    struct http2_stream *st = find(s, id);
    (void)flags;
    nghttp2_session_consume_connection(session, len);
    if (st == NULL)
        return 0;
    st->received += len;
    if (st->x == NULL) {
        drop_late(s, st, len);
    } else if (http_exchange_add(st->x, (struct bytes){data, len})) {
        if (!st->x->streams) {
            nghttp2_session_consume_stream(session, id, len);
            return 0;
        }
        st->since_ms = now(s);
        feed(s, st);
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
    struct http2_server *s = arg;
    struct http2_stream *st = find(s, id);
    (void)session;
    (void)code;
    if (st == NULL)
        return 0;
    struct http_exchange *x = st->x;
    bool begun = x != NULL && x->raw.complete;
    st->x = NULL;
    stream_destroy(s, st);
    if (begun)
        http_exchange_abort(x);
    else if (x != NULL)
        http_exchange_destroy(x);
    return 0;
}

// Writing.

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *room, size_t size, uint32_t *flags,
                         nghttp2_data_source *source, void *arg)
{
    struct http2_server *s = arg;
    struct http2_stream *st = source->ptr;
    size_t left = st->body.len - st->sent, n = left < size ? left : size;
    if (n > 0)
        memcpy(room, st->body.data + st->sent, n);
    st->sent += n;
    st->since_ms = now(s);
    if (st->sent < st->body.len)
        return (ssize_t)n;
    if (!st->answered) {
        buf_clear(&st->body);
        st->sent = 0;
        return n > 0 ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (st->trailers.count > 0) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (nghttp2_submit_trailer(session, id, st->trailers.nv, st->trailers.count) != 0)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return (ssize_t)n;
}

static int submit(struct http2_server *s, struct http2_stream *st, const struct http2_headers *head)
{
    nghttp2_data_provider provider = {.source = {.ptr = st}, .read_callback = read_body};
    bool has_more = st->body.len > 0 || st->trailers.count > 0;
    return nghttp2_submit_response(s->session, st->id, head->nv, head->count, has_more ? &provider : NULL);
}

// More of an answer that comes in pieces. False: too much waits, or memory is out.
static bool add_piece(struct http2_server *s, struct http2_stream *st, const struct http_answer *a)
{
    if (st->sent > 0) {
        st->body.len -= st->sent;
        memmove(st->body.data, st->body.data + st->sent, st->body.len);
        st->sent = 0;
    }
    if (st->body.len == 0)
        st->since_ms = now(s);
    if (a->body != NULL)
        buf_add(&st->body, a->body->data, a->body->len);
    check_by(s, http_time_after(st->since_ms, limits(s)->write_ms));
    nghttp2_session_resume_data(s->session, st->id); // refused when it has not paused
    return buf_ok(&st->body);
}

static bool begin_pieces(struct http2_server *s, struct http2_stream *st, const struct http_answer *a)
{
    struct http2_headers head = {0};
    nghttp2_data_provider provider = {.source = {.ptr = st}, .read_callback = read_body};
    buf_init(&st->body, STREAM_OUT_MAX_BYTES);
    st->open = true;
    bool ok = http2_headers_init_answer(&head, a, -1, s->engine.link->date(s->engine.link)) &&
              nghttp2_submit_response(s->session, st->id, head.nv, head.count, &provider) == 0;
    http2_headers_fini(&head);
    return ok;
}

static void reset_broken(struct http2_server *s, const struct http2_stream *st)
{
    nghttp2_submit_rst_stream(s->session, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_INTERNAL_ERROR);
}

static void send_piece(struct http_engine *e, struct http_exchange *x, const struct http_answer *piece)
{
    struct http2_server *s = of(e);
    struct http2_stream *st = x->stream;
    bool ok = st->open || begin_pieces(s, st, piece);
    s->pings = (struct http2_pings){0};
    if (!ok || !add_piece(s, st, piece))
        reset_broken(s, st);
}

static void end_pieces(struct http2_server *s, struct http2_stream *st, const struct http_answer *a)
{
    if (!http2_headers_init(&st->trailers, a->trailers, a->trailer_count) || !add_piece(s, st, a))
        reset_broken(s, st);
}

static void answer(struct http_engine *e, struct http_exchange *x, const struct http_answer *a)
{
    struct http2_server *s = of(e);
    struct http2_stream *st = x->stream;
    struct http2_headers head = {0};
    bool bodiless = a->status == 204 || a->status == 304;
    bool has_length = !bodiless && a->trailer_count == 0;
    int64_t length = has_length ? (int64_t)(a->body != NULL ? a->body->len : 0) : -1;
    bool head_only = bytes_equal_text(x->head.method, "HEAD");
    st->x = NULL;
    st->answered = true;
    s->pings = (struct http2_pings){0};
    st->since_ms = now(s);
    check_by(s, http_time_after(st->since_ms, limits(s)->write_ms));
    http2_purse_earn(&s->resets, &reset_purse, 1);
    http2_purse_earn(&s->controls, &control_purse, 10);
    if (st->open) {
        end_pieces(s, st, a);
        return;
    }
    if (a->body != NULL && !bodiless && !head_only) {
        st->body = *a->body;
        *a->body = (struct buf){0};
    }
    bool ok = http2_headers_init_answer(&head, a, length, e->link->date(e->link)) &&
              http2_headers_init(&st->trailers, a->trailers, a->trailer_count);
    if (!ok || submit(s, st, &head) != 0)
        reset_broken(s, st);
    http2_headers_fini(&head);
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct http2_server *s = arg;
    bool is_end = (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
                  (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    struct http2_stream *st = is_end ? find(s, frame->hd.stream_id) : NULL;
    // RFC 9113 §8.1: the rest of the request is not wanted
    if (st != NULL && nghttp2_session_get_stream_remote_close(session, st->id) == 0) {
        st->late = true;
        st->since_ms = now(s);
        check_by(s, st->since_ms + LATE_WAIT_MS);
    }
    // what the peer's faults make us reset costs as its own resets do
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR &&
        !http2_purse_pay(&s->resets, &reset_purse, now(s)))
        calm_down(s);
    return 0;
}

static size_t produce(struct http_engine *e, uint8_t *room, size_t size)
{
    struct http2_server *s = of(e);
    size_t n = 0;
    while (!s->dead && size - n >= FRAME_MAX_BYTES) {
        const uint8_t *data;
        ssize_t len = nghttp2_session_mem_send(s->session, &data);
        s->dead = len < 0;
        if (len <= 0)
            break;
        CHECK((size_t)len <= size - n);
        memcpy(room + n, data, (size_t)len);
        n += (size_t)len;
    }
    if (s->has_waiting)
        feed_waiting(s);
    return n;
}

static void receive(struct http_engine *e, struct bytes data)
{
    struct http2_server *s = of(e);
    s->heard_ms = now(s);
    if (s->dead || data.len == 0)
        return;
    ssize_t used = nghttp2_session_mem_recv(s->session, data.data, data.len);
    s->dead = used < 0;
}

static size_t read_size(const struct http_engine *e)
{
    struct http2_server *s = of(e);
    return !s->dead && nghttp2_session_want_read(s->session) != 0 ? READ_BYTES : 0;
}

static bool is_finished(const struct http_engine *e)
{
    struct http2_server *s = of(e);
    return s->dead || (nghttp2_session_want_read(s->session) == 0 && nghttp2_session_want_write(s->session) == 0);
}

static bool is_idle(const struct http_engine *e)
{
    return of(e)->stream_count == 0;
}

// First a GOAWAY that refuses nothing, and a ping; the last GOAWAY when the peer has seen them: what it sent
// before that is still served.
static void drain(struct http_engine *e)
{
    struct http2_server *s = of(e);
    if (s->draining || s->dead)
        return;
    s->draining = true;
    nghttp2_submit_shutdown_notice(s->session);
    nghttp2_submit_ping(s->session, NGHTTP2_FLAG_NONE, drain_ping);
    s->goaway_at_ms = http_time_after(now(s), GOAWAY_WAIT_MS);
    for (struct http2_stream *st = s->streams; st != NULL; st = st->next)
        if (st->x != NULL && st->x->raw.complete)
            http_exchange_drain(st->x);
}

static void send_goaway(struct http2_server *s)
{
    s->goaway_at_ms = HTTP_NEVER;
    nghttp2_submit_goaway(s->session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(s->session),
                          NGHTTP2_NO_ERROR, NULL, 0);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t ping_deadline(const struct http2_server *s)
{
    const struct http_limits *l = limits(s);
    return s->ping_sent_ms != HTTP_NEVER ? http_time_after(s->ping_sent_ms, l->ping_timeout_ms)
                                         : http_time_after(s->heard_ms, l->ping_after_ms);
}

static uint64_t deadline_ms(const struct http_engine *e)
{
    const struct http2_server *s = of(e);
    if (s->dead)
        return HTTP_NEVER;
    uint64_t when = earlier(s->check_ms, ping_deadline(s));
    when = earlier(when, s->goaway_at_ms);
    if (s->head_since_ms != HTTP_NEVER)
        when = earlier(when, http_time_after(s->head_since_ms, limits(s)->header_ms));
    if (s->idle_since_ms != HTTP_NEVER && !s->draining)
        when = earlier(when, http_time_after(s->idle_since_ms, limits(s)->idle_ms));
    return when;
}

static uint64_t stream_deadline(const struct http2_server *s, const struct http2_stream *st)
{
    if (st->late)
        return st->since_ms + LATE_WAIT_MS;
    if (st->answered || to_send(st) > 0)
        return http_time_after(st->since_ms, limits(s)->write_ms);
    if (st->x == NULL || !st->x->raw.complete)
        return HTTP_NEVER;
    if (st->x->streams)
        return http_time_after(st->since_ms, limits(s)->body_ms);
    if (st->ended)
        return HTTP_NEVER;
    return http_body_deadline(limits(s), st->since_ms, st->received);
}

static void check_streams(struct http2_server *s, uint64_t at)
{
    s->check_ms = HTTP_NEVER;
    for (struct http2_stream *st = s->streams; st != NULL; st = st->next) {
        if (stream_deadline(s, st) <= at) {
            if (st->answered || to_send(st) > 0)
                nghttp2_submit_rst_stream(s->session, NGHTTP2_FLAG_NONE, st->id,
                                          st->late ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
            else
                http_exchange_refuse(st->x, 408, "the request came too slowly");
            st->since_ms = at;
        }
        check_by(s, stream_deadline(s, st));
    }
}

static void check_ping(struct http2_server *s, uint64_t at)
{
    if (ping_deadline(s) > at)
        return;
    if (s->ping_sent_ms != HTTP_NEVER) {
        s->dead = true;
        return;
    }
    s->ping_sent_ms = at;
    nghttp2_submit_ping(s->session, NGHTTP2_FLAG_NONE, alive_ping);
}

static void expire(struct http_engine *e)
{
    struct http2_server *s = of(e);
    uint64_t at = now(s);
    check_streams(s, at);
    check_ping(s, at);
    if (s->goaway_at_ms <= at)
        send_goaway(s);
    if (s->head_since_ms != HTTP_NEVER && http_time_after(s->head_since_ms, limits(s)->header_ms) <= at) {
        s->head_since_ms = HTTP_NEVER;
        calm_down(s);
    }
    if (s->idle_since_ms != HTTP_NEVER && http_time_after(s->idle_since_ms, limits(s)->idle_ms) <= at)
        drain(e);
}

static void abort_all(struct http_engine *e)
{
    struct http2_server *s = of(e);
    s->dead = true;
    for (struct http2_stream *first; (first = s->streams) != NULL;) {
        CHECK(first->prev == NULL);
        nghttp2_session_set_stream_user_data(s->session, first->id, NULL);
        struct http_exchange *x = first->x;
        bool begun = x != NULL && x->raw.complete;
        stream_destroy(s, first);
        if (begun)
            http_exchange_abort(x);
        else if (x != NULL)
            http_exchange_destroy(x);
    }
}

static void destroy(struct http_engine *e)
{
    struct http2_server *s = of(e);
    nghttp2_session_del(s->session);
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
    .answer = answer,
    .send = send_piece,
};

static nghttp2_option *make_options(void)
{
    nghttp2_option *o;
    CHECK(nghttp2_option_new(&o) == 0);
    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_option_set_max_outbound_ack(o, MAX_ACKS);
    nghttp2_option_set_max_settings(o, MAX_SETTINGS);
    nghttp2_option_set_max_continuations(o, MAX_CONTINUATIONS);
    nghttp2_option_set_stream_reset_rate_limit(o, 2 * reset_purse.capacity, reset_purse.per_second);
    return o;
}

static nghttp2_session_callbacks *make_callbacks(void)
{
    nghttp2_session_callbacks *c;
    CHECK(nghttp2_session_callbacks_new(&c) == 0);
    nghttp2_session_callbacks_set_on_begin_frame_callback(c, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(c, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(c, on_frame_send);
    return c;
}

static void introduce(struct http2_server *s)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits(s)->max_streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)limits(s)->max_header_bytes},
    };
    CHECK(nghttp2_submit_settings(s->session, NGHTTP2_FLAG_NONE, settings, COUNT_OF(settings)) == 0);
    CHECK(nghttp2_session_set_local_window_size(s->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW_BYTES) == 0);
}

struct http_engine *http2_server_create(struct http_link *link)
{
    struct http2_server *s = MEM_NEW(struct http2_server);
    nghttp2_option *options = make_options();
    nghttp2_session_callbacks *callbacks = make_callbacks();
    s->engine = (struct http_engine){&ops, link};
    CHECK(nghttp2_session_server_new2(&s->session, callbacks, s, options) == 0);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(options);
    s->idle_since_ms = s->heard_ms = now(s);
    s->head_since_ms = s->ping_sent_ms = s->goaway_at_ms = s->check_ms = HTTP_NEVER;
    http2_purse_fill(&s->resets, &reset_purse, now(s));
    http2_purse_fill(&s->controls, &control_purse, now(s));
    introduce(s);
    return &s->engine;
}
