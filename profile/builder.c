// SPDX-License-Identifier: Apache-2.0
#include "profile/builder_internal.h"

#include "base/hash.h"
#include "base/mem.h"
#include "profile/value_copy.h"

#include <stdarg.h>
#include <stdio.h>

// Half of the address space: sums of two such figures still fit.
static const size_t NO_BOUND = SIZE_MAX / 2;

struct builder *builder_create(size_t max_bytes)
{
    struct builder *b = MEM_NEW(struct builder);
    b->max_bytes = max_bytes == 0 || max_bytes > NO_BOUND ? NO_BOUND : max_bytes;
    b->set_seed = hash_bytes("attribute set", 13);
    arena_init(&b->arena, 0);
    if (builder_intern_zeros(b))
        return b;
    CHECK(b->failed);
    return b;
}

static void table_fini(struct table *t)
{
    free(t->items);
    index_table_fini(&t->index);
    *t = (struct table){0};
}

static void marks_fini(struct marks *m)
{
    free(m->stamps);
    *m = (struct marks){0};
}

static void drop_helpers(struct builder *b)
{
    merge_map_destroy(b, &b->merge_map);
    marks_fini(&b->keys);
    marks_fini(&b->members);
    free(b->used_locations);
    b->used_locations = NULL;
    b->used_capacity = 0;
    table_fini(&b->scratch);
}

static void drop_tables(struct builder *b)
{
    struct table *tables[] = {&b->strings, &b->mappings,    &b->locations,     &b->functions,
                              &b->links,   &b->attributes,  &b->stacks,        &b->attribute_sets,
                              &b->lines,   &b->stack_bytes, &b->set_attributes};
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        table_fini(tables[i]);
    arena_fini(&b->arena);
}

static void drop_all(struct builder *b)
{
    drop_helpers(b);
    builder_drop_containers(b);
    table_fini(&b->resources);
    table_fini(&b->scopes);
    table_fini(&b->profiles);
    table_fini(&b->entity_refs);
    drop_tables(b);
}

void builder_destroy(struct builder **b)
{
    if (*b == NULL)
        return;
    drop_all(*b);
    free(*b);
    *b = NULL;
}

bool builder_failed(const struct builder *b)
{
    return b->failed;
}

void builder_fail(struct builder *b, enum err_code code, const char *format, ...)
{
    if (b->failed)
        return;
    b->failed = true;
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    err_set(&b->failure, code, "%s", text);
}

static void fail_memory(struct builder *b)
{
    builder_fail(b, ERR_MEMORY, "out of memory while building a batch of %zu bytes", b->used_bytes);
}

static void fail_budget(struct builder *b, size_t bytes)
{
    builder_fail(b, ERR_LIMIT, "the batch would take %zu bytes of memory, %zu are allowed", b->used_bytes + bytes,
                 b->max_bytes);
}

bool builder_charge(struct builder *b, size_t bytes)
{
    if (b->failed)
        return false;
    if (bytes > b->max_bytes - b->used_bytes) {
        fail_budget(b, bytes < NO_BOUND ? bytes : NO_BOUND);
        return false;
    }
    b->used_bytes += bytes;
    return true;
}

void builder_discharge(struct builder *b, size_t bytes)
{
    CHECK(bytes <= b->used_bytes);
    b->used_bytes -= bytes;
}

void *builder_alloc(struct builder *b, size_t count, size_t item_size)
{
    size_t size;
    if (__builtin_mul_overflow(count, item_size, &size))
        size = NO_BOUND;
    if (!builder_charge(b, size))
        return NULL;
    void *p = mem_try_alloc(size);
    if (p != NULL)
        return p;
    builder_discharge(b, size);
    fail_memory(b);
    return NULL;
}

bool builder_grow(struct builder *b, void **items, size_t *capacity, size_t need, size_t item_size)
{
    if (b->failed)
        return false;
    if (need <= *capacity)
        return true;
    if (need > UINT32_MAX) {
        builder_fail(b, ERR_LIMIT, "the batch has %zu items in one table, %u are possible", need, UINT32_MAX);
        return false;
    }
    size_t left = b->max_bytes - b->used_bytes, old = *capacity;
    if ((need - old) * item_size > left) {
        fail_budget(b, (need - old) * item_size);
        return false;
    }
    size_t max_items = old + left / item_size;
    if (!mem_try_grow(items, capacity, need, item_size, max_items < UINT32_MAX ? max_items : UINT32_MAX)) {
        fail_memory(b);
        return false;
    }
    b->used_bytes += (*capacity - old) * item_size;
    return true;
}

static size_t index_bytes(const struct index_table *index)
{
    return index->slots == NULL ? 0 : ((size_t)index->mask + 1) * sizeof *index->slots;
}

