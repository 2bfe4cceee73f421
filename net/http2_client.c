// SPDX-License-Identifier: Apache-2.0
#include "net/http2_client.h"

#include "base/limits.h"
#include "base/mem.h"
#include "net/http2_head.h"
#include "net/http_content.h"

enum {
    OUTPUT_BYTES = 64 << 10,
    WINDOW_BYTES = 1 << 20, // of the connection; each stream has the protocol's 64 KiB
    HEAD_MAX_BYTES = 1 << 20,
    OUTBOUND_ACKS = 100, // a peer that pings without reading is cut off here
    MAX_STREAMS = 1000,  // of ours at a time, whatever the peer allows
    INTERIM_BYTES = 16,  // what an interim answer without headers counts as
};

struct http2_client {
    nghttp2_session *session;
    const char *peer;
    size_t active;
    struct http2_stream *streams;           // with the session
    struct http2_stream *done, **done_tail; // waiting to be taken
    bool settled, goaway, calm_down, out_of_ids;
    int32_t last_stream; // of GOAWAY
};

static void add_front(struct http2_client *c, struct http2_stream *s)
{
    s->next = c->streams;
    s->link = &c->streams;
    if (s->next != NULL)
        s->next->link = &s->next;
    c->streams = s;
    c->active++;
}

static void detach(struct http2_client *c, struct http2_stream *s)
{
    *s->link = s->next;
    if (s->next != NULL)
        s->next->link = s->link;
    s->next = NULL;
    s->link = NULL;
    c->active--;
    nghttp2_session_set_stream_user_data(c->session, s->id, NULL);
}

// A stream that is open although we are done with it would cost the peer, and send the rest of a body that is gone.
static void stop_stream(struct http2_client *c, int32_t id)
{
    if (nghttp2_session_get_stream_local_close(c->session, id) == 0)
        nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
}

static void finish(struct http2_client *c, struct http2_stream *s, enum http2_fate fate)
{
    detach(c, s);
    s->fate = fate;
    *c->done_tail = s;
    c->done_tail = &s->next;
}

static void finish_bad(struct http2_client *c, struct http2_stream *s, const char *what)
{
    if (s->error.code == ERR_OK)
        http1_headers_explain(&s->headers, &s->error);
    if (s->error.code == ERR_OK)
        http1_headers_explain(&s->trailers, &s->error);
    if (s->error.code == ERR_OK)
        err_set(&s->error, ERR_INVALID, "%s", what);
    err_prefix(&s->error, "%s", c->peer);
    finish(c, s, HTTP2_BAD);
}

static struct http2_stream *stream_of(nghttp2_session *session, int32_t id)
{
    return id > 0 ? nghttp2_session_get_stream_user_data(session, id) : NULL;
}

static bool is_head(const struct http2_stream *s)
{
    return !s->headers.complete;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    (void)arg;
    struct http2_stream *s = stream_of(session, frame->hd.stream_id);
    if (s != NULL && !is_head(s))
        s->trailers.seen_bytes = s->headers.seen_bytes; // one limit for both
    return 0;
}

static bool keep_header(struct http1_headers *h, const char *name, size_t name_len, const char *value, size_t len)
{
    return http1_headers_field(h, name, name_len) && http1_headers_value(h, value, len) && http1_headers_value_end(h);
}

