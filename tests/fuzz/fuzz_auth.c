// SPDX-License-Identifier: Apache-2.0
// What stands in Authorization, and lines of htpasswd: the first byte says which.
#include "extensions/authorization.h"
#include "extensions/htpasswd.h"

#include "base/mem.h"

#include <stdlib.h>

static void fuzz_header(const uint8_t *data, size_t size)
{
    struct basic_credentials c;
    struct bytes rest;
    char *value = mem_alloc(size + 1);
    memcpy(value, data, size);
    if (authorization_basic(value, &c))
        CHECK(c.user.len + c.password.len < sizeof c.room && c.user.data + c.user.len + 1 == c.password.data);
    if (authorization_rest(value, "Bearer", &rest) || authorization_rest(value, "", &rest))
        CHECK(rest.data >= (const uint8_t *)value && rest.len <= size);
    free(value);
}

static void fuzz_lines(const uint8_t *data, size_t size)
{
    struct htpasswd h;
    struct err e;
    htpasswd_init(&h);
    if (htpasswd_add(&h, (struct bytes){data, size}, &e) == ERR_OK)
        for (size_t i = 0; i < h.count; i++)
            CHECK(htpasswd_find(&h, bytes_from_text(h.entries[i].user)) != NULL);
    if (h.count > 0 && !h.entries[0].is_slow)
        (void)htpasswd_matches(h.entries[0].hash, (struct bytes){data, size});
    htpasswd_fini(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0)
        (data[0] == 'H' ? fuzz_header : fuzz_lines)(data + 1, size - 1);
    return 0;
}
