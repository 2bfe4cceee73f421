// SPDX-License-Identifier: Apache-2.0
// A Profile of layouts up to 1.7. Its samples name ranges of a list that may stand behind them: it is gone through twice.
#include "codec/otlp_read_old.h"

#include "base/mem.h"

#include <inttypes.h>

static void forget_observations(struct otlp_old *old)
{
    for (size_t i = 0; i < old->observation_count; i++)
        observation_writer_fini(&old->observations[i]);
    free(old->observations);
    old->observations = NULL;
    old->observation_count = 0;
}

void otlp_old_fini(struct otlp_old *old)
{
    forget_observations(old);
    free(old->units);
    free(old->locations.items);
    free(old->types);
    free(old->spread);
}

// --- what is not samples ---

static void read_type(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f)
{
    struct otlp_old *old = d->old;
    if (old->type_count >= d->limits->max_profiles) {
        otlp_fail(d, at, ERR_LIMIT, "more than %" PRIu32 " sample types, as many as max_profiles allows",
                  d->limits->max_profiles);
        return;
    }
    void *types = old->types;
    bool ok = mem_try_grow(&types, &old->type_capacity, old->type_count + 1, sizeof *old->types, UINT32_MAX);
    old->types = types;
    if (!ok) {
        otlp_fail_memory(d);
        return;
    }
    old->types[old->type_count] = (struct value_type){0};
    otlp_read_value_type(d, at, f, "sample_type", &old->types[old->type_count++]);
}

// The list of all samples' stacks may be longer than a stack.
static void read_locations(struct otlp_reader *d, const struct otlp_place *at, struct wire_reader *r,
                           const struct wire_field *f)
{
    struct otlp_ids *to = &d->old->locations;
    const struct otlp_id_map *map = &d->tables[OTLP_LOCATIONS];
    d->values.count = 0;
    otlp_read_numbers(d, at, r, f, "location_indices", false, &d->values);
    void *items = to->items;
    bool ok = mem_try_grow(&items, &to->capacity, to->count + d->values.count + 1, sizeof *to->items, UINT32_MAX);
    to->items = items;
    if (!ok)
        otlp_fail_memory(d);
    for (size_t i = 0; i < d->values.count && d->code == ERR_OK; i++) {
        uint64_t index = d->values.items[i];
        if (index >= map->length)
            otlp_bad_index(d, at, "location_indices", index, OTLP_LOCATIONS);
        else
            to->items[to->count++] = map->ids[index];
    }
}

// 1.4: attributes of the profile itself.
static void read_own_attribute(struct otlp_reader *d, const struct otlp_place *parent, const struct wire_field *f)
{
    struct otlp_place at = {parent, "attributes", d->profile_ids.count};
    d->entry_count = 0;
    otlp_read_entry(d, &at, otlp_bytes(d, parent, f, "attributes"), 0);
    if (d->code != ERR_OK)
        return;
    uint32_t key = builder_string(d->builder, d->entries[0].key);
    otlp_add_profile_attribute(d, &at, key, otlp_old_unit(d, key), &d->entries[0].value);
    d->entry_count = 0;
}

static void read_default_type(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f)
{
    d->old->default_type = d->layout == OTLP_LAYOUT_1_5
                               ? otlp_raw_index(d, at, f, "default_sample_type_strindex", OTLP_STRINGS)
                               : otlp_uint(d, at, f, "default_sample_type_index");
}

static void read_field(struct otlp_reader *d, const struct otlp_place *at, struct wire_reader *r,
                       const struct wire_field *f, struct profile *p)
{
    const uint32_t number = otlp_today(d->numbers->profile, sizeof d->numbers->profile, f->number);
    switch (number) {
    case 1:
        read_type(d, at, f);
        break;
    case OTLP_PROFILE_LOCATIONS:
        read_locations(d, at, r, f);
        break;
    case OTLP_PROFILE_ATTRIBUTES:
        otlp_read_profile_attributes(d, at, f);
        break;
    case OTLP_PROFILE_COMMENTS:
        otlp_read_numbers(d, at, r, f, "comment_strindices", false, &d->comments);
        break;
    case OTLP_PROFILE_DEFAULT_TYPE:
        read_default_type(d, at, f);
        break;
    case OTLP_PROFILE_KEY_VALUES:
        read_own_attribute(d, at, f);
        break;
    default:
        otlp_read_header_field(d, at, number, f, p);
    }
}

static void read_fields(struct otlp_reader *d, const struct otlp_place *at, struct profile *p)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, d->old->profile);
    while (otlp_next(d, &r, &f))
        read_field(d, at, &r, &f, p);
    otlp_message_end(d, at, &r);
}

// --- samples ---

enum { MOST_ENTRIES_PER_BYTE = 256 }; // of stacks, for a request's bytes: deep recursion has some dozens

