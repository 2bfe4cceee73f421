// SPDX-License-Identifier: Apache-2.0
// Inside profile/: what the files of the builder share.
#ifndef PROFILE_BUILDER_INTERNAL_H
#define PROFILE_BUILDER_INTERNAL_H

#include "base/index_table.h"
#include "profile/builder.h"

// A growing array, with an index where its items are interned.
struct table {
    void *items;
    size_t capacity;
    uint32_t count;
    struct index_table index;
};

// Which ids were met in this round; a new round costs nothing.
struct marks {
    void *stamps; // uint32_t[]
    size_t capacity;
    uint32_t round;
};

// Stacks that lie behind the flat bytes and are not looked up yet.
struct stack_block {
    uint32_t count; // of stacks
    size_t bytes;   // of all of them
    uint32_t sizes[BUILDER_STACK_BLOCK];
    uint64_t hashes[BUILDER_STACK_BLOCK];
};

struct merge_map;

struct builder {
    size_t used_bytes, max_bytes;
    bool failed;
    struct err failure;
    uint64_t repaired_strings;

    struct table strings, mappings, locations, functions, links, attributes, stacks, attribute_sets;
    struct table lines, stack_bytes, set_attributes; // flat, without index
    struct stack_block block;
    bool every_location_used;
    void *used_locations; // bool[]: by id, whether builder_stack was given it
    size_t used_capacity;
    struct arena arena;
    struct marks keys, members;
    uint64_t set_seed;
    struct table scratch; // ids

    struct table resources, scopes, profiles, entity_refs; // of the open batch, resource, scope, resource
    struct resource *resource;                             // open
    struct scope *scope;                                   // open

    struct merge_map *merge_map; // of the batch added last
};

// Keeps the first failure.
void builder_fail(struct builder *b, enum err_code code, const char *format, ...) PRINTF_LIKE(3, 4);

// Charges bytes that are about to be allocated; false (and failed) when max_bytes would be exceeded.
bool builder_charge(struct builder *b, size_t bytes) MUST_USE;
void builder_discharge(struct builder *b, size_t bytes);
// Charged memory, not zeroed; NULL (and failed) when there is none.
void *builder_alloc(struct builder *b, size_t count, size_t item_size) MUST_USE;
bool builder_grow(struct builder *b, void **items, size_t *capacity, size_t need, size_t item_size) MUST_USE;
bool builder_grow_index(struct builder *b, struct index_table *index) MUST_USE;
// False when so many bytes should not be taken for a mere hint.
bool builder_may_expect(const struct builder *b, size_t bytes);
// Gives back what is not needed of an array that is to be sealed; returns it.
void *builder_shrink(struct builder *b, void *items, size_t *capacity, size_t count, size_t item_size);

// Around allocations of about `need` bytes in an arena: open lends it the rest of the budget, close charges
// what it took and notes a failure.
bool builder_arena_open(struct builder *b, struct arena *a, size_t need) MUST_USE;
bool builder_arena_close(struct builder *b, struct arena *a, size_t before, size_t need, bool ok) MUST_USE;
bool builder_copy_text(struct builder *b, struct arena *a, struct bytes text, struct bytes *copy_out) MUST_USE;
bool builder_copy_bytes(struct builder *b, struct arena *a, struct bytes data, struct bytes *copy_out) MUST_USE;

bool builder_intern_zeros(struct builder *b) MUST_USE;
bool builder_used_room(struct builder *b, size_t locations) MUST_USE; // in used_locations
void builder_close_containers(struct builder *b);
void builder_drop_containers(struct builder *b); // frees what is open and what was closed
void merge_map_destroy(struct builder *b, struct merge_map **m);

// For edits of a sealed dictionary. Adopts its strings, attributes and sets into the empty builder, under the same ids;
// texts are borrowed as long as they are those of its base, or of d where there is no base.
void builder_adopt_attributes(struct builder *b, const struct dictionary *d);
// d with what was added since. Tables that did not grow beyond the base's are shared with it. NULL after a failure.
struct dictionary *builder_seal_attributes(struct builder *b, struct dictionary *d) MUST_USE;

// The one dictionary that owns what is never changed.
static inline const struct dictionary *dictionary_base(const struct dictionary *d)
{
    return d->base == NULL ? d : d->base;
}

static inline bool table_room(struct builder *b, struct table *t, size_t extra, size_t item_size)
{
    size_t need = t->count + extra;
    return need <= t->capacity || builder_grow(b, &t->items, &t->capacity, need, item_size);
}

static inline bool index_room(struct builder *b, struct index_table *index)
{
    return (index->slots != NULL && index->used < index_table_fill(index->mask)) || builder_grow_index(b, index);
}

#endif
