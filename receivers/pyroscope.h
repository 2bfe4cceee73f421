// SPDX-License-Identifier: Apache-2.0
// Inside the receiver `pyroscope`: its settings, where requests go, how they are answered.
#ifndef RECEIVERS_PYROSCOPE_H
#define RECEIVERS_PYROSCOPE_H

#include "base/random.h"
#include "codec/pyroscope.h"
#include "net/connect_protocol.h"
#include "net/shared_server.h"
#include "receivers/open_work.h"
#include "receivers/receiver.h"
#include "receivers/server_settings.h"
#include "receivers/tenant.h"
#include "receivers/upload.h"

#define PYROSCOPE_PUSH_PATH "push.v1.PusherService/Push"

enum pyroscope_jfr { PYROSCOPE_JFR_REJECT, PYROSCOPE_JFR_PASS };
enum pyroscope_labels_to { PYROSCOPE_LABELS_TO_RESOURCE, PYROSCOPE_LABELS_TO_SCOPE };

struct pyroscope_receiver_settings {
    struct server_settings server;
    uint64_t max_body_bytes;
    int64_t max_streams;
    struct config_strings prefixes;
    int jfr, labels;
    struct tenant_settings tenant;
};

// Everything on the loop's thread.
struct pyroscope_receiver {
    struct receiver receiver;
    const struct pyroscope_receiver_settings *settings;
    struct shared_server *server; // NULL: closed or never opened
    char *paths;                  // that are right, for a 404
    struct server_auth *auth;     // NULL = everybody may send
    struct random random;         // of the times to come again
    struct metric *repaired_times;
    struct open_work work;
    bool closing; // takes nothing new
};

// --- pyroscope_paths.c ---

enum pyroscope_route {
    PYROSCOPE_ROUTE_NONE,
    PYROSCOPE_ROUTE_INGEST,
    PYROSCOPE_ROUTE_PUSH,
    PYROSCOPE_ROUTE_READY,
    PYROSCOPE_ROUTE_VALIDATE,
};
// Several slashes in a row are one: clients join an address that ends with one and a path that begins with one.
enum pyroscope_route pyroscope_route_of(const struct config_strings *prefixes, struct bytes path);
// For a 404: "... send with POST to /ingest, /push.v1.PusherService/Push, ..."; malloc'ed.
char *pyroscope_paths_text(const struct config_strings *prefixes);

// --- pyroscope_answer.c: the exchange ends ---

// Of /ingest and everything that is not Push.
void pyroscope_answer(struct pyroscope_receiver *r, struct http_exchange *x, const struct upload_outcome *o);
void pyroscope_answer_push(struct pyroscope_receiver *r, struct http_exchange *x, const struct connect_call *call,
                           const struct upload_outcome *o);
// Whether the credentials are good, as JSON.
void pyroscope_answer_validate(struct pyroscope_receiver *r, struct http_exchange *x);

// --- pyroscope_request.c ---

// A head of POST /ingest, of Push: asks for the body, or answers.
void pyroscope_begin_ingest(struct pyroscope_receiver *r, struct http_exchange *x, const struct http_head *head);
void pyroscope_begin_push(struct pyroscope_receiver *r, struct http_exchange *x);

#endif
