// SPDX-License-Identifier: Apache-2.0
// One listener for several users: whoever opens an endpoint first makes its server, who comes later with the same text
// joins it, and a request goes to the user that wants it most. Ports chosen by the system (":0") are never shared.
//
// The users of an endpoint are on one loop, and come and go together: the first drain drains for all, the first close
// ends all exchanges (on_abort, each to its own user). Opening and closing is for one thread at a time, whatever the loop.
#ifndef NET_SHARED_SERVER_H
#define NET_SHARED_SERVER_H

#include "net/http_server.h"

struct shared_listener; // a list of those that are open is a pointer to the first, NULL at the beginning
struct shared_server;   // one user's part of a server

// What a user says to a request: the strongest wish has it, the first of equals; without any, whoever opened first.
enum shared_wish {
    SHARED_NOT_MINE,
    SHARED_LIKE_MINE, // not one of its own, but it knows what to answer: a mistyped path, its protocol
    SHARED_MINE,
};

struct shared_server_user {
    const char *name; // in errors: "receivers.pyroscope"; copied
    const char
        *paths; // what the others' 404 should say of it: "Pyroscope's SDKs send to /ingest"; copied; NULL = nothing
    enum shared_wish (*wish)(void *arg, const struct http_exchange *x, const struct http_head *head); // handler.arg
    // With its handler. Everything else must be the same for all users of an endpoint; but a number that is 0 (false, with
    // pings_need_stream) is no wish. The texts of tls live as long as the user.
    struct http_server_options options;
};

// False: ":0", where each has a port of its own.
bool shared_server_may_share(const char *endpoint);
// Listens at once. An error names the other user where settings differ, or both have the same wish function.
enum err_code shared_server_open(struct shared_listener **all, uv_loop_t *loop, const struct shared_server_user *user,
                                 struct shared_server **out, struct err *e) MUST_USE;
int shared_server_port(const struct shared_server *s); // 0 on a Unix socket
// The paths of all users, this one's first: "A; B".
void shared_server_paths(const struct shared_server *s, char *out, size_t size);
// As http_server_drain; any number of times.
void shared_server_drain(struct shared_server *s);
// As http_server_close, for this user; *s is NULL at once, and may be NULL before. on_closed comes once for each user, perhaps
// from inside.
void shared_server_close(struct shared_server **s, void (*on_closed)(void *arg), void *arg);

#endif
