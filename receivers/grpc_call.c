// SPDX-License-Identifier: Apache-2.0
#include "receivers/grpc_call.h"

#include "base/mem.h"

enum { REFLECTIONS = 64 };

// Calls that a client may keep open for long, at a time: one Watch per connection, more or less.
static size_t slots(const struct otlp_listener *l, enum otlp_slot slot)
{
    const struct otlp_settings *s = l->receiver->settings;
    int protocol = l->serves[OTLP_GRPC] ? OTLP_GRPC : OTLP_HTTP;
    return slot == OTLP_SLOT_WATCH ? (size_t)s->servers[protocol].max_connections : REFLECTIONS;
}

static const struct grpc_call_kind *find_kind(const struct http_exchange *x, const struct grpc_call_kind *kinds)
{
    while (kinds->path != NULL && !bytes_equal_text(http_exchange_head(x)->path, kinds->path))
        kinds++;
    return kinds->path != NULL ? kinds : NULL;
}

bool grpc_call_begin(struct otlp_listener *l, struct http_exchange *x, const struct grpc_call_kind *kinds)
{
    const struct grpc_call_kind *kind = find_kind(x, kinds);
    struct otlp_grpc_answer no = {.status = GRPC_OK};
    enum compression compression;
    if (kind == NULL)
        return false;
    bool limited = kind->slot != OTLP_SLOT_NONE;
    if (!upload_encoding_of(x, "grpc-encoding", &compression))
        no = (struct otlp_grpc_answer){.status = GRPC_UNIMPLEMENTED,
                                       .text = "unsupported grpc-encoding, supported: " UPLOAD_ENCODINGS};
    else if (limited && l->open_calls[kind->slot] >= slots(l, kind->slot))
        no = (struct otlp_grpc_answer){.status = GRPC_RESOURCE_EXHAUSTED,
                                       .text = "too many calls of this kind are open"};
    if (no.status != GRPC_OK) {
        otlp_answer_grpc(x, &no);
        return true;
    }
    struct grpc_call *c = MEM_NEW(struct grpc_call);
    *c = (struct grpc_call){l, kind, compression};
    l->open_calls[kind->slot]++;
    http_exchange_set_context(x, c);
    http_exchange_set_handler(x, kind->handler);
    if (kind->streams)
        http_exchange_take_stream(x);
    else
        http_exchange_take_body(x, GRPC_CALL_MESSAGE_MAX_BYTES + GRPC_PREFIX_BYTES);
    return true;
}

void grpc_call_on_abort(void *arg, struct http_exchange *x)
{
    struct grpc_call *c = http_exchange_context(x);
    (void)arg;
    c->listener->open_calls[c->kind->slot]--;
    free(c);
}

void grpc_call_answer(struct http_exchange *x, const struct otlp_grpc_answer *a)
{
    grpc_call_on_abort(NULL, x);
    otlp_answer_grpc(x, a);
}

void grpc_call_fail(struct http_exchange *x, enum grpc_status status, const char *text)
{
    grpc_call_answer(x, &(struct otlp_grpc_answer){.status = status, .text = text});
}

static enum err_code inflate(const struct grpc_call *c, struct grpc_message *m, struct buf *room, struct err *e)
{
    if (!m->compressed)
        return ERR_OK;
    if (c->compression == COMPRESSION_NONE)
        return err_set(e, ERR_INVALID, "the message is marked as compressed, but there is no grpc-encoding");
    enum err_code rc = decompress(c->compression, m->payload, GRPC_CALL_MESSAGE_MAX_BYTES, "this method", room, e);
    m->payload = buf_bytes(room);
    return rc;
}

bool grpc_call_read(struct http_exchange *x, struct bytes message, struct buf *room, struct bytes *payload_out)
{
    struct grpc_message m;
    struct err e;
    enum err_code rc = grpc_message_parse(message, GRPC_CALL_MESSAGE_MAX_BYTES, &m, &e);
    if (rc == ERR_OK)
        rc = inflate(http_exchange_context(x), &m, room, &e);
    *payload_out = m.payload;
    if (rc != ERR_OK)
        grpc_call_fail(x,
                       rc == ERR_LIMIT    ? GRPC_RESOURCE_EXHAUSTED
                       : rc == ERR_MEMORY ? GRPC_UNAVAILABLE
                                          : GRPC_INVALID_ARGUMENT,
                       e.text);
    return rc == ERR_OK;
}

void grpc_call_on_refuse(void *arg, struct http_exchange *x, int status, const char *text)
{
    (void)arg;
    grpc_call_fail(x,
                   status == 413   ? GRPC_RESOURCE_EXHAUSTED
                   : status == 408 ? GRPC_DEADLINE_EXCEEDED
                                   : GRPC_UNAVAILABLE,
                   text);
}

void grpc_call_on_drain(void *arg, struct http_exchange *x)
{
    (void)arg;
    grpc_call_fail(x, GRPC_UNAVAILABLE, "this connection ends: call again on another one");
}
