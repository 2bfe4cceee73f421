// SPDX-License-Identifier: Apache-2.0
// What the tables for a terminal have in common.
#ifndef VIEW_TABLE_TEXT_H
#define VIEW_TABLE_TEXT_H

#include "view/text.h"

// "12.3 %", to the right of a column.
void share_cell(struct buf *out, double share, int width);
void value_cell(struct buf *out, int64_t value, struct bytes unit, int width);
// Of a column of values, its blanks included.
int value_width(const struct call_tree *t);
// Function and file, to the end of the line.
void function_cell(struct buf *out, const struct call_tree *t, const struct function_row *row);
void function_name_add(struct buf *out, const struct call_tree *t, const struct function_row *row);
// "; focus and ignore left out 12 samples" or nothing.
void cut_samples_add(struct buf *out, const struct call_tree *t);

#endif
