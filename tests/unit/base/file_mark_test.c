// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file_mark.h"
#include "tests/support/test_folder.h"

#include <stdio.h>
#include <unistd.h>

static void a_file_is_another(void **state)
{
    (void)state;
    struct test_folder folder;
    char path[256], other[256];
    test_folder_init(&folder);
    test_folder_path(&folder, "f", path);
    test_folder_path(&folder, "g", other);
    const struct file_mark none = file_mark_of(path), zero = {0};
    assert_true(file_mark_equal(&none, &zero));
    test_folder_write(&folder, "f", bytes_from_text("one"));
    const struct file_mark first = file_mark_of(path), again = file_mark_of(path);
    assert_false(file_mark_equal(&first, &none));
    assert_true(file_mark_equal(&first, &again));
    test_folder_write(&folder, "f", bytes_from_text("three"));
    const struct file_mark longer = file_mark_of(path);
    assert_false(file_mark_equal(&first, &longer));
    test_folder_write(&folder, "g", bytes_from_text("three"));
    assert_int_equal(rename(other, path), 0);
    const struct file_mark renamed = file_mark_of(path);
    assert_false(file_mark_equal(&longer, &renamed));
    test_folder_fini(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_is_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
