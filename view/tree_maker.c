// SPDX-License-Identifier: Apache-2.0
#include "view/tree_maker.h"

#include "base/hash.h"
#include "base/mem.h"
#include "view/own_code.h"
#include "view/stack_sums.h"

bool tree_no_memory(struct tree_maker *m)
{
    err_set(m->e, ERR_MEMORY, "out of memory for a call tree of %u nodes", m->tree->node_count);
    return false;
}

static bool grow(struct tree_maker *m, struct grown_array *a, size_t need, size_t item_size)
{
    return mem_try_grow(&a->items, &a->capacity, need, item_size, UINT32_MAX - 1) || tree_no_memory(m);
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

static bool find_namesake(struct tree_maker *m, struct call_function *f, uint64_t hash, uint32_t id)
{
    const struct call_function *functions = m->functions.items;
    uint32_t other;
    if (!index_table_reserve(&m->name_table))
        return tree_no_memory(m);
    uint32_t slot = index_table_start(&m->name_table, hash);
    for (; index_table_next(&m->name_table, hash, &slot, &other); index_table_skip(&m->name_table, &slot)) {
        if (bytes_equal(functions[other].name, f->name)) {
            f->namesake = other;
            return true;
        }
    }
    index_table_insert(&m->name_table, hash, slot, id);
    f->namesake = id;
    return true;
}

static uint8_t marks_of(const struct call_tree_options *o, struct bytes name)
{
    bool focus = o->focus != NULL && regex_search(o->focus, name, NULL, 0);
    bool ignore = o->ignore != NULL && regex_search(o->ignore, name, NULL, 0);
    return (uint8_t)((focus ? MARK_FOCUS : 0) | (ignore ? MARK_IGNORE : 0));
}

static bool function_create(struct tree_maker *m, const struct call_function *wanted, uint64_t name_hash)
{
    uint32_t id = m->tree->function_count;
    struct arena *arena = &m->tree->arena;
    struct call_function f;
    if (!grow(m, &m->functions, (size_t)id + 1, sizeof f) || !grow(m, &m->marks, (size_t)id + 1, 1))
        return false;
    if (!arena_try_copy(arena, wanted->name, &f.name) || !arena_try_copy(arena, wanted->file, &f.file) ||
        !arena_try_copy(arena, wanted->module, &f.module))
        return tree_no_memory(m);
    f.own = is_own_code(f.name, f.file, f.module, m->options->own);
    if (!find_namesake(m, &f, name_hash, id))
        return false;
    ((struct call_function *)m->functions.items)[id] = f;
    ((uint8_t *)m->marks.items)[id] = marks_of(m->options, f.name);
    m->tree->function_count++;
    return true;
}

bool tree_function(struct tree_maker *m, const struct call_function *wanted, uint32_t *id_out)
{
    const struct call_function *functions = m->functions.items;
    const struct bytes place = place_of(wanted);
    const uint64_t name_hash = hash_bytes(wanted->name.data, wanted->name.len);
    const uint64_t hash = hash_mix(name_hash, hash_bytes(place.data, place.len));
    if (!index_table_reserve(&m->function_table))
        return tree_no_memory(m);
    uint32_t slot = index_table_start(&m->function_table, hash);
    for (; index_table_next(&m->function_table, hash, &slot, id_out); index_table_skip(&m->function_table, &slot)) {
        if (same_function(&functions[*id_out], wanted))
            return true;
    }
    *id_out = m->tree->function_count;
    if (!function_create(m, wanted, name_hash))
        return false;
    index_table_insert(&m->function_table, hash, slot, *id_out);
    return true;
}

// --- runs of functions ---

bool tree_run_add(struct tree_maker *m, uint32_t function)
{
    if (!grow(m, &m->run_functions, (size_t)m->run_function_count + 1, sizeof function))
        return false;
    ((uint32_t *)m->run_functions.items)[m->run_function_count++] = function;
    return true;
}

bool tree_run_end(struct tree_maker *m, uint32_t start, uint32_t *run_out)
{
    const uint8_t *marks = m->marks.items;
    const uint32_t *functions = m->run_functions.items;
    struct frame_run run = {.start = start, .count = m->run_function_count - start};
    if (!grow(m, &m->runs, (size_t)m->run_count + 1, sizeof run))
        return false;
    for (uint32_t i = 0; i < run.count; i++)
        run.marks |= marks[functions[start + i]];
    *run_out = m->run_count++;
    ((struct frame_run *)m->runs.items)[*run_out] = run;
    return true;
}

// --- nodes ---

static uint64_t hash_pair(uint32_t a, uint32_t b)
{
    return hash_mix(hash_mix(0, (uint64_t)a << 32 | b), 1);
}

static bool node_create(struct tree_maker *m, uint32_t parent, uint32_t function, uint32_t *node_out)
{
    const uint32_t id = m->tree->node_count, max = m->options->max_nodes;
    if (max != 0 && id >= max) {
        err_set(m->e, ERR_LIMIT,
                "the call tree has more than %u nodes, which is the limit; narrow it with --focus or --ignore", max);
        return false;
    }
    if (!grow(m, &m->nodes, (size_t)id + 1, sizeof(struct call_node)))
        return false;
    struct call_node *nodes = m->nodes.items;
    nodes[id] = (struct call_node){.function = function, .parent = parent};
    if (id != 0) {
        nodes[id].next_sibling = nodes[parent].first_child;
        nodes[parent].first_child = id;
    }
    m->tree->node_count++;
    *node_out = id;
    return true;
}

static bool child_of(struct tree_maker *m, uint32_t parent, uint32_t function, uint32_t *node_out)
{
    const struct call_node *nodes = m->nodes.items;
    const uint64_t hash = hash_pair(parent, function);
    if (!index_table_reserve(&m->node_table))
        return tree_no_memory(m);
    uint32_t slot = index_table_start(&m->node_table, hash);
    for (; index_table_next(&m->node_table, hash, &slot, node_out); index_table_skip(&m->node_table, &slot)) {
        if (nodes[*node_out].parent == parent && nodes[*node_out].function == function)
            return true;
    }
    if (!node_create(m, parent, function, node_out))
        return false;
    index_table_insert(&m->node_table, hash, slot, *node_out);
    return true;
}

static bool step_create(struct tree_maker *m, uint32_t parent, uint32_t run, uint32_t *node_out)
{
    const struct frame_run r = ((struct frame_run *)m->runs.items)[run];
    if (!grow(m, &m->steps, (size_t)m->step_count + 1, sizeof(struct tree_step)))
        return false;
    *node_out = parent;
    for (uint32_t i = 0; i < r.count; i++) {
        if (!child_of(m, *node_out, ((uint32_t *)m->run_functions.items)[r.start + i], node_out))
            return false;
    }
    ((struct tree_step *)m->steps.items)[m->step_count++] = (struct tree_step){parent, run, *node_out};
    return true;
}

bool tree_step(struct tree_maker *m, uint32_t parent, uint32_t run, uint32_t *node_out)
{
    const struct tree_step *steps = m->steps.items;
    const uint64_t hash = hash_pair(parent, run);
    uint32_t id;
    if (!index_table_reserve(&m->step_table))
        return tree_no_memory(m);
    uint32_t slot = index_table_start(&m->step_table, hash);
    for (; index_table_next(&m->step_table, hash, &slot, &id); index_table_skip(&m->step_table, &slot)) {
        if (steps[id].parent == parent && steps[id].run == run) {
            *node_out = steps[id].node;
            return true;
        }
    }
    if (!step_create(m, parent, run, node_out))
        return false;
    index_table_insert(&m->step_table, hash, slot, m->step_count - 1);
    return true;
}

// --- begin and end ---

bool tree_maker_init(struct tree_maker *m, struct call_tree *out, const struct call_tree_options *options,
                     struct err *e)
{
    static const struct call_function all = {.name = {(const uint8_t *)"all", 3}};
    uint32_t root;
    *m = (struct tree_maker){.tree = out, .options = options, .e = e};
    // Neither the function nor the node is in a table: no other can be taken for them.
    return function_create(m, &all, 0) && node_create(m, 0, 0, &root);
}

void tree_maker_fini(struct tree_maker *m)
{
    free(m->functions.items);
    free(m->marks.items);
    free(m->nodes.items);
    free(m->runs.items);
    free(m->run_functions.items);
    free(m->steps.items);
    index_table_fini(&m->function_table);
    index_table_fini(&m->name_table);
    index_table_fini(&m->node_table);
    index_table_fini(&m->step_table);
}

void tree_maker_finish(struct tree_maker *m)
{
    struct call_tree *t = m->tree;
    t->functions = m->functions.items;
    t->nodes = m->nodes.items;
    m->functions.items = m->nodes.items = NULL;
    for (uint32_t i = t->node_count; i-- > 0;) {
        struct call_node *n = &t->nodes[i], *parent = &t->nodes[n->parent];
        for (int s = 0; s < t->side_count; s++) {
            n->total[s] = sum_saturated(n->total[s], n->self[s]);
            if (i != 0)
                parent->total[s] = sum_saturated(parent->total[s], n->total[s]);
        }
    }
}
