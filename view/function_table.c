// SPDX-License-Identifier: Apache-2.0
#include "view/function_table.h"

#include "base/mem.h"
#include "view/stack_sums.h"

#include <math.h>

// Of each function while the tree is walked.
struct tally {
    int64_t self[CALL_SIDES];      // its own
    int64_t name_self[CALL_SIDES]; // of all of its name, kept at the first of them
    int64_t name_total[CALL_SIDES];
    uint32_t active; // how often the name is on the path to the node at hand
};

static void enter(const struct call_tree *t, struct tally *tallies, uint32_t id)
{
    const struct call_node *n = &t->nodes[id];
    struct tally *own = &tallies[n->function], *name = &tallies[t->functions[n->function].namesake];
    for (int s = 0; s < t->side_count; s++) {
        own->self[s] = sum_saturated(own->self[s], n->self[s]);
        name->name_self[s] = sum_saturated(name->name_self[s], n->self[s]);
        if (name->active == 0)
            name->name_total[s] = sum_saturated(name->name_total[s], n->total[s]);
    }
    name->active++;
}

static void leave(const struct call_tree *t, struct tally *tallies, uint32_t id)
{
    tallies[t->functions[t->nodes[id].function].namesake].active--;
}

// Depth first, by the links of the nodes alone.
static void walk(const struct call_tree *t, struct tally *tallies)
{
    uint32_t id = t->nodes[0].first_child;
    while (id != 0) {
        enter(t, tallies, id);
        if (t->nodes[id].first_child != 0) {
            id = t->nodes[id].first_child;
            continue;
        }
        leave(t, tallies, id);
        while (id != 0 && t->nodes[id].next_sibling == 0) {
            id = t->nodes[id].parent;
            if (id != 0)
                leave(t, tallies, id);
        }
        if (id != 0)
            id = t->nodes[id].next_sibling;
    }
}

static uint64_t amount(const int64_t *values)
{
    uint64_t sum = 0;
    for (int s = 0; s < CALL_SIDES; s++) {
        const uint64_t value = values[s] < 0 ? 0 - (uint64_t)values[s] : (uint64_t)values[s];
        sum = sum + value < sum ? UINT64_MAX : sum + value;
    }
    return sum;
}

static void make_rows(struct function_table *t, const struct tally *tallies, uint32_t *row_of)
{
    const struct call_function *functions = t->tree->functions;
    for (uint32_t f = 1; f < t->tree->function_count; f++) {
        const struct tally *name = &tallies[functions[f].namesake];
        if (amount(name->name_self) == 0 && amount(name->name_total) == 0)
            continue;
        if (functions[f].namesake == f) {
            row_of[f] = t->count;
            t->rows[t->count] = (struct function_row){.function = f};
            memcpy(t->rows[t->count].self, name->name_self, sizeof name->name_self);
            memcpy(t->rows[t->count].total, name->name_total, sizeof name->name_total);
            t->count++;
        }
        struct function_row *row = &t->rows[row_of[functions[f].namesake]];
        row->namesakes++;
        if (amount(tallies[f].self) > amount(tallies[row->function].self))
            row->function = f;
    }
}

enum err_code function_table_build(const struct call_tree *tree, struct function_table *out, struct err *e)
{
    const uint32_t count = tree->function_count;
    struct tally *tallies = mem_try_array(count, sizeof *tallies);
    uint32_t *row_of = mem_try_array(count, sizeof *row_of);
    *out = (struct function_table){.tree = tree, .rows = mem_try_array(count, sizeof *out->rows)};
    bool ok = tallies != NULL && row_of != NULL && out->rows != NULL;
    if (ok) {
        memset(tallies, 0, count * sizeof *tallies);
        walk(tree, tallies);
        make_rows(out, tallies, row_of);
    } else {
        function_table_fini(out);
        err_set(e, ERR_MEMORY, "out of memory for a table of %u functions", count);
    }
    free(tallies);
    free(row_of);
    return ok ? ERR_OK : ERR_MEMORY;
}

void function_table_fini(struct function_table *t)
{
    free(t->rows);
    *t = (struct function_table){0};
}

double function_share(const struct call_tree *t, int side, int64_t value)
{
    const int64_t all = t->nodes[0].total[side];
    return all == 0 ? 0 : (double)value / (double)all;
}

double function_change(const struct call_tree *t, const struct function_row *row)
{
    return function_share(t, 1, row->self[1]) - function_share(t, 0, row->self[0]);
}

struct sorting {
    const struct call_tree *tree;
    enum function_order order;
};

static int compare_names(const struct call_tree *t, const struct function_row *a, const struct function_row *b)
{
    const struct bytes x = t->functions[a->function].name, y = t->functions[b->function].name;
    const int order = memcmp(x.data, y.data, x.len < y.len ? x.len : y.len);
    return order != 0 ? order : (x.len > y.len) - (x.len < y.len);
}

static int compare_amounts(const int64_t *a, const int64_t *b)
{
    const uint64_t x = amount(a), y = amount(b);
    return (x < y) - (x > y);
}

static int compare_rows(const void *left, const void *right, void *arg)
{
    const struct function_row *a = left, *b = right;
    const struct sorting *s = arg;
    int order = 0;
    if (s->order == ORDER_CHANGE) {
        const double x = fabs(function_change(s->tree, a)), y = fabs(function_change(s->tree, b));
        order = (x < y) - (x > y);
    } else if (s->order == ORDER_SELF) {
        order = compare_amounts(a->self, b->self);
    }
    if (order == 0)
        order = compare_amounts(a->total, b->total);
    return order != 0 ? order : compare_names(s->tree, a, b);
}

void function_table_sort(struct function_table *t, enum function_order order)
{
    struct sorting s = {t->tree, order};
    qsort_r(t->rows, t->count, sizeof *t->rows, compare_rows, &s);
}
