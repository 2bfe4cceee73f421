// SPDX-License-Identifier: Apache-2.0
// What the small gRPC services beside profiles (health, reflection) have in common: one call, its messages, its end.
// All on the loop's thread.
#ifndef RECEIVERS_GRPC_CALL_H
#define RECEIVERS_GRPC_CALL_H

#include "receivers/otlp.h"

enum { GRPC_CALL_MESSAGE_MAX_BYTES = 4 << 10 }; // as sent and inflated

struct grpc_call_kind {
    const char *path;
    bool streams; // its messages come one by one (on_data), else one comes with on_request
    enum otlp_slot slot;
    const struct http_server_handler *handler; // arg is not used
};

// The context of the exchange.
struct grpc_call {
    struct otlp_listener *listener;
    const struct grpc_call_kind *kind;
    enum compression compression; // of messages that are marked as compressed
};

// A head that is one of the kinds' (ended by one without a path): takes it on, or answers why not. False: it is none.
bool grpc_call_begin(struct otlp_listener *l, struct http_exchange *x, const struct grpc_call_kind *kinds);
// Ends the call and the exchange.
void grpc_call_answer(struct http_exchange *x, const struct otlp_grpc_answer *a);
void grpc_call_fail(struct http_exchange *x, enum grpc_status status, const char *text);

// One message with its prefix; what is inflated lies in *room (initialised, to be freed). False: the call has failed.
bool grpc_call_read(struct http_exchange *x, struct bytes message, struct buf *room,
                    struct bytes *payload_out) MUST_USE;

// Of a handler.
void grpc_call_on_refuse(void *arg, struct http_exchange *x, int status, const char *text);
void grpc_call_on_abort(void *arg, struct http_exchange *x);
void grpc_call_on_drain(void *arg, struct http_exchange *x); // UNAVAILABLE: the client goes on with another connection

// The services: true if the head was theirs.
bool grpc_health_head(struct otlp_listener *l, struct http_exchange *x);
bool grpc_reflection_head(struct otlp_listener *l, struct http_exchange *x);

#endif
