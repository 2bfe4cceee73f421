// SPDX-License-Identifier: Apache-2.0
// What Pyroscope calls a profile with these sample types, and which of its types matters most.
#include "codec/pyroscope_series.h"

enum { LONGEST_TYPE = 256 }; // of a sample type's name, what is behind is not looked at

struct name_rule {
    const char *text;
    bool part; // the sample type contains it; else it is the whole
    const char *name;
};

// The first that fits.
static const struct name_rule strong_rules[] = {
    {"off_cpu", true, "off_cpu"},
    {"offcpu", true, "off_cpu"},
    {"cpu", true, "process_cpu"},
    {"itimer", false, "process_cpu"},
    {"ctimer", false, "process_cpu"},
    {"alloc_", true, "memory"},
    {"inuse_", true, "memory"},
    {"space", false, "memory"},
    {"objects", false, "memory"},
    {"live", false, "memory"},
    {"mutex_", true, "mutex"},
    {"mutex", false, "mutex"},
    {"block_", true, "block"},
    {"block", false, "block"},
    {"lock_count", false, "block"},
    {"lock_duration", false, "block"},
    {"goroutines", true, "goroutines"},
    {"goroutine", false, "goroutine"},
    {"goroutineleak", false, "goroutine_leak"},
    {"exceptions", false, "exceptions"},
};
// Types that say little: used where no other type and no period type says more.
static const struct name_rule weak_rules[] = {
    {"samples", false, "process_cpu"},
    {"contentions", false, "mutex"},
    {"delay", false, "mutex"},
};

static bool same_letter(uint8_t a, char b)
{
    return (a == '-' ? '_' : (char)a) == b;
}

// '-' in type counts as '_'.
static bool type_at(struct bytes type, size_t from, const char *text)
{
    size_t i = 0;
    while (text[i] != '\0' && from + i < type.len && same_letter(type.data[from + i], text[i]))
        i++;
    return text[i] == '\0';
}

static bool type_is(struct bytes type, const char *text)
{
    return type.len == strlen(text) && type_at(type, 0, text);
}

static bool type_has(struct bytes type, const char *text)
{
    for (size_t i = 0; i < type.len; i++)
        if (type_at(type, i, text))
            return true;
    return false;
}

static const char *find_rule(const struct name_rule *rules, size_t count, struct bytes type)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i].part ? type_has(type, rules[i].text) : type_is(type, rules[i].text))
            return rules[i].name;
    return NULL;
}

// What is known so far of a profile whose sample types are shown one after the other.
struct guess {
    bool wall;
    const char *strong, *weak;
};

static void guess_see(struct guess *g, struct bytes type)
{
    type.len = type.len < LONGEST_TYPE ? type.len : LONGEST_TYPE;
    g->wall = g->wall || type_is(type, "wall");
    if (g->strong == NULL)
        g->strong = find_rule(strong_rules, COUNT_OF(strong_rules), type);
    if (g->weak == NULL)
        g->weak = find_rule(weak_rules, COUNT_OF(weak_rules), type);
}

static const char *guess_name(const struct guess *g)
{
    if (g->wall)
        return "wall";
    return g->strong != NULL ? g->strong : g->weak;
}

const char *pyroscope_profile_type_of(const struct bytes *names, size_t count)
{
    struct guess g = {0};
    for (size_t i = 0; i < count; i++)
        guess_see(&g, names[i]);
    return guess_name(&g);
}

const char *pyroscope_profile_type_of_batch(const struct batch *b, const struct scope *s, uint32_t first,
                                            uint32_t count)
{
    const struct bytes *strings = b->dictionary->strings;
    struct guess g = {0};
    for (uint32_t i = first; i < first + count; i++)
        guess_see(&g, strings[s->profiles[i].sample_type.type]);
    if (!g.wall && g.strong == NULL && g.weak != NULL)
        guess_see(&g, strings[s->profiles[first].period_type.type]);
    return guess_name(&g);
}

// --- the one type of backends that keep one ---

static const struct {
    const char *type, *unit; // unit NULL = any
} primary_types[] = {
    {"cpu", "nanoseconds"},
    {"cpu", "ns"},
    {"wall", "nanoseconds"},
    {"wall", NULL},
    {"inuse_space", NULL},
    {"space", "bytes"},
    {"alloc_space", NULL},
    {"alloc_in_new_tlab_bytes", NULL},
    {"alloc_outside_tlab_bytes", NULL},
    {"alloc_sample_bytes", NULL},
};

uint32_t pyroscope_primary_profile(const struct batch *b, const struct scope *s, uint32_t first, uint32_t count)
{
    const struct bytes *strings = b->dictionary->strings;
    for (size_t rule = 0; rule < COUNT_OF(primary_types); rule++) {
        for (uint32_t i = 0; i < count; i++) {
            const struct value_type t = s->profiles[first + i].sample_type;
            const char *unit = primary_types[rule].unit;
            if (type_is(strings[t.type], primary_types[rule].type) &&
                (unit == NULL || bytes_equal_text(strings[t.unit], unit)))
                return i;
        }
    }
    return 0;
}
