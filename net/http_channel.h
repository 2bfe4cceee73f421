// SPDX-License-Identifier: Apache-2.0
// A kept connection of the client and the attempts on it: one at a time with HTTP/1.1, many with HTTP/2.
#ifndef NET_HTTP_CHANNEL_H
#define NET_HTTP_CHANNEL_H

#include "net/connection.h"
#include "net/http_attempt.h"

enum attempt_end {
    ATTEMPT_ANSWERED,
    ATTEMPT_BAD,       // the answer makes no sense; http_attempt_error says why
    ATTEMPT_LOST,      // it may have been processed
    ATTEMPT_STALE,     // HTTP/1.1: a reused connection ended before a byte of the answer
    ATTEMPT_REFUSED,   // HTTP/2: not processed
    ATTEMPT_UNTOUCHED, // not processed; the channel takes no more
    ATTEMPT_UNWRITABLE // nothing was sent: memory, or a head that is too large
};

// None comes from inside a function of this header, but on_end from http_channel_abandon. Each may close channels
// and start attempts.
struct http_channel_events {
    void (*on_ready)(struct http_channel *ch); // there may be room now
    // The attempt is off the channel. e: why, unless ANSWERED; borrowed.
    void (*on_done)(struct http_channel *ch, struct http_attempt *a, enum attempt_end end, const struct err *e);
    void (*on_end)(struct http_channel *ch, const struct err *e); // ended by itself; close it. e: it never was ready
    void (*on_closed)(void *owner);                               // after http_channel_close
};

struct http_channel_options {
    struct connection_target target; // its alpn is set by protocol
    enum http_protocol protocol;
    bool absolute_form;              // HTTP/1.1 to a proxy
    const char *proxy_authorization; // for the request line; or NULL
    const char *user_agent;
    uint64_t idle_ms, max_age_ms;
    uint64_t ping_ms, ping_timeout_ms; // ping_ms 0 = no pings
    bool ping_without_stream, close_after_each;
};

struct http_endpoint;

struct channel_protocol {
    void (*on_open)(struct http_channel *ch);
    void (*on_data)(struct http_channel *ch, struct bytes data);
    void (*on_written)(struct http_channel *ch);
    void (*on_end)(struct http_channel *ch, const struct err *e); // ends its attempts
    void (*on_timer)(struct http_channel *ch);
    void (*start)(struct http_channel *ch, struct http_attempt *a);
    void (*abandon)(struct http_channel *ch, struct http_attempt *a);
    size_t (*room)(const struct http_channel *ch);
    void (*close)(struct http_channel *ch);
};

extern const struct channel_protocol http1_channel, http2_channel;

struct http_channel {
    struct http_channel *next;           // the pool's
    struct http_endpoint *endpoint;      // the pool's
    struct http_channel_options options; // strings and what the target points to outlive the channel
    const struct http_channel_events *events;
    void *owner;
    uv_loop_t *loop;
    struct connection *connection;
    const struct channel_protocol *protocol; // known once open
    char peer[URL_AUTHORITY_MAX];
    bool ready, closing, ending;
    bool served;                     // an attempt, or nobody asked it to
    bool retired;                    // takes no more
    uint64_t born_ms, idle_since_ms; // idle_since while nothing is asked

    struct http_attempt *attempt; // HTTP/1.1
    struct buf head;
    bool written;

    struct http2_client *http2;
    struct buf out;
    bool writing, broken;
    size_t active; // attempts
    bool pinged;
    uint64_t heard_ms, pinged_ms, settle_by_ms;
};

struct http_channel *http_channel_open(uv_loop_t *loop, const struct http_channel_options *options,
                                       const struct http_channel_events *events, void *owner);
// With no attempt on it; on_closed follows, and frees it.
void http_channel_close(struct http_channel *ch);

size_t http_channel_room(const struct http_channel *ch); // how many attempts it takes now
bool http_channel_is_idle(const struct http_channel *ch);
bool http_channel_is_old(const struct http_channel *ch); // older than max_age: wants a successor
void http_channel_retire(struct http_channel *ch);       // takes no more; ends (on_end) when nothing is asked
// The attempt is reset and sent; needs room.
void http_channel_start(struct http_channel *ch, struct http_attempt *a);
// Takes the attempt off, if it is on one; its bytes are not touched any more. An HTTP/1.1 channel ends by that.
void http_channel_abandon(struct http_attempt *a);

// For the protocols: takes an attempt off; the same, and reports it; ends the channel (once).
void http_channel_detach(struct http_channel *ch, struct http_attempt *a);
void http_channel_done(struct http_channel *ch, struct http_attempt *a, enum attempt_end end, const struct err *e);
void http_channel_end(struct http_channel *ch, const struct err *e);
bool http_channel_is_gone(const struct http_channel *ch);

#endif
