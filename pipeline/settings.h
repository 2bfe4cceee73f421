// SPDX-License-Identifier: Apache-2.0
// The settings that are the framework's: `service`, and what every receiver or exporter takes.
#ifndef PIPELINE_SETTINGS_H
#define PIPELINE_SETTINGS_H

#include "config/fields.h"
#include "pipeline/queue.h"

struct receiver_settings {
    struct config_attributes resource_attributes;
};

struct exporter_settings {
    struct queue_settings queue;
    struct retry_settings retry;
    const char *queue_storage;
};

struct log_settings {
    int level, encoding; // enum log_level, enum log_encoding
};

struct prometheus_settings {
    bool present;
    const char *host;
    int64_t port;
};

struct reader_settings { // metrics.readers[]
    struct {
        struct {
            struct prometheus_settings prometheus;
        } exporter;
    } pull;
};

enum metrics_level { METRICS_NONE, METRICS_BASIC, METRICS_NORMAL, METRICS_DETAILED };

struct service_settings {
    struct config_strings extensions;
    uint64_t memory_limit;
    int64_t shutdown_timeout_nanos, workers, loops;
    struct log_settings logs;
    int metrics_level;
    const char *metrics_address;
    struct config_structs metrics_readers; // of struct reader_settings
};

extern const struct field receiver_common_fields[], exporter_common_fields[], service_fields[];

#endif
