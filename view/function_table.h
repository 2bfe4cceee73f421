// SPDX-License-Identifier: Apache-2.0
// Self and total of each function; functions of one name are added up, as pprof does. A function that calls itself
// counts once per sample in its total. Functions that come to nothing have no row. Far less work than a call tree.
#ifndef VIEW_FUNCTION_TABLE_H
#define VIEW_FUNCTION_TABLE_H

#include "view/call_tree.h"

struct function_row {
    uint32_t function;  // of tree.functions; of several of one name that with the largest self
    uint32_t namesakes; // how many functions were added up
    int64_t self[CALL_SIDES], total[CALL_SIDES];
};

struct function_table {
    struct call_tree tree; // of its nodes only the root
    struct function_row *rows;
    uint32_t count;
};

enum function_order { ORDER_SELF, ORDER_TOTAL, ORDER_CHANGE }; // CHANGE: how much the share of the self value changed

// The same samples, names and totals as call_tree_build; max_nodes means nothing here. *out is empty after a failure.
enum err_code function_table_build(const struct batch *const *batches, int count,
                                   const struct call_tree_options *options, struct function_table *out,
                                   struct err *e) MUST_USE;
void function_table_sort(struct function_table *t,
                         enum function_order order); // most first, whatever the sign; equals by name
void function_table_fini(struct function_table *t);

// Of all values of a side, between 0 and 1; 0 where there is nothing.
double function_share(const struct call_tree *t, int side, int64_t value);
// Share of the self value after, less that before.
double function_change(const struct call_tree *t, const struct function_row *row);

#endif
