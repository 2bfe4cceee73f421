// SPDX-License-Identifier: Apache-2.0
// What layout 1.7 says otherwise: stacks as ranges of a list in each profile, samples with one value for each sample type,
// units apart from attributes.
#include "codec/otlp_writer.h"

#include "base/clean_text.h"
#include "base/mem.h"
#include "profile/stack.h"

#include <stdio.h>

enum { SAMPLE_ROOM = 8 * (1 + OTLP_MAX_VARINT), MOST_NAME_BYTES = 60 };
#define DIFFERENT_UNITS UINT32_MAX

// Where a stack lies in the list of the profile that counts to `profile`.
struct old_range {
    uint32_t profile, start, count;
};

struct otlp_old_writer {
    struct old_range *ranges; // by stack
    uint32_t profile;         // being written, counted from 1
    uint32_t location_count;  // in its list
    struct buf locations;     // its list
    uint32_t *units;          // by key
};

bool otlp_old_writer_init(struct otlp_writer *w)
{
    const struct dictionary *d = w->batch->dictionary;
    struct otlp_old_writer *old = w->old = MEM_NEW(struct otlp_old_writer);
    buf_init(&old->locations, w->max_bytes);
    old->ranges = mem_try_array(d->stack_count, sizeof *old->ranges);
    old->units = mem_try_array(d->string_count, sizeof *old->units);
    if (old->ranges == NULL || old->units == NULL)
        return false;
    memset(old->ranges, 0, d->stack_count * sizeof *old->ranges);
    return true;
}

void otlp_old_writer_fini(struct otlp_writer *w)
{
    if (w->old == NULL)
        return;
    free(w->old->ranges);
    free(w->old->units);
    buf_fini(&w->old->locations);
    free(w->old);
    w->old = NULL;
}

// --- samples ---

static void put_locations(struct otlp_writer *w, uint32_t stack)
{
    const uint32_t *new_ids = w->prune.locations.new_ids;
    struct buf *list = &w->old->locations;
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, w->batch->dictionary, stack);
    if (!buf_reserve(list, (size_t)(r.end - r.at) + STACK_ID_BYTES))
        return;
    uint8_t *start = list->data + list->len, *to = start;
    if (new_ids == NULL)
        to = otlp_put_raw(to, r.at, (size_t)(r.end - r.at));
    while (new_ids != NULL && stack_next(&r, &location))
        to = stack_put(to, new_ids[location]); // never longer than the old ones
    list->len += (size_t)(to - start);
}

static struct old_range range_of(struct otlp_writer *w, uint32_t stack)
{
    struct otlp_old_writer *old = w->old;
    struct old_range *range = &old->ranges[stack];
    if (range->profile == old->profile)
        return *range;
    uint32_t depth = stack_depth(w->batch->dictionary, stack);
    *range = (struct old_range){old->profile, depth == 0 ? 0 : old->location_count, depth};
    if (depth > INT32_MAX - old->location_count)
        old->locations.failed = old->locations.too_large = true;
    else
        old->location_count += depth;
    put_locations(w, stack);
    if (old->locations.failed) {
        w->out->failed = true;
        w->out->too_large = old->locations.too_large;
    }
    return *range;
}

static void write_varints(struct otlp_writer *w, unsigned number, const uint64_t *list, uint32_t count)
{
    struct otlp_open field = otlp_begin(w, number, (size_t)count * OTLP_MAX_VARINT);
    for (uint32_t i = 0; i < count && otlp_room(w, OTLP_MAX_VARINT); i++)
        w->at = otlp_put_varint(w->at, list[i]);
    otlp_end(w, field);
}

static void write_sample(struct otlp_writer *w, const struct columns *c, uint32_t i, int64_t value,
                         const uint64_t *times, uint32_t time_count)
{
    struct old_range range = range_of(w, c->stacks[i]);
    struct otlp_open sample = otlp_begin(w, 2, 0);
    struct bytes list = {NULL, 0};
    if (c->attribute_sets != NULL && c->attribute_sets[i] != 0)
        list = otlp_attribute_list(w, c->attribute_sets[i]);
    if (!otlp_room(w, SAMPLE_ROOM + list.len))
        return;
    uint8_t *to = otlp_put_uint(w->at, 1, range.start);
    to = otlp_put_uint(to, 2, range.count);
    to = otlp_put_tag(to, 3, WIRE_LEN);
    to = otlp_put_varint(to, otlp_varint_size((uint64_t)value));
    to = otlp_put_varint(to, (uint64_t)value);
    if (list.len != 0)
        to = otlp_put_raw(otlp_put_tag(to, 4, WIRE_LEN), list.data, list.len);
    w->at = c->links == NULL ? to : otlp_put_uint(to, 5, prune_id(&w->prune.links, c->links[i]));
    if (time_count != 0)
        write_varints(w, 6, times, time_count);
    otlp_end(w, sample);
}

