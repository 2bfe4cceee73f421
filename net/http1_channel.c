// SPDX-License-Identifier: Apache-2.0
#include "net/http_channel.h"

enum { HEAD_MAX_BYTES = 4 << 20 };

static void on_open(struct http_channel *ch)
{
    ch->ready = true;
    connection_wake_after(ch->connection, ch->options.idle_ms);
    ch->events->on_ready(ch);
}

// Back to the pool, or away: then the connection must not send the rest of a body that is the caller's again.
static void release(struct http_channel *ch, struct http_attempt *a, bool reusable)
{
    ch->attempt = NULL;
    http_channel_detach(ch, a);
    if (!reusable || ch->retired || ch->options.close_after_each || http_channel_is_old(ch))
        http_channel_end(ch, NULL);
    else
        connection_wake_after(ch->connection, ch->options.idle_ms);
}

static void done(struct http_channel *ch, bool reusable, enum attempt_end end, const struct err *e)
{
    struct http_attempt *a = ch->attempt;
    release(ch, a, reusable);
    ch->events->on_done(ch, a, end, e);
    if (!http_channel_is_gone(ch))
        ch->events->on_ready(ch);
}

static void judge(struct http_channel *ch, enum http1_state state)
{
    const struct http1_response *r = &ch->attempt->h1;
    if (state == HTTP1_COMPLETE)
        done(ch, r->keep_alive && ch->written, ATTEMPT_ANSWERED, NULL);
    if (state != HTTP1_FAILED)
        return;
    struct err e = r->error;
    err_prefix(&e, "%s", ch->peer);
    done(ch, false, ATTEMPT_BAD, &e);
}

static void on_data(struct http_channel *ch, struct bytes data)
{
    if (ch->attempt == NULL)
        http_channel_end(ch, NULL); // a peer that speaks out of turn
    else
        judge(ch, http1_response_feed(&ch->attempt->h1, data));
}

static void on_written(struct http_channel *ch)
{
    ch->written = true;
}

static void lost(struct http_channel *ch, const struct err *e)
{
    struct http_attempt *a = ch->attempt;
    struct err why = {0};
    ch->attempt = NULL;
    if (ch->served && !a->h1.any_byte) {
        err_set(&why, ERR_IO, "the connection ended while it was idle");
        http_channel_done(ch, a, ATTEMPT_STALE, &why);
    } else if (e == NULL && http1_response_end(&a->h1) == HTTP1_COMPLETE) {
        http_channel_done(ch, a, ATTEMPT_ANSWERED, NULL);
    } else {
        if (e != NULL && e->code == ERR_INVALID)
            why = *e; // it says what to mend
        else if (e != NULL)
            err_set(&why, ERR_IO, "%s before the response was complete", e->text);
        else
            err_set(&why, ERR_IO, "%s: connection closed before the response was complete", ch->peer);
        http_channel_done(ch, a, ATTEMPT_LOST, &why);
    }
}

static void on_end(struct http_channel *ch, const struct err *e)
{
    ch->retired = true;
    if (ch->attempt != NULL)
        lost(ch, e);
}

static void on_timer(struct http_channel *ch)
{
    struct http_attempt *a = ch->attempt;
    if (a == NULL) {
        http_channel_end(ch, NULL);
        return;
    }
    struct err e = {0};
    err_set(&e, ERR_MEMORY, "out of memory");
    ch->attempt = NULL;
    http_channel_done(ch, a, ATTEMPT_UNWRITABLE, &e);
    http_channel_end(ch, NULL);
}

static void start(struct http_channel *ch, struct http_attempt *a)
{
    struct http1_request_line line = {
        .url = &a->url,
        .user_agent = ch->options.user_agent,
        .absolute_form = ch->options.absolute_form,
        .proxy_authorization = ch->options.proxy_authorization,
        .close = ch->options.close_after_each,
    };
    buf_fini(&ch->head);
    buf_init(&ch->head, HEAD_MAX_BYTES);
    http1_request_write(&ch->head, &line, &a->request);
    buf_add(&ch->head, a->request.body_prefix.data, a->request.body_prefix.len);
    ch->attempt = a;
    ch->written = false;
    if (!buf_ok(&ch->head)) {
        connection_wake_after(ch->connection, 0);
        return;
    }
    connection_wake_after(ch->connection, CONNECTION_NEVER);
    ch->written = connection_write(ch->connection, buf_bytes(&ch->head), a->request.body);
}

static void abandon(struct http_channel *ch, struct http_attempt *a)
{
    (void)a;
    ch->attempt = NULL;
    http_channel_end(ch, NULL);
}

static size_t room(const struct http_channel *ch)
{
    return ch->attempt == NULL;
}

static void close_channel(struct http_channel *ch)
{
    (void)ch;
}

const struct channel_protocol http1_channel = {
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
