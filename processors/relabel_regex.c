// SPDX-License-Identifier: Apache-2.0
#include "processors/relabel_regex.h"

#include <ctype.h>

// --- shapes ---

static bool is_literal(uint8_t c)
{
    return strchr("\\.+*?()[]{}^$|", c) == NULL; // not NUL either
}

// The character that ends at `len` goes: a quantifier behind it, even behind `(?i)` or `\Q\E`, is about it alone.
static size_t without_last(const uint8_t *text, size_t len)
{
    while (len > 0 && (text[len - 1] & 0xC0) == 0x80)
        len--;
    return len == 0 ? 0 : len - 1;
}

static struct regex_shape read_shape(struct arena *arena, struct bytes pattern, bool *group_out)
{
    static const struct {
        const char *text;
        enum regex_tail tail;
        bool group;
    } tails[] = {{"", TAIL_NONE, false},
                 {".*", TAIL_ANY, false},
                 {".+", TAIL_SOME, false},
                 {"(.*)", TAIL_ANY, true},
                 {"(.+)", TAIL_SOME, true}};
    uint8_t *prefix = arena_alloc(arena, pattern.len);
    size_t at = 0, len = 0;
    for (; at < pattern.len; at++) {
        bool escaped = pattern.data[at] == '\\' && at + 1 < pattern.len && ispunct(pattern.data[at + 1]);
        if (!escaped && !is_literal(pattern.data[at]))
            break;
        at += escaped;
        prefix[len++] = pattern.data[at];
    }
    struct bytes rest = {pattern.data + at, pattern.len - at};
    for (size_t i = 0; i < COUNT_OF(tails); i++) {
        if (!bytes_equal_text(rest, tails[i].text))
            continue;
        *group_out = tails[i].group;
        return (struct regex_shape){{prefix, len}, tails[i].tail};
    }
    return (struct regex_shape){{prefix, without_last(prefix, len)}, TAIL_REGEX};
}

static void one_regex(struct relabel_regex *r)
{
    r->shapes[0] = (struct regex_shape){{NULL, 0}, TAIL_REGEX};
    r->shape_count = 1;
    r->needs_regex = true;
}

static void read_shapes(struct arena *arena, struct bytes pattern, struct relabel_regex *r)
{
    size_t count = 1, groups = 0;
    for (size_t i = 0; i < pattern.len; i++)
        count += pattern.data[i] == '|';
    r->shapes = arena_alloc(arena, count * sizeof *r->shapes);
    r->shape_count = count;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bar = pattern.len == 0 ? NULL : memchr(pattern.data, '|', pattern.len);
        size_t len = bar == NULL ? pattern.len : (size_t)(bar - pattern.data);
        bool group = false;
        r->shapes[i] = read_shape(arena, (struct bytes){pattern.data, len}, &group);
        groups += group;
        r->needs_regex |= r->shapes[i].tail == TAIL_REGEX;
        if (bar != NULL)
            pattern = (struct bytes){bar + 1, pattern.len - len - 1};
    }
    // A prefix means something only where the whole expression is one alternative.
    if (count > 1 && (r->needs_regex || groups != 0))
        one_regex(r);
    r->group_count = (uint32_t)groups; // without RE2
}

enum err_code relabel_regex_compile(struct arena *arena, struct bytes pattern, struct relabel_regex *out, struct err *e)
{
    *out = (struct relabel_regex){.regex = NULL};
    read_shapes(arena, pattern, out);
    if (!out->needs_regex)
        return ERR_OK;
    enum err_code rc = regex_compile_dot_all(pattern, &out->regex, e);
    if (rc == ERR_OK)
        out->group_count = regex_group_count(out->regex);
    return rc;
}

void relabel_regex_fini(struct relabel_regex *r)
{
    regex_destroy(&r->regex);
}

// --- matching ---

static bool begins_with(struct bytes text, struct bytes prefix)
{
    return text.len >= prefix.len && (prefix.len == 0 || memcmp(text.data, prefix.data, prefix.len) == 0);
}

static bool shape_matches(const struct relabel_regex *r, const struct regex_shape *s, struct bytes text)
{
    if (!begins_with(text, s->prefix))
        return false;
    switch (s->tail) {
    case TAIL_NONE:
        return text.len == s->prefix.len;
    case TAIL_ANY:
        return true;
    case TAIL_SOME:
        return text.len > s->prefix.len;
    case TAIL_REGEX:
        break;
    }
    return regex_match(r->regex, text, NULL, 0);
}

bool relabel_regex_matches(const struct relabel_regex *r, struct bytes text)
{
    for (size_t i = 0; i < r->shape_count; i++)
        if (shape_matches(r, &r->shapes[i], text))
            return true;
    return false;
}

bool relabel_regex_match(const struct relabel_regex *r, struct bytes text, struct bytes *groups)
{
    static const uint8_t nothing[1];
    if (text.len == 0)
        text.data = nothing; // an empty group is not one that took no part
    if (r->needs_regex)
        return begins_with(text, r->shapes[0].prefix) && regex_match(r->regex, text, groups, r->group_count + 1);
    if (!relabel_regex_matches(r, text))
        return false;
    size_t prefix = r->shapes[0].prefix.len;
    groups[0] = text;
    if (r->group_count == 1)
        groups[1] = (struct bytes){text.data + prefix, text.len - prefix};
    return true;
}

uint32_t relabel_regex_group(const struct relabel_regex *r, struct bytes name, uint32_t after)
{
    for (uint32_t i = after + 1; r->regex != NULL && i <= r->group_count; i++) {
        const char *have = regex_group_name(r->regex, i);
        if (have != NULL && bytes_equal_text(name, have))
            return i;
    }
    return 0;
}
