// SPDX-License-Identifier: Apache-2.0
// Time is injected, so that tests own it. All values are nanoseconds.
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define NANOS_PER_SECOND 1000000000LL
#define NANOS_PER_MS 1000000LL

struct clock {
    int64_t (*wall_nanos)(const struct clock *);      // since 1970
    int64_t (*monotonic_nanos)(const struct clock *); // since some fixed moment
};

// The system's clocks; any thread.
extern const struct clock clock_system;

static inline int64_t clock_wall_nanos(const struct clock *c)
{
    return c->wall_nanos(c);
}

static inline int64_t clock_monotonic_nanos(const struct clock *c)
{
    return c->monotonic_nanos(c);
}

#endif
