// SPDX-License-Identifier: Apache-2.0
#include "exporters/exporters.h"

static const struct module *const exporters[] = {
    &debug_exporter.module,     &file_exporter.module,      &nop_exporter.module,
    &otlp_grpc_exporter.module, &otlp_http_exporter.module, &pyroscope_exporter.module,
};

const struct module_table exporters_table = {exporters, COUNT_OF(exporters)};
