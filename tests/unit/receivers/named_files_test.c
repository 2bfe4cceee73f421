// SPDX-License-Identifier: Apache-2.0
// files_find_named: what `profrelay import` is given.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receivers/file_walk.h"
#include "tests/support/test_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int set_up(void **state)
{
    static const char *const names[] = {"a.pb", "b.pb", "x[1].pb", "x1.pb", "*.pb", "d[1]/c.pb", "d1/e.pb", "?"};
    struct test_folder *f = calloc(1, sizeof *f);
    char path[256];
    assert_non_null(f);
    test_folder_init(f);
    assert_int_equal(mkdir(test_folder_path(f, "d[1]", path), 0755), 0);
    assert_int_equal(mkdir(test_folder_path(f, "d1", path), 0755), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        test_folder_write(f, names[i], BYTES_LITERAL("x"));
    assert_int_equal(mkfifo(test_folder_path(f, "fifo", path), 0600), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    test_folder_fini(*state);
    free(*state);
    return 0;
}

// names: what is given, below the folder; expected: what is found, joined by spaces.
static void finds(const struct test_folder *f, const char *const *names, size_t count, const char *expected)
{
    char paths[4][256], text[1024] = "";
    const char *items[4];
    struct found_files found;
    struct err e;
    for (size_t i = 0; i < count; i++)
        items[i] = test_folder_path(f, names[i], paths[i]);
    assert_int_equal(files_find_named(&(struct config_strings){items, count}, &found, &e), ERR_OK);
    for (size_t i = 0, len = 0; i < found.count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i ? " " : "",
                                found.items[i].path + strlen(f->path) + 1);
    found_files_fini(&found);
    assert_string_equal(text, expected);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__}), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

static void what_exists_is_itself(void **state)
{
    finds(*state, NAMES("a.pb"), "a.pb");
    finds(*state, NAMES("x[1].pb"), "x[1].pb");
    finds(*state, NAMES("*.pb"), "*.pb");
    finds(*state, NAMES("d[1]"), "d[1]/c.pb");
    finds(*state, NAMES("d1", "a.pb", "d1", "a.pb"), "a.pb d1/e.pb");
}

static void patterns_are_patterns_otherwise(void **state)
{
    finds(*state, NAMES("[ab].pb"), "a.pb b.pb");
    finds(*state, NAMES("d?/e*"), "d1/e.pb");
    finds(*state, NAMES("x[12].pb"), "x1.pb");
}

static void what_is_not_there_is_listed(void **state)
{
    finds(*state, NAMES("a.pb", "absent.pb"), "a.pb absent.pb");
    finds(*state, NAMES("z*.pb"), "z*.pb");
    finds(*state, NAMES("a.pb/below"), "a.pb/below");
    finds(*state, NAMES("fifo"), "fifo");
}

static void closed_folders_are_listed(void **state)
{
    char path[256];
    if (geteuid() == 0)
        skip();
    assert_int_equal(chmod(test_folder_path(*state, "d1", path), 0), 0);
    finds(*state, NAMES("d1"), "d1");
    assert_int_equal(chmod(path, 0755), 0);
}

static void paths_from_here(void **state)
{
    (void)state;
    struct found_files found;
    struct err e;
    const char *items[] = {"./no-such-file", "no-such-file"};
    assert_int_equal(files_find_named(&(struct config_strings){items, 2}, &found, &e), ERR_OK);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0].path, "no-such-file");
    assert_string_equal(file_path_plain("./a"), "a");
    assert_string_equal(file_path_plain("./"), "./");
    assert_string_equal(file_path_plain("../a"), "../a");
    found_files_fini(&found);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_exists_is_itself),
        TEST(patterns_are_patterns_otherwise),
        TEST(what_is_not_there_is_listed),
        TEST(closed_folders_are_listed),
        TEST(paths_from_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
