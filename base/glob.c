// SPDX-License-Identifier: Apache-2.0
// All places in the path that the pattern can have reached are carried along together, so nothing is tried twice.
#include "base/glob.h"

#include "base/limits.h"
#include "base/text.h"

// Places in the path, strictly rising, hence at most LIMIT_PATH_BYTES + 1.
struct places {
    size_t count;
    uint16_t at[LIMIT_PATH_BYTES + 1];
};

struct matcher {
    struct bytes path;
    struct places *now, *next;
};

static void add_place(struct places *p, size_t at)
{
    if (p->count == 0 || at > p->at[p->count - 1])
        p->at[p->count++] = (uint16_t)at;
}

static void step_done(struct matcher *m)
{
    struct places *spare = m->now;
    m->now = m->next;
    m->next = spare;
    m->next->count = 0;
}

static struct bytes tail(struct bytes b, size_t from)
{
    return (struct bytes){b.data + from, b.len - from};
}

// The length of the character, broken bytes counting as one each.
static size_t char_len(struct bytes text)
{
    size_t n = utf8_char_len(text);
    return n == 0 ? 1 : n;
}

static uint32_t char_code(struct bytes text)
{
    return utf8_code_point((struct bytes){text.data, char_len(text)});
}

static void step_literal(struct matcher *m, uint8_t byte)
{
    for (size_t i = 0; i < m->now->count; i++) {
        size_t at = m->now->at[i];
        if (at < m->path.len && m->path.data[at] == byte)
            add_place(m->next, at + 1);
    }
    step_done(m);
}

// *: every place up to the end of the element.
static void step_star(struct matcher *m)
{
    for (size_t i = 0; i < m->now->count; i++) {
        size_t at = m->now->at[i];
        size_t last = i + 1 < m->now->count ? m->now->at[i + 1] : m->path.len;
        add_place(m->next, at);
        while (at < last && m->path.data[at] != '/') {
            at += char_len(tail(m->path, at));
            add_place(m->next, at);
        }
    }
    step_done(m);
}

// **/: every element start from the first place on. ** at the end: everything.
static void step_elements(struct matcher *m, bool at_end)
{
    if (m->now->count == 0)
        return;
    size_t first = m->now->at[0];
    add_place(m->next, first);
    for (size_t at = first + 1; at <= m->path.len; at++)
        if (at_end ? at == m->path.len : m->path.data[at - 1] == '/')
            add_place(m->next, at);
    step_done(m);
}

struct class
{
    struct bytes body; // between the brackets, without the negation
    bool negated;
};

// Reads the class behind '['; returns its length including the ']', 0 if it is never closed.
static size_t class_scan(struct bytes text, struct class *c)
{
    size_t start = text.len > 0 && (text.data[0] == '!' || text.data[0] == '^') ? 1 : 0;
    // A ] that comes first means itself.
    for (size_t end = start + 1; end < text.len; end++)
        if (text.data[end] == ']') {
            *c = (struct class){.body = {text.data + start, end - start}, .negated = start == 1};
            return end + 1;
        }
    return 0;
}

static bool class_has(const struct class *c, uint32_t code)
{
    struct bytes rest = c->body;
    while (rest.len > 0) {
        uint32_t low = char_code(rest), high = low;
        rest = tail(rest, char_len(rest));
        if (rest.len > 1 && rest.data[0] == '-') {
            rest = tail(rest, 1);
            high = char_code(rest);
            rest = tail(rest, char_len(rest));
        }
        if (code >= low && code <= high)
            return !c->negated;
    }
    return c->negated;
}

// One character of an element: any (c == NULL) or one of a class.
static void step_char(struct matcher *m, const struct class *c)
{
    for (size_t i = 0; i < m->now->count; i++) {
        size_t at = m->now->at[i];
        if (at == m->path.len || m->path.data[at] == '/')
            continue;
        struct bytes rest = tail(m->path, at);
        if (c == NULL || class_has(c, char_code(rest)))
            add_place(m->next, at + char_len(rest));
    }
    step_done(m);
}

// Stars at the start of pattern.rest; returns how many bytes of the pattern they are.
static size_t step_stars(struct matcher *m, struct bytes rest, bool element_start)
{
    size_t n = 1;
    while (n < rest.len && rest.data[n] == '*')
        n++;
    bool at_end = n == rest.len;
    if (n == 2 && element_start && (at_end || rest.data[2] == '/')) {
        step_elements(m, at_end);
        return at_end ? 2 : 3;
    }
    step_star(m);
    return n;
}

// Takes the pattern's next piece; returns its length.
static size_t step(struct matcher *m, struct bytes rest, bool element_start)
{
    struct class c;
    size_t class_len;
    switch (rest.data[0]) {
    case '*':
        return step_stars(m, rest, element_start);
    case '?':
        step_char(m, NULL);
        return 1;
    case '[':
        if ((class_len = class_scan(tail(rest, 1), &c)) == 0)
            break;
        step_char(m, &c);
        return 1 + class_len;
    case '\\':
        if (rest.len == 1)
            break;
        step_literal(m, rest.data[1]);
        return 2;
    }
    step_literal(m, rest.data[0]);
    return 1;
}

bool glob_match(const char *pattern_text, const char *path)
{
    struct bytes pattern = bytes_from_text(pattern_text);
    struct places a, b;
    a.count = b.count = 0;
    add_place(&a, 0);
    struct matcher m = {.path = bytes_from_text(path), .now = &a, .next = &b};
    if (m.path.len > LIMIT_PATH_BYTES || pattern.len > LIMIT_PATH_BYTES)
        return false;
    for (size_t i = 0; i < pattern.len && m.now->count > 0;)
        i += step(&m, tail(pattern, i), i == 0 || pattern.data[i - 1] == '/');
    return m.now->count > 0 && m.now->at[m.now->count - 1] == m.path.len;
}
