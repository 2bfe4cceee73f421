// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/view/tree_fixture.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

static const struct call_tree_options plain = {0};

static void paths_share_their_nodes(void **state)
{
    (void)state;
    struct batch *b =
        batch_of("cpu", "nanoseconds", (const char *[]){"main;work;leaf", "main;work", "main;other;leaf", NULL});
    struct call_tree t = tree_of(b, NULL);
    assert_tree(&t, "main 0 7(other 0 4(leaf 4 4;);work 2 3(leaf 1 1;););");
    assert_int_equal(t.nodes[0].total[0], 7);
    assert_int_equal(t.nodes[0].self[0], 0);
    assert_int_equal(t.samples, 3);
    assert_int_equal(t.function_count, 5); // "all" is one
    assert_true(bytes_equal_text(t.functions[t.nodes[0].function].name, "all"));
    assert_true(bytes_equal_text(t.sample_type, "cpu") && bytes_equal_text(t.unit, "nanoseconds"));
    batch_unref(&b); // the tree has its own texts
    assert_true(bytes_equal_text(t.functions[t.nodes[1].function].name, "main"));
    call_tree_fini(&t);
}

static void inlined_calls_are_frames(void **state)
{
    (void)state;
    struct batch *b = batch_of("cpu", "ns", (const char *[]){"main;outer>middle>inner", "main;outer", NULL});
    struct call_tree t = tree_of(b, NULL);
    assert_tree(&t, "main 0 3(outer 2 3(middle 0 1(inner 1 1;);););");
    call_tree_fini(&t);
    batch_unref(&b);
}

static void samples_without_stack_belong_to_the_root(void **state)
{
    (void)state;
    struct batch *b = batch_of("cpu", "ns", (const char *[]){"", "main", NULL});
    struct call_tree t = tree_of(b, NULL);
    assert_tree(&t, "main 2 2;");
    assert_int_equal(t.nodes[0].self[0], 1);
    assert_int_equal(t.nodes[0].total[0], 3);
    call_tree_fini(&t);
    batch_unref(&b);
}

static void functions_differ_by_file(void **state)
{
    (void)state;
    struct batch *b = batch_of(
        "cpu", "ns",
        (const char *[]){"run@a.py", "run@b.py", "run!/bin/x", "run!/bin/y", "run@a.py!/bin/x", "run@/bin/x", NULL});
    struct call_tree t = tree_of(b, NULL);
    assert_tree(&t, "run 17 17;run 2 2;run 4 4;run 8 8;run 32 32;");
    for (uint32_t i = 1; i < t.function_count; i++)
        assert_int_equal(t.functions[i].namesake, 1);
    call_tree_fini(&t);
    batch_unref(&b);
}

static void frames_without_name_have_that_of_their_module(void **state)
{
    (void)state;
    struct batch *b =
        batch_of("cpu", "ns", (const char *[]){"!/usr/lib/libc.so.6", ";main", "![kernel.kallsyms]", NULL});
    struct call_tree t = tree_of(b, NULL);
    assert_tree(&t, "[kernel.kallsyms] 4 4;[libc.so.6] 1 1;[unknown] 0 2(main 2 2;);");
    call_tree_fini(&t);
    batch_unref(&b);
}

static void all_profiles_of_the_type_are_added_up(void **state)
{
    (void)state;
    struct batch_writer w;
    batch_writer_init(&w);
    batch_writer_sample(&w, "main", 1);
    batch_writer_profile(&w, "cpu", "ns", NULL, NULL);
    batch_writer_sample(&w, "main", 10);
    batch_writer_profile(&w, "cpu", "count", NULL, NULL);
    batch_writer_sample(&w, "main;x", 100);
    batch_writer_profile(&w, "cpu", "ns", NULL, NULL);
    struct batch *b = batch_writer_finish(&w);
    struct call_tree t = tree_of(b, NULL);
    assert_tree(&t, "main 1 101(x 100 100;);");
    call_tree_fini(&t);
    t = tree_of(b, &(struct call_tree_options){.sample_type = BYTES_LITERAL("cpu")});
    assert_tree(&t, "main 1 101(x 100 100;);");
    call_tree_fini(&t);
    t = tree_of(b, &(struct call_tree_options){.sample_type = BYTES_LITERAL("cpu/count")});
    assert_tree(&t, "main 10 10;");
    call_tree_fini(&t);
    struct sample_type_name types[1];
    assert_int_equal(batch_sample_types(b, types, 1), 2);
    assert_true(bytes_equal_text(types[0].type, "cpu") && bytes_equal_text(types[0].unit, "ns"));
    batch_unref(&b);
}

