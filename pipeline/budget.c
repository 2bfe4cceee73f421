// SPDX-License-Identifier: Apache-2.0
#include "pipeline/budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void budget_init(struct budget *b, size_t limit_bytes)
{
    atomic_init(&b->used, 0);
    b->limit = limit_bytes;
}

bool budget_try_take(struct budget *b, size_t bytes)
{
    return budget_try_change(b, 0, bytes);
}

void budget_give(struct budget *b, size_t bytes)
{
    size_t before = atomic_fetch_sub(&b->used, bytes);
    CHECK(before >= bytes);
}

bool budget_try_change(struct budget *b, size_t old_bytes, size_t new_bytes)
{
    if (new_bytes <= old_bytes) {
        budget_give(b, old_bytes - new_bytes);
        return true;
    }
    size_t more = new_bytes - old_bytes;
    size_t used = atomic_load(&b->used);
    do {
        if (more > b->limit || used > b->limit - more)
            return false;
    } while (!atomic_compare_exchange_weak(&b->used, &used, used + more));
    return true;
}

// The number behind `name` at the start of a file; 0 if there is none ("max", no file).
static unsigned long long read_number(const char *root, const char *path, const char *name)
{
    char full[512], line[128] = "";
    snprintf(full, sizeof full, "%s/%s", root, path);
    FILE *f = fopen(full, "r");
    if (f == NULL)
        return 0;
    bool found = fgets(line, sizeof line, f) != NULL && strncmp(line, name, strlen(name)) == 0;
    fclose(f);
    return found ? strtoull(line + strlen(name), NULL, 10) : 0;
}

static unsigned long long machine_bytes(const char *root)
{
    unsigned long long kib = read_number(root, "proc/meminfo", "MemTotal:");
    return kib != 0 ? kib * 1024 : 1ULL << 30;
}

size_t budget_default_limit(const char *root)
{
    unsigned long long machine = machine_bytes(root);
    unsigned long long group = read_number(root, "sys/fs/cgroup/memory.max", "");
    if (group == 0)
        group = read_number(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "");
    // cgroup v1 says "no limit" with a number near 2^63.
    if (group != 0 && group < machine)
        return (size_t)(group / 4 * 3);
    return (size_t)(machine / 2);
}
