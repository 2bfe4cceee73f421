// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/view/tree_fixture.h"

#include <inttypes.h>
#include <math.h>

struct table {
    struct batch *batch, *after;
    struct call_tree tree;
    struct function_table rows;
};

static void table_init(struct table *t, struct batch *b, struct batch *after, enum function_order order)
{
    static const struct call_tree_options options = {0};
    const struct batch *sides[] = {b, after};
    *t = (struct table){.batch = b, .after = after};
    assert_int_equal(call_tree_build(sides, after != NULL ? 2 : 1, &options, &t->tree, NULL), ERR_OK);
    assert_int_equal(function_table_build(&t->tree, &t->rows, NULL), ERR_OK);
    function_table_sort(&t->rows, order);
}

static void table_fini(struct table *t)
{
    function_table_fini(&t->rows);
    call_tree_fini(&t->tree);
    batch_unref(&t->batch);
    batch_unref(&t->after);
}

static void assert_rows(struct table *t, const char *expected)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const struct function_row *row = &t->rows.rows[i];
        const struct bytes name = t->tree.functions[row->function].name;
        buf_add_format(&out, "%.*s", BYTES_PRINT(name));
        for (int s = 0; s < t->tree.side_count; s++)
            buf_add_format(&out, " %" PRId64 " %" PRId64, row->self[s], row->total[s]);
        buf_add_text(&out, "\n");
    }
    buf_add_byte(&out, 0);
    assert_string_equal((const char *)out.data, expected);
    buf_fini(&out);
    table_fini(t);
}

static void recursion_counts_once(void **state)
{
    (void)state;
    struct table t;
    table_init(&t, batch_of("cpu", "ns", (const char *[]){"f;g;f", "f;f;f;g", "g", NULL}), NULL, ORDER_SELF);
    assert_rows(&t, "g 6 7\nf 1 3\n");
}

static void one_name_is_one_row(void **state)
{
    (void)state;
    struct table t;
    table_init(&t, batch_of("cpu", "ns", (const char *[]){"run@a;run@b", "run@b", "x", NULL}), NULL, ORDER_TOTAL);
    const struct function_row *row = &t.rows.rows[1];
    assert_int_equal(row->namesakes, 2);
    assert_true(bytes_equal_text(t.tree.functions[row->function].file, "b")); // it has the larger self
    assert_rows(&t, "x 4 4\nrun 3 3\n");
}

static void nothing_has_no_row(void **state)
{
    (void)state;
    struct batch_writer w;
    struct table t;
    batch_writer_init(&w);
    batch_writer_sample(&w, "main;zero", 0);
    batch_writer_sample(&w, "main;gone", 5);
    batch_writer_sample(&w, "main;gone", -5);
    batch_writer_sample(&w, "main;less", -3);
    batch_writer_sample(&w, "main;more", 3);
    batch_writer_profile(&w, "cpu", "ns", NULL, NULL);
    table_init(&t, batch_writer_finish(&w), NULL, ORDER_SELF);
    assert_rows(&t, "less -3 -3\nmore 3 3\n"); // main comes to nothing
}

static void the_largest_amount_stands_first(void **state)
{
    (void)state;
    struct batch_writer w;
    struct table t;
    batch_writer_init(&w);
    batch_writer_sample(&w, "b", 2);
    batch_writer_sample(&w, "a", 2);
    batch_writer_sample(&w, "least", INT64_MIN);
    batch_writer_profile(&w, "cpu", "ns", NULL, NULL);
    table_init(&t, batch_writer_finish(&w), NULL, ORDER_SELF);
    assert_rows(&t, "least -9223372036854775808 -9223372036854775808\na 2 2\nb 2 2\n");
}

static void change_is_of_shares(void **state)
{
    (void)state;
    struct table t;
    // Shares before: 1/3, 2/3; after: 1/7, 4/7, 2/7.
    table_init(&t, batch_of("cpu", "ns", (const char *[]){"a", "b", NULL}),
               batch_of("cpu", "ns", (const char *[]){"a", "c", "b", NULL}), ORDER_CHANGE);
    assert_true(fabs(function_change(&t.tree, &t.rows.rows[0]) - 2.0 / 7) < 1e-9);
    assert_true(fabs(function_change(&t.tree, &t.rows.rows[1]) - (1.0 / 7 - 1.0 / 3)) < 1e-9);
    assert_rows(&t, "c 0 0 2 2\na 1 1 1 1\nb 2 2 4 4\n");
}

static void an_empty_side_has_no_shares(void **state)
{
    (void)state;
    struct table t;
    table_init(&t, batch_of("cpu", "ns", (const char *[]){NULL}), batch_of("cpu", "ns", (const char *[]){"a", NULL}),
               ORDER_CHANGE);
    assert_true(function_share(&t.tree, 0, 5) == 0);
    assert_true(function_change(&t.tree, &t.rows.rows[0]) == 1);
    assert_rows(&t, "a 0 0 1 1\n");
    table_init(&t, batch_of("cpu", "ns", (const char *[]){NULL}), NULL, ORDER_SELF);
    assert_rows(&t, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recursion_counts_once), cmocka_unit_test(one_name_is_one_row),
        cmocka_unit_test(nothing_has_no_row),    cmocka_unit_test(the_largest_amount_stands_first),
        cmocka_unit_test(change_is_of_shares),   cmocka_unit_test(an_empty_side_has_no_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
