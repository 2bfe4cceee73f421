// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_read_old.h"

#include "base/mem.h"

// --- units: a table from keys of attributes to units ---

static int compare_units(const void *a, const void *b)
{
    const struct otlp_unit *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static void read_unit(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, struct otlp_unit *unit)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            unit->key = otlp_index(d, at, &f, "attribute_key_strindex", OTLP_STRINGS);
        else if (f.number == 2)
            unit->unit = otlp_index(d, at, &f, "unit_strindex", OTLP_STRINGS);
    }
    otlp_message_end(d, at, &r);
}

static void read_units(struct otlp_reader *d)
{
    const struct otlp_id_map *map = &d->tables[OTLP_STACKS];
    struct otlp_place at = {NULL, "attribute_units", 0};
    free(d->old->units);
    d->old->unit_count = 0;
    d->old->units = mem_try_array(map->length, sizeof *d->old->units);
    if (d->old->units == NULL) {
        otlp_fail_memory(d);
        return;
    }
    for (uint32_t i = 0; i < map->present && d->code == ERR_OK; i++) {
        at.index = i;
        d->old->units[i] = (struct otlp_unit){.order = i};
        read_unit(d, &at, (struct bytes){d->data.data + map->spans[i].start, map->spans[i].len}, &d->old->units[i]);
    }
    d->old->unit_count = map->present;
    if (d->code == ERR_OK)
        qsort(d->old->units, map->present, sizeof *d->old->units, compare_units);
}

uint32_t otlp_old_unit(const struct otlp_reader *d, uint32_t key)
{
    const struct otlp_unit *units = d->old->units;
    size_t low = 0, high = d->old->unit_count; // behind the last with this key lies high
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (units[middle].key <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && units[low - 1].key == key ? units[low - 1].unit : 0;
}

// --- elements that are other than today ---

static uint32_t read_attribute(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t index)
{
    uint32_t id = 0;
    (void)index;
    d->entry_count = 0;
    otlp_read_entry(d, at, data, 0);
    if (d->code == ERR_OK) {
        const struct key_value *kv = &d->entries[0];
        uint32_t key = builder_string(d->builder, kv->key);
        id = builder_attribute(d->builder, key, otlp_old_unit(d, key), &kv->value);
    }
    d->entry_count = 0;
    arena_fini(&d->value_arena);
    return id;
}

static void add_flag(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f, const char *key)
{
    const struct value is = value_bool(true);
    if (otlp_uint(d, at, f, key) == 0 || d->code != ERR_OK)
        return;
    uint32_t id = builder_attribute(d->builder, builder_string_text(d->builder, key), 0, &is);
    otlp_add_id(d, at, key, id, OTLP_ATTRIBUTES);
}

static uint32_t read_mapping(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t index)
{
    static const char *const flags[] = {"pprof.mapping.has_functions", "pprof.mapping.has_filenames",
                                        "pprof.mapping.has_line_numbers", "pprof.mapping.has_inline_frames"};
    enum { FIRST_FLAG = 6 };
    struct wire_reader r;
    struct wire_field f;
    struct batch_mapping m = {0};
    (void)index;
    d->ids.count = 0;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        otlp_read_mapping_field(d, at, &f, &m);
        if (f.number >= FIRST_FLAG && f.number < FIRST_FLAG + COUNT_OF(flags))
            add_flag(d, at, &f, flags[f.number - FIRST_FLAG]);
    }
    otlp_message_end(d, at, &r);
    m.attribute_set = otlp_attribute_set(d);
    return d->code == ERR_OK ? builder_mapping(d->builder, &m) : 0;
}

static uint32_t read_location(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t index)
{
    struct wire_reader r;
    struct wire_field f;
    struct batch_location l = {0};
    (void)index;
    d->ids.count = 0;
    d->line_count = 0;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number < 4)
            otlp_read_location_field(d, at, &f, &l);
        else if (f.number == 4)
            add_flag(d, at, &f, "pprof.location.is_folded");
        else if (f.number == 5)
            otlp_indices(d, at, &f, "attribute_indices", OTLP_ATTRIBUTES);
    }
    otlp_message_end(d, at, &r);
    l.attribute_set = otlp_attribute_set(d);
    return d->code == ERR_OK ? builder_location(d->builder, &l, d->lines, (uint32_t)d->line_count) : 0;
}

// --- all ---

void otlp_read_old_tables(struct otlp_reader *d)
{
    otlp_forget_tables(d);
    otlp_note_tables(d);
    otlp_intern_table(d, OTLP_STRINGS, otlp_read_string);
    if (d->code == ERR_OK)
        read_units(d);
    otlp_intern_table(d, OTLP_ATTRIBUTES, read_attribute);
    otlp_intern_table(d, OTLP_MAPPINGS, read_mapping);
    otlp_intern_table(d, OTLP_FUNCTIONS, otlp_read_function);
    otlp_intern_table(d, OTLP_LOCATIONS, read_location);
    otlp_intern_table(d, OTLP_LINKS, otlp_read_link);
}
