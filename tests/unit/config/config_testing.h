// SPDX-License-Identifier: Apache-2.0
// Trees and messages as text, so that the tests are tables.
#ifndef TESTS_UNIT_CONFIG_TESTING_H
#define TESTS_UNIT_CONFIG_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/load.h"
#include "config/tree.h"

#include <stdio.h>
#include <stdlib.h>

// free() the result.
static inline char *messages_text(const struct config_errors *errors)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    config_errors_print(errors, out);
    fclose(out);
    return text;
}

static inline char *tree_text(const struct config_node *root, bool redact)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    config_print(root, redact, out);
    fclose(out);
    return text;
}

static inline void assert_messages(const struct config_errors *errors, const char *expected)
{
    char *text = messages_text(errors);
    assert_string_equal(text, expected);
    free(text);
}

static inline void assert_tree(const struct config_node *root, const char *expected)
{
    char *text = tree_text(root, false);
    assert_string_equal(text, expected);
    free(text);
}

#endif
