// SPDX-License-Identifier: Apache-2.0
// One request on its way, whatever is spoken: what to send, and the answer as it comes.
#ifndef NET_HTTP_ATTEMPT_H
#define NET_HTTP_ATTEMPT_H

#include "net/http1_client.h"
#include "net/http2_client.h"

struct http_channel;

struct http_attempt {
    struct http_request request; // its strings are copies, its bytes are borrowed
    struct url url;              // into request.url
    char *storage;
    struct http_header *headers;
    struct http_sink sink; // the owner's, set after init

    struct http_channel *channel; // while it is on one
    enum http_protocol spoken;    // of the channel it is, or was last, on
    struct http1_response h1;
    struct http2_stream h2;
};

// The URL and the headers must be valid.
void http_attempt_init(struct http_attempt *a, const struct http_request *request);
void http_attempt_fini(struct http_attempt *a);
// Forgets an answer; before each sending.
void http_attempt_reset(struct http_attempt *a, enum http_protocol spoken);
size_t http_attempt_head_bytes(const struct http_attempt *a); // about what the head takes on the wire
// The status that has come, although the rest has not; 0 = none.
int http_attempt_status(const struct http_attempt *a);
void http_attempt_view(const struct http_attempt *a, struct http_response *out); // after a complete answer
const struct err *http_attempt_error(const struct http_attempt *a);              // what was wrong with the answer

#endif
