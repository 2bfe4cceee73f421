// SPDX-License-Identifier: Apache-2.0
// One HTTP/2 connection as a client (RFC 9113), on nghttp2. No I/O, no timers: bytes in, bytes out.
#ifndef NET_HTTP2_CLIENT_H
#define NET_HTTP2_CLIENT_H

#include "net/http1_headers.h"
#include "net/http_sink.h"
#include "net/url.h"

struct http2_client;

enum http2_fate {
    HTTP2_PENDING,
    HTTP2_ANSWERED,
    HTTP2_BAD,       // the answer is malformed or too large, or the request cannot be written
    HTTP2_LOST,      // reset or cut off: it may have been processed
    HTTP2_REFUSED,   // REFUSED_STREAM: it has not been processed
    HTTP2_UNTOUCHED, // above GOAWAY's last stream or never sent: it has not been processed
};

// A request and its answer; part of its owner, in place, must not move while it is with the client.
struct http2_stream {
    struct http2_stream *next, **link; // the client's
    int32_t id;
    struct bytes parts[2]; // of the body, still to be sent
    struct http1_headers headers, trailers;
    struct http_header *list, *trailer_list; // in their final place, when ANSWERED or streamed
    struct buf body;
    struct http_sink sink; // set after init
    bool streams;          // to the sink
    enum http2_fate fate;
    int status; // of the final response; 0 before
    bool answer_complete, reset_by_peer;
    int64_t reset_code; // of the peer's RST_STREAM, or HTTP2_NO_RESET
    struct err error;   // when neither PENDING nor ANSWERED
};

void http2_stream_init(struct http2_stream *s, size_t max_body_bytes);
void http2_stream_fini(struct http2_stream *s); // not while it is with a client
void http2_stream_view(const struct http2_stream *s, struct http_response *out);

// peer is who errors speak of; borrowed. Our preface and SETTINGS are the first output.
struct http2_client *http2_client_create(const char *peer);
void http2_client_destroy(struct http2_client **c); // after http2_client_end

// Received bytes. false: the peer does not speak HTTP/2.
bool http2_client_feed(struct http2_client *c, struct bytes received, struct err *e) MUST_USE;
// Appends what must go to the peer, some 64 KiB at a time; nothing when there is nothing. false: cannot go on.
bool http2_client_output(struct http2_client *c, struct buf *out, struct err *e) MUST_USE;

// The peer's SETTINGS have come: it speaks HTTP/2, and says how many streams it takes.
bool http2_client_settled(const struct http2_client *c);
// How many more streams it takes now; 0 after GOAWAY.
size_t http2_client_room(const struct http2_client *c);
size_t http2_client_active(const struct http2_client *c);
bool http2_client_draining(const struct http2_client *c);  // GOAWAY has come, or the stream numbers are used up
bool http2_client_finished(const struct http2_client *c);  // after a fatal error of either side: nothing more comes
bool http2_client_calm_down(const struct http2_client *c); // GOAWAY with ENHANCE_YOUR_CALM: too many pings

struct http2_request {
    const struct url *url;
    const char *user_agent;
};

// Sends. The request's strings are copied, its body is borrowed until the stream is taken back. The stream may come
// back at once, from http2_client_take_done.
void http2_client_submit(struct http2_client *c, struct http2_stream *s, const struct http2_request *how,
                         const struct http_request *request);
// Gives the stream up: it is the owner's again, at once, and the peer is told with the next output.
void http2_client_cancel(struct http2_client *c, struct http2_stream *s);
void http2_client_ping(struct http2_client *c);
void http2_client_goodbye(struct http2_client *c); // GOAWAY with the next output
// The connection is gone: every stream becomes done. why is a whole sentence.
void http2_client_end(struct http2_client *c, const char *why);
// A stream that is done and the owner's again, or NULL. Ask after each of the calls above.
struct http2_stream *http2_client_take_done(struct http2_client *c);
bool http2_client_has_done(const struct http2_client *c);

#endif
