// SPDX-License-Identifier: Apache-2.0
// Go's count profiles as text (goroutine, threadcreate and a program's own, ?debug=1): "goroutine profile: total 7",
// then "3 @ 0x43b0a5 0x43b17e". The names of the frames stand in comments: google/pprof passes over them, and so do we.
#include "codec/legacy.h"

static bool parse_header(struct bytes line, struct bytes *type_out)
{
    struct bytes total;
    *type_out = legacy_take_word(&line);
    return type_out->len > 0 && legacy_take(&line, " profile: total ") && legacy_take_digits(&line, &total) &&
           line.len == 0;
}

bool legacy_is_count(struct bytes header)
{
    struct bytes type;
    return parse_header(header, &type);
}

static bool read_sample(struct legacy *l, struct bytes line)
{
    int64_t count;
    if (!legacy_take_int64(&line, &count) || !legacy_take(&line, " @"))
        return legacy_fail(l, ERR_INVALID, "it should read COUNT @ 0xADDRESS ...");
    return legacy_addresses(l, legacy_stack_text(line), LEGACY_ALL) && legacy_sample(l, &count, 0);
}

bool legacy_read_count(struct legacy *l, struct bytes header)
{
    struct bytes type, line = {0};
    CHECK(parse_header(header, &type));
    l->period_type = (struct legacy_type){type, BYTES_LITERAL("count")};
    l->period = 1;
    l->drop_frames = legacy_drop_cpu;
    l->types[0] = l->period_type;
    l->type_count = 1;
    while (legacy_line(l, &line) && !legacy_begins(line, "---"))
        if (!legacy_is_blank(line) && !read_sample(l, line))
            return false;
    return legacy_read_maps_section(l, line);
}
