// SPDX-License-Identifier: Apache-2.0
// Folded stacks to a batch. Equal stacks are added up: the builder's ids of stacks are the rows.
#include "base/mem.h"
#include "codec/folded.h"
#include "codec/frame_cache.h"
#include "codec/frame_stack.h"
#include "codec/frame_sums.h"
#include "codec/frames.h"
#include "codec/pprof.h"
#include "codec/text_lines.h"

#include <inttypes.h>

struct mode {
    const char *name, *type, *unit;
};

struct reader {
    const struct folded_options *options;
    struct decode_report *report;
    struct builder *builder;
    struct frame_stack stack;
    struct frame_cache frames;
    struct frame_sums sums;
    uint32_t max_samples;
    uint64_t period; // what a count is worth: this and
    long double period_rest;
    bool is_austin, no_memory;
    const struct mode *mode; // NULL = not told
    int64_t duration_nanos;
};

// --- counts ---

static bool scale_count(const struct reader *r, const struct folded_count *c, int64_t *value_out, bool *rounded_out)
{
    const long double period = (long double)r->period + r->period_rest, limit = 9.2e18L;
    const long double rest = (long double)c->whole * r->period_rest + (long double)c->billionths * period / 1e9L;
    uint64_t value;
    if (!(rest < limit) || __builtin_mul_overflow(c->whole, r->period, &value))
        return false;
    const uint64_t nearest = (uint64_t)(rest + 0.5L);
    *rounded_out = (long double)nearest != rest;
    if (__builtin_add_overflow(value, nearest, &value) || value > (uint64_t)INT64_MAX + c->negative)
        return false;
    *value_out = c->negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static enum err_code set_period(struct reader *r, struct err *e)
{
    const double rate = r->options->sample_rate;
    r->period = r->options->period > 0 ? (uint64_t)r->options->period : 1;
    if (rate == 0 || r->options->period > 0)
        return ERR_OK;
    if (!(rate >= 1e-9 && rate <= 1e9))
        return err_set(e, ERR_INVALID, "the sample rate is %g Hz; it must be between 1e-9 and 1e9", rate);
    const double period = 1e9 / rate;
    r->period = (uint64_t)period;
    r->period_rest = (long double)period - (long double)r->period;
    return ERR_OK;
}

// --- frames ---

static struct bytes cut_suffix(struct bytes text, struct bytes *type_out)
{
    static const struct {
        uint8_t letter;
        const char *type;
    } suffixes[] = {{'j', "jvm"}, {'i', "jvm"}, {'0', "jvm"}, {'1', "jvm"}, {'k', "kernel"}};
    if (text.len <= 4 || memcmp(text.data + text.len - 4, "_[", 2) != 0 || text.data[text.len - 1] != ']')
        return text;
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        if (text.data[text.len - 2] == suffixes[i].letter) {
            *type_out = bytes_from_text(suffixes[i].type);
            text.len -= 4;
            break;
        }
    }
    return text;
}

static uint32_t new_location(struct reader *r, struct bytes text)
{
    struct frame f = {.name = text};
    if (r->options->frame_suffixes_to_types)
        f.name = cut_suffix(text, &f.type);
    return frame_location(r->builder, &f);
}

static uint32_t location_of(struct reader *r, struct bytes text)
{
    uint64_t hash;
    uint32_t location;
    if (!frame_cache_find(&r->frames, text, &hash, &location)) {
        location = new_location(r, text);
        frame_cache_put(&r->frames, text, hash, location);
    }
    return location;
}

// Empty frames are left out: "a;;b" and "a;b;" are "a;b".
static bool add_frame(struct reader *r, const uint8_t *start, const uint8_t *end)
{
    return start == end || frame_stack_add(&r->stack, location_of(r, (struct bytes){start, (size_t)(end - start)}));
}

static void add_from_root(struct reader *r, struct bytes text)
{
    const uint8_t *end = text.data + text.len, *separator;
    do {
        separator = memrchr(text.data, ';', (size_t)(end - text.data));
        if (!add_frame(r, separator != NULL ? separator + 1 : text.data, end))
            return;
        end = separator;
    } while (separator != NULL);
}

