// SPDX-License-Identifier: Apache-2.0
// Interning. Keys are hashed with the seeded hash only, each struct through words without padding.
#include "profile/builder_internal.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "profile/stack.h"
#include "profile/value_copy.h"

typedef bool equal_fn(const struct builder *b, uint32_t id, const void *key);

// True with the id when the item is there, else false with the slot where it goes.
static inline __attribute__((always_inline)) bool find(const struct builder *b, const struct table *t, uint64_t hash,
                                                       equal_fn *equal, const void *key, uint32_t *slot_out,
                                                       uint32_t *id_out)
{
    uint32_t slot = index_table_start(&t->index, hash);
    while (index_table_next(&t->index, hash, &slot, id_out)) {
        if (equal(b, *id_out, key))
            return true;
        index_table_skip(&t->index, &slot);
    }
    *slot_out = slot;
    return false;
}

static inline bool ready(struct builder *b, struct table *t, size_t item_size)
{
    return !b->failed && table_room(b, t, 1, item_size) && index_room(b, &t->index);
}

static inline uint32_t add(struct table *t, uint64_t hash, uint32_t slot)
{
    index_table_insert(&t->index, hash, slot, t->count);
    return t->count++;
}

// Tables end far below 2^31, so an id out of range shows as a top bit; one OR per id is all the loop does.
static void check_ids(const uint32_t *ids, uint32_t count, uint32_t limit)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < count; i++)
        bits |= ids[i] | (limit - 1 - ids[i]);
    CHECK(bits <= INT32_MAX);
}

// Strings

static bool string_equal(const struct builder *b, uint32_t id, const void *key)
{
    return bytes_equal(((const struct bytes *)b->strings.items)[id], *(const struct bytes *)key);
}

static uint32_t repaired_string(struct builder *b, struct bytes text)
{
    size_t len = utf8_repair(text, NULL);
    uint8_t *repaired = builder_alloc(b, len, 1);
    if (repaired == NULL)
        return 0;
    utf8_repair(text, repaired);
    b->repaired_strings++;
    uint32_t id = builder_string(b, (struct bytes){repaired, len});
    free(repaired);
    builder_discharge(b, len);
    return id;
}

uint32_t builder_string(struct builder *b, struct bytes text)
{
    if (!ready(b, &b->strings, sizeof(struct bytes)))
        return 0;
    uint64_t hash = hash_bytes(text.data, text.len);
    uint32_t slot, id;
    if (find(b, &b->strings, hash, string_equal, &text, &slot, &id))
        return id;
    // Only new strings need looking at: what is in the table is valid.
    if (!utf8_valid(text))
        return repaired_string(b, text);
    struct bytes *at = (struct bytes *)b->strings.items + b->strings.count;
    return builder_copy_bytes(b, &b->arena, text, at) ? add(&b->strings, hash, slot) : 0;
}

uint32_t builder_string_text(struct builder *b, const char *text)
{
    return builder_string(b, bytes_from_text(text));
}

uint64_t builder_repaired_strings(const struct builder *b)
{
    return b->repaired_strings;
}

struct bytes builder_string_get(const struct builder *b, uint32_t id)
{
    if (b->failed)
        return (struct bytes){NULL, 0};
    CHECK(id < b->strings.count);
    return ((const struct bytes *)b->strings.items)[id];
}

// Mappings, functions, links

static bool mapping_equal(const struct builder *b, uint32_t id, const void *key)
{
    return memcmp((const struct batch_mapping *)b->mappings.items + id, key, sizeof(struct batch_mapping)) == 0;
}

_Static_assert(sizeof(struct batch_mapping) == 32, "compared and hashed as bytes: no padding");
_Static_assert(sizeof(struct batch_link) == 24, "compared and hashed as bytes: no padding");

