// SPDX-License-Identifier: Apache-2.0
// What Prometheus does is judged by tests/interop (100,000 cases); here is what users trip over, and what an outside judge
// cannot be asked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "processors/relabel_case.h"
#include "processors/relabel_rules.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT(text) BYTES_LITERAL(text)

// A rule with the defaults.
static struct relabel_rule_text rule_text(enum relabel_action action)
{
    return (struct relabel_rule_text){.action = action, .separator = TEXT(";"), .replacement = TEXT("$1")};
}

static struct relabel_rule_text with_sources(struct relabel_rule_text t, const struct bytes *sources, size_t count)
{
    t.source_labels = sources;
    t.source_count = count;
    return t;
}

static void add(struct relabel_run *run, const char *name, const char *value)
{
    assert_true(label_list_add(&run->labels, bytes_from_text(name), bytes_from_text(value), 0));
}

static char *labels_text(struct relabel_run *run)
{
    struct buf out;
    size_t len;
    buf_init(&out, 1 << 20);
    for (size_t i = 0; i < run->labels.count; i++) {
        const struct label *l = &run->labels.items[i];
        if (l->value.len == 0)
            continue;
        buf_add_format(&out, "%s", out.len == 0 ? "" : " ");
        buf_add(&out, l->name.data, l->name.len);
        buf_add_byte(&out, '=');
        buf_add(&out, l->value.data, l->value.len);
    }
    buf_add_byte(&out, '\0');
    assert_true(buf_ok(&out));
    return (char *)buf_take(&out, &len);
}

// Of the labels a=foo and b=bar; "dropped" if they are.
static void assert_rule(const struct relabel_rule_text *text, const char *expected)
{
    struct arena arena;
    struct relabel_rule rule;
    struct relabel_run run;
    struct err e = {0};
    const char *key;
    arena_init(&arena, 0);
    relabel_run_init(&run);
    add(&run, "a", "foo");
    add(&run, "b", "bar");
    assert_int_equal(relabel_rule_compile(&arena, text, &rule, &key, &e), ERR_OK);
    assert_int_equal(relabel_rule_apply(&rule, &run, &e), ERR_OK);
    char *result = run.kept ? labels_text(&run) : mem_copy_text("dropped");
    assert_string_equal(result, expected);
    free(result);
    relabel_rule_fini(&rule);
    relabel_run_fini(&run);
    arena_fini(&arena);
}

static const struct bytes source_a[] = {{(const uint8_t *)"a", 1}};
static const struct bytes source_a_b[] = {{(const uint8_t *)"a", 1}, {(const uint8_t *)"b", 1}};
static const struct bytes source_none[] = {{(const uint8_t *)"none", 4}};

static struct relabel_rule_text replace_from_a(struct bytes regex, struct bytes target, struct bytes replacement)
{
    struct relabel_rule_text t = with_sources(rule_text(RELABEL_REPLACE), source_a, 1);
    t.has_regex = true;
    t.regex = regex;
    t.target_label = target;
    t.replacement = replacement;
    return t;
}

