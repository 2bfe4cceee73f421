// SPDX-License-Identifier: Apache-2.0
#include "codec/text_lines.h"

#include "base/text.h"

enum utf16_order { NOT_UTF16, LITTLE_ENDIAN_UTF16, BIG_ENDIAN_UTF16 };

enum { UTF16_PEEKED_AT = 1 << 16 };

static bool starts_with(struct bytes data, const char *mark, size_t len)
{
    return data.len >= len && memcmp(data.data, mark, len) == 0;
}

static enum utf16_order utf16_order(struct bytes data)
{
    if (starts_with(data, "\xff\xfe", 2))
        return LITTLE_ENDIAN_UTF16;
    return starts_with(data, "\xfe\xff", 2) ? BIG_ENDIAN_UTF16 : NOT_UTF16;
}

// The unit at the start of data, which has two bytes at least.
static uint32_t utf16_unit(const uint8_t *at, enum utf16_order order)
{
    return order == LITTLE_ENDIAN_UTF16 ? (uint32_t)(at[0] | at[1] << 8) : (uint32_t)(at[0] << 8 | at[1]);
}

static bool is_surrogate(uint32_t unit, uint32_t first)
{
    return (unit & 0xfc00) == first;
}

// The character at *at, which moves behind it; U+FFFD for half a pair.
static uint32_t utf16_next(const uint8_t **at, const uint8_t *end, enum utf16_order order)
{
    uint32_t unit = utf16_unit(*at, order), low;
    *at += 2;
    if ((unit & 0xf800) != 0xd800)
        return unit;
    if (!is_surrogate(unit, 0xd800) || end - *at < 2 || !is_surrogate(low = utf16_unit(*at, order), 0xdc00))
        return 0xfffd;
    *at += 2;
    return 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
}

static uint8_t *utf8_put(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (uint8_t)c;
        return to;
    }
    const unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (uint8_t)(first[more] | c >> 6 * more);
    for (unsigned i = more; i-- > 0;)
        *to++ = (uint8_t)(0x80 | (c >> 6 * i & 0x3f));
    return to;
}

// Two bytes become three at most. A last odd byte goes.
static bool transcode(struct bytes data, enum utf16_order order, struct buf *out)
{
    const uint8_t *at = data.data, *end = data.data + data.len / 2 * 2;
    if (!buf_reserve(out, data.len / 2 * 3))
        return false;
    uint8_t *to = out->data;
    while (at < end)
        to = utf8_put(to, utf16_next(&at, end, order));
    out->len = out->data == NULL ? 0 : (size_t)(to - out->data);
    return true;
}

enum err_code text_lines_init(struct text_lines *t, struct bytes data, size_t max_line_bytes,
                              struct decode_report *report, struct err *e)
{
    const enum utf16_order order = utf16_order(data);
    const size_t mark = order != NOT_UTF16 ? 2 : starts_with(data, "\xef\xbb\xbf", 3) ? 3 : 0;
    *t = (struct text_lines){.max_line_bytes = max_line_bytes == 0 ? SIZE_MAX : max_line_bytes, .report = report};
    buf_init(&t->utf8, SIZE_MAX);
    if (mark > 0)
        data = (struct bytes){data.data + mark, data.len - mark};
    if (order != NOT_UTF16) {
        if (!transcode(data, order, &t->utf8))
            return err_set(e, ERR_MEMORY, "out of memory for %zu bytes of UTF-16 text", data.len);
        data = buf_bytes(&t->utf8);
    }
    t->at = data.data;
    t->end = data.len > 0 ? data.data + data.len : data.data;
    return ERR_OK;
}

void text_lines_fini(struct text_lines *t)
{
    buf_fini(&t->utf8);
}

bool text_lines_next(struct text_lines *t, struct bytes *line_out)
{
    while (t->at != t->end) {
        const uint8_t *end = memchr(t->at, '\n', (size_t)(t->end - t->at));
        struct bytes line = {t->at, (size_t)((end != NULL ? end : t->end) - t->at)};
        t->at = end != NULL ? end + 1 : t->end;
        t->number++;
        if (line.len > 0 && line.data[line.len - 1] == '\r')
            line.len--;
        if (line.len <= t->max_line_bytes) {
            *line_out = line;
            return true;
        }
        decode_bad_line(t->report, t->number, "it has %zu bytes, max_line_bytes allows %zu", line.len,
                        t->max_line_bytes);
    }
    return false;
}

bool text_is_probable(struct bytes data)
{
    if (utf16_order(data) != NOT_UTF16)
        return true;
    size_t n = data.len < 256 ? data.len : 256;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = data.data[i];
        if ((c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\0') || c == 0x7f)
            return false;
    }
    while (n < data.len && n > 0 && (data.data[n] & 0xc0) == 0x80)
        n--; // not in the middle of a character
    return n >= 4 && utf8_valid((struct bytes){data.data, n});
}

bool text_lines_peek(struct text_lines *t, struct bytes data)
{
    const bool is_text = text_is_probable(data);
    if (!is_text)
        data.len = 0;
    else if (utf16_order(data) != NOT_UTF16 && data.len > UTF16_PEEKED_AT)
        data.len = UTF16_PEEKED_AT;
    return text_lines_init(t, data, 0, NULL, NULL) == ERR_OK && is_text;
}

struct bytes text_trim(struct bytes line)
{
    while (line.len > 0 && text_is_blank(line.data[0])) {
        line.data++;
        line.len--;
    }
    while (line.len > 0 && text_is_blank(line.data[line.len - 1]))
        line.len--;
    return line;
}
