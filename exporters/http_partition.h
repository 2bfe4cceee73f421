// SPDX-License-Identifier: Apache-2.0
// Records that need different headers: a batch is cut by the values that its resources have of the attributes that go into
// headers (the authenticator's, and the exporter's own), each record carries its own. Without such attributes nothing is
// looked at.
#ifndef EXPORTERS_HTTP_PARTITION_H
#define EXPORTERS_HTTP_PARTITION_H

#include "exporters/http_exporter.h"

// Members of exporter_module, around those of the exporter's encoder.
enum err_code http_partition_encode(struct exporter *self, const struct batch *batch, struct record_list *out,
                                    struct err *e) MUST_USE;
bool http_partition_takes_unread(struct exporter *self, const struct batch *batch);
enum err_code http_partition_replace(struct exporter *self, const struct record *r, const struct verdict *refusal,
                                     struct record_list *out, struct err *e) MUST_USE;

// What a record has of the exporter's own attribute; NULL = nothing that a header can hold.
const char *http_partition_own_value(const struct http_exporter *x, const struct record *r);

#endif
