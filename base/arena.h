// SPDX-License-Identifier: Apache-2.0
// Memory that is freed together. Not thread-safe while filling; read-only use is safe from any thread.
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/bytes.h"
#include "base/check.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks;
    uint8_t *next, *end;
    size_t total_bytes; // what the arena holds from the system
    size_t max_bytes;   // 0 = no bound
};

// In place, allocates nothing.
void arena_init(struct arena *a, size_t max_bytes);
// Frees all that was allocated; the arena may be used again.
void arena_fini(struct arena *a);

// size bytes, aligned to 8; NULL when memory or max_bytes is out. Not zeroed.
void *arena_try_alloc(struct arena *a, size_t size) MUST_USE;
// Copies b into the arena; false when out of memory.
bool arena_try_copy(struct arena *a, struct bytes b, struct bytes *copy_out) MUST_USE;

// For configuration and other small, trusted input: aborts when memory is out. Zeroed.
void *arena_alloc(struct arena *a, size_t size);
char *arena_copy_text(struct arena *a, const char *text, size_t len); // terminated
char *arena_format(struct arena *a, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
