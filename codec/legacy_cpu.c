// SPDX-License-Identifier: Apache-2.0
// gperftools' binary CPU profile: words of 32 or 64 bits in either order. Five words of header (0, 3, 0 or 1 for Java,
// period in us, 0), then count, depth and addresses of each stack until 0, 1, 0; behind that the memory map as text, or
// the names of Java's frames.
#include "base/mem.h"
#include "codec/legacy.h"

#include <inttypes.h>

enum { HEADER_WORDS = 5 };

struct words {
    const uint8_t *at, *end;
    uint8_t size;
    bool big_endian;
};

static size_t words_left(const struct words *w)
{
    return (size_t)(w->end - w->at) / w->size;
}

static uint64_t next_word(struct words *w)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < w->size; i++)
        word |= (uint64_t)w->at[w->big_endian ? w->size - 1 - i : i] << 8 * i;
    w->at += w->size;
    return word;
}

struct cpu_header {
    struct words words; // behind it
    uint64_t period_us;
    bool java;
};

static bool read_header(struct bytes data, uint8_t size, bool big_endian, struct cpu_header *h)
{
    uint64_t header[HEADER_WORDS];
    h->words = (struct words){data.data, data.data + data.len, size, big_endian};
    if (data.len < (size_t)HEADER_WORDS * size)
        return false;
    for (int i = 0; i < HEADER_WORDS; i++)
        header[i] = next_word(&h->words);
    h->java = header[2] == 1;
    h->period_us = header[3];
    return header[0] == 0 && header[1] == 3 && header[2] <= 1 && header[3] > 0 && header[4] == 0;
}

static bool find_header(struct bytes data, struct cpu_header *h)
{
    return read_header(data, 4, false, h) || read_header(data, 4, true, h) || read_header(data, 8, false, h) ||
           read_header(data, 8, true, h);
}

bool legacy_is_cpu(struct bytes data)
{
    struct cpu_header h;
    return find_header(data, &h);
}

static bool read_stack(struct legacy *l, struct words *w, uint64_t depth, enum legacy_adjust adjust)
{
    for (uint64_t i = 0; i < depth; i++)
        if (!legacy_frame(l, next_word(w), adjust))
            return false;
    return true;
}

static bool is_end(const struct words *w, uint64_t count, uint64_t depth)
{
    struct words ahead = *w;
    return count == 0 && depth == 1 && next_word(&ahead) == 0;
}

static bool cut_short(struct legacy *l)
{
    return legacy_fail(l, ERR_INVALID, "stack %zu: the file ends inside it", l->sample_count);
}

// Up to and with the end mark, or the end of the file where there is none.
static bool read_samples(struct legacy *l, struct words *w, enum legacy_adjust adjust)
{
    while (w->at != w->end) {
        if (words_left(w) < 2)
            return cut_short(l);
        const uint64_t count = next_word(w), depth = next_word(w);
        if (depth > words_left(w))
            return cut_short(l);
        if (is_end(w, count, depth)) {
            (void)next_word(w);
            return true;
        }
        if (count > INT64_MAX)
            return legacy_fail(l, ERR_INVALID, "stack %zu: its count is %" PRIu64, l->sample_count, count);
        const int64_t values[] = {(int64_t)count, legacy_multiply((int64_t)count, l->period)};
        if (!read_stack(l, w, depth, adjust) || !legacy_sample(l, values, 0))
            return false;
    }
    return true;
}

// The location that is second in most stacks, LEGACY_NONE if no one is.
static uint32_t common_second(const struct legacy *l, uint32_t *counts)
{
    const size_t enough = l->sample_count - l->sample_count / 32;
    memset(counts, 0, l->location_count * sizeof *counts);
    for (size_t i = 0; i < l->sample_count; i++) {
        const struct legacy_sample *s = &l->samples[i];
        if (s->count > 1 && ++counts[l->frames[s->first + 1]] >= enough)
            return l->frames[s->first + 1];
    }
    return LEGACY_NONE;
}

static void drop_second(struct legacy *l, uint32_t location)
{
    for (size_t i = 0; i < l->sample_count; i++) {
        struct legacy_sample *s = &l->samples[i];
        uint32_t *frames = &l->frames[s->first];
        if (s->count < 2 || frames[1] != location)
            continue;
        frames[1] = frames[0];
        s->first++;
        s->count--;
    }
}

// What (nearly) all stacks have as their second frame is the signal handler's, up to two of them.
static bool drop_handler_frames(struct legacy *l)
{
    if (l->location_count == 0)
        return true;
    uint32_t *counts = mem_try_array(l->location_count, sizeof *counts);
    if (counts == NULL)
        return legacy_no_memory(l);
    for (int i = 0; i < 2; i++) {
        const uint32_t location = common_second(l, counts);
        if (location != LEGACY_NONE)
            drop_second(l, location);
    }
    free(counts);
    return true;
}

static bool read_rest(struct legacy *l, const struct cpu_header *h)
{
    static const struct bytes none = {0};
    if (h->java)
        return legacy_read_java_symbols(l, none);
    if (!drop_handler_frames(l) || !legacy_read_maps(l))
        return false;
    legacy_drop_double_leaves(l);
    return true;
}

bool legacy_read_cpu(struct legacy *l, struct bytes data)
{
    static const char *const types[][2] = {{"samples", "count"}, {"cpu", "nanoseconds"}};
    struct cpu_header h;
    CHECK(find_header(data, &h));
    if (h.period_us > INT64_MAX / 1000)
        return legacy_fail(l, ERR_INVALID, "its period is %" PRIu64 " us, which are too many nanoseconds", h.period_us);
    l->period = (int64_t)h.period_us * 1000;
    legacy_set_types(l, types, COUNT_OF(types));
    l->period_type = l->types[1];
    l->drop_frames = legacy_drop_cpu;
    if (!read_samples(l, &h.words, h.java ? LEGACY_AS_IS : LEGACY_CALLERS))
        return false;
    const struct bytes rest = {h.words.at, (size_t)(h.words.end - h.words.at)};
    l->is_text = true;
    l->code = text_lines_init(&l->lines, rest, l->limits->max_line_bytes, l->report, l->e);
    return l->code == ERR_OK && read_rest(l, &h);
}
