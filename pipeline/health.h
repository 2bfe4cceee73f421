// SPDX-License-Identifier: Apache-2.0
// How the service does, for those who tell others (component_env, extensions/health_check.c). Copies: nothing points inside.
#ifndef PIPELINE_HEALTH_H
#define PIPELINE_HEALTH_H

#include "pipeline/consumer.h"

enum service_phase { SERVICE_STARTING, SERVICE_READY, SERVICE_ENDING };

struct service_health {
    enum service_phase phase;
    int64_t since_nanos; // of the phase, wall clock
};

struct queue_health {
    bool failing;                 // attempts have failed since the peer last took one
    bool refused;                 // the last of them for good: the record was given up
    int64_t failing_since_nanos;  // wall clock
    char error[VERDICT_TEXT_MAX]; // of the last; raw
    size_t load, capacity;        // in the unit of its sizer
    const char *unit;             // "requests"
    size_t bytes;                 // of the records that wait
};

struct exporter_health {
    const char *id;
    struct queue_health queue;
};

#endif
