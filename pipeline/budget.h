// SPDX-License-Identifier: Apache-2.0
// The one memory budget: bodies, batches, records and caches charge it. Lock-free, any thread.
#ifndef PIPELINE_BUDGET_H
#define PIPELINE_BUDGET_H

#include "base/check.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct budget {
    _Atomic size_t used;
    size_t limit; // bytes
};

void budget_init(struct budget *b, size_t limit_bytes);
// false = does not fit now; nothing was taken.
bool budget_try_take(struct budget *b, size_t bytes) MUST_USE;
void budget_give(struct budget *b, size_t bytes);
// Turns a charge of old_bytes into new_bytes. Shrinking always works; growing past the limit fails and
// leaves the old charge.
bool budget_try_change(struct budget *b, size_t old_bytes, size_t new_bytes) MUST_USE;

// What service.memory_limit is when not set: three quarters of the cgroup's or, without one, half of the
// machine's memory. root is "/" (tests give a fake tree).
size_t budget_default_limit(const char *root);

#endif