static int parse_status(const uint8_t *value, size_t len)
{
    int status = 0;
    for (size_t i = 0; i < len && i < 3; i++)
        status = status * 10 + value[i] - '0';
    return status; // nghttp2 lets three digits through, nothing else
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *arg)
{
    (void)flags;
    struct http2_stream *s = stream_of(session, frame->hd.stream_id);
    if (s == NULL || frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    if (name_len > 0 && name[0] == ':') {
        s->status = parse_status(value, value_len);
        if (s->status >= 100)
            return 0;
        finish_bad(arg, s, "the peer's answer is not HTTP/2: its status is below 100");
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    if (keep_header(is_head(s) ? &s->headers : &s->trailers, (const char *)name, name_len, (const char *)value,
                    value_len))
        return 0;
    finish_bad(arg, s, "out of memory");
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static bool list_headers(struct http2_stream *s)
{
    bool ok = s->list != NULL || http1_headers_list(&s->headers, &s->list);
    if (!ok)
        err_set(&s->error, ERR_MEMORY, "out of memory");
    return ok;
}

static void feed_sink(struct http2_client *c, struct http2_stream *s, struct bytes data)
{
    if (s->sink.take(s->sink.arg, data))
        return;
    err_set(&s->error, ERR_CANCELLED, "nobody wants the rest of the response");
    finish_bad(c, s, "");
    nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_CANCEL);
}

static void begin_stream(struct http2_client *c, struct http2_stream *s)
{
    bool plain = http_content_is_plain(&s->headers);
    s->streams = true;
    if (plain && list_headers(s)) {
        feed_sink(c, s, (struct bytes){0});
        return;
    }
    if (!plain)
        err_set(&s->error, ERR_UNSUPPORTED, "the response is compressed, although nobody asked for that");
    finish_bad(c, s, "");
    nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_CANCEL);
}

static int on_body(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *arg)
{
    (void)flags;
    struct http2_stream *s = stream_of(session, id);
    if (s == NULL)
        return 0;
    if (s->streams) {
        feed_sink(arg, s, (struct bytes){data, len});
        return 0;
    }
    buf_add(&s->body, data, len);
    if (buf_ok(&s->body))
        return 0;
    if (s->body.too_large)
        err_set(&s->error, ERR_LIMIT, "the response's body has more than %zu bytes, allowed are %zu", s->body.max_bytes,
                s->body.max_bytes);
    finish_bad(arg, s, "out of memory");
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    return 0;
}

static void answered(struct http2_client *c, struct http2_stream *s)
{
    bool ok = list_headers(s) && http1_headers_list(&s->trailers, &s->trailer_list);
    if (!ok)
        err_set(&s->error, ERR_MEMORY, "out of memory");
    if (ok && http_content_decode(&s->headers, &s->body, &s->error))
        finish(c, s, HTTP2_ANSWERED);
    else
        finish_bad(c, s, "");
    stop_stream(c, s->id);
}

static void on_headers_complete(struct http2_client *c, struct http2_stream *s)
{
    if (!is_head(s))
        return;
    if (s->status / 100 != 1) {
        s->headers.complete = true;
        if (http_sink_wants(&s->sink, s->status))
            begin_stream(c, s);
        return;
    }
    s->status = 0; // an interim answer; what it cost stays counted
    http1_headers_clear(&s->headers);
    if (http1_headers_count_bytes(&s->headers, INTERIM_BYTES))
        return;
    finish_bad(c, s, "");
    stop_stream(c, s->id);
}

static void on_goaway(struct http2_client *c, const nghttp2_goaway *goaway)
{
    static const char too_many[] = "too_many_pings";
    c->goaway = true;
    c->last_stream = goaway->last_stream_id;
    bool now = goaway->error_code == NGHTTP2_ENHANCE_YOUR_CALM && goaway->opaque_data_len == sizeof too_many - 1 &&
               memcmp(goaway->opaque_data, too_many, sizeof too_many - 1) == 0;
    c->calm_down = c->calm_down || now;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct http2_client *c = arg;
    struct http2_stream *s = stream_of(session, frame->hd.stream_id);
    switch (frame->hd.type) {
    case NGHTTP2_SETTINGS:
        c->settled = c->settled || (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0;
        break;
    case NGHTTP2_GOAWAY:
        on_goaway(c, &frame->goaway);
        break;
    case NGHTTP2_RST_STREAM:
        if (s != NULL) {
            s->reset_by_peer = true;
            s->reset_code = frame->rst_stream.error_code;
        }
        break;
    case NGHTTP2_HEADERS:
        if (s != NULL)
            on_headers_complete(c, s);
        break;
    }
    bool body_or_head = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    if (s != NULL && s->fate == HTTP2_PENDING && body_or_head && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
        !is_head(s))
        answered(c, s);
    return 0;
}

static bool is_untouched(const struct http2_client *c, const struct http2_stream *s)
{
    return c->goaway && s->id > c->last_stream;
}

static void lost(struct http2_client *c, struct http2_stream *s, const char *why)
{
    err_set(&s->error, ERR_IO, "%s before the response was complete", why);
    finish(c, s, HTTP2_LOST);
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
    struct http2_client *c = arg;
    struct http2_stream *s = stream_of(session, id);
    char why[ERR_TEXT_MAX];
    if (s == NULL)
        return 0;
    if (is_untouched(c, s)) {
        err_set(&s->error, ERR_UNAVAILABLE, "%s goes away and has not taken the request", c->peer);
        finish(c, s, HTTP2_UNTOUCHED);
    } else if (s->reset_by_peer && code == NGHTTP2_REFUSED_STREAM) {
        err_set(&s->error, ERR_UNAVAILABLE, "%s refuses the request for now (REFUSED_STREAM)", c->peer);
        finish(c, s, HTTP2_REFUSED);
    } else if (s->reset_by_peer || code == NGHTTP2_NO_ERROR) {
        snprintf(why, sizeof why, "%s reset the stream (%s)", c->peer, nghttp2_http2_strerror(code));
        lost(c, s, why);
    } else {
        finish_bad(c, s, "the peer's answer is not HTTP/2");
    }
    return 0;
}

// A request that was queued and cannot go out any more.
static int on_frame_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int code, void *arg)
{
    struct http2_client *c = arg;
    struct http2_stream *s = c->streams;
    (void)session;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    while (s != NULL && s->id != frame->hd.stream_id)
        s = s->next;
    if (s == NULL)
        return 0;
    if (code == NGHTTP2_ERR_FRAME_SIZE_ERROR) {
        err_set(&s->error, ERR_LIMIT, "the request's headers are larger than %d bytes", HEAD_MAX_BYTES);
        finish(c, s, HTTP2_BAD);
    } else {
        err_set(&s->error, ERR_UNAVAILABLE, "%s goes away and was not sent the request", c->peer);
        finish(c, s, HTTP2_UNTOUCHED);
    }
    return 0;
}

static ssize_t on_read_body(nghttp2_session *session, int32_t id, uint8_t *out, size_t room, uint32_t *flags,
                            nghttp2_data_source *source, void *arg)
{
    (void)source;
    (void)arg;
    struct http2_stream *s = stream_of(session, id);
    size_t used = 0;
    if (s == NULL)
        return NGHTTP2_ERR_DEFERRED; // given up: its RST_STREAM is queued, its body is gone
    for (size_t i = 0; i < COUNT_OF(s->parts); i++) {
        struct bytes *part = &s->parts[i];
        size_t n = part->len < room - used ? part->len : room - used;
        if (n == 0)
            continue;
        memcpy(out + used, part->data, n);
        *part = (struct bytes){part->data + n, part->len - n};
        used += n;
    }
    if (s->parts[0].len + s->parts[1].len == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)used;
}

static nghttp2_session_callbacks *make_callbacks(void)
{
    nghttp2_session_callbacks *callbacks;
    CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_body);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_sent);
    return callbacks;
}

