// SPDX-License-Identifier: Apache-2.0
// The headers of one request on its way out, while they are still changed. Names are compared without case.
#ifndef NET_HEADER_SET_H
#define NET_HEADER_SET_H

#include "base/arena.h"
#include "net/http_client.h"

struct header_set {
    struct http_header *items;
    size_t count, capacity;
    struct arena arena;
};

void header_set_init(struct header_set *s, const struct http_header *items, size_t count); // their texts are borrowed
void header_set_fini(struct header_set *s);

bool header_set_has(const struct header_set *s, const char *name);
// The only one of that name from now on. Both are copied.
void header_set_put(struct header_set *s, const char *name, const char *value);
void header_set_remove(struct header_set *s, const char *name);

#endif
