// SPDX-License-Identifier: Apache-2.0
// Pages that we make ourselves at once (metrics, health): GET and HEAD on a server of their own.
#ifndef NET_HTTP_PAGES_H
#define NET_HTTP_PAGES_H

#include "net/http_server.h"

struct http_pages;

struct http_page_request {
    struct bytes method, path; // path without the query
    struct bytes query;
};

struct http_page {
    int status;               // 200 unless changed
    const char *content_type; // "text/plain; charset=utf-8" unless changed
    struct buf body;          // at most LIMIT_METRICS_PAGE_BYTES
};

struct http_pages_options {
    const char *endpoint; // as in http_server_options
    void (*on_page)(void *arg, const struct http_page_request *request, struct http_page *page);
    void *arg;
    const struct tls_server_options *tls; // NULL = clear text
    uint32_t max_connections;             // 0 = 64
    int64_t request_timeout_nanos;        // 0 = 10 s: from a request's first byte to its last
    int64_t idle_timeout_nanos;           // 0 = 60 s: between requests
    int64_t tls_reload_nanos;             // as in http_server_options
};

// Listens at once. A request body is thrown away, one over 64 KiB answered 413. Other methods: 405.
enum err_code http_pages_create(uv_loop_t *loop, const struct http_pages_options *options, struct http_pages **out,
                                struct err *e) MUST_USE;
int http_pages_port(const struct http_pages *p);
// As http_server_close.
void http_pages_close(struct http_pages **p, void (*on_closed)(void *arg), void *arg);

#endif
