// SPDX-License-Identifier: Apache-2.0
// How large requests may be: as large as the settings say, and less once the peer has found one too large.
#ifndef EXPORTERS_REQUEST_SIZE_H
#define EXPORTERS_REQUEST_SIZE_H

#include "exporters/http_exporter.h"

void request_size_init(struct http_exporter *x);

struct request_limit {
    size_t bytes;
    const char *reason; // for people, in front of the figure
    size_t figure;
};
struct request_limit request_size_limit(const struct http_exporter *x); // any thread
// Below the size of a record that the peer refused.
void request_size_refused(struct request_limit *limit, const struct record *r);

// Loop thread. A refusal is one of the record's size, so that its parts are tried. Unless the peer's words leave no doubt,
// it may as well be a quota, and small parts are not tried: they would only be more requests.
void request_size_blame(struct http_exporter *x, const struct record *r, bool no_doubt, struct verdict *v);
// Loop thread, after each attempt: learns from the parts that are taken how large requests may be.
void request_size_note(struct http_exporter *x, const struct record *r, const struct verdict *v);

#endif