static void add_from_leaf(struct reader *r, struct bytes text)
{
    const uint8_t *at = text.data, *end = text.data + text.len, *separator;
    do {
        separator = memchr(at, ';', (size_t)(end - at));
        if (!add_frame(r, at, separator != NULL ? separator : end))
            return;
        at = separator != NULL ? separator + 1 : end;
    } while (separator != NULL);
}

static uint32_t read_stack(struct reader *r, struct bytes text)
{
    if (text.len > 0 && r->options->leaf_first)
        add_from_leaf(r, text);
    else if (text.len > 0)
        add_from_root(r, text);
    const uint32_t stack = frame_stack_take(&r->stack, r->report);
    r->no_memory |= r->stack.no_memory || r->frames.no_memory;
    return stack;
}

// --- lines ---

static void read_sample(struct reader *r, uint64_t number, const struct folded_line *line)
{
    int64_t value;
    bool rounded;
    if (!scale_count(r, &line->count, &value, &rounded)) {
        decode_bad_line(r->report, number, "its count times the period does not fit 64 bits");
        return;
    }
    if (frame_sums_add(&r->sums, read_stack(r, line->stack), value))
        r->report->rounded_values += rounded;
    else
        decode_bad_line(r->report, number, "the counts of its stack add up to more than 64 bits hold");
    r->no_memory |= r->sums.no_memory;
}

static bool comment_value(struct bytes line, const char *key, struct bytes *value_out)
{
    const size_t len = strlen(key);
    if (line.len < len || memcmp(line.data, key, len) != 0)
        return false;
    *value_out = text_trim((struct bytes){line.data + len, line.len - len});
    return true;
}

static void read_mode(struct reader *r, struct bytes name)
{
    static const struct mode modes[] = {
        {"cpu", "cpu", "microseconds"}, {"wall", "wall", "microseconds"}, {"memory", "memory", "bytes"}};
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (bytes_equal_text(name, modes[i].name))
            r->mode = &modes[i];
}

// What Austin says of itself in "# key: value" lines: what its numbers are, and how long it ran.
static void read_comment(struct reader *r, struct bytes line)
{
    struct bytes value;
    struct folded_line parsed;
    r->report->comment_lines++;
    if (comment_value(line, "# austin:", &value))
        r->is_austin = true;
    else if (r->is_austin && comment_value(line, "# mode:", &value))
        read_mode(r, value);
    else if (r->is_austin && comment_value(line, "# duration:", &value) &&
             folded_parse(value, &parsed) == FOLDED_STACK && parsed.stack.len == 0 &&
             parsed.count.whole < INT64_MAX / 1000)
        r->duration_nanos = (int64_t)parsed.count.whole * 1000;
}

static void read_whole(struct reader *r, uint64_t number, struct bytes stack)
{
    if (stack.len > 0)
        read_sample(r, number, &(struct folded_line){.stack = stack, .count.whole = 1});
    else
        r->report->comment_lines++;
}

static void read_line(struct reader *r, uint64_t number, struct bytes text)
{
    struct folded_line line;
    if (r->options->no_counts) {
        read_whole(r, number, text_trim(text));
        return;
    }
    switch (folded_parse(text, &line)) {
    case FOLDED_COMMENT:
        read_comment(r, text);
        return;
    case FOLDED_NO_COUNT:
        if (!r->options->missing_count_is_one)
            break;
        line.count = (struct folded_count){.whole = 1};
        // fall through
    case FOLDED_STACK:
        read_sample(r, number, &line);
        return;
    case FOLDED_TWO_COUNTS:
        if (!r->options->blunt_counts)
            break;
        read_sample(r, number, &line);
        return;
    case FOLDED_BAD:
        break;
    }
    decode_bad_line(r->report, number, "%s", line.why);
}

