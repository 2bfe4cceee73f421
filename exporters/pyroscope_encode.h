// SPDX-License-Identifier: Apache-2.0
// Batches become records of one series each: a PushRequest or an upload, with one pprof or one JFR recording.
#ifndef EXPORTERS_PYROSCOPE_ENCODE_H
#define EXPORTERS_PYROSCOPE_ENCODE_H

#include "exporters/pyroscope_exporter.h"

void pyroscope_encode_init(struct pyroscope_exporter *x); // the metrics

extern const struct http_exporter_encoder pyroscope_encoder;

#endif