// The range [start, start + count) of the list.
static uint32_t range_stack(struct otlp_reader *d, const struct otlp_place *at, uint64_t start, uint64_t count)
{
    const struct otlp_ids *list = &d->old->locations;
    size_t max = d->limits->max_batch_bytes;
    if (start > list->count || count > list->count - start) {
        otlp_fail(d, at, ERR_INVALID,
                  "locations_start_index %" PRId64 " and locations_length %" PRId64 " go past the end of %zu "
                  "location_indices",
                  (int64_t)start, (int64_t)count, list->count);
        return 0;
    }
    if (count > d->limits->max_stack_depth) {
        otlp_fail(d, at, ERR_LIMIT, "locations_length is %" PRIu64 ", max_stack_depth allows %" PRIu32, count,
                  d->limits->max_stack_depth);
        return 0;
    }
    d->old->stack_entries += count; // ranges may overlap: a small request could have very many
    if (d->old->stack_entries > (uint64_t)d->data.len * MOST_ENTRIES_PER_BYTE) {
        otlp_fail(d, at, ERR_INVALID,
                  "the stacks of its samples have %" PRIu64
                  " entries so far, a request of %zu bytes may have %d for each "
                  "byte",
                  d->old->stack_entries, d->data.len, MOST_ENTRIES_PER_BYTE);
        return 0;
    }
    if (max != 0 && d->old->stack_entries > max) {
        otlp_fail(d, at, ERR_LIMIT, "the stacks of its samples have %" PRIu64 " entries, max_batch_bytes allows %zu",
                  d->old->stack_entries, max);
        return 0;
    }
    return count == 0 ? 0 : builder_stack(d->builder, list->items + start, (uint32_t)count);
}

// A value that counts for several timestamps, spread over them; the sum stays.
static const int64_t *spread(struct otlp_reader *d, int64_t value, size_t count)
{
    struct otlp_old *old = d->old;
    void *items = old->spread;
    bool ok = mem_try_grow(&items, &old->spread_capacity, count, sizeof *old->spread, UINT32_MAX);
    old->spread = items;
    if (!ok) {
        otlp_fail_memory(d);
        return NULL;
    }
    int64_t each = value / (int64_t)count, rest = value % (int64_t)count, step = rest < 0 ? -1 : 1;
    for (size_t i = 0; i < count; i++) {
        old->spread[i] = each + (rest != 0 ? step : 0);
        rest -= rest != 0 ? step : 0;
    }
    return old->spread;
}

static void add_observation(struct otlp_reader *d, size_t type)
{
    struct observation_writer *w = &d->old->observations[type];
    const int64_t *value = (const int64_t *)d->values.items + type;
    size_t times = d->timestamps.count;
    if (times > 1)
        value = spread(d, *value, times);
    if (value != NULL)
        observation_writer_add(w, value, times > 1 ? (uint32_t)times : 1, d->timestamps.items, (uint32_t)times);
}

// Few bytes may say many types and many timestamps.
static bool may_spread(struct otlp_reader *d, const struct otlp_place *at)
{
    enum { MOST_PER_BYTE = 16 }; // a type and a timestamp have one at least
    struct otlp_old *old = d->old;
    old->spread_values += (uint64_t)old->type_count * d->timestamps.count;
    if (old->spread_values <= (uint64_t)d->data.len * MOST_PER_BYTE)
        return true;
    otlp_fail(d, at, ERR_INVALID,
              "%zu sample types with %zu timestamps each are more than a request of %zu bytes is translated to",
              old->type_count, d->timestamps.count, d->data.len);
    return false;
}

// A value for each sample type; for a single one as many as timestamps, or none, will do as today.
static void add_observations(struct otlp_reader *d, const struct otlp_place *at)
{
    struct otlp_old *old = d->old;
    size_t values = d->values.count, times = d->timestamps.count;
    if (values == old->type_count && values > 1 && times > 1 && !may_spread(d, at))
        return;
    if (values == old->type_count) {
        for (size_t i = 0; i < old->type_count && !builder_failed(d->builder); i++)
            add_observation(d, i);
    } else if (old->type_count == 1 && times > 0 && (values == 0 || values == times)) {
        observation_writer_add(&old->observations[0], (const int64_t *)d->values.items, (uint32_t)values,
                               d->timestamps.items, (uint32_t)times);
    } else {
        otlp_fail(d, at, ERR_INVALID, "%zu values with %zu timestamps for %zu sample types", values, times,
                  old->type_count);
    }
}

