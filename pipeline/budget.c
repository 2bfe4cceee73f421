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
    b->limit_is_set = false;
}

void budget_set_limit(struct budget *b, size_t limit_bytes)
{
    if (!b->limit_is_set || limit_bytes < b->limit)
        b->limit = limit_bytes;
    b->limit_is_set = true;
}

bool budget_try_take(struct budget *b, size_t bytes)
{
    return budget_try_change(b, 0, bytes);
}

void budget_take(struct budget *b, size_t bytes)
{
    atomic_fetch_add(&b->used, bytes);
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

enum { PATH_BYTES = 4096 };

struct group_kind {
    const char *controllers; // in /proc/self/cgroup
    const char *folder, *limit;
};

static const struct group_kind group_kinds[] = {
    {"", "sys/fs/cgroup", "memory.max"},
    {"memory", "sys/fs/cgroup/memory", "memory.limit_in_bytes"},
};

// The number behind `name` at the start of a file; 0 if there is none ("max", no file).
static unsigned long long read_number(const char *path, const char *name)
{
    char line[128] = "";
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    bool found = fgets(line, sizeof line, f) != NULL && strncmp(line, name, strlen(name)) == 0;
    fclose(f);
    return found ? strtoull(line + strlen(name), NULL, 10) : 0;
}

static unsigned long long machine_bytes(const char *root)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    unsigned long long kib = read_number(path, "MemTotal:");
    return kib != 0 ? kib * 1024 : 1ULL << 30;
}

static void lower_to_group(const char *folder, const char *limit, size_t *least)
{
    char path[PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/%s", folder, limit) >= (int)sizeof path)
        return;
    unsigned long long bytes = read_number(path, "");
    // cgroup v1 says "no limit" with a number near 2^63.
    if (bytes != 0 && bytes < *least)
        *least = (size_t)bytes;
}

// A group ("/a/b") and those around it. In a container the path may be the host's: what is not there says nothing.
static void lower_to_groups(const char *root, const struct group_kind *kind, const char *group, size_t *least)
{
    char folder[PATH_BYTES];
    int top = snprintf(folder, sizeof folder, "%s/%s", root, kind->folder);
    if (top < 0 || (size_t)top + strlen(group) >= sizeof folder)
        return;
    if (strstr(group, "/..") == NULL) // of a process outside of what is mounted
        memcpy(folder + top, group, strlen(group) + 1);
    for (;;) {
        lower_to_group(folder, kind->limit, least);
        char *last = strrchr(folder + top, '/');
        if (last == NULL)
            return;
        *last = '\0';
    }
}

// The process's group of this kind, from "4:memory:/a/b"; "" if it is in none.
static void find_group(const char *root, const struct group_kind *kind, char *out, size_t size)
{
    char path[PATH_BYTES], line[PATH_BYTES];
    out[0] = '\0';
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *controllers = strchr(line, ':'), *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL)
            continue;
        *controllers++ = *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        if (strcmp(controllers, kind->controllers) == 0)
            snprintf(out, size, "%s", group);
    }
    if (f != NULL)
        fclose(f);
}

size_t budget_total_memory(const char *root, bool *is_cgroup_out)
{
    char group[PATH_BYTES];
    const size_t machine = (size_t)machine_bytes(root);
    size_t least = machine;
    for (size_t i = 0; i < COUNT_OF(group_kinds); i++) {
        find_group(root, &group_kinds[i], group, sizeof group);
        lower_to_groups(root, &group_kinds[i], group, &least);
    }
    if (is_cgroup_out != NULL)
        *is_cgroup_out = least < machine;
    return least;
}

size_t budget_default_limit(const char *root)
{
    bool is_cgroup;
    size_t total = budget_total_memory(root, &is_cgroup);
    return is_cgroup ? total / 4 * 3 : total / 2;
}
