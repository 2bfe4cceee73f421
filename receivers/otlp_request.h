// SPDX-License-Identifier: Apache-2.0
// One request on its way: body, inflated, decoded, delivered, answered once every branch holds it. All functions on
// the loop's thread.
#ifndef RECEIVERS_OTLP_REQUEST_H
#define RECEIVERS_OTLP_REQUEST_H

#include "receivers/otlp.h"

struct otlp_request;

struct otlp_request_options {
    enum otlp_speech speech;
    enum compression compression;
    size_t max_bytes; // of the message, as sent and inflated
    const char *limit_name;
    bool says_current;     // the layout of OTLP profiles, in the version header
    int64_t timeout_nanos; // the client's, from now; 0 = none
};

// Asks for the body. options is copied.
void otlp_request_begin(struct otlp_listener *l, struct http_exchange *x, const struct otlp_request_options *options);
// The handler's functions.
size_t otlp_request_reserve(struct otlp_request *r, struct bytes so_far, size_t need);
void otlp_request_run(struct otlp_request *r, uint8_t *body, size_t len);
void otlp_request_refuse(struct otlp_request *r, int status, const char *text);
void otlp_request_abort(struct otlp_request *r);

#endif
