// SPDX-License-Identifier: Apache-2.0
#include "view/call_functions.h"

#include "base/hash.h"
#include "base/mem.h"
#include "view/own_code.h"

bool call_functions_no_memory(struct call_functions *c)
{
    err_set(c->e, ERR_MEMORY, "out of memory for the functions of a profile, %u so far", c->tree->function_count);
    return false;
}

static bool grow(struct call_functions *c, struct grown_array *a, size_t need, size_t item_size)
{
    return mem_try_grow(&a->items, &a->capacity, need, item_size, UINT32_MAX - 1) || call_functions_no_memory(c);
}

// --- functions ---

static struct bytes place_of(const struct call_function *f)
{
    return f->file.len > 0 ? f->file : f->module;
}

static bool same_function(const struct call_function *a, const struct call_function *b)
{
    return (a->file.len > 0) == (b->file.len > 0) && bytes_equal(a->name, b->name) &&
           bytes_equal(place_of(a), place_of(b));
}

static bool find_namesake(struct call_functions *c, struct call_function *f, uint64_t hash, uint32_t id)
{
    const struct call_function *functions = c->functions.items;
    uint32_t other;
    if (!index_table_reserve(&c->name_table))
        return call_functions_no_memory(c);
    uint32_t slot = index_table_start(&c->name_table, hash);
    for (; index_table_next(&c->name_table, hash, &slot, &other); index_table_skip(&c->name_table, &slot)) {
        if (bytes_equal(functions[other].name, f->name)) {
            f->namesake = other;
            return true;
        }
    }
    index_table_insert(&c->name_table, hash, slot, id);
    f->namesake = id;
    return true;
}

static uint8_t marks_of(const struct call_tree_options *o, struct bytes name)
{
    bool focus = o->focus != NULL && regex_search(o->focus, name, NULL, 0);
    bool ignore = o->ignore != NULL && regex_search(o->ignore, name, NULL, 0);
    return (uint8_t)((focus ? MARK_FOCUS : 0) | (ignore ? MARK_IGNORE : 0));
}

static bool function_create(struct call_functions *c, const struct call_function *wanted, uint64_t name_hash)
{
    uint32_t id = c->tree->function_count;
    struct arena *arena = &c->tree->arena;
    struct call_function f;
    if (!grow(c, &c->functions, (size_t)id + 1, sizeof f) || !grow(c, &c->marks, (size_t)id + 1, 1))
        return false;
    if (!arena_try_copy(arena, wanted->name, &f.name) || !arena_try_copy(arena, wanted->file, &f.file) ||
        !arena_try_copy(arena, wanted->module, &f.module))
        return call_functions_no_memory(c);
    f.own = is_own_code(f.name, f.file, f.module, c->options->own);
    if (!find_namesake(c, &f, name_hash, id))
        return false;
    ((struct call_function *)c->functions.items)[id] = f;
    ((uint8_t *)c->marks.items)[id] = marks_of(c->options, f.name);
    c->tree->function_count++;
    return true;
}

bool call_function_find(struct call_functions *c, const struct call_function *wanted, uint32_t *id_out)
{
    const struct call_function *functions = c->functions.items;
    const struct bytes place = place_of(wanted);
    const uint64_t name_hash = hash_bytes(wanted->name.data, wanted->name.len);
    const uint64_t hash = hash_mix(name_hash, hash_bytes(place.data, place.len));
    if (!index_table_reserve(&c->function_table))
        return call_functions_no_memory(c);
    uint32_t slot = index_table_start(&c->function_table, hash);
    for (; index_table_next(&c->function_table, hash, &slot, id_out); index_table_skip(&c->function_table, &slot)) {
        if (same_function(&functions[*id_out], wanted))
            return true;
    }
    *id_out = c->tree->function_count;
    if (!function_create(c, wanted, name_hash))
        return false;
    index_table_insert(&c->function_table, hash, slot, *id_out);
    return true;
}

// --- runs of functions ---

bool call_run_add(struct call_functions *c, uint32_t function)
{
    if (!grow(c, &c->run_functions, (size_t)c->run_function_count + 1, sizeof function))
        return false;
    ((uint32_t *)c->run_functions.items)[c->run_function_count++] = function;
    return true;
}

bool call_run_end(struct call_functions *c, uint32_t start, uint32_t *run_out)
{
    const uint8_t *marks = c->marks.items;
    const uint32_t *functions = c->run_functions.items;
    struct frame_run run = {.start = start, .count = c->run_function_count - start};
    if (!grow(c, &c->runs, (size_t)c->run_count + 1, sizeof run))
        return false;
    for (uint32_t i = 0; i < run.count; i++)
        run.marks |= marks[functions[start + i]];
    *run_out = c->run_count++;
    ((struct frame_run *)c->runs.items)[*run_out] = run;
    return true;
}

// --- begin and end ---

bool call_functions_init(struct call_functions *c, struct call_tree *tree, const struct call_tree_options *options,
                         struct err *e)
{
    static const struct call_function all = {.name = {(const uint8_t *)"all", 3}};
    *c = (struct call_functions){.tree = tree, .options = options, .e = e};
    return function_create(c, &all, 0); // in no table: no other can be taken for it
}

void call_functions_fini(struct call_functions *c)
{
    free(c->functions.items);
    free(c->marks.items);
    free(c->runs.items);
    free(c->run_functions.items);
    index_table_fini(&c->function_table);
    index_table_fini(&c->name_table);
}
