// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

// The length a first byte promises and the range of the second byte (RFC 3629 section 4); 0 = no first byte.
static size_t utf8_promise(uint8_t first, uint8_t *low_out, uint8_t *high_out)
{
    *low_out = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    *high_out = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (first < 0xC2 || first > 0xF4)
        return 0;
    return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

uint32_t utf8_code_point(struct bytes character)
{
    uint32_t code = character.data[0];
    if (character.len > 1)
        code &= 0xFFu >> (character.len + 1);
    for (size_t i = 1; i < character.len; i++)
        code = code << 6 | (character.data[i] & 0x3Fu);
    return code;
}

size_t utf8_char_len(struct bytes text)
{
    if (text.len == 0)
        return 0;
    if (text.data[0] < 0x80)
        return 1;
    uint8_t low, high;
    size_t len = utf8_promise(text.data[0], &low, &high);
    if (len == 0 || len > text.len || text.data[1] < low || text.data[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((text.data[i] & 0xC0) != 0x80)
            return 0;
    return len;
}

static bool is_ascii_word(const uint8_t *data)
{
    uint64_t word;
    memcpy(&word, data, sizeof word);
    return (word & 0x8080808080808080u) == 0;
}

static size_t ascii_run(const uint8_t *data, size_t len)
{
    enum { WORD = 8 };
    size_t i = 0;
    while (len - i >= WORD && is_ascii_word(data + i))
        i += WORD;
    if (len >= WORD && len - i < WORD && is_ascii_word(data + len - WORD))
        return len; // the rest is in a word, too, of which some was seen before
    while (i < len && data[i] < 0x80)
        i++;
    return i;
}

bool utf8_valid(struct bytes text)
{
    for (size_t i = 0; i < text.len;) {
        i += ascii_run(text.data + i, text.len - i);
        if (i == text.len)
            break;
        size_t n = utf8_char_len((struct bytes){text.data + i, text.len - i});
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

size_t utf8_repair(struct bytes text, uint8_t *out)
{
    static const uint8_t replacement[] = {0xEF, 0xBF, 0xBD};
    size_t written = 0;
    for (size_t i = 0; i < text.len;) {
        size_t n = utf8_char_len((struct bytes){text.data + i, text.len - i});
        const uint8_t *from = n == 0 ? replacement : text.data + i;
        size_t count = n == 0 ? sizeof replacement : n;
        if (out != NULL)
            memcpy(out + written, from, count);
        written += count;
        i += n == 0 ? 1 : n;
    }
    return written;
}

void hex_encode(struct bytes raw, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < raw.len; i++) {
        out[2 * i] = digits[raw.data[i] >> 4];
        out[2 * i + 1] = digits[raw.data[i] & 15];
    }
}

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hex_decode_lower(struct bytes text, uint8_t *raw, size_t raw_len)
{
    if (text.len % 2 != 0 || text.len / 2 != raw_len)
        return false;
    for (size_t i = 0; i < raw_len; i++) {
        int high = hex_value(text.data[2 * i]), low = hex_value(text.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        raw[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

// Of either case.
static int hex_digit(uint8_t c)
{
    return hex_value(c >= 'A' && c <= 'F' ? (uint8_t)(c | 0x20) : c);
}

bool percent_decode(char *text, size_t *len)
{
    size_t used = 0;
    for (size_t i = 0; i < *len; i++) {
        char c = text[i];
        if (c == '%') {
            const int high = i + 2 < *len ? hex_digit((uint8_t)text[i + 1]) : -1;
            const int low = i + 2 < *len ? hex_digit((uint8_t)text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        text[used++] = c;
    }
    *len = used;
    return true;
}

char *text_bytes(char *out, size_t out_size, uint64_t bytes)
{
    static const char *const units[] = {"KB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        snprintf(out, out_size, "%" PRIu64 " B", bytes);
        return out;
    }
    size_t unit = 0;
    double value = (double)bytes / 1000;
    // 999.95 would be printed as 1000.0.
    for (; value >= 999.95 && unit + 1 < COUNT_OF(units); unit++)
        value /= 1000;
    snprintf(out, out_size, "%.1f %s", value, units[unit]);
    return out;
}

char *text_count(char *out, size_t out_size, uint64_t count, const char *noun)
{
    snprintf(out, out_size, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
    return out;
}
