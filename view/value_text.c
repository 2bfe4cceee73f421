// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdio.h>

enum kind { TIME, SIZE };

struct unit {
    const char *name;
    enum kind kind;
    double factor; // to nanoseconds or bytes
};

static const struct unit units[] = {
    {"nanoseconds", TIME, 1},
    {"nanosecond", TIME, 1},
    {"ns", TIME, 1},
    {"microseconds", TIME, 1e3},
    {"microsecond", TIME, 1e3},
    {"us", TIME, 1e3},
    {"milliseconds", TIME, 1e6},
    {"millisecond", TIME, 1e6},
    {"ms", TIME, 1e6},
    {"seconds", TIME, 1e9},
    {"second", TIME, 1e9},
    {"s", TIME, 1e9},
    {"bytes", SIZE, 1},
    {"byte", SIZE, 1},
    {"By", SIZE, 1},
    {"B", SIZE, 1},
};

static const struct {
    const char *name;
    double nanos, below; // up to which value it is used
} times[] = {
    {"ns", 1, 999.5}, {"us", 1e3, 999.5}, {"ms", 1e6, 999.5}, {"s", 1e9, 120}, {"min", 60e9, 120}, {"h", 3600e9, 0},
};

static const struct unit *unit_named(struct bytes name)
{
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (bytes_equal_text(name, units[i].name))
            return &units[i];
    }
    return NULL;
}

// Three digits that count.
static int digits_after(double value, bool whole)
{
    return whole || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
}

static void time_text(char *out, size_t out_size, const char *sign, double nanos)
{
    size_t i = nanos > 0 ? 0 : 3; // nothing is "0 s"
    while (i + 1 < COUNT_OF(times) && nanos / times[i].nanos >= times[i].below)
        i++;
    const double value = nanos / times[i].nanos;
    snprintf(out, out_size, "%s%.*f %s", sign, digits_after(value, i == 0 || nanos == 0), value, times[i].name);
}

char *value_text(char *out, size_t out_size, int64_t value, struct bytes unit)
{
    const struct unit *u = unit_named(unit);
    const uint64_t amount = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    const char *sign = value < 0 ? "-" : "";
    char text[32];
    if (u == NULL)
        snprintf(out, out_size, "%" PRId64, value);
    else if (u->kind == TIME)
        time_text(out, out_size, sign, (double)amount * u->factor);
    else
        snprintf(out, out_size, "%s%s", sign, text_bytes(text, sizeof text, amount));
    return out;
}
