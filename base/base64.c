// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

void base64_encode(struct bytes raw, struct buf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (raw.len > SIZE_MAX / 2 || !buf_reserve(out, (raw.len + 2) / 3 * 4))
        return;
    for (size_t i = 0; i < raw.len; i += 3) {
        size_t left = raw.len - i;
        uint32_t word = (uint32_t)raw.data[i] << 16;
        word |= left > 1 ? (uint32_t)raw.data[i + 1] << 8 : 0;
        word |= left > 2 ? raw.data[i + 2] : 0;
        char four[4] = {digits[word >> 18], digits[word >> 12 & 63], left > 1 ? digits[word >> 6 & 63] : '=',
                        left > 2 ? digits[word & 63] : '='};
        buf_add(out, four, sizeof four);
    }
}

static uint32_t digit_value(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26u;
    if (c >= '0' && c <= '9')
        return c - '0' + 52u;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : 64;
}

// Without the padding; what is padded must be whole groups of four.
static bool cut_padding(struct bytes *text)
{
    size_t padding = 0;
    while (padding < 2 && padding < text->len && text->data[text->len - 1 - padding] == '=')
        padding++;
    bool whole = padding == 0 || text->len % 4 == 0;
    text->len -= padding;
    return whole && text->len % 4 != 1;
}

bool base64_decode(struct bytes text, uint8_t *out, size_t *len_out)
{
    uint32_t word = 0;
    size_t n = 0;
    *len_out = 0;
    if (!cut_padding(&text))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        uint32_t value = digit_value(text.data[i]);
        if (value == 64)
            return false;
        word = word << 6 | value;
        if (i % 4 != 0)
            out[n++] = (uint8_t)(word >> (6 - 2 * (i % 4)));
    }
    *len_out = n;
    return true;
}
