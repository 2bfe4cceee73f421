// SPDX-License-Identifier: Apache-2.0
// Which kind of old profile it is, and the samples that all kinds fill.
#include "codec/legacy.h"

#include "base/hash.h"
#include "base/mem.h"
#include "codec/pprof.h"

#include <inttypes.h>
#include <stdarg.h>

bool legacy_fail(struct legacy *l, enum err_code code, const char *format, ...)
{
    va_list arguments;
    if (l->code != ERR_OK)
        return false;
    va_start(arguments, format);
    l->code = err_set_list(l->e, code, format, arguments);
    va_end(arguments);
    if (l->is_text)
        err_prefix(l->e, "line %" PRIu64, l->lines.number);
    return false;
}

bool legacy_no_memory(struct legacy *l)
{
    return legacy_fail(l, ERR_MEMORY, "out of memory for an old profile of %zu samples", l->sample_count);
}

bool legacy_line(struct legacy *l, struct bytes *line_out)
{
    return l->code == ERR_OK && text_lines_next(&l->lines, line_out);
}

struct legacy_type legacy_type_of(const char *type, const char *unit)
{
    return (struct legacy_type){bytes_from_text(type), bytes_from_text(unit)};
}

void legacy_set_types(struct legacy *l, const char *const (*types)[2], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        l->types[i] = legacy_type_of(types[i][0], types[i][1]);
    l->type_count = count;
}

// --- samples ---

// The slot of the address, whether it is there or not.
static uint32_t find_slot(const struct legacy *l, uint64_t address, uint64_t hash, uint32_t *slot_out)
{
    uint32_t id;
    *slot_out = index_table_start(&l->location_table, hash);
    for (; index_table_next(&l->location_table, hash, slot_out, &id); index_table_skip(&l->location_table, slot_out))
        if (l->locations[id].address == address)
            return id;
    return LEGACY_NONE;
}

uint32_t legacy_find_location(const struct legacy *l, uint64_t address)
{
    uint32_t slot;
    return find_slot(l, address, hash_bytes(&address, sizeof address), &slot);
}

static bool grow(struct legacy *l, void **items, size_t *capacity, size_t need, size_t item_size)
{
    return mem_try_grow(items, capacity, need, item_size, UINT32_MAX - 1) || legacy_no_memory(l);
}

static bool location_of(struct legacy *l, uint64_t address, uint32_t *id_out)
{
    const uint64_t hash = hash_bytes(&address, sizeof address);
    uint32_t slot;
    void *locations = l->locations;
    if (!index_table_reserve(&l->location_table))
        return legacy_no_memory(l);
    *id_out = find_slot(l, address, hash, &slot);
    if (*id_out != LEGACY_NONE)
        return true;
    if (!grow(l, &locations, &l->location_capacity, l->location_count + 1, sizeof *l->locations))
        return false;
    l->locations = locations;
    *id_out = (uint32_t)l->location_count++;
    l->locations[*id_out] =
        (struct legacy_location){.address = address, .mapping = LEGACY_NONE, .function = LEGACY_NONE};
    index_table_insert(&l->location_table, hash, slot, *id_out);
    return true;
}

bool legacy_frame(struct legacy *l, uint64_t address, enum legacy_adjust adjust)
{
    const size_t depth = l->frame_count - l->sample_start;
    void *frames = l->frames;
    uint32_t location = 0;
    if (depth >= l->limits->max_stack_depth)
        return legacy_fail(l, ERR_LIMIT, "max_stack_depth: the stack has at least %zu locations, allowed are %u",
                           depth + 1, l->limits->max_stack_depth);
    address -= adjust == LEGACY_ALL || (adjust == LEGACY_CALLERS && depth > 0);
    if (!location_of(l, address, &location) ||
        !grow(l, &frames, &l->frame_capacity, l->frame_count + 1, sizeof *l->frames))
        return false;
    l->frames = frames;
    l->frames[l->frame_count++] = location;
    return true;
}

bool legacy_addresses(struct legacy *l, struct bytes text, enum legacy_adjust adjust)
{
    size_t at;
    while (legacy_find(text, "0x", &at)) {
        uint64_t address;
        bool too_large;
        text = (struct bytes){text.data + at + 2, text.len - at - 2};
        if (!legacy_take_hex(&text, &address, &too_large))
            continue;
        if (too_large)
            return legacy_fail(l, ERR_INVALID, "an address has more than 64 bits");
        if (!legacy_frame(l, address, adjust))
            return false;
    }
    return true;
}

bool legacy_sample(struct legacy *l, const int64_t *values, int64_t block_bytes)
{
    void *samples = l->samples;
    if (l->sample_count >= l->limits->max_samples)
        return legacy_fail(l, ERR_LIMIT, "max_samples: the profile has at least %zu samples, allowed are %u",
                           l->sample_count + 1, l->limits->max_samples);
    if (!grow(l, &samples, &l->sample_capacity, l->sample_count + 1, sizeof *l->samples))
        return false;
    l->samples = samples;
    struct legacy_sample *s = &l->samples[l->sample_count++];
    *s = (struct legacy_sample){.first = (uint32_t)l->sample_start,
                                .count = (uint32_t)(l->frame_count - l->sample_start),
                                .block_bytes = block_bytes};
    memcpy(s->values, values, l->type_count * sizeof *values);
    l->sample_start = l->frame_count;
    return true;
}

