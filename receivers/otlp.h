// SPDX-License-Identifier: Apache-2.0
// Inside the receiver `otlp`: its settings, its listeners, and how requests are answered.
#ifndef RECEIVERS_OTLP_H
#define RECEIVERS_OTLP_H

#include "base/random.h"
#include "codec/compress.h"
#include "net/grpc_message.h"
#include "net/shared_server.h"
#include "receivers/open_work.h"
#include "receivers/otlp_layouts.h"
#include "receivers/receiver.h"
#include "receivers/server_auth.h"
#include "receivers/server_settings.h"
#include "receivers/upload.h"

#define OTLP_GRPC_SERVICE "opentelemetry.proto.collector.profiles.v1development.ProfilesService"

enum { OTLP_GRPC, OTLP_HTTP, OTLP_PROTOCOLS };

struct otlp_cors {
    struct config_strings allowed_origins, allowed_headers, exposed_headers;
    int64_t max_age; // seconds
};

struct otlp_settings {
    bool has[OTLP_PROTOCOLS];
    struct server_settings servers[OTLP_PROTOCOLS];
    // grpc
    int64_t max_message_mib, max_streams;
    int64_t max_idle_nanos, max_age_nanos, max_age_grace_nanos, ping_after_nanos, ping_timeout_nanos; // 0 = default
    int64_t ping_least_nanos;
    bool may_ping_without_stream;
    // http
    const char *path;
    uint64_t max_body_bytes;
    struct otlp_cors cors;
    struct config_pairs response_headers;
    struct otlp_layout_settings layouts;
};

// Of calls that may stay open for long (grpc_call.h).
enum otlp_slot { OTLP_SLOT_NONE, OTLP_SLOT_WATCH, OTLP_SLOT_REFLECTION, OTLP_SLOTS };

struct otlp_listener {
    struct otlp_receiver *receiver;
    struct shared_server *server; // NULL: closed or never opened
    bool serves[OTLP_PROTOCOLS];
    size_t open_calls[OTLP_SLOTS];
};

// Everything on the loop's thread.
struct otlp_receiver {
    struct receiver receiver;
    const struct otlp_settings *settings;
    struct otlp_layout_rules layouts;
    struct otlp_senders *senders;
    struct otlp_listener listeners[OTLP_PROTOCOLS];
    struct server_auth *auth[OTLP_PROTOCOLS]; // NULL = everybody may send
    struct random random;                     // of the times to come again
    struct open_work work;
    bool closing; // takes nothing new
};

// How a client is spoken to.
enum otlp_speech { OTLP_SPEAKS_PROTO, OTLP_SPEAKS_JSON, OTLP_SPEAKS_TEXT, OTLP_SPEAKS_GRPC };

// Ends the exchange.
void otlp_answer(const struct otlp_listener *l, struct http_exchange *x, enum otlp_speech speech,
                 const struct upload_outcome *outcome);
// To a browser that asks first.
void otlp_answer_preflight(const struct otlp_listener *l, struct http_exchange *x);

struct otlp_grpc_answer {
    enum grpc_status status;
    const char *text;    // of a failure
    struct buf *message; // of a success; left empty
    int64_t retry_delay_nanos;
};

void otlp_answer_grpc(struct http_exchange *x, const struct otlp_grpc_answer *a);
// A message of an answer that has several; left empty.
void otlp_send_grpc(struct http_exchange *x, struct buf *message);

// A new head: answers, or makes a request (otlp_request.h).
void otlp_http_head(struct otlp_listener *l, struct http_exchange *x, const struct http_head *head);
// Whose a path is, on a listener that others use too.
enum shared_wish otlp_http_wish(const struct otlp_listener *l, struct bytes path);
void otlp_grpc_head(struct otlp_listener *l, struct http_exchange *x, const struct http_head *head);
bool otlp_is_grpc(const struct http_exchange *x);

// The header otlp-profiles-development-version: "1" or absent, once. Else *text_out says why not.
bool otlp_version_ok(const struct http_exchange *x, bool *is_there_out, const char **text_out);

#endif
