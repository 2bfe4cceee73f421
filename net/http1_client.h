// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 as a client: writes a request's head, parses responses (RFC 9112). No I/O.
#ifndef NET_HTTP1_CLIENT_H
#define NET_HTTP1_CLIENT_H

#include "net/http1_headers.h"
#include "net/http_sink.h"
#include "net/url.h"

#include <llhttp.h>

enum http1_state { HTTP1_MORE, HTTP1_COMPLETE, HTTP1_FAILED };

struct http1_response {
    struct http1_headers headers; // first, for http1_headers_listen
    llhttp_t parser;
    llhttp_settings_t settings;
    struct http_header *list; // the headers in their final place, once complete or streamed
    struct buf body;
    struct http_sink sink; // set after init
    bool streams;          // to the sink
    enum http1_state state;
    bool no_body; // to HEAD and CONNECT
    bool keep_alive;
    bool any_byte;    // something was received
    bool end_is_fine; // the body ends with the connection
    int status;       // of the final response, once its headers are there and make sense; 0 before
    struct err error; // when FAILED
};

// In place; the object must not move afterwards.
void http1_response_init(struct http1_response *r, bool no_body, size_t max_body_bytes);
void http1_response_fini(struct http1_response *r);
// Once COMPLETE, bytes left over make keep_alive false. After COMPLETE or FAILED nothing changes.
enum http1_state http1_response_feed(struct http1_response *r, struct bytes received);
// The connection has ended: COMPLETE for a body without a length, else FAILED.
enum http1_state http1_response_end(struct http1_response *r);
// Known before the body is; 0 = not yet.
static inline int http1_response_status(const struct http1_response *r)
{
    return r->status;
}
// Status, headers and body; valid until fini.
void http1_response_view(const struct http1_response *r, struct http_response *out);

struct http1_request_line {
    const struct url *url;
    const char *user_agent;
    bool absolute_form;              // to a proxy
    const char *proxy_authorization; // or NULL
    bool close;                      // the connection serves no other request
};

// The head of a request, up to and with the empty line; body_prefix and body follow. Fails only as a buf does.
void http1_request_write(struct buf *head, const struct http1_request_line *line, const struct http_request *request);

#endif