// One value for all its timestamps, or one sample for each value.
static void write_samples_of(struct otlp_writer *w, const struct profile *p, uint32_t i)
{
    const struct observations *o = p->observations;
    struct batch_range values, times;
    observations_values(o, i, &values.start, &values.count);
    observations_timestamps(o, i, &times.start, &times.count);
    if (values.count == 0)
        write_sample(w, p->columns, i, times.count, o->timestamps + times.start, times.count);
    else if (times.count == 0)
        write_sample(w, p->columns, i, o->values[values.start], NULL, 0);
    for (uint32_t k = 0; values.count != 0 && k < times.count && !w->out->failed; k++)
        write_sample(w, p->columns, i, o->values[values.start + k], o->timestamps + times.start + k, 1);
}

void otlp_write_old_samples(struct otlp_writer *w, const struct profile *p)
{
    struct otlp_old_writer *old = w->old;
    old->profile++;
    old->location_count = 0;
    old->locations.len = 0;
    for (uint32_t i = 0; i < p->columns->sample_count && !w->out->failed; i++)
        write_samples_of(w, p, i);
    otlp_text_field(w, w->profile[OTLP_PROFILE_LOCATIONS], buf_bytes(&old->locations));
}

// --- attributes ---

static void count_lost(struct otlp_writer *w, const struct batch_attribute *a)
{
    const struct dictionary *d = w->batch->dictionary;
    struct otlp_emission_report *report = w->report;
    struct bytes key = d->strings[a->key], unit = d->strings[a->unit];
    struct buf text;
    if (report->lost++ != 0)
        return;
    key.len = key.len < MOST_NAME_BYTES ? key.len : MOST_NAME_BYTES;
    unit.len = unit.len < MOST_NAME_BYTES ? unit.len : MOST_NAME_BYTES;
    buf_init(&text, 16 * MOST_NAME_BYTES);
    buf_add_text(&text, "the unit ");
    clean_text_add(&text, unit);
    buf_add_text(&text, " of an attribute ");
    clean_text_add(&text, key);
    buf_add_text(&text, ": others of this key have another, or none, and there is one for all");
    snprintf(report->first, sizeof report->first, "%.*s", (int)text.len, text.data == NULL ? "" : (char *)text.data);
    buf_fini(&text);
}

// What all attributes of a key have. A unit that only some have would be read as that of the others.
static void find_units(struct otlp_writer *w)
{
    const struct dictionary *d = w->batch->dictionary;
    uint32_t *units = w->old->units;
    for (uint32_t i = 0; i < d->attribute_count; i++)
        if (prune_keeps(&w->prune.attributes, i))
            units[d->attributes[i].key] = d->attributes[i].unit;
    for (uint32_t i = 0; i < d->attribute_count; i++)
        if (prune_keeps(&w->prune.attributes, i) && units[d->attributes[i].key] != d->attributes[i].unit)
            units[d->attributes[i].key] = DIFFERENT_UNITS;
}

static void write_attribute(struct otlp_writer *w, const struct batch_attribute *a)
{
    struct bytes key = w->batch->dictionary->strings[a->key];
    struct otlp_open item = otlp_begin(w, 6, key.len);
    otlp_text_field(w, 1, key);
    if (a->value.kind != VALUE_EMPTY)
        otlp_write_value(w, 2, &a->value);
    otlp_end(w, item);
}

// Once for each key: it has none afterwards.
static void write_unit(struct otlp_writer *w, const struct batch_attribute *a)
{
    uint32_t *unit = &w->old->units[a->key];
    if (*unit == DIFFERENT_UNITS && a->unit != 0)
        count_lost(w, a);
    if (*unit == DIFFERENT_UNITS || *unit == 0 || !otlp_room(w, SAMPLE_ROOM))
        return;
    uint8_t *body = otlp_small_begin(w->at, 7), *to = body;
    to = otlp_put_uint(to, 1, prune_id(&w->prune.strings, a->key));
    w->at = otlp_small_end(body, otlp_put_uint(to, 2, prune_id(&w->prune.strings, *unit)));
    *unit = 0;
}

void otlp_write_old_attributes(struct otlp_writer *w)
{
    const struct dictionary *d = w->batch->dictionary;
    for (uint32_t i = 0; i < d->attribute_count && !w->out->failed; i++)
        if (prune_keeps(&w->prune.attributes, i))
            write_attribute(w, &d->attributes[i]);
    find_units(w);
    for (uint32_t i = 0; i < d->attribute_count && !w->out->failed; i++)
        if (prune_keeps(&w->prune.attributes, i))
            write_unit(w, &d->attributes[i]);
}
