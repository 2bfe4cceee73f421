// SPDX-License-Identifier: Apache-2.0
// A request of OTLP: an upload (receivers/upload.h) that is read as protobuf or JSON.
#ifndef RECEIVERS_OTLP_REQUEST_H
#define RECEIVERS_OTLP_REQUEST_H

#include "receivers/otlp.h"

struct otlp_request_options {
    enum otlp_speech speech;
    bool says_current; // the layout of OTLP profiles, in the version header
    struct upload_options upload;
};

// Asks for the body, or answers. options is copied. Loop thread.
void otlp_request_begin(struct otlp_listener *l, struct http_exchange *x, const struct otlp_request_options *options);

#endif
