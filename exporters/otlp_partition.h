// SPDX-License-Identifier: Apache-2.0
// Records that need different headers: a batch is cut by the values that its resources have of the attributes the
// authenticator asks for, each record carries its own. Without such an authenticator nothing is looked at.
#ifndef EXPORTERS_OTLP_PARTITION_H
#define EXPORTERS_OTLP_PARTITION_H

#include "exporters/otlp_common.h"

// Members of exporter_module, around those of otlp_encode.h.
enum err_code otlp_partition_encode(struct exporter *self, const struct batch *batch, struct record_list *out,
                                    struct err *e) MUST_USE;
bool otlp_partition_takes_unread(struct exporter *self, const struct batch *batch);
enum err_code otlp_partition_replace(struct exporter *self, const struct record *r, const struct verdict *refusal,
                                     struct record_list *out, struct err *e) MUST_USE;

#endif
