// SPDX-License-Identifier: Apache-2.0
#include "view/table_text.h"

#include "base/clean_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void share_cell(struct buf *out, double share, int width)
{
    char text[VALUE_TEXT_MAX];
    snprintf(text, sizeof text, "%.1f %%", share * 100);
    buf_add_format(out, "%*s", width, text);
}

void value_cell(struct buf *out, int64_t value, struct bytes unit, int width)
{
    char text[VALUE_TEXT_MAX];
    buf_add_format(out, "%*s", width, value_text(text, sizeof text, value, unit));
}

int value_width(const struct call_tree *t)
{
    enum { LEAST = 12, BLANKS = 2 };
    int width = LEAST;
    char text[VALUE_TEXT_MAX];
    for (int side = 0; side < t->side_count; side++) {
        int needed = BLANKS + (int)strlen(value_text(text, sizeof text, t->nodes[0].total[side], t->unit));
        width = needed > width ? needed : width;
    }
    return width;
}

void function_name_add(struct buf *out, const struct call_tree *t, const struct function_row *row)
{
    clean_text_add(out, t->functions[row->function].name);
}

void function_cell(struct buf *out, const struct call_tree *t, const struct function_row *row)
{
    const struct call_function *f = &t->functions[row->function];
    const struct bytes place = f->file.len > 0 ? f->file : f->module;
    buf_add_text(out, "  ");
    clean_text_add(out, f->name);
    if (place.len > 0) {
        buf_add_text(out, "  ");
        clean_text_add(out, place);
    }
    if (row->namesakes > 1)
        buf_add_format(out, " and %" PRIu32 " more", row->namesakes - 1);
    buf_add_byte(out, '\n');
}

void cut_samples_add(struct buf *out, const struct call_tree *t)
{
    if (t->cut_samples > 0)
        buf_add_format(out, "; focus and ignore left out %" PRIu64 " samples", t->cut_samples);
}
