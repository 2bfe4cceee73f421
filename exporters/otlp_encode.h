// SPDX-License-Identifier: Apache-2.0
// Batches become requests of a size that the peer takes: at most max_request_bytes before compression, and less once the
// peer has found one too large. What cannot be cut any smaller is dropped, named in the log and counted.
#ifndef EXPORTERS_OTLP_ENCODE_H
#define EXPORTERS_OTLP_ENCODE_H

#include "exporters/otlp_common.h"

void otlp_encode_init(struct otlp_exporter *x);

// Members of exporter_module.
bool otlp_exporter_takes_unread(struct exporter *self, const struct batch *batch);
enum err_code otlp_exporter_encode(struct exporter *self, const struct batch *batch, struct record_list *out,
                                   struct err *e) MUST_USE;
enum err_code otlp_exporter_replace(struct exporter *self, const struct record *r, const struct verdict *refusal,
                                    struct record_list *out, struct err *e) MUST_USE;

// Loop thread. A refusal is one of the record's size, so that its parts are tried. Unless the peer's words leave no doubt,
// it may as well be a quota, and small parts are not tried: they would only be more requests.
void otlp_blame_size(struct otlp_exporter *x, const struct record *r, bool no_doubt, struct verdict *v);
// Loop thread, after each attempt: learns from the parts that are taken how large requests may be.
void otlp_note_size(struct otlp_exporter *x, const struct record *r, const struct verdict *v);

#endif
