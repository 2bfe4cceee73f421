// SPDX-License-Identifier: Apache-2.0
// Profile and Sample.
#include "codec/otlp_reader.h"

#include <inttypes.h>

void otlp_read_value_type(struct otlp_reader *d, const struct otlp_place *parent, const struct wire_field *field,
                          const char *name, struct value_type *type)
{
    enum { CUMULATIVE = 2 };
    struct otlp_place at = {parent, name, OTLP_NO_INDEX};
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, otlp_bytes(d, parent, field, name));
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            type->type = otlp_index(d, &at, &f, "type_strindex", OTLP_STRINGS);
        else if (f.number == 2)
            type->unit = otlp_index(d, &at, &f, "unit_strindex", OTLP_STRINGS);
        else if (f.number == 3 && d->layout <= OTLP_LAYOUT_1_8)
            d->cumulative |= otlp_uint(d, &at, &f, "aggregation_temporality") == CUMULATIVE;
    }
    otlp_message_end(d, &at, &r);
}

void otlp_read_numbers(struct otlp_reader *d, const struct otlp_place *at, struct wire_reader *r,
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
        otlp_fail(d, at, ERR_INVALID, "neither a value nor a timestamp");
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
    const uint8_t *sample_numbers = d->numbers->sample;
    d->ids.count = d->values.count = d->timestamps.count = 0;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        const uint32_t number = otlp_today(sample_numbers, sizeof d->numbers->sample, f.number);
        if (number == 1)
            stack = otlp_index(d, at, &f, "stack_index", OTLP_STACKS);
        else if (number == 2)
            otlp_indices(d, at, &f, "attribute_indices", OTLP_ATTRIBUTES);
        else if (number == 3)
            link = otlp_index(d, at, &f, "link_index", OTLP_LINKS);
        else if (number == 4)
            otlp_read_numbers(d, at, &r, &f, "values", false, &d->values);
        else if (number == 5)
            otlp_read_numbers(d, at, &r, &f, "timestamps_unix_nano", true, &d->timestamps);
    }
    otlp_message_end(d, at, &r);
    check_shape(d, at);
    if (d->code != ERR_OK)
        return;
    sample_writer_add(&d->samples, stack, otlp_attribute_set(d), link);
    observation_writer_add(&d->observations, (const int64_t *)d->values.items, (uint32_t)d->values.count,
                           d->timestamps.items, (uint32_t)d->timestamps.count);
}

void otlp_next_sample(struct otlp_reader *d, const struct otlp_place *at)
{
    if (d->sample_count++ >= d->limits->max_samples)
        otlp_fail(d, at, ERR_LIMIT, "more than %" PRIu32 " samples, as many as max_samples allows",
                  d->limits->max_samples);
}

static void read_next_sample(struct otlp_reader *d, const struct otlp_place *profile, const struct wire_field *f)
{
    struct otlp_place at = {profile, "samples", d->samples.count};
    otlp_next_sample(d, &at);
    if (d->code == ERR_OK)
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

void otlp_read_header_field(struct otlp_reader *d, const struct otlp_place *at, uint32_t number,
                            const struct wire_field *f, struct profile *p)
{
    const bool cumulative = d->cumulative;
    switch (number) {
    case 3:
        p->time_nanos = otlp_fixed64(d, at, f, "time_unix_nano");
        break;
    case 4:
        p->duration_nanos = otlp_uint(d, at, f, "duration_nano");
        break;
    case 5:
        otlp_read_value_type(d, at, f, "period_type", &p->period_type);
        d->cumulative = cumulative; // a period has no temporality
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
    case OTLP_PROFILE_TIME_VARINT:
        p->time_nanos = otlp_uint(d, at, f, "time_nanos");
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

// The specification wants both or neither; half of it is of no use.
void otlp_clean_payload(struct otlp_reader *d, struct profile *p)
{
    if (p->original_payload.len == 0 || p->original_payload_format.len == 0)
        p->original_payload = p->original_payload_format = (struct bytes){NULL, 0};
    p->original_payload_format = otlp_text(d, &d->value_arena, p->original_payload_format);
}

static void add_profile(struct otlp_reader *d, struct profile *p)
{
    otlp_clean_payload(d, p);
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
void otlp_read_profile_attributes(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f)
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
        const uint32_t number = otlp_today(d->numbers->profile, sizeof d->numbers->profile, f.number);
        if (number == 1)
            otlp_read_value_type(d, at, &f, "sample_type", &p->sample_type);
        else if (number == 2)
            read_next_sample(d, at, &f);
        else if (number == OTLP_PROFILE_ATTRIBUTES)
            otlp_read_profile_attributes(d, at, &f);
        else if (number == OTLP_PROFILE_COMMENTS)
            otlp_read_numbers(d, at, &r, &f, "comment_strindices", false, &d->comments);
        else
            otlp_read_header_field(d, at, number, &f, p);
    }
    otlp_message_end(d, at, &r);
}

void otlp_add_profile_attribute(struct otlp_reader *d, const struct otlp_place *at, uint32_t key, uint32_t unit,
                                const struct value *value)
{
    uint32_t id = builder_attribute(d->builder, key, unit, value);
    swap_ids(d);
    otlp_add_id(d, at, "attributes", id, OTLP_ATTRIBUTES);
    swap_ids(d);
}

static void add_named_attribute(struct otlp_reader *d, const struct otlp_place *at, const char *key,
                                const struct value *value)
{
    otlp_add_profile_attribute(d, at, builder_string_text(d->builder, key), 0, value);
}

// Many comments may name one long string.
static void add_comments(struct otlp_reader *d, const struct otlp_place *at)
{
    size_t count = d->comments.count;
    struct value *texts = arena_try_alloc(&d->value_arena, count * sizeof *texts);
    if (texts == NULL) {
        otlp_fail_memory(d);
        return;
    }
    for (size_t i = 0; i < count && d->code == ERR_OK; i++)
        texts[i] = value_string(otlp_referenced_string(d, at, d->comments.items[i], "comment_strindices"));
    if (d->code == ERR_OK)
        add_named_attribute(d, at, "pprof.profile.comment",
                            &(struct value){.kind = VALUE_ARRAY, .count = (uint32_t)count, .items = texts});
}

void otlp_end_profile_attributes(struct otlp_reader *d, const struct otlp_place *at, struct profile *p)
{
    const struct value cumulative = value_string(BYTES_LITERAL("cumulative"));
    if (d->comments.count > 0)
        add_comments(d, at);
    if (d->cumulative)
        add_named_attribute(d, at, "profile.aggregation_temporality", &cumulative);
    swap_ids(d);
    p->attribute_set = otlp_attribute_set(d);
    swap_ids(d);
}

void otlp_drop_samples(struct otlp_reader *d)
{
    sample_writer_fini(&d->samples);
    sample_writer_init(&d->samples, d->builder);
    observation_writer_fini(&d->observations);
    observation_writer_init(&d->observations, d->builder);
}

void otlp_read_profile(struct otlp_reader *d, const struct otlp_place *at, struct bytes data)
{
    struct profile p = {0};
    if (++d->profile_count > d->limits->max_profiles)
        otlp_fail(d, at, ERR_LIMIT, "more than %" PRIu32 " profiles, as many as max_profiles allows",
                  d->limits->max_profiles);
    d->profile_ids.count = d->comments.count = 0;
    d->cumulative = false;
    if (d->old != NULL) {
        otlp_read_old_profile(d, at, data);
        return;
    }
    read_profile_fields(d, at, data, &p);
    otlp_end_profile_attributes(d, at, &p);
    if (d->code == ERR_OK)
        add_profile(d, &p);
}
