// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

// From here on a block asks for huge pages: touching it first costs a fifth, and looking around in it misses
// the TLB less.
enum { LARGE_BYTES = 1 << 20, PAGE_BYTES = 4096, EXPECT_MAX_BYTES = 31 << 20 };

// The one exception to "no state": the failing allocator of the tests, per thread, off in production.
static _Thread_local size_t fail_from;
static _Thread_local size_t calls;

static bool must_fail(void)
{
    calls++;
    return fail_from != 0 && calls >= fail_from;
}

void mem_fail_from(size_t n)
{
    fail_from = n;
    calls = 0;
}

size_t mem_fail_count(void)
{
    return calls;
}

void *mem_alloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    CHECK(p != NULL);
    return p;
}

char *mem_copy_text(const char *text)
{
    if (text == NULL)
        return NULL;
    size_t size = strlen(text) + 1;
    char *copy = mem_alloc(size);
    memcpy(copy, text, size);
    return copy;
}

static void *ask_huge_pages(void *p, size_t size)
{
    uintptr_t start = (uintptr_t)p & ~(uintptr_t)(PAGE_BYTES - 1);
    if (p != NULL && size >= LARGE_BYTES)
        (void)madvise((void *)start, (uintptr_t)p + size - start, MADV_HUGEPAGE);
    return p;
}

static void *alloc(size_t size)
{
    return ask_huge_pages(malloc(size ? size : 1), size);
}

void mem_expect(size_t bytes)
{
    size_t size = bytes < EXPECT_MAX_BYTES ? bytes : EXPECT_MAX_BYTES;
    if (size >= LARGE_BYTES)
        free(alloc(size));
}

void *mem_try_alloc(size_t size)
{
    return must_fail() ? NULL : alloc(size);
}

void *mem_try_array(size_t count, size_t item_size)
{
    size_t size;
    if (__builtin_mul_overflow(count, item_size, &size))
        return NULL;
    return mem_try_alloc(size);
}

void *mem_try_realloc(void *old, size_t size)
{
    if (must_fail())
        return NULL;
    return ask_huge_pages(realloc(old, size ? size : 1), size);
}

bool mem_try_grow(void **items, size_t *capacity, size_t need, size_t item_size, size_t max_items)
{
    if (need <= *capacity)
        return true;
    if (need > max_items)
        return false;
    size_t wanted = *capacity + *capacity / 2 + 8;
    if (wanted < need)
        wanted = need;
    if (wanted > max_items)
        wanted = max_items;
    size_t size;
    if (__builtin_mul_overflow(wanted, item_size, &size))
        return false;
    void *grown = mem_try_realloc(*items, size);
    if (grown == NULL)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}
