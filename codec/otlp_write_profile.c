// SPDX-License-Identifier: Apache-2.0
// Profile and its samples: where most of a request's bytes come from.
#include "codec/otlp_writer.h"

enum { HEADER_ROOM = 16 * (1 + OTLP_MAX_VARINT) };

static uint8_t *put_value_type(const struct otlp_writer *w, uint8_t *to, unsigned number, struct value_type type)
{
    uint8_t *body = otlp_small_begin(to, number);
    to = otlp_put_uint(body, 1, prune_id(&w->prune.strings, type.type));
    to = otlp_put_uint(to, 2, prune_id(&w->prune.strings, type.unit));
    return otlp_small_end(body, to);
}

// What of a sample does not depend on its values.
struct row {
    uint32_t stack, link; // as written
    struct bytes attributes;
    size_t size;
};

static size_t uint_size(uint64_t v)
{
    return v == 0 ? 0 : 1 + otlp_varint_size(v);
}

static struct row row_at(struct otlp_writer *w, const struct columns *c, uint32_t i)
{
    struct row row = {.stack = prune_id(&w->prune.stacks, c->stacks[i])};
    row.size = uint_size(row.stack);
    if (c->links != NULL) {
        row.link = prune_id(&w->prune.links, c->links[i]);
        row.size += uint_size(row.link);
    }
    if (c->attribute_sets != NULL && c->attribute_sets[i] != 0) {
        row.attributes = otlp_attribute_list(w, c->attribute_sets[i]);
        row.size += 1 + row.attributes.len;
    }
    return row;
}

static inline uint8_t *put_row(uint8_t *to, const struct row *row, unsigned attributes, unsigned link)
{
    to = otlp_put_uint(to, 1, row->stack);
    if (row->attributes.len != 0)
        to = otlp_put_list(otlp_put_tag(to, attributes, WIRE_LEN), row->attributes);
    return otlp_put_uint(to, link, row->link);
}

// The usual sample: a stack and a value.
static void write_plain_samples(struct otlp_writer *w, const struct profile *p)
{
    const struct columns *c = p->columns;
    const int64_t *values = p->observations->values;
    const unsigned values_number = w->sample[4]; // here: what is put may be `w` to a compiler
    for (uint32_t i = 0; i < c->sample_count && otlp_room(w, 5 * (1 + OTLP_MAX_VARINT)); i++) {
        uint32_t stack = prune_id(&w->prune.stacks, c->stacks[i]);
        size_t value_size = otlp_varint_size((uint64_t)values[i]);
        uint8_t *to = otlp_put_tag(w->at, 2, WIRE_LEN);
        *to++ = (uint8_t)(uint_size(stack) + 2 + value_size);
        to = otlp_put_tag(otlp_put_uint(to, 1, stack), values_number, WIRE_LEN);
        *to++ = (uint8_t)value_size;
        w->at = otlp_put_varint(to, (uint64_t)values[i]);
    }
}

static void write_one_value_samples(struct otlp_writer *w, const struct profile *p)
{
    const struct columns *c = p->columns;
    const int64_t *values = p->observations->values;
    const unsigned attributes = w->sample[2], link = w->sample[3], value = w->sample[4]; // see above
    for (uint32_t i = 0; i < c->sample_count; i++) {
        struct row row = row_at(w, c, i);
        size_t value_size = otlp_varint_size((uint64_t)values[i]);
        size_t size = row.size + 2 + value_size;
        if (!otlp_room(w, 1 + OTLP_MAX_VARINT + size + OTLP_SET_SLACK))
            return;
        uint8_t *to = otlp_put_varint(otlp_put_tag(w->at, 2, WIRE_LEN), size);
        to = put_row(to, &row, attributes, link);
        to = otlp_put_tag(to, value, WIRE_LEN);
        *to++ = (uint8_t)value_size;
        w->at = otlp_put_varint(to, (uint64_t)values[i]);
    }
}

static size_t packed_size(size_t list)
{
    return list == 0 ? 0 : 1 + otlp_varint_size(list) + list;
}

static uint8_t *put_observations(const struct otlp_writer *w, uint8_t *to, const struct observations *o,
                                 struct batch_range values, size_t value_bytes, struct batch_range times)
{
    if (values.count != 0) {
        to = otlp_put_varint(otlp_put_tag(to, w->sample[4], WIRE_LEN), value_bytes);
        for (uint32_t k = 0; k < values.count; k++)
            to = otlp_put_varint(to, (uint64_t)o->values[values.start + k]);
    }
    if (times.count != 0) {
        to = otlp_put_varint(otlp_put_tag(to, 5, WIRE_LEN), (uint64_t)times.count * 8);
        for (uint32_t k = 0; k < times.count; k++)
            to = otlp_put_fixed64(to, o->timestamps[times.start + k]);
    }
    return to;
}

