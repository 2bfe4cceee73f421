// SPDX-License-Identifier: Apache-2.0
// The running program: loops, workers, budget, metrics, components; start, drain, end.
#ifndef PIPELINE_SERVICE_H
#define PIPELINE_SERVICE_H

#include "pipeline/plan.h"

struct service;

struct service_options {
    const struct plan *plan;           // must outlive the run
    const struct module *metrics_page; // an extension module taking struct endpoint_settings; NULL = none
    const char *feature_gates;         // named in the log; NULL = none
    const struct clock *clock;         // NULL = clock_system
    FILE *log_stream;                  // NULL = stderr
    bool quiet;                        // no lines about start and end below warn
    bool handle_signals;               // SIGINT, SIGTERM
    uint64_t trim_after_ms;            // quiet time after which freed memory goes to the system; 0 = a minute
    // Called on loop 0 when everything runs; may call service_stop. NULL = nobody.
    void (*on_ready)(void *arg, struct service *s);
    void *arg;
};

// Runs until stopped by a signal, service_stop or a module's request_stop. Returns the exit code: 0, the code
// given to request_stop, or 1 when it could not start (said on the log).
int service_run(const struct service_options *options);

// Begins to drain; a second call hurries. Any thread.
void service_stop(struct service *s, int exit_code);

// For on_ready: the metrics and an instance by kind and id (NULL if none).
struct metrics *service_metrics(struct service *s);
struct component *service_component(struct service *s, enum component_kind kind, const char *id);

#endif
