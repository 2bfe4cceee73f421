// SPDX-License-Identifier: Apache-2.0
// One line of folded stacks, and whether lines look like some.
#include "codec/folded.h"
#include "codec/text_lines.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool parse_whole(const uint8_t **at, const uint8_t *end, uint64_t *whole_out)
{
    *whole_out = 0;
    for (; *at < end && is_digit(**at); (*at)++)
        if (__builtin_mul_overflow(*whole_out, 10u, whole_out) ||
            __builtin_add_overflow(*whole_out, (uint64_t)(**at - '0'), whole_out))
            return false;
    return true;
}

static uint32_t parse_billionths(const uint8_t **at, const uint8_t *end)
{
    uint32_t value = 0, unit = 100000000;
    for (; *at < end && is_digit(**at); (*at)++, unit /= 10)
        value += unit * (uint32_t)(**at - '0');
    return value;
}

// "12", "-1.5", "6.", ".5".
static enum folded_kind parse_count(struct bytes text, struct folded_count *out)
{
    const uint8_t *at = text.data, *end = text.data + text.len;
    *out = (struct folded_count){.negative = *at == '-'};
    at += out->negative;
    const uint8_t *digits = at;
    if (!parse_whole(&at, end, &out->whole))
        return FOLDED_BAD;
    bool any = at > digits;
    if (at < end && *at == '.') {
        digits = ++at;
        out->billionths = parse_billionths(&at, end);
        any |= at > digits;
    }
    return any && at == end ? FOLDED_STACK : FOLDED_NO_COUNT;
}

size_t folded_count_start(struct bytes text)
{
    struct folded_count count;
    size_t start = text.len;
    while (start > 0 && !text_is_blank(text.data[start - 1]))
        start--;
    if (start == 0 || start == text.len)
        return 0;
    return parse_count((struct bytes){text.data + start, text.len - start}, &count) == FOLDED_STACK ? start : 0;
}

static bool is_comment(struct bytes line)
{
    return line.len == 0 || line.data[0] == '#' || (line.len > 1 && line.data[0] == '/' && line.data[1] == '/');
}

// "1,0,4096", as Austin writes time, idleness and memory.
static bool is_list_of_counts(struct bytes text)
{
    size_t commas = 0;
    for (size_t i = 0; i < text.len; i++) {
        commas += text.data[i] == ',';
        if (!is_digit(text.data[i]) && text.data[i] != ',' && text.data[i] != '-')
            return false;
    }
    return commas > 0;
}

static enum folded_kind bad(struct folded_line *out, const char *why)
{
    out->why = why;
    return FOLDED_BAD;
}

enum folded_kind folded_parse(struct bytes line, struct folded_line *out)
{
    if (is_comment(line))
        return FOLDED_COMMENT;
    line = text_trim(line);
    if (line.len == 0)
        return FOLDED_COMMENT;
    size_t start = line.len;
    while (start > 0 && !text_is_blank(line.data[start - 1]))
        start--;
    const struct bytes count = {line.data + start, line.len - start};
    *out = (struct folded_line){.stack = line};
    if (is_list_of_counts(count))
        return bad(out, "it ends in several counts with commas between them (Austin's full mode?); one is read");
    switch (parse_count(count, &out->count)) {
    case FOLDED_BAD:
        return bad(out, "its count does not fit 64 bits");
    case FOLDED_NO_COUNT:
        out->why = "it has no count at its end";
        return FOLDED_NO_COUNT;
    default:
        break;
    }
    out->stack = text_trim((struct bytes){line.data, start});
    if (folded_count_start(out->stack) > 0) {
        out->why = "it ends in two counts (a difference of two profiles?); one is read";
        return FOLDED_TWO_COUNTS;
    }
    return FOLDED_STACK;
}

// --- recognising ---

enum { LINES_LOOKED_AT = 16, COMMENTS_LOOKED_AT = 1000 };

struct impression {
    uint32_t good, bad; // of the lines that are no comments
    bool has_separator;
};

// Lines of logs may end with a number, too, but behind their semicolons are blanks.
static bool has_separator(struct bytes line)
{
    for (size_t i = 0; i + 1 < line.len; i++)
        if (line.data[i] == ';' && !text_is_blank(line.data[i + 1]))
            return true;
    return false;
}

static void look(struct impression *seen, struct bytes line)
{
    struct folded_line parsed;
    const enum folded_kind kind = folded_parse(line, &parsed);
    if (kind == FOLDED_COMMENT)
        return;
    const bool good = kind == FOLDED_STACK || kind == FOLDED_TWO_COUNTS ||
                      (kind == FOLDED_BAD && folded_count_start(text_trim(line)) > 0);
    seen->good += good;
    seen->bad += !good;
    seen->has_separator |= good && has_separator(line);
}

// The first line that is no comment is a stack, and so are most of the others; some have two frames.
bool folded_recognise(struct bytes data)
{
    struct text_lines lines;
    struct impression seen = {0};
    struct bytes line;
    bool go_on = text_lines_peek(&lines, data);
    while (go_on && lines.number < COMMENTS_LOOKED_AT && text_lines_next(&lines, &line)) {
        look(&seen, line);
        go_on = seen.good + seen.bad < LINES_LOOKED_AT && (seen.good > 0 || seen.bad == 0);
    }
    text_lines_fini(&lines);
    return seen.has_separator && seen.good > seen.bad;
}
