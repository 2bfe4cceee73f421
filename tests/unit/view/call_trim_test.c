// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/view/tree_fixture.h"

#include "base/mem.h"

#include <math.h>

static void trim(struct call_tree *t, uint32_t max_nodes)
{
    assert_int_equal(call_tree_trim(t, max_nodes, NULL), ERR_OK);
    assert_true(t->node_count <= max_nodes);
}

static struct batch *batch_with_small_ones(void)
{
    struct batch_writer w;
    batch_writer_init(&w);
    batch_writer_sample(&w, "main;work", 9989900);
    batch_writer_sample(&w, "main;a;b;c", 3);
    batch_writer_sample(&w, "main;a;b", 4);
    batch_writer_sample(&w, "main;d", 93);
    batch_writer_sample(&w, "e;f", 10000);
    batch_writer_profile(&w, "cpu", "ns", NULL, NULL);
    return batch_writer_finish(&w);
}

static void small_nodes_become_one(void **state)
{
    (void)state;
    struct batch *b = batch_with_small_ones();
    struct call_tree t = tree_of(b, NULL); // all, main, work, a, b, c, d, e, f
    trim(&t, 9);
    assert_int_equal(t.small_nodes, 0);
    assert_int_equal(t.function_count, 9);
    trim(&t, 7); // 0.0001 % is 10 of the whole
    assert_tree(&t, "e 0 10000(f 10000 10000;);main 0 9990000([below 0.0001 %] 7 7;d 93 93;work 9989900 9989900;);");
    assert_int_equal(t.small_nodes, 3);
    assert_true(fabs(t.small_share - 1e-6) < 1e-12);
    assert_int_equal(t.nodes[0].total[0], 10000000);
    const struct call_function *f = &t.functions[t.function_count - 1];
    assert_true(!f->own && f->namesake == t.function_count - 1 && f->file.len == 0 && f->module.len == 0);
    call_tree_fini(&t);
    batch_unref(&b);
}

static void the_least_share_that_does_it(void **state)
{
    (void)state;
    static const struct {
        uint32_t max_nodes;
        const char *expected;
    } cases[] = {
        {6, "e 0 10000(f 10000 10000;);main 0 9990000([below 0.001 %] 100 100;work 9989900 9989900;);"},
        {5, "[below 0.2 %] 10000 10000;main 0 9990000([below 0.2 %] 100 100;work 9989900 9989900;);"},
        {4, "[below 100 %] 10000000 10000000;"},
        {2, "[below 100 %] 10000000 10000000;"},
    };
    struct batch *b = batch_with_small_ones();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct call_tree t = tree_of(b, NULL);
        trim(&t, cases[i].max_nodes);
        assert_tree(&t, cases[i].expected);
        call_tree_fini(&t);
    }
    batch_unref(&b);
}

static void a_chain_of_all_values_goes_too(void **state)
{
    (void)state;
    struct batch *b = batch_of("cpu", "ns", (const char *[]){"a;b;c;d", NULL});
    struct call_tree t = tree_of(b, NULL);
    trim(&t, 3);
    assert_tree(&t, "[below 200 %] 1 1;");
    call_tree_fini(&t);
    batch_unref(&b);
}

static void amounts_count_whatever_their_sign(void **state)
{
    (void)state;
    struct batch_writer w;
    batch_writer_init(&w);
    batch_writer_sample(&w, "main;more", 1000000);
    batch_writer_sample(&w, "main;less", -1000000);
    batch_writer_sample(&w, "main;x;y", 1);
    batch_writer_sample(&w, "main;x", -1);
    batch_writer_profile(&w, "cpu", "ns", NULL, NULL);
    struct batch *b = batch_writer_finish(&w);
    struct call_tree t = tree_of(b, NULL);
    trim(&t, 5);
    assert_tree(&t, "main 0 0([below 0.0001 %] 0 0;less -1000000 -1000000;more 1000000 1000000;);");
    call_tree_fini(&t);
    batch_unref(&b);
}

static void two_sides_weigh_by_their_shares(void **state)
{
    (void)state;
    static const struct call_tree_options plain = {0};
    struct batch *sides[] = {batch_of("cpu", "ns", (const char *[]){"a", NULL}), batch_with_small_ones()};
    struct call_tree t;
    assert_int_equal(call_tree_build((const struct batch *const *)sides, 2, &plain, &t, NULL), ERR_OK);
    trim(&t, 6);
    assert_tree(&t, "[below 0.1 %] 0 0 10000 10000;a 1 1 0 0;main 0 0 0 9990000([below 0.1 %] 0 0 100 100;"
                    "work 0 0 9989900 9989900;);");
    call_tree_fini(&t);
    batch_unref(&sides[0]);
    batch_unref(&sides[1]);
}

static void memory_may_be_out(void **state)
{
    (void)state;
    struct batch *b = batch_with_small_ones();
    struct call_tree t = tree_of(b, NULL);
    for (size_t n = 1;; n++) {
        struct err e = {0};
        mem_fail_from(n);
        enum err_code rc = call_tree_trim(&t, 5, &e);
        mem_fail_from(0);
        if (rc == ERR_OK) {
            assert_true(n > 5);
            break;
        }
        assert_int_equal(rc, ERR_MEMORY);
        assert_int_equal(t.node_count, 9);
        assert_int_equal(t.function_count, 9);
    }
    assert_int_equal(t.node_count, 5);
    call_tree_fini(&t);
    batch_unref(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_nodes_become_one),
        cmocka_unit_test(the_least_share_that_does_it),
        cmocka_unit_test(amounts_count_whatever_their_sign),
        cmocka_unit_test(two_sides_weigh_by_their_shares),
        cmocka_unit_test(a_chain_of_all_values_goes_too),
        cmocka_unit_test(memory_may_be_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
