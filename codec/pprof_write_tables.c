// SPDX-License-Identifier: Apache-2.0
// Strings, mappings, locations and functions of a pprof file being written. Ids are 1..n, in the order of the
// dictionary; only what the samples reach is written, and mappings that no location of the dictionary uses.
#include "base/hash.h"
#include "base/mem.h"
#include "codec/pprof_writer.h"
#include "profile/stack.h"

bool pprof_writer_failed(const struct pprof_writer *w)
{
    return w->no_memory || w->out->failed;
}

static void *filled_new(struct pprof_writer *w, size_t count, size_t size, int fill)
{
    void *items = w->no_memory ? NULL : mem_try_array(count, size);
    if (items == NULL)
        w->no_memory = true;
    else
        memset(items, fill, count * size);
    return items;
}

static uint32_t *numbers_new(struct pprof_writer *w, size_t count, int fill)
{
    return filled_new(w, count, sizeof(uint32_t), fill);
}

static bool strings_room(struct pprof_writer *w)
{
    void *strings = w->strings;
    if (w->no_memory || !index_table_reserve(&w->string_table) ||
        !mem_try_grow(&strings, &w->string_capacity, w->string_count + 1, sizeof *w->strings, UINT32_MAX - 2))
        w->no_memory = true;
    else
        w->strings = strings;
    return !w->no_memory;
}

uint64_t pprof_put_text(struct pprof_writer *w, struct bytes text)
{
    if (text.len == 0 || !strings_room(w))
        return 0;
    uint64_t hash = hash_bytes(text.data, text.len);
    uint32_t id, slot = index_table_start(&w->string_table, hash);
    for (; index_table_next(&w->string_table, hash, &slot, &id); index_table_skip(&w->string_table, &slot)) {
        if (bytes_equal(w->strings[id], text))
            return (uint64_t)id + 1;
    }
    id = (uint32_t)w->string_count++;
    w->strings[id] = text;
    index_table_insert(&w->string_table, hash, slot, id);
    return (uint64_t)id + 1;
}

uint64_t pprof_put_string(struct pprof_writer *w, uint32_t id)
{
    if (w->no_memory)
        return 0;
    if (w->string_numbers[id] == PPROF_NONE)
        w->string_numbers[id] = (uint32_t)pprof_put_text(w, w->d->strings[id]);
    return w->string_numbers[id];
}

const struct batch_attribute *pprof_attribute_at(const struct pprof_writer *w, uint32_t set, uint32_t i)
{
    return &w->d->attributes[w->d->set_attributes[w->d->attribute_sets[set].start + i]];
}

struct bytes pprof_attribute_key(const struct pprof_writer *w, const struct batch_attribute *a)
{
    return w->d->strings[a->key];
}

void pprof_writer_fini(struct pprof_writer *w)
{
    free(w->string_numbers);
    free(w->strings);
    index_table_fini(&w->string_table);
    free(w->mapping_ids);
    free(w->location_ids);
    free(w->function_ids);
    free(w->set_labels);
    free(w->sets);
    buf_fini(&w->labels);
    free(w->link_texts);
    arena_fini(&w->texts);
}

static void mark_stack(struct pprof_writer *w, uint32_t stack)
{
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, w->d, stack);
    while (stack_next(&r, &location))
        w->location_ids[location] = 1;
}

static void mark_stacks(struct pprof_writer *w)
{
    const struct columns *c = w->profiles->columns;
    uint32_t *met = numbers_new(w, w->d->stack_count, 0);
    for (uint32_t i = 0; met != NULL && i < c->sample_count; i++) {
        uint32_t stack = c->stacks != NULL ? c->stacks[i] : 0;
        if (!met[stack])
            mark_stack(w, stack);
        met[stack] = 1;
    }
    free(met);
}

static void mark_location(struct pprof_writer *w, const struct batch_location *l)
{
    w->mapping_ids[l->mapping] = 1;
    for (uint32_t i = 0; i < l->line_count; i++)
        w->function_ids[w->d->lines[l->line_start + i].function] = 1;
}

static void mark_unused_mappings(struct pprof_writer *w)
{
    uint32_t *used = numbers_new(w, w->d->mapping_count, 0);
    for (uint32_t i = 0; used != NULL && i < w->d->location_count; i++)
        used[w->d->locations[i].mapping] = 1;
    for (uint32_t i = 1; used != NULL && i < w->d->mapping_count; i++)
        w->mapping_ids[i] |= !used[i];
    free(used);
}

static void number_marked(uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 0, next = 1; i < count; i++) {
        if (ids[i])
            ids[i] = next++;
    }
}

void pprof_number_items(struct pprof_writer *w)
{
    const struct dictionary *d = w->d;
    w->string_numbers = numbers_new(w, d->string_count, 0xff);
    w->set_labels = numbers_new(w, d->attribute_set_count, 0xff);
    w->mapping_ids = numbers_new(w, d->mapping_count, 0);
    w->location_ids = numbers_new(w, d->location_count, 0);
    w->function_ids = numbers_new(w, d->function_count, 0);
    w->link_texts = filled_new(w, d->link_count, sizeof *w->link_texts, 0);
    if (w->no_memory)
        return;
    mark_stacks(w);
    for (uint32_t i = 0; i < d->location_count; i++) {
        if (w->location_ids[i])
            mark_location(w, &d->locations[i]);
    }
    w->mapping_ids[0] = 0; // unknown
    mark_unused_mappings(w);
    number_marked(w->mapping_ids, d->mapping_count);
    number_marked(w->location_ids, d->location_count);
    number_marked(w->function_ids, d->function_count);
}