uint32_t builder_mapping(struct builder *b, const struct batch_mapping *m)
{
    if (!ready(b, &b->mappings, sizeof *m))
        return 0;
    CHECK(m->filename < b->strings.count && m->attribute_set < b->attribute_sets.count);
    uint64_t hash = hash_bytes(m, sizeof *m);
    uint32_t slot, id;
    if (find(b, &b->mappings, hash, mapping_equal, m, &slot, &id))
        return id;
    ((struct batch_mapping *)b->mappings.items)[b->mappings.count] = *m;
    return add(&b->mappings, hash, slot);
}

static bool function_equal(const struct builder *b, uint32_t id, const void *key)
{
    const struct batch_function *have = (const struct batch_function *)b->functions.items + id, *want = key;
    return have->name == want->name && have->system_name == want->system_name && have->filename == want->filename &&
           have->start_line == want->start_line;
}

static uint64_t function_hash(const struct batch_function *f)
{
    uint64_t words[3] = {f->name | (uint64_t)f->system_name << 32, f->filename, (uint64_t)f->start_line};
    return hash_bytes(words, sizeof words);
}

uint32_t builder_function(struct builder *b, const struct batch_function *f)
{
    if (!ready(b, &b->functions, sizeof *f))
        return 0;
    uint32_t strings = b->strings.count;
    CHECK(f->name < strings && f->system_name < strings && f->filename < strings);
    uint64_t hash = function_hash(f);
    uint32_t slot, id;
    if (find(b, &b->functions, hash, function_equal, f, &slot, &id))
        return id;
    ((struct batch_function *)b->functions.items)[b->functions.count] = *f;
    return add(&b->functions, hash, slot);
}

static bool link_equal(const struct builder *b, uint32_t id, const void *key)
{
    return memcmp((const struct batch_link *)b->links.items + id, key, sizeof(struct batch_link)) == 0;
}

uint32_t builder_link(struct builder *b, const struct batch_link *l)
{
    if (!ready(b, &b->links, sizeof *l))
        return 0;
    uint64_t hash = hash_bytes(l, sizeof *l);
    uint32_t slot, id;
    if (find(b, &b->links, hash, link_equal, l, &slot, &id))
        return id;
    ((struct batch_link *)b->links.items)[b->links.count] = *l;
    return add(&b->links, hash, slot);
}

// Locations

struct location_key {
    const struct batch_location *location;
    const struct batch_line *lines;
    uint32_t line_count;
};

static bool line_equal(const struct batch_line *a, const struct batch_line *b)
{
    return a->function == b->function && a->line == b->line && a->column == b->column;
}

static bool location_equal(const struct builder *b, uint32_t id, const void *key)
{
    const struct batch_location *have = (const struct batch_location *)b->locations.items + id;
    const struct location_key *want = key;
    if (have->mapping != want->location->mapping || have->address != want->location->address ||
        have->attribute_set != want->location->attribute_set || have->line_count != want->line_count)
        return false;
    for (uint32_t i = 0; i < want->line_count; i++) {
        if (!line_equal((const struct batch_line *)b->lines.items + have->line_start + i, &want->lines[i]))
            return false;
    }
    return true;
}

static uint64_t location_hash(const struct location_key *key)
{
    const struct batch_location *l = key->location;
    uint64_t words[6] = {l->mapping | (uint64_t)l->attribute_set << 32, l->address, key->line_count};
    if (key->line_count > 0) { // the usual one goes with the rest
        words[3] = key->lines[0].function;
        words[4] = (uint64_t)key->lines[0].line;
        words[5] = (uint64_t)key->lines[0].column;
    }
    uint64_t h = hash_bytes(words, sizeof words);
    for (uint32_t i = 1; i < key->line_count; i++) {
        const struct batch_line *line = &key->lines[i];
        uint64_t more[4] = {h, line->function, (uint64_t)line->line, (uint64_t)line->column};
        h = hash_bytes(more, sizeof more);
    }
    return h;
}

static void check_location(const struct builder *b, const struct location_key *key)
{
    CHECK(key->location->mapping < b->mappings.count && key->location->attribute_set < b->attribute_sets.count);
    for (uint32_t i = 0; i < key->line_count; i++)
        CHECK(key->lines[i].function < b->functions.count);
}

