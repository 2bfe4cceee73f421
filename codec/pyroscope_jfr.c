// SPDX-License-Identifier: Apache-2.0
// JFR is not read here: a recording becomes the original payload of a profile, for an exporter that hands it on.
#include "codec/frames.h"
#include "codec/pyroscope_body.h"
#include "codec/pyroscope_series.h"

struct own_attributes {
    struct builder *builder;
    uint32_t ids[4], count;
};

static void add_own(struct own_attributes *own, const char *key, struct value v)
{
    own->ids[own->count++] = builder_attribute(own->builder, builder_string_text(own->builder, key), 0, &v);
}

static void add_text(struct own_attributes *own, const char *key, struct bytes text)
{
    if (text.len != 0)
        add_own(own, key, value_string(text));
}

static uint32_t add_attributes(struct builder *b, const struct pyroscope_query *q, struct bytes labels,
                               const struct decode_options *options)
{
    struct own_attributes own = {.builder = b};
    if (labels.len != 0)
        add_own(&own, PYROSCOPE_ATTRIBUTE_JFR_LABELS, (struct value){.kind = VALUE_BYTES, .bytes = labels});
    if (q->has_sample_rate)
        add_own(&own, PYROSCOPE_ATTRIBUTE_SAMPLE_RATE, value_int(q->sample_rate));
    add_text(&own, PYROSCOPE_ATTRIBUTE_UNITS, q->units);
    add_text(&own, PYROSCOPE_ATTRIBUTE_AGGREGATION, q->aggregation_type);
    return decode_profile_attributes(options, b, own.ids, own.count);
}

static void add_profile(struct builder *b, struct profile *p)
{
    struct sample_writer samples;
    struct observation_writer values;
    sample_writer_init(&samples, b);
    observation_writer_init(&values, b);
    p->columns = sample_writer_take(&samples);
    p->observations = observation_writer_take(&values);
    sample_writer_fini(&samples);
    observation_writer_fini(&values);
    if (p->columns != NULL && p->observations != NULL) {
        builder_profile(b, p);
        return;
    }
    columns_unref(&p->columns); // the builder has failed
    observations_unref(&p->observations);
}

enum err_code pyroscope_jfr_pass(const struct pyroscope_query *q, struct bytes recording, struct bytes labels,
                                 const struct decode_options *options, struct batch **out, struct decode_report *report,
                                 struct err *e)
{
    struct builder *b = builder_create(options->limits->max_batch_bytes);
    struct profile p = {
        .time_nanos = (uint64_t)options->fallback_time_nanos,
        .duration_nanos = (uint64_t)options->fallback_duration_nanos,
        .original_payload_format = BYTES_LITERAL("jfr"),
        .original_payload = recording,
    };
    frames_begin(b, options);
    p.attribute_set = add_attributes(b, q, labels, options);
    add_profile(b, &p);
    const enum err_code code = decode_finish(b, out, report, e);
    builder_destroy(&b);
    return code;
}
