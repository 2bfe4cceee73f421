// SPDX-License-Identifier: Apache-2.0
#include "view/function_table.h"

#include "base/mem.h"
#include "view/call_paths.h"
#include "view/stack_sums.h"

#include <math.h>

// Of each function while the paths are counted.
struct tally {
    int64_t self[CALL_SIDES];      // its own
    int64_t name_self[CALL_SIDES]; // of all of its name, kept at the first of them
    int64_t name_total[CALL_SIDES];
    uint64_t seen; // number of the last path that has the name
};

struct counter {
    struct grown_array tallies; // by function
    uint32_t tally_count;
    uint64_t path_count;
    int64_t all[CALL_SIDES];
};

static bool count_functions(struct counter *c, uint32_t function_count, struct err *e)
{
    if (c->tally_count >= function_count)
        return true;
    if (!mem_try_grow(&c->tallies.items, &c->tallies.capacity, function_count, sizeof(struct tally), UINT32_MAX)) {
        err_set(e, ERR_MEMORY, "out of memory for a table of %u functions", function_count);
        return false;
    }
    struct tally *tallies = c->tallies.items;
    memset(&tallies[c->tally_count], 0, (function_count - c->tally_count) * sizeof *tallies);
    c->tally_count = function_count;
    return true;
}

static void add(int64_t *sum, int64_t value)
{
    *sum = sum_saturated(*sum, value);
}

// A function that is several times in the path counts once.
static void count_totals(struct counter *c, const struct call_path *path, const uint32_t *run, uint32_t count)
{
    const struct call_function *functions = path->functions->functions.items;
    struct tally *tallies = c->tallies.items;
    for (uint32_t i = 0; i < count; i++) {
        struct tally *name = &tallies[functions[run[i]].namesake];
        if (name->seen == c->path_count)
            continue;
        name->seen = c->path_count;
        add(&name->name_total[path->side], path->value);
    }
}

static void count_self(struct counter *c, const struct call_path *path, uint32_t function)
{
    const struct call_function *functions = path->functions->functions.items;
    struct tally *tallies = c->tallies.items;
    add(&tallies[function].self[path->side], path->value);
    add(&tallies[functions[function].namesake].name_self[path->side], path->value);
}

static bool count_path(void *arg, const struct call_path *path, struct err *e)
{
    struct counter *c = arg;
    const struct frame_run *runs = path->functions->runs.items;
    const uint32_t *functions = path->functions->run_functions.items;
    if (!count_functions(c, path->functions->tree->function_count, e))
        return false;
    c->path_count++;
    add(&c->all[path->side], path->value);
    for (uint32_t i = 0; i < path->count; i++) {
        const struct frame_run run = runs[path->runs[i]];
        if (i == 0)
            count_self(c, path, functions[run.start + run.count - 1]);
        count_totals(c, path, functions + run.start, run.count);
    }
    return true;
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

static void make_rows(struct function_table *t, const struct tally *tallies, uint32_t tally_count, uint32_t *row_of)
{
    const struct call_function *functions = t->tree.functions;
    for (uint32_t f = 1; f < tally_count; f++) {
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

static enum err_code finish(const struct counter *c, struct function_table *t, struct err *e)
{
    const uint32_t count = t->tree.function_count;
    uint32_t *row_of = mem_try_array(count, sizeof *row_of);
    struct call_node *root = mem_try_alloc(sizeof *root);
    t->tree.nodes = root;
    t->rows = mem_try_array(count, sizeof *t->rows);
    bool ok = row_of != NULL && root != NULL && t->rows != NULL;
    if (ok) {
        *root = (struct call_node){0};
        memcpy(root->total, c->all, sizeof root->total);
        t->tree.node_count = 1;
        make_rows(t, c->tallies.items, c->tally_count, row_of);
    }
    free(row_of);
    return ok ? ERR_OK : err_set(e, ERR_MEMORY, "out of memory for a table of %u functions", count);
}

enum err_code function_table_build(const struct batch *const *batches, int count,
                                   const struct call_tree_options *options, struct function_table *out, struct err *e)
{
    struct counter c = {0};
    *out = (struct function_table){0};
    enum err_code code = call_paths_read(batches, count, options, count_path, &c, &out->tree, e);
    if (code == ERR_OK)
        code = finish(&c, out, e);
    if (code != ERR_OK)
        function_table_fini(out);
    free(c.tallies.items);
    return code;
}

void function_table_fini(struct function_table *t)
{
    free(t->rows);
    call_tree_fini(&t->tree);
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
    return order != 0 ? order
                      : bytes_compare(s->tree->functions[a->function].name, s->tree->functions[b->function].name);
}

void function_table_sort(struct function_table *t, enum function_order order)
{
    struct sorting s = {&t->tree, order};
    qsort_r(t->rows, t->count, sizeof *t->rows, compare_rows, &s);
}
