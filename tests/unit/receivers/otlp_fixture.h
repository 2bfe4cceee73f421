// SPDX-License-Identifier: Apache-2.0
// A service with the receiver `otlp` and an exporter that does as it is told, and clients that speak raw HTTP/1.1.
#ifndef TESTS_UNIT_RECEIVERS_OTLP_FIXTURE_H
#define TESTS_UNIT_RECEIVERS_OTLP_FIXTURE_H

#include "receivers/receivers.h"
#include "tests/support/fake_modules.h"

#define PROFILES_PATH "/v1development/profiles"

struct otlp_rig {
    struct fake_world world;
    struct fake_service service;
    struct receiver_module module; // the receiver's, but it tells its ports
    int http_port, grpc_port;
    char yaml[2048];
    struct buf three, broken; // requests: of three samples; of one whose stack is not there
};

// Sections in YAML's flow style, each with its own braces or empty: of protocols.grpc, of protocols.http; keys of the
// exporter and of the service, each with a comma before.
struct otlp_rig_options {
    const char *grpc, *http, *exporter, *service;
};

void otlp_rig_start(struct otlp_rig *r, const struct otlp_rig_options *options);
// Asks the service to end; everything must have been given back.
struct fake_seen otlp_rig_stop(struct otlp_rig *r);

int otlp_rig_connect(const struct otlp_rig *r);
void otlp_rig_send(int fd, const void *data, size_t len);
// POST with a body, to the profiles' path; headers: whole lines.
void otlp_rig_post(int fd, const char *headers, struct bytes body);
// Everything until the server closes; free() it.
char *otlp_rig_read_all(int fd, size_t *len_out);
// Until `end` has come.
char *otlp_rig_read_until(int fd, const char *end);
// A connection of its own: post, read, close. The answer's status; body_out and head_out (may be NULL) to free().
int otlp_rig_ask(struct otlp_rig *r, const char *headers, struct bytes body, char **head_out, struct buf *body_out);
int otlp_rig_ask_raw(struct otlp_rig *r, const char *request, char **head_out, struct buf *body_out);

#endif
