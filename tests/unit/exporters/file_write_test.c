// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exporters/file_write.h"
#include "tests/support/test_files.h"
#include "tests/support/test_folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

// Two messages: {0A 01} and {1F 8B 00}.
static const uint8_t two_messages[] = {0, 0, 0, 2, 0x0A, 1, 0, 0, 0, 3, 0x1F, 0x8B, 0};

static struct bytes two(void)
{
    return (struct bytes){two_messages, sizeof two_messages};
}

static void assert_content(const char *path, struct bytes expected)
{
    struct bytes found = test_read_file(path);
    assert_int_equal(found.len, expected.len);
    if (expected.len != 0)
        assert_memory_equal(found.data, expected.data, expected.len);
    free((void *)(uintptr_t)found.data);
}

static void the_folder_of_a_path(void **state)
{
    (void)state;
    static const struct {
        const char *path, *folder;
    } cases[] = {{"a", "."}, {"/a", "/"}, {"/a/b", "/a"}, {"a/b/c", "a/b"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *folder = file_folder_of(cases[i].path);
        assert_string_equal(folder, cases[i].folder);
        free(folder);
    }
}

static void messages_follow_each_other(void **state)
{
    (void)state;
    struct test_folder f;
    struct err e = {0};
    uint64_t cut = 9;
    char path[256];
    test_folder_init(&f);
    test_folder_path(&f, "out", path);
    assert_int_equal(file_open_messages(path, false, true, &cut, &e), ERR_OK);
    assert_int_equal(cut, 0);
    assert_int_equal(file_append(path, (struct bytes){two_messages, 6}, &e), ERR_OK);
    assert_int_equal(file_append(path, (struct bytes){two_messages + 6, 7}, &e), ERR_OK);
    assert_content(path, two());
    assert_int_equal(file_open_messages(path, false, true, &cut, &e), ERR_OK);
    assert_content(path, two());
    assert_int_equal(file_open_messages(path, false, false, &cut, &e), ERR_OK);
    assert_content(path, (struct bytes){NULL, 0});
    test_folder_fini(&f);
}

// Whatever length a crash leaves: what is whole stays, the rest goes. The first 4 bytes alone tell nothing.
static void half_a_message_is_cut_off(void **state)
{
    (void)state;
    struct test_folder f;
    char path[256];
    test_folder_init(&f);
    test_folder_path(&f, "out", path);
    for (size_t len = 5; len < sizeof two_messages; len++) {
        struct err e = {0};
        uint64_t cut;
        size_t whole = len < 6 ? 0 : 6;
        test_folder_write(&f, "out", (struct bytes){two_messages, len});
        assert_int_equal(file_open_messages(path, false, true, &cut, &e), ERR_OK);
        assert_int_equal(cut, len - whole);
        assert_content(path, (struct bytes){two_messages, whole});
    }
    test_folder_fini(&f);
}

static void zeros_behind_the_messages_are_cut_off(void **state)
{
    (void)state;
    struct test_folder f;
    struct err e = {0};
    uint64_t cut;
    char path[256];
    uint8_t content[sizeof two_messages + 100] = {0};
    memcpy(content, two_messages, sizeof two_messages);
    test_folder_init(&f);
    test_folder_write(&f, "out", (struct bytes){content, sizeof content});
    assert_int_equal(file_open_messages(test_folder_path(&f, "out", path), false, true, &cut, &e), ERR_OK);
    assert_int_equal(cut, 100);
    assert_content(path, two());
    test_folder_fini(&f);
}

// The end of the last line is looked for block by block.
static void half_a_line_is_cut_off(void **state)
{
    (void)state;
    static const struct {
        size_t lines, half; // bytes
    } cases[] = {{0, 0}, {30, 0}, {30, 3}, {0, 5}, {0, 40}, {4096, 1}, {4095, 1}, {4096, 0}, {25, 9000}, {9000, 4096}};
    struct test_folder f;
    char path[256];
    uint8_t content[16384];
    test_folder_init(&f);
    test_folder_path(&f, "out", path);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = {0};
        uint64_t cut;
        size_t whole = cases[i].lines;
        memset(content, 'x', sizeof content);
        memcpy(content, "{\"resourceProfiles\":", 20);
        if (whole != 0)
            content[whole - 1] = '\n';
        test_folder_write(&f, "out", (struct bytes){content, whole + cases[i].half});
        assert_int_equal(file_open_messages(path, true, true, &cut, &e), ERR_OK);
        assert_int_equal(cut, cases[i].half);
        assert_content(path, (struct bytes){content, whole});
    }
    test_folder_fini(&f);
}