static uint32_t add_location(struct builder *b, const struct location_key *key, uint64_t hash, uint32_t slot)
{
    if (!table_room(b, &b->lines, key->line_count, sizeof *key->lines))
        return 0;
    if (key->line_count > 0)
        memcpy((struct batch_line *)b->lines.items + b->lines.count, key->lines, key->line_count * sizeof *key->lines);
    struct batch_location *at = (struct batch_location *)b->locations.items + b->locations.count;
    *at = *key->location;
    at->line_start = b->lines.count;
    at->line_count = key->line_count;
    b->lines.count += key->line_count;
    b->every_location_used = false;
    return add(&b->locations, hash, slot);
}

uint32_t builder_location(struct builder *b, const struct batch_location *l, const struct batch_line *lines,
                          uint32_t line_count)
{
    if (!ready(b, &b->locations, sizeof *l))
        return 0;
    struct location_key key = {l, lines, line_count};
    check_location(b, &key);
    uint64_t hash = location_hash(&key);
    uint32_t slot, id;
    if (find(b, &b->locations, hash, location_equal, &key, &slot, &id))
        return id;
    return add_location(b, &key, hash, slot);
}

// Stacks

static bool stack_equal(const struct builder *b, uint32_t id, const void *key)
{
    struct batch_range range = ((const struct batch_range *)b->stacks.items)[id];
    const struct bytes *want = key;
    return range.count == want->len && (range.count == 0 || memcmp((const uint8_t *)b->stack_bytes.items + range.start,
                                                                   want->data, want->len) == 0);
}

static uint8_t *block_start(struct builder *b)
{
    return (uint8_t *)b->stack_bytes.items + b->stack_bytes.count;
}

// A new stack usually lies where it belongs already: only a known one before it leaves a gap.
static uint32_t take_stack(struct builder *b, const uint8_t *at, uint32_t size, uint64_t hash)
{
    struct bytes key = {at, size};
    uint32_t slot, id;
    if (!ready(b, &b->stacks, sizeof(struct batch_range)))
        return 0;
    if (find(b, &b->stacks, hash, stack_equal, &key, &slot, &id))
        return id;
    uint8_t *to = block_start(b);
    if (to != at)
        memmove(to, at, size);
    struct table *flat = &b->stack_bytes;
    ((struct batch_range *)b->stacks.items)[b->stacks.count] = (struct batch_range){flat->count, size};
    flat->count += size;
    return add(&b->stacks, hash, slot);
}

bool builder_used_room(struct builder *b, size_t locations)
{
    size_t old = b->used_capacity;
    if (locations <= old)
        return true;
    if (!builder_grow(b, &b->used_locations, &b->used_capacity, locations, sizeof(bool)))
        return false;
    memset((bool *)b->used_locations + old, 0, b->used_capacity - old);
    return true;
}

static void mark_used(struct builder *b, const uint32_t *locations, uint32_t count)
{
    bool *used = b->used_locations;
    for (uint32_t i = 0; i < count; i++)
        used[locations[i]] = true;
}

uint32_t builder_stack(struct builder *b, const uint32_t *locations, uint32_t count)
{
    if (b->failed || !builder_used_room(b, b->locations.count))
        return 0;
    check_ids(locations, count, b->locations.count);
    mark_used(b, locations, count);
    CHECK(b->block.count == 0);
    uint8_t *at = builder_stack_room(b, (size_t)count * stack_id_size(b->locations.count - 1)), *to = at;
    if (at == NULL)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        to = stack_put(to, locations[i]);
    size_t size = (size_t)(to - at);
    return take_stack(b, at, (uint32_t)size, hash_bytes(at, size));
}

uint8_t *builder_stack_room(struct builder *b, size_t max_size)
{
    if (b->failed || !table_room(b, &b->stack_bytes, b->block.bytes + max_size, 1))
        return NULL;
    return block_start(b) + b->block.bytes;
}

