// SPDX-License-Identifier: Apache-2.0
#include "exporters/peer_words.h"

#include "base/text.h"

#include <string.h>

static bool is_control(struct bytes character)
{
    const uint8_t *c = character.data;
    return c[0] <= ' ' || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
}

void peer_words_clean(struct bytes raw, bool is_page, char out[PEER_WORDS_MAX + 1])
{
    size_t used = 0, len;
    bool in_tag = false, space = false;
    for (; raw.len != 0; raw = (struct bytes){raw.data + len, raw.len - len}) {
        size_t valid = utf8_char_len(raw);
        len = valid != 0 ? valid : 1;
        in_tag = is_page && (in_tag || raw.data[0] == '<');
        if (in_tag || valid == 0 || is_control(raw)) {
            in_tag = in_tag && raw.data[0] != '>';
            space = used != 0;
            continue;
        }
        if (used + space + len > PEER_WORDS_MAX)
            break;
        if (space)
            out[used++] = ' ';
        memcpy(out + used, raw.data, len);
        used += len;
        space = false;
    }
    out[used] = '\0';
}
