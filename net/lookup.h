// SPDX-License-Identifier: Apache-2.0
// Host name -> addresses.
#ifndef NET_LOOKUP_H
#define NET_LOOKUP_H

#include "base/err.h"

#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

struct address_list {
    struct sockaddr_storage *items; // with the port; unused bytes are zero
    size_t count;
};

void address_list_fini(struct address_list *list);

// Addresses and localhost (RFC 6761 §6.3: also where there is no hosts file) need no look-up; false for the rest.
bool address_list_known(const char *host, uint16_t port, struct address_list *out) MUST_USE;

// In place; must not move until on_done.
struct lookup {
    uv_getaddrinfo_t request;
    const char *host;
    uint16_t port;
    // Exactly once, on the loop, also after a cancellation. found is taken by the callee; empty with e.
    void (*on_done)(struct lookup *l, struct address_list *found, const struct err *e);
};

// Asks the system, on libuv's pool. host is borrowed until on_done.
enum err_code lookup_start(struct lookup *l, uv_loop_t *loop, const char *host, uint16_t port,
                           void (*on_done)(struct lookup *l, struct address_list *found, const struct err *e),
                           struct err *e) MUST_USE;
void lookup_cancel(struct lookup *l); // on_done follows, at the latest when the system has answered

#endif