void builder_stack_put(struct builder *b, uint32_t size)
{
    struct stack_block *block = &b->block;
    if (b->failed)
        return;
    CHECK(block->count < BUILDER_STACK_BLOCK);
    uint64_t hash = hash_bytes(block_start(b) + block->bytes, size);
    __builtin_prefetch(b->stacks.index.slots + index_table_start(&b->stacks.index, hash));
    block->hashes[block->count] = hash;
    block->sizes[block->count++] = size;
    block->bytes += size;
}

void builder_stacks_take(struct builder *b, uint32_t *ids_out)
{
    struct stack_block *block = &b->block;
    const uint8_t *at = b->failed ? NULL : block_start(b);
    memset(ids_out, 0, block->count * sizeof *ids_out);
    for (uint32_t i = 0; i < block->count && !b->failed; i++) {
        ids_out[i] = take_stack(b, at, block->sizes[i], block->hashes[i]);
        at += block->sizes[i];
    }
    block->count = 0;
    block->bytes = 0;
}

void builder_every_location_used(struct builder *b)
{
    b->every_location_used = true;
}

// Attributes

static bool attribute_equal(const struct builder *b, uint32_t id, const void *key)
{
    const struct batch_attribute *have = (const struct batch_attribute *)b->attributes.items + id, *want = key;
    return have->key == want->key && have->unit == want->unit && value_equal(&have->value, &want->value);
}

static uint64_t attribute_hash(const struct batch_attribute *a)
{
    uint64_t words[3] = {a->key | (uint64_t)a->unit << 32, a->value.kind, value_content(&a->value)};
    return hash_bytes(words, sizeof words);
}

static bool copy_value(struct builder *b, const struct value *v, struct value *copy_out)
{
    size_t need = value_bytes(v), before = b->arena.total_bytes;
    return builder_arena_open(b, &b->arena, need) &&
           builder_arena_close(b, &b->arena, before, need,
                               value_copy_repaired(&b->arena, v, copy_out, &b->repaired_strings));
}

uint32_t builder_attribute(struct builder *b, uint32_t key, uint32_t unit, const struct value *v)
{
    if (!ready(b, &b->attributes, sizeof(struct batch_attribute)))
        return 0;
    CHECK(key < b->strings.count && unit < b->strings.count);
    struct batch_attribute a = {key, unit, *v};
    uint64_t hash = attribute_hash(&a), repaired = b->repaired_strings;
    uint32_t slot, id;
    if (find(b, &b->attributes, hash, attribute_equal, &a, &slot, &id))
        return id;
    if (!copy_value(b, v, &a.value))
        return 0;
    if (repaired != b->repaired_strings) { // its repaired form may be there already
        hash = attribute_hash(&a);
        if (find(b, &b->attributes, hash, attribute_equal, &a, &slot, &id))
            return id;
    }
    ((struct batch_attribute *)b->attributes.items)[b->attributes.count] = a;
    return add(&b->attributes, hash, slot);
}

// Attribute sets: members in any order are one set, so the hash is a sum over members and marks take the
// place of sorting.

static bool marks_room(struct builder *b, struct marks *m, size_t need)
{
    size_t old = m->capacity;
    if (need <= old)
        return true;
    if (!builder_grow(b, &m->stamps, &m->capacity, need, sizeof(uint32_t)))
        return false;
    memset((uint32_t *)m->stamps + old, 0, (m->capacity - old) * sizeof(uint32_t));
    return true;
}

static uint32_t marks_begin(struct marks *m)
{
    if (++m->round == 0) {
        memset(m->stamps, 0, m->capacity * sizeof(uint32_t));
        m->round = 1;
    }
    return m->round;
}

struct ids {
    const uint32_t *items;
    uint32_t count;
};

static inline bool ids_equal(const uint32_t *flat, struct batch_range range, const struct ids *want)
{
    return range.count == want->count &&
           (range.count == 0 || memcmp(flat + range.start, want->items, range.count * sizeof *flat) == 0);
}

