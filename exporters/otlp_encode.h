// SPDX-License-Identifier: Apache-2.0
// Batches become export requests of a size that the peer takes, in a layout that it understands.
#ifndef EXPORTERS_OTLP_ENCODE_H
#define EXPORTERS_OTLP_ENCODE_H

#include "exporters/otlp_common.h"

extern const struct http_exporter_encoder otlp_encoder;

#endif