bool builder_grow_index(struct builder *b, struct index_table *index)
{
    if (b->failed)
        return false;
    size_t before = index_bytes(index);
    if (before > b->max_bytes - b->used_bytes) {
        fail_budget(b, before);
        return false;
    }
    if (!index_table_reserve(index)) {
        fail_memory(b);
        return false;
    }
    return builder_charge(b, index_bytes(index) - before);
}

bool builder_may_expect(const struct builder *b, size_t bytes)
{
    return !b->failed && bytes <= (b->max_bytes - b->used_bytes) / 2;
}

// Room for `count` items, element 0 not among them.
static void expect_items(struct builder *b, struct table *t, uint32_t count, size_t item_size)
{
    size_t need = (size_t)count + 1;
    bool may = builder_may_expect(b, need * item_size);
    if (may && !builder_grow(b, &t->items, &t->capacity, need, item_size))
        return; // noted in b
}

static void expect_index(struct builder *b, struct table *t, uint32_t count)
{
    size_t before = index_bytes(&t->index), after = index_table_bytes(count + 1);
    if (count >= UINT32_MAX / 4 || after <= before || !builder_may_expect(b, after))
        return;
    if (index_table_expect(&t->index, count + 1))
        b->used_bytes += after - before;
    else
        fail_memory(b);
}

void builder_expect(struct builder *b, const struct builder_expected *expected)
{
    const struct {
        struct table *table;
        uint32_t count;
        size_t item_size;
        bool indexed;
    } all[] = {
        {&b->strings, expected->strings, sizeof(struct bytes), true},
        {&b->functions, expected->functions, sizeof(struct batch_function), true},
        {&b->locations, expected->locations, sizeof(struct batch_location), true},
        {&b->lines, expected->lines, sizeof(struct batch_line), false},
        {&b->stacks, expected->stacks, sizeof(struct batch_range), true},
        {&b->stack_bytes, expected->stack_bytes, 1, false},
    };
    size_t locations = (size_t)expected->locations + 1;
    if (builder_may_expect(b, locations) && !builder_used_room(b, locations))
        return; // noted in b
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        expect_items(b, all[i].table, all[i].count, all[i].item_size);
        if (all[i].indexed)
            expect_index(b, all[i].table, all[i].count);
    }
}

void *builder_shrink(struct builder *b, void *items, size_t *capacity, size_t count, size_t item_size)
{
    if (count >= *capacity) // full, or a column that was never begun
        return items;
    size_t spare = (*capacity - count) * item_size;
    if (spare < 256 || spare < count * item_size / 8)
        return items;
    void *shrunk = mem_try_realloc(items, count * item_size);
    if (shrunk == NULL)
        return items;
    builder_discharge(b, spare);
    *capacity = count;
    return shrunk;
}

bool builder_arena_open(struct builder *b, struct arena *a, size_t need)
{
    if (b->failed)
        return false;
    size_t left = b->max_bytes - b->used_bytes;
    if (need > left) {
        fail_budget(b, need < NO_BOUND ? need : NO_BOUND);
        return false;
    }
    // 0 would be no bound.
    a->max_bytes = a->total_bytes + left > 0 ? a->total_bytes + left : 1;
    return true;
}

bool builder_arena_close(struct builder *b, struct arena *a, size_t before, size_t need, bool ok)
{
    b->used_bytes += a->total_bytes - before;
    if (ok)
        return true;
    // The arena does not say what it lacked; with less than twice the need left it was the budget.
    if (b->max_bytes - b->used_bytes < 2 * need + 4096)
        fail_budget(b, need);
    else
        fail_memory(b);
    return false;
}

bool builder_copy_text(struct builder *b, struct arena *a, struct bytes text, struct bytes *copy_out)
{
    size_t before = a->total_bytes;
    return builder_arena_open(b, a, text.len) &&
           builder_arena_close(b, a, before, text.len, text_copy_repaired(a, text, copy_out, &b->repaired_strings));
}

bool builder_copy_bytes(struct builder *b, struct arena *a, struct bytes data, struct bytes *copy_out)
{
    size_t before = a->total_bytes;
    return builder_arena_open(b, a, data.len) &&
           builder_arena_close(b, a, before, data.len, arena_try_copy(a, data, copy_out));
}

// Seals one table: its array goes to the dictionary, its index is not needed any more.
static void *seal(struct builder *b, struct table *t, size_t item_size, uint32_t *count_out, size_t *bytes)
{
    void *items = builder_shrink(b, t->items, &t->capacity, t->count, item_size);
    *count_out = t->count;
    *bytes += t->capacity * item_size;
    t->items = NULL;
    table_fini(t);
    return items;
}

static bool every_location_used(const struct builder *b)
{
    const bool *used = b->used_locations;
    uint32_t i = 1, count = b->locations.count;
    while (i < count && i < b->used_capacity && used[i])
        i++;
    return b->every_location_used || i == count;
}

