// SPDX-License-Identifier: Apache-2.0
// A small HTTP/1.1 server for pages we make ourselves (metrics). Grows into the receivers' server with the
// OTLP transports. Everything runs on the thread of its loop.
#ifndef NET_HTTP_SERVER_H
#define NET_HTTP_SERVER_H

#include "base/buf.h"
#include "base/err.h"

#include <uv.h>

struct http_server;

struct http_page_request {
    struct bytes method, path; // path without the query
    struct bytes query;
};

struct http_page {
    int status;               // 200 unless changed
    const char *content_type; // "text/plain; charset=utf-8" unless changed
    struct buf body;
};

struct http_server_options {
    const char *endpoint; // "localhost:8888", "[::1]:0", "0.0.0.0:8888"; port 0 = any free
    void (*on_request)(void *arg, const struct http_page_request *request, struct http_page *page);
    void *arg;
    uint32_t max_connections;      // 0 = 64; more are closed at once
    int64_t request_timeout_nanos; // 0 = 10 s: from a request's first byte to its last
    int64_t idle_timeout_nanos;    // 0 = 60 s: between requests
};

// Listens at once. A request body is read and thrown away up to 64 KiB, a larger one answered 413.
// GET and HEAD only (405).
enum err_code http_server_create(uv_loop_t *loop, const struct http_server_options *options, struct http_server **out,
                                 struct err *e) MUST_USE;
int http_server_port(const struct http_server *s);
// As http_client_close.
void http_server_close(struct http_server **s, void (*on_closed)(void *arg), void *arg);

#endif
