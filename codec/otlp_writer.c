// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_writer.h"

static size_t position(const struct otlp_writer *w)
{
    return w->out->data == NULL ? 0 : (size_t)(w->at - w->out->data);
}

void otlp_writer_open(struct otlp_writer *w, struct buf *out)
{
    *w = (struct otlp_writer){.out = out, .max_bytes = out->max_bytes};
    if (out->data != NULL) {
        w->at = out->data + out->len;
        w->end = out->data + out->capacity;
    }
}

enum err_code otlp_writer_close(struct otlp_writer *w, struct err *e)
{
    struct buf *out = w->out;
    if (!out->failed)
        out->len = position(w);
    if (out->len > w->max_bytes)
        out->failed = out->too_large = true;
    if (out->too_large)
        return err_set(e, ERR_LIMIT, "the encoded request is larger than the %zu bytes allowed", w->max_bytes);
    return out->failed ? err_set(e, ERR_MEMORY, "out of memory while encoding an OTLP request") : ERR_OK;
}

bool otlp_writer_grow(struct otlp_writer *w, size_t bytes)
{
    struct buf *out = w->out;
    if (out->failed)
        return false;
    out->len = position(w);
    if (out->len > w->max_bytes) {
        out->failed = out->too_large = true;
    } else {
        out->max_bytes = w->max_bytes > SIZE_MAX - bytes ? SIZE_MAX : w->max_bytes + bytes;
        buf_reserve(out, bytes);
        out->max_bytes = w->max_bytes;
    }
    if (out->failed) {
        w->end = w->at; // no room for anything, so that nothing more is put
        return false;
    }
    w->at = out->data + out->len;
    w->end = out->data + out->capacity;
    return true;
}

uint8_t *otlp_small_end_long(uint8_t *body, uint8_t *to)
{
    size_t len = (size_t)(to - body), more = otlp_varint_size(len) - 1;
    memmove(body + more, body, len);
    otlp_put_varint(body - 1, len);
    return to + more;
}

struct otlp_open otlp_begin(struct otlp_writer *w, unsigned number, size_t expected_bytes)
{
    struct otlp_open open = {0, otlp_varint_size(expected_bytes)};
    if (!otlp_room(w, 1 + OTLP_MAX_VARINT))
        return open;
    w->at = otlp_put_tag(w->at, number, WIRE_LEN) + open.length_size;
    open.body = position(w);
    return open;
}

void otlp_end(struct otlp_writer *w, struct otlp_open open)
{
    if (!otlp_room(w, OTLP_MAX_VARINT) || w->out->failed)
        return;
    uint8_t *body = w->out->data + open.body;
    size_t len = (size_t)(w->at - body), length_size = otlp_varint_size(len);
    if (length_size != open.length_size) {
        memmove(body - open.length_size + length_size, body, len);
        w->at = w->at - open.length_size + length_size;
    }
    otlp_put_varint(body - open.length_size, len);
}

void otlp_text_field(struct otlp_writer *w, unsigned number, struct bytes b)
{
    if (b.len != 0 && otlp_room(w, 1 + OTLP_MAX_VARINT + b.len))
        w->at = otlp_put_bytes(w->at, number, b);
}

static void encode_set(struct otlp_writer *w, uint32_t set)
{
    const struct dictionary *d = w->batch->dictionary;
    struct batch_range range = d->attribute_sets[set];
    const uint32_t *ids = d->set_attributes + range.start;
    struct buf *pool = &w->sets.pool;
    if (!buf_reserve(pool, 5 + (size_t)range.count * 5 + OTLP_SET_SLACK)) {
        w->out->failed = true;
        return;
    }
    uint8_t *body = pool->data + pool->len + 1, *to = body;
    for (uint32_t i = 0; i < range.count; i++)
        to = otlp_put_varint(to, prune_id(&w->prune.attributes, ids[i]));
    to = otlp_small_end(body, to);
    w->sets.start_plus_one[set] = (uint32_t)pool->len + 1;
    pool->len = (size_t)(to - pool->data);
}

struct bytes otlp_attribute_list(struct otlp_writer *w, uint32_t set)
{
    if (w->sets.start_plus_one[set] == 0)
        encode_set(w, set);
    if (w->out->failed)
        return (struct bytes){NULL, 0};
    const uint8_t *list = w->sets.pool.data + w->sets.start_plus_one[set] - 1;
    struct wire_reader r = {.start = list, .at = list, .end = list + 5};
    uint64_t len = wire_varint(&r);
    return (struct bytes){list, (size_t)(r.at - list) + (size_t)len};
}
