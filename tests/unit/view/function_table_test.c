// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/view/tree_fixture.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>

struct table {
    struct batch *batch, *after;
    struct function_table rows;
};

static void table_init(struct table *t, struct batch *b, struct batch *after, enum function_order order)
{
    static const struct call_tree_options options = {0};
    const struct batch *sides[] = {b, after};
    *t = (struct table){.batch = b, .after = after};
    assert_int_equal(function_table_build(sides, after != NULL ? 2 : 1, &options, &t->rows, NULL), ERR_OK);
    function_table_sort(&t->rows, order);
}

static void table_fini(struct table *t)
{
    function_table_fini(&t->rows);
    batch_unref(&t->batch);
    batch_unref(&t->after);
}

static void assert_rows(struct table *t, const char *expected)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const struct function_row *row = &t->rows.rows[i];
        const struct bytes name = t->rows.tree.functions[row->function].name;
        buf_add_format(&out, "%.*s", BYTES_PRINT(name));
        for (int s = 0; s < t->rows.tree.side_count; s++)
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
    assert_true(bytes_equal_text(t.rows.tree.functions[row->function].file, "b")); // it has the larger self
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
    assert_true(fabs(function_change(&t.rows.tree, &t.rows.rows[0]) - 2.0 / 7) < 1e-9);
    assert_true(fabs(function_change(&t.rows.tree, &t.rows.rows[1]) - (1.0 / 7 - 1.0 / 3)) < 1e-9);
    assert_rows(&t, "c 0 0 2 2\na 1 1 1 1\nb 2 2 4 4\n");
}

static void an_empty_side_has_no_shares(void **state)
{
    (void)state;
    struct table t;
    table_init(&t, batch_of("cpu", "ns", (const char *[]){NULL}), batch_of("cpu", "ns", (const char *[]){"a", NULL}),
               ORDER_CHANGE);
    assert_true(function_share(&t.rows.tree, 0, 5) == 0);
    assert_true(function_change(&t.rows.tree, &t.rows.rows[0]) == 1);
    assert_rows(&t, "a 0 0 1 1\n");
    table_init(&t, batch_of("cpu", "ns", (const char *[]){NULL}), NULL, ORDER_SELF);
    assert_rows(&t, "");
}

// What a tree says of each name, walked path by path: the table is not made from a tree.
static void sum_of_tree(const struct call_tree *t, uint32_t namesake, int side, int64_t *self_out, int64_t *total_out)
{
    *self_out = *total_out = 0;
    for (uint32_t i = 1; i < t->node_count; i++) {
        bool again = false;
        if (t->functions[t->nodes[i].function].namesake != namesake)
            continue;
        for (uint32_t up = t->nodes[i].parent; up != 0; up = t->nodes[up].parent)
            again |= t->functions[t->nodes[up].function].namesake == namesake;
        *self_out += t->nodes[i].self[side];
        *total_out += again ? 0 : t->nodes[i].total[side];
    }
}

static void assert_same_as_tree(const struct batch *const *sides, const struct call_tree_options *options)
{
    struct call_tree tree;
    struct function_table table;
    int64_t self, total;
    assert_int_equal(call_tree_build(sides, 2, options, &tree, NULL), ERR_OK);
    assert_int_equal(function_table_build(sides, 2, options, &table, NULL), ERR_OK);
    assert_int_equal(table.tree.samples, tree.samples);
    assert_int_equal(table.tree.cut_samples, tree.cut_samples);
    assert_int_equal(table.tree.function_count, tree.function_count);
    assert_true(table.count > 0);
    for (uint32_t i = 0; i < table.count; i++) {
        const struct function_row *row = &table.rows[i];
        for (int side = 0; side < 2; side++) {
            assert_int_equal(table.tree.nodes[0].total[side], tree.nodes[0].total[side]);
            sum_of_tree(&tree, table.tree.functions[row->function].namesake, side, &self, &total);
            assert_int_equal(row->self[side], self);
            assert_int_equal(row->total[side], total);
        }
    }
    function_table_fini(&table);
    call_tree_fini(&tree);
}

static void table_and_tree_agree(void **state)
{
    (void)state;
    const char *const names[] = {"a", "b@x.c", "b@y.c", "c>d>a", "gc", "", "!/lib/libc.so"};
    struct batch *sides[2];
    uint32_t dice = 1;
    for (int side = 0; side < 2; side++) {
        struct batch_writer w;
        batch_writer_init(&w);
        for (int64_t i = 0; i < 200; i++) {
            struct buf stack;
            buf_init(&stack, 256);
            for (uint32_t depth = (dice >> 8) % 9; depth > 0; depth--) {
                dice = dice * 1103515245u + 12345u;
                buf_add_text(&stack, names[(dice >> 16) % COUNT_OF(names)]);
                buf_add_text(&stack, depth > 1 ? ";" : "");
            }
            dice = dice * 1103515245u + 12345u;
            buf_add_byte(&stack, 0);
            batch_writer_sample(&w, (const char *)stack.data, i % 11 - 3);
            buf_fini(&stack);
        }
        batch_writer_profile(&w, "cpu", "ns", side == 0 ? "gc" : NULL, NULL);
        sides[side] = batch_writer_finish(&w);
    }
    struct regex *focus, *ignore;
    assert_int_equal(regex_compile(BYTES_LITERAL("b|d"), &focus, NULL), ERR_OK);
    assert_int_equal(regex_compile(BYTES_LITERAL("libc"), &ignore, NULL), ERR_OK);
    assert_same_as_tree((const struct batch *const *)sides, &(struct call_tree_options){0});
    assert_same_as_tree((const struct batch *const *)sides,
                        &(struct call_tree_options){.focus = focus, .ignore = ignore});
    regex_destroy(&focus);
    regex_destroy(&ignore);
    batch_unref(&sides[0]);
    batch_unref(&sides[1]);
}

static void memory_may_be_out(void **state)
{
    (void)state;
    static const struct call_tree_options options = {0};
    struct batch *b = batch_of("cpu", "ns", (const char *[]){"main@f!m;a>b", "main;c;!lib.so", NULL});
    const struct batch *sides[] = {b, b};
    for (size_t n = 1;; n++) {
        struct function_table table;
        struct err e = {0};
        mem_fail_from(n);
        enum err_code rc = function_table_build(sides, 2, &options, &table, &e);
        mem_fail_from(0);
        function_table_fini(&table);
        if (rc == ERR_OK) {
            assert_true(n > 10);
            break;
        }
        assert_int_equal(rc, ERR_MEMORY);
        assert_true(e.text[0] != 0);
    }
    batch_unref(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recursion_counts_once), cmocka_unit_test(one_name_is_one_row),
        cmocka_unit_test(nothing_has_no_row),    cmocka_unit_test(the_largest_amount_stands_first),
        cmocka_unit_test(change_is_of_shares),   cmocka_unit_test(an_empty_side_has_no_shares),
        cmocka_unit_test(table_and_tree_agree),  cmocka_unit_test(memory_may_be_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