static uint64_t set_hash(const struct builder *b, const struct ids *ids)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ids->count; i++) {
        uint64_t x = b->set_seed + ids->items[i] * 0x9E3779B97F4A7C15u;
        x = (x ^ x >> 32) * 0xD6E8FEB86659FD93u;
        x = (x ^ x >> 32) * 0xD6E8FEB86659FD93u;
        sum += x ^ x >> 32;
    }
    return hash_mix(sum, ids->count);
}

struct set_key {
    struct ids ids;
    struct marks *members; // a set that differs in order is found through these
};

static bool same_members(const uint32_t *have, const struct set_key *want)
{
    uint32_t *stamps = want->members->stamps, round = marks_begin(want->members);
    for (uint32_t i = 0; i < want->ids.count; i++)
        stamps[want->ids.items[i]] = round;
    for (uint32_t i = 0; i < want->ids.count; i++) {
        if (stamps[have[i]] != round)
            return false;
    }
    return true;
}

static bool set_equal(const struct builder *b, uint32_t id, const void *key)
{
    struct batch_range range = ((const struct batch_range *)b->attribute_sets.items)[id];
    const struct set_key *want = key;
    if (range.count != want->ids.count)
        return false;
    const uint32_t *flat = b->set_attributes.items;
    return ids_equal(flat, range, &want->ids) || same_members(flat + range.start, want);
}

// Leaves out attributes whose key came before.
static uint32_t copy_unique(struct builder *b, const struct ids *from, uint32_t *to)
{
    const struct batch_attribute *attributes = b->attributes.items;
    uint32_t *stamps = b->keys.stamps, round = marks_begin(&b->keys), count = 0;
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t key = attributes[from->items[i]].key;
        if (stamps[key] == round)
            continue;
        stamps[key] = round;
        to[count++] = from->items[i];
    }
    return count;
}

// A set not met in this form: its members go behind the flat array, without repeated keys.
static uint32_t new_set(struct builder *b, struct set_key *key, uint64_t hash, uint32_t slot)
{
    struct table *flat = &b->set_attributes;
    if (!table_room(b, flat, key->ids.count, sizeof(uint32_t)) || !marks_room(b, &b->keys, b->strings.count))
        return 0;
    uint32_t *tail = (uint32_t *)flat->items + flat->count;
    uint32_t count = copy_unique(b, &key->ids, tail);
    if (count < key->ids.count) {
        uint32_t id;
        key->ids = (struct ids){tail, count};
        hash = set_hash(b, &key->ids);
        if (find(b, &b->attribute_sets, hash, set_equal, key, &slot, &id))
            return id;
    }
    struct batch_range *ranges = b->attribute_sets.items;
    ranges[b->attribute_sets.count] = (struct batch_range){flat->count, count};
    flat->count += count;
    return add(&b->attribute_sets, hash, slot);
}

uint32_t builder_attribute_set(struct builder *b, const uint32_t *attributes, uint32_t count)
{
    if (count == 0 || !ready(b, &b->attribute_sets, sizeof(struct batch_range)) ||
        !marks_room(b, &b->members, b->attributes.count))
        return 0;
    check_ids(attributes, count, b->attributes.count);
    struct set_key key = {{attributes, count}, &b->members};
    uint64_t hash = set_hash(b, &key.ids);
    uint32_t slot, id;
    if (find(b, &b->attribute_sets, hash, set_equal, &key, &slot, &id))
        return id;
    return new_set(b, &key, hash, slot);
}

static uint32_t find_key(const struct builder *b, const uint32_t *ids, uint32_t count, uint32_t key)
{
    const struct batch_attribute *attributes = b->attributes.items;
    uint32_t i = 0;
    while (i < count && attributes[ids[i]].key != key)
        i++;
    return i;
}

