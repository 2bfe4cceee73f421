// SPDX-License-Identifier: Apache-2.0
// Parses requests of HTTP/1.1 strictly (RFC 9112). No I/O.
#ifndef NET_HTTP1_REQUEST_H
#define NET_HTTP1_REQUEST_H

#include "net/http1_headers.h"

enum http1_event {
    HTTP1_REQUEST_MORE, // all was used
    HTTP1_REQUEST_HEAD, // headers, target and what is below are there; feed on for the body
    HTTP1_REQUEST_END,
    HTTP1_REQUEST_BAD, // refusal says why; nothing of the connection can be trusted any more
};

enum { HTTP1_NOT_HTTP = 1 };

struct http1_request {
    struct http1_headers headers; // first, for http1_headers_listen
    llhttp_t parser;
    llhttp_settings_t settings;
    struct buf target; // as sent
    void (*on_body)(void *arg, struct bytes piece);
    void *arg;
    bool begun; // a byte of it was seen
    // from HEAD on
    bool is_old; // HTTP/1.0
    bool keep_alive, has_body;
    bool expects_continue;  // the client waits before it sends the body
    int64_t content_length; // -1 = chunked
    struct bytes path; // of target: path and query, "*" for OPTIONS; with an absolute target what follows its authority
    struct bytes authority; // of an absolute target; else empty
    int refusal;            // status when BAD; HTTP1_NOT_HTTP: the peer would not understand one
    const char *refusal_text;
    int spaces; // in the request line
    bool seen_line, past_line, at_line_start, head_scanned, paused;
};

// In place; must not move afterwards. on_body may be NULL.
void http1_request_init(struct http1_request *r, size_t max_header_bytes, void (*sink)(void *arg, struct bytes piece),
                        void *arg);
void http1_request_fini(struct http1_request *r);
// Ready for the next one on the same connection.
void http1_request_next(struct http1_request *r);
// Takes from *received what belongs to the request, up to the next event; after END and BAD nothing.
enum http1_event http1_request_feed(struct http1_request *r, struct bytes *received);
const char *http1_request_method(const struct http1_request *r);

#endif
