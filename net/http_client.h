// SPDX-License-Identifier: Apache-2.0
// HTTP client on libuv, HTTP/1.1 and HTTP/2: connections kept per origin, TLS, proxies from the environment.
// Everything runs on the thread of its loop.
#ifndef NET_HTTP_CLIENT_H
#define NET_HTTP_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "net/tls_parameters.h"

#include <uv.h>

struct http_header {
    const char *name, *value;
};

struct tls_client_options {
    const char *ca_file, *ca_pem; // NULL = the system's
    bool include_system_ca;       // those, too
    const char *cert_file, *cert_pem;
    const char *key_file, *key_pem;
    const char *server_name; // override of SNI and verified name
    bool insecure_skip_verify;
    struct tls_parameters parameters;
};

enum http_protocol {
    HTTP_1,
    HTTP_2,       // https: must be chosen by ALPN; http: prior knowledge
    HTTP_BY_ALPN, // https: what the peer chooses; http: HTTP/1.1
};

// Of an HTTP/2 connection: a PING after so long without a byte from the peer, the end when no byte follows.
struct http_keepalive {
    int64_t time_nanos;    // 0 = no pings
    int64_t timeout_nanos; // 0 = 20 s
    bool without_stream;   // also while nothing is asked
};

struct http_client_options {
    enum http_protocol protocol;
    uint32_t max_connections;      // per client; 0 = 100. More calls wait in order
    uint32_t max_idle_connections; // 0 = as many as there may be
    bool close_after_each;         // HTTP/1.1 without keep-alive
    int64_t idle_timeout_nanos;    // of a pooled connection; 0 = 90 s
    int64_t connect_timeout_nanos; // resolve + connect + TLS, and HTTP/2's SETTINGS; 0 = 10 s
    // A connection older than this is replaced, its name resolved anew, once its successor stands; 0 = 5 min.
    int64_t max_age_nanos;
    const char *unix_path; // all connections go to this socket, whatever the URL's host; NULL = TCP
    // HTTP/2: a connection to every address of the name, calls in turn; the name is resolved anew when a
    // connection ends, and when it was longer ago than this; 0 = 30 s. Not through a proxy.
    bool round_robin;
    int64_t resolve_interval_nanos;
    struct http_keepalive keepalive;
    const char *user_agent; // NULL = "profrelay/VERSION"
    bool direct;            // through no proxy, whatever the environment says
    const char *proxy_url;  // NULL = HTTP_PROXY, HTTPS_PROXY (HTTP_2: always this), NO_PROXY (and lower case) apply
    struct tls_client_options tls;
    // Before a connection is made, TLS files that changed are loaded anew. e: they cannot be, and the old ones stay in
    // use; NULL: they are in use now. No function = nobody wants to know.
    void (*on_reload)(void *arg, const struct err *e);
    void *on_reload_arg;
};

enum http_outcome {
    HTTP_ANSWERED,       // a complete response is there
    HTTP_CONNECT_FAILED, // resolve, connect, proxy or TLS: nothing of the request was sent
    HTTP_LOST,           // the connection or stream ended before the response was complete
    HTTP_TIMED_OUT,      // the request's timeout, or its idle timeout
    HTTP_BAD_RESPONSE,   // not HTTP, or larger than max_response_bytes
    HTTP_CANCELLED,
};

enum { HTTP2_NO_RESET = -1 };

struct http_response {
    enum http_outcome outcome;
    int status; // when ANSWERED, and otherwise if it was there before the rest failed; 0 = not known
    const struct http_header *headers;
    size_t header_count;
    struct bytes body;                  // inflated if the server sent gzip, although we never ask for it
    const struct http_header *trailers; // HTTP/2 only
    size_t trailer_count;
    const char *error; // one sentence when not ANSWERED
    enum err_code error_code;
    bool may_have_been_processed; // false: the peer has certainly not acted on it, sending again makes no duplicate
    int64_t reset_code;           // when LOST because the peer reset the stream: RFC 9113 §7; else HTTP2_NO_RESET
};

// Value of a header by case-insensitive name; NULL if absent.
const char *http_response_header(const struct http_response *r, const char *name);

struct http_request {
    const char *method; // "POST"
    const char *url;    // absolute, http or https, validated by http_url_check
    const struct http_header *headers;
    size_t header_count;
    struct bytes body_prefix;  // goes before the body; borrowed like it
    struct bytes body;         // borrowed until the call is done
    int64_t timeout_nanos;     // whole call, waiting for a connection included; 0 = 30 s
    size_t max_response_bytes; // 0 = LIMIT_HTTP_RESPONSE_BYTES
    bool wait_for_ready;       // HTTP/2: a failed connect is tried again (after 1 s, more each time) until the timeout
    // A 2xx answer's body as it comes, without a limit and not collected: first without data, once the head (status and
    // headers, valid during the call) is there. false: the call ends with HTTP_CANCELLED. Must not call the client.
    // A compressed one is refused. Other answers are collected as always. NULL = all are.
    bool (*on_body)(void *arg, const struct http_response *head, struct bytes data);
    void *on_body_arg;
    int64_t idle_timeout_nanos; // of an answer that is streamed: so long without a byte of it; 0 = only the whole
};

struct http_client;
struct http_call;

// e.g. certificate files that cannot be read are errors here. TLS is initialised on the first https request
// or here if tls files are given; a client that never needs it never pays for it.
enum err_code http_client_create(uv_loop_t *loop, const struct http_client_options *options, struct http_client **out,
                                 struct err *e) MUST_USE;

// Sends. The URL must have passed http_url_check and each header http_header_valid; both are copied.
// A caller's Host, User-Agent and Connection replace ours; Content-Length is always ours. Redirects are not
// followed. on_done is called exactly once, on the loop, never from inside this function; the response is valid
// during the call. An HTTP/1.1 request on a reused connection that dies before any byte of the response
// is sent again once on a new connection; an HTTP/2 request that the peer says it has not processed (REFUSED_STREAM,
// GOAWAY) once or a few times. Returns a handle valid until on_done.
struct http_call *http_client_send(struct http_client *c, const struct http_request *request,
                                   void (*on_done)(void *arg, const struct http_response *response), void *arg);
void http_call_cancel(struct http_call *call); // on_done follows with HTTP_CANCELLED

// Cancels every call, closes every connection, calls on_closed when all handles are gone and the memory is
// freed. *c is NULL at once.
void http_client_close(struct http_client **c, void (*on_closed)(void *arg), void *arg);

// Syntax of an absolute URL: scheme http or https, host (IPv6 in brackets), port, path, query; no fragment, no user info.
enum err_code http_url_check(const char *url, struct err *e) MUST_USE;
// Appends path to base with exactly one slash between; malloc'ed.
char *http_url_join(const char *base, const char *path);
// Header names are tokens; values have no control characters (RFC 9110 §5).
bool http_header_valid(const char *name, const char *value);

#endif
