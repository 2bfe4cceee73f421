// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 and HTTP/2 on one listener. Everything runs on the thread of its loop; nothing blocks but the name lookup
// in http_server_create. Knows no gRPC: that is a content type, a framing (net/grpc_message.h) and trailers.
//
// The life of an exchange: on_head, then either an answer at once, or the body and on_request, or an end without
// on_request (on_refuse, on_abort). http_exchange_answer, on_abort and the return from on_refuse end it: the pointer
// is dead afterwards. Exactly one of them comes for each on_head, http_server_close included.
//
// Over HTTP/2 either side may go on for long: http_exchange_take_stream has the body in pieces as they come (on_data
// instead of on_request), http_exchange_send gives the answer in pieces before http_exchange_answer ends it.
#ifndef NET_HTTP_SERVER_H
#define NET_HTTP_SERVER_H

#include "base/buf.h"
#include "base/err.h"
#include "net/http_client.h"
#include "net/tls_server.h"

#include <uv.h>

struct http_server;
struct http_exchange;

enum http_version { HTTP_VERSION_1_0, HTTP_VERSION_1_1, HTTP_VERSION_2 };

struct http_peer {
    char address[64]; // without the port; with PROXY protocol the client's, "unix" on a Unix socket
    uint16_t port;
    const char *certificate_subject; // verified: "CN=agent,O=..." (RFC 2253); NULL without mTLS
};

// Valid as long as the exchange.
struct http_head {
    enum http_version version;
    bool tls;
    struct bytes method;
    struct bytes path;                 // as sent, before the query; "*" for OPTIONS *
    struct bytes query;                // behind the '?'
    struct bytes authority;            // Host or :authority; empty only with HTTP/1.0
    int64_t content_length;            // declared; -1 = not
    const struct http_header *headers; // names in lower case
    size_t header_count;
    const struct http_peer *peer; // valid as long as the exchange
};

struct http_answer {
    int status;                        // 200..599
    const struct http_header *headers; // copied; Content-Length, Connection and Date are ours
    size_t header_count;
    struct buf *body;                   // taken and left empty; NULL = none
    const struct http_header *trailers; // copied; to HTTP/1.0 they are not sent
    size_t trailer_count;
};

struct http_server_handler {
    void *arg;
    // The head is there. Must answer, or take the body or the stream, before it returns.
    void (*on_head)(void *arg, struct http_exchange *x, const struct http_head *head);
    // The whole body, malloc'ed, now the handler's; NULL when len is 0. Answer now or later.
    void (*on_request)(void *arg, struct http_exchange *x, uint8_t *body, size_t len);
    // Before a body's buffer grows: answers the capacity it may have, at least need, or 0 to refuse it (503).
    // so_far is what has come; with a declared length this is called once, after on_head. Must not answer. May be NULL: half as much again.
    size_t (*on_reserve)(void *arg, struct http_exchange *x, struct bytes so_far, size_t need);
    // The body cannot be had: 413 too large, 408 too slow, 503 refused by on_reserve or out of memory, 400 broken.
    // May call http_exchange_answer in the handler's own words (gRPC has no 413); else the server does, in plain
    // text. May be NULL.
    void (*on_refuse)(void *arg, struct http_exchange *x, int status, const char *text);
    // The peer is gone or the server closed: nobody waits for the answer.
    void (*on_abort)(void *arg, struct http_exchange *x);
    // Something a log should tell (a failed handshake, a peer that breaks the protocol); may be NULL.
    void (*on_problem)(void *arg, const struct http_peer *peer, const char *text);
    // Of a stream: what has come and is not used yet; with ended nothing follows. Answers how much it has used, and is
    // called again with the rest while that is more than 0 and nothing waits to be sent. May send and answer; must
    // answer when nothing can be used of what has ended. Needed with http_exchange_take_stream, as is on_refuse.
    size_t (*on_data)(void *arg, struct http_exchange *x, struct bytes data, bool ended);
    // The connection ends once its exchanges have: one that would go on for long should answer now. From on_head on,
    // once. May be NULL.
    void (*on_drain)(void *arg, struct http_exchange *x);
};

enum { HTTP_SERVE_1 = 1, HTTP_SERVE_2 = 2 };

