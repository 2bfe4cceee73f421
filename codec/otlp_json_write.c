// SPDX-License-Identifier: Apache-2.0
// Protobuf as otlp_encode writes it into OTLP/JSON, by the tables of otlp_json_fields.c. The depth of recursion is
// that of the batch's values.
#include "base/base64.h"
#include "base/text.h"
#include "codec/json.h"
#include "codec/otlp.h"
#include "codec/otlp_json.h"
#include "codec/otlp_json_fields.h"
#include "codec/wire.h"

#include <endian.h>

static void write_message(struct buf *out, const struct otlp_json_message *m, struct bytes data);

static void put_quoted_int(struct buf *out, uint64_t v, bool is_signed)
{
    buf_add_byte(out, '"');
    if (is_signed)
        json_put_int64(out, (int64_t)v);
    else
        json_put_uint64(out, v);
    buf_add_byte(out, '"');
}

static void put_number(struct buf *out, enum otlp_json_type type, uint64_t v)
{
    double number;
    switch (type) {
    case OTLP_JSON_BOOL:
        buf_add_text(out, v != 0 ? "true" : "false");
        break;
    case OTLP_JSON_INT32:
        json_put_int64(out, (int32_t)(uint32_t)v);
        break;
    case OTLP_JSON_UINT32:
        json_put_uint64(out, (uint32_t)v);
        break;
    case OTLP_JSON_DOUBLE:
        memcpy(&number, &v, sizeof number);
        json_put_double(out, number);
        break;
    default:
        put_quoted_int(out, v, type == OTLP_JSON_INT64);
    }
}

static void put_base64(struct buf *out, struct bytes raw)
{
    buf_add_byte(out, '"');
    base64_encode(raw, out);
    buf_add_byte(out, '"');
}

static void put_id(struct buf *out, struct bytes raw)
{
    char text[2 + 32];
    size_t len = raw.len <= 16 ? raw.len : 16;
    text[0] = text[1 + 2 * len] = '"';
    hex_encode((struct bytes){raw.data, len}, text + 1);
    buf_add(out, text, 2 + 2 * len);
}

static void put_bytes(struct buf *out, const struct otlp_json_field *f, struct bytes b)
{
    switch (f->type) {
    case OTLP_JSON_MESSAGE:
        write_message(out, f->message, b);
        break;
    case OTLP_JSON_STRING:
        json_put_string(out, b);
        break;
    case OTLP_JSON_BYTES:
        put_base64(out, b);
        break;
    default:
        put_id(out, b);
    }
}

static bool is_number(enum otlp_json_type type)
{
    return type >= OTLP_JSON_BOOL;
}

static void put_packed(struct buf *out, enum otlp_json_type type, struct bytes list)
{
    struct wire_reader r;
    uint64_t v;
    wire_reader_init(&r, list);
    while (r.at != r.end && !out->failed) {
        if (r.at != r.start)
            buf_add_byte(out, ',');
        if (type == OTLP_JSON_FIXED64) {
            CHECK(r.end - r.at >= 8);
            memcpy(&v, r.at, sizeof v);
            v = le64toh(v);
            r.at += 8;
        } else {
            v = wire_varint(&r);
        }
        put_number(out, type, v);
    }
}

static void put_value(struct buf *out, const struct otlp_json_field *f, const struct wire_field *w)
{
    if (!is_number(f->type))
        put_bytes(out, f, w->bytes);
    else if (w->type == WIRE_LEN)
        put_packed(out, f->type, w->bytes);
    else
        put_number(out, f->type, w->varint);
}

// What is open of an object that is being written.
struct object {
    bool any;
    const struct otlp_json_field *list; // of this field, not closed yet
};

static void put_field(struct buf *out, struct object *o, const struct otlp_json_field *f, const struct wire_field *w)
{
    if (o->list != NULL && o->list != f) {
        buf_add_byte(out, ']');
        o->list = NULL;
    }
    if (o->any)
        buf_add_byte(out, ',');
    if (o->list == NULL) {
        buf_add(out, f->key, f->name_len + 3u);
        if (f->repeated)
            buf_add_byte(out, '[');
    }
    put_value(out, f, w);
    o->any = true;
    o->list = f->repeated ? f : NULL;
}

// The occurrences of one field in a message whose fields come in any order; of one that is not repeated the last.
static void put_foreign_field(struct buf *out, struct object *o, const struct otlp_json_field *f, struct bytes data)
{
    struct wire_reader r;
    struct wire_field w, last = {0};
    wire_reader_init(&r, data);
    while (wire_next(&r, &w)) {
        if (w.number != f->numbers[OTLP_LAYOUT_CURRENT])
            continue;
        if (f->repeated)
            put_field(out, o, f, &w);
        last = w;
    }
    if (!f->repeated && last.number != 0)
        put_field(out, o, f, &last);
}

static void put_fields(struct buf *out, struct object *o, const struct otlp_json_message *m, struct bytes data)
{
    const struct otlp_json_field *f = NULL;
    struct wire_reader r;
    struct wire_field w;
    wire_reader_init(&r, data);
    while (!out->failed && wire_next(&r, &w)) {
        if (f == NULL || f->numbers[OTLP_LAYOUT_CURRENT] != w.number)
            f = otlp_json_field_numbered(m, w.number);
        CHECK(f != NULL);
        put_field(out, o, f, &w);
    }
}

static void write_message(struct buf *out, const struct otlp_json_message *m, struct bytes data)
{
    struct object o = {0};
    buf_add_byte(out, '{');
    if (m->foreign)
        for (size_t i = 0; i < m->count; i++)
            put_foreign_field(out, &o, &m->fields[i], data);
    else
        put_fields(out, &o, m, data);
    if (o.list != NULL)
        buf_add_byte(out, ']');
    buf_add_byte(out, '}');
}

enum err_code otlp_json_encode(const struct batch *b, struct buf *out, struct err *e)
{
    struct buf wire;
    size_t before = out->len;
    buf_init(&wire, UINT32_MAX);
    enum err_code rc = otlp_encode(b, &wire, e);
    if (rc == ERR_OK) {
        write_message(out, &otlp_json_request, buf_bytes(&wire));
        if (out->too_large)
            rc = err_set(e, ERR_LIMIT, "the encoded request is larger than the %zu bytes allowed", out->max_bytes);
        else if (out->failed)
            rc = err_set(e, ERR_MEMORY, "out of memory while encoding an OTLP request");
    }
    if (rc != ERR_OK)
        out->len = before;
    buf_fini(&wire);
    return rc;
}
