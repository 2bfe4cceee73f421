// SPDX-License-Identifier: Apache-2.0
#include "processors/relabel_template.h"

#include "base/text.h"

#include <ctype.h>

struct reader {
    struct arena *arena;
    struct bytes text;
    const struct relabel_regex *regex;
    struct regex *letter; // of any language, or a digit; compiled when needed
};

static bool is_letter(struct reader *r, struct bytes character)
{
    struct err e;
    uint8_t c = character.data[0];
    if (c < 0x80)
        return isalnum(c) || c == '_';
    if (r->letter == NULL)
        CHECK(regex_compile(BYTES_LITERAL("[\\pL\\p{Nd}]"), &r->letter, &e) == ERR_OK);
    return regex_match(r->letter, character, NULL, 0);
}

// Letters of all languages belong to a name, though no group can have them in its own.
static size_t name_length(struct reader *r, struct bytes text)
{
    size_t at = 0;
    while (at < text.len) {
        size_t len = utf8_char_len((struct bytes){text.data + at, text.len - at});
        if (len == 0 || !is_letter(r, (struct bytes){text.data + at, len}))
            break;
        at += len;
    }
    return at;
}

// "7" is 7, "07" and "1x" are names.
static bool group_number(struct bytes name, uint32_t *out)
{
    uint32_t number = 0;
    if (name.len > 9 || (name.data[0] == '0' && name.len > 1))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] < '0' || name.data[i] > '9')
            return false;
        number = number * 10 + (uint32_t)(name.data[i] - '0');
    }
    *out = number;
    return true;
}

static void add_text(struct relabel_template *t, struct bytes text)
{
    if (text.len != 0)
        t->parts[t->count++] = (struct template_part){.text = text, .group = NO_GROUP};
}

static const uint32_t *list_same_name(const struct reader *r, struct bytes name, uint32_t first)
{
    uint32_t count = 0, next = first;
    while ((next = relabel_regex_group(r->regex, name, next)) != 0)
        count++;
    if (count == 0)
        return NULL;
    uint32_t *list = arena_alloc(r->arena, (count + 1) * sizeof *list);
    for (uint32_t i = 0; i < count; i++)
        list[i] = next = relabel_regex_group(r->regex, name, i == 0 ? first : next);
    return list;
}

// A group that is not there leaves nothing.
static void add_group(const struct reader *r, struct bytes name, struct relabel_template *t)
{
    struct template_part part = {.group = 0};
    bool found;
    if (group_number(name, &part.group)) {
        found = part.group <= r->regex->group_count;
    } else {
        part.group = relabel_regex_group(r->regex, name, 0);
        found = part.group != 0;
        part.same_name = found ? list_same_name(r, name, part.group) : NULL;
    }
    if (found)
        t->parts[t->count++] = part;
}

// Behind a `$`: how much of text the reference takes, 0 if there is none.
static size_t read_reference(struct reader *r, struct bytes text, struct relabel_template *t)
{
    bool brace = text.len > 0 && text.data[0] == '{';
    struct bytes name = {text.data + brace, text.len - brace};
    name.len = name.len == 0 ? 0 : name_length(r, name);
    size_t len = brace + name.len + brace;
    if (name.len == 0 || len > text.len || (brace && text.data[len - 1] != '}'))
        return 0;
    add_group(r, name, t);
    return len;
}

static void read_parts(struct reader *r, struct relabel_template *t)
{
    size_t begin = 0, at = 0;
    const uint8_t *text = r->text.data;
    while (at < r->text.len) {
        if (text[at] != '$') {
            at++;
            continue;
        }
        add_text(t, (struct bytes){text + begin, at - begin});
        at++;
        begin = at;
        if (at < r->text.len && text[at] == '$') {
            at++; // the second one is text
            continue;
        }
        size_t len = read_reference(r, (struct bytes){text + at, r->text.len - at}, t);
        begin = len == 0 ? at - 1 : at + len;
        at += len;
    }
    add_text(t, (struct bytes){text + begin, at - begin});
}

void template_parse(struct arena *arena, struct bytes text, const struct relabel_regex *regex,
                    struct relabel_template *out)
{
    struct reader r = {arena, text, regex, NULL};
    size_t dollars = 0;
    for (size_t i = 0; i < text.len; i++)
        dollars += text.data[i] == '$';
    *out = (struct relabel_template){arena_alloc(arena, (2 * dollars + 1) * sizeof *out->parts), 0};
    if (text.len != 0)
        read_parts(&r, out);
    regex_destroy(&r.letter);
}

static struct bytes part_text(const struct template_part *p, const struct bytes *groups)
{
    if (p->group == NO_GROUP)
        return p->text;
    struct bytes text = groups[p->group];
    for (const uint32_t *next = p->same_name; text.data == NULL && next != NULL && *next != 0; next++)
        text = groups[*next];
    return text;
}

static enum err_code join(const struct relabel_template *t, const struct bytes *groups, struct arena *arena,
                          struct bytes *out, struct err *e)
{
    size_t len = 0;
    for (size_t i = 0; i < t->count; i++)
        len += part_text(&t->parts[i], groups).len;
    if (len > TEMPLATE_MAX_BYTES)
        return err_set(e, ERR_LIMIT, "a rule makes a text of %zu bytes, allowed are %d", len, TEMPLATE_MAX_BYTES);
    uint8_t *text = arena_try_alloc(arena, len), *end = text;
    if (text == NULL)
        return err_set(e, ERR_MEMORY, "out of memory for the labels of a rule");
    for (size_t i = 0; i < t->count; i++) {
        struct bytes part = part_text(&t->parts[i], groups);
        if (part.len != 0)
            memcpy(end, part.data, part.len);
        end += part.len;
    }
    *out = (struct bytes){text, len};
    return ERR_OK;
}

enum err_code template_expand(const struct relabel_template *t, const struct bytes *groups, struct arena *arena,
                              struct bytes *out, struct err *e)
{
    *out = (struct bytes){NULL, 0};
    if (t->count == 1)
        *out = part_text(&t->parts[0], groups);
    return t->count < 2 ? ERR_OK : join(t, groups, arena, out, e);
}
