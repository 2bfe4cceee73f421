// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * NANOS_PER_SECOND + t.tv_nsec;
}

static int64_t system_wall(const struct clock *c)
{
    (void)c;
    return read_clock(CLOCK_REALTIME);
}

static int64_t system_monotonic(const struct clock *c)
{
    (void)c;
    return read_clock(CLOCK_MONOTONIC);
}

const struct clock clock_system = {.wall_nanos = system_wall, .monotonic_nanos = system_monotonic};
