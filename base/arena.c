// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

enum { FIRST_CHUNK = 1024, MAX_CHUNK = 1 << 20 };

struct arena_chunk {
    struct arena_chunk *older;
};

void arena_init(struct arena *a, size_t max_bytes)
{
    *a = (struct arena){.max_bytes = max_bytes};
}

void arena_fini(struct arena *a)
{
    for (struct arena_chunk *c = a->chunks; c != NULL;) {
        struct arena_chunk *older = c->older;
        free(c);
        c = older;
    }
    arena_init(a, a->max_bytes);
}

// Chunks double with what the arena already holds, so small arenas stay small and large ones stay few.
static size_t chunk_size_for(const struct arena *a, size_t need)
{
    size_t wanted = a->total_bytes < FIRST_CHUNK ? FIRST_CHUNK : a->total_bytes;
    if (wanted > MAX_CHUNK)
        wanted = MAX_CHUNK;
    // Near the bound only what is needed.
    if (wanted < need || (a->max_bytes != 0 && wanted > a->max_bytes - a->total_bytes))
        return need;
    return wanted;
}

// A chunk with size bytes already taken; they are returned.
static void *add_chunk(struct arena *a, size_t size, void *(*get)(size_t))
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t chunk_size = chunk_size_for(a, size + sizeof(struct arena_chunk));
    if (a->max_bytes != 0 && chunk_size > a->max_bytes - a->total_bytes)
        return NULL;
    struct arena_chunk *c = get(chunk_size);
    if (c == NULL)
        return NULL;
    c->older = a->chunks;
    a->chunks = c;
    a->total_bytes += chunk_size;
    uint8_t *data = (uint8_t *)(c + 1), *next = data + size, *end = (uint8_t *)c + chunk_size;
    // A large item must not waste the room that is left in the chunk before.
    if (end - next >= a->end - a->next) {
        a->next = next;
        a->end = end;
    }
    return data;
}

static void *take(struct arena *a, size_t size, void *(*get)(size_t))
{
    size_t rounded = (size + 7) & ~(size_t)7;
    if (rounded < size)
        return NULL;
    if (rounded == 0)
        rounded = 8; // a pointer of its own, not NULL
    if (rounded > (size_t)(a->end - a->next))
        return add_chunk(a, rounded, get);
    void *p = a->next;
    a->next += rounded;
    return p;
}

void *arena_try_alloc(struct arena *a, size_t size)
{
    return take(a, size, mem_try_alloc);
}

bool arena_try_copy(struct arena *a, struct bytes b, struct bytes *copy_out)
{
    if (b.len == 0) {
        *copy_out = (struct bytes){NULL, 0};
        return true;
    }
    uint8_t *copy = arena_try_alloc(a, b.len);
    if (copy == NULL)
        return false;
    memcpy(copy, b.data, b.len);
    *copy_out = (struct bytes){copy, b.len};
    return true;
}

void *arena_alloc(struct arena *a, size_t size)
{
    void *p = take(a, size, mem_alloc);
    CHECK(p != NULL);
    memset(p, 0, size);
    return p;
}

char *arena_copy_text(struct arena *a, const char *text, size_t len)
{
    char *copy = arena_alloc(a, len + 1);
    if (len != 0)
        memcpy(copy, text, len);
    return copy;
}

char *arena_format(struct arena *a, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    CHECK(n >= 0);
    char *text = arena_alloc(a, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}
