// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

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

void *mem_try_alloc(size_t size)
{
    return must_fail() ? NULL : malloc(size ? size : 1);
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
    return must_fail() ? NULL : realloc(old, size ? size : 1);
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
