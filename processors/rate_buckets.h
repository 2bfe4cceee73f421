// SPDX-License-Identifier: Apache-2.0
// Inside processors/: token buckets by key, each with several units. A delivery asks for all it needs of several buckets,
// and then takes all or nothing. Not thread-safe.
#ifndef PROCESSORS_RATE_BUCKETS_H
#define PROCESSORS_RATE_BUCKETS_H

#include "processors/known_keys.h"

enum rate_unit { RATE_BYTES, RATE_PROFILES, RATE_SAMPLES, RATE_UNITS };

// Of each unit: a rate per second (0 = no limit), or an amount.
struct rates {
    double of[RATE_UNITS];
};

struct rate_buckets {
    double burst_seconds;      // a bucket holds what comes in so long
    struct known_keys buckets; // of struct rate_bucket
    int64_t now_nanos, swept_at_nanos;
    uint32_t asked; // the first bucket of a list, + 1
};

struct rate_shortage {
    double wait_seconds;
    enum rate_unit unit;
    double per_second;
    uint32_t asker;
};

void rate_buckets_init(struct rate_buckets *b, double burst_seconds, uint32_t most);
void rate_buckets_fini(struct rate_buckets *b);

void rate_buckets_begin(struct rate_buckets *b, int64_t now_nanos);
// per_second: always the same for a key; others: of keys that share a bucket. Both live as long as b.
void rate_buckets_ask(struct rate_buckets *b, uint64_t key, const struct rates *per_second, const struct rates *others,
                      const struct rates *amount, uint32_t asker);
// False: some bucket has less than was asked of it; *out has the longest wait. More than a bucket ever holds is there when
// it is full.
bool rate_buckets_suffice(struct rate_buckets *b, struct rate_shortage *out);
// Takes what was asked for, or nothing.
void rate_buckets_end(struct rate_buckets *b, bool take);

#endif
