// SPDX-License-Identifier: Apache-2.0
// Inside processors/: how many profiles each service may send in an interval. While a service sends more, each of its
// profiles has the same chance, so that what goes on stands for all of the interval.
#ifndef PROCESSORS_SAMPLER_BUDGET_H
#define PROCESSORS_SAMPLER_BUDGET_H

#include "processors/known_keys.h"

#include <pthread.h>

enum { BUDGET_MAX_SERVICES = 10000 }; // known at once; further ones share one budget

struct sampler_budget {
    pthread_mutex_t lock; // of what follows but for the first two
    uint64_t profiles;    // 0 = no budget
    int64_t interval_nanos;
    struct known_keys services; // of struct service_count
    int64_t swept_at;           // interval of the last search for services that are gone
};

void sampler_budget_init(struct sampler_budget *b, uint64_t profiles, int64_t interval_nanos);
void sampler_budget_fini(struct sampler_budget *b);
// Counts one more profile of the service, which is a hash of its name; `chance` is its place among all, 0 to 1. Any thread.
bool sampler_budget_takes(struct sampler_budget *b, uint64_t service, int64_t now_nanos, double chance);

#endif
