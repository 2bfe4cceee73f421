// SPDX-License-Identifier: Apache-2.0
// XXH3 with a seed drawn once per process, so that a peer cannot prepare colliding names.
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/bytes.h"

// Seeded, differs from run to run: for tables in memory only. Any thread.
uint64_t hash_bytes(const void *data, size_t len);

// Unseeded 128 bits, the same on every machine: to know content again across restarts.
struct hash128 {
    uint64_t high, low;
};
struct hash128 hash_content(const void *data, size_t len);

// Mixes one more word into a hash.
static inline uint64_t hash_mix(uint64_t h, uint64_t word)
{
    h ^= word;
    h *= 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

#endif
