// SPDX-License-Identifier: Apache-2.0
#include "net/http_channel.h"

#include "base/mem.h"

enum { OUT_MAX_BYTES = 256 << 10 };

bool http_channel_is_gone(const struct http_channel *ch)
{
    return ch->closing || ch->ending;
}

void http_channel_end(struct http_channel *ch, const struct err *e)
{
    struct err closed = {0};
    if (http_channel_is_gone(ch))
        return;
    ch->ending = true;
    if (e == NULL && !ch->ready) {
        err_set(&closed, ERR_IO, "%s: the connection was closed before it could be used", ch->peer);
        e = &closed;
    }
    ch->events->on_end(ch, ch->ready ? NULL : e);
}

void http_channel_detach(struct http_channel *ch, struct http_attempt *a)
{
    a->channel = NULL;
    ch->active--;
    ch->served = true;
    if (ch->active == 0)
        ch->idle_since_ms = uv_now(ch->loop);
}

void http_channel_done(struct http_channel *ch, struct http_attempt *a, enum attempt_end end, const struct err *e)
{
    http_channel_detach(ch, a);
    ch->events->on_done(ch, a, end, e);
}

static bool choose_protocol(struct http_channel *ch, struct err *e)
{
    struct bytes alpn = connection_alpn(ch->connection);
    bool tls = ch->options.target.tls != NULL, h2 = bytes_equal_text(alpn, "h2");
    if (ch->options.protocol == HTTP_2 && tls && !h2) {
        err_set(e, ERR_UNSUPPORTED, "%s does not offer HTTP/2 (ALPN \"h2\")", ch->peer);
        return false;
    }
    ch->protocol = h2 || ch->options.protocol == HTTP_2 ? &http2_channel : &http1_channel;
    return true;
}

static void on_open(void *owner)
{
    struct http_channel *ch = owner;
    struct err e = {0};
    if (choose_protocol(ch, &e))
        ch->protocol->on_open(ch);
    else
        http_channel_end(ch, &e);
}

static void on_data(void *owner, struct bytes data)
{
    struct http_channel *ch = owner;
    if (!http_channel_is_gone(ch))
        ch->protocol->on_data(ch, data);
}

static void on_written(void *owner)
{
    struct http_channel *ch = owner;
    if (!http_channel_is_gone(ch))
        ch->protocol->on_written(ch);
}

static void on_timer(void *owner)
{
    struct http_channel *ch = owner;
    if (!http_channel_is_gone(ch))
        ch->protocol->on_timer(ch);
}

static void on_end(void *owner, const struct err *e)
{
    struct http_channel *ch = owner;
    if (ch->protocol != NULL)
        ch->protocol->on_end(ch, e);
    http_channel_end(ch, e);
}

static void on_closed(void *owner)
{
    struct http_channel *ch = owner;
    void (*closed)(void *) = ch->events->on_closed;
    void *channel_owner = ch->owner;
    buf_fini(&ch->head);
    buf_fini(&ch->out);
    free(ch);
    closed(channel_owner);
}

static const struct connection_events connection_events = {
    .on_open = on_open,
    .on_data = on_data,
    .on_written = on_written,
    .on_timer = on_timer,
    .on_end = on_end,
    .on_closed = on_closed,
};

static const char *const offers[] = {[HTTP_1] = "http/1.1", [HTTP_2] = "h2", [HTTP_BY_ALPN] = "h2,http/1.1"};

struct http_channel *http_channel_open(uv_loop_t *loop, const struct http_channel_options *options,
                                       const struct http_channel_events *events, void *owner)
{
    struct http_channel *ch = MEM_NEW(struct http_channel);
    ch->loop = loop;
    ch->options = *options;
    ch->events = events;
    ch->owner = owner;
    ch->born_ms = ch->idle_since_ms = uv_now(loop);
    ch->settle_by_ms = ch->born_ms + options->target.connect_timeout_ms;
    authority_format(options->target.host, options->target.port, ch->peer);
    buf_init(&ch->out, OUT_MAX_BYTES);
    ch->options.target.alpn = offers[options->protocol];
    ch->connection = connection_create(loop, &ch->options.target, &connection_events, ch);
    ch->options.target.address = NULL; // was copied
    return ch;
}

void http_channel_close(struct http_channel *ch)
{
    CHECK(!ch->closing && ch->active == 0);
    ch->closing = true;
    if (ch->protocol != NULL)
        ch->protocol->close(ch);
    connection_close(ch->connection);
}

size_t http_channel_room(const struct http_channel *ch)
{
    return ch->ready && !ch->retired && !http_channel_is_gone(ch) ? ch->protocol->room(ch) : 0;
}

bool http_channel_is_idle(const struct http_channel *ch)
{
    return ch->ready && ch->active == 0 && !http_channel_is_gone(ch);
}

bool http_channel_is_old(const struct http_channel *ch)
{
    return uv_now(ch->loop) - ch->born_ms >= ch->options.max_age_ms;
}

void http_channel_retire(struct http_channel *ch)
{
    ch->retired = true;
    if (ch->active == 0 && ch->ready && !http_channel_is_gone(ch))
        connection_wake_after(ch->connection, 0);
}

void http_channel_start(struct http_channel *ch, struct http_attempt *a)
{
    CHECK(http_channel_room(ch) > 0);
    http_attempt_reset(a, ch->protocol == &http2_channel ? HTTP_2 : HTTP_1);
    a->channel = ch;
    ch->active++;
    ch->protocol->start(ch, a);
}

void http_channel_abandon(struct http_attempt *a)
{
    struct http_channel *ch = a->channel;
    if (ch == NULL)
        return;
    http_channel_detach(ch, a);
    ch->protocol->abandon(ch, a);
}
