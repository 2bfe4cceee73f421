// SPDX-License-Identifier: Apache-2.0
// ProfilesDictionary: it may stand anywhere in the request and come in pieces, and its tables refer to each
// other. So first the places of all elements are noted, then tables are interned in the order of their need.
#include "codec/otlp_read_old.h"

#include "base/mem.h"

#include <inttypes.h>

static const char *const table_names[OTLP_TABLE_COUNT] = {
    [OTLP_MAPPINGS] = "mapping_table", [OTLP_LOCATIONS] = "location_table", [OTLP_FUNCTIONS] = "function_table",
    [OTLP_LINKS] = "link_table",       [OTLP_STRINGS] = "string_table",     [OTLP_ATTRIBUTES] = "attribute_table",
    [OTLP_STACKS] = "stack_table",
};

static const struct otlp_place dictionary_place = {.name = "dictionary", .index = OTLP_NO_INDEX};

static const struct otlp_place *tables_place(const struct otlp_reader *d)
{
    return d->layout == OTLP_LAYOUT_1_5 ? d->old->place : &dictionary_place;
}

uint32_t otlp_read_string(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t index)
{
    (void)at;
    uint64_t repaired = builder_repaired_strings(d->builder);
    uint32_t id = builder_string(d->builder, data);
    bool broken = builder_repaired_strings(d->builder) != repaired;
    d->strings[index] = broken ? otlp_text(d, &d->string_arena, data) : data;
    return id;
}

static uint32_t read_attribute(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t index)
{
    (void)index;
    struct wire_reader r;
    struct wire_field f;
    uint32_t key = 0, unit = 0;
    struct otlp_draft draft = {.value.kind = VALUE_EMPTY};
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            key = otlp_index(d, at, &f, "key_strindex", OTLP_STRINGS);
        else if (f.number == 2)
            otlp_read_value(d, at, otlp_bytes(d, at, &f, "value"), 0, &draft);
        else if (f.number == 3)
            unit = otlp_index(d, at, &f, "unit_strindex", OTLP_STRINGS);
    }
    otlp_message_end(d, at, &r);
    struct value value = otlp_draft_finish(d, &draft);
    uint32_t id = d->code == ERR_OK ? builder_attribute(d->builder, key, unit, &value) : 0;
    arena_fini(&d->value_arena);
    return id;
}

void otlp_read_mapping_field(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                             struct batch_mapping *m)
{
    if (f->number == 1)
        m->memory_start = otlp_uint(d, at, f, "memory_start");
    else if (f->number == 2)
        m->memory_limit = otlp_uint(d, at, f, "memory_limit");
    else if (f->number == 3)
        m->file_offset = otlp_uint(d, at, f, "file_offset");
    else if (f->number == 4)
        m->filename = otlp_index(d, at, f, "filename_strindex", OTLP_STRINGS);
    else if (f->number == 5)
        otlp_indices(d, at, f, "attribute_indices", OTLP_ATTRIBUTES);
}

static uint32_t read_mapping(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t index)
{
    (void)index;
    struct wire_reader r;
    struct wire_field f;
    struct batch_mapping m = {0};
    d->ids.count = 0;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f))
        otlp_read_mapping_field(d, at, &f, &m);
    otlp_message_end(d, at, &r);
    m.attribute_set = otlp_attribute_set(d);
    return d->code == ERR_OK ? builder_mapping(d->builder, &m) : 0;
}

uint32_t otlp_read_function(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t index)
{
    (void)index;
    struct wire_reader r;
    struct wire_field f;
    struct batch_function fn = {0};
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            fn.name = otlp_index(d, at, &f, "name_strindex", OTLP_STRINGS);
        else if (f.number == 2)
            fn.system_name = otlp_index(d, at, &f, "system_name_strindex", OTLP_STRINGS);
        else if (f.number == 3)
            fn.filename = otlp_index(d, at, &f, "filename_strindex", OTLP_STRINGS);
        else if (f.number == 4)
            fn.start_line = otlp_int(d, at, &f, "start_line");
    }
    otlp_message_end(d, at, &r);
    return d->code == ERR_OK ? builder_function(d->builder, &fn) : 0;
}

