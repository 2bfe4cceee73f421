// SPDX-License-Identifier: Apache-2.0
// gRPC's unary call on an http_client whose protocol is HTTP_2 (PROTOCOL-HTTP2.md). Same thread, same life cycle:
// closing the http_client ends the calls.
#ifndef NET_GRPC_CLIENT_H
#define NET_GRPC_CLIENT_H

#include "net/grpc_message.h"
#include "net/http_client.h"

struct grpc_request {
    const char *origin;          // "https://host:4317"; a path in it is left out
    const char *path;            // "/package.Service/Method"
    struct bytes message;        // borrowed until on_done; at most UINT32_MAX bytes
    const char *encoding;        // what the message is compressed with ("gzip"); NULL = not
    const char *accept_encoding; // of the answer; NULL = "identity"
    const struct http_header *metadata;
    size_t metadata_count;
    int64_t timeout_nanos;     // also told to the peer; 0 = 30 s
    size_t max_response_bytes; // of the message as it comes; 0 = LIMIT_HTTP_RESPONSE_BYTES
    bool wait_for_ready;
};

struct grpc_response {
    enum http_outcome outcome; // ANSWERED: the service, or something before it
    enum grpc_status status;   // always set: the peer's, or what the outcome means
    bool is_peers_status;      // grpc-status was there
    const char *message; // one sentence; the peer's, decoded (not clean: for logs see clean_text), or ours; may be ""
    struct bytes body;   // the message, when OK
    const char *body_encoding; // what it is compressed with; NULL = not
    struct bytes details;      // google.rpc.Status of grpc-status-details-bin; empty without
    bool may_have_been_processed;
    const struct http_response *http; // headers and trailers
};

struct grpc_call;

// on_done is called exactly once, on the loop, never from inside this function; the response is valid during the call.
struct grpc_call *grpc_client_send(struct http_client *c, const struct grpc_request *request,
                                   void (*on_done)(void *arg, const struct grpc_response *response), void *arg);
void grpc_call_cancel(struct grpc_call *call); // on_done follows

#endif
