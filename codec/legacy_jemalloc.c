// SPDX-License-Identifier: Apache-2.0
// jemalloc's heap profile (jeprof.*.heap): "heap_v2/524288" with the sampling rate, totals, then stacks, "@ 0x1 0x2",
// each followed by its counts: "t*: 1: 512 [0: 0]" for all threads and "t1: ..." for each, which we pass over.
#include "codec/legacy.h"

static bool read_stack(struct legacy *l, struct bytes text)
{
    if (l->frame_count != l->sample_start)
        return legacy_fail(l, ERR_INVALID, "the stack before it has no line t*: COUNT: BYTES [COUNT: BYTES]");
    return legacy_addresses(l, legacy_stack_text(text), LEGACY_ALL);
}

static bool is_thread(struct bytes line)
{
    struct bytes digits;
    return legacy_take(&line, "t") && legacy_take_digits(&line, &digits) && legacy_take(&line, ":");
}

static bool read_line(struct legacy *l, struct bytes line, bool *in_stacks)
{
    struct legacy_heap_counts c;
    line = legacy_trim(line);
    if (legacy_take(&line, "@")) {
        *in_stacks = true;
        return read_stack(l, line);
    }
    if (is_thread(line))
        return true;
    if (!legacy_take(&line, "t*:") || !legacy_take_heap_counts(&line, &c))
        return legacy_fail(l, ERR_INVALID, "it should read t*: COUNT: BYTES [COUNT: BYTES], or @ 0xADDRESS ...");
    if (*in_stacks)
        return legacy_heap_sample(l, &c, l->period);
    legacy_set_heap_types(l, legacy_counts_alloc(&c));
    return true;
}

bool legacy_read_jemalloc(struct legacy *l, struct bytes header)
{
    struct bytes line = {0};
    bool in_stacks = false;
    if (!legacy_take(&header, "heap_v2/") || !legacy_take_int64(&header, &l->period))
        return legacy_fail(l, ERR_INVALID, "it should read heap_v2/SAMPLING_RATE");
    legacy_set_heap_types(l, false);
    while (legacy_line(l, &line) && !legacy_begins_maps(line))
        if (!legacy_is_blank(line) && !read_line(l, line, &in_stacks))
            return false;
    return legacy_read_maps_section(l, line);
}
