// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "view/flame_parts.h"

// XML cannot hold the first, and people take the others for something else.
static bool is_unseen(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } unseen[] = {
        {0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},   {0x200B, 0x200F},   {0x2028, 0x202E},
        {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE007F},
    };
    for (size_t i = 0; i < sizeof unseen / sizeof unseen[0]; i++)
        if (code >= unseen[i].first && code <= unseen[i].last)
            return true;
    return false;
}

// The text of one character that must not stand as it is; false = it may.
typedef bool escape_fn(struct buf *out, uint32_t code);

static bool json_escape(struct buf *out, uint32_t code)
{
    if (is_unseen(code))
        buf_add_format(out, "\\\\u%04x", code);
    else if (code == '"' || code == '\\' || code == '<' || code == '>' || code == '&')
        buf_add_format(out, "\\u%04x", code);
    else
        return false;
    return true;
}

static bool xml_escape(struct buf *out, uint32_t code)
{
    if (is_unseen(code))
        buf_add_format(out, "\\u%04x", code);
    else if (code == '"' || code == '\'' || code == '<' || code == '>' || code == '&')
        buf_add_format(out, "&#%u;", code);
    else
        return false;
    return true;
}

static void add_escaped(struct buf *out, struct bytes text, escape_fn *escape)
{
    while (text.len > 0) {
        size_t len = utf8_char_len(text);
        if (len == 0)
            buf_add_text(out, "\xEF\xBF\xBD");
        else if (!escape(out, utf8_code_point((struct bytes){text.data, len})))
            buf_add(out, text.data, len);
        len += len == 0;
        text = (struct bytes){text.data + len, text.len - len};
    }
}

void flame_json_text(struct buf *out, struct bytes text)
{
    add_escaped(out, text, json_escape);
}

void flame_xml_text(struct buf *out, struct bytes text)
{
    add_escaped(out, text, xml_escape);
}

enum err_code flame_written(const struct buf *out, struct err *e)
{
    if (buf_ok(out))
        return ERR_OK;
    if (out->too_large)
        return err_set(e, ERR_LIMIT, "the flame graph is larger than the %zu bytes allowed; --focus makes it smaller",
                       out->max_bytes);
    return err_set(e, ERR_MEMORY, "no memory for the flame graph (%zu bytes so far)", out->len);
}