void legacy_drop_double_leaves(struct legacy *l)
{
    for (size_t i = 0; i < l->sample_count; i++) {
        struct legacy_sample *s = &l->samples[i];
        if (s->count < 2) // there may be no frames at all
            continue;
        uint32_t *frames = &l->frames[s->first];
        if (l->locations[frames[0]].address != l->locations[frames[1]].address + 1)
            continue;
        frames[1] = frames[0];
        s->first++;
        s->count--;
    }
}

// --- kinds ---

struct kind {
    const char *begin; // of the header
    const char *what;
    bool (*read)(struct legacy *l, struct bytes header);
};

static const struct kind kinds[] = {
    {"heap profile:", "a heap profile of gperftools or Go as text", legacy_read_heap},
    {"heap_v2/", "a jemalloc heap profile", legacy_read_jemalloc},
    {"--- contentionz ", "a contention profile of gperftools", legacy_read_contention},
    {"--- contention:", "a Go block profile as text", legacy_read_contention},
    {"--- mutex:", "a Go mutex profile as text", legacy_read_contention},
    {"--- heapz 1 ---", "a Java heap profile of gperftools", legacy_read_java_heap},
    {"--- threadz ", "a thread profile of gperftools", legacy_read_thread},
    {"--- Thread ", "a thread profile of gperftools", legacy_read_thread},
};
static const struct kind count_kind = {"", "a Go count profile as text", legacy_read_count};

static const struct kind *kind_of(struct bytes header)
{
    if (memchr(header.data, ';', header.len) != NULL)
        return NULL; // a folded stack, whatever its first frame is called
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (legacy_begins(header, kinds[i].begin))
            return &kinds[i];
    return legacy_is_count(header) ? &count_kind : NULL;
}

// The header is the first line that is no comment; jemalloc's programs may write log lines to the same place first.
static const struct kind *find_kind(struct text_lines *lines, struct bytes *header_out)
{
    bool first = true;
    for (int n = 0; n < LEGACY_FIRST_LINES && text_lines_next(lines, header_out); n++) {
        if (legacy_is_blank(*header_out))
            continue;
        const struct kind *kind = kind_of(*header_out);
        if (kind != NULL && (first || kind->read == legacy_read_jemalloc))
            return kind;
        first = false;
    }
    return NULL;
}

const char *legacy_describe(struct bytes data)
{
    if (legacy_is_cpu(data))
        return "a binary CPU profile of gperftools";
    if (!text_is_probable(data))
        return NULL;
    struct decode_report unwanted = {0};
    struct text_lines lines;
    struct bytes header;
    const struct bytes head = {data.data, data.len < 8192 ? data.len : 8192};
    const struct kind *kind = NULL;
    if (text_lines_init(&lines, head, 0, &unwanted, NULL) == ERR_OK)
        kind = find_kind(&lines, &header);
    text_lines_fini(&lines);
    return kind != NULL ? kind->what : NULL;
}

bool legacy_recognise(struct bytes data)
{
    return legacy_describe(data) != NULL;
}

static bool read_text(struct legacy *l, struct bytes data)
{
    struct bytes header;
    l->is_text = true;
    l->code = text_lines_init(&l->lines, data, l->limits->max_line_bytes, l->report, l->e);
    if (l->code != ERR_OK)
        return false;
    const struct kind *kind = find_kind(&l->lines, &header);
    if (kind == NULL) {
        l->is_text = false;
        const char *what = pprof_describe_other(data);
        return legacy_fail(l, ERR_UNSUPPORTED, "not a profile of gperftools, jemalloc or Go's text formats%s%s",
                           what != NULL ? ": it looks like " : "", what != NULL ? what : "");
    }
    return kind->read(l, header);
}

static bool read_any(struct legacy *l, struct bytes data)
{
    return legacy_is_cpu(data) ? legacy_read_cpu(l, data) : read_text(l, data);
}

static void legacy_fini(struct legacy *l)
{
    free(l->locations);
    free(l->order);
    free(l->functions);
    free(l->mappings);
    free(l->samples);
    free(l->frames);
    index_table_fini(&l->location_table);
    index_table_fini(&l->function_table);
    arena_fini(&l->texts);
    text_lines_fini(&l->lines);
}

static enum err_code decode_written(const struct legacy *l, struct bytes original, const struct decode_options *options,
                                    struct batch **out)
{
    struct decode_options o = *options;
    struct buf written;
    o.keep_original_payload = false; // OTLP has no name for these formats
    buf_init(&written, SIZE_MAX);
    legacy_write(l, &written);
    const enum err_code code = buf_ok(&written)
                                   ? pprof_decode_inflated(buf_bytes(&written), original, &o, out, l->report, l->e)
                                   : err_set(l->e, ERR_MEMORY, "out of memory for %zu samples", l->sample_count);
    buf_fini(&written);
    return code;
}

enum err_code legacy_decode(struct bytes data, struct bytes original, const struct decode_options *options,
                            struct batch **out, struct decode_report *report, struct err *e)
{
    struct legacy l = {.limits = decode_limits_of(options), .report = report, .e = e};
    *out = NULL;
    arena_init(&l.texts, l.limits->max_batch_bytes);
    if (read_any(&l, data)) {
        CHECK(l.code == ERR_OK);
        l.code = decode_written(&l, original, options, out);
    }
    const enum err_code code = l.code;
    legacy_fini(&l);
    return code;
}
