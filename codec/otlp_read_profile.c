// SPDX-License-Identifier: Apache-2.0
// Profile and Sample.
#include "codec/otlp_reader.h"

#include <inttypes.h>

static void read_value_type(struct otlp_reader *d, const struct otlp_place *parent, const struct wire_field *field,
                            const char *name, struct value_type *type)
{
    struct otlp_place at = {parent, name, OTLP_NO_INDEX};
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, otlp_bytes(d, parent, field, name));
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            type->type = otlp_index(d, &at, &f, "type_strindex", OTLP_STRINGS);
        else if (f.number == 2)
            type->unit = otlp_index(d, &at, &f, "unit_strindex", OTLP_STRINGS);
    }
    otlp_message_end(d, &at, &r);
}

static void read_numbers(struct otlp_reader *d, const struct otlp_place *at, struct wire_reader *r,
                         const struct wire_field *f, const char *name, bool fixed64, struct wire_list *list)
{
    if (f->type != WIRE_LEN && f->type != (fixed64 ? WIRE_FIXED64 : WIRE_VARINT))
        otlp_wrong_type(d, at, f, name);
    else if (!wire_list_add(list, r, f, fixed64))
        otlp_message_end(d, at, r);
}

static void check_shape(struct otlp_reader *d, const struct otlp_place *at)
{
    size_t values = d->values.count, timestamps = d->timestamps.count;
    if ((values == 1 && timestamps == 0) || (values == 0 && timestamps > 0) || (values == timestamps && values > 0))
        return;
    if (values == 0)
        otlp_fail(d, at, ERR_INVALID,
                  "neither a value nor a timestamp; the sender may speak an older layout (OTLP profiles 1.9 or "
                  "before): upgrade it");
    else if (timestamps == 0)
        otlp_fail(d, at, ERR_INVALID, "%zu values without timestamps, one is allowed", values);
    else
        otlp_fail(d, at, ERR_INVALID, "%zu values with %zu timestamps, they must be as many", values, timestamps);
}

static void read_sample(struct otlp_reader *d, const struct otlp_place *at, struct bytes data)
{
    struct wire_reader r;
    struct wire_field f;
    uint32_t stack = 0, link = 0;
    d->ids.count = d->values.count = d->timestamps.count = 0;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            stack = otlp_index(d, at, &f, "stack_index", OTLP_STACKS);
        else if (f.number == 2)
            otlp_indices(d, at, &f, "attribute_indices", OTLP_ATTRIBUTES);
        else if (f.number == 3)
            link = otlp_index(d, at, &f, "link_index", OTLP_LINKS);
        else if (f.number == 4)
            read_numbers(d, at, &r, &f, "values", false, &d->values);
        else if (f.number == 5)
            read_numbers(d, at, &r, &f, "timestamps_unix_nano", true, &d->timestamps);
    }
    otlp_message_end(d, at, &r);
    check_shape(d, at);
    if (d->code != ERR_OK)
        return;
    sample_writer_add(&d->samples, stack, otlp_attribute_set(d), link);
    observation_writer_add(&d->observations, (const int64_t *)d->values.items, (uint32_t)d->values.count,
                           d->timestamps.items, (uint32_t)d->timestamps.count);
}

static void read_next_sample(struct otlp_reader *d, const struct otlp_place *profile, const struct wire_field *f)
{
    struct otlp_place at = {profile, "samples", d->samples.count};
    if (d->sample_count >= d->limits->max_samples) {
        otlp_fail(d, &at, ERR_LIMIT, "more than %" PRIu32 " samples, as many as max_samples allows",
                  d->limits->max_samples);
        return;
    }
    d->sample_count++;
    read_sample(d, &at, otlp_bytes(d, profile, f, "samples"));
}

static void read_profile_id(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                            struct profile *p)
{
    static const uint8_t zero[sizeof p->profile_id];
    struct bytes id = otlp_bytes(d, at, f, "profile_id");
    if (id.len != 0 && id.len != sizeof p->profile_id) {
        otlp_fail(d, at, ERR_INVALID, "profile_id has %zu bytes instead of 16 or none", id.len);
        return;
    }
    // All zero is no valid id; some write it for "none".
    p->has_profile_id = id.len != 0 && memcmp(id.data, zero, sizeof zero) != 0;
    if (p->has_profile_id)
        memcpy(p->profile_id, id.data, sizeof p->profile_id);
}

