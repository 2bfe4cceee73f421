// SPDX-License-Identifier: Apache-2.0
// All exporters there are.
#ifndef EXPORTERS_EXPORTERS_H
#define EXPORTERS_EXPORTERS_H

#include "exporters/exporter.h"

extern const struct exporter_module debug_exporter, file_exporter, nop_exporter, otlp_grpc_exporter, otlp_http_exporter,
    pyroscope_exporter;

extern const struct module_table exporters_table;

#endif
