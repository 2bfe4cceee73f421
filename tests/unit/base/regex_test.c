// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/regex.h"

#include <stdio.h>
#include <stdlib.h>

static struct regex *compiled(const char *pattern)
{
    struct regex *r;
    struct err e = {0};
    if (regex_compile(bytes_from_text(pattern), &r, &e) != ERR_OK)
        fail_msg("%s", e.text);
    return r;
}

static void refused(const char *pattern, enum err_code code, const char *text)
{
    struct regex *r;
    struct err e = {0};
    assert_int_equal(regex_compile(bytes_from_text(pattern), &r, &e), code);
    assert_null(r);
    assert_string_equal(e.text, text);
}

static void match_is_anchored_search_is_not(void **state)
{
    (void)state;
    struct regex *r = compiled("b+|abc");
    assert_true(regex_match(r, BYTES_LITERAL("bb"), NULL, 0));
    assert_true(regex_match(r, BYTES_LITERAL("abc"), NULL, 0)); // the alternatives as a whole
    assert_false(regex_match(r, BYTES_LITERAL("abb"), NULL, 0));
    assert_false(regex_match(r, BYTES_LITERAL("bb\n"), NULL, 0));
    struct bytes found;
    assert_true(regex_search(r, BYTES_LITERAL("xabbx"), &found, 1));
    assert_true(bytes_equal_text(found, "bb"));
    assert_false(regex_search(r, BYTES_LITERAL("xyz"), &found, 1));
    regex_destroy(&r);
    assert_null(r);
    regex_destroy(&r);
}

static void a_search_goes_on_in_the_same_text(void **state)
{
    (void)state;
    const struct bytes text = BYTES_LITERAL("ab ab");
    struct bytes found;
    struct regex *r = compiled("ab");
    assert_true(regex_search_from(r, text, 0, &found, 1) && found.data == text.data);
    assert_true(regex_search_from(r, text, 1, &found, 1) && found.data == text.data + 3);
    assert_false(regex_search_from(r, text, 4, &found, 1));
    assert_false(regex_search_from(r, text, text.len, &found, 1));
    regex_destroy(&r);
    r = compiled("^ab|\\bb"); // the start of the text and of a word are where they were
    assert_true(regex_search_from(r, text, 0, &found, 1));
    assert_false(regex_search_from(r, text, 1, &found, 1));
    assert_false(regex_search_from(r, text, 3, &found, 1));
    regex_destroy(&r);
}

static void groups_are_told(void **state)
{
    (void)state;
    struct regex *r = compiled("(?P<service>[^/]+)/(x)?(.*)");
    struct bytes groups[6];
    assert_int_equal(regex_group_count(r), 3);
    assert_string_equal(regex_group_name(r, 1), "service");
    assert_null(regex_group_name(r, 2));
    assert_true(regex_match(r, BYTES_LITERAL("shop/"), groups, 6));
    assert_true(bytes_equal_text(groups[0], "shop/"));
    assert_true(bytes_equal_text(groups[1], "shop"));
    assert_null(groups[2].data); // took no part
    assert_non_null(groups[3].data);
    assert_int_equal(groups[3].len, 0);
    assert_null(groups[4].data); // there is none
    assert_null(groups[5].data);
    regex_destroy(&r);
}

static void empty_text_is_text(void **state)
{
    (void)state;
    struct regex *any = compiled("(.*)"), *none = compiled("");
    struct bytes groups[2];
    assert_true(regex_match(any, (struct bytes){NULL, 0}, groups, 2));
    assert_non_null(groups[1].data);
    assert_true(regex_match(none, (struct bytes){NULL, 0}, NULL, 0));
    assert_false(regex_match(none, BYTES_LITERAL("a"), NULL, 0));
    regex_destroy(&any);
    regex_destroy(&none);
}

static void bad_patterns_are_named(void **state)
{
    (void)state;
    refused("a(b", ERR_INVALID, "\"a(b\" is no regular expression: missing ): a(b");
    refused("a**", ERR_INVALID, "\"a**\" is no regular expression: bad repetition operator: **");
    refused("(?=a)", ERR_INVALID, "\"(?=a)\" is no regular expression: invalid perl operator: (?=");
    refused("((a{100}){100}){100}", ERR_INVALID,
            "\"((a{100}){100}){100}\" is no regular expression: invalid repetition size: {100}");
    refused("(\\pL{300}){3}", ERR_LIMIT,
            "the regular expression \"(\\pL{300}){3}\" is too large: pattern too large - compile failed");
}

static void read_as_go_does(void **state)
{
    (void)state;
    struct bytes groups[2];
    struct regex *r = compiled("(?<name>[(?<x>]+)\\Q(?<y>");
    assert_int_equal(regex_group_count(r), 1);
    assert_string_equal(regex_group_name(r, 1), "name");
    assert_true(regex_match(r, BYTES_LITERAL("<x>(?<y>"), groups, 2));
    assert_true(bytes_equal_text(groups[1], "<x>"));
    regex_destroy(&r);
    refused("a\\C", ERR_INVALID, "\"a\\C\" is no regular expression: there is no \\C");
    refused("(?<=a)", ERR_INVALID, "\"(?<=a)\" is no regular expression: invalid perl operator: (?<");
}

static void dots_may_take_line_feeds(void **state)
{
    (void)state;
    struct regex *r = compiled("a.b");
    assert_false(regex_match(r, BYTES_LITERAL("a\nb"), NULL, 0));
    regex_destroy(&r);
    assert_int_equal(regex_compile_dot_all(BYTES_LITERAL("a.b|c."), &r, NULL), ERR_OK);
    assert_true(regex_match(r, BYTES_LITERAL("a\nb"), NULL, 0));
    assert_true(regex_match(r, BYTES_LITERAL("c\n"), NULL, 0));
    regex_destroy(&r);
}

static void all_groups_need_names(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *expected;
    } cases[] = {
        {"(?P<a>.)(?:x)(?<b>.)", ""},
        {"(?:x)", "has no group: name what is to be taken, as in (?P<service>[^/]+)"},
        {"(?P<a>.)(x)", "group 2 has no name: write (?P<name>...), or (?:...) for one that is not to be taken"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = {0};
        struct regex *r = compiled(cases[i].pattern);
        assert_int_equal(regex_check_names(r, &e), cases[i].expected[0] == 0 ? ERR_OK : ERR_INVALID);
        assert_string_equal(e.text, cases[i].expected);
        regex_destroy(&r);
    }
}

static void too_many_groups_are_refused(void **state)
{
    (void)state;
    char pattern[3 * (REGEX_MAX_GROUPS + 1) + 1];
    for (int i = 0; i <= REGEX_MAX_GROUPS; i++)
        snprintf(pattern + 3 * i, 4, "(a)");
    refused(pattern, ERR_LIMIT, "the regular expression has 101 groups, allowed are 100");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(match_is_anchored_search_is_not),
        cmocka_unit_test(a_search_goes_on_in_the_same_text),
        cmocka_unit_test(groups_are_told),
        cmocka_unit_test(empty_text_is_text),
        cmocka_unit_test(bad_patterns_are_named),
        cmocka_unit_test(read_as_go_does),
        cmocka_unit_test(dots_may_take_line_feeds),
        cmocka_unit_test(all_groups_need_names),
        cmocka_unit_test(too_many_groups_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
