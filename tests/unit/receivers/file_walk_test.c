// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "receivers/file_walk.h"
#include "tests/support/test_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
    struct test_folder folder;
};

static void make(const struct tree *t, const char *name)
{
    test_folder_write(&t->folder, name, bytes_from_text(name));
}

static void make_folder(const struct tree *t, const char *name)
{
    char path[256];
    assert_int_equal(mkdir(test_folder_path(&t->folder, name, path), 0755), 0);
}

static void make_link(const struct tree *t, const char *target, const char *name)
{
    char to[256], at[256];
    assert_int_equal(symlink(test_folder_path(&t->folder, target, to), test_folder_path(&t->folder, name, at)), 0);
}

static int set_up(void **state)
{
    struct tree *t = MEM_NEW(struct tree);
    test_folder_init(&t->folder);
    static const char *const folders[] = {"a", "a/b", "a/b/c", "x1", "x2"};
    static const char *const files[] = {"top.pb",        "a/1.pb",  "a/2.txt", "a/b/3.pb",
                                        "a/b/c/4.pb.gz", "x1/p.pb", "x2/p.pb", "a/.hidden.pb"};
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        make_folder(t, folders[i]);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        make(t, files[i]);
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct tree *t = *state;
    test_folder_fini(&t->folder);
    free(t);
    return 0;
}

// Globs are relative to the folder; the result is the paths below it, joined by spaces.
static void assert_found(const struct tree *t, const char *const include[], const char *const exclude[],
                         const char *expected)
{
    char texts[8][256];
    const char *in[4], *out[4];
    struct config_strings includes = {in, 0}, excludes = {out, 0};
    size_t texts_used = 0;
    for (; include[includes.count] != NULL; includes.count++)
        in[includes.count] = test_folder_path(&t->folder, include[includes.count], texts[texts_used++]);
    for (; exclude[excludes.count] != NULL; excludes.count++)
        out[excludes.count] = test_folder_path(&t->folder, exclude[excludes.count], texts[texts_used++]);
    struct found_files found;
    struct err e;
    assert_int_equal(files_find(&includes, &excludes, &found, &e), ERR_OK);
    char got[2048] = "";
    for (size_t i = 0; i < found.count; i++) {
        assert_memory_equal(found.items[i].path, t->folder.path, strlen(t->folder.path));
        const char *below = found.items[i].path + strlen(t->folder.path) + 1;
        // Each file holds its name; links differ.
        if (strncmp(below, "linked", 6) != 0 && strcmp(below, "alias.pb") != 0)
            assert_int_equal(found.items[i].identity.size, strlen(below));
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? " " : "", below);
    }
    assert_string_equal(got, expected);
    assert_false(found.truncated);
    found_files_fini(&found);
    assert_int_equal(found.count, 0);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE ((const char *const[]){NULL})

static void test_globs(void **state)
{
    const struct tree *t = *state;
    assert_found(t, LIST("*.pb"), NONE, "top.pb");
    assert_found(t, LIST("a/*.pb"), NONE, "a/.hidden.pb a/1.pb");
    assert_found(t, LIST("**/*.pb"), NONE, "a/.hidden.pb a/1.pb a/b/3.pb top.pb x1/p.pb x2/p.pb");
    assert_found(t, LIST("a/**/*.pb*"), NONE, "a/.hidden.pb a/1.pb a/b/3.pb a/b/c/4.pb.gz");
    assert_found(t, LIST("*/p.pb"), NONE, "x1/p.pb x2/p.pb");
    assert_found(t, LIST("x[2-9]/?.pb"), NONE, "x2/p.pb");
    assert_found(t, LIST("*/*/*.pb"), NONE, "a/b/3.pb");
    assert_found(t, LIST("a/b*/c/*"), NONE, "a/b/c/4.pb.gz");
    assert_found(t, LIST("nothing/*.pb"), NONE, "");
    assert_found(t, LIST("*.none"), NONE, "");
}

static void test_several_and_each_once(void **state)
{
    const struct tree *t = *state;
    assert_found(t, LIST("x*/p.pb", "**/p.pb", "top.pb"), NONE, "top.pb x1/p.pb x2/p.pb");
}

static void test_exclude(void **state)
{
    const struct tree *t = *state;
    assert_found(t, LIST("**/*.pb"), LIST("a/**", "**/x1/*"), "top.pb x2/p.pb");
    assert_found(t, LIST("top.pb"), LIST("*.pb"), "");
}

