// SPDX-License-Identifier: Apache-2.0
#include "codec/decode.h"

#include "base/clock.h"
#include "codec/compress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

const struct decode_limits decode_default_limits = {
    .max_inflated_bytes = (size_t)256 << 20,
    .max_sample_types = 64,
    .max_samples = 16000000,
    .max_stack_depth = 65536,
    .max_labels = 1024,
    .max_line_bytes = 1 << 20,
    .max_batch_bytes = (size_t)1 << 30,
};

static const int64_t year_1980 = 315532800 * NANOS_PER_SECOND;
static const int64_t year_2010 = 1262304000 * NANOS_PER_SECOND;
static const int64_t one_day = 86400 * NANOS_PER_SECOND;

// Microseconds, milliseconds or seconds where nanoseconds belong (field case A23).
static bool repair_time(int64_t said, int64_t now, int64_t *time_out)
{
    static const int64_t factors[] = {1000, 1000000, 1000000000};
    for (size_t i = 0; i < COUNT_OF(factors); i++) {
        if (!__builtin_mul_overflow(said, factors[i], time_out) && *time_out >= year_2010 && *time_out <= now + one_day)
            return true;
    }
    return false;
}

int64_t decode_time(const struct decode_options *o, int64_t said, struct decode_report *report)
{
    int64_t time, fallback = o->fallback_time_nanos != 0 ? o->fallback_time_nanos : said;
    if (o->force_fallback_time)
        return fallback;
    if (said >= year_1980)
        return said;
    if (said > 0 && o->now_nanos > 0 && o->now_nanos < INT64_MAX - one_day && repair_time(said, o->now_nanos, &time)) {
        report->repaired_time++;
        return time;
    }
    report->guessed_time += fallback != said;
    return fallback;
}

uint32_t decode_profile_attributes(const struct decode_options *o, struct builder *b, const uint32_t *own,
                                   uint32_t own_count)
{
    if (o->profile_attribute_count == 0)
        return builder_attribute_set(b, own, own_count);
    uint32_t set = 0;
    for (uint32_t i = 0; i < o->profile_attribute_count; i++) {
        const struct key_value *a = &o->profile_attributes[i];
        set = builder_attribute_set_with(b, set, builder_attribute(b, builder_string(b, a->key), 0, &a->value));
    }
    for (uint32_t i = 0; i < own_count; i++)
        set = builder_attribute_set_with(b, set, own[i]);
    return set;
}

enum err_code decode_finish(struct builder *b, struct batch **out, struct decode_report *report, struct err *e)
{
    enum err_code code = builder_finish(b, out, e);
    report->batch_full = code == ERR_LIMIT;
    return code;
}

void decode_bad_line(struct decode_report *report, uint64_t line_number, const char *format, ...)
{
    va_list arguments;
    if (report->bad_lines++ != 0)
        return;
    va_start(arguments, format);
    err_set_list(&report->first_bad, ERR_INVALID, format, arguments);
    va_end(arguments);
    err_prefix(&report->first_bad, "line %" PRIu64, line_number);
}

void decode_report_tell(const struct decode_report *r, decode_tell_fn *tell, void *arg)
{
    const struct {
        uint64_t count;
        bool lost;
        const char *what;
    } notes[] = {
        {r->cut_stacks, true, "stacks that are too deep and were cut at the root's end"},
        {r->rounded_values, false, "fractions that were rounded"},
        {r->repaired_time, false, "times in another unit than nanoseconds, repaired"},
        {r->repaired_utf8, false, "texts that are not UTF-8, repaired"},
        {r->repaired_functions, false, "functions without ids, told apart by their order"},
        {r->unknown_mappings, false, "locations that name a mapping that is not there"},
    };
    char text[ERR_TEXT_MAX + 64];
    if (r->bad_lines != 0) {
        snprintf(text, sizeof text, "lines passed over: %" PRIu64 ", the first: %s", r->bad_lines, r->first_bad.text);
        tell(arg, true, text);
    }
    for (size_t i = 0; i < COUNT_OF(notes); i++) {
        if (notes[i].count == 0)
            continue;
        snprintf(text, sizeof text, "%s: %" PRIu64, notes[i].what, notes[i].count);
        tell(arg, notes[i].lost, text);
    }
}

enum err_code decode_inflate(struct bytes data, const struct decode_limits *limits, struct buf *storage,
                             struct bytes *out, struct decode_report *report, struct err *e)
{
    enum compression compression = compression_detect(data);
    enum err_code code = ERR_OK;
    const char *name = limits->inflated_bytes_name != NULL ? limits->inflated_bytes_name : "max_inflated_size";
    report->gzip = compression == COMPRESSION_GZIP;
    report->zstd = compression == COMPRESSION_ZSTD;
    *out = data;
    if (compression != COMPRESSION_NONE) {
        code = decompress(compression, data, limits->max_inflated_bytes, name, storage, e);
        *out = buf_bytes(storage);
    } else if (limits->max_inflated_bytes != 0 && data.len > limits->max_inflated_bytes) {
        code = err_set(e, ERR_LIMIT, "%s: the profile has %zu bytes, allowed are %zu", name, data.len,
                       limits->max_inflated_bytes);
    }
    report->inflated_full = code == ERR_LIMIT;
    if (code == ERR_OK && out->len == 0)
        code = err_set(e, ERR_INVALID, "empty input");
    return code;
}