static void replace_is_anchored_and_empty_results_remove(void **state)
{
    (void)state;
    const struct {
        const char *regex, *target, *replacement, *expected;
    } cases[] = {
        {"fo", "b", "x", "a=foo b=bar"}, // not the whole
        {"fo.*", "b", "x", "a=foo b=x"}, // the rest of the labels stays in order
        {"f(.*)", "b", "$1", "a=foo b=oo"},
        {"f(.*)", "b", "${1}x", "a=foo b=oox"},
        {"f(.*)", "b", "$1x", "a=foo"}, // the group "1x"
        {"f(.*)", "b", "", "a=foo"},
        {"f(.*)", "b_$1", "y", "a=foo b=bar b_oo=y"},
        {"f(.*)", "$2", "y", "a=foo b=bar"}, // no name, no rule
        {"(?P<rest>.*)", "c", "<$rest>", "a=foo b=bar c=<foo>"},
        {"(?<rest>.*)", "c", "<${rest}>", "a=foo b=bar c=<foo>"},
        {"(?P<n>x)?(?P<n>f)oo", "c", "<$n>", "a=foo b=bar c=<f>"}, // the first that took part
        {"(x)?foo", "c", "[$1]", "a=foo b=bar c=[]"},              // took no part
        {".*", "c", "$$1 $", "a=foo b=bar c=$1 $"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct relabel_rule_text t = replace_from_a(
            bytes_from_text(cases[i].regex), bytes_from_text(cases[i].target), bytes_from_text(cases[i].replacement));
        assert_rule(&t, cases[i].expected);
    }
    // The default expression matches what is not there: the target goes.
    struct relabel_rule_text t = with_sources(rule_text(RELABEL_REPLACE), source_none, 1);
    t.target_label = TEXT("b");
    assert_rule(&t, "a=foo");
}

static void other_actions_do_what_they_say(void **state)
{
    (void)state;
    struct relabel_rule_text t = with_sources(rule_text(RELABEL_KEEP), source_a_b, 2);
    t.has_regex = true;
    t.regex = TEXT("foo;bar");
    assert_rule(&t, "a=foo b=bar");
    t.action = RELABEL_DROP;
    assert_rule(&t, "dropped");
    t.separator = TEXT("");
    assert_rule(&t, "a=foo b=bar");
    t = with_sources(rule_text(RELABEL_KEEPEQUAL), source_a, 1);
    t.target_label = TEXT("b");
    assert_rule(&t, "dropped");
    t.action = RELABEL_DROPEQUAL;
    assert_rule(&t, "a=foo b=bar");
    t.action = RELABEL_UPPERCASE;
    assert_rule(&t, "a=foo b=FOO");
    t.action = RELABEL_HASHMOD;
    t.modulus = 1000;
    assert_rule(&t, "a=foo b=696"); // md5(foo) = acbd18db4cc2f85cedef654fccc4a4d8
    t = rule_text(RELABEL_LABELMAP);
    t.has_regex = true;
    t.regex = TEXT("(a|b)");
    t.replacement = TEXT("new_$1");
    assert_rule(&t, "a=foo b=bar new_a=foo new_b=bar");
    t.replacement = TEXT("b"); // sees the labels as they were
    assert_rule(&t, "a=foo b=bar");
    t.regex = TEXT("a|x");
    t.replacement = TEXT("$1");
    t.action = RELABEL_LABELDROP;
    assert_rule(&t, "b=bar");
    t.action = RELABEL_LABELKEEP;
    assert_rule(&t, "a=foo");
}

// The interop judge gets its cases as UTF-8.
static void broken_utf8_becomes_replacement_characters(void **state)
{
    (void)state;
    struct arena arena;
    struct bytes out;
    arena_init(&arena, 0);
    assert_true(case_map(&arena, TEXT("ok"), CASE_LOWER, &out));
    assert_true(bytes_equal(out, TEXT("ok")));
    assert_true(case_map(&arena, TEXT("A\xFF\xC3"), CASE_LOWER, &out));
    assert_true(bytes_equal(out, TEXT("a\xEF\xBF\xBD\xEF\xBF\xBD")));
    assert_true(case_map(&arena, TEXT("\xC3\xA9\xE2\x82"), CASE_UPPER, &out));
    assert_true(bytes_equal(out, TEXT("\xC3\x89\xEF\xBF\xBD\xEF\xBF\xBD")));
    assert_true(case_map(&arena, (struct bytes){NULL, 0}, CASE_UPPER, &out));
    assert_int_equal(out.len, 0);
    arena_fini(&arena);
}

static void shapes_agree_with_the_expression(void **state)
{
    (void)state;
    static const char *const patterns[] = {"",     "a",     "ab",    "a.*",       "a.+",       "(.*)",   "(.+)",
                                           ".*",   "a(.*)", "a(.+)", "a|ab",      "a|b.*",     "a\\.b",  "a\\|b",
                                           "|a",   "a|",    "ab?",   "ab{0}",     "\xC3\xA9*", "a(?i)?", "a\\Q\\E?",
                                           "a(b)", "[ab]",  "a|(b)", "\\Qa|b\\E", "(?i)a"};
    static const char *const texts[] = {"",    "a",  "b",        "ab", "a.b", "a|b", "axb",
                                        "abc", "ba", "\xC3\xA9", "A",  "aa",  "\n"};
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        struct arena arena;
        struct relabel_regex fast;
        struct regex *slow;
        struct err e = {0};
        char wrapped[64];
        arena_init(&arena, 0);
        snprintf(wrapped, sizeof wrapped, "^(?s:%s)$", patterns[i]);
        assert_int_equal(regex_compile(bytes_from_text(wrapped), &slow, &e), ERR_OK);
        assert_int_equal(relabel_regex_compile(&arena, bytes_from_text(patterns[i]), &fast, &e), ERR_OK);
        assert_int_equal(fast.group_count, regex_group_count(slow));
        for (size_t k = 0; k < COUNT_OF(texts); k++) {
            struct bytes text = bytes_from_text(texts[k]), a[3], b[3];
            bool matches = regex_search(slow, text, a, fast.group_count + 1);
            assert_int_equal(relabel_regex_matches(&fast, text), matches);
            assert_int_equal(relabel_regex_match(&fast, text, b), matches);
            for (uint32_t g = 0; matches && g <= fast.group_count; g++)
                assert_true(bytes_equal(a[g], b[g]) && (a[g].data == NULL) == (b[g].data == NULL));
        }
        relabel_regex_fini(&fast);
        regex_destroy(&slow);
        arena_fini(&arena);
    }
}

