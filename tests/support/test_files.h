// SPDX-License-Identifier: Apache-2.0
// Files for tests: our own fixtures, and the corpus beside the checkout where there is one.
#ifndef TESTS_SUPPORT_TEST_FILES_H
#define TESTS_SUPPORT_TEST_FILES_H

#include "base/bytes.h"

// Reads a whole file; aborts if it cannot be read. free() the data.
struct bytes test_read_file(const char *path);

// The folder given by PROFRELAY_CORPUS (set by ./dev test when ../shared/corpus exists), NULL without it:
// then a test calls skip(), which ./dev test shows.
const char *test_corpus_dir(void);

// Calls visit(path, content) for each regular file right below corpus/FOLDER, in name order. Returns how many.
size_t test_each_corpus_file(const char *folder, void (*visit)(void *arg, const char *path, struct bytes content),
                             void *arg);

#endif
