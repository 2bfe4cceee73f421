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

struct scale {
    const char *name;
    double size, below; // up to which value it is used
};

static const struct scale times[] = {
    {"ns", 1, 999.5}, {"us", 1e3, 999.5}, {"ms", 1e6, 999.5}, {"s", 1e9, 120}, {"min", 60e9, 120}, {"h", 3600e9, 0},
};

// Powers of 1024, as pprof counts (which writes MB for MiB).
static const struct scale sizes[] = {
    {"B", 1, 1024},          {"KiB", 0x1p10, 1023.5}, {"MiB", 0x1p20, 1023.5}, {"GiB", 0x1p30, 1023.5},
    {"TiB", 0x1p40, 1023.5}, {"PiB", 0x1p50, 1023.5}, {"EiB", 0x1p60, 0},
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

static void scaled_text(char *out, size_t out_size, const char *sign, double amount, const struct scale *scale)
{
    for (; scale->below > 0 && amount / scale->size >= scale->below; scale++)
        ;
    const double value = amount / scale->size;
    snprintf(out, out_size, "%s%.*f %s", sign, digits_after(value, amount <= 0 || scale->size <= 1), value,
             scale->name);
}

char *value_text(char *out, size_t out_size, int64_t value, struct bytes unit)
{
    const struct unit *u = unit_named(unit);
    const uint64_t amount = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    const char *sign = value < 0 ? "-" : "";
    if (u == NULL)
        snprintf(out, out_size, "%" PRId64, value);
    else if (u->kind == TIME)
        scaled_text(out, out_size, sign, (double)amount * u->factor,
                    amount != 0 ? times : &times[3]); // nothing is "0 s"
    else
        scaled_text(out, out_size, sign, (double)amount, sizes);
    return out;
}
