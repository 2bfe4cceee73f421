// SPDX-License-Identifier: Apache-2.0
// Inside the server: one connection, from accept to the last close callback.
#ifndef NET_HTTP_SERVER_CONNECTION_H
#define NET_HTTP_SERVER_CONNECTION_H

#include "net/http_engine.h"
#include "net/listener.h"

enum {
    SERVER_READ_BYTES = 64 << 10,
    SERVER_WRITE_BYTES = 64 << 10,
    SERVER_PLAIN_BYTES = 16 << 10,
};

struct server_connection;

struct http_server {
    uv_loop_t *loop;
    struct listener *listener; // NULL once it drains
    struct http_server_handler handler;
    struct http_limits limits;
    struct tls_server *tls;
    unsigned protocols;
    bool proxy_protocol, paused, draining, closing, accepting;
    int port;
    uint32_t max_connections, connection_count;
    uint64_t age_ms, grace_ms;
    uint64_t paused_at_ms, paused_ms; // the clock of connections stands still while paused
    struct server_connection *connections;
    struct server_connection *idle_first, *idle_last; // the longest idle first
    // Handshakes cost much: so many per turn of the loop, the others wait with their bytes in the socket.
    uint32_t handshakes_left, deferred_count;
    uint32_t turn_number;
    uv_prepare_t turn;
    uv_idle_t hurry; // while somebody is deferred
    uv_timer_t reload;
    uint32_t live; // handles and connections whose memory is in use
    void (*on_drained)(void *arg);
    void *on_drained_arg;
    void (*on_closed)(void *arg);
    void *on_closed_arg;
    char date[HTTP_DATE_SIZE];
    uint64_t date_ms;
    // Used within one call, by one connection at a time.
    uint8_t read_bytes[SERVER_READ_BYTES], plain_bytes[SERVER_PLAIN_BYTES], write_bytes[SERVER_WRITE_BYTES];
};

struct server_connection {
    struct http_link link; // first
    struct http_server *server;
    struct server_connection *prev, *next, *idle_prev, *idle_next;
    union listener_socket socket;
    uv_timer_t timer;
    unsigned handles;
    enum { STAGE_PROXY, STAGE_HANDSHAKE, STAGE_SNIFF, STAGE_SERVE, STAGE_LINGER, STAGE_CLOSED } stage;
    struct tls_session *tls;
    char *subject;
    struct http_engine *engine;
    struct buf first; // received before it was clear what it is
    uint64_t opened_ms, armed_ms, wrote_ms, linger_ms;
    uint32_t turn, reads; // in that turn of the loop
    uint8_t *unsent;
    uv_write_t write;
    uv_shutdown_t shutdown;
    bool writing, reading, busy, idle, draining, failed, deferred;
};

// Takes who waits at the listener.
void server_connection_accept(struct http_server *s);
// Ends it now; the server hears of it by http_server_connection_gone, and frees its share when live falls.
void server_connection_close(struct server_connection *c);
void server_connection_drain(struct server_connection *c);
// After the server's pause changed: reads or not, sets its timer.
void server_connection_update(struct server_connection *c);

// Its turn has come, if it waited for one.
void server_connection_resume(struct server_connection *c);

// The server's.
void http_server_turn_soon(struct http_server *s);
void http_server_connection_gone(struct http_server *s);
void http_server_unref(struct http_server *s);
uint64_t http_server_now(const struct http_server *s);
const char *http_server_date(struct http_server *s);

#endif
