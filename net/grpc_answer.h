// SPDX-License-Identifier: Apache-2.0
// A server's side of a gRPC call as bytes and header values: the message, and the status behind it. No I/O.
#ifndef NET_GRPC_ANSWER_H
#define NET_GRPC_ANSWER_H

#include "net/grpc_message.h"
#include "net/http_client.h"

// Must not move: the items point into it.
struct grpc_trailers {
    struct http_header items[3];
    size_t count;
    char code[16];
    struct buf message, details;
};

// text: left out with GRPC_OK. details: a google.rpc.Status in protobuf, len 0 = none. What is too long, or no memory is
// there for, is left out. fini is due.
void grpc_trailers_init(struct grpc_trailers *t, enum grpc_status status, const char *text, struct bytes details);
void grpc_trailers_fini(struct grpc_trailers *t);

// The message behind its prefix, uncompressed.
void grpc_message_write(struct bytes message, struct buf *out);

#endif
