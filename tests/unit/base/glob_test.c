// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/glob.h"
#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void matches(const char *pattern, const char *path)
{
    if (!glob_match(pattern, path))
        fail_msg("%s should match %s", pattern, path);
}

static void differs(const char *pattern, const char *path)
{
    if (glob_match(pattern, path))
        fail_msg("%s should not match %s", pattern, path);
}

static void literals(void **state)
{
    (void)state;
    matches("", "");
    matches("/a/b", "/a/b");
    differs("/a/b", "/a/bc");
    differs("/a/bc", "/a/b");
    differs("", "a");
    differs("a", "");
    differs("A", "a");
}

static void stars_stay_in_one_element(void **state)
{
    (void)state;
    matches("*", "");
    matches("*", "abc");
    matches("*.gz", ".gz");
    matches("/d/*.pb.gz", "/d/cpu.pb.pb.gz");
    matches("/d/*a*b*c", "/d/xxaxbbxcc");
    differs("/d/*a*b*c", "/d/xxaxbbxcd");
    differs("*", "a/b");
    differs("/d/*", "/d/e/f");
    differs("/d/*", "/d");
    matches("/*/b", "/a/b");
    matches("a**b", "axxb"); // not a whole element: a plain star
    differs("a**b", "ax/xb");
    differs("***", "a/b");
}

static void question_marks_take_one_character(void **state)
{
    (void)state;
    matches("a?c", "abc");
    matches("a?c", "a\u00e9c");
    matches("??", "\u20ac\U0001F600");
    differs("a?c", "ac");
    differs("a?c", "a/c");
    differs("?", "");
    matches("?", "\xff"); // broken text: one byte
    differs("?", "\xff\xff");
    matches("*?", "\u20ac");
}

static void classes(void **state)
{
    (void)state;
    matches("[a-c]x", "bx");
    differs("[a-c]x", "dx");
    matches("[abz-]", "-");
    matches("[!a-c]", "d");
    matches("[^a-c]", "d");
    differs("[!a-c]", "a");
    differs("[!a]", "/");
    differs("x[/]y", "x/y");
    matches("[]a]", "]");
    matches("[!]a]", "b");
    differs("[!]a]", "]");
    matches("[\u00e0-\u00ff]", "\u00e9");
    differs("[\u00e0-\u00ff]", "e");
    differs("[z-a]", "m");
    differs("[a]", "");
    matches("[a", "[a"); // never closed
    matches("[", "[");
    matches("[]", "[]");
    matches("[!", "[!");
}

static void backslashes(void **state)
{
    (void)state;
    matches("a\\*b", "a*b");
    differs("a\\*b", "axb");
    matches("\\[a]", "[a]");
    matches("\\\\", "\\");
    matches("a\\", "a\\");
}

static void double_stars_cross_elements(void **state)
{
    (void)state;
    matches("/a/**/*.pb.gz", "/a/x.pb.gz");
    matches("/a/**/*.pb.gz", "/a/b/c/x.pb.gz");
    differs("/a/**/*.pb.gz", "/ab/x.pb.gz");
    differs("/a/**/*.pb.gz", "/a/b/c/x.pb");
    matches("**/x", "x");
    matches("**/x", "a/b/x");
    differs("**/x", "ax");
    matches("/**/b/**/d", "/a/b/c/d");
    matches("/**/b/**/d", "/b/d");
    differs("/**/b/**/d", "/a/c/d");
    matches("/a/**", "/a/b");
    matches("/a/**", "/a/b/c");
    differs("/a/**", "/b/a/c");
    matches("**", "any/where");
    matches("**", "");
    matches("/a/**/b", "/a/b/x/b");
    differs("/a/**b", "/a/c/b");
    matches("/**/**/x", "/x");
}

// What brings a backtracking matcher to its knees: every split of the stars is tried.
static void work_is_bounded(void **state)
{
    (void)state;
    static char pattern[LIMIT_PATH_BYTES + 2], path[LIMIT_PATH_BYTES + 2];
    for (size_t i = 0; i < 600; i += 3)
        memcpy(pattern + i, "**/", 4);
    for (size_t i = 0; i < 2000; i += 2)
        memcpy(path + i, "a/", 3);
    memcpy(pattern + 600, "b", 2);
    assert_false(glob_match(pattern, path));
    memcpy(path + 2000, "b", 2);
    assert_true(glob_match(pattern, path));
    memset(pattern, 'a', sizeof pattern - 1);
    for (size_t i = 0; i < LIMIT_PATH_BYTES; i += 2)
        pattern[i] = '*';
    pattern[LIMIT_PATH_BYTES] = '\0';
    memset(path, 'a', sizeof path - 1);
    path[LIMIT_PATH_BYTES] = '\0';
    assert_true(glob_match(pattern, path));
    path[LIMIT_PATH_BYTES - 1] = 'b';
    assert_false(glob_match(pattern, path));
}

static void too_long_texts_match_nothing(void **state)
{
    (void)state;
    static char text[LIMIT_PATH_BYTES + 2];
    memset(text, 'a', LIMIT_PATH_BYTES);
    assert_true(glob_match("*", text));
    assert_true(glob_match(text, text));
    text[LIMIT_PATH_BYTES] = 'a';
    assert_false(glob_match("*", text));
    assert_false(glob_match(text, "a"));
}

// The definition, tried out: slow, and obviously right.
static bool matches_by_trying(const char *pattern, const char *path, bool element_start)
{
    if (*pattern == '\0')
        return *path == '\0';
    if (element_start && strncmp(pattern, "**/", 3) == 0) {
        if (matches_by_trying(pattern + 3, path, true))
            return true;
        const char *slash = strchr(path, '/');
        return slash != NULL && matches_by_trying(pattern, slash + 1, true);
    }
    if (element_start && strcmp(pattern, "**") == 0)
        return true;
    if (*pattern == '*') {
        while (pattern[1] == '*')
            pattern++;
        if (matches_by_trying(pattern + 1, path, false))
            return true;
        return *path != '\0' && *path != '/' && matches_by_trying(pattern, path + 1, false);
    }
    if (*path == '\0' || (*pattern == '?' ? *path == '/' : *path != *pattern))
        return false;
    return matches_by_trying(pattern + 1, path + 1, *pattern == '/');
}

static void agrees_with_the_definition(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a", "b", "/", "*", "?", "**/", "**"};
    uint32_t random = 1;
    size_t hits = 0;
    for (int round = 0; round < 20000; round++) {
        char pattern[32] = "", path[16] = "";
        size_t len = 0;
        for (int i = 0; i < 6; i++) {
            random = random * 1664525u + 1013904223u;
            if ((random >> 28) > 3)
                len += (size_t)snprintf(pattern + len, sizeof pattern - len, "%s",
                                        pieces[(random >> 16) % COUNT_OF(pieces)]);
            path[i] = "aab/"[(random >> 8) % 4];
        }
        path[(random >> 4) % 7] = '\0';
        bool expected = matches_by_trying(pattern, path, true);
        hits += expected;
        if (glob_match(pattern, path) != expected)
            fail_msg("'%s' on '%s' should be %d", pattern, path, expected);
    }
    assert_true(hits > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals),
        cmocka_unit_test(stars_stay_in_one_element),
        cmocka_unit_test(question_marks_take_one_character),
        cmocka_unit_test(classes),
        cmocka_unit_test(backslashes),
        cmocka_unit_test(double_stars_cross_elements),
        cmocka_unit_test(work_is_bounded),
        cmocka_unit_test(too_long_texts_match_nothing),
        cmocka_unit_test(agrees_with_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
