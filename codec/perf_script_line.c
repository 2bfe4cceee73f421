// SPDX-License-Identifier: Apache-2.0
// One line of perf script's text.
#include "codec/perf_script.h"
#include "codec/text_lines.h"

// --- tokens ---

static struct bytes part(struct bytes text, size_t from, size_t to)
{
    return (struct bytes){text.data + from, to - from};
}

static bool ends_with(struct bytes text, const char *end)
{
    const size_t len = strlen(end);
    return text.len >= len && memcmp(text.data + text.len - len, end, len) == 0;
}

// The word at *at, which moves behind it; len 0 at the end.
static struct bytes next_word(struct bytes text, size_t *at)
{
    while (*at < text.len && text_is_blank(text.data[*at]))
        (*at)++;
    const size_t start = *at;
    while (*at < text.len && !text_is_blank(text.data[*at]))
        (*at)++;
    return part(text, start, *at);
}

// Cuts the last word off; len 0 if there is none.
static struct bytes cut_last_word(struct bytes *text)
{
    *text = text_trim(*text);
    size_t start = text->len;
    while (start > 0 && !text_is_blank(text->data[start - 1]))
        start--;
    const struct bytes word = part(*text, start, text->len);
    *text = text_trim(part(*text, 0, start));
    return word;
}

static bool parse_number(struct bytes text, int64_t *out)
{
    const bool negative = text.len > 1 && text.data[0] == '-';
    int64_t value = 0;
    for (size_t i = negative; i < text.len; i++)
        if (text.data[i] < '0' || text.data[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text.data[i] - '0', &value))
            return false;
    *out = negative ? -value : value;
    return text.len > 0;
}

// "198792.736893:" in nanoseconds.
static bool parse_time(struct bytes word, uint64_t *nanos_out)
{
    const uint8_t *dot = word.len > 3 ? memchr(word.data, '.', word.len) : NULL;
    if (dot == NULL || word.data[word.len - 1] != ':')
        return false;
    const size_t whole = (size_t)(dot - word.data), digits = word.len - whole - 2;
    int64_t seconds, fraction;
    if (digits == 0 || digits > 9 || !parse_number(part(word, 0, whole), &seconds) ||
        !parse_number(part(word, whole + 1, word.len - 1), &fraction) || seconds < 0 || fraction < 0)
        return false;
    for (size_t i = digits; i < 9; i++)
        fraction *= 10;
    return !__builtin_mul_overflow((uint64_t)seconds, 1000000000u, nanos_out) &&
           !__builtin_add_overflow(*nanos_out, (uint64_t)fraction, nanos_out);
}

// "10027" or "10027/10028".
static bool parse_ids(struct bytes word, struct perf_event *out)
{
    const uint8_t *slash = word.len > 0 ? memchr(word.data, '/', word.len) : NULL;
    if (slash == NULL)
        return parse_number(word, &out->tid);
    const size_t at = (size_t)(slash - word.data);
    out->has_pid = true;
    return parse_number(part(word, 0, at), &out->pid) && parse_number(part(word, at + 1, word.len), &out->tid);
}

// "[003]"
static bool parse_cpu(struct bytes word, int64_t *out)
{
    return word.len > 2 && word.data[0] == '[' && word.data[word.len - 1] == ']' &&
           parse_number(part(word, 1, word.len - 1), out) && *out >= 0;
}

// --- events ---

// "comm tid [cpu]": what stands before the time. The command may hold blanks and digits, so it is read from the end.
static bool parse_thread(struct bytes text, struct perf_event *out)
{
    struct bytes word = cut_last_word(&text);
    out->has_cpu = parse_cpu(word, &out->cpu);
    if (out->has_cpu)
        word = cut_last_word(&text);
    out->comm = text;
    return parse_ids(word, out);
}

// "period event: rest": what stands behind the time. Also nothing.
static bool parse_counter(struct bytes text, struct perf_event *out)
{
    size_t at = 0;
    struct bytes word = next_word(text, &at);
    out->has_period = parse_number(word, &out->period);
    if (out->has_period)
        word = next_word(text, &at);
    if (word.len > 0 && word.data[word.len - 1] != ':')
        return false;
    out->name = part(word, 0, word.len - (word.len > 0));
    out->rest = text_trim(part(text, at, text.len));
    return out->period >= 0;
}