// Field numbers of Mapping's flags.
static uint32_t mapping_flag(struct bytes key)
{
    static const char *const names[] = {"pprof.mapping.has_functions", "pprof.mapping.has_filenames",
                                        "pprof.mapping.has_line_numbers", "pprof.mapping.has_inline_frames"};
    for (uint32_t i = 0; i < COUNT_OF(names); i++) {
        if (bytes_equal_text(key, names[i]))
            return 7 + i;
    }
    return 0;
}

// Of several build ids the first of this list is written.
static unsigned build_id_rank(struct bytes key)
{
    static const char *const names[] = {"process.executable.build_id.gnu", "process.executable.build_id.go",
                                        "process.executable.build_id.htlhash", "process.executable.build_id.profiling"};
    unsigned rank = 0;
    while (rank < COUNT_OF(names) && !bytes_equal_text(key, names[rank]))
        rank++;
    return rank;
}

struct mapping_extras {
    struct bytes build_id;
    unsigned rank;
    bool flags[4];
};

static void mapping_attribute(struct pprof_writer *w, const struct batch_attribute *a, struct mapping_extras *x)
{
    struct bytes key = pprof_attribute_key(w, a);
    uint32_t flag = mapping_flag(key);
    unsigned rank = build_id_rank(key);
    if (flag != 0 && a->value.kind == VALUE_BOOL) {
        x->flags[flag - 7] = a->value.boolean;
    } else if (rank < x->rank && a->value.kind == VALUE_STRING) {
        w->lost += x->build_id.len > 0;
        x->build_id = a->value.bytes;
        x->rank = rank;
    } else {
        w->lost++;
    }
}

static void write_mapping(struct pprof_writer *w, uint32_t id, const struct batch_mapping *m)
{
    struct mapping_extras x = {.rank = 4};
    for (uint32_t i = 0; i < w->d->attribute_sets[m->attribute_set].count; i++)
        mapping_attribute(w, pprof_attribute_at(w, m->attribute_set, i), &x);
    size_t start = wire_begin(w->out, 3);
    wire_put_uint(w->out, 1, id);
    wire_put_uint(w->out, 2, m->memory_start);
    wire_put_uint(w->out, 3, m->memory_limit);
    wire_put_uint(w->out, 4, m->file_offset);
    wire_put_uint(w->out, 5, pprof_put_string(w, m->filename));
    wire_put_uint(w->out, 6, pprof_put_text(w, x.build_id));
    for (uint32_t i = 0; i < COUNT_OF(x.flags); i++)
        wire_put_uint(w->out, 7 + i, x.flags[i]);
    wire_end(w->out, start);
}

void pprof_write_mappings(struct pprof_writer *w)
{
    for (uint32_t i = 0; !pprof_writer_failed(w) && i < w->d->mapping_count; i++) {
        if (w->mapping_ids[i] != 0)
            write_mapping(w, w->mapping_ids[i], &w->d->mappings[i]);
    }
}

static bool is_folded(struct pprof_writer *w, uint32_t set)
{
    bool folded = false;
    for (uint32_t i = 0; i < w->d->attribute_sets[set].count; i++) {
        const struct batch_attribute *a = pprof_attribute_at(w, set, i);
        if (a->value.kind == VALUE_BOOL && bytes_equal_text(pprof_attribute_key(w, a), "pprof.location.is_folded"))
            folded = a->value.boolean;
        else
            w->lost++;
    }
    return folded;
}

static void write_location(struct pprof_writer *w, uint32_t id, const struct batch_location *l)
{
    size_t start = wire_begin(w->out, 4);
    wire_put_uint(w->out, 1, id);
    wire_put_uint(w->out, 2, w->mapping_ids[l->mapping]);
    wire_put_uint(w->out, 3, l->address);
    for (uint32_t i = 0; i < l->line_count; i++) {
        const struct batch_line *line = &w->d->lines[l->line_start + i];
        size_t line_start = wire_begin(w->out, 4);
        wire_put_uint(w->out, 1, w->function_ids[line->function]);
        wire_put_uint(w->out, 2, (uint64_t)line->line);
        wire_put_uint(w->out, 3, (uint64_t)line->column);
        wire_end(w->out, line_start);
    }
    wire_put_uint(w->out, 5, is_folded(w, l->attribute_set));
    wire_end(w->out, start);
}

void pprof_write_locations(struct pprof_writer *w)
{
    for (uint32_t i = 0; !pprof_writer_failed(w) && i < w->d->location_count; i++) {
        if (w->location_ids[i] != 0)
            write_location(w, w->location_ids[i], &w->d->locations[i]);
    }
}

void pprof_write_functions(struct pprof_writer *w)
{
    for (uint32_t i = 0; !pprof_writer_failed(w) && i < w->d->function_count; i++) {
        const struct batch_function *f = &w->d->functions[i];
        if (w->function_ids[i] == 0)
            continue;
        size_t start = wire_begin(w->out, 5);
        wire_put_uint(w->out, 1, w->function_ids[i]);
        wire_put_uint(w->out, 2, pprof_put_string(w, f->name));
        wire_put_uint(w->out, 3, pprof_put_string(w, f->system_name));
        wire_put_uint(w->out, 4, pprof_put_string(w, f->filename));
        wire_put_uint(w->out, 5, (uint64_t)f->start_line);
        wire_end(w->out, start);
    }
}

void pprof_write_strings(struct pprof_writer *w)
{
    wire_put_bytes(w->out, 6, (struct bytes){0});
    for (size_t i = 0; i < w->string_count; i++)
        wire_put_bytes(w->out, 6, w->strings[i]);
}
