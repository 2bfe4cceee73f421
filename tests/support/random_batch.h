// SPDX-License-Identifier: Apache-2.0
// Batches drawn from a seed: the same seed gives the same batch, so a failing property test prints its seed.
#ifndef TESTS_SUPPORT_RANDOM_BATCH_H
#define TESTS_SUPPORT_RANDOM_BATCH_H

#include "profile/builder.h"

struct test_random {
    uint64_t state;
};

uint64_t test_random_next(struct test_random *r);
uint32_t test_random_below(struct test_random *r, uint32_t limit); // 0 when limit is 0
bool test_random_chance(struct test_random *r, uint32_t percent);

struct random_batch_options {
    // Containers have 0 to max children, batches 1 to max_resources.
    uint32_t max_resources, max_scopes, max_profiles, max_samples, max_stack_depth, max_attributes;
    uint32_t item_count; // how many locations, functions, stacks, ... there are to draw from
    bool timestamps;     // all three shapes of OTLP, mixed; else one value each
    bool links;
    bool payloads;      // original_payload on some profiles
    bool nested_values; // arrays, kvlists, bytes, doubles; else text, integers and booleans
};

// Everything on, small.
extern const struct random_batch_options random_batch_defaults;

// Adds random resources to b; a failure sticks there. options NULL = defaults.
void random_batch_add(struct builder *b, uint64_t seed, const struct random_batch_options *options);
// The batch, one reference; never NULL.
struct batch *random_batch(uint64_t seed, const struct random_batch_options *options);

#endif
