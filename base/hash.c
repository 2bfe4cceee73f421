// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <pthread.h>
#include <sys/random.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t seed;
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

static void draw_seed(void)
{
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = (uint64_t)time(NULL) * 0x9E3779B97F4A7C15u;
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
