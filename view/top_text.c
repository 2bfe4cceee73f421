// SPDX-License-Identifier: Apache-2.0
#include "base/clean_text.h"
#include "view/table_text.h"

#include <inttypes.h>

static const struct function_row *largest_self(const struct function_table *t)
{
    const struct function_row *largest = NULL;
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->rows[i].self[0] > 0 && (largest == NULL || t->rows[i].self[0] > largest->self[0]))
            largest = &t->rows[i];
    }
    return largest;
}

// "42.1 % of cpu (3.2 s of 7.6 s) is in main.work itself"
static void print_words(const struct function_table *t, struct buf *out)
{
    const struct call_tree *tree = &t->tree;
    const struct function_row *row = largest_self(t);
    const int64_t all = tree->nodes[0].total[0];
    char self[VALUE_TEXT_MAX], total[VALUE_TEXT_MAX];
    if (row == NULL || all <= 0) {
        buf_add_text(out, "no function has a share of ");
        clean_text_add(out, tree->sample_type);
        buf_add_byte(out, '\n');
        return;
    }
    share_cell(out, function_share(tree, 0, row->self[0]), 0);
    buf_add_text(out, " of ");
    clean_text_add(out, tree->sample_type);
    buf_add_format(out, " (%s of %s) is in ", value_text(self, sizeof self, row->self[0], tree->unit),
                   value_text(total, sizeof total, all, tree->unit));
    function_name_add(out, tree, row);
    buf_add_text(out, " itself\n");
}

static void print_counts(const struct function_table *t, uint32_t rows, struct buf *out)
{
    const struct call_tree *tree = &t->tree;
    clean_text_add(out, tree->sample_type);
    buf_add_byte(out, '/');
    clean_text_add(out, tree->unit);
    buf_add_format(out, ": %" PRIu64 " samples, %" PRIu32 " of %" PRIu32 " functions shown", tree->samples, rows,
                   t->count);
    cut_samples_add(out, tree);
    buf_add_text(out, "\n\n");
}

static void print_row(const struct call_tree *tree, const struct function_row *row, int width, struct buf *out)
{
    value_cell(out, row->self[0], tree->unit, width);
    share_cell(out, function_share(tree, 0, row->self[0]), 9);
    value_cell(out, row->total[0], tree->unit, width);
    share_cell(out, function_share(tree, 0, row->total[0]), 9);
    function_cell(out, tree, row);
}

void top_print(const struct function_table *t, uint32_t max_rows, struct buf *out)
{
    const uint32_t rows = max_rows == 0 || max_rows > t->count ? t->count : max_rows;
    print_words(t, out);
    print_counts(t, rows, out);
    const int width = value_width(&t->tree);
    buf_add_format(out, "%*s%9s%*s%9s  %s\n", width, "self", "self %", width, "total", "total %", "function  file");
    for (uint32_t i = 0; i < rows && buf_ok(out); i++)
        print_row(&t->tree, &t->rows[i], width, out);
}
