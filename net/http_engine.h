// SPDX-License-Identifier: Apache-2.0
// Inside the server: a connection's protocol (engine) as a state machine without sockets, what it knows of its
// connection (link), and the exchange that both protocols share.
#ifndef NET_HTTP_ENGINE_H
#define NET_HTTP_ENGINE_H

#include "net/http1_headers.h"
#include "net/http_server.h"

enum {
    HTTP_DATE_SIZE = 32,
    HTTP_BODY_BYTES_PER_SECOND = 16 << 10,
    HTTP_STREAM_KEPT_BYTES = 64 << 10, // of a stream's body, not used yet
};
#define HTTP_NEVER UINT64_MAX

struct http_limits {
    uint32_t max_streams;
    size_t max_header_bytes;
    uint64_t header_ms, body_ms, idle_ms, write_ms, ping_after_ms, ping_timeout_ms; // HTTP_NEVER = none
    uint64_t ping_least_ms;
    bool pings_need_stream;
};

struct http_link {
    const struct http_limits *limits;
    const struct http_server_handler *handler;
    struct http_peer peer;
    bool tls;
    uint64_t (*now_ms)(const struct http_link *);
    const char *(*date)(struct http_link *); // for the header Date
    // Something may be there to send, or the engine has finished. Harmless inside an engine's functions.
    void (*wake)(struct http_link *);
};

struct http_engine {
    const struct http_engine_ops *ops;
    struct http_link *link;
};

struct http_engine_ops {
    // Takes all of data; it is not kept.
    void (*receive)(struct http_engine *e, struct bytes data);
    // How much to read at once; 0 = nothing for now.
    size_t (*read_size)(const struct http_engine *e);
    // Fills room with what must be sent next; answers how much that was.
    size_t (*produce)(struct http_engine *e, uint8_t *room, size_t size);
    // Nothing more will come or is wanted: what was produced is to be flushed and the connection closed.
    bool (*is_finished)(const struct http_engine *e);
    bool (*is_idle)(const struct http_engine *e); // no request runs or has begun
    // Finishes what runs, takes nothing new. May be called again.
    void (*drain)(struct http_engine *e);
    // When expire is due, by now_ms; HTTP_NEVER.
    uint64_t (*deadline_ms)(const struct http_engine *e);
    void (*expire)(struct http_engine *e);
    // The connection is gone: on_abort for what runs. Only destroy may follow.
    void (*abort)(struct http_engine *e);
    void (*destroy)(struct http_engine *e);
    // The answer to x, which is freed afterwards.
    void (*answer)(struct http_engine *e, struct http_exchange *x, const struct http_answer *a);
    // A piece of it. NULL: this protocol has none.
    void (*send)(struct http_engine *e, struct http_exchange *x, const struct http_answer *piece);
};

struct http_engine *http1_server_create(struct http_link *link);
struct http_engine *http2_server_create(struct http_link *link);

struct http_exchange {
    struct http_engine *engine;
    const struct http_server_handler *handler;
    void *stream; // HTTP/2
    struct http1_headers raw;
    struct buf target;
    struct http_header *list;
    struct http_head head;
    uint8_t *body;
    size_t body_len, body_capacity, max_body;
    size_t body_used; // of a stream
    bool taken, streams;
    bool held, dead; // inside a callback: freed once that has returned
    void *context;
};

struct http_exchange *http_exchange_create(struct http_engine *engine);
void http_exchange_destroy(struct http_exchange *x); // without a word to the handler
// After raw is complete: fills list (without pseudo headers) and head.headers, head.authority from Host. False when
// memory is out.
bool http_exchange_index(struct http_exchange *x) MUST_USE;
// head.path and head.query from a target.
void http_exchange_split_target(struct http_exchange *x, struct bytes target);
// Calls on_head. False: x has been answered or refused and is gone; else its body is wanted.
bool http_exchange_begin(struct http_exchange *x) MUST_USE;
// A piece of the body. False: refused, x is gone.
bool http_exchange_add(struct http_exchange *x, struct bytes piece) MUST_USE;
void http_exchange_complete(struct http_exchange *x); // on_request; x may be gone afterwards
// on_data with what was added and not used yet. Answers how much was used; x may be gone afterwards.
size_t http_exchange_feed(struct http_exchange *x, bool ended);
void http_exchange_drain(struct http_exchange *x); // on_drain; x may be gone afterwards
void http_exchange_refuse(struct http_exchange *x, int status, const char *text);
void http_exchange_abort(struct http_exchange *x);

// Whether a header of an answer is sent: it is valid, and not one of ours.
bool http_answer_takes(const struct http_header *header);

// begin + after, where after may be "never".
static inline uint64_t http_time_after(uint64_t begin, uint64_t after)
{
    return after >= HTTP_NEVER - begin ? HTTP_NEVER : begin + after;
}
// When a body that began then and has brought so much must be complete.
static inline uint64_t http_body_deadline(const struct http_limits *l, uint64_t begin, uint64_t bytes)
{
    return http_time_after(begin, l->body_ms == HTTP_NEVER ? HTTP_NEVER
                                                           : l->body_ms + bytes / HTTP_BODY_BYTES_PER_SECOND * 1000);
}

#endif
