// SPDX-License-Identifier: Apache-2.0
// gperftools' threads as text: "--- threadz 1 ---", then for each "--- Thread 7f.. (name: main/14748) stack: ---" and
// lines with its addresses, or that it is the same as the thread before.
#include "codec/legacy.h"

static bool is_thread(struct bytes line)
{
    size_t at;
    return legacy_find(line, "--- Thread ", &at) && legacy_has(line, " (name: ") && legacy_has(line, ") stack: ---");
}

// The lines of one thread; *line is the one behind them, empty at the end.
static bool read_stack(struct legacy *l, struct bytes *line, bool *same_out)
{
    *same_out = false;
    while (legacy_line(l, line)) {
        if (legacy_begins(legacy_trim(*line), "---") || legacy_begins_maps(*line))
            return true;
        if (legacy_has(*line, "same as previous thread"))
            *same_out = true;
        else if (!legacy_addresses(l, *line, LEGACY_CALLERS))
            return false;
    }
    *line = (struct bytes){0};
    return l->code == ERR_OK;
}

static bool read_thread(struct legacy *l, struct bytes *line)
{
    static const int64_t one = 1;
    bool same;
    if (!is_thread(*line))
        return legacy_fail(l, ERR_INVALID, "it should read --- Thread ID (name: NAME/ID) stack: ---");
    if (!read_stack(l, line, &same))
        return false;
    if (!same && l->frame_count > l->sample_start)
        return legacy_sample(l, &one, 0);
    l->frame_count = l->sample_start;
    if (l->sample_count > 0)
        l->samples[l->sample_count - 1].values[0]++;
    return true;
}

static bool is_end(struct bytes line)
{
    return line.len == 0 || legacy_begins_maps(line) || legacy_begins(line, "---- no stack trace for");
}

bool legacy_read_thread(struct legacy *l, struct bytes header)
{
    static const char *const types[][2] = {{"thread", "count"}};
    struct bytes line = header;
    l->period = 1;
    l->drop_frames = legacy_drop_cpu;
    legacy_set_types(l, types, 1);
    l->period_type = l->types[0];
    if (legacy_begins(header, "--- threadz ")) {
        bool more;
        while ((more = legacy_line(l, &line)) && !legacy_begins_maps(line) && !legacy_begins(line, "-"))
            ;
        line = more ? line : (struct bytes){0};
    }
    while (!is_end(line))
        if (!read_thread(l, &line))
            return false;
    if (!legacy_read_maps_section(l, line))
        return false;
    legacy_drop_double_leaves(l);
    return true;
}
