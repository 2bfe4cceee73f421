// SPDX-License-Identifier: Apache-2.0
// gRPC over HTTP/2 as bytes and header values (PROTOCOL-HTTP2.md): framing of messages, status, timeouts. No I/O.
#ifndef NET_GRPC_MESSAGE_H
#define NET_GRPC_MESSAGE_H

#include "base/buf.h"
#include "base/err.h"

enum { GRPC_PREFIX_BYTES = 5, GRPC_TIMEOUT_SIZE = 12 };

enum grpc_status {
    GRPC_OK,
    GRPC_CANCELLED,
    GRPC_UNKNOWN,
    GRPC_INVALID_ARGUMENT,
    GRPC_DEADLINE_EXCEEDED,
    GRPC_NOT_FOUND,
    GRPC_ALREADY_EXISTS,
    GRPC_PERMISSION_DENIED,
    GRPC_RESOURCE_EXHAUSTED,
    GRPC_FAILED_PRECONDITION,
    GRPC_ABORTED,
    GRPC_OUT_OF_RANGE,
    GRPC_UNIMPLEMENTED,
    GRPC_INTERNAL,
    GRPC_UNAVAILABLE,
    GRPC_DATA_LOSS,
    GRPC_UNAUTHENTICATED,
};

struct grpc_message {
    bool compressed; // by grpc-encoding
    struct bytes payload;
};

// The length of prefix and message, once the prefix is there; 0 before.
size_t grpc_message_length(struct bytes so_far);
// A body of exactly one message, as unary calls have it. ERR_LIMIT: longer than max_bytes (payload);
// ERR_INVALID: cut, or something else. *out borrows.
enum err_code grpc_message_parse(struct bytes body, size_t max_bytes, struct grpc_message *out, struct err *e) MUST_USE;
void grpc_prefix_write(bool compressed, uint32_t payload_len, uint8_t out[GRPC_PREFIX_BYTES]);

// grpc-message: printable ASCII but '%' stays, all else becomes %XX.
void grpc_percent_encode(struct bytes text, struct buf *out);
// Broken escapes stay as they are.
void grpc_percent_decode(struct bytes text, struct buf *out);

// grpc-status: decimal, no sign; unknown numbers are GRPC_UNKNOWN. False when it is no number.
bool grpc_status_parse(const char *text, enum grpc_status *out);
const char *grpc_status_name(enum grpc_status status); // "UNAVAILABLE"
// What an HTTP status other than 200 without grpc-status means (http-grpc-status-mapping.md).
enum grpc_status grpc_status_of_http(int http_status);

// grpc-timeout: at most eight digits and one of H M S m u n. False when malformed; too long for 64 bits: the most.
bool grpc_timeout_parse(const char *text, int64_t *nanos_out);
// The finest unit that fits, rounded up; nanos is positive.
void grpc_timeout_format(int64_t nanos, char out[GRPC_TIMEOUT_SIZE]);

#endif
