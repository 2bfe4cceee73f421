// SPDX-License-Identifier: Apache-2.0
// The headers of one message, gathered from llhttp's pieces within a limit.
#ifndef NET_HTTP1_HEADERS_H
#define NET_HTTP1_HEADERS_H

#include "net/http_client.h"

#include <llhttp.h>

struct http1_header_place {
    size_t name, value; // offsets into text
};

struct http1_headers {
    struct buf text;
    struct http1_header_place *places;
    size_t count, capacity;
    size_t max_bytes;  // LIMIT_HTTP_HEADER_BYTES unless changed
    size_t seen_bytes; // also what is not kept: trailers, chunk extensions, earlier 1xx
    bool in_value, complete;
    bool too_large, no_memory;
};

void http1_headers_init(struct http1_headers *h);
void http1_headers_fini(struct http1_headers *h);
void http1_headers_limit(struct http1_headers *h, size_t max_bytes); // right after init
void http1_headers_clear(struct http1_headers *h);                   // forgets the headers, keeps seen_bytes

// The pieces as they come. false: too_large or no_memory says why. After complete (then trailers come)
// pieces are counted and forgotten.
bool http1_headers_field(struct http1_headers *h, const char *piece, size_t len) MUST_USE;
bool http1_headers_value(struct http1_headers *h, const char *piece, size_t len) MUST_USE;
bool http1_headers_value_end(struct http1_headers *h) MUST_USE;
bool http1_headers_count_bytes(struct http1_headers *h, size_t len) MUST_USE;

// What too_large or no_memory mean for a response; nothing when neither is set.
void http1_headers_explain(const struct http1_headers *h, struct err *e);

// Makes a parser gather into the headers; parser.data points to a struct that begins with them. A callback that
// fails gives HPE_USER: too_large or no_memory says why.
void http1_headers_listen(llhttp_settings_t *settings);

// Valid until the next change.
const char *http1_headers_name_at(const struct http1_headers *h, size_t i);
const char *http1_headers_value_at(const struct http1_headers *h, size_t i);
// All of them as an array; false (and nothing changed) when memory is out. free() it.
bool http1_headers_list(const struct http1_headers *h, struct http_header **list_out) MUST_USE;
// How often a name occurs; *first_out is the first value or NULL.
size_t http1_headers_find(const struct http1_headers *h, const char *name, const char **first_out);

#endif
