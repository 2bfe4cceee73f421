// SPDX-License-Identifier: Apache-2.0
#include "codec/wire.h"

#include "base/mem.h"

const char wire_no_memory[] = "out of memory";

void wire_reader_init(struct wire_reader *r, struct bytes data)
{
    static const uint8_t nothing[1];
    const uint8_t *start = data.len == 0 ? nothing : data.data;
    *r = (struct wire_reader){.start = start, .at = start, .end = start + data.len};
}

// The end is pulled to the cursor: every later read finds nothing, and the place stays known.
void wire_fail(struct wire_reader *r, const char *reason)
{
    if (r->error == NULL)
        r->error = reason;
    r->end = r->at;
}

size_t wire_offset(const struct wire_reader *r)
{
    return (size_t)(r->at - r->start);
}

uint64_t wire_varint_slow(struct wire_reader *r)
{
    size_t left = (size_t)(r->end - r->at);
    uint64_t v = 0;
    for (size_t i = 0; i < 10; i++) {
        if (i == left) {
            wire_fail(r, "varint is cut off");
            return 0;
        }
        uint8_t byte = r->at[i];
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            if (i == 9 && byte > 1)
                break;
            r->at += i + 1;
            return v;
        }
    }
    wire_fail(r, "varint has more than 64 bits");
    return 0;
}

static uint64_t read_fixed(struct wire_reader *r, size_t size)
{
    if ((size_t)(r->end - r->at) < size) {
        wire_fail(r, "fixed-size field is cut off");
        return 0;
    }
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++)
        v |= (uint64_t)r->at[i] << (8 * i);
    r->at += size;
    return v;
}

static struct bytes read_bytes(struct wire_reader *r)
{
    uint64_t len = wire_varint(r);
    if (len > (size_t)(r->end - r->at)) {
        wire_fail(r, "length runs past the end");
        len = 0;
    }
    struct bytes b = {r->at, (size_t)len};
    r->at += len;
    return b;
}

bool wire_value(struct wire_reader *r, uint64_t tag, struct wire_field *f)
{
    if (tag < 8 || tag > UINT32_MAX) {
        wire_fail(r, "field number is not between 1 and 536870911");
        return false;
    }
    *f = (struct wire_field){.number = (uint32_t)(tag >> 3), .type = (enum wire_type)(tag & 7)};
    switch (f->type) {
    case WIRE_VARINT:
        f->varint = wire_varint(r);
        break;
    case WIRE_FIXED64:
        f->varint = read_fixed(r, 8);
        break;
    case WIRE_LEN:
        f->bytes = read_bytes(r);
        break;
    case WIRE_FIXED32:
        f->varint = read_fixed(r, 4);
        break;
    default:
        wire_fail(r, "wire type is not 0, 1, 2 or 5");
    }
    return r->error == NULL;
}

bool wire_next(struct wire_reader *r, struct wire_field *f)
{
    if (r->at == r->end)
        return false;
    uint64_t tag = wire_varint(r);
    return r->error == NULL && wire_value(r, tag, f);
}

void wire_list_fini(struct wire_list *l)
{
    free(l->items);
    *l = (struct wire_list){0};
}

static bool list_reserve(struct wire_list *l, struct wire_reader *r, size_t extra)
{
    if (extra <= l->capacity - l->count)
        return true;
    void *items = l->items;
    size_t max = SIZE_MAX / sizeof(uint64_t);
    if (extra > max - l->count || !mem_try_grow(&items, &l->capacity, l->count + extra, sizeof(uint64_t), max)) {
        wire_fail(r, wire_no_memory);
        return false;
    }
    l->items = items;
    return true;
}

static bool add_packed_fixed(struct wire_list *l, struct wire_reader *r, struct bytes b)
{
    if (b.len % 8 != 0) {
        wire_fail(r, "packed fixed64 list is not a multiple of 8 bytes");
        return false;
    }
    if (!list_reserve(l, r, b.len / 8))
        return false;
    struct wire_reader in;
    wire_reader_init(&in, b);
    while (in.at != in.end)
        l->items[l->count++] = read_fixed(&in, 8);
    return true;
}

