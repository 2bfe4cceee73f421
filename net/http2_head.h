// SPDX-License-Identifier: Apache-2.0
// The head of a request as nghttp2 wants it.
#ifndef NET_HTTP2_HEAD_H
#define NET_HTTP2_HEAD_H

#include "net/http2_client.h"

#include <nghttp2/nghttp2.h>

struct http2_head {
    nghttp2_nv *nv;
    size_t count;
    char authority[URL_AUTHORITY_MAX], length[24];
    char *path;
};

// In place; borrows the request's strings until fini.
void http2_head_init(struct http2_head *head, const struct http2_request *how, const struct http_request *request);
void http2_head_fini(struct http2_head *head);

#endif