// 0 in a number is the default; a negative time is "never".
struct http_server_options {
    const char *endpoint; // "localhost:4317", "[::1]:0", ":8080" (everywhere), "unix:/run/x.sock"; port 0 = any
    const struct tls_server_options *tls; // NULL = clear text
    unsigned protocols;                   // HTTP_SERVE_*; 0 = both, told apart by ALPN or the first bytes
    bool proxy_protocol;                  // every connection begins with PROXY v1 or v2; others are closed
    uint32_t max_connections;             // 4096; more wait in the accept queue, unless one is idle: it is closed
    uint32_t max_streams;                 // 250 per connection, HTTP/2
    size_t max_header_bytes;              // 64 KiB per request
    int64_t header_timeout_nanos;         // 10 s: first byte to the end of the head; handshakes too
    int64_t body_timeout_nanos;           // 60 s, and one second more for each 16 KiB that came
    int64_t idle_timeout_nanos;           // 5 min without a request
    int64_t write_timeout_nanos;          // 30 s in which the peer takes nothing of an answer
    int64_t max_age_nanos;                // of a connection, then as in drain; never
    int64_t max_age_grace_nanos;          // after that it is closed with what runs; never
    int64_t ping_after_nanos;             // 2 h of silence on HTTP/2
    int64_t ping_timeout_nanos;           // 20 s
    int64_t ping_least_nanos;             // between a client's own pings; no bound
    bool pings_need_stream;               // else it may ping every two hours only
    int64_t tls_reload_nanos;             // 30 s between looks whether the certificates' files changed
    struct http_server_handler handler;
};

// Listens at once. Certificates are loaded here. Strings are copied.
enum err_code http_server_create(uv_loop_t *loop, const struct http_server_options *options, struct http_server **out,
                                 struct err *e) MUST_USE;
int http_server_port(const struct http_server *s); // 0 on a Unix socket
uint32_t http_server_connections(const struct http_server *s);

// Other limits than those it was made with: the numbers of options but for tls_reload, for connections to come.
void http_server_limit(struct http_server *s, const struct http_server_options *options);

// Back-pressure: neither accepts nor reads while paused. What is answered is still sent.
void http_server_pause(struct http_server *s, bool paused);
// Takes no new connections; each one ends after what runs on it (GOAWAY, Connection: close). on_drained may be called
// from inside; not after http_server_close. May be called once.
void http_server_drain(struct http_server *s, void (*on_drained)(void *arg), void *arg);
// Ends everything now (on_abort for what runs), frees, then calls on_closed, never from inside. *s is NULL at once.
// Not from inside the handler's callbacks; pause and drain may be called there.
void http_server_close(struct http_server **s, void (*on_closed)(void *arg), void *arg);

// In on_head only: the body is wanted, up to max_bytes as sent.
void http_exchange_take_body(struct http_exchange *x, size_t max_bytes);
// The same, HTTP/2 only: the body has no end, and comes as on_data. What is not used up is kept, 64 KiB at most (else
// 413), and the peer's window stays shut for it. 408 when nothing has gone either way for body_timeout.
void http_exchange_take_stream(struct http_exchange *x);
// In on_head only: from here on the exchange's events go to this handler, which outlives it.
void http_exchange_set_handler(struct http_exchange *x, const struct http_server_handler *handler);
// HTTP/2 only, before http_exchange_answer: a piece of the body; the first call sends status and headers, those of later
// ones and of http_exchange_answer mean nothing. No trailers yet. Frees the request's head. A peer that takes nothing for
// write_timeout is reset. What waits is bounded by on_data's being held back, and else by the caller.
void http_exchange_send(struct http_exchange *x, const struct http_answer *piece);
// Once per exchange, on the loop, at any time from on_head on.
void http_exchange_answer(struct http_exchange *x, const struct http_answer *answer);
// A sentence as text/plain, with more headers if extra is not NULL.
void http_exchange_answer_text(struct http_exchange *x, int status, const char *text, const struct http_header *extra,
                               size_t extra_count);

const struct http_head *http_exchange_head(const struct http_exchange *x);
// First value of a header; name in lower case; NULL if absent. *count_out (may be NULL): how often it occurs.
const char *http_exchange_header(const struct http_exchange *x, const char *name, size_t *count_out);
// The handler's own pointer.
void http_exchange_set_context(struct http_exchange *x, void *context);
void *http_exchange_context(const struct http_exchange *x);

const char *http_reason(int status); // "Not Found"

#endif
