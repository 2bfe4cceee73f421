// SPDX-License-Identifier: Apache-2.0
// One unary method in the three protocols of Connect on one path: Connect (protobuf, JSON), gRPC and gRPC-Web, each over
// HTTP/1.1 and HTTP/2. Reads heads, unwraps messages, answers, all uncompressed. Loop thread.
// https://connectrpc.com/docs/protocol, gRPC's PROTOCOL-HTTP2 and PROTOCOL-WEB.
#ifndef NET_CONNECT_PROTOCOL_H
#define NET_CONNECT_PROTOCOL_H

#include "net/grpc_message.h"
#include "net/http_server.h"

enum connect_framing { CONNECT_UNARY, CONNECT_GRPC, CONNECT_GRPC_WEB };

struct connect_call {
    enum connect_framing framing;
    bool json;
    const char *content_type; // the request's, without parameters; the answer's, too
    const char *encoding;  // of the request: Content-Encoding or grpc-encoding, borrowed from the head; NULL = identity
    int64_t timeout_nanos; // the client's; 0 = none
};

// False: the exchange has been answered (405 with Allow, 415 with Accept-Post, 400 for another protocol version or a
// malformed timeout, 505 for gRPC over HTTP/1.0).
bool connect_call_begin(struct http_exchange *x, struct connect_call *out);

// gRPC and gRPC-Web frame the message: 5 bytes in front of it.
static inline size_t connect_prefix_bytes(const struct connect_call *c)
{
    return c->framing == CONNECT_UNARY ? 0 : GRPC_PREFIX_BYTES;
}

struct connect_answer {
    enum grpc_status status;     // Connect's codes are the same
    int http_status;             // of a Connect error where it is not the code's own (413); 0 = the code's
    const char *text;            // of an error
    struct bytes message;        // of a success, uncompressed; empty in JSON: "{}" is written
    int64_t retry_after_nanos;   // 0 = none: Retry-After
    struct bytes details;        // of an error: google.rpc.Status in protobuf, which gRPC and gRPC-Web have a place for
    const char *challenge;       // WWW-Authenticate; NULL = none
    const char *accept_encoding; // of a refused encoding; NULL = none
};
// Ends the exchange in the client's own protocol.
void connect_answer(struct http_exchange *x, const struct connect_call *c, const struct connect_answer *a);

const char *connect_code_name(enum grpc_status status); // "resource_exhausted"
int connect_http_status(enum grpc_status status);       // 429

#endif
