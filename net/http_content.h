// SPDX-License-Identifier: Apache-2.0
// Content-Encoding of a response, for peers that compress without being asked.
#ifndef NET_HTTP_CONTENT_H
#define NET_HTTP_CONTENT_H

#include "net/http1_headers.h"

// False: a body with these headers is compressed.
bool http_content_is_plain(const struct http1_headers *h);
// Inflates *body in place when the headers say gzip, within body->max_bytes. On false *body is as it was.
bool http_content_decode(const struct http1_headers *h, struct buf *body, struct err *e) MUST_USE;

#endif
