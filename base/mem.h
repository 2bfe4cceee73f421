// SPDX-License-Identifier: Apache-2.0
// Two families: mem_new and friends abort when memory is out (fixed, small sizes only);
// mem_try_* return NULL (anything sized by input). Free either with free().
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

// Zeroed memory for one fixed-size object; never NULL.
#define MEM_NEW(type) ((type *)mem_alloc(sizeof(type)))

void *mem_alloc(size_t size);          // zeroed; aborts when out of memory
char *mem_copy_text(const char *text); // terminated copy; NULL stays NULL

void *mem_try_alloc(size_t size) MUST_USE;                    // not zeroed; NULL when out of memory
void *mem_try_array(size_t count, size_t item_size) MUST_USE; // NULL also when the product overflows
void *mem_try_realloc(void *old, size_t size) MUST_USE;       // old stays valid on NULL

// Makes room for `need` items of item_size in *items; grows by half again, never past max_items.
// Returns false (and changes nothing) when memory or max_items is out. *capacity counts items.
bool mem_try_grow(void **items, size_t *capacity, size_t need, size_t item_size, size_t max_items) MUST_USE;

// A hint: this thread will soon take about so many bytes in many blocks. malloc gets them at once, as huge pages.
void mem_expect(size_t bytes);

// Tests only: the n-th mem_try_* call from now on (1 = next) and all after it fail; 0 turns this off.
// mem_fail_count tells how many mem_try_* calls were made since. Per thread.
void mem_fail_from(size_t n);
size_t mem_fail_count(void);

#endif
