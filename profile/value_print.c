// SPDX-License-Identifier: Apache-2.0
#include "profile/value.h"

#include "base/base64.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// The fewest digits that read back as the same number.
static void print_double(struct buf *out, double number)
{
    if (isnan(number)) {
        buf_add_text(out, "NaN");
        return;
    }
    if (isinf(number)) {
        buf_add_text(out, number < 0 ? "-Infinity" : "Infinity");
        return;
    }
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    buf_add_text(out, text);
}

static void print_escaped(struct buf *out, uint8_t byte)
{
    if (byte == '"' || byte == '\\')
        buf_add_format(out, "\\%c", byte);
    else if (byte == '\n')
        buf_add_text(out, "\\n");
    else
        buf_add_format(out, "\\u%04x", byte);
}

static void print_quoted(struct buf *out, struct bytes text)
{
    buf_add_byte(out, '"');
    size_t plain = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = text.data[i];
        if (byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        if (i > plain)
            buf_add(out, text.data + plain, i - plain);
        print_escaped(out, byte);
        plain = i + 1;
    }
    if (text.len > plain)
        buf_add(out, text.data + plain, text.len - plain);
    buf_add_byte(out, '"');
}

static void print_nested(struct buf *out, const struct value *v);

static void print_array(struct buf *out, const struct value *v)
{
    buf_add_byte(out, '[');
    for (uint32_t i = 0; i < v->count; i++) {
        if (i > 0)
            buf_add_byte(out, ',');
        print_nested(out, &v->items[i]);
    }
    buf_add_byte(out, ']');
}

static void print_kvlist(struct buf *out, const struct value *v)
{
    buf_add_byte(out, '{');
    for (uint32_t i = 0; i < v->count; i++) {
        if (i > 0)
            buf_add_byte(out, ',');
        print_quoted(out, v->entries[i].key);
        buf_add_byte(out, ':');
        print_nested(out, &v->entries[i].value);
    }
    buf_add_byte(out, '}');
}

static void print_nested(struct buf *out, const struct value *v)
{
    if (v->kind == VALUE_EMPTY) {
        buf_add_text(out, "null");
    } else if (v->kind == VALUE_STRING) {
        print_quoted(out, v->bytes);
    } else if (v->kind == VALUE_BYTES) {
        buf_add_byte(out, '"');
        base64_encode(v->bytes, out);
        buf_add_byte(out, '"');
    } else {
        value_print(out, v);
    }
}

void value_print(struct buf *out, const struct value *v)
{
    switch (v->kind) {
    case VALUE_EMPTY:
        break;
    case VALUE_STRING:
        buf_add(out, v->bytes.data, v->bytes.len);
        break;
    case VALUE_BOOL:
        buf_add_text(out, v->boolean ? "true" : "false");
        break;
    case VALUE_INT:
        buf_add_format(out, "%" PRId64, v->integer);
        break;
    case VALUE_DOUBLE:
        print_double(out, v->number);
        break;
    case VALUE_ARRAY:
        print_array(out, v);
        break;
    case VALUE_KVLIST:
        print_kvlist(out, v);
        break;
    case VALUE_BYTES:
        base64_encode(v->bytes, out);
        break;
    }
}
