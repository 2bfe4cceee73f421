// SPDX-License-Identifier: Apache-2.0
// Contention as text: gperftools' ("--- contentionz 1 ---") and Go's mutex and block profiles (?debug=1: "--- mutex:",
// "--- contention:"). Lines "cycles/second = N" and the like, then "DELAY COUNT @ 0xADDRESS ...".
#include "codec/legacy.h"

#include <math.h>

struct contention {
    int64_t cycles_per_second; // 0 = delays are nanoseconds as they stand
};

static bool bad_number(struct legacy *l, const char *key)
{
    return legacy_fail(l, ERR_INVALID, "%s is no integer of 64 bits", key);
}

static bool set_attribute(struct legacy *l, struct contention *c, struct bytes key, struct bytes value)
{
    int64_t millis;
    if (bytes_equal_text(key, "cycles/second"))
        return legacy_go_int64(value, &c->cycles_per_second) || bad_number(l, "cycles/second");
    if (bytes_equal_text(key, "sampling period"))
        return legacy_go_int64(value, &l->period) || bad_number(l, "sampling period");
    if (bytes_equal_text(key, "ms since reset")) {
        if (!legacy_go_int64(value, &millis))
            return bad_number(l, "ms since reset");
        l->duration_nanos = legacy_multiply(millis, 1000000);
        return true;
    }
    return bytes_equal_text(key, "discarded samples") ||
           legacy_fail(l, ERR_INVALID,
                       "a key that is not known; known are cycles/second, sampling period, ms since "
                       "reset and discarded samples");
}

static int64_t scaled(int64_t delay, const struct legacy *l, const struct contention *c)
{
    if (l->period <= 0 || c->cycles_per_second <= 0)
        return delay;
    const double nanos = (double)delay * (double)l->period / ((double)c->cycles_per_second / 1e9);
    return nanos >= 9223372036854775808.0 ? INT64_MAX : (int64_t)nanos;
}

static bool read_sample(struct legacy *l, const struct contention *c, struct bytes line)
{
    int64_t delay, count;
    bool good = line.len > 0 && *line.data != '-' && legacy_take_int64(&line, &delay);
    legacy_take_spaces(&line);
    good = good && line.len > 0 && *line.data != '-' && legacy_take_int64(&line, &count);
    if (!good || !legacy_take(&line, " @"))
        return legacy_fail(l, ERR_INVALID, "it should read DELAY COUNT @ 0xADDRESS ...");
    const int64_t values[] = {l->period > 0 ? legacy_multiply(count, l->period) : count, scaled(delay, l, c)};
    return legacy_addresses(l, legacy_stack_text(line), LEGACY_ALL) && legacy_sample(l, values, 0);
}

// Up to the first line that is none: *line, NULL data = there is none.
static bool read_attributes(struct legacy *l, struct contention *c, struct bytes *line, bool *java)
{
    while (legacy_line(l, line)) {
        size_t at;
        *line = legacy_trim(*line);
        if (legacy_is_blank(*line))
            continue;
        if (legacy_begins(*line, "---") || !legacy_find(*line, "=", &at))
            return true;
        const struct bytes key = legacy_trim((struct bytes){line->data, at});
        const struct bytes value = legacy_trim((struct bytes){line->data + at + 1, line->len - at - 1});
        *java = bytes_equal_text(key, "format") || bytes_equal_text(key, "resolution");
        if (*java || !set_attribute(l, c, key, value))
            return false;
    }
    *line = (struct bytes){0};
    return l->code == ERR_OK;
}

static void set_types(struct legacy *l)
{
    static const char *const types[][2] = {{"contentions", "count"}, {"delay", "nanoseconds"}};
    legacy_set_types(l, types, COUNT_OF(types));
    l->period_type = l->types[0];
    l->period = 1;
    l->drop_frames = legacy_drop_lock;
}

bool legacy_read_contention(struct legacy *l, struct bytes header)
{
    const struct text_lines behind_header = l->lines;
    struct contention c = {0};
    struct bytes line = {0};
    bool java = false;
    set_types(l);
    if (!read_attributes(l, &c, &line, &java)) {
        if (!java || !bytes_equal_text(legacy_trim(header), "--- contentionz 1 ---"))
            return java ? legacy_fail(l, ERR_INVALID, "format and resolution are for --- contentionz 1 --- of Java")
                        : false;
        l->lines = behind_header;
        return legacy_read_java_contention(l);
    }
    for (bool more = line.data != NULL; more && !legacy_begins(legacy_trim(line), "---"); more = legacy_line(l, &line))
        if (!legacy_is_blank(line) && !read_sample(l, &c, legacy_trim(line)))
            return false;
    return legacy_read_maps_section(l, line);
}
