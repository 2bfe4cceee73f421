// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double clock_seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double cpu_seconds(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

double wall_seconds(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

void memory_peak_reset(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY);
    if (fd < 0)
        return;
    if (write(fd, "5", 1) != 1)
        perror("/proc/self/clear_refs");
    close(fd);
}

size_t status_bytes(const char *path, const char *key)
{
    char line[256];
    unsigned long kib = 0;
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), ": %lu kB", &kib) == 1)
            break;
    fclose(f);
    return kib * 1024;
}

size_t memory_peak_bytes(void)
{
    return status_bytes("/proc/self/status", "VmHWM");
}

size_t memory_now_bytes(void)
{
    return status_bytes("/proc/self/status", "VmRSS");
}

double best_cpu_seconds(unsigned runs, void (*run)(void *arg), void *arg)
{
    double best = 0;
    for (unsigned i = 0; i < runs; i++) {
        double start = cpu_seconds();
        run(arg);
        double used = cpu_seconds() - start;
        if (i == 0 || used < best)
            best = used;
    }
    return best;
}