// Samples of attributes and timestamps alone read as those of 1.9, too (otlp_layout.h). An empty list of values in the
// first one says which they are; to all readers it is none.
static bool needs_sign(const struct otlp_writer *w, uint32_t i, uint32_t value_count)
{
    return i == 0 && value_count == 0 && w->how->layout == OTLP_LAYOUT_CURRENT;
}

static void write_sample(struct otlp_writer *w, const struct profile *p, uint32_t i)
{
    const struct observations *o = p->observations;
    struct row row = row_at(w, p->columns, i);
    struct batch_range values, times;
    observations_values(o, i, &values.start, &values.count);
    observations_timestamps(o, i, &times.start, &times.count);
    size_t value_bytes = 0;
    for (uint32_t k = 0; k < values.count; k++)
        value_bytes += otlp_varint_size((uint64_t)o->values[values.start + k]);
    const bool sign = needs_sign(w, i, values.count);
    size_t size = row.size + packed_size(value_bytes) + packed_size((size_t)times.count * 8) + (sign ? 2 : 0);
    if (!otlp_room(w, 1 + OTLP_MAX_VARINT + size + OTLP_SET_SLACK))
        return;
    uint8_t *to = otlp_put_varint(otlp_put_tag(w->at, 2, WIRE_LEN), size);
    to = put_row(to, &row, w->sample[2], w->sample[3]);
    if (sign)
        to = otlp_put_bytes(to, w->sample[4], (struct bytes){NULL, 0});
    w->at = put_observations(w, to, o, values, value_bytes, times);
}

static void write_samples(struct otlp_writer *w, const struct profile *p)
{
    const struct observations *o = p->observations;
    if (o->values != NULL && o->value_ends == NULL && o->timestamps == NULL) {
        bool plain = p->columns->attribute_sets == NULL && p->columns->links == NULL;
        (plain ? write_plain_samples : write_one_value_samples)(w, p);
        return;
    }
    for (uint32_t i = 0; i < p->columns->sample_count && !w->out->failed; i++)
        write_sample(w, p, i);
}

static uint8_t *put_time(const struct otlp_writer *w, uint8_t *to, uint64_t nanos)
{
    if (w->old != NULL)
        return otlp_put_uint(to, w->profile[OTLP_PROFILE_TIME_VARINT], nanos);
    return nanos == 0 ? to : otlp_put_fixed64(otlp_put_tag(to, w->profile[3], WIRE_FIXED64), nanos);
}

// Older layouts have an empty one, too, as Collectors write it: its number tells 1.8 from 1.9.
static uint8_t *put_profile_id(const struct otlp_writer *w, uint8_t *to, const struct profile *p)
{
    const struct bytes id = {p->profile_id, p->has_profile_id ? sizeof p->profile_id : 0};
    return id.len != 0 || w->how->layout != OTLP_LAYOUT_CURRENT ? otlp_put_bytes(to, w->profile[7], id) : to;
}

static void write_after_samples(struct otlp_writer *w, const struct profile *p)
{
    const uint8_t *number = w->profile;
    if (!otlp_room(w, HEADER_ROOM))
        return;
    uint8_t *to = put_time(w, w->at, p->time_nanos);
    to = otlp_put_uint(to, number[4], p->duration_nanos);
    to = put_value_type(w, to, number[5],
                        p->period_type); // even if empty, as the Collector does: Parca refuses its absence
    to = otlp_put_uint(to, number[6], (uint64_t)p->period);
    to = put_profile_id(w, to, p);
    w->at = otlp_put_uint(to, number[8], p->dropped_attributes_count);
}

void otlp_write_profile(struct otlp_writer *w, const struct profile *p)
{
    size_t samples = p->columns == NULL ? 0 : p->columns->sample_count;
    struct otlp_open profile = otlp_begin(w, 2, 64 + samples * OTLP_SAMPLE_BYTES);
    if (!otlp_room(w, HEADER_ROOM))
        return;
    w->at = put_value_type(w, w->at, 1, p->sample_type);
    if (samples != 0)
        (w->old != NULL ? otlp_write_old_samples : write_samples)(w, p);
    write_after_samples(w, p);
    otlp_text_field(w, w->profile[9], p->original_payload_format);
    otlp_text_field(w, w->profile[10], p->original_payload);
    if (p->attribute_set != 0) {
        struct bytes list = otlp_attribute_list(w, p->attribute_set);
        if (list.len != 0 && otlp_room(w, 1 + list.len + OTLP_SET_SLACK))
            w->at = otlp_put_list(otlp_put_tag(w->at, w->profile[11], WIRE_LEN), list);
    }
    otlp_end(w, profile);
}
