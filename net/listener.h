// SPDX-License-Identifier: Apache-2.0
// A listening TCP or Unix socket. A connection that is not accepted waits, and nothing is polled until it is.
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include "base/err.h"

#include <uv.h>

struct listener;

// A stream socket of either kind.
union listener_socket {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

// endpoint as http_server_options has it. Looks names up here and now: a listening address is local or a literal.
// on_waiting: somebody waits; it comes again only after listener_accept took that one.
enum err_code listener_create(uv_loop_t *loop, const char *endpoint, void (*on_waiting)(void *arg), void *arg,
                              struct listener **out, struct err *e) MUST_USE;
int listener_port(const struct listener *l); // 0 on a Unix socket
// Initialises *socket and takes who waits; on_waiting may come from inside. False: nobody did, or he is gone again;
// *socket must be closed all the same.
bool listener_accept(struct listener *l, union listener_socket *socket);
bool listener_has_waiting(const struct listener *l);
void listener_close(struct listener **l, void (*on_closed)(void *arg), void *arg);

#endif
