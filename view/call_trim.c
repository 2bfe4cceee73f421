// SPDX-License-Identifier: Apache-2.0
#include "view/call_tree.h"

#include "base/mem.h"
#include "view/stack_sums.h"

#include <math.h>
#include <stdio.h>

#define NONE UINT32_MAX

void call_tree_weigh(const struct call_tree *t, double *weights_out)
{
    double sums[CALL_SIDES] = {0};
    for (uint32_t i = 0; i < t->node_count; i++)
        for (int side = 0; side < t->side_count; side++)
            sums[side] += fabs((double)t->nodes[i].self[side]);
    for (uint32_t i = 0; i < t->node_count; i++) {
        weights_out[i] = 0;
        for (int side = 0; side < t->side_count; side++)
            if (sums[side] > 0)
                weights_out[i] += fabs((double)t->nodes[i].self[side]) / sums[side] / t->side_count;
    }
    for (uint32_t i = t->node_count; i-- > 1;) // parents stand before children
        weights_out[t->nodes[i].parent] += weights_out[i];
}

// A tree that is made smaller.
struct trimming {
    struct call_tree *tree;
    double *weights;
    uint32_t *places; // by node: its new number; of one that goes, that of what stands for it
    uint32_t *rests;  // by node: the new number of what stands for its small children; NONE = has none
    double share;     // less goes
    uint32_t kept, rest_count;
};

static bool is_kept(const struct trimming *m, uint32_t node)
{
    return node == 0 || m->weights[node] >= m->share;
}

// The numbers the nodes will have: those that stay in their order, then the rests.
static void number_nodes(struct trimming *m)
{
    const struct call_tree *t = m->tree;
    m->kept = m->rest_count = 0;
    for (uint32_t i = 0; i < t->node_count; i++) {
        m->rests[i] = NONE;
        m->places[i] = is_kept(m, i) ? m->kept++ : NONE;
    }
    for (uint32_t i = 1; i < t->node_count; i++) {
        const uint32_t parent = t->nodes[i].parent;
        if (m->places[i] == NONE && is_kept(m, parent) && m->rests[parent] == NONE)
            m->rests[parent] = m->kept + m->rest_count++;
    }
}

// The least share that makes the tree small enough: 1, 2, 5, 10 ... millionths.
static void choose_share(struct trimming *m, uint32_t max_nodes)
{
    static const double steps[] = {1, 2, 5};
    double power = 1e-6;
    for (size_t i = 0;; i++) {
        m->share = steps[i % COUNT_OF(steps)] * power;
        power *= i % COUNT_OF(steps) == COUNT_OF(steps) - 1 ? 10 : 1;
        number_nodes(m);
        if (m->kept + m->rest_count <= max_nodes || m->share > 1)
            return;
    }
}

static bool add_rest_function(const struct trimming *m, uint32_t *id_out)
{
    struct call_tree *t = m->tree;
    char text[64];
    const size_t count = (size_t)t->function_count + 1;
    struct bytes name;
    snprintf(text, sizeof text, "[below %g %%]", m->share * 100);
    struct call_function *functions = mem_try_realloc(t->functions, count * sizeof *functions);
    if (functions == NULL)
        return false;
    t->functions = functions;
    if (!arena_try_copy(&t->arena, bytes_from_text(text), &name))
        return false;
    *id_out = t->function_count++;
    functions[*id_out] = (struct call_function){.name = name, .namesake = *id_out};
    return true;
}

static void link_nodes(struct call_node *nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        nodes[i].first_child = nodes[i].next_sibling = 0;
    for (uint32_t i = 1; i < count; i++) {
        nodes[i].next_sibling = nodes[nodes[i].parent].first_child;
        nodes[nodes[i].parent].first_child = i;
    }
}

static void fill(const struct trimming *m, uint32_t rest_function, struct call_node *nodes)
{
    const struct call_tree *t = m->tree;
    for (uint32_t i = 0; i < m->rest_count; i++)
        nodes[m->kept + i] = (struct call_node){.function = rest_function};
    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct call_node *from = &t->nodes[i];
        if (m->places[i] != NONE) {
            nodes[m->places[i]] = *from;
            nodes[m->places[i]].parent = m->places[from->parent];
        } else if (m->places[from->parent] != NONE) {
            struct call_node *rest = &nodes[m->rests[from->parent]];
            rest->parent = m->places[from->parent];
            for (int side = 0; side < t->side_count; side++)
                rest->self[side] = rest->total[side] = sum_saturated(rest->self[side], from->total[side]);
        }
    }
    link_nodes(nodes, m->kept + m->rest_count);
}

static bool trim(struct trimming *m, uint32_t max_nodes)
{
    struct call_tree *t = m->tree;
    uint32_t function;
    call_tree_weigh(t, m->weights);
    choose_share(m, max_nodes);
    struct call_node *nodes = mem_try_array((size_t)m->kept + m->rest_count, sizeof *nodes);
    if (nodes == NULL || !add_rest_function(m, &function)) {
        free(nodes);
        return false;
    }
    fill(m, function, nodes);
    free(t->nodes);
    t->nodes = nodes;
    t->small_nodes = t->node_count - m->kept;
    t->small_share = m->share;
    t->node_count = m->kept + m->rest_count;
    return true;
}

enum err_code call_tree_trim(struct call_tree *t, uint32_t max_nodes, struct err *e)
{
    CHECK(max_nodes >= 2);
    if (t->node_count <= max_nodes)
        return ERR_OK;
    struct trimming m = {
        .tree = t,
        .weights = mem_try_array(t->node_count, sizeof *m.weights),
        .places = mem_try_array(t->node_count, sizeof *m.places),
        .rests = mem_try_array(t->node_count, sizeof *m.rests),
    };
    bool ok = m.weights != NULL && m.places != NULL && m.rests != NULL && trim(&m, max_nodes);
    free(m.weights);
    free(m.places);
    free(m.rests);
    return ok ? ERR_OK : err_set(e, ERR_MEMORY, "out of memory to make a call tree of %u nodes smaller", t->node_count);
}
