// SPDX-License-Identifier: Apache-2.0
#include "base/clean_text.h"

#include "base/text.h"

static bool is_control(const uint8_t *c, size_t len)
{
    return len == 1 ? *c < 0x20 || *c == 0x7f : len == 2 && c[0] == 0xc2 && c[1] < 0xa0;
}

void clean_text_add(struct buf *out, struct bytes text)
{
    while (text.len != 0) {
        size_t len = utf8_char_len(text);
        if (len == 0 || is_control(text.data, len))
            buf_add_format(out, "\\x%02x", text.data[len == 2]);
        else
            buf_add(out, text.data, len);
        len += len == 0;
        text = (struct bytes){text.data + len, text.len - len};
    }
}

bool clean_text_is(struct bytes text)
{
    while (text.len != 0) {
        size_t len = utf8_char_len(text);
        if (len == 0 || (is_control(text.data, len) && *text.data != '\n' && *text.data != '\t'))
            return false;
        text = (struct bytes){text.data + len, text.len - len};
    }
    return true;
}