static struct batch_line *push_line(struct otlp_reader *d, const struct otlp_place *at)
{
    if (d->line_count >= d->limits->max_stack_depth) {
        otlp_fail(d, at, ERR_LIMIT, "more than %" PRIu32 " lines, as many as max_stack_depth allows",
                  d->limits->max_stack_depth);
        return NULL;
    }
    void *lines = d->lines;
    bool ok = mem_try_grow(&lines, &d->line_capacity, d->line_count + 1, sizeof(struct batch_line), UINT32_MAX);
    d->lines = lines;
    if (!ok) {
        otlp_fail_memory(d);
        return NULL;
    }
    return &d->lines[d->line_count++];
}

static void read_line(struct otlp_reader *d, const struct otlp_place *location, struct bytes data)
{
    struct otlp_place at = {location, "lines", d->line_count};
    struct batch_line *line = push_line(d, &at);
    if (line == NULL)
        return;
    *line = (struct batch_line){.function = d->tables[OTLP_FUNCTIONS].ids[0]}; // up to 1.7 it may be a real one
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            line->function = otlp_index(d, &at, &f, "function_index", OTLP_FUNCTIONS);
        else if (f.number == 2)
            line->line = otlp_int(d, &at, &f, "line");
        else if (f.number == 3)
            line->column = otlp_int(d, &at, &f, "column");
    }
    otlp_message_end(d, &at, &r);
}

void otlp_read_location_field(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                              struct batch_location *l)
{
    if (f->number == 1)
        l->mapping = otlp_index(d, at, f, "mapping_index", OTLP_MAPPINGS);
    else if (f->number == 2)
        l->address = otlp_uint(d, at, f, "address");
    else if (f->number == 3)
        read_line(d, at, otlp_bytes(d, at, f, "lines"));
}

static uint32_t read_location(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t index)
{
    (void)index;
    struct wire_reader r;
    struct wire_field f;
    struct batch_location l = {0};
    d->ids.count = 0;
    d->line_count = 0;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        otlp_read_location_field(d, at, &f, &l);
        if (f.number == 4)
            otlp_indices(d, at, &f, "attribute_indices", OTLP_ATTRIBUTES);
    }
    otlp_message_end(d, at, &r);
    l.attribute_set = otlp_attribute_set(d);
    return d->code == ERR_OK ? builder_location(d->builder, &l, d->lines, (uint32_t)d->line_count) : 0;
}

static uint32_t read_stack(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t index)
{
    (void)index;
    struct wire_reader r;
    struct wire_field f;
    d->ids.count = 0;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f))
        if (f.number == 1)
            otlp_indices(d, at, &f, "location_indices", OTLP_LOCATIONS);
    otlp_message_end(d, at, &r);
    return d->code == ERR_OK ? builder_stack(d->builder, d->ids.items, (uint32_t)d->ids.count) : 0;
}

// Ids are there in full or not at all.
static void read_id(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f, const char *name,
                    uint8_t *id, size_t size)
{
    struct bytes b = otlp_bytes(d, at, f, name);
    if (b.len == size)
        memcpy(id, b.data, size);
    else if (b.len == 0)
        memset(id, 0, size);
    else
        otlp_fail(d, at, ERR_INVALID, "%s has %zu bytes instead of %zu or none", name, b.len, size);
}

uint32_t otlp_read_link(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t index)
{
    (void)index;
    struct wire_reader r;
    struct wire_field f;
    struct batch_link l = {0};
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            read_id(d, at, &f, "trace_id", l.trace_id, sizeof l.trace_id);
        else if (f.number == 2)
            read_id(d, at, &f, "span_id", l.span_id, sizeof l.span_id);
    }
    otlp_message_end(d, at, &r);
    return d->code == ERR_OK ? builder_link(d->builder, &l) : 0;
}

void otlp_intern_table(struct otlp_reader *d, enum otlp_table table, otlp_read_element_fn *read)
{
    struct otlp_id_map *map = &d->tables[table];
    struct otlp_place at = {tables_place(d), table_names[table], 0};
    for (uint32_t i = 0; i < map->present && d->code == ERR_OK && !builder_failed(d->builder); i++) {
        at.index = i;
        struct bytes element = {d->data.data + map->spans[i].start, map->spans[i].len};
        map->ids[i] = read(d, &at, element, i);
        if (i == 0 && map->ids[0] != 0 && d->old == NULL)
            otlp_fail(d, &at, ERR_INVALID, "the first element of a table must be its zero value");
    }
}

