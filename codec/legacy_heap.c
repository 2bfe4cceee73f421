// SPDX-License-Identifier: Apache-2.0
// gperftools' and Go's heap profiles as text, and growth and fragmentation, which look the same: "heap profile: 13:
// 1595680 [47130736: 2584596557304] @ heap/1048576", then "1: 524288 [3: 1572864] @ 0x420cef 0x422151".
#include "codec/legacy.h"

#include <math.h>

static const char *const heap_types[][2] = {
    {"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}};
static const char *const use_types[][2] = {{"objects", "count"}, {"space", "bytes"}};

void legacy_set_heap_types(struct legacy *l, bool has_alloc)
{
    if (has_alloc)
        legacy_set_types(l, heap_types, COUNT_OF(heap_types));
    else
        legacy_set_types(l, use_types, COUNT_OF(use_types));
    l->period_type = legacy_type_of("space", "bytes");
    l->has_blocks = true;
    l->drop_frames = legacy_drop_heap;
    l->keep_frames = legacy_keep_heap;
}

bool legacy_take_heap_counts(struct bytes *text, struct legacy_heap_counts *c)
{
    int64_t *const numbers[] = {&c->inuse_count, &c->inuse_bytes, &c->alloc_count, &c->alloc_bytes};
    static const char *const behind[] = {":", "[", ":", "]"};
    struct bytes rest = legacy_trim(*text);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        legacy_take_spaces(&rest);
        if (!legacy_take_int64(&rest, numbers[i]))
            return false;
        legacy_take_spaces(&rest);
        if (!legacy_take(&rest, behind[i]))
            return false;
    }
    *text = rest;
    return c->alloc_count >= 0 && c->alloc_bytes >= 0;
}

static int64_t rounded_down(double v)
{
    const double limit = 9223372036854775808.0;
    return v >= limit ? INT64_MAX : v < -limit || isnan(v) ? INT64_MIN : (int64_t)v;
}

void legacy_unsample(int64_t rate, int64_t *count, int64_t *bytes)
{
    if (*count == 0 || *bytes == 0) {
        *count = *bytes = 0;
    } else if (rate > 1) { // 1 = all were taken, 0 = not known
        const double size = (double)*bytes / (double)*count;
        const double scale = 1 / (1 - exp(-size / (double)rate));
        *count = rounded_down((double)*count * scale);
        *bytes = rounded_down((double)*bytes * scale);
    }
}

// Count and bytes of one kind, unsampled; *block_out is their quotient before.
static bool heap_pair(struct legacy *l, const char *kind, int64_t rate, int64_t *pair, int64_t *block_out)
{
    if (pair[0] == 0 && pair[1] != 0)
        return legacy_fail(l, ERR_INVALID, "%lld bytes %s, but no objects", (long long)pair[1], kind);
    if (pair[0] == 0)
        return true;
    *block_out = pair[0] == -1 ? legacy_multiply(pair[1], -1) : pair[1] / pair[0];
    if (rate != LEGACY_NOT_SAMPLED)
        legacy_unsample(rate, &pair[0], &pair[1]);
    return true;
}

bool legacy_heap_sample(struct legacy *l, const struct legacy_heap_counts *c, int64_t rate)
{
    int64_t values[] = {c->alloc_count, c->alloc_bytes, c->inuse_count, c->inuse_bytes};
    int64_t block = 0;
    const bool has_alloc = l->type_count == COUNT_OF(values);
    if ((has_alloc && !heap_pair(l, "allocated", rate, values, &block)) ||
        !heap_pair(l, "in use", rate, values + 2, &block))
        return false;
    return legacy_sample(l, has_alloc ? values : values + 2, block);
}

// --- gperftools and Go ---

// What stands behind the @ of the header, and what the number behind its slash is.
static const struct heap_kind {
    const char *name;
    int64_t rate_times; // so many times the sampling rate; 0 = there is no sampling
    bool has_alloc;     // may count what was allocated, too
} heap_kinds[] = {
    {"heapz_v2", 1, true},        {"heap_v2", 1, true},        {"heap", 2, true},
    {"heapprofile", 0, true},     {"growthz", 0, false},       {"growth", 0, false},
    {"fragmentationz", 0, false}, {"fragmentation", 0, false},
};

static const struct heap_kind *find_heap_kind(struct bytes *text)
{
    struct bytes name = {text->data, 0};
    while (name.len < text->len && name.data[name.len] != '/' && !legacy_is_space(name.data[name.len]))
        name.len++;
    text->data += name.len;
    text->len -= name.len;
    for (size_t i = 0; i < COUNT_OF(heap_kinds); i++)
        if (bytes_equal_text(name, heap_kinds[i].name))
            return &heap_kinds[i];
    return NULL;
}

bool legacy_counts_alloc(const struct legacy_heap_counts *total)
{
    return (total->alloc_count != total->inuse_count && total->alloc_count != 0) ||
           (total->alloc_bytes != total->inuse_bytes && total->alloc_bytes != 0);
}

static bool read_header(struct legacy *l, struct bytes line, int64_t *rate_out)
{
    struct legacy_heap_counts total;
    bool good = legacy_take(&line, "heap profile:") && legacy_take_heap_counts(&line, &total);
    legacy_take_spaces(&line);
    good = good && legacy_take(&line, "@");
    if (!good)
        return legacy_fail(l, ERR_INVALID, "it should read heap profile: COUNT: BYTES [COUNT: BYTES] @ KIND");
    legacy_take_spaces(&line);
    const struct heap_kind *kind = find_heap_kind(&line);
    if (kind == NULL)
        return legacy_fail(l, ERR_UNSUPPORTED,
                           "a heap profile of a kind that is not known; known are heap, heap_v2, "
                           "heapz_v2, heapprofile, growth, growthz and fragmentation");
    int64_t said = 0;
    (void)legacy_take(&line, "/");
    if (line.len > 0 && !legacy_is_space(*line.data) && !legacy_take_int64(&line, &said))
        return legacy_fail(l, ERR_INVALID, "its sampling rate is no number");
    l->period = kind->rate_times == 0 ? 1 : said / kind->rate_times;
    *rate_out = kind->rate_times == 0 ? LEGACY_NOT_SAMPLED : l->period;
    legacy_set_heap_types(l, kind->has_alloc && legacy_counts_alloc(&total));
    return true;
}

static bool read_heap_line(struct legacy *l, struct bytes line, int64_t rate)
{
    struct legacy_heap_counts c;
    if (!legacy_take_heap_counts(&line, &c) || !legacy_take(&line, " @"))
        return legacy_fail(l, ERR_INVALID, "it should read COUNT: BYTES [COUNT: BYTES] @ 0xADDRESS ...");
    return legacy_addresses(l, legacy_stack_text(line), LEGACY_ALL) && legacy_heap_sample(l, &c, rate);
}

bool legacy_read_heap(struct legacy *l, struct bytes header)
{
    struct bytes line = {0};
    int64_t rate = 0;
    if (!read_header(l, header, &rate))
        return false;
    while (legacy_line(l, &line) && !legacy_begins_maps(line))
        if (!legacy_is_blank(line) && !read_heap_line(l, line, rate))
            return false;
    return legacy_read_maps_section(l, line);
}
