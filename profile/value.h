// SPDX-License-Identifier: Apache-2.0
// OTLP's AnyValue (common.proto). Bytes and nested values are borrowed from the part that holds them.
#ifndef PROFILE_VALUE_H
#define PROFILE_VALUE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"

enum value_kind {
    VALUE_EMPTY, // no field of the oneof set: legal everywhere since OTLP 1.9
    VALUE_STRING,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_DOUBLE,
    VALUE_ARRAY,
    VALUE_KVLIST,
    VALUE_BYTES,
};

struct key_value;

struct value {
    enum value_kind kind;
    uint32_t count; // items of an array or kvlist
    union {
        struct bytes bytes; // STRING (valid UTF-8), BYTES
        bool boolean;
        int64_t integer;
        double number;
        const struct value *items;       // ARRAY
        const struct key_value *entries; // KVLIST
    };
};

struct key_value {
    struct bytes key;
    struct value value;
};

static inline struct value value_string(struct bytes text)
{
    return (struct value){.kind = VALUE_STRING, .bytes = text};
}

static inline struct value value_int(int64_t integer)
{
    return (struct value){.kind = VALUE_INT, .integer = integer};
}

static inline struct value value_bool(bool boolean)
{
    return (struct value){.kind = VALUE_BOOL, .boolean = boolean};
}

// Same kind and content, doubles by bits (NaN equals itself), kvlists in order.
bool value_equal(const struct value *a, const struct value *b);
// Seeded hash that agrees with value_equal.
uint64_t value_hash(const struct value *v);
// Deep copy into arena; false when out of memory.
bool value_copy(struct arena *arena, const struct value *v, struct value *copy_out) MUST_USE;
bool key_values_copy(struct arena *arena, const struct key_value *from, uint32_t count,
                     const struct key_value **copy_out) MUST_USE;
// As JSON-like text for people and for hashing by processors: strings bare at the top level.
void value_print(struct buf *out, const struct value *v);
// The entry with this key, NULL if there is none.
const struct key_value *key_values_find(const struct key_value *list, uint32_t count, struct bytes key);

#endif
