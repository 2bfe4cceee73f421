// SPDX-License-Identifier: Apache-2.0
// Numbers for jitter: xorshift64*, of one thread, never for secrets.
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state; // not 0
};

static inline void random_init(struct random *r, uint64_t seed)
{
    r->state = seed | 1;
}

// Uniform in [0, 1).
static inline double random_unit(struct random *r)
{
    uint64_t x = r->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    r->state = x;
    return (double)((x * 0x2545F4914F6CDD1DULL) >> 11) / 9007199254740992.0;
}

#endif
