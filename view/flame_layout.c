// SPDX-License-Identifier: Apache-2.0
#include "view/flame_parts.h"

#include "base/mem.h"

struct sorting {
    const struct call_tree *tree;
    const double *weights;
    uint32_t *sorted; // nodes but for the root: siblings beside each other, in their order
    uint32_t *places; // by node: its place in sorted
    uint32_t *firsts; // by node: the place of its first child; 0 = none, as the root stands at 0
};

static int node_compare(const void *left, const void *right, void *arg)
{
    const struct sorting *s = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct call_node *x = &s->tree->nodes[a], *y = &s->tree->nodes[b];
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (s->weights[a] != s->weights[b])
        return s->weights[a] > s->weights[b] ? -1 : 1;
    int order = x->function == y->function
                    ? 0
                    : bytes_compare(s->tree->functions[x->function].name, s->tree->functions[y->function].name);
    return order != 0 ? order : (a > b) - (a < b);
}

static void sort_siblings(struct sorting *s)
{
    uint32_t count = s->tree->node_count;
    for (uint32_t i = 0; i < count; i++)
        s->sorted[i] = i;
    qsort_r(s->sorted + 1, count - 1, sizeof *s->sorted, node_compare, s);
    for (uint32_t i = count; i-- > 0;) {
        s->places[s->sorted[i]] = i;
        s->firsts[i] = 0;
    }
    for (uint32_t i = count; i-- > 1;)
        s->firsts[s->tree->nodes[s->sorted[i]].parent] = i;
}

// The place after node's among its siblings; 0 = it is the last.
static uint32_t next_place(const struct sorting *s, uint32_t node)
{
    uint32_t next = s->places[node] + 1;
    bool is_sibling = node != 0 && next < s->tree->node_count &&
                      s->tree->nodes[s->sorted[next]].parent == s->tree->nodes[node].parent;
    return is_sibling ? next : 0;
}

static void walk(const struct sorting *s, struct flame_layout *out)
{
    uint32_t node = 0, depth = 0;
    for (uint32_t i = 0; i < s->tree->node_count; i++) {
        out->nodes[i] = node;
        out->depths[i] = depth;
        uint32_t place = s->firsts[node];
        depth += place != 0;
        for (; place == 0 && node != 0 && (place = next_place(s, node)) == 0; depth--)
            node = s->tree->nodes[node].parent;
        node = s->sorted[place];
    }
}

enum err_code flame_layout_build(const struct call_tree *tree, struct flame_layout *out, struct err *e)
{
    uint32_t count = tree->node_count;
    *out = (struct flame_layout){.count = count};
    out->nodes = mem_try_array(count, sizeof *out->nodes);
    out->depths = mem_try_array(count, sizeof *out->depths);
    out->weights = mem_try_array(count, sizeof *out->weights);
    struct sorting s = {.tree = tree, .weights = out->weights};
    uint32_t *work = mem_try_array(count, 3 * sizeof *work);
    if (out->nodes == NULL || out->depths == NULL || out->weights == NULL || work == NULL) {
        free(work);
        return err_set(e, ERR_MEMORY, "no memory for the flame graph of %u frames", count);
    }
    s.sorted = work;
    s.places = work + count;
    s.firsts = s.places + count;
    call_tree_weigh(tree, out->weights);
    sort_siblings(&s);
    walk(&s, out);
    free(work);
    return ERR_OK;
}

void flame_layout_fini(struct flame_layout *l)
{
    free(l->nodes);
    free(l->depths);
    free(l->weights);
    *l = (struct flame_layout){0};
}