static void read_sample(struct otlp_reader *d, const struct otlp_place *at, struct bytes data)
{
    struct wire_reader r;
    struct wire_field f;
    uint64_t start = 0, count = 0;
    uint32_t link = 0;
    d->ids.count = d->values.count = d->timestamps.count = 0;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            start = otlp_uint(d, at, &f, "locations_start_index");
        else if (f.number == 2)
            count = otlp_uint(d, at, &f, "locations_length");
        else if (f.number == 3)
            otlp_read_numbers(d, at, &r, &f, "value", false, &d->values);
        else if (f.number == 4)
            otlp_indices(d, at, &f, "attribute_indices", OTLP_ATTRIBUTES);
        else if (f.number == 5)
            link = otlp_index(d, at, &f, "link_index", OTLP_LINKS);
        else if (f.number == 6)
            otlp_read_numbers(d, at, &r, &f, "timestamps_unix_nano", false, &d->timestamps);
    }
    otlp_message_end(d, at, &r);
    uint32_t stack = d->code == ERR_OK ? range_stack(d, at, start, count) : 0;
    if (d->code == ERR_OK)
        add_observations(d, at);
    if (d->code == ERR_OK)
        sample_writer_add(&d->samples, stack, otlp_attribute_set(d), link);
}

static void read_samples(struct otlp_reader *d, const struct otlp_place *profile)
{
    struct otlp_place at = {profile, "sample", 0};
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, d->old->profile);
    while (otlp_next(d, &r, &f) && !builder_failed(d->builder)) {
        if (f.number != 2)
            continue;
        at.index = d->samples.count;
        otlp_next_sample(d, &at);
        if (d->code == ERR_OK)
            read_sample(d, &at, otlp_bytes(d, profile, &f, "sample"));
    }
}

// --- the profiles it becomes ---

static size_t default_type(struct otlp_reader *d, const struct otlp_place *at)
{
    const struct otlp_old *old = d->old;
    if (d->layout == OTLP_LAYOUT_1_5) {
        uint32_t name = d->tables[OTLP_STRINGS].ids[old->default_type];
        for (size_t i = 0; i < old->type_count && name != 0; i++)
            if (old->types[i].type == name)
                return i;
        return 0;
    }
    if (old->default_type >= old->type_count) {
        otlp_fail(d, at, ERR_INVALID, "default_sample_type_index %" PRId64 " is not below %zu",
                  (int64_t)old->default_type, old->type_count);
        return 0;
    }
    return (size_t)old->default_type;
}

static void add_profile(struct otlp_reader *d, const struct profile *common, size_t type, struct columns *columns)
{
    struct profile p = *common;
    p.sample_type = d->old->types[type];
    p.observations = observation_writer_take(&d->old->observations[type]);
    p.columns = columns_ref(columns);
    if (p.observations == NULL) // the builder has failed
        columns_unref(&p.columns);
    else
        builder_profile(d->builder, &p);
}

// Viewers show the first, so it is the default one. An id and a payload are of one profile only.
static void add_profiles(struct otlp_reader *d, struct profile *p, size_t first)
{
    struct columns *columns = sample_writer_take(&d->samples);
    otlp_clean_payload(d, p);
    if (columns != NULL)
        add_profile(d, p, first, columns);
    p->original_payload = p->original_payload_format = (struct bytes){NULL, 0};
    p->has_profile_id = false;
    for (size_t i = 0; i < d->old->type_count && columns != NULL && !builder_failed(d->builder); i++)
        if (i != first)
            add_profile(d, p, i, columns);
    columns_unref(&columns);
}

static void begin_observations(struct otlp_reader *d, const struct otlp_place *at)
{
    struct otlp_old *old = d->old;
    static const struct wire_field no_field = {.type = WIRE_LEN};
    if (old->type_count == 0 && d->code == ERR_OK)
        read_type(d, at, &no_field); // one without a name
    if (d->code != ERR_OK)
        return;
    d->profile_count += old->type_count - 1;
    if (d->profile_count > d->limits->max_profiles) {
        otlp_fail(d, at, ERR_LIMIT, "more than %" PRIu32 " profiles, as many as max_profiles allows",
                  d->limits->max_profiles);
        return;
    }
    old->observations = mem_try_array(old->type_count, sizeof *old->observations);
    if (old->observations == NULL) {
        otlp_fail_memory(d);
        return;
    }
    for (; old->observation_count < old->type_count; old->observation_count++)
        observation_writer_init(&old->observations[old->observation_count], d->builder);
}

void otlp_read_old_profile(struct otlp_reader *d, const struct otlp_place *at, struct bytes data)
{
    struct otlp_old *old = d->old;
    struct profile p = {0};
    forget_observations(old);
    old->profile = data;
    old->place = at;
    old->locations.count = old->type_count = 0;
    old->default_type = 0;
    if (d->layout == OTLP_LAYOUT_1_5)
        otlp_read_old_tables(d);
    read_fields(d, at, &p);
    begin_observations(d, at);
    size_t first = d->code == ERR_OK ? default_type(d, at) : 0;
    read_samples(d, at);
    otlp_end_profile_attributes(d, at, &p);
    if (d->code == ERR_OK && !builder_failed(d->builder))
        add_profiles(d, &p, first);
}