static void values_and_timestamps_count(void **state)
{
    (void)state;
    struct batch_writer w;
    batch_writer_init(&w);
    const uint32_t stack = batch_writer_stack(&w, "main");
    sample_writer_add(&w.samples, stack, 0, 0);
    sample_writer_add(&w.samples, stack, 0, 0);
    observation_writer_add(&w.observations, NULL, 0, (const uint64_t[]){5, 6, 7}, 3);
    observation_writer_add(&w.observations, (const int64_t[]){10, -20}, 2, (const uint64_t[]){5, 6}, 2);
    batch_writer_profile(&w, "cpu", "ns", NULL, NULL);
    struct batch *b = batch_writer_finish(&w);
    struct call_tree t = tree_of(b, NULL);
    assert_tree(&t, "main -7 -7;");
    assert_int_equal(t.samples, 2);
    call_tree_fini(&t);
    batch_unref(&b);
}

static void sums_stay_at_the_ends(void **state)
{
    (void)state;
    struct batch_writer w;
    batch_writer_init(&w);
    batch_writer_sample(&w, "a;x", INT64_MAX);
    batch_writer_sample(&w, "a;x", INT64_MAX);
    batch_writer_sample(&w, "a;y", 1);
    batch_writer_sample(&w, "b;x", INT64_MIN);
    batch_writer_sample(&w, "b;y", -1);
    batch_writer_profile(&w, "cpu", "ns", NULL, NULL);
    struct batch *b = batch_writer_finish(&w);
    struct call_tree t = tree_of(b, NULL);
    assert_tree(&t, "a 0 9223372036854775807(x 9223372036854775807 9223372036854775807;y 1 1;);"
                    "b 0 -9223372036854775808(x -9223372036854775808 -9223372036854775808;y -1 -1;);");
    call_tree_fini(&t);
    batch_unref(&b);
}

static void two_sides_share_the_tree(void **state)
{
    (void)state;
    struct batch *sides[] = {batch_of("cpu", "ns", (const char *[]){"main;a@f", "main;b", NULL}),
                             batch_of("cpu", "ns", (const char *[]){"main;c", "main;a@f", NULL})};
    struct call_tree t;
    struct err e = {0};
    assert_int_equal(call_tree_build((const struct batch *const *)sides, 2, &plain, &t, &e), ERR_OK);
    assert_int_equal(t.side_count, 2);
    assert_tree(&t, "main 0 3 0 3(a 1 1 2 2;b 2 2 0 0;c 0 0 1 1;);");
    assert_int_equal(t.nodes[0].total[1], 3);
    call_tree_fini(&t);
    batch_unref(&sides[0]);
    batch_unref(&sides[1]);
}

