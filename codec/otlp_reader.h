// SPDX-License-Identifier: Apache-2.0
// What the otlp_read_*.c files share while one request is decoded. Internal to codec/otlp_*.c.
//
// The first failure sticks: it sets `code` and the text, and every loop (they all go through otlp_next)
// ends. A place is a chain of names on the C stack; it costs nothing until something goes wrong.
#ifndef CODEC_OTLP_READER_H
#define CODEC_OTLP_READER_H

#include "codec/otlp.h"
#include "codec/wire.h"

// The dictionary's tables; the field number is one more.
enum otlp_table {
    OTLP_MAPPINGS,
    OTLP_LOCATIONS,
    OTLP_FUNCTIONS,
    OTLP_LINKS,
    OTLP_STRINGS,
    OTLP_ATTRIBUTES,
    OTLP_STACKS,
    OTLP_TABLE_COUNT,
};

struct otlp_span { // of the request; requests are below 4 GiB
    uint32_t start, len;
};

// Elements as they stand in the request, and the ids the builder gave them. `length` is at least 1: a table
// that is not there holds its zero element.
struct otlp_id_map {
    struct otlp_span *spans;
    uint32_t *ids;
    uint32_t present, filled, length;
};

#define OTLP_NO_INDEX UINT64_MAX
struct otlp_place {
    const struct otlp_place *parent;
    const char *name;
    uint64_t index;
};

// The chain's inner end: "profiles[2].samples[3]".
enum { OTLP_PLACE_TEXT = 320 };
void otlp_print_place(char *text, size_t size, const struct otlp_place *at);

struct otlp_ids {
    uint32_t *items;
    size_t count, capacity;
};

struct otlp_reader {
    struct bytes data;
    const struct otlp_limits *limits;
    struct builder *builder;
    struct err *e;
    enum err_code code;
    struct otlp_id_map tables[OTLP_TABLE_COUNT];
    struct bytes *strings; // of the string table, valid UTF-8
    struct arena string_arena, value_arena;
    size_t referenced_bytes; // of strings that attributes name by index, counted each time

    // Children of attribute values under construction, innermost last.
    struct value *items;
    size_t item_count, item_capacity;
    struct key_value *entries;
    size_t entry_count, entry_capacity;

    struct otlp_ids ids;         // of the item being read
    struct otlp_ids profile_ids; // attributes of the profile being read
    struct batch_line *lines;
    size_t line_count, line_capacity;
    struct wire_list values, timestamps; // of the sample being read
    struct sample_writer samples;
    struct observation_writer observations;
    struct columns *previous_columns; // of the profile before in the same scope
    uint64_t profile_count, sample_count;
};

void otlp_fail(struct otlp_reader *d, const struct otlp_place *at, enum err_code code, const char *format, ...)
    PRINTF_LIKE(4, 5);
void otlp_fail_memory(struct otlp_reader *d);
void otlp_wrong_type(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f, const char *name);
// Call when the fields of a message are through: takes over the cursor's error.
void otlp_message_end(struct otlp_reader *d, const struct otlp_place *at, const struct wire_reader *r);
void otlp_bad_index(struct otlp_reader *d, const struct otlp_place *at, const char *name, uint64_t index,
                    enum otlp_table table);

static inline bool otlp_next(const struct otlp_reader *d, struct wire_reader *r, struct wire_field *f)
{
    return d->code == ERR_OK && wire_next(r, f);
}

// The value of a known field; 0 (empty) after a failure.
static inline uint64_t otlp_uint(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                                 const char *name)
{
    if (f->type == WIRE_VARINT)
        return f->varint;
    otlp_wrong_type(d, at, f, name);
    return 0;
}

static inline int64_t otlp_int(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                               const char *name)
{
    return (int64_t)otlp_uint(d, at, f, name);
}

static inline struct bytes otlp_bytes(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                                      const char *name)
{
    if (f->type == WIRE_LEN)
        return f->bytes;
    otlp_wrong_type(d, at, f, name);
    return (struct bytes){NULL, 0};
}

uint64_t otlp_fixed64(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f, const char *name);

// An index into a table, checked; as the element's number in the request, or as the builder's id.
static inline uint32_t otlp_raw_index(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                                      const char *name, enum otlp_table table)
{
    uint64_t index = otlp_uint(d, at, f, name);
    if (index < d->tables[table].length)
        return (uint32_t)index;
    otlp_bad_index(d, at, name, index, table);
    return 0;
}

static inline uint32_t otlp_index(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                                  const char *name, enum otlp_table table)
{
    return d->tables[table].ids[otlp_raw_index(d, at, f, name, table)];
}

// Appends one occurrence of a repeated index field, packed or not, as the builder's ids to d->ids.
void otlp_indices(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f, const char *name,
                  enum otlp_table table);
// The attribute set of d->ids; index 0 means "no attribute" and is left out.
uint32_t otlp_attribute_set(struct otlp_reader *d);

// A string field: bytes of the request, or a repaired copy in the arena.
struct bytes otlp_text(struct otlp_reader *d, struct arena *arena, struct bytes text);

// otlp_read_value.c: an AnyValue under construction; its children lie on top of d->items or d->entries.
struct otlp_draft {
    struct value value;
    size_t base;
};
// Repeated occurrences merge as protobuf has it: submessages of the same kind join, all else is replaced.
void otlp_read_value(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t depth,
                     struct otlp_draft *draft);
// The finished value, its children moved to d->value_arena.
struct value otlp_draft_finish(struct otlp_reader *d, struct otlp_draft *draft);
// One KeyValue onto d->entries; depth 0 = of a resource or scope.
void otlp_read_entry(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t depth);
// Drops later entries whose key was there before, from d->entries.
void otlp_unique_entries(struct otlp_reader *d);

// otlp_read_dictionary.c: notes where the tables' elements are, then interns them all.
void otlp_read_dictionary(struct otlp_reader *d);
// otlp_read_containers.c: all resource_profiles.
void otlp_read_resources(struct otlp_reader *d);
// otlp_read_profile.c: one Profile into the open scope.
void otlp_read_profile(struct otlp_reader *d, const struct otlp_place *at, struct bytes data);

#endif
