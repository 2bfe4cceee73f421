// SPDX-License-Identifier: Apache-2.0
#include "net/http_channel.h"

static struct http_attempt *attempt_of(struct http2_stream *s)
{
    return (struct http_attempt *)((char *)s - offsetof(struct http_attempt, h2));
}

// What is queued goes out, unless the connection still takes what went before.
static void flush(struct http_channel *ch)
{
    struct err e;
    while (!ch->writing && !ch->broken) {
        buf_clear(&ch->out);
        ch->broken = !http2_client_output(ch->http2, &ch->out, &e);
        if (ch->broken || ch->out.len == 0)
            return;
        ch->writing = !connection_write(ch->connection, buf_bytes(&ch->out), (struct bytes){0});
    }
}

static enum attempt_end end_of(enum http2_fate fate)
{
    switch (fate) {
    case HTTP2_ANSWERED:
        return ATTEMPT_ANSWERED;
    case HTTP2_BAD:
        return ATTEMPT_BAD;
    case HTTP2_REFUSED:
        return ATTEMPT_REFUSED;
    case HTTP2_UNTOUCHED:
        return ATTEMPT_UNTOUCHED;
    case HTTP2_PENDING:
    case HTTP2_LOST:
        break;
    }
    return ATTEMPT_LOST;
}

static void report_done(struct http_channel *ch)
{
    for (struct http2_stream *s; !ch->closing && (s = http2_client_take_done(ch->http2)) != NULL;)
        http_channel_done(ch, attempt_of(s), end_of(s->fate), &s->error);
}

static void end_all(struct http_channel *ch, const struct err *e)
{
    ch->retired = ch->broken = true;
    http2_client_end(ch->http2, e->text);
    report_done(ch);
    http_channel_end(ch, e);
}

static bool may_ping(const struct http_channel *ch)
{
    return ch->ready && ch->options.ping_ms > 0 && (ch->active > 0 || ch->options.ping_without_stream);
}

static uint64_t ping_due(const struct http_channel *ch)
{
    return ch->pinged ? ch->pinged_ms + ch->options.ping_timeout_ms : ch->heard_ms + ch->options.ping_ms;
}

static uint64_t idle_due(const struct http_channel *ch)
{
    return ch->retired ? 0 : ch->idle_since_ms + ch->options.idle_ms;
}

static void schedule(struct http_channel *ch)
{
    uint64_t now = uv_now(ch->loop), due = CONNECTION_NEVER;
    if (!ch->ready)
        due = ch->settle_by_ms;
    else if (ch->active == 0)
        due = idle_due(ch);
    if (may_ping(ch) && ping_due(ch) < due)
        due = ping_due(ch);
    if (ch->broken || http2_client_has_done(ch->http2))
        due = 0;
    if (due != CONNECTION_NEVER)
        due = due > now ? due - now : 0;
    connection_wake_after(ch->connection, due);
}

static void end_finished(struct http_channel *ch)
{
    struct err e = {0};
    if (ch->broken)
        err_set(&e, ERR_MEMORY, "out of memory");
    else if (!ch->ready)
        err_set(&e, ERR_INVALID, "%s does not speak HTTP/2", ch->peer);
    else
        err_set(&e, ERR_IO, "%s: the HTTP/2 connection was ended after an error", ch->peer);
    end_all(ch, &e);
}

// After anything that has happened: sends, reports, and says whether there is room.
static void pump(struct http_channel *ch)
{
    bool was_retired = ch->retired;
    flush(ch);
    ch->ready = ch->ready || http2_client_settled(ch->http2);
    ch->retired = ch->retired || http2_client_draining(ch->http2);
    report_done(ch);
    if (http_channel_is_gone(ch))
        return;
    bool finished = ch->broken || (http2_client_finished(ch->http2) && !ch->writing);
    if (finished || (ch->retired && ch->active == 0 && ch->ready && !ch->writing)) {
        end_finished(ch);
        return;
    }
    flush(ch);
    schedule(ch);
    if (ch->ready && (ch->retired != was_retired || http_channel_room(ch) > 0))
        ch->events->on_ready(ch);
}

static void on_open(struct http_channel *ch)
{
    ch->http2 = http2_client_create(ch->peer);
    ch->heard_ms = uv_now(ch->loop);
    pump(ch);
}

static void on_data(struct http_channel *ch, struct bytes data)
{
    struct err e = {0};
    ch->heard_ms = uv_now(ch->loop);
    ch->pinged = false;
    if (http2_client_feed(ch->http2, data, &e)) {
        pump(ch);
        return;
    }
    err_prefix(&e, "%s", ch->peer);
    end_all(ch, &e);
}

static void on_written(struct http_channel *ch)
{
    ch->writing = false;
    pump(ch);
}

static void on_end(struct http_channel *ch, const struct err *e)
{
    struct err closed = {0};
    if (http_channel_is_gone(ch))
        return;
    if (e == NULL) {
        err_set(&closed, ERR_IO, "%s: the connection was closed", ch->peer);
        e = &closed;
    }
    end_all(ch, e);
}

static void say_goodbye(struct http_channel *ch)
{
    ch->served = true;
    http2_client_goodbye(ch->http2);
    flush(ch);
    http_channel_end(ch, NULL);
}

static void ping_or_give_up(struct http_channel *ch)
{
    struct err e = {0};
    if (!ch->pinged) {
        ch->pinged = true;
        ch->pinged_ms = uv_now(ch->loop);
        http2_client_ping(ch->http2);
        pump(ch);
        return;
    }
    err_set(&e, ERR_UNAVAILABLE, "%s: no answer to an HTTP/2 PING within %gs", ch->peer,
            (double)ch->options.ping_timeout_ms / 1e3);
    end_all(ch, &e);
}

static void on_timer(struct http_channel *ch)
{
    uint64_t now = uv_now(ch->loop);
    struct err e = {0};
    if (!ch->ready && now >= ch->settle_by_ms) {
        err_set(&e, ERR_UNAVAILABLE, "%s: no HTTP/2 SETTINGS within %gs", ch->peer,
                (double)ch->options.target.connect_timeout_ms / 1e3);
        end_all(ch, &e);
    } else if (ch->ready && ch->active == 0 && now >= idle_due(ch)) {
        say_goodbye(ch);
    } else if (may_ping(ch) && now >= ping_due(ch)) {
        ping_or_give_up(ch);
    } else {
        pump(ch);
    }
}

static void start(struct http_channel *ch, struct http_attempt *a)
{
    struct http2_request how = {.url = &a->url, .user_agent = ch->options.user_agent};
    if (ch->active == 1)
        ch->heard_ms = uv_now(ch->loop); // the silence before was ours
    http2_client_submit(ch->http2, &a->h2, &how, &a->request);
    flush(ch);
    schedule(ch);
}

static void abandon(struct http_channel *ch, struct http_attempt *a)
{
    http2_client_cancel(ch->http2, &a->h2);
    flush(ch);
    connection_wake_after(ch->connection, 0); // there is room for a call that waits
}

static size_t room(const struct http_channel *ch)
{
    return http2_client_room(ch->http2);
}

static void close_channel(struct http_channel *ch)
{
    if (ch->http2 == NULL)
        return;
    http2_client_end(ch->http2, "");
    http2_client_destroy(&ch->http2);
}

const struct channel_protocol http2_channel = {
    .on_open = on_open,
    .on_data = on_data,
    .on_written = on_written,
    .on_end = on_end,
    .on_timer = on_timer,
    .start = start,
    .abandon = abandon,
    .room = room,
    .close = close_channel,
};