static void assert_refused(struct batch *first, struct batch *second, const struct call_tree_options *options,
                           enum err_code code, const char *words)
{
    const struct batch *sides[] = {first, second};
    struct call_tree t;
    struct err e = {0};
    assert_int_equal(call_tree_build(sides, second != NULL ? 2 : 1, options, &t, &e), code);
    if (strstr(e.text, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, e.text);
    call_tree_fini(&t);
    batch_unref(&first);
    batch_unref(&second);
}

static void what_is_not_there_is_named(void **state)
{
    (void)state;
    static const char *const stacks[] = {"main;a;b;c", NULL};
    struct batch_writer w;
    assert_refused(batch_of("cpu", "ns", stacks), NULL, &(struct call_tree_options){.sample_type = BYTES_LITERAL("x")},
                   ERR_INVALID, "no sample type \"x\"; there are: cpu/ns");
    assert_refused(batch_of("cpu", "ns", stacks), batch_of("wall", "ns", stacks), &plain, ERR_INVALID,
                   "no sample type \"cpu\"; there are: wall/ns");
    assert_refused(batch_of("cpu", "ns", stacks), batch_of("cpu", "ms", stacks), &plain, ERR_INVALID,
                   "in \"ns\" before and in \"ms\" after");
    assert_refused(batch_of("cpu", "ns", stacks), NULL, &(struct call_tree_options){.max_nodes = 4}, ERR_LIMIT,
                   "more than 4 nodes");
    batch_writer_init(&w);
    assert_refused(batch_writer_finish(&w), NULL, &plain, ERR_INVALID, "no profiles");
    struct batch *b = batch_of("cpu", "ns", stacks);
    struct call_tree t = tree_of(b, &(struct call_tree_options){.max_nodes = 5});
    assert_int_equal(t.node_count, 5);
    call_tree_fini(&t);
    batch_unref(&b);
}

static void many_types_are_told_in_part(void **state)
{
    (void)state;
    struct batch_writer w;
    batch_writer_init(&w);
    for (int i = 0; i < 30; i++) {
        char type[8];
        snprintf(type, sizeof type, "t%d", i);
        batch_writer_profile(&w, type, "u", NULL, NULL);
    }
    assert_refused(batch_writer_finish(&w), NULL, &(struct call_tree_options){.sample_type = BYTES_LITERAL("x")},
                   ERR_INVALID, "t19/u and 10 more");
}

static struct regex *compiled(const char *pattern)
{
    struct regex *r;
    assert_int_equal(regex_compile(bytes_from_text(pattern), &r, NULL), ERR_OK);
    return r;
}

static void focus_and_ignore_choose_samples(void **state)
{
    (void)state;
    struct batch *b =
        batch_of("cpu", "ns", (const char *[]){"main;http.Get;read", "main;http.Get;write", "main;idle", NULL});
    struct regex *focus = compiled("^http"), *ignore = compiled("rit");
    struct call_tree t = tree_of(b, &(struct call_tree_options){.focus = focus});
    assert_tree(&t, "main 0 3(http.Get 0 3(read 1 1;write 2 2;););");
    assert_int_equal(t.samples, 2);
    assert_int_equal(t.cut_samples, 1);
    call_tree_fini(&t);
    t = tree_of(b, &(struct call_tree_options){.ignore = ignore});
    assert_tree(&t, "main 0 5(http.Get 0 1(read 1 1;);idle 4 4;);");
    call_tree_fini(&t);
    t = tree_of(b, &(struct call_tree_options){.focus = focus, .ignore = ignore});
    assert_tree(&t, "main 0 1(http.Get 0 1(read 1 1;););");
    call_tree_fini(&t);
    regex_destroy(&focus);
    regex_destroy(&ignore);
    batch_unref(&b);
}

static void own_code_is_marked(void **state)
{
    (void)state;
    struct batch *b = batch_of("cpu", "ns", (const char *[]){"main@/srv/a.py;get@/x/site-packages/r.py", NULL});
    struct regex *own = compiled("site-packages");
    struct call_tree t = tree_of(b, NULL);
    assert_true(t.functions[1].own && !t.functions[2].own);
    call_tree_fini(&t);
    t = tree_of(b, &(struct call_tree_options){.own = own});
    assert_true(!t.functions[1].own && t.functions[2].own);
    call_tree_fini(&t);
    regex_destroy(&own);
    batch_unref(&b);
}

static void assert_dropped(const char *stack, const char *drop, const char *keep, const char *expected)
{
    struct batch_writer w;
    batch_writer_init(&w);
    batch_writer_sample(&w, stack, 1);
    batch_writer_profile(&w, "cpu", "ns", drop, keep);
    struct batch *b = batch_writer_finish(&w);
    struct call_tree t = tree_of(b, NULL);
    assert_tree(&t, expected);
    call_tree_fini(&t);
    batch_unref(&b);
}

static void frames_are_dropped_as_pprof_does(void **state)
{
    (void)state;
    assert_dropped("main;alloc;grow", "alloc", NULL, "main 1 1;");
    assert_dropped("main;alloc;grow", "allo", NULL, "main 0 1(alloc 0 1(grow 1 1;););"); // all of the name
    assert_dropped("main;alloc;grow", "a.*", "alloc", "main 0 1(alloc 0 1(grow 1 1;););");
    assert_dropped("main;alloc;grow", "a((", NULL, "main 0 1(alloc 0 1(grow 1 1;););");
    assert_dropped("main;alloc;grow", "alloc", "((", "main 0 1(alloc 0 1(grow 1 1;););");
    assert_dropped("main;ns::alloc(int);grow", "ns::alloc", NULL, "main 1 1;");
    assert_dropped("main;.alloc;grow", "alloc", NULL, "main 1 1;");
    assert_dropped("main;operator()(int);grow", "operator\\(\\)", NULL, "main 1 1;");
    assert_dropped("main;(anonymous namespace)::f(int);grow", "\\(anonymous namespace\\)::f", NULL, "main 1 1;");
    // Something has to remain.
    assert_dropped("alloc;main;alloc;grow", "alloc", NULL, "alloc 0 1(main 1 1;);");
    assert_dropped("alloc;alloc", "alloc", NULL, "alloc 0 1(alloc 1 1;);");
    // Inlined calls go, the function they are in stays.
    assert_dropped("main;work>alloc>grow;deep", "alloc", NULL, "main 0 1(work 1 1;);");
    assert_dropped("work>alloc>grow;deep", "alloc", NULL, "work 0 1(deep 1 1;);");
}

static void each_profile_has_its_own_rules(void **state)
{
    (void)state;
    struct batch_writer w;
    batch_writer_init(&w);
    static const char *const rules[] = {"a", NULL, "b", "a"};
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        batch_writer_sample(&w, "main;b;a>x", 1);
        batch_writer_profile(&w, "cpu", "ns", rules[i], NULL);
    }
    struct batch *b = batch_writer_finish(&w);
    struct call_tree t = tree_of(b, NULL);
    assert_tree(&t, "main 1 4(b 2 3(a 0 1(x 1 1;);););");
    call_tree_fini(&t);
    batch_unref(&b);
}

