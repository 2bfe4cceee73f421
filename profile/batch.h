// SPDX-License-Identifier: Apache-2.0
// The data model: a batch mirrors OTLP's ProfilesData (opentelemetry-proto profiles v1development, 1.10+).
//
//   batch -> dictionary (one, shared)
//         -> resource[] -> scope[] -> profile[] -> columns (samples; shared by the sample types of one pprof)
//                                               -> observations (values and timestamps)
//
// Every part is sealed (never written again) and counted; a change copies the part that changes and shares
// the rest. Parts may be read by any thread; the last unref frees, on whatever thread it happens.
// Element 0 of every table is its zero value, always. All ids are u32 indexes into the dictionary and were
// checked when the batch was built: readers do not check again.
//
// A batch may have an origin, the bytes it came from, and be unread at first: see profile/origin.h.
#ifndef PROFILE_BATCH_H
#define PROFILE_BATCH_H

#include "profile/value.h"

#include <stdatomic.h>

struct batch_mapping {
    uint64_t memory_start, memory_limit, file_offset;
    uint32_t filename; // string
    uint32_t attribute_set;
};

struct batch_line {
    uint32_t function;
    int64_t line, column; // 1-based, 0 = unset
};

struct batch_location {
    uint32_t mapping;    // 0 = unknown
    uint32_t line_start; // into dictionary.lines; innermost inlined call first
    uint32_t line_count;
    uint32_t attribute_set;
    uint64_t address;
};

struct batch_function {
    uint32_t name, system_name, filename; // strings
    int64_t start_line;
};

struct batch_range { // of a flat array: of u32 ids, or of bytes where it says so
    uint32_t start, count;
};

struct batch_link {
    uint8_t trace_id[16], span_id[8]; // all zero = none
};

struct batch_attribute {
    uint32_t key, unit; // strings
    struct value value;
};

// The lookup tables. Items are unique within their table (interned).
struct dictionary {
    _Atomic uint32_t refs;
    const struct bytes *strings;
    const struct batch_mapping *mappings;
    const struct batch_location *locations;
    const struct batch_line *lines; // not a table of OTLP: the lines of all locations, flat; no zero element
    const struct batch_function *functions;
    const struct batch_link *links;
    const struct batch_attribute *attributes;
    const struct batch_range *stacks;         // ranges of stack_bytes; read them with profile/stack.h
    const uint8_t *stack_bytes;               // location ids as varints of the least size, leaf first
    const struct batch_range *attribute_sets; // ranges of set_attributes; set 0 is empty; keys unique in a set
    const uint32_t *set_attributes;
    uint32_t string_count, mapping_count, location_count, line_count, function_count, link_count, attribute_count,
        stack_count, attribute_set_count;
    size_t stack_byte_count, set_attribute_count;
    bool every_location_used; // some stack has it, but for location 0; false = not known
    struct arena arena;       // string bytes and attribute values
    // Where this one was changed from: the arrays that are the same there, and their texts, are the base's, which has no
    // base of its own. NULL = all is its own.
    struct dictionary *base;
    size_t bytes; // what the dictionary holds of memory, arena and base included
};

// Samples of a profile without their values. A missing column (NULL) means all zero.
struct columns {
    _Atomic uint32_t refs;
    uint32_t sample_count;
    const uint32_t *stacks;         // per sample; 0 = no stack; never NULL when there are samples
    const uint32_t *attribute_sets; // per sample, or NULL
    const uint32_t *links;          // per sample, or NULL
    size_t bytes;
};

// Values and timestamps of the samples of one profile. OTLP's three shapes: one value each; timestamps
// only (each counts 1); as many values as timestamps.
struct observations {
    _Atomic uint32_t refs;
    uint32_t sample_count;
    const int64_t *values;          // NULL when no sample has a value
    const uint32_t *value_ends;     // per sample: end of its values; NULL = exactly one value each
    const uint64_t *timestamps;     // since 1970, ns; NULL when no sample has one
    const uint32_t *timestamp_ends; // per sample: end of its timestamps; not NULL if timestamps is not
    size_t bytes;
};

struct value_type {
    uint32_t type, unit; // strings
};

struct profile {
    struct value_type sample_type, period_type; // period_type 0/0 = none
    uint64_t time_nanos;                        // since 1970; 0 = unknown
    uint64_t duration_nanos;
    int64_t period;
    bool has_profile_id;
    uint8_t profile_id[16];
    uint32_t dropped_attributes_count;
    uint32_t attribute_set;
    struct bytes original_payload_format, original_payload; // in the arena of the scope; both or neither
    struct columns *columns;
    struct observations *observations; // same sample_count as columns
};

struct scope {
    _Atomic uint32_t refs;
    struct bytes name, version, schema_url;
    const struct key_value *attributes;
    uint32_t attribute_count, dropped_attributes_count;
    const struct profile *profiles;
    uint32_t profile_count;
    struct arena arena; // everything above but the counted parts
};

struct resource {
    _Atomic uint32_t refs;
    struct bytes schema_url;
    const struct key_value *attributes;
    uint32_t attribute_count, dropped_attributes_count;
    const struct bytes *entity_refs; // each an encoded opentelemetry.proto.common.v1.EntityRef, passed through
    uint32_t entity_ref_count;
    struct scope *const *scopes;
    uint32_t scope_count;
    uint32_t origin_index; // its place in the batch's origin, if there is one
    struct arena arena;
};

struct origin;

struct batch {
    _Atomic uint32_t refs;
    struct dictionary *dictionary; // NULL = unread
    struct origin *origin;         // NULL = none
    struct resource *const *resources;
    uint32_t resource_count;
    // Totals, so that nobody counts again.
    uint64_t profile_count, sample_count;
};

struct batch *batch_ref(struct batch *b); // returns b
void batch_unref(struct batch **b);       // sets *b to NULL; *b may be NULL
struct dictionary *dictionary_ref(struct dictionary *d);
void dictionary_unref(struct dictionary **d);
struct resource *resource_ref(struct resource *r);
void resource_unref(struct resource **r);
struct scope *scope_ref(struct scope *s);
void scope_unref(struct scope **s);
struct columns *columns_ref(struct columns *c);
void columns_unref(struct columns **c);
struct observations *observations_ref(struct observations *o);
void observations_unref(struct observations **o);

// A batch of these parts; takes over one reference of the dictionary and of each resource in every case.
// NULL when out of memory.
struct batch *batch_create(struct dictionary *dictionary, struct resource **resources, uint32_t count) MUST_USE;

// Bytes of memory that end with this batch if nobody else shares its parts: what the budget is charged.
size_t batch_memory_bytes(const struct batch *b);

// Value range of sample i: [*start, *start + *count).
static inline void observations_values(const struct observations *o, uint32_t i, uint32_t *start, uint32_t *count)
{
    if (o->values == NULL) {
        *start = *count = 0;
    } else if (o->value_ends == NULL) {
        *start = i;
        *count = 1;
    } else {
        *start = i == 0 ? 0 : o->value_ends[i - 1];
        *count = o->value_ends[i] - *start;
    }
}

static inline void observations_timestamps(const struct observations *o, uint32_t i, uint32_t *start, uint32_t *count)
{
    if (o->timestamps == NULL) {
        *start = *count = 0;
    } else {
        *start = i == 0 ? 0 : o->timestamp_ends[i - 1];
        *count = o->timestamp_ends[i] - *start;
    }
}

#endif