struct bytes wire_find(struct bytes message, uint32_t number)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, message);
    while (wire_next(&r, &f))
        if (f.number == number && f.type == WIRE_LEN)
            return f.bytes;
    return (struct bytes){NULL, 0};
}

// Each varint ends with its one byte below 0x80.
size_t wire_count_varints(struct bytes b)
{
    size_t n = 0;
    for (size_t i = 0; i < b.len; i++)
        n += b.data[i] < 0x80;
    return n;
}

static bool add_packed_varints(struct wire_list *l, struct wire_reader *r, struct bytes b)
{
    if (!list_reserve(l, r, wire_count_varints(b)))
        return false;
    struct wire_reader in;
    wire_reader_init(&in, b);
    size_t n = l->count;
    while (in.at != in.end) {
        uint64_t v = wire_varint(&in);
        if (in.error != NULL) {
            wire_fail(r, in.error);
            return false;
        }
        l->items[n++] = v;
    }
    l->count = n;
    return true;
}

bool wire_list_add(struct wire_list *l, struct wire_reader *r, const struct wire_field *f, bool fixed64)
{
    if (f->type == WIRE_LEN)
        return fixed64 ? add_packed_fixed(l, r, f->bytes) : add_packed_varints(l, r, f->bytes);
    if (f->type != (fixed64 ? WIRE_FIXED64 : WIRE_VARINT)) {
        wire_fail(r, "wrong wire type for a list of numbers");
        return false;
    }
    if (!list_reserve(l, r, 1))
        return false;
    l->items[l->count++] = f->varint;
    return true;
}

void wire_put_varint(struct buf *out, uint64_t v)
{
    if (out->capacity - out->len >= 10 && !out->failed) {
        out->len = (size_t)(wire_write_varint(out->data + out->len, v) - out->data);
        return;
    }
    uint8_t encoded[10];
    buf_add(out, encoded, (size_t)(wire_write_varint(encoded, v) - encoded));
}

void wire_put_tag(struct buf *out, uint32_t number, enum wire_type type)
{
    wire_put_varint(out, (uint64_t)number << 3 | type);
}

void wire_put_uint(struct buf *out, uint32_t number, uint64_t v)
{
    if (v == 0)
        return;
    wire_put_tag(out, number, WIRE_VARINT);
    wire_put_varint(out, v);
}

void wire_put_fixed64(struct buf *out, uint32_t number, uint64_t v)
{
    if (v == 0)
        return;
    wire_put_tag(out, number, WIRE_FIXED64);
    uint8_t encoded[8];
    for (size_t i = 0; i < 8; i++)
        encoded[i] = (uint8_t)(v >> (8 * i));
    buf_add(out, encoded, sizeof encoded);
}

void wire_put_bytes(struct buf *out, uint32_t number, struct bytes b)
{
    wire_put_tag(out, number, WIRE_LEN);
    wire_put_varint(out, b.len);
    buf_add(out, b.data, b.len);
}

size_t wire_varint_size(uint64_t v)
{
    return (size_t)(63 - __builtin_clzll(v | 1)) / 7 + 1;
}

size_t wire_begin(struct buf *out, uint32_t number)
{
    wire_put_tag(out, number, WIRE_LEN);
    buf_add_byte(out, 0);
    return out->len;
}

void wire_end(struct buf *out, size_t start)
{
    if (out->failed)
        return;
    size_t body = out->len - start;
    size_t more = wire_varint_size(body) - 1;
    if (more > 0) {
        if (!buf_reserve(out, more))
            return;
        memmove(out->data + start + more, out->data + start, body);
        out->len += more;
    }
    wire_write_varint(out->data + start - 1, body);
}