static void depth_is_no_recursion(void **state)
{
    (void)state;
    enum { DEPTH = 200000 };
    struct batch_writer w;
    batch_writer_init(&w);
    uint32_t *locations = malloc(DEPTH * sizeof *locations);
    assert_non_null(locations);
    const struct batch_function f = {.name = builder_string_text(w.builder, "deeper")};
    const struct batch_line line = {.function = builder_function(w.builder, &f)};
    for (uint32_t i = 0; i < DEPTH; i++)
        locations[i] = builder_location(w.builder, &(struct batch_location){.address = i % 3}, &line, 1);
    sample_writer_add(&w.samples, builder_stack(w.builder, locations, DEPTH), 0, 0);
    observation_writer_add_value(&w.observations, 1);
    batch_writer_profile(&w, "cpu", "ns", NULL, NULL);
    struct batch *b = batch_writer_finish(&w);
    struct call_tree t = tree_of(b, NULL);
    assert_int_equal(t.node_count, DEPTH + 1);
    struct function_table table;
    assert_int_equal(function_table_build((const struct batch *const[]){b}, 1, &plain, &table, NULL), ERR_OK);
    assert_int_equal(table.count, 1);
    assert_int_equal(table.rows[0].total[0], 1);
    function_table_fini(&table);
    call_tree_fini(&t);
    free(locations);
    batch_unref(&b);
}

static void memory_may_be_out(void **state)
{
    (void)state;
    struct batch *b = batch_of("cpu", "ns", (const char *[]){"main@f!m;a>b", "main;c;!lib.so", NULL});
    const struct batch *sides[] = {b, b};
    for (size_t n = 1;; n++) {
        struct call_tree t;
        struct err e = {0};
        mem_fail_from(n);
        enum err_code rc = call_tree_build(sides, 2, &plain, &t, &e);
        mem_fail_from(0);
        call_tree_fini(&t);
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
        cmocka_unit_test(paths_share_their_nodes),
        cmocka_unit_test(inlined_calls_are_frames),
        cmocka_unit_test(samples_without_stack_belong_to_the_root),
        cmocka_unit_test(functions_differ_by_file),
        cmocka_unit_test(frames_without_name_have_that_of_their_module),
        cmocka_unit_test(all_profiles_of_the_type_are_added_up),
        cmocka_unit_test(values_and_timestamps_count),
        cmocka_unit_test(sums_stay_at_the_ends),
        cmocka_unit_test(two_sides_share_the_tree),
        cmocka_unit_test(what_is_not_there_is_named),
        cmocka_unit_test(many_types_are_told_in_part),
        cmocka_unit_test(focus_and_ignore_choose_samples),
        cmocka_unit_test(own_code_is_marked),
        cmocka_unit_test(frames_are_dropped_as_pprof_does),
        cmocka_unit_test(each_profile_has_its_own_rules),
        cmocka_unit_test(depth_is_no_recursion),
        cmocka_unit_test(memory_may_be_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
