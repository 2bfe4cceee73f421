// SPDX-License-Identifier: Apache-2.0
// What the files that read pprof share. Internal to codec/. The order of work: pprof_scan (one pass over the
// top level), pprof_read_tables, pprof_read_samples; pprof_decode.c puts the profiles around it.
#ifndef CODEC_PPROF_READER_H
#define CODEC_PPROF_READER_H

#include "base/arena.h"
#include "base/index_table.h"
#include "codec/pprof.h"
#include "codec/wire.h"
#include "profile/stack.h"

#define PPROF_NONE UINT32_MAX
#define PPROF_TWO_BYTE_IDS (1 << 14) // varints of at most two bytes are below this

// Where the items of one repeated message lie; other fields may lie between them.
struct pprof_section {
    const uint8_t *start, *end;
    uint32_t count;
};

struct pprof_bytes_list {
    struct bytes *items;
    size_t count, capacity;
};

// Profile's own fields. Numbers named after a text are indexes into strings.
struct pprof_header {
    struct pprof_bytes_list sample_types, strings;
    struct pprof_section samples, mappings, locations, functions;
    struct wire_list comments;
    uint64_t drop_frames, keep_frames, default_sample_type, doc_url;
    int64_t time_nanos, duration_nanos, period;
    struct bytes period_type;
};

// pprof's ids are arbitrary numbers: ids[i] is that of item i, values[i] the id it has with the builder.
struct pprof_ids {
    uint64_t *ids;
    uint32_t *values;
    uint32_t count;
    uint64_t max_id;
    uint32_t *direct; // by id, PPROF_NONE = not there; NULL when the ids are too sparse, then
    uint64_t direct_count;
    struct index_table table; // finds them
};

enum pprof_label_kind { LABEL_PLAIN, LABEL_TRACE_ID, LABEL_SPAN_ID, LABEL_PROFILE_ID };

struct pprof_label {         // a distinct one
    uint64_t parts[4];       // key, str, num, num_unit as in the file
    uint32_t key;            // number of the key's text among the keys
    uint32_t attribute, set; // made when first needed, PPROF_NONE until then
    enum pprof_label_kind kind;
    uint8_t id[16];
};

// A key's text, and the labels of the present sample that have it, chained by pprof_label_use.next.
struct pprof_key {
    uint32_t name;   // builder's string
    uint32_t serial; // of the sample that used the key last
    uint32_t group;  // then: its place in groups
};

struct pprof_label_use {
    uint32_t label, next;
};

struct pprof_label_group {
    uint32_t key, first, last, count;
};

struct pprof_labels {
    struct pprof_label *labels;
    size_t label_count, label_capacity;
    struct index_table label_table, key_table;
    struct pprof_key *keys;
    size_t key_count, key_capacity;
    uint32_t serial;
    // Of the present sample, reused:
    struct pprof_label_use *uses;
    size_t use_count, use_capacity;
    struct pprof_label_group *groups;
    size_t group_count, group_capacity;
    uint32_t *attributes;
    size_t attribute_capacity;
    struct value *values; // of one array
    size_t value_capacity;
    struct key_value *entries; // two for each of values
    size_t entry_capacity;
    uint32_t link_label; // the attribute pprof.link.label = "profile_id"
};

// What goes with the stacks that the builder has not looked up yet.
struct pprof_sample_block {
    uint32_t sets[BUILDER_STACK_BLOCK], links[BUILDER_STACK_BLOCK];
    uint32_t count;
};

struct pprof_reader {
    const struct decode_limits *limits;
    struct decode_report *report;
    struct err *e;
    enum err_code code; // the first failure
    const char *place;  // "sample", with its number from 0; NULL = the profile itself
    uint32_t place_number;
    struct pprof_header header;
    struct builder *builder;
    uint32_t *string_ids; // per string of the file: the builder's, PPROF_NONE = not asked for yet
    struct arena scratch; // repaired texts
    struct pprof_ids mappings, locations, functions;
    uint32_t *location_mappings; // by the builder's location: its mapping; while the tables are read
    const uint8_t *unused;       // by the file's location: leave it out; NULL = none
    bool same_locations;         // the file's ids are the builder's: 1, 2, 3 ...
    uint8_t *used_locations;     // then: by the id's place, whether a sample has it
    size_t location_id_size;     // of the largest of the builder, encoded
    bool pair_functions;         // all function ids are 0: line k names function k
    uint32_t line_number;
    struct pprof_labels labels;
    struct sample_writer samples;
    struct observation_writer *observations; // one per sample type
    // Of the present location or sample, reused:
    struct batch_line *lines;
    size_t line_capacity;
    uint8_t *stack; // in the builder, encoded
    size_t stack_size;
    int64_t *values;
    size_t value_count, value_capacity;
    struct pprof_sample_block block;
};

