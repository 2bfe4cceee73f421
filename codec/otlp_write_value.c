// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_writer.h"

enum { SCALAR_ROOM = 2 * (1 + OTLP_MAX_VARINT) };

static uint8_t *put_double(uint8_t *to, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return otlp_put_fixed64(otlp_put_tag(to, 4, WIRE_FIXED64), bits);
}

// Presence counts here: zero, false and "" are written.
static uint8_t *put_scalar(uint8_t *to, const struct value *v)
{
    if (v->kind == VALUE_BOOL)
        return otlp_put_varint(otlp_put_tag(to, 2, WIRE_VARINT), v->boolean);
    if (v->kind == VALUE_INT)
        return otlp_put_varint(otlp_put_tag(to, 3, WIRE_VARINT), (uint64_t)v->integer);
    if (v->kind == VALUE_DOUBLE)
        return put_double(to, v->number);
    if (v->kind == VALUE_STRING)
        return otlp_put_bytes(to, 1, v->bytes);
    if (v->kind == VALUE_BYTES)
        return otlp_put_bytes(to, 7, v->bytes);
    return to;
}

static void write_list(struct otlp_writer *w, unsigned number, const struct value *v)
{
    struct otlp_open value = otlp_begin(w, number, 0);
    struct otlp_open list = otlp_begin(w, v->kind == VALUE_ARRAY ? 5 : 6, 0);
    for (uint32_t i = 0; i < v->count; i++) {
        if (v->kind == VALUE_ARRAY)
            otlp_write_value(w, 1, &v->items[i]);
        else
            otlp_write_entry(w, 1, &v->entries[i]);
    }
    otlp_end(w, list);
    otlp_end(w, value);
}

static void write_reference(struct otlp_writer *w, unsigned number, struct bytes text)
{
    uint32_t index = otlp_text_number(w, text);
    if (!otlp_room(w, SCALAR_ROOM))
        return;
    uint8_t *body = otlp_small_begin(w->at, number);
    w->at = otlp_small_end(body, otlp_put_varint(otlp_put_tag(body, 8, WIRE_VARINT), index));
}

void otlp_write_value(struct otlp_writer *w, unsigned number, const struct value *v)
{
    if (v->kind == VALUE_ARRAY || v->kind == VALUE_KVLIST) {
        write_list(w, number, v);
        return;
    }
    if (w->by_index && v->kind == VALUE_STRING) {
        write_reference(w, number, v->bytes);
        return;
    }
    size_t len = v->kind == VALUE_STRING || v->kind == VALUE_BYTES ? v->bytes.len : 0;
    if (!otlp_room(w, SCALAR_ROOM + OTLP_MAX_VARINT + len))
        return;
    uint8_t *body = otlp_small_begin(w->at, number);
    w->at = otlp_small_end(body, put_scalar(body, v));
}

static void write_key(struct otlp_writer *w, struct bytes key)
{
    if (!w->by_index) {
        otlp_text_field(w, 1, key);
        return;
    }
    uint32_t index = otlp_text_number(w, key);
    if (otlp_room(w, 1 + OTLP_MAX_VARINT))
        w->at = otlp_put_uint(w->at, 3, index);
}

void otlp_write_entry(struct otlp_writer *w, unsigned number, const struct key_value *kv)
{
    struct otlp_open entry = otlp_begin(w, number, 0);
    write_key(w, kv->key);
    otlp_write_value(w, 2, &kv->value);
    otlp_end(w, entry);
}
