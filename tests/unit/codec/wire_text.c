// SPDX-License-Identifier: Apache-2.0
#include "wire_text.h"

#include "codec/wire.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t take_number(const char **at)
{
    char *end;
    errno = 0;
    uint64_t n = **at == '-' ? (uint64_t)strtoll(*at, &end, 10) : strtoull(*at, &end, 10);
    CHECK(end != *at && errno == 0);
    *at = end;
    return n;
}

static void put_fixed64(struct buf *out, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        buf_add_byte(out, (uint8_t)(v >> (8 * i)));
}

static void put_list(struct buf *out, uint32_t number, const char **at, char end, void (*put)(struct buf *, uint64_t))
{
    size_t start = wire_begin(out, number);
    while (**at != end) {
        put(out, take_number(at));
        *at += **at == ',';
    }
    ++*at;
    wire_end(out, start);
}

static void put_fields(struct buf *out, const char **at);

static void put_field(struct buf *out, const char **at)
{
    uint32_t number = (uint32_t)take_number(at);
    const char kind = *(*at)++, *end = NULL;
    size_t start;
    switch (kind) {
    case ':':
        wire_put_tag(out, number, WIRE_VARINT);
        wire_put_varint(out, take_number(at));
        break;
    case '=':
        wire_put_tag(out, number, WIRE_FIXED64);
        put_fixed64(out, take_number(at));
        break;
    case '[':
        put_list(out, number, at, ']', wire_put_varint);
        break;
    case '<':
        put_list(out, number, at, '>', put_fixed64);
        break;
    case '\'':
        end = strchr(*at, '\'');
        CHECK(end != NULL);
        wire_put_bytes(out, number, (struct bytes){(const uint8_t *)*at, (size_t)(end - *at)});
        *at = end + 1;
        break;
    default:
        CHECK(kind == '{');
        start = wire_begin(out, number);
        put_fields(out, at);
        CHECK(*(*at)++ == '}');
        wire_end(out, start);
    }
}

static void put_fields(struct buf *out, const char **at)
{
    while (**at != 0 && **at != '}') {
        if (**at == ' ')
            ++*at;
        else
            put_field(out, at);
    }
}

void wire_text(struct buf *out, const char *text)
{
    put_fields(out, &text);
    CHECK(*text == 0);
}
