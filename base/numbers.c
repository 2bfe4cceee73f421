// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <strings.h>

// "12.375" as its digits; what they are worth is known only once the unit is read.
struct decimal {
    const char *whole, *fraction;
    size_t whole_len, fraction_len;
};

static size_t count_digits(const char *at)
{
    size_t n = 0;
    while (at[n] >= '0' && at[n] <= '9')
        n++;
    return n;
}

// Returns where the number ends, NULL when there is no digit.
static const char *decimal_scan(const char *at, struct decimal *d)
{
    *d = (struct decimal){.whole = at, .whole_len = count_digits(at)};
    at += d->whole_len;
    if (*at == '.') {
        d->fraction = at + 1;
        d->fraction_len = count_digits(at + 1);
        at += 1 + d->fraction_len;
    }
    return d->whole_len + d->fraction_len > 0 ? at : NULL;
}

// floor(d * unit), exact for any number of digits; false on overflow. 9 * unit must fit.
static bool decimal_scale(const struct decimal *d, uint64_t unit, uint64_t *out)
{
    uint64_t value = 0, fraction = 0;
    for (size_t i = 0; i < d->whole_len; i++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(d->whole[i] - '0'), &value))
            return false;
    for (size_t i = d->fraction_len; i-- > 0;)
        fraction = ((uint64_t)(d->fraction[i] - '0') * unit + fraction) / 10;
    return !__builtin_mul_overflow(value, unit, &value) && !__builtin_add_overflow(value, fraction, out);
}

static bool apply_sign(uint64_t magnitude, bool negative, int64_t *out)
{
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return false;
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

static const char *skip_sign(const char *text, bool *negative_out)
{
    *negative_out = *text == '-';
    return *text == '-' || *text == '+' ? text + 1 : text;
}

bool int64_parse(const char *text, int64_t *value_out)
{
    bool negative;
    const char *digits = skip_sign(text, &negative);
    struct decimal d = {.whole = digits, .whole_len = count_digits(digits)};
    uint64_t magnitude;
    if (d.whole_len == 0 || digits[d.whole_len] != '\0' || !decimal_scale(&d, 1, &magnitude))
        return false;
    return apply_sign(magnitude, negative, value_out);
}

// The unit at `at`, 0 if there is none; *at moves behind it.
static uint64_t duration_unit(const char **at)
{
    static const struct {
        const char *name;
        uint64_t nanos;
    } units[] = {
        {"ns", 1},       {"us", 1000},      {"\u00b5s", 1000},   {"\u03bcs", 1000},
        {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000u}, {"h", 3600000000000u},
    };
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        size_t len = strlen(units[i].name);
        if (strncmp(*at, units[i].name, len) == 0) {
            *at += len;
            return units[i].nanos;
        }
    }
    return 0;
}

bool duration_parse(const char *text, int64_t *nanos_out)
{
    if (int64_parse(text, nanos_out))
        return true;
    bool negative;
    const char *at = skip_sign(text, &negative);
    uint64_t total = 0;
    if (*at == '\0')
        return false;
    while (*at != '\0') {
        struct decimal d;
        at = decimal_scan(at, &d);
        uint64_t unit = at == NULL ? 0 : duration_unit(&at);
        uint64_t part;
        if (unit == 0 || !decimal_scale(&d, unit, &part) || __builtin_add_overflow(total, part, &total))
            return false;
    }
    return apply_sign(total, negative, nanos_out);
}

static uint64_t size_unit(const char *name)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {
        {"", 1},
        {"B", 1},
        {"KB", 1000},
        {"MB", 1000000},
        {"GB", 1000000000},
        {"TB", 1000000000000},
        {"KiB", 1 << 10},
        {"MiB", 1 << 20},
        {"GiB", 1 << 30},
        {"TiB", (uint64_t)1 << 40},
    };
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strcasecmp(name, units[i].name) == 0)
            return units[i].bytes;
    return 0;
}

bool size_parse(const char *text, uint64_t *bytes_out)
{
    struct decimal d;
    const char *at = decimal_scan(text, &d);
    if (at == NULL)
        return false;
    if (*at == ' ' && at[1] != '\0')
        at++;
    uint64_t unit = size_unit(at);
    // There is no half byte, and "1." is a slip.
    if (unit == 0 || (unit == 1 && d.fraction != NULL))
        return false;
    return decimal_scale(&d, unit, bytes_out);
}
