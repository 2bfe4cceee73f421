// SPDX-License-Identifier: Apache-2.0
// Self and total of each function of a call tree. A function that calls itself counts once per sample in its total.
#ifndef VIEW_FUNCTION_TABLE_H
#define VIEW_FUNCTION_TABLE_H

#include "view/call_tree.h"

struct function_row {
    uint32_t function; // of the tree
    int64_t self[CALL_SIDES], total[CALL_SIDES];
};

struct function_table {
    const struct call_tree *tree; // must outlive it
    struct function_row *rows;
    uint32_t count;
};

enum function_order { ORDER_SELF, ORDER_TOTAL, ORDER_CHANGE }; // descending; CHANGE: by changed share of the self value

enum err_code function_table_build(const struct call_tree *tree, struct function_table *out, struct err *e) MUST_USE;
void function_table_sort(struct function_table *t, enum function_order order); // equals by name
void function_table_fini(struct function_table *t);

#endif
