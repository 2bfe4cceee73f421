// SPDX-License-Identifier: Apache-2.0
// AnyValue and KeyValue of common.proto, with the string references that 1.10 added.
#include "codec/otlp_reader.h"

#include "base/hash.h"
#include "base/index_table.h"
#include "base/mem.h"

#include <inttypes.h>

enum { FEW_ENTRIES = 8 };

static size_t max_scratch(const struct otlp_reader *d, size_t item_size)
{
    return (d->limits->max_batch_bytes == 0 ? SIZE_MAX : d->limits->max_batch_bytes) / item_size;
}

static void fail_scratch(struct otlp_reader *d, const struct otlp_place *at, size_t count, size_t item_size)
{
    if (count >= max_scratch(d, item_size))
        otlp_fail(d, at, ERR_LIMIT, "attribute values need more memory than max_batch_bytes allows (%zu)",
                  d->limits->max_batch_bytes);
    otlp_fail_memory(d);
}

static void push_item(struct otlp_reader *d, const struct otlp_place *at, struct value v)
{
    void *items = d->items;
    bool ok = mem_try_grow(&items, &d->item_capacity, d->item_count + 1, sizeof v, max_scratch(d, sizeof v));
    d->items = items;
    if (ok)
        d->items[d->item_count++] = v;
    else
        fail_scratch(d, at, d->item_count, sizeof v);
}

static void push_entry(struct otlp_reader *d, const struct otlp_place *at, struct key_value kv)
{
    void *entries = d->entries;
    bool ok = mem_try_grow(&entries, &d->entry_capacity, d->entry_count + 1, sizeof kv, max_scratch(d, sizeof kv));
    d->entries = entries;
    if (ok)
        d->entries[d->entry_count++] = kv;
    else
        fail_scratch(d, at, d->entry_count, sizeof kv);
}

// Strings by reference cost the request a byte or two each and the batch a copy.
struct bytes otlp_referenced_string(struct otlp_reader *d, const struct otlp_place *at, uint64_t index,
                                    const char *name)
{
    size_t max = d->limits->max_batch_bytes;
    if (d->code != ERR_OK)
        return (struct bytes){NULL, 0};
    if (index >= d->tables[OTLP_STRINGS].length) { // also: there are none
        otlp_bad_index(d, at, name, index, OTLP_STRINGS);
        return (struct bytes){NULL, 0};
    }
    struct bytes text = d->strings[index];
    d->referenced_bytes += text.len;
    if (max != 0 && d->referenced_bytes > max)
        otlp_fail(d, at, ERR_LIMIT, "attributes refer to %zu bytes of strings, max_batch_bytes allows %zu",
                  d->referenced_bytes, max);
    return text;
}

static struct bytes referenced_string(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                                      const char *name)
{
    return otlp_referenced_string(d, at, otlp_uint(d, at, f, name), name);
}

static void draft_drop(struct otlp_reader *d, const struct otlp_draft *draft)
{
    if (draft->value.kind == VALUE_ARRAY)
        d->item_count = draft->base;
    if (draft->value.kind == VALUE_KVLIST)
        d->entry_count = draft->base;
}

static void draft_set(struct otlp_reader *d, struct otlp_draft *draft, struct value v)
{
    draft_drop(d, draft);
    draft->value = v;
}

static void draft_open(struct otlp_reader *d, struct otlp_draft *draft, enum value_kind kind)
{
    if (draft->value.kind == kind)
        return;
    draft_drop(d, draft);
    draft->value = (struct value){.kind = kind};
    draft->base = kind == VALUE_ARRAY ? d->item_count : d->entry_count;
}

static struct value finish_array(struct otlp_reader *d, size_t base)
{
    size_t n = d->item_count - base;
    struct value v = {.kind = VALUE_ARRAY, .count = (uint32_t)n};
    if (n == 0)
        return v;
    struct value *items = arena_try_alloc(&d->value_arena, n * sizeof *items);
    if (items == NULL) {
        otlp_fail_memory(d);
        return (struct value){.kind = VALUE_EMPTY};
    }
    memcpy(items, d->items + base, n * sizeof *items);
    v.items = items;
    return v;
}

static struct value finish_kvlist(struct otlp_reader *d, size_t base)
{
    size_t n = d->entry_count - base;
    struct value v = {.kind = VALUE_KVLIST, .count = (uint32_t)n};
    if (n == 0)
        return v;
    struct key_value *entries = arena_try_alloc(&d->value_arena, n * sizeof *entries);
    if (entries == NULL) {
        otlp_fail_memory(d);
        return (struct value){.kind = VALUE_EMPTY};
    }
    memcpy(entries, d->entries + base, n * sizeof *entries);
    v.entries = entries;
    return v;
}

struct value otlp_draft_finish(struct otlp_reader *d, struct otlp_draft *draft)
{
    struct value v = draft->value;
    if (d->code != ERR_OK)
        v = (struct value){.kind = VALUE_EMPTY};
    else if (v.kind == VALUE_ARRAY)
        v = finish_array(d, draft->base);
    else if (v.kind == VALUE_KVLIST)
        v = finish_kvlist(d, draft->base);
    draft_drop(d, draft);
    return v;
}

