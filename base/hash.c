// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <pthread.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t seed;
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

// Early in the boot of a machine: worse than random, better than known.
static uint64_t weak_seed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t h = hash_mix((uint64_t)now.tv_sec, (uint64_t)now.tv_nsec);
    return hash_mix(hash_mix(h, (uint64_t)getpid()), (uint64_t)(uintptr_t)&now);
}

static void draw_seed(void)
{
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = weak_seed();
}

uint64_t hash_bytes(const void *data, size_t len)
{
    pthread_once(&seed_once, draw_seed);
    return XXH3_64bits_withSeed(data, len, seed);
}

struct hash128 hash_content(const void *data, size_t len)
{
    XXH128_hash_t h = XXH3_128bits(data, len);
    return (struct hash128){h.high64, h.low64};
}