static void count_elements(struct otlp_reader *d, struct bytes dictionary)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, dictionary);
    while (otlp_next(d, &r, &f)) {
        const uint32_t number = otlp_today(d->numbers->tables, sizeof d->numbers->tables, f.number);
        if (number == 0)
            continue;
        if (f.type != WIRE_LEN)
            otlp_wrong_type(d, tables_place(d), &f, table_names[number - 1]);
        d->tables[number - 1].present++;
    }
    otlp_message_end(d, tables_place(d), &r);
}

static void note_elements(struct otlp_reader *d, struct bytes dictionary)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, dictionary);
    while (otlp_next(d, &r, &f)) {
        const uint32_t number = otlp_today(d->numbers->tables, sizeof d->numbers->tables, f.number);
        if (number == 0)
            continue;
        struct otlp_id_map *map = &d->tables[number - 1];
        uint32_t start = (uint32_t)(f.bytes.data - d->data.data);
        map->spans[map->filled++] = (struct otlp_span){start, (uint32_t)f.bytes.len};
    }
}

// Every piece of the dictionary in the request.
static void each_dictionary(struct otlp_reader *d, void (*visit)(struct otlp_reader *, struct bytes))
{
    struct wire_reader r;
    struct wire_field f;
    if (d->layout == OTLP_LAYOUT_1_5) {
        visit(d, d->old->profile);
        return;
    }
    wire_reader_init(&r, d->data);
    while (otlp_next(d, &r, &f))
        if (f.number == 2)
            visit(d, otlp_bytes(d, NULL, &f, "dictionary"));
    otlp_message_end(d, NULL, &r);
}

static void allocate_maps(struct otlp_reader *d)
{
    size_t bytes = 0, max = d->limits->max_batch_bytes;
    for (int t = 0; t < OTLP_TABLE_COUNT; t++)
        bytes += d->tables[t].present * (sizeof(struct otlp_span) + sizeof(uint32_t));
    bytes += d->tables[OTLP_STRINGS].present * sizeof(struct bytes);
    if (max != 0 && bytes > max) {
        otlp_fail(d, tables_place(d), ERR_LIMIT, "its tables need %zu bytes to read, max_batch_bytes allows %zu", bytes,
                  max);
        return;
    }
    for (int t = 0; t < OTLP_TABLE_COUNT; t++) {
        struct otlp_id_map *map = &d->tables[t];
        map->length = map->present == 0 ? 1 : map->present;
        map->spans = mem_try_array(map->length, sizeof *map->spans);
        map->ids = mem_try_array(map->length, sizeof *map->ids);
        if (map->spans == NULL || map->ids == NULL) {
            otlp_fail_memory(d);
            return;
        }
        map->ids[0] = 0;
    }
    d->strings = mem_try_array(d->tables[OTLP_STRINGS].length, sizeof *d->strings);
    if (d->strings == NULL)
        otlp_fail_memory(d);
    else
        d->strings[0] = (struct bytes){NULL, 0};
}

void otlp_note_tables(struct otlp_reader *d)
{
    each_dictionary(d, count_elements);
    if (d->code == ERR_OK)
        allocate_maps(d);
    each_dictionary(d, note_elements);
}

void otlp_forget_tables(struct otlp_reader *d)
{
    for (int t = 0; t < OTLP_TABLE_COUNT; t++) {
        free(d->tables[t].spans);
        free(d->tables[t].ids);
        d->tables[t] = (struct otlp_id_map){0};
    }
    free(d->strings);
    d->strings = NULL;
}

void otlp_note_strings(struct otlp_reader *d)
{
    const struct otlp_id_map *map = &d->tables[OTLP_STRINGS];
    otlp_note_tables(d);
    for (uint32_t i = 0; i < map->present && d->code == ERR_OK; i++)
        d->strings[i] = (struct bytes){d->data.data + map->spans[i].start, map->spans[i].len};
}

void otlp_read_dictionary(struct otlp_reader *d)
{
    otlp_note_tables(d);
    otlp_intern_table(d, OTLP_STRINGS, otlp_read_string);
    otlp_intern_table(d, OTLP_ATTRIBUTES, read_attribute);
    otlp_intern_table(d, OTLP_MAPPINGS, read_mapping);
    otlp_intern_table(d, OTLP_FUNCTIONS, otlp_read_function);
    otlp_intern_table(d, OTLP_LOCATIONS, read_location);
    otlp_intern_table(d, OTLP_STACKS, read_stack);
    otlp_intern_table(d, OTLP_LINKS, otlp_read_link);
}
