// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 as a server: parses requests strictly (RFC 9112), writes response heads. No I/O.
#ifndef NET_HTTP1_SERVER_H
#define NET_HTTP1_SERVER_H

#include "net/http1_client.h"

struct http1_request {
    llhttp_t parser;
    llhttp_settings_t settings;
    struct http1_headers headers;
    struct buf target;
    size_t body_bytes;
    enum http1_state state;
    bool begun;            // a byte of it was seen
    bool keep_alive;       // when COMPLETE
    bool expects_continue; // the client waits before it sends the body; reset by whoever answers
    bool seen_line, at_line_start, head_scanned;
    int refusal; // status when FAILED
    const char *refusal_text;
};

// In place; must not move afterwards.
void http1_request_init(struct http1_request *r);
void http1_request_fini(struct http1_request *r);
// Ready for the next one on the same connection.
void http1_request_next(struct http1_request *r);
// *used_out tells how much belonged to this request once it is COMPLETE.
enum http1_state http1_request_feed(struct http1_request *r, struct bytes received, size_t *used_out);
const char *http1_request_method(const struct http1_request *r);

const char *http1_reason(int status);

#endif