static void what_is_not_otlps_json_stays_as_it_is(void **state)
{
    (void)state;
    const struct bytes contents[] = {two(), BYTES_LITERAL("{\"name\": 1,\n\"x\": 2}"), BYTES_LITERAL("{ "),
                                     BYTES_LITERAL("text\n")};
    struct test_folder f;
    char path[256];
    test_folder_init(&f);
    test_folder_path(&f, "out", path);
    for (size_t i = 0; i < COUNT_OF(contents); i++) {
        struct err e = {0};
        uint64_t cut;
        test_folder_write(&f, "out", contents[i]);
        assert_int_equal(file_open_messages(path, true, true, &cut, &e), ERR_INVALID);
        assert_non_null(strstr(e.text, "at byte 0; move it away, or set append: false"));
        assert_content(path, contents[i]);
    }
    test_folder_fini(&f);
}

static void another_kind_of_file_stays_as_it_is(void **state)
{
    (void)state;
    static const char *const contents[] = {"hello world, this is a text", "abc", "\0\0\0\0\0\0\0", "\0\0\0 ftypmp42"};
    static const size_t lengths[] = {27, 3, 7, 12};
    struct test_folder f;
    char path[256];
    test_folder_init(&f);
    test_folder_path(&f, "out", path);
    for (size_t i = 0; i < COUNT_OF(contents); i++) {
        struct bytes content = {(const uint8_t *)contents[i], lengths[i]};
        struct err e = {0};
        uint64_t cut;
        test_folder_write(&f, "out", content);
        assert_int_equal(file_open_messages(path, false, true, &cut, &e), ERR_INVALID);
        assert_non_null(strstr(e.text, "append: false"));
        assert_content(path, content);
    }
    test_folder_fini(&f);
}

// RLIMIT_FSIZE stands in for a full disk: the write is cut short, then refused.
static void a_failed_append_leaves_no_half_message(void **state)
{
    (void)state;
    struct test_folder f;
    struct err e = {0};
    struct rlimit old, small = {10, RLIM_INFINITY};
    char path[256];
    test_folder_init(&f);
    test_folder_path(&f, "out", path);
    assert_int_equal(file_append(path, (struct bytes){two_messages, 6}, &e), ERR_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum err_code rc = file_append(path, (struct bytes){two_messages + 6, 7}, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, ERR_IO);
    assert_non_null(strstr(e.text, "File too large"));
    assert_content(path, (struct bytes){two_messages, 6});
    test_folder_fini(&f);
}

static void a_file_is_replaced_whole(void **state)
{
    (void)state;
    struct test_folder f;
    struct err e = {0};
    char path[256];
    test_folder_init(&f);
    assert_int_equal(file_replace(f.path, "p.pb", BYTES_LITERAL("one"), &e), ERR_OK);
    assert_int_equal(file_replace(f.path, "p.pb", BYTES_LITERAL("two!"), &e), ERR_OK);
    assert_content(test_folder_path(&f, "p.pb", path), BYTES_LITERAL("two!"));
    char *names = test_folder_names(&f);
    assert_string_equal(names, "p.pb");
    free(names);
    assert_int_equal(file_replace(test_folder_path(&f, "none", path), "p.pb", BYTES_LITERAL("x"), &e), ERR_IO);
    assert_non_null(strstr(e.text, "No such file"));
    test_folder_fini(&f);
}

static void a_failed_replacement_leaves_the_old_file(void **state)
{
    (void)state;
    struct test_folder f;
    struct err e = {0};
    struct rlimit old, small;
    char path[256];
    test_folder_init(&f);
    assert_int_equal(file_replace(f.path, "p.pb", BYTES_LITERAL("one"), &e), ERR_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){4, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum err_code rc = file_replace(f.path, "p.pb", BYTES_LITERAL("larger"), &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, ERR_IO);
    assert_content(test_folder_path(&f, "p.pb", path), BYTES_LITERAL("one"));
    char *names = test_folder_names(&f);
    assert_string_equal(names, "p.pb");
    free(names);
    test_folder_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_folder_of_a_path),
        cmocka_unit_test(messages_follow_each_other),
        cmocka_unit_test(half_a_message_is_cut_off),
        cmocka_unit_test(zeros_behind_the_messages_are_cut_off),
        cmocka_unit_test(half_a_line_is_cut_off),
        cmocka_unit_test(what_is_not_otlps_json_stays_as_it_is),
        cmocka_unit_test(another_kind_of_file_stays_as_it_is),
        cmocka_unit_test(a_failed_append_leaves_no_half_message),
        cmocka_unit_test(a_file_is_replaced_whole),
        cmocka_unit_test(a_failed_replacement_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