// The fields other than samples and attribute_indices.
static void read_header_field(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                              struct profile *p)
{
    switch (f->number) {
    case 1:
        read_value_type(d, at, f, "sample_type", &p->sample_type);
        break;
    case 3:
        p->time_nanos = otlp_fixed64(d, at, f, "time_unix_nano");
        break;
    case 4:
        p->duration_nanos = otlp_uint(d, at, f, "duration_nano");
        break;
    case 5:
        read_value_type(d, at, f, "period_type", &p->period_type);
        break;
    case 6:
        p->period = otlp_int(d, at, f, "period");
        break;
    case 7:
        read_profile_id(d, at, f, p);
        break;
    case 8:
        p->dropped_attributes_count = (uint32_t)otlp_uint(d, at, f, "dropped_attributes_count");
        break;
    case 9:
        p->original_payload_format = otlp_bytes(d, at, f, "original_payload_format");
        break;
    case 10:
        p->original_payload = otlp_bytes(d, at, f, "original_payload");
        break;
    default:
        break;
    }
}

static bool same_ids(const uint32_t *column, const uint32_t *written, bool any, uint32_t count)
{
    if ((column != NULL) != any)
        return false;
    return !any || memcmp(column, written, count * sizeof *column) == 0;
}

// The sample types of one pprof are profiles with equal columns: they come together again here.
static struct columns *take_columns(struct otlp_reader *d)
{
    const struct columns *c = d->previous_columns;
    struct sample_writer *w = &d->samples;
    if (c != NULL && w->count != 0 && c->sample_count == w->count && same_ids(c->stacks, w->stacks, true, w->count) &&
        same_ids(c->attribute_sets, w->attribute_sets, w->any_attributes, w->count) &&
        same_ids(c->links, w->links, w->any_links, w->count)) {
        sample_writer_fini(w);
        sample_writer_init(w, d->builder);
        return columns_ref(d->previous_columns);
    }
    columns_unref(&d->previous_columns);
    struct columns *taken = sample_writer_take(w);
    if (taken != NULL)
        d->previous_columns = columns_ref(taken);
    return taken;
}

static void add_profile(struct otlp_reader *d, struct profile *p)
{
    // The specification wants both or neither; half of it is of no use.
    if (p->original_payload.len == 0 || p->original_payload_format.len == 0)
        p->original_payload = p->original_payload_format = (struct bytes){NULL, 0};
    p->original_payload_format = otlp_text(d, &d->value_arena, p->original_payload_format);
    p->columns = take_columns(d);
    p->observations = observation_writer_take(&d->observations);
    builder_profile(d->builder, p);
}

static void swap_ids(struct otlp_reader *d)
{
    struct otlp_ids ids = d->ids;
    d->ids = d->profile_ids;
    d->profile_ids = ids;
}

// They may come in pieces between the samples, which need d->ids for themselves.
static void read_attribute_indices(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f)
{
    swap_ids(d);
    otlp_indices(d, at, f, "attribute_indices", OTLP_ATTRIBUTES);
    swap_ids(d);
}

static void read_profile_fields(struct otlp_reader *d, const struct otlp_place *at, struct bytes data,
                                struct profile *p)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 2)
            read_next_sample(d, at, &f);
        else if (f.number == 11)
            read_attribute_indices(d, at, &f);
        else
            read_header_field(d, at, &f, p);
    }
    otlp_message_end(d, at, &r);
}

void otlp_read_profile(struct otlp_reader *d, const struct otlp_place *at, struct bytes data)
{
    struct profile p = {0};
    if (++d->profile_count > d->limits->max_profiles)
        otlp_fail(d, at, ERR_LIMIT, "more than %" PRIu32 " profiles, as many as max_profiles allows",
                  d->limits->max_profiles);
    d->profile_ids.count = 0;
    read_profile_fields(d, at, data, &p);
    swap_ids(d);
    p.attribute_set = otlp_attribute_set(d);
    if (d->code == ERR_OK)
        add_profile(d, &p);
}
