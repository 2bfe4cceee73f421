// SPDX-License-Identifier: Apache-2.0
#include "codec/frame_sums.h"

#include "base/mem.h"
#include "codec/frames.h"

void frame_sums_fini(struct frame_sums *s)
{
    free(s->values);
    s->values = NULL;
}

static bool has_value(struct frame_sums *s, uint32_t stack)
{
    void *values = s->values;
    if (stack <= s->count)
        return true;
    s->no_memory |= !mem_try_grow(&values, &s->capacity, stack, sizeof *s->values, UINT32_MAX);
    s->values = values;
    if (s->no_memory)
        return false;
    CHECK(stack == s->count + 1);
    s->values[s->count++] = 0;
    return true;
}

bool frame_sums_add(struct frame_sums *s, uint32_t stack, int64_t value)
{
    if (stack == 0 || !has_value(s, stack))
        return true;
    if (__builtin_add_overflow(s->values[stack - 1], value, &value))
        return false;
    s->values[stack - 1] = value;
    return true;
}

static void add_samples(struct frame_sums *s, struct profile *p)
{
    struct sample_writer samples;
    struct observation_writer observations;
    sample_writer_init(&samples, s->builder);
    observation_writer_init(&observations, s->builder);
    sample_writer_expect(&samples, s->count);
    observation_writer_expect(&observations, s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        sample_writer_add(&samples, i + 1, 0, 0);
        observation_writer_add_value(&observations, s->values[i]);
    }
    p->columns = sample_writer_take(&samples);
    p->observations = observation_writer_take(&observations);
    sample_writer_fini(&samples);
    observation_writer_fini(&observations);
}

void frame_sums_finish(struct frame_sums *s, const struct decode_options *o, struct profile *p,
                       struct decode_report *report)
{
    p->time_nanos = (uint64_t)decode_time(o, 0, report);
    if (p->duration_nanos == 0)
        p->duration_nanos = (uint64_t)o->fallback_duration_nanos;
    p->attribute_set = decode_profile_attributes(o, s->builder, NULL, 0);
    if (report->cut_stacks == 0)
        builder_every_location_used(s->builder);
    add_samples(s, p);
    report->samples = s->count;
    report->sample_types = 1;
    report->repaired_utf8 = builder_repaired_strings(s->builder);
    frames_begin(s->builder, o);
    builder_profile(s->builder, p);
}