uint32_t builder_attribute_set_with(struct builder *b, uint32_t set, uint32_t attribute)
{
    if (b->failed)
        return 0;
    CHECK(set < b->attribute_sets.count && attribute < b->attributes.count);
    struct batch_range range = ((const struct batch_range *)b->attribute_sets.items)[set];
    b->scratch.count = 0;
    if (!table_room(b, &b->scratch, (size_t)range.count + 1, sizeof(uint32_t)))
        return 0;
    uint32_t *ids = b->scratch.items;
    if (range.count > 0)
        memcpy(ids, (uint32_t *)b->set_attributes.items + range.start, range.count * sizeof *ids);
    uint32_t at = find_key(b, ids, range.count, ((const struct batch_attribute *)b->attributes.items)[attribute].key);
    ids[at] = attribute;
    return builder_attribute_set(b, ids, at == range.count ? range.count + 1 : range.count);
}

// Of a sealed dictionary: unique, valid, and it stays where it is.

static void borrow_string(struct builder *b, struct bytes text)
{
    uint64_t hash = hash_bytes(text.data, text.len);
    uint32_t slot, id;
    if (!ready(b, &b->strings, sizeof text) || find(b, &b->strings, hash, string_equal, &text, &slot, &id))
        return;
    ((struct bytes *)b->strings.items)[b->strings.count] = text;
    add(&b->strings, hash, slot);
}

static void borrow_attribute(struct builder *b, const struct batch_attribute *a)
{
    uint64_t hash = attribute_hash(a);
    uint32_t slot, id;
    if (!ready(b, &b->attributes, sizeof *a) || find(b, &b->attributes, hash, attribute_equal, a, &slot, &id))
        return;
    ((struct batch_attribute *)b->attributes.items)[b->attributes.count] = *a;
    add(&b->attributes, hash, slot);
}

void builder_adopt_attributes(struct builder *b, const struct dictionary *d)
{
    const struct dictionary *base = dictionary_base(d);
    builder_expect(b, &(struct builder_expected){.strings = d->string_count});
    for (uint32_t i = 0; i < base->string_count; i++)
        borrow_string(b, d->strings[i]);
    for (uint32_t i = base->string_count; i < d->string_count; i++)
        builder_string(b, d->strings[i]);
    for (uint32_t i = 0; i < base->attribute_count; i++)
        borrow_attribute(b, &d->attributes[i]);
    for (uint32_t i = base->attribute_count; i < d->attribute_count; i++)
        builder_attribute(b, d->attributes[i].key, d->attributes[i].unit, &d->attributes[i].value);
    for (uint32_t i = 0; i < d->attribute_set_count; i++) {
        struct batch_range range = d->attribute_sets[i];
        builder_attribute_set(b, d->set_attributes + range.start, range.count);
    }
    CHECK(b->failed || (b->strings.count == d->string_count && b->attributes.count == d->attribute_count &&
                        b->attribute_sets.count == d->attribute_set_count));
}

// Element 0 of every table.

static bool intern_zero_set(struct builder *b)
{
    if (!ready(b, &b->attribute_sets, sizeof(struct batch_range)))
        return false;
    struct ids none = {NULL, 0};
    uint64_t hash = set_hash(b, &none);
    *(struct batch_range *)b->attribute_sets.items = (struct batch_range){0, 0};
    add(&b->attribute_sets, hash, index_table_start(&b->attribute_sets.index, hash));
    return true;
}

// From here on there is an array of stack bytes, even while all stacks are empty.
static void intern_zero_stack(struct builder *b)
{
    if (table_room(b, &b->stack_bytes, 1, 1))
        builder_stack(b, NULL, 0);
}

bool builder_intern_zeros(struct builder *b)
{
    builder_string(b, (struct bytes){NULL, 0});
    intern_zero_set(b);
    builder_mapping(b, &(struct batch_mapping){0});
    builder_function(b, &(struct batch_function){0});
    builder_location(b, &(struct batch_location){0}, NULL, 0);
    intern_zero_stack(b);
    builder_link(b, &(struct batch_link){0});
    builder_attribute(b, 0, 0, &(struct value){0});
    return !b->failed;
}
