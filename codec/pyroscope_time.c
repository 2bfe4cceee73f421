// SPDX-License-Identifier: Apache-2.0
// Times as /ingest has them: numbers in units that their digits tell, dates, and times relative to now.
#include "base/clock.h"
#include "base/text.h"
#include "codec/pyroscope_query.h"

enum { MAX_TIME_CHARACTERS = 64, SECONDS_PER_DAY = 86400, DATE_DIGITS = 8 };

static const int64_t year_1980 = 315532800 * NANOS_PER_SECOND;
static const int64_t one_day = SECONDS_PER_DAY * NANOS_PER_SECOND;

// Seconds where the digits tell nothing else.
static const struct {
    size_t digits;
    int64_t nanos;
} units[] = {{10, NANOS_PER_SECOND}, {13, 1000000}, {16, 1000}, {19, 1}};

static bool makes_sense(int64_t time, int64_t now)
{
    return time >= year_1980 && (now <= 0 || now > INT64_MAX - one_day || time <= now + one_day);
}

static bool in_unit(int64_t number, int64_t unit_nanos, int64_t now, int64_t *time_out)
{
    return !__builtin_mul_overflow(number, unit_nanos, time_out) && makes_sense(*time_out, now);
}

// Days since 1970, by 400-year eras that begin in March.
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    const int64_t year_of_era = year % 400, day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return year / 400 * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static bool date(int64_t number, int64_t now, int64_t *time_out)
{
    static const uint8_t month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const int64_t year = number / 10000, month = number / 100 % 100, day = number % 100;
    if (month < 1 || month > 12 || day < 1 || day > month_days[month - 1] || year <= 1900 || year > 2200)
        return false;
    return in_unit(days_of(year, month, day), one_day, now, time_out);
}

static int64_t number_time(const char *digits, size_t count, int64_t now, bool *repaired)
{
    int64_t number, time, unit = NANOS_PER_SECOND;
    if (!int64_parse(digits, &number))
        return 0;
    if (count == DATE_DIGITS && date(number, now, &time))
        return time;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        unit = units[i].digits == count ? units[i].nanos : unit;
    if (in_unit(number, unit, now, &time))
        return time;
    *repaired = true;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (in_unit(number, units[i].nanos, now, &time))
            return time;
    return 0;
}

// --- relative to now ---

static int64_t unit_seconds(const char *unit, size_t len)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } names[] = {
        {"s", 1},
        {"m", 60},
        {"min", 60},
        {"h", 3600},
        {"d", SECONDS_PER_DAY},
        {"w", 604800},
        {"M", 2592000},
        {"mon", 2592000},
        {"y", 365 * SECONDS_PER_DAY},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strlen(names[i].name) == len && memcmp(names[i].name, unit, len) == 0)
            return names[i].seconds;
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// One "-1h" at *at; a further one may leave the sign out, as in "-1h30m".
static bool step(const char **at, int64_t *sign, int64_t *time)
{
    int64_t number = 0, distance;
    if (**at == '-' || **at == '+')
        *sign = *(*at)++ == '-' ? -1 : 1;
    if (!is_digit(**at))
        return false;
    for (; is_digit(**at); (*at)++)
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, **at - '0', &number))
            return false;
    const char *unit = *at;
    while (is_letter(**at))
        (*at)++;
    return !__builtin_mul_overflow(unit_seconds(unit, (size_t)(*at - unit)), NANOS_PER_SECOND * *sign, &distance) &&
           !__builtin_mul_overflow(number, distance, &distance) && !__builtin_add_overflow(*time, distance, time);
}

static int64_t relative_time(const char *text, int64_t now)
{
    int64_t time = now, sign = 0;
    if (strncmp(text, "now", 3) == 0)
        text += 3;
    else if (*text != '-' && *text != '+')
        return 0;
    if (*text != '\0' && *text != '-' && *text != '+')
        return 0;
    while (*text != '\0')
        if (!step(&text, &sign, &time))
            return 0;
    return makes_sense(time, now) ? time : 0;
}

int64_t pyroscope_time_parse(struct bytes text, int64_t now_nanos, bool *repaired_out)
{
    char kept[MAX_TIME_CHARACTERS + 1] = {0};
    size_t count = 0, digits = 0;
    *repaired_out = false;
    for (size_t i = 0; i < text.len; i++) {
        const char c = (char)text.data[i];
        if (c == '_' || c == ',' || c == ' ' || c == '\t')
            continue;
        if (count == MAX_TIME_CHARACTERS || c == '\0') {
            *repaired_out = true;
            return 0;
        }
        kept[count++] = c;
        digits += is_digit(c);
    }
    if (count == 0)
        return 0;
    const int64_t time =
        digits == count ? number_time(kept, count, now_nanos, repaired_out) : relative_time(kept, now_nanos);
    *repaired_out = *repaired_out || time == 0;
    return time;
}
