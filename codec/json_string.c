// SPDX-License-Identifier: Apache-2.0
// Strings of JSON: found, checked, unescaped.
#include "base/text.h"
#include "codec/json_internal.h"

static bool fail(struct json_reader *r, const char *reason)
{
    json_fail(r, ERR_INVALID, reason);
    return false;
}

static int hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

// \uXXXX at p, where six bytes are; -1 = no hex.
static int32_t code_unit(const uint8_t *p)
{
    int32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        int digit = hex_digit(p[i]);
        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

// The length of the escape at the cursor; 0 = it is none.
static size_t escape_len(const struct json_reader *r)
{
    size_t left = (size_t)(r->end - r->at);
    if (left < 2 || r->at[1] == 0 || strchr("\"\\/bfnrtu", r->at[1]) == NULL)
        return 0;
    if (r->at[1] != 'u')
        return 2;
    return left >= 6 && code_unit(r->at) >= 0 ? 6 : 0;
}

bool json_scan_string(struct json_reader *r, struct json_raw_string *out)
{
    const uint8_t *start = ++r->at;
    uint8_t all = 0;
    *out = (struct json_raw_string){0};
    for (;;) {
        const uint8_t *at = r->at;
        for (; at < r->end && *at >= 0x20 && *at != '"' && *at != '\\'; at++)
            all |= *at;
        r->at = at;
        if (at == r->end)
            return fail(r, "the text ends within a string");
        if (*at == '"')
            break;
        size_t n = *at == '\\' ? escape_len(r) : 0;
        if (n == 0)
            return fail(r, *at == '\\' ? "an escape that JSON does not have" : "a control character within a string");
        r->at += n;
        out->escaped = true;
    }
    out->text = (struct bytes){start, (size_t)(r->at++ - start)};
    out->high = all >= 0x80;
    return true;
}

static uint8_t *put_char(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (uint8_t)c;
    } else if (c < 0x800) {
        *to++ = (uint8_t)(0xC0 | c >> 6);
        *to++ = (uint8_t)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = (uint8_t)(0xE0 | c >> 12);
        *to++ = (uint8_t)(0x80 | (c >> 6 & 63));
        *to++ = (uint8_t)(0x80 | (c & 63));
    } else {
        *to++ = (uint8_t)(0xF0 | c >> 18);
        *to++ = (uint8_t)(0x80 | (c >> 12 & 63));
        *to++ = (uint8_t)(0x80 | (c >> 6 & 63));
        *to++ = (uint8_t)(0x80 | (c & 63));
    }
    return to;
}

// The character of the checked \u at p; half a pair is U+FFFD.
static const uint8_t *take_unicode(const uint8_t *p, const uint8_t *end, uint32_t *char_out, bool *half)
{
    uint32_t c = (uint32_t)code_unit(p);
    p += 6;
    if (c >= 0xD800 && c < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        uint32_t low = (uint32_t)code_unit(p);
        if (low >= 0xDC00 && low < 0xE000) {
            *char_out = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
            return p + 6;
        }
    }
    bool surrogate = c >= 0xD800 && c < 0xE000;
    *half = *half || surrogate;
    *char_out = surrogate ? 0xFFFD : c;
    return p;
}

static uint8_t simple_escape(uint8_t c)
{
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return c;
    }
}

// Never longer than what it came from.
static size_t unescape(struct bytes text, uint8_t *out, bool *half)
{
    const uint8_t *p = text.data, *end = text.data + text.len;
    uint8_t *to = out;
    while (p < end) {
        const uint8_t *stop = memchr(p, '\\', (size_t)(end - p));
        size_t plain = (size_t)((stop != NULL ? stop : end) - p);
        memcpy(to, p, plain);
        to += plain;
        p += plain;
        if (stop == NULL)
            break;
        if (p[1] == 'u') {
            uint32_t c;
            p = take_unicode(p, end, &c, half);
            to = put_char(to, c);
        } else {
            *to++ = simple_escape(p[1]);
            p += 2;
        }
    }
    return (size_t)(to - out);
}

static bool to_arena(struct json_reader *r, const struct json_raw_string *raw, struct bytes *text)
{
    bool half = false;
    if (raw->escaped) {
        uint8_t *copy = arena_try_alloc(r->arena, raw->text.len);
        if (copy == NULL)
            return false;
        *text = (struct bytes){copy, unescape(raw->text, copy, &half)};
    }
    if (raw->high && !utf8_valid(*text)) {
        uint8_t *repaired = arena_try_alloc(r->arena, utf8_repair(*text, NULL));
        if (repaired == NULL)
            return false;
        *text = (struct bytes){repaired, utf8_repair(*text, repaired)};
        half = true;
    }
    r->repaired_strings += half;
    return true;
}

bool json_read_string(struct json_reader *r, struct bytes *out)
{
    struct json_raw_string raw;
    if (!json_scan_string(r, &raw))
        return false;
    struct bytes text = raw.text;
    if ((raw.escaped || raw.high) && !to_arena(r, &raw, &text)) {
        json_fail(r, ERR_MEMORY, "out of memory");
        return false;
    }
    *out = text;
    return true;
}
