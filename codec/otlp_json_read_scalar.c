// SPDX-License-Identifier: Apache-2.0
// Values of fields that are no messages, from JSON to protobuf.
#include "base/base64.h"
#include "base/text.h"
#include "codec/otlp_json_reader.h"

#include <ctype.h>
#include <endian.h>
#include <math.h>

static void put_fixed64(struct buf *out, uint64_t v)
{
    uint64_t little_endian = htole64(v);
    buf_add(out, &little_endian, sizeof little_endian);
}

static void put_text(struct buf *out, struct bytes text)
{
    wire_put_varint(out, text.len);
    buf_add(out, text.data, text.len);
}

static void not_a(struct otlp_json_reader *r, const struct otlp_place *at, struct bytes text, const char *what)
{
    bool cut = text.len > 40;
    otlp_json_fail(r, at, ERR_INVALID, "\"%.*s%s\" is not %s", cut ? 40 : (int)text.len,
                   text.len != 0 ? (const char *)text.data : "", cut ? "..." : "", what);
}

// --- numbers ---

// The text of a number, with or without quotes.
static bool number_text(struct otlp_json_reader *r, const struct otlp_place *at, struct bytes *out)
{
    return (json_peek(&r->json) == JSON_STRING || otlp_json_expect(r, at, JSON_NUMBER)) &&
           json_number_text(&r->json, out);
}

static void read_int(struct otlp_json_reader *r, const struct otlp_place *at, int64_t low, int64_t high,
                     const char *what)
{
    struct bytes text;
    int64_t v;
    if (!number_text(r, at, &text))
        return;
    if (!json_to_int64(text, &v) || v < low || v > high)
        not_a(r, at, text, what);
    else
        wire_put_varint(&r->wire, (uint64_t)v);
}

static bool uint64_value(struct otlp_json_reader *r, const struct otlp_place *at, uint64_t *out)
{
    struct bytes text;
    if (!number_text(r, at, &text))
        return false;
    bool ok = json_to_uint64(text, out);
    if (!ok)
        not_a(r, at, text, "an unsigned 64-bit integer");
    return ok;
}

static bool word_to_double(struct bytes text, double *out)
{
    bool infinite = bytes_equal_text(text, "Infinity"), negative = bytes_equal_text(text, "-Infinity");
    *out = infinite ? INFINITY : negative ? -INFINITY : NAN;
    return infinite || negative || bytes_equal_text(text, "NaN");
}

static void read_double(struct otlp_json_reader *r, const struct otlp_place *at)
{
    struct bytes text;
    double v;
    uint64_t bits;
    if (!number_text(r, at, &text))
        return;
    if (!word_to_double(text, &v) && !json_to_double(text, &v)) {
        not_a(r, at, text, "a number that a double can hold");
        return;
    }
    memcpy(&bits, &v, sizeof bits);
    put_fixed64(&r->wire, bits);
}

static void read_temporality(struct otlp_json_reader *r, const struct otlp_place *at)
{
    static const char *const names[] = {"AGGREGATION_TEMPORALITY_UNSPECIFIED", "AGGREGATION_TEMPORALITY_DELTA",
                                        "AGGREGATION_TEMPORALITY_CUMULATIVE"};
    struct bytes text;
    int64_t v = 0;
    if (!number_text(r, at, &text))
        return;
    while (v < (int64_t)COUNT_OF(names) && !bytes_equal_text(text, names[v]))
        v++;
    if (v == (int64_t)COUNT_OF(names) && (!json_to_int64(text, &v) || v < INT32_MIN || v > INT32_MAX))
        not_a(r, at, text, "an aggregation temporality");
    else
        wire_put_varint(&r->wire, (uint64_t)v);
}

// --- texts ---

static void read_bytes(struct otlp_json_reader *r, const struct otlp_place *at)
{
    struct bytes text;
    size_t len = 0;
    if (!otlp_json_expect(r, at, JSON_STRING) || !json_string(&r->json, &text))
        return;
    // Room for the length, which is known only afterwards.
    size_t start = r->wire.len + 1;
    if (!buf_reserve(&r->wire, 1 + base64_decoded_max(text.len)))
        return;
    r->wire.data[r->wire.len++] = 0;
    if (!base64_decode(text, r->wire.data + start, &len))
        not_a(r, at, text, "base64");
    r->wire.len += len;
    wire_end(&r->wire, start);
}

static bool decode_hex(struct bytes text, uint8_t *raw, size_t len)
{
    uint8_t lower[32];
    if (text.len != 2 * len)
        return false;
    for (size_t i = 0; i < text.len; i++)
        lower[i] = (uint8_t)tolower(text.data[i]);
    return hex_decode_lower((struct bytes){lower, text.len}, raw, len);
}

static bool decode_id(struct bytes text, uint8_t *raw, size_t len)
{
    uint8_t decoded[48];
    size_t n;
    if (decode_hex(text, raw, len))
        return true;
    if (text.len > 32 || !base64_decode(text, decoded, &n) || n != len)
        return false;
    memcpy(raw, decoded, len);
    return true;
}

// Hex, as OTLP says, or base64, as protobuf does: their lengths differ.
static void read_id(struct otlp_json_reader *r, const struct otlp_place *at, size_t len)
{
    struct bytes text;
    uint8_t raw[16];
    if (!otlp_json_expect(r, at, JSON_STRING) || !json_string(&r->json, &text))
        return;
    if (text.len != 0 && !decode_id(text, raw, len))
        not_a(r, at, text, len == 16 ? "an id of 16 bytes in hex or base64" : "an id of 8 bytes in hex or base64");
    else
        put_text(&r->wire, (struct bytes){raw, text.len != 0 ? len : 0});
}

static void read_string(struct otlp_json_reader *r, const struct otlp_place *at)
{
    struct bytes text;
    if (otlp_json_expect(r, at, JSON_STRING) && json_string(&r->json, &text))
        put_text(&r->wire, text);
}

static void read_bool(struct otlp_json_reader *r, const struct otlp_place *at)
{
    bool v;
    if (otlp_json_expect(r, at, JSON_BOOL) && json_bool(&r->json, &v))
        buf_add_byte(&r->wire, v);
}

void otlp_json_read_scalar(struct otlp_json_reader *r, const struct otlp_place *at, const struct otlp_json_field *f)
{
    uint64_t v;
    switch (f->type) {
    case OTLP_JSON_STRING:
        read_string(r, at);
        break;
    case OTLP_JSON_BYTES:
        read_bytes(r, at);
        break;
    case OTLP_JSON_ID:
        read_id(r, at, f->id_len);
        break;
    case OTLP_JSON_BOOL:
        read_bool(r, at);
        break;
    case OTLP_JSON_INT32:
        read_int(r, at, INT32_MIN, INT32_MAX, "a 32-bit integer");
        break;
    case OTLP_JSON_UINT32:
        read_int(r, at, 0, UINT32_MAX, "an unsigned 32-bit integer");
        break;
    case OTLP_JSON_INT64:
        read_int(r, at, INT64_MIN, INT64_MAX, "a 64-bit integer");
        break;
    case OTLP_JSON_UINT64:
        if (uint64_value(r, at, &v))
            wire_put_varint(&r->wire, v);
        break;
    case OTLP_JSON_FIXED64:
        if (uint64_value(r, at, &v))
            put_fixed64(&r->wire, v);
        break;
    case OTLP_JSON_DOUBLE:
        read_double(r, at);
        break;
    case OTLP_JSON_TEMPORALITY:
        read_temporality(r, at);
        break;
    case OTLP_JSON_MESSAGE:
    case OTLP_JSON_UNREAD:
        break;
    }
}
