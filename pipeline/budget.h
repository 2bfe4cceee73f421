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
    bool limit_is_set;
};

// limit_bytes: while nobody sets another.
void budget_init(struct budget *b, size_t limit_bytes);
// While the service starts, before anything is charged: of several the least counts.
void budget_set_limit(struct budget *b, size_t limit_bytes);
// false = does not fit now; nothing was taken.
bool budget_try_take(struct budget *b, size_t bytes) MUST_USE;
void budget_give(struct budget *b, size_t bytes);
// Past the limit: of what is there already, and cannot be refused any more.
void budget_take(struct budget *b, size_t bytes);
// Turns a charge of old_bytes into new_bytes. Shrinking always works; growing past the limit fails and
// leaves the old charge.
bool budget_try_change(struct budget *b, size_t old_bytes, size_t new_bytes) MUST_USE;

// What there is: the machine's memory, or the least that the process's cgroup and those around it allow (v1 and v2). root
// has proc and sys/fs/cgroup; usually "/". *is_cgroup_out may be NULL.
size_t budget_total_memory(const char *root, bool *is_cgroup_out);
// What service.memory_limit is when not set: three quarters of the cgroup's or, without one, half of the
// machine's memory.
size_t budget_default_limit(const char *root);

#endif
