// SPDX-License-Identifier: Apache-2.0
// The views for a terminal. All write to out, end with a line end and let no control character of a profile through.
#ifndef VIEW_TEXT_H
#define VIEW_TEXT_H

#include "base/buf.h"
#include "view/function_table.h"

enum { VALUE_TEXT_MAX = 32 };

// "1.53 s", "11.8 MiB", "730": a value in its unit for people. Returns out.
char *value_text(char *out, size_t out_size, int64_t value, struct bytes unit);
// `profrelay top`: at most max_rows (0 = all), in the order the table has.
void top_print(const struct function_table *t, uint32_t max_rows, struct buf *out);
// `profrelay diff`: before, after, change; what worsened first, then what improved, each in the order the table has.
void diff_print(const struct function_table *t, uint32_t max_rows, struct buf *out);
// `profrelay show`: everything a batch says, in a form that stays the same from run to run (golden tests compare it).
void show_print(const struct batch *b, struct buf *out);

#endif