// ArrayValue and KeyValueList: field 1, repeated.
static void read_children(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t depth,
                          enum value_kind kind)
{
    if (depth > d->limits->max_value_depth) {
        otlp_fail(d, at, ERR_INVALID, "value is nested %" PRIu32 " deep or deeper, max_value_depth allows %" PRIu32,
                  depth, d->limits->max_value_depth);
        return;
    }
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number != 1)
            continue;
        struct bytes child = otlp_bytes(d, at, &f, "values");
        if (kind == VALUE_KVLIST) {
            otlp_read_entry(d, at, child, depth);
            continue;
        }
        struct otlp_draft draft = {.value.kind = VALUE_EMPTY};
        otlp_read_value(d, at, child, depth, &draft);
        push_item(d, at, otlp_draft_finish(d, &draft));
    }
    otlp_message_end(d, at, &r);
}

static double double_from_bits(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void read_value_field(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f,
                             uint32_t depth, struct otlp_draft *draft)
{
    switch (f->number) {
    case 1:
        draft_set(d, draft, value_string(otlp_text(d, &d->value_arena, otlp_bytes(d, at, f, "string_value"))));
        break;
    case 2:
        draft_set(d, draft, value_bool(otlp_uint(d, at, f, "bool_value") != 0));
        break;
    case 3:
        draft_set(d, draft, value_int(otlp_int(d, at, f, "int_value")));
        break;
    case 4: {
        double number = double_from_bits(otlp_fixed64(d, at, f, "double_value"));
        draft_set(d, draft, (struct value){.kind = VALUE_DOUBLE, .number = number});
        break;
    }
    case 5:
        draft_open(d, draft, VALUE_ARRAY);
        read_children(d, at, otlp_bytes(d, at, f, "array_value"), depth + 1, VALUE_ARRAY);
        break;
    case 6:
        draft_open(d, draft, VALUE_KVLIST);
        read_children(d, at, otlp_bytes(d, at, f, "kvlist_value"), depth + 1, VALUE_KVLIST);
        break;
    case 7:
        draft_set(d, draft, (struct value){.kind = VALUE_BYTES, .bytes = otlp_bytes(d, at, f, "bytes_value")});
        break;
    case 8:
        draft_set(d, draft, value_string(referenced_string(d, at, f, "string_value_strindex")));
        break;
    default:
        break;
    }
}

void otlp_read_value(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t depth,
                     struct otlp_draft *draft)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f))
        read_value_field(d, at, &f, depth, draft);
    otlp_message_end(d, at, &r);
}

void otlp_read_entry(struct otlp_reader *d, const struct otlp_place *at, struct bytes data, uint32_t depth)
{
    struct wire_reader r;
    struct wire_field f;
    struct bytes key = {NULL, 0}, referenced = {NULL, 0};
    bool by_index = false;
    struct otlp_draft draft = {.value.kind = VALUE_EMPTY};
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1) {
            key = otlp_bytes(d, at, &f, "key");
        } else if (f.number == 2) {
            otlp_read_value(d, at, otlp_bytes(d, at, &f, "value"), depth, &draft);
        } else if (f.number == 3) {
            referenced = referenced_string(d, at, &f, "key_strindex");
            by_index = f.varint != 0;
        }
    }
    otlp_message_end(d, at, &r);
    if (by_index && key.len != 0)
        otlp_fail(d, at, ERR_INVALID, "both key and key_strindex are set");
    key = by_index ? referenced : otlp_text(d, &d->value_arena, key);
    push_entry(d, at, (struct key_value){.key = key, .value = otlp_draft_finish(d, &draft)});
}

static bool seen_before(const struct key_value *entries, size_t count, struct bytes key)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(entries[i].key, key))
            return true;
    return false;
}

static bool seen_in_table(struct otlp_reader *d, struct index_table *t, size_t count, struct bytes key)
{
    if (!index_table_reserve(t)) {
        otlp_fail_memory(d);
        return true;
    }
    uint64_t hash = hash_bytes(key.data, key.len);
    uint32_t slot = index_table_start(t, hash), id;
    for (; index_table_next(t, hash, &slot, &id); index_table_skip(t, &slot))
        if (bytes_equal(d->entries[id].key, key))
            return true;
    index_table_insert(t, hash, slot, (uint32_t)count);
    return false;
}

void otlp_unique_entries(struct otlp_reader *d)
{
    struct index_table table = {0};
    size_t n = 0, total = d->entry_count;
    for (size_t i = 0; i < total && d->code == ERR_OK; i++) {
        struct bytes key = d->entries[i].key;
        bool seen = total <= FEW_ENTRIES ? seen_before(d->entries, n, key) : seen_in_table(d, &table, n, key);
        if (!seen)
            d->entries[n++] = d->entries[i];
    }
    d->repeated_keys |= n != total;
    d->entry_count = n;
    index_table_fini(&table);
}