static struct dictionary *seal_dictionary(struct builder *b)
{
    struct dictionary *d = builder_alloc(b, 1, sizeof *d);
    if (d == NULL)
        return NULL;
    *d = (struct dictionary){.refs = 1,
                             .every_location_used = every_location_used(b),
                             .bytes = sizeof *d + b->arena.total_bytes,
                             .arena = b->arena};
    arena_init(&b->arena, 0);
    uint32_t count;
    d->strings = seal(b, &b->strings, sizeof *d->strings, &d->string_count, &d->bytes);
    d->mappings = seal(b, &b->mappings, sizeof *d->mappings, &d->mapping_count, &d->bytes);
    d->locations = seal(b, &b->locations, sizeof *d->locations, &d->location_count, &d->bytes);
    d->lines = seal(b, &b->lines, sizeof *d->lines, &d->line_count, &d->bytes);
    d->functions = seal(b, &b->functions, sizeof *d->functions, &d->function_count, &d->bytes);
    d->links = seal(b, &b->links, sizeof *d->links, &d->link_count, &d->bytes);
    d->attributes = seal(b, &b->attributes, sizeof *d->attributes, &d->attribute_count, &d->bytes);
    d->stacks = seal(b, &b->stacks, sizeof *d->stacks, &d->stack_count, &d->bytes);
    d->attribute_sets = seal(b, &b->attribute_sets, sizeof *d->attribute_sets, &d->attribute_set_count, &d->bytes);
    d->stack_bytes = seal(b, &b->stack_bytes, 1, &count, &d->bytes);
    d->stack_byte_count = count;
    d->set_attributes = seal(b, &b->set_attributes, sizeof *d->set_attributes, &count, &d->bytes);
    d->set_attribute_count = count;
    return d;
}

// The copy of a table that did not grow goes with the builder.
static const void *seal_grown(struct builder *b, struct table *t, const void *old, uint32_t old_count, size_t item_size,
                              size_t *bytes)
{
    uint32_t count;
    return t->count == old_count ? old : seal(b, t, item_size, &count, bytes);
}

static void seal_tables_over(struct builder *b, struct dictionary *to, const struct dictionary *base)
{
    to->string_count = b->strings.count;
    to->attribute_count = b->attributes.count;
    to->attribute_set_count = b->attribute_sets.count;
    to->set_attribute_count = b->set_attributes.count;
    to->strings = seal_grown(b, &b->strings, base->strings, base->string_count, sizeof *base->strings, &to->bytes);
    to->attributes =
        seal_grown(b, &b->attributes, base->attributes, base->attribute_count, sizeof *base->attributes, &to->bytes);
    to->attribute_sets = seal_grown(b, &b->attribute_sets, base->attribute_sets, base->attribute_set_count,
                                    sizeof *base->attribute_sets, &to->bytes);
    to->set_attributes = seal_grown(b, &b->set_attributes, base->set_attributes, (uint32_t)base->set_attribute_count,
                                    sizeof *base->set_attributes, &to->bytes);
}

struct dictionary *builder_seal_attributes(struct builder *b, struct dictionary *d)
{
    struct dictionary *base = d->base == NULL ? d : d->base;
    struct dictionary *new = b->failed ? NULL : builder_alloc(b, 1, sizeof *new);
    if (new == NULL)
        return NULL;
    *new = (struct dictionary){.refs = 1,
                               .mappings = d->mappings,
                               .locations = d->locations,
                               .lines = d->lines,
                               .functions = d->functions,
                               .links = d->links,
                               .stacks = d->stacks,
                               .stack_bytes = d->stack_bytes,
                               .mapping_count = d->mapping_count,
                               .location_count = d->location_count,
                               .line_count = d->line_count,
                               .function_count = d->function_count,
                               .link_count = d->link_count,
                               .stack_count = d->stack_count,
                               .stack_byte_count = d->stack_byte_count,
                               .every_location_used = d->every_location_used,
                               .arena = b->arena,
                               .base = dictionary_ref(base),
                               .bytes = sizeof *new + b->arena.total_bytes + base->bytes};
    arena_init(&b->arena, 0);
    seal_tables_over(b, new, base);
    return new;
}

static struct batch *seal_batch(struct builder *b)
{
    if (b->failed)
        return NULL;
    struct dictionary *d = seal_dictionary(b);
    if (d == NULL)
        return NULL;
    uint32_t count = b->resources.count;
    b->resources.count = 0;
    struct batch *batch = batch_create(d, b->resources.items, count);
    if (batch == NULL)
        fail_memory(b);
    return batch;
}

enum err_code builder_finish(struct builder *b, struct batch **out, struct err *e)
{
    builder_close_containers(b);
    *out = seal_batch(b);
    enum err_code code = *out != NULL ? ERR_OK : err_set(e, b->failure.code, "%s", b->failure.text);
    drop_all(b);
    builder_fail(b, ERR_INVALID, "the builder was finished before");
    return code;
}