static enum err_code read_lines(struct reader *r, struct bytes data, size_t max_line_bytes, struct err *e)
{
    struct text_lines lines;
    struct bytes line;
    enum err_code code = text_lines_init(&lines, data, max_line_bytes, r->report, e);
    while (code == ERR_OK && text_lines_next(&lines, &line)) {
        read_line(r, lines.number, line);
        if (r->no_memory)
            code = err_set(e, ERR_MEMORY, "out of memory at line %" PRIu64, lines.number);
        else if (r->sums.count > r->max_samples)
            code = err_set(e, ERR_LIMIT, "max_samples: more than %u different stacks", r->max_samples);
        else if (builder_failed(r->builder))
            break; // builder_finish tells
    }
    text_lines_fini(&lines);
    return code;
}

// --- the profile ---

static uint32_t type_string(const struct reader *r, const char *given, const char *by_rate, const char *by_mode,
                            const char *otherwise)
{
    const char *text = given ? given : r->options->sample_rate != 0 ? by_rate : r->mode != NULL ? by_mode : otherwise;
    return builder_string_text(r->builder, text);
}

// Pyroscope names the period of what it stores after the sample type.
static struct value_type period_type(const struct reader *r, struct value_type sample_type)
{
    const struct folded_options *o = r->options;
    if (o->period_type == NULL && o->sample_rate == 0)
        return sample_type;
    return (struct value_type){
        builder_string_text(r->builder, o->period_type != NULL ? o->period_type : "cpu"),
        builder_string_text(r->builder, o->period_type != NULL ? o->period_unit : "nanoseconds")};
}

static void add_profile(struct reader *r, const struct decode_options *options)
{
    const struct folded_options *o = r->options;
    const struct mode none = {0}, *mode = r->mode != NULL ? r->mode : &none;
    struct profile p = {
        .sample_type = {type_string(r, o->sample_type, "cpu", mode->type, "samples"),
                        type_string(r, o->sample_unit, "nanoseconds", mode->unit, "count")},
        .duration_nanos = (uint64_t)r->duration_nanos,
    };
    p.period_type = period_type(r, p.sample_type);
    if (p.period_type.type != 0)
        p.period = (int64_t)(r->period + (r->period_rest >= 0.5L));
    frame_sums_finish(&r->sums, options, &p, r->report);
}

// Nothing could be read: says what it is instead, and why the first line is none.
static enum err_code refuse(const struct reader *r, struct bytes data, struct err *e)
{
    const char *other = folded_recognise(data) ? NULL : pprof_describe_other(data);
    if (r->report->bad_lines == 0)
        return err_set(e, ERR_INVALID, "no stacks: it has only comments and empty lines");
    if (other == NULL || strcmp(other, "text") == 0 || strcmp(other, "UTF-16 text") == 0)
        return err_set(e, ERR_INVALID, "no line holds a stack as \"frame;frame count\"; %s", r->report->first_bad.text);
    return err_set(e, ERR_UNSUPPORTED, "not folded stacks: it looks like %s; %s", other, r->report->first_bad.text);
}

static void reader_fini(struct reader *r)
{
    builder_destroy(&r->builder);
    frame_stack_fini(&r->stack);
    frame_cache_fini(&r->frames);
    frame_sums_fini(&r->sums);
}

enum err_code folded_decode(struct bytes data, struct bytes original, const struct decode_options *options,
                            struct batch **out, struct decode_report *report, struct err *e)
{
    (void)original;
    const struct decode_limits *limits = decode_limits_of(options);
    struct reader r = {.options = &options->folded, .report = report, .max_samples = limits->max_samples};
    *out = NULL;
    r.builder = builder_create(limits->max_batch_bytes);
    r.sums.builder = r.builder;
    frame_stack_init(&r.stack, r.builder, limits->max_stack_depth);
    enum err_code code = set_period(&r, e);
    if (code == ERR_OK)
        code = read_lines(&r, data, limits->max_line_bytes, e);
    if (code == ERR_OK && r.sums.count == 0 && !builder_failed(r.builder))
        code = refuse(&r, data, e);
    if (code == ERR_OK) {
        add_profile(&r, options);
        code = decode_finish(r.builder, out, report, e);
    }
    reader_fini(&r);
    return code;
}