static void submit_settings(nghttp2_session *session)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_HTTP_HEADER_BYTES},
    };
    CHECK(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, COUNT_OF(settings)) == 0);
    CHECK(nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, WINDOW_BYTES) == 0);
}

struct http2_client *http2_client_create(const char *peer)
{
    struct http2_client *c = MEM_NEW(struct http2_client);
    c->peer = peer;
    nghttp2_session_callbacks *callbacks = make_callbacks();
    nghttp2_option *option;
    CHECK(nghttp2_option_new(&option) == 0);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_outbound_ack(option, OUTBOUND_ACKS);
    nghttp2_option_set_max_send_header_block_length(option, HEAD_MAX_BYTES);
    CHECK(nghttp2_session_client_new2(&c->session, callbacks, c, option) == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    submit_settings(c->session);
    c->done_tail = &c->done;
    return c;
}

void http2_client_destroy(struct http2_client **client)
{
    struct http2_client *c = *client;
    if (c == NULL)
        return;
    CHECK(c->streams == NULL);
    *client = NULL;
    nghttp2_session_del(c->session);
    free(c);
}

bool http2_client_feed(struct http2_client *c, struct bytes received, struct err *e)
{
    ssize_t used = nghttp2_session_mem_recv(c->session, received.data, received.len);
    if (used >= 0)
        return true;
    if (used == NGHTTP2_ERR_NOMEM)
        err_set(e, ERR_MEMORY, "out of memory");
    else if (used == NGHTTP2_ERR_BAD_CLIENT_MAGIC || !c->settled)
        err_set(e, ERR_INVALID, "the peer does not speak HTTP/2");
    else
        err_set(e, ERR_INVALID, "the peer breaks HTTP/2 (%s)", nghttp2_strerror((int)used));
    return false;
}

bool http2_client_output(struct http2_client *c, struct buf *out, struct err *e)
{
    while (out->len < OUTPUT_BYTES) {
        const uint8_t *data;
        ssize_t len = nghttp2_session_mem_send(c->session, &data);
        if (len < 0) {
            err_set(e, ERR_MEMORY, "%s", nghttp2_strerror((int)len));
            return false;
        }
        if (len == 0)
            break;
        buf_add(out, data, (size_t)len);
    }
    if (!buf_ok(out))
        err_set(e, ERR_MEMORY, "out of memory");
    return buf_ok(out);
}

bool http2_client_settled(const struct http2_client *c)
{
    return c->settled;
}

bool http2_client_draining(const struct http2_client *c)
{
    return c->goaway || c->out_of_ids || http2_client_finished(c);
}

size_t http2_client_room(const struct http2_client *c)
{
    uint32_t allowed = nghttp2_session_get_remote_settings(c->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    size_t max = allowed < MAX_STREAMS ? allowed : MAX_STREAMS;
    if (!c->settled || http2_client_draining(c) || c->active >= max)
        return 0;
    return max - c->active;
}

size_t http2_client_active(const struct http2_client *c)
{
    return c->active;
}

bool http2_client_finished(const struct http2_client *c)
{
    return !nghttp2_session_want_read(c->session) && !nghttp2_session_want_write(c->session);
}

bool http2_client_calm_down(const struct http2_client *c)
{
    return c->calm_down;
}

void http2_client_submit(struct http2_client *c, struct http2_stream *s, const struct http2_request *how,
                         const struct http_request *request)
{
    struct http2_head head;
    http2_head_init(&head, how, request);
    nghttp2_data_provider body = {.read_callback = on_read_body};
    s->parts[0] = request->body_prefix;
    s->parts[1] = request->body;
    bool has_body = s->parts[0].len + s->parts[1].len > 0;
    s->id = nghttp2_submit_request(c->session, NULL, head.nv, head.count, has_body ? &body : NULL, s);
    http2_head_fini(&head);
    add_front(c, s);
    if (s->id > 0)
        return;
    c->out_of_ids = s->id == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE;
    err_set(&s->error, ERR_UNAVAILABLE, "%s", nghttp2_strerror(s->id));
    finish(c, s, c->out_of_ids ? HTTP2_UNTOUCHED : HTTP2_BAD);
}

static void forget_done(struct http2_client *c, struct http2_stream *s)
{
    struct http2_stream **at = &c->done;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    if (s->next == NULL)
        c->done_tail = at;
    s->next = NULL;
}

void http2_client_cancel(struct http2_client *c, struct http2_stream *s)
{
    if (s->link == NULL) {
        forget_done(c, s);
        return;
    }
    detach(c, s);
    nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_CANCEL);
}

void http2_client_ping(struct http2_client *c)
{
    nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, NULL);
}

void http2_client_goodbye(struct http2_client *c)
{
    nghttp2_session_terminate_session(c->session, NGHTTP2_NO_ERROR);
}

void http2_client_end(struct http2_client *c, const char *why)
{
    while (c->streams != NULL) {
        struct http2_stream *s = c->streams;
        // no stream of the library's: its HEADERS never went out
        bool unsent = nghttp2_session_get_stream_local_close(c->session, s->id) < 0;
        if (unsent || is_untouched(c, s)) {
            err_set(&s->error, ERR_UNAVAILABLE, "%s before the request was sent", why);
            finish(c, s, HTTP2_UNTOUCHED);
        } else {
            lost(c, s, why);
        }
    }
}

struct http2_stream *http2_client_take_done(struct http2_client *c)
{
    struct http2_stream *s = c->done;
    if (s == NULL)
        return NULL;
    c->done = s->next;
    if (c->done == NULL)
        c->done_tail = &c->done;
    s->next = NULL;
    return s;
}

bool http2_client_has_done(const struct http2_client *c)
{
    return c->done != NULL;
}
