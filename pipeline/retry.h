// SPDX-License-Identifier: Apache-2.0
// Exponential back-off with jitter, as the Collector's retry_on_failure.
#ifndef PIPELINE_RETRY_H
#define PIPELINE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

struct retry_settings {
    bool enabled;
    int64_t initial_interval_nanos, max_interval_nanos;
    int64_t max_elapsed_nanos; // 0 = for ever
    double randomization_factor, multiplier;
};

struct retry_state {
    int64_t first_attempt_nanos; // monotonic
    int64_t interval_nanos;
    unsigned attempts;
};

void retry_begin(struct retry_state *s, const struct retry_settings *settings, int64_t now_nanos);
// The wait before the next attempt, at least retry_after_nanos; -1 = give up (disabled, or max_elapsed
// would be passed). random is uniform in [0, 1).
int64_t retry_next(struct retry_state *s, const struct retry_settings *settings, int64_t now_nanos,
                   int64_t retry_after_nanos, double random);

// The Retry-After header: seconds or an HTTP-date (RFC 9110 §10.2.3); 0 when absent, past or not
// understood, at most one day.
int64_t retry_after_parse(const char *text, int64_t now_wall_nanos);

#endif