static void test_plain_paths(void **state)
{
    const struct tree *t = *state;
    assert_found(t, LIST("a/2.txt"), NONE, "a/2.txt");
    assert_found(t, LIST("a"), NONE, "a/.hidden.pb a/1.pb a/2.txt a/b/3.pb a/b/c/4.pb.gz"); // all below
    assert_found(t, LIST("a/b/"), NONE, "a/b/3.pb a/b/c/4.pb.gz");
    assert_found(t, LIST("a"), LIST("**/*.pb"), "a/2.txt a/b/c/4.pb.gz");
    assert_found(t, LIST("missing.pb"), NONE, "");
}

static void test_symbolic_links(void **state)
{
    const struct tree *t = *state;
    make_link(t, "a/b", "linked");
    make_link(t, "top.pb", "alias.pb");
    make_link(t, "nowhere", "dangling.pb");
    make_link(t, "a", "a/b/circle");
    assert_found(t, LIST("*.pb"), NONE, "alias.pb top.pb");    // a link to a file is a file
    assert_found(t, LIST("**/3.pb"), NONE, "a/b/3.pb");        // not followed into folders
    assert_found(t, LIST("linked/*.pb"), NONE, "linked/3.pb"); // unless the glob says so
    assert_found(t, LIST("a/b"), NONE, "a/b/3.pb a/b/c/4.pb.gz");
}

static void test_only_regular_files(void **state)
{
    const struct tree *t = *state;
    char path[256];
    make_folder(t, "folder.pb");
    assert_int_equal(mkfifo(test_folder_path(&t->folder, "pipe.pb", path), 0600), 0);
    assert_found(t, LIST("*.pb"), NONE, "top.pb");
    assert_found(t, LIST("pipe.pb"), NONE, "");
}

static void test_unreadable_folders_are_skipped(void **state)
{
    const struct tree *t = *state;
    char path[256];
    assert_int_equal(chmod(t->folder.path, 0755), 0);
    assert_int_equal(chmod(test_folder_path(&t->folder, "a/b", path), 0), 0);
    bool root = geteuid() == 0;
    if (root)
        assert_int_equal(seteuid(65534), 0);
    assert_found(t, LIST("**/*.pb"), NONE, "a/.hidden.pb a/1.pb top.pb x1/p.pb x2/p.pb");
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

static void assert_relative(const char *include, const char *expected)
{
    const struct config_strings includes = {&include, 1}, none = {0};
    struct found_files found;
    struct err e;
    assert_int_equal(files_find(&includes, &none, &found, &e), ERR_OK);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0].path, expected);
    found_files_fini(&found);
}

static void test_relative_globs(void **state)
{
    const struct tree *t = *state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(t->folder.path), 0);
    assert_relative("*.pb", "top.pb");
    assert_relative("./*.pb", "top.pb");
    assert_relative("./top.pb", "top.pb");
    assert_relative("x1/*", "x1/p.pb");
    assert_relative("**/3.pb", "a/b/3.pb");
    assert_relative("./x2", "x2/p.pb");
    assert_int_equal(chdir(before), 0);
}

static void test_identity(void **state)
{
    const struct tree *t = *state;
    char path[256];
    struct stat st;
    test_folder_path(&t->folder, "top.pb", path);
    const struct timespec times[2] = {{5, 6}, {1234, 567}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(stat(path, &st), 0);
    const struct file_identity first = file_identity_of(&st);
    assert_int_equal(first.size, strlen("top.pb"));
    assert_int_equal(first.mtime_nanos, 1234000000567);
    struct file_identity other = first;
    assert_true(file_identity_equal(&first, &other));
    other.mtime_nanos++;
    assert_false(file_identity_equal(&first, &other));
    other = first;
    other.inode++;
    assert_false(file_identity_equal(&first, &other));
    other = first;
    other.size++;
    assert_false(file_identity_equal(&first, &other));
}

static void test_out_of_memory(void **state)
{
    const struct tree *t = *state;
    char pattern[256];
    const char *include = test_folder_path(&t->folder, "**/*.pb", pattern);
    const struct config_strings includes = {&include, 1}, none = {0};
    struct found_files found;
    struct err e = {0};
    mem_fail_from(1);
    assert_int_equal(files_find(&includes, &none, &found, &e), ERR_MEMORY);
    mem_fail_from(0);
    assert_int_equal(found.count, 0);
    assert_non_null(strstr(e.text, "out of memory"));
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TREE(test_globs),
        WITH_TREE(test_several_and_each_once),
        WITH_TREE(test_exclude),
        WITH_TREE(test_plain_paths),
        WITH_TREE(test_symbolic_links),
        WITH_TREE(test_only_regular_files),
        WITH_TREE(test_unreadable_folders_are_skipped),
        WITH_TREE(test_relative_globs),
        WITH_TREE(test_identity),
        WITH_TREE(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