// "comm tid [cpu] period event:", of which period and cpu may be missing.
static bool parse_without_time(struct bytes line, struct perf_event *out)
{
    const struct bytes name = cut_last_word(&line);
    if (name.len < 2 || name.data[name.len - 1] != ':')
        return false;
    struct bytes before = line;
    const struct bytes period = cut_last_word(&before);
    out->name = part(name, 0, name.len - 1);
    out->has_period = parse_number(period, &out->period) && out->period >= 0 && parse_thread(before, out);
    if (out->has_period && out->comm.len > 0)
        return true;
    *out = (struct perf_event){.name = out->name};
    return parse_thread(line, out) && out->comm.len > 0;
}

// The first word that tells a time behind a thread: a command may look like one, too.
static bool find_time(struct bytes line, struct perf_event *out, size_t *end_out)
{
    struct bytes word;
    *end_out = 0;
    while ((word = next_word(line, end_out)).len > 0) {
        *out = (struct perf_event){0};
        out->has_time = parse_time(word, &out->time_nanos);
        if (out->has_time && parse_thread(part(line, 0, *end_out - word.len), out))
            return true;
    }
    return false;
}

bool perf_parse_event(struct bytes line, bool time_needed, struct perf_event *out)
{
    size_t end;
    *out = (struct perf_event){0};
    line = text_trim(line);
    if (find_time(line, out, &end))
        return parse_counter(part(line, end, line.len), out);
    return !time_needed && parse_without_time(line, out);
}

// --- frames ---

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hex(struct bytes text, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        const int digit = hex_value(text.data[i]);
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint64_t)digit;
    }
    return text.len > 0 && text.len <= 16;
}

// Where "(module)" at the end starts; parentheses inside are paired. text.len if there is none.
static size_t module_start(struct bytes text)
{
    int depth = 0;
    if (text.len == 0 || text.data[text.len - 1] != ')')
        return text.len;
    for (size_t i = text.len; i-- > 0;) {
        depth += text.data[i] == ')';
        depth -= text.data[i] == '(';
        if (depth == 0)
            return i == 0 || text_is_blank(text.data[i - 1]) ? i : text.len;
    }
    return text.len;
}

// "main+0x4f" -> "main"
static struct bytes without_offset(struct bytes symbol)
{
    uint64_t offset;
    for (size_t i = symbol.len; i-- > 0;) {
        if (symbol.data[i] != '+')
            continue;
        const struct bytes tail = part(symbol, i, symbol.len);
        const bool is_offset =
            tail.len > 3 && memcmp(tail.data, "+0x", 3) == 0 && parse_hex(part(tail, 3, tail.len), &offset);
        return is_offset ? part(symbol, 0, i) : symbol;
    }
    return symbol;
}

bool perf_parse_frame(struct bytes line, struct perf_frame *out)
{
    size_t at = 0;
    *out = (struct perf_frame){0};
    line = text_trim(line);
    if (!parse_hex(next_word(line, &at), &out->address))
        return false;
    const struct bytes rest = text_trim(part(line, at, line.len));
    const size_t module = module_start(rest);
    out->symbol = without_offset(text_trim(part(rest, 0, module)));
    if (bytes_equal_text(out->symbol, "[unknown]"))
        out->symbol.len = 0;
    if (module == rest.len)
        return true;
    out->module = part(rest, module + 1, rest.len - 1);
    out->is_inlined = bytes_equal_text(out->module, "inlined");
    if (out->is_inlined || bytes_equal_text(out->module, "[unknown]"))
        out->module.len = 0;
    return true;
}

bool perf_parse_source(struct bytes line, struct bytes *file_out, int64_t *line_out)
{
    line = text_trim(line);
    *file_out = (struct bytes){0};
    *line_out = 0;
    if (ends_with(line, "]"))
        return memchr(line.data, '[', line.len) != NULL;
    const uint8_t *colon = line.len > 0 ? memrchr(line.data, ':', line.len) : NULL;
    if (colon == NULL || colon == line.data ||
        !parse_number(part(line, (size_t)(colon - line.data) + 1, line.len), line_out) || *line_out < 0)
        return false;
    *file_out = part(line, 0, (size_t)(colon - line.data));
    if (file_out->data[0] == '?')
        file_out->len = 0;
    return true;
}