// Keeps the first failure and puts the place before it. Returns false, for `return pprof_fail(...)`.
bool pprof_fail(struct pprof_reader *p, enum err_code code, const char *format, ...) PRINTF_LIKE(3, 4);
bool pprof_no_memory(struct pprof_reader *p);
// The reader r stands inside the present place.
bool pprof_damaged(struct pprof_reader *p, const struct wire_reader *r);

// Fills p->header; the bytes must live as long as p.
bool pprof_scan(struct pprof_reader *p, struct bytes data) MUST_USE;
void pprof_header_fini(struct pprof_header *h);

// Walks the messages of a section, which pprof_scan has seen to be well-formed.
struct pprof_items {
    struct wire_reader r;
    uint32_t field;
};
struct pprof_items pprof_items_of(const struct pprof_section *s, uint32_t field);
bool pprof_items_search(struct pprof_items *i, struct bytes *message_out);
static inline bool pprof_items_next(struct pprof_items *i, struct bytes *message_out)
{
    return wire_take_bytes(&i->r, (uint8_t)(i->field << 3 | WIRE_LEN), message_out) ||
           pprof_items_search(i, message_out);
}

// A message whose fields 1..count are all numbers.
bool pprof_read_numbers(struct pprof_reader *p, struct bytes message, uint64_t *numbers, uint32_t count) MUST_USE;

// The builder's id of a string of the file.
bool pprof_string(struct pprof_reader *p, uint64_t index, const char *what, uint32_t *id_out) MUST_USE;
// Its text as valid UTF-8, living as long as p.
bool pprof_text(struct pprof_reader *p, uint64_t index, const char *what, struct bytes *text_out) MUST_USE;

bool pprof_read_tables(struct pprof_reader *p) MUST_USE;
// After the tables are read: which locations (by their place in the file) no sample uses, if a mapping would go
// with them; else *unused_out is NULL. Free it.
bool pprof_find_unused(struct pprof_reader *p, uint8_t **unused_out) MUST_USE;
void pprof_ids_fini(struct pprof_ids *ids);
uint32_t pprof_ids_search(const struct pprof_ids *ids, uint64_t id);
static inline uint32_t pprof_ids_find(const struct pprof_ids *ids, uint64_t id) // PPROF_NONE = not there
{
    if (id < ids->direct_count)
        return ids->direct[id];
    return pprof_ids_search(ids, id);
}

// Packed lists are decoded without a bounds check per byte: when a list's last byte ends a varint, none of its varints
// can run past the end. The rest of a varint whose first byte is in *v; NULL when it has more than 64 bits.
const uint8_t *pprof_varint_rest(const uint8_t *at, uint64_t *v);
static inline const uint8_t *pprof_varint(const uint8_t *at, uint64_t *v)
{
    uint64_t first = *at++;
    *v = first;
    if (first < 0x80)
        return at;
    uint64_t second = *at;
    if (second < 0x80) {
        *v = (first & 0x7f) | second << 7;
        return at + 1;
    }
    return pprof_varint_rest(at, v);
}
bool pprof_bad_list(struct pprof_reader *p, const char *what); // false

// Stacks: pprof_stacks_begin before the first sample, pprof_stacks_end after the last.
bool pprof_stacks_begin(struct pprof_reader *p) MUST_USE;
void pprof_stacks_end(struct pprof_reader *p);
// More location ids for the present sample.
bool pprof_stack_add(struct pprof_reader *p, uint64_t id) MUST_USE;
bool pprof_stack_add_list(struct pprof_reader *p, struct bytes list) MUST_USE;

// One Label message of the present sample.
bool pprof_label_add(struct pprof_reader *p, struct bytes message) MUST_USE;
// Attribute set and link of the labels added since the last call.
bool pprof_labels_take(struct pprof_reader *p, uint32_t *set_out, uint32_t *link_out) MUST_USE;
void pprof_labels_fini(struct pprof_labels *l);

bool pprof_read_samples(struct pprof_reader *p) MUST_USE;
void pprof_samples_fini(struct pprof_reader *p);

#endif
