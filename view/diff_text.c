// SPDX-License-Identifier: Apache-2.0
#include "base/clean_text.h"
#include "view/stack_sums.h"
#include "view/table_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const double NOTICED = 0.0005; // of all: less is printed as 0.0 %

static const struct function_row *furthest(const struct function_table *t, double direction)
{
    const struct function_row *found = NULL;
    double most = NOTICED;
    for (uint32_t i = 0; i < t->count; i++) {
        const double change = function_change(&t->tree, &t->rows[i]) * direction;
        if (change >= most && (found == NULL || change > most)) {
            most = change;
            found = &t->rows[i];
        }
    }
    return found;
}

// "cpu went from 7.6 s to 9.1 s (+19.7 %)"
static void print_totals(const struct call_tree *tree, struct buf *out)
{
    const int64_t *total = tree->nodes[0].total;
    char before[VALUE_TEXT_MAX], after[VALUE_TEXT_MAX];
    clean_text_add(out, tree->sample_type);
    buf_add_format(out, " went from %s to %s", value_text(before, sizeof before, total[0], tree->unit),
                   value_text(after, sizeof after, total[1], tree->unit));
    if (total[0] > 0)
        buf_add_format(out, " (%+.1f %%)", ((double)total[1] / (double)total[0] - 1) * 100);
    cut_samples_add(out, tree);
    buf_add_byte(out, '\n');
}

// "most worsened: main.work itself, from 20.1 % to 35.2 % of cpu"
static void print_extreme(const struct function_table *t, double direction, const char *words, struct buf *out)
{
    const struct function_row *row = furthest(t, direction);
    buf_add_text(out, words);
    if (row == NULL) {
        buf_add_text(out, "nothing\n");
        return;
    }
    function_name_add(out, &t->tree, row);
    buf_add_text(out, " itself, from ");
    share_cell(out, function_share(&t->tree, 0, row->self[0]), 0);
    buf_add_text(out, " to ");
    share_cell(out, function_share(&t->tree, 1, row->self[1]), 0);
    buf_add_text(out, " of ");
    clean_text_add(out, t->tree.sample_type);
    buf_add_byte(out, '\n');
}

static void print_change(const struct call_tree *tree, const struct function_row *row, int width, struct buf *out)
{
    const int64_t less = row->self[0] == INT64_MIN ? INT64_MAX : -row->self[0];
    const int64_t change = sum_saturated(row->self[1], less);
    char text[VALUE_TEXT_MAX], signed_text[VALUE_TEXT_MAX + 1];
    snprintf(signed_text, sizeof signed_text, "%s%s", change > 0 ? "+" : "",
             value_text(text, sizeof text, change, tree->unit));
    buf_add_format(out, "%*s", width, signed_text);
    const double points = function_change(tree, row) * 100;
    snprintf(text, sizeof text, "%+.1f", fabs(points) < 0.05 ? 0 : points);
    buf_add_format(out, "%9s", text);
}

static bool is_of_side(const struct function_table *t, uint32_t row, double direction)
{
    return function_change(&t->tree, &t->rows[row]) * direction > 0;
}

static void print_row(const struct call_tree *tree, const struct function_row *row, int width, struct buf *out)
{
    value_cell(out, row->self[0], tree->unit, width);
    value_cell(out, row->self[1], tree->unit, width);
    print_change(tree, row, width, out);
    function_cell(out, tree, row);
}

static void print_side(const struct function_table *t, double direction, const char *title, uint32_t max_rows,
                       struct buf *out)
{
    uint32_t count = 0, printed = 0;
    for (uint32_t i = 0; i < t->count; i++)
        count += is_of_side(t, i, direction);
    if (count == 0)
        return;
    const int width = value_width(&t->tree);
    buf_add_format(out, "\n%s\n%*s%*s%*s%9s  %s\n", title, width, "before", width, "after", width, "change", "share",
                   "function  file");
    for (uint32_t i = 0; i < t->count && (max_rows == 0 || printed < max_rows) && buf_ok(out); i++) {
        if (!is_of_side(t, i, direction))
            continue;
        print_row(&t->tree, &t->rows[i], width, out);
        printed++;
    }
    if (printed < count)
        buf_add_format(out, "%12s %" PRIu32 " more\n", "and", count - printed);
}

void diff_print(const struct function_table *t, uint32_t max_rows, struct buf *out)
{
    print_totals(&t->tree, out);
    print_extreme(t, 1, "most worsened: ", out);
    print_extreme(t, -1, "most improved: ", out);
    print_side(t, 1, "worsened: functions whose own share of all grew, in percentage points", max_rows, out);
    print_side(t, -1, "improved: functions whose own share of all shrank, in percentage points", max_rows, out);
}
