// SPDX-License-Identifier: Apache-2.0
// What the numbers of the formats without a type are.
#include "codec/pyroscope_text.h"

#include "base/clock.h"

struct kind {
    const char *ending; // of the app's name, behind its last dot
    const char *profile_type, *sample_type, *sample_unit;
    const char *time_type; // what samples become where a sample rate tells what one is worth; NULL = they stay
};

static const struct kind kinds[] = {
    {"cpu", "process_cpu", "samples", "count", "cpu"}, // also where there is no known ending
    {"itimer", "process_cpu", "samples", "count", "cpu"},
    {"wall", "wall", "samples", "count", "wall"},
    {"seconds", "wall", "samples", "count", "wall"},
    {"milliseconds", "wall", "samples", "count", "wall"},
    {"microseconds", "wall", "samples", "count", "wall"},
    {"nanoseconds", "wall", "samples", "count", "wall"},
    {"inuse_objects", "memory", "inuse_objects", "count", NULL},
    {"alloc_objects", "memory", "alloc_objects", "count", NULL},
    {"inuse_space", "memory", "inuse_space", "bytes", NULL},
    {"alloc_space", "memory", "alloc_space", "bytes", NULL},
    {"bytes", "memory", "samples", "bytes", NULL},
    {"goroutines", "goroutine", "goroutines", "count", NULL},
    {"mutex_count", "mutex", "contentions", "count", NULL},
    {"mutex_duration", "mutex", "delay", "nanoseconds", NULL},
    {"block_count", "block", "contentions", "count", NULL},
    {"lock_count", "block", "contentions", "count", NULL},
    {"block_duration", "block", "delay", "nanoseconds", NULL},
    {"lock_duration", "block", "delay", "nanoseconds", NULL},
    {"alloc_in_new_tlab_objects", "memory", "alloc_in_new_tlab_objects", "count", NULL},
    {"alloc_in_new_tlab_bytes", "memory", "alloc_in_new_tlab_bytes", "bytes", NULL},
    {"alloc_outside_tlab_objects", "memory", "alloc_outside_tlab_objects", "count", NULL},
    {"alloc_outside_tlab_bytes", "memory", "alloc_outside_tlab_bytes", "bytes", NULL},
    {"live", "memory", "live", "count", NULL},
    {"exceptions", "exceptions", "samples", "count", NULL},
};

static const struct kind *find_kind(struct bytes ending)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (bytes_equal_text(ending, kinds[i].ending))
            return &kinds[i];
    return NULL;
}

// *service_out is the name without the ending, if it is a known one and there is something before it.
static const struct kind *kind_of_name(struct bytes name, struct bytes *service_out)
{
    const uint8_t *dot = name.len > 0 ? memrchr(name.data, '.', name.len) : NULL;
    *service_out = name;
    if (dot == NULL || dot == name.data)
        return &kinds[0];
    const size_t before = (size_t)(dot - name.data);
    const struct kind *kind = find_kind((struct bytes){dot + 1, name.len - before - 1});
    if (kind == NULL)
        return &kinds[0];
    service_out->len = before;
    return kind;
}

struct pyroscope_meaning pyroscope_meaning_of(struct bytes app_name, int64_t sample_rate)
{
    struct pyroscope_meaning m = {0};
    const struct kind *kind = kind_of_name(app_name, &m.service);
    m.profile_type = kind->profile_type;
    m.sample_type = kind->sample_type;
    m.sample_unit = kind->sample_unit;
    if (kind->time_type == NULL || sample_rate <= 0)
        return m;
    m.sample_type = kind->time_type;
    m.sample_unit = "nanoseconds";
    m.period_type = "cpu"; // of wall, too: that is what servers call it
    m.period_unit = "nanoseconds";
    m.period = sample_rate < NANOS_PER_SECOND ? NANOS_PER_SECOND / sample_rate : 1;
    m.scales = true;
    return m;
}
