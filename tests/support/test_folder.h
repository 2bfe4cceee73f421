// SPDX-License-Identifier: Apache-2.0
// A folder of its own for each test that touches the disk.
#ifndef TESTS_SUPPORT_TEST_FOLDER_H
#define TESTS_SUPPORT_TEST_FOLDER_H

#include "base/bytes.h"

struct test_folder {
    char path[64];
};

void test_folder_init(struct test_folder *f);
void test_folder_fini(struct test_folder *f); // with everything in it

// "FOLDER/name" in out.
char *test_folder_path(const struct test_folder *f, const char *name, char out[256]);
void test_folder_write(const struct test_folder *f, const char *name, struct bytes content);
// The names in it in order, joined by spaces; free() it.
char *test_folder_names(const struct test_folder *f);

#endif
