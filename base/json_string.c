// SPDX-License-Identifier: Apache-2.0
#include "base/json_string.h"

#include "base/text.h"

static void put_escape(struct buf *out, unsigned c)
{
    static const char letters[] = "btnvfr"; // from \b = 8 on; JSON has no \v
    if (c == '"' || c == '\\')
        buf_add(out, c == '"' ? "\\\"" : "\\\\", 2);
    else if (c >= '\b' && c <= '\r' && c != '\v')
        buf_add(out, (char[]){'\\', letters[c - '\b']}, 2);
    else
        buf_add_format(out, "\\u%04x", c);
}

// What stands at text must be written otherwise: its length; 0 = as it is, plain_out characters.
static size_t special_len(struct bytes text, size_t *plain_out)
{
    uint8_t c = text.data[0];
    *plain_out = c < 0x80 ? 1 : utf8_char_len(text);
    if (c < 0x20 || c == '"' || c == '\\' || *plain_out == 0)
        return 1;
    return *plain_out == 3 && c == 0xE2 && text.data[1] == 0x80 && (text.data[2] & 0xFE) == 0xA8 ? 3 : 0;
}

static void put_special(struct buf *out, const uint8_t *at, size_t len)
{
    if (len == 3)
        put_escape(out, 0x2000u + (at[2] & 0x3fu));
    else if (*at >= 0x80)
        buf_add_text(out, "\xEF\xBF\xBD");
    else
        put_escape(out, *at);
}

void json_put_string(struct buf *out, struct bytes text)
{
    size_t written = 0, plain;
    buf_add_byte(out, '"');
    for (size_t i = 0; i < text.len;) {
        size_t special = special_len((struct bytes){text.data + i, text.len - i}, &plain);
        if (special != 0) {
            buf_add(out, text.data + written, i - written);
            put_special(out, text.data + i, special);
            written = i + special;
        }
        i += special != 0 ? special : plain;
    }
    if (text.len != 0)
        buf_add(out, text.data + written, text.len - written);
    buf_add_byte(out, '"');
}
