// SPDX-License-Identifier: Apache-2.0
#include "view/call_tree.h"

#include "base/hash.h"
#include "base/mem.h"
#include "view/call_paths.h"
#include "view/stack_sums.h"

// From a node over a run of functions to another node: remembered to be quick.
struct tree_step {
    uint32_t parent, run, node;
};

struct tree_maker {
    struct err *e;
    uint32_t max_nodes;
    struct grown_array nodes, steps; // struct call_node, struct tree_step
    uint32_t node_count, step_count;
    struct index_table node_table, step_table;
};

static bool no_memory(struct tree_maker *m)
{
    err_set(m->e, ERR_MEMORY, "out of memory for a call tree of %u nodes", m->node_count);
    return false;
}

static bool grow(struct tree_maker *m, struct grown_array *a, size_t need, size_t item_size)
{
    return mem_try_grow(&a->items, &a->capacity, need, item_size, UINT32_MAX - 1) || no_memory(m);
}

static uint64_t hash_pair(uint32_t a, uint32_t b)
{
    return hash_mix(hash_mix(0, (uint64_t)a << 32 | b), 1);
}

static bool node_create(struct tree_maker *m, uint32_t parent, uint32_t function, uint32_t *node_out)
{
    const uint32_t id = m->node_count, max = m->max_nodes;
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
    m->node_count++;
    *node_out = id;
    return true;
}

static bool child_of(struct tree_maker *m, uint32_t parent, uint32_t function, uint32_t *node_out)
{
    const struct call_node *nodes = m->nodes.items;
    const uint64_t hash = hash_pair(parent, function);
    if (!index_table_reserve(&m->node_table))
        return no_memory(m);
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

static bool step_create(struct tree_maker *m, const struct call_functions *c, uint32_t parent, uint32_t run,
                        uint32_t *node_out)
{
    const struct frame_run r = ((struct frame_run *)c->runs.items)[run];
    if (!grow(m, &m->steps, (size_t)m->step_count + 1, sizeof(struct tree_step)))
        return false;
    *node_out = parent;
    for (uint32_t i = 0; i < r.count; i++) {
        if (!child_of(m, *node_out, ((uint32_t *)c->run_functions.items)[r.start + i], node_out))
            return false;
    }
    ((struct tree_step *)m->steps.items)[m->step_count++] = (struct tree_step){parent, run, *node_out};
    return true;
}

static bool step_to(struct tree_maker *m, const struct call_functions *c, uint32_t parent, uint32_t run,
                    uint32_t *node_out)
{
    const struct tree_step *steps = m->steps.items;
    const uint64_t hash = hash_pair(parent, run);
    uint32_t id;
    if (!index_table_reserve(&m->step_table))
        return no_memory(m);
    uint32_t slot = index_table_start(&m->step_table, hash);
    for (; index_table_next(&m->step_table, hash, &slot, &id); index_table_skip(&m->step_table, &slot)) {
        if (steps[id].parent == parent && steps[id].run == run) {
            *node_out = steps[id].node;
            return true;
        }
    }
    if (!step_create(m, c, parent, run, node_out))
        return false;
    index_table_insert(&m->step_table, hash, slot, m->step_count - 1);
    return true;
}

static bool add_path(void *arg, const struct call_path *path, struct err *e)
{
    struct tree_maker *m = arg;
    uint32_t node = 0;
    m->e = e;
    for (uint32_t i = path->count; i-- > 0;) {
        if (!step_to(m, path->functions, node, path->runs[i], &node))
            return false;
    }
    int64_t *self = &((struct call_node *)m->nodes.items)[node].self[path->side];
    *self = sum_saturated(*self, path->value);
    return true;
}

// --- begin and end ---

static void maker_fini(struct tree_maker *m)
{
    free(m->nodes.items);
    free(m->steps.items);
    index_table_fini(&m->node_table);
    index_table_fini(&m->step_table);
}

// Totals from the values of the nodes themselves.
static void finish(struct tree_maker *m, struct call_tree *t)
{
    t->nodes = m->nodes.items;
    t->node_count = m->node_count;
    m->nodes.items = NULL;
    for (uint32_t i = t->node_count; i-- > 0;) {
        struct call_node *n = &t->nodes[i], *parent = &t->nodes[n->parent];
        for (int s = 0; s < t->side_count; s++) {
            n->total[s] = sum_saturated(n->total[s], n->self[s]);
            if (i != 0)
                parent->total[s] = sum_saturated(parent->total[s], n->total[s]);
        }
    }
}

enum err_code call_tree_build(const struct batch *const *batches, int count, const struct call_tree_options *options,
                              struct call_tree *out, struct err *e)
{
    struct tree_maker m = {.max_nodes = options->max_nodes, .e = e};
    uint32_t root; // in no table: no other can be taken for it
    *out = (struct call_tree){0};
    enum err_code code =
        node_create(&m, 0, 0, &root) ? call_paths_read(batches, count, options, add_path, &m, out, e) : ERR_MEMORY;
    if (code == ERR_OK)
        finish(&m, out);
    maker_fini(&m);
    return code;
}

void call_tree_fini(struct call_tree *t)
{
    free(t->functions);
    free(t->nodes);
    arena_fini(&t->arena);
    *t = (struct call_tree){0};
}
