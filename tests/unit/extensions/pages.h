// SPDX-License-Identifier: Apache-2.0
// A client for the pages of an extension, on the loop of its test.
#ifndef TESTS_UNIT_EXTENSIONS_PAGES_H
#define TESTS_UNIT_EXTENSIONS_PAGES_H

#include "net/http_client.h"
#include "tests/support/fake_env.h"

struct page_answer {
    bool done;
    int status;
    char type[128], body[4096];
};

struct page_answer page_get(struct fake_env *f, int port, const char *path);
struct page_answer page_get_tls(struct fake_env *f, int port, const char *path, const struct tls_client_options *tls);

#endif
