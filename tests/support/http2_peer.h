// SPDX-License-Identifier: Apache-2.0
// An HTTP/2 server (nghttp2's) on loopback that does with each request what a script says.
#ifndef TESTS_SUPPORT_HTTP2_PEER_H
#define TESTS_SUPPORT_HTTP2_PEER_H

#include "net/http_client.h"

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

enum http2_act {
    HTTP2_ANSWER,       // when the request is whole: status, headers, body, trailers
    HTTP2_ANSWER_EARLY, // the same as soon as its head is there, then RST_STREAM(NO_ERROR)
    HTTP2_RESET,        // RST_STREAM(code)
    HTTP2_GO_AWAY,      // GOAWAY: this request has not been taken; earlier ones are answered
    HTTP2_LAST_ANSWER,  // GOAWAY after this request, which is answered
    HTTP2_BEGIN_ONLY,   // status and half a body, nothing more
    HTTP2_SAY_NOTHING,
    HTTP2_CUT,      // the connection ends
    HTTP2_CUT_LATE, // after status and half a body
};

struct http2_step {
    enum http2_act act;
    int status; // 0 = 200
    const struct http_header *headers, *trailers;
    size_t header_count, trailer_count;
    const char *body;
    size_t body_len; // 0 = terminated
    size_t repeat;   // of the body; 0 = once
    uint32_t code;
};

struct http2_peer_options {
    SSL_CTX *tls;        // NULL = clear text
    const char *address; // NULL = 127.0.0.1
    int port;            // 0 = any
    const nghttp2_settings_entry *settings;
    size_t setting_count;
    bool no_settings;     // says nothing at all
    bool deaf;            // reads nothing after the connection's beginning
    bool keeps_pings;     // does not answer PING
    bool small_window;    // gives no WINDOW_UPDATE by itself
    const char *greeting; // sent raw, before anything
    bool is_proxy;        // wants a CONNECT first, then is the server itself, and speaks first
};

struct http2_seen {
    size_t connection;
    enum http2_act act;
    char head[2048]; // "name: value\n" ..., pseudo-headers too
    struct buf body;
    bool whole;
};

struct http2_peer;

// Options are copied, what they point to is borrowed.
struct http2_peer *http2_peer_create(uv_loop_t *loop, const struct http2_peer_options *options);
int http2_peer_port(const struct http2_peer *p);
// Steps for the requests in the order they come, on whatever connection; the last one repeats. Borrowed.
void http2_peer_script(struct http2_peer *p, const struct http2_step *steps, size_t count);
size_t http2_peer_connections(const struct http2_peer *p); // accepted so far
size_t http2_peer_open_connections(const struct http2_peer *p);
size_t http2_peer_requests(const struct http2_peer *p);
const struct http2_seen *http2_peer_seen(const struct http2_peer *p, size_t i);
const char *http2_peer_connect_head(const struct http2_peer *p); // the newest CONNECT
size_t http2_peer_pings(const struct http2_peer *p);
size_t http2_peer_resets(const struct http2_peer *p);       // RST_STREAM received
size_t http2_peer_most_streams(const struct http2_peer *p); // open at a time on one connection
// Everything the connections that are open have been told by now, and from now on, besides.
void http2_peer_send_raw(struct http2_peer *p, const void *data, size_t len);
void http2_peer_goaway(struct http2_peer *p); // graceful: all requests so far are answered
void http2_peer_settings(struct http2_peer *p, const nghttp2_settings_entry *settings, size_t count);
void http2_peer_open_window(struct http2_peer *p, int32_t bytes); // of the connections and all their streams
void http2_peer_cut(struct http2_peer *p);                        // all connections
void http2_peer_destroy(struct http2_peer **p);                   // runs the loop until that is done

#endif
