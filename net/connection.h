// SPDX-License-Identifier: Apache-2.0
// A byte stream to a peer: resolve, connect (the addresses in turn), CONNECT through a proxy, TLS. What is
// spoken on it is the owner's affair.
#ifndef NET_CONNECTION_H
#define NET_CONNECTION_H

#include "net/proxy.h"
#include "net/tls.h"

#include <uv.h>

struct connection;

struct connection_target {
    const char *host; // copied
    uint16_t port;
    const struct sockaddr_storage *address; // NULL = resolve the host; AF_UNIX too; copied
    const struct proxy *proxy;              // NULL = direct, else through CONNECT; must outlive the connection
    struct tls_context *tls;                // NULL = plain; must outlive the connection
    const char *alpn;                       // protocols to offer: "h2", "h2,http/1.1"; a literal; NULL = none
    uint64_t connect_timeout_ms;
};

// Called on the loop, never from inside a function of this header. Any of them may close the connection.
struct connection_events {
    void (*on_open)(void *owner);
    void (*on_data)(void *owner, struct bytes data);
    void (*on_written)(void *owner); // what connection_write took is gone
    void (*on_timer)(void *owner);   // as connection_wake_after asked
    // Could not open, failed or ended; e is NULL for the peer's orderly end. The last event but on_closed.
    void (*on_end)(void *owner, const struct err *e);
    void (*on_closed)(void *owner); // after connection_close: all handles are gone, the memory is freed
};

struct connection *connection_create(uv_loop_t *loop, const struct connection_target *target,
                                     const struct connection_events *events, void *owner);

// After on_open, one at a time. True: all is gone, no on_written follows. Else head and body are borrowed until
// on_written or connection_close.
bool connection_write(struct connection *c, struct bytes head, struct bytes body);
// After on_open: one on_timer, in so many ms; replaces what was asked before.
#define CONNECTION_NEVER UINT64_MAX
void connection_wake_after(struct connection *c, uint64_t ms);
// After on_open: the protocol chosen by ALPN; empty without TLS or choice.
struct bytes connection_alpn(const struct connection *c);
// After on_open, while nothing is expected: no end (nor, without TLS, a byte) waits for the loop to read it.
bool connection_is_quiet(const struct connection *c);
// No event but on_closed follows; what was borrowed is not touched any more.
void connection_close(struct connection *c);

#endif
