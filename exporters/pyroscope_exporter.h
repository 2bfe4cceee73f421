// SPDX-License-Identifier: Apache-2.0
// Inside exporters/: what the files of the exporter `pyroscope` share.
#ifndef EXPORTERS_PYROSCOPE_EXPORTER_H
#define EXPORTERS_PYROSCOPE_EXPORTER_H

#include "codec/pyroscope_series.h"
#include "exporters/http_exporter.h"

#define PYROSCOPE_PUSH_PATH "/push.v1.PusherService/Push"
#define PYROSCOPE_INGEST_PATH "/ingest"

enum pyroscope_api { PYROSCOPE_PUSH, PYROSCOPE_INGEST };
enum pyroscope_primary { PYROSCOPE_ALL_TYPES, PYROSCOPE_PRIMARY_TYPE };

struct pyroscope_exporter_settings {
    struct http_exporter_settings http;
    const char *endpoint;
    int api;                 // enum pyroscope_api
    int profile_compression; // enum compression, none or gzip
    int primary_type;        // enum pyroscope_primary
    struct {
        struct config_strings allow;
        struct config_pairs rename;
        bool sanitize;
        int64_t max, max_name_bytes, max_value_bytes;
    } labels;
    const char *tenant_id, *tenant_attribute;
    int64_t max_profile_samples;
    int64_t max_age_nanos, max_ahead_nanos; // 0 = any
};

struct pyroscope_exporter {
    struct http_exporter http;
    const struct pyroscope_exporter_settings *settings;
    char *push_url, *ingest_url;
    struct pyroscope_label_rename *rename;
    struct pyroscope_label_settings labels;
    struct worker_compressors profile_compressors;
    struct metric *labels_dropped, *labels_shortened, *out_of_window;
    _Atomic bool labels_told; // the log has it
    _Atomic uint32_t shifts;  // parts of refused records since the start: no two are shifted alike
};

#endif
