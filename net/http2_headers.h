// SPDX-License-Identifier: Apache-2.0
// Headers as nghttp2 wants them: names in lower case, without those that belong to a connection.
#ifndef NET_HTTP2_HEADERS_H
#define NET_HTTP2_HEADERS_H

#include "net/http_server.h"

#include <nghttp2/nghttp2.h>

struct http2_headers {
    nghttp2_nv *nv;
    size_t count;
    char *text;
};

// Copies; leaves out what http_header_valid refuses. False when memory is out.
bool http2_headers_init(struct http2_headers *h, const struct http_header *headers, size_t count) MUST_USE;
// With :status, date, and content-length unless length is -1.
bool http2_headers_init_answer(struct http2_headers *h, const struct http_answer *answer, int64_t length,
                               const char *date) MUST_USE;
void http2_headers_fini(struct http2_headers *h);

#endif
