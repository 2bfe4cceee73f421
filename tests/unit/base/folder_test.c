// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void modes_are_octal(void **state)
{
    (void)state;
    assert_int_equal(folder_mode_parse("0750"), 0750);
    assert_int_equal(folder_mode_parse("755"), 0755);
    static const char *const bad[] = {"", "0", "abc", "0x1ff", "0799", "-755", "0755 ", "10000", NULL};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(folder_mode_parse(bad[i]), 0);
}

static void folders_are_made_with_their_parents(void **state)
{
    (void)state;
    char root[] = "/tmp/profrelay-folder-XXXXXX", deep[128], file[128];
    struct err e = {0};
    struct stat st;
    assert_non_null(mkdtemp(root));
    snprintf(deep, sizeof deep, "%s/a/b//c/", root);
    assert_int_equal(folder_create(deep, 0700, &e), ERR_OK);
    assert_int_equal(stat(deep, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(folder_create(deep, 0700, &e), ERR_OK);
    assert_int_equal(folder_sync(deep, &e), ERR_OK);
    snprintf(file, sizeof file, "%s/file", root);
    fclose(fopen(file, "w"));
    snprintf(deep, sizeof deep, "%s/file/x", root);
    assert_int_equal(folder_create(deep, 0700, &e), ERR_IO);
    assert_non_null(strstr(e.text, "/file/x: Not a directory"));
    assert_int_equal(folder_sync(file, &e), ERR_IO);
    assert_non_null(strstr(e.text, "Not a directory"));
    unlink(file);
    static const char *const made[] = {"/a/b/c", "/a/b", "/a", ""};
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        snprintf(deep, sizeof deep, "%s%s", root, made[i]);
        assert_int_equal(rmdir(deep), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_are_octal),
        cmocka_unit_test(folders_are_made_with_their_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