static void bad_expressions_are_refused(void **state)
{
    (void)state;
    static const char *const patterns[] = {"(",     ")",       "a)|(b", "[",   "\\C",
                                           "(?=a)", "a{1001}", "(?<n",  "x\\", "(?<a b>.)"};
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        struct arena arena;
        struct relabel_regex regex;
        struct err e = {0};
        arena_init(&arena, 0);
        if (relabel_regex_compile(&arena, bytes_from_text(patterns[i]), &regex, &e) != ERR_INVALID)
            fail_msg("\"%s\" is accepted", patterns[i]);
        assert_true(e.text[0] != '\0');
        relabel_regex_fini(&regex);
        arena_fini(&arena);
    }
}

// Many labels are found by an index; it must tell the same as looking through.
static void many_labels_keep_their_order(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    struct label_list l;
    struct bytes value;
    static char names[MANY][8];
    label_list_init(&l);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "n%03zu", (i * 7) % MANY);
        assert_true(label_list_add(&l, bytes_from_text(names[i]), TEXT("v"), (uint32_t)i + 1));
    }
    label_list_sort(&l);
    for (size_t i = 1; i < l.count; i++)
        assert_true(memcmp(l.items[i - 1].name.data, l.items[i].name.data, 4) < 0);
    assert_true(label_list_set(&l, TEXT("n500"), TEXT("new")));
    assert_int_equal(l.count, MANY + 1); // moved to the end, with its tag
    assert_true(bytes_equal_text(l.items[MANY].name, "n500") && l.items[MANY].tag != 0);
    assert_true(label_list_set(&l, TEXT("n500"), TEXT("")));
    assert_true(label_list_get(&l, TEXT("n500"), &value));
    assert_int_equal(value.len, 0);
    assert_true(label_list_set(&l, TEXT("n500"), TEXT("again")));
    assert_true(label_list_get(&l, TEXT("n500"), &value));
    assert_true(bytes_equal_text(value, "again"));
    assert_true(label_list_get(&l, TEXT("n501"), &value));
    assert_true(bytes_equal_text(value, "v"));
    label_list_clear(&l);
    assert_true(label_list_get(&l, TEXT("n501"), &value));
    assert_int_equal(value.len, 0);
    label_list_fini(&l);
}

static void texts_that_grow_too_large_are_refused(void **state)
{
    (void)state;
    struct relabel_rule_text t = with_sources(rule_text(RELABEL_REPLACE), source_a, 1);
    struct arena arena;
    struct relabel_rule rule;
    struct relabel_run run;
    struct err e = {0};
    const char *key;
    enum err_code rc = ERR_OK;
    t.target_label = TEXT("a");
    t.replacement = TEXT("$1$1");
    arena_init(&arena, 0);
    relabel_run_init(&run);
    add(&run, "a", "foo");
    assert_int_equal(relabel_rule_compile(&arena, &t, &rule, &key, &e), ERR_OK);
    for (int i = 0; i < 40 && rc == ERR_OK; i++)
        rc = relabel_rule_apply(&rule, &run, &e);
    assert_int_equal(rc, ERR_LIMIT);
    assert_string_equal(e.text, "a rule makes a text of 25165824 bytes, allowed are 16777216");
    relabel_rule_fini(&rule);
    relabel_run_fini(&run);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replace_is_anchored_and_empty_results_remove),
        cmocka_unit_test(other_actions_do_what_they_say),
        cmocka_unit_test(broken_utf8_becomes_replacement_characters),
        cmocka_unit_test(shapes_agree_with_the_expression),
        cmocka_unit_test(bad_expressions_are_refused),
        cmocka_unit_test(many_labels_keep_their_order),
        cmocka_unit_test(texts_that_grow_too_large_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
