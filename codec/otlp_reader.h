// SPDX-License-Identifier: Apache-2.0
// What the otlp_read_*.c files share while one request is decoded. Internal to codec/otlp_*.c.
//
// The first failure sticks: it sets `code` and the text, and every loop (they all go through otlp_next)
// ends. A place is a chain of names on the C stack; it costs nothing until something goes wrong.
#ifndef CODEC_OTLP_READER_H
#define CODEC_OTLP_READER_H

#include "codec/otlp.h"
#include "codec/otlp_layout.h"
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

// What a field of an older layout is today: its number there, 0 for no field. Numbers past today's are of what there is
// no more.
enum {
    OTLP_PROFILE_ATTRIBUTES = 11,
    OTLP_PROFILE_COMMENTS, // indices of strings
    OTLP_PROFILE_TIME_VARINT,
    OTLP_PROFILE_LOCATIONS, // indices of which samples have ranges
    OTLP_PROFILE_DEFAULT_TYPE,
    OTLP_PROFILE_KEY_VALUES,
};

struct otlp_numbers {
    uint8_t sample[6], profile[23];
    uint8_t tables[11]; // enum otlp_table + 1; attribute_units stand in the place of stacks
};
extern const struct otlp_numbers otlp_numbers[OTLP_LAYOUTS]; // otlp_decode_layout.c

static inline uint32_t otlp_today(const uint8_t *numbers, size_t count, uint32_t number)
{
    return number < count ? numbers[number] : 0;
}

struct otlp_old; // otlp_read_old.h

struct otlp_reader {
    struct bytes data;
    enum otlp_layout layout;
    const struct otlp_numbers *numbers; // of the layout
    struct otlp_old *old;               // up to 1.7
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
    struct wire_list comments;           // of the profile being read
    bool cumulative;                     // so are its values
    struct sample_writer samples;
    struct observation_writer observations;
    struct columns *previous_columns; // of the profile before in the same scope
    uint64_t profile_count, sample_count;
    struct otlp_rejected *rejected; // NULL: a profile that cannot be read fails the request
    bool without_profiles;
    bool repeated_keys; // of some resource or scope; the later ones were dropped
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
// One id more, within the limit.
void otlp_add_id(struct otlp_reader *d, const struct otlp_place *at, const char *name, uint32_t id,
                 enum otlp_table table);
// The attribute set of d->ids; index 0 means "no attribute" and is left out.
uint32_t otlp_attribute_set(struct otlp_reader *d);

// A string field: bytes of the request, or a repaired copy in the arena.
struct bytes otlp_text(struct otlp_reader *d, struct arena *arena, struct bytes text);

// otlp_decode.c: resources and scopes alone, of a request that otlp_check found good. NULL: something had to be repaired,
// or memory is out.
struct batch *otlp_decode_containers(struct bytes data, const struct otlp_limits *limits, bool references) MUST_USE;

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

// The text of a string by its index in the request; what is referred to is bounded.
struct bytes otlp_referenced_string(struct otlp_reader *d, const struct otlp_place *at, uint64_t index,
                                    const char *name);

// otlp_read_dictionary.c: notes where the tables' elements are, then interns them all.
void otlp_read_dictionary(struct otlp_reader *d);
// The parts of that, for tables that are made up otherwise.
void otlp_note_tables(struct otlp_reader *d);
void otlp_forget_tables(struct otlp_reader *d); // of a profile (1.5), or at the end
typedef uint32_t otlp_read_element_fn(struct otlp_reader *, const struct otlp_place *, struct bytes, uint32_t index);
void otlp_intern_table(struct otlp_reader *d, enum otlp_table table, otlp_read_element_fn *read);
otlp_read_element_fn otlp_read_string, otlp_read_function, otlp_read_link;
void otlp_read_mapping_field(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                             struct batch_mapping *m);
// But for its attributes; the lines lie in d->lines.
void otlp_read_location_field(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                              struct batch_location *l);
// Only what references to strings need, of a request whose strings are known to be valid.
void otlp_note_strings(struct otlp_reader *d);
// otlp_read_containers.c: all resource_profiles.
void otlp_read_resources(struct otlp_reader *d);
// otlp_read_profile.c: one Profile into the open scope.
void otlp_read_profile(struct otlp_reader *d, const struct otlp_place *at, struct bytes data);
// The parts of that. Header fields are all but the sample types, samples and lists of indices.
void otlp_read_value_type(struct otlp_reader *d, const struct otlp_place *parent, const struct wire_field *field,
                          const char *name, struct value_type *type);
void otlp_read_header_field(struct otlp_reader *d, const struct otlp_place *at, uint32_t number,
                            const struct wire_field *f, struct profile *p);
void otlp_read_profile_attributes(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f);
void otlp_read_numbers(struct otlp_reader *d, const struct otlp_place *at, struct wire_reader *r,
                       const struct wire_field *f, const char *name, bool fixed64, struct wire_list *list);
// Counts it against the limit.
void otlp_next_sample(struct otlp_reader *d, const struct otlp_place *at);
void otlp_add_profile_attribute(struct otlp_reader *d, const struct otlp_place *at, uint32_t key, uint32_t unit,
                                const struct value *value);
// What is no field any more becomes attributes; then the profile has the set of all.
void otlp_end_profile_attributes(struct otlp_reader *d, const struct otlp_place *at, struct profile *p);
void otlp_clean_payload(struct otlp_reader *d, struct profile *p);
// otlp_read_old.c: the same for layouts up to 1.7; it becomes a profile for each of its sample types.
void otlp_read_old_profile(struct otlp_reader *d, const struct otlp_place *at, struct bytes data);
// Forgets the samples of a profile that failed.
void otlp_drop_samples(struct otlp_reader *d);

#endif
