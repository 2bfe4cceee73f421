// SPDX-License-Identifier: Apache-2.0
// The program in a process of its own, watched from outside.
#include "bench/bench.h"

#include "base/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct product {
    pid_t pid;
    int log;
    double start_ms;
    char text[16384]; // of its log until it was ready
    pthread_t drain;
};

// Reads stderr until the line that says everything runs.
static bool wait_ready(struct product *p)
{
    size_t len = 0;
    ssize_t n;
    while (len < sizeof p->text - 1 && (n = read(p->log, p->text + len, sizeof p->text - 1 - len)) > 0) {
        len += (size_t)n;
        p->text[len] = '\0';
        if (strstr(p->text, "Everything is ready") != NULL)
            return true;
    }
    return false;
}

// Warnings of a busy program shall not fill the pipe.
static void *drain(void *arg)
{
    struct product *p = arg;
    char rest[4096];
    while (read(p->log, rest, sizeof rest) > 0)
        ;
    return NULL;
}

struct product *product_start(const char *path, const char *config)
{
    int ends[2];
    struct product *p = MEM_NEW(struct product);
    fflush(stdout);
    CHECK(pipe(ends) == 0);
    double begin = wall_seconds();
    p->pid = fork();
    CHECK(p->pid >= 0);
    if (p->pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(path, path, "--config", config, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    p->log = ends[0];
    if (!wait_ready(p)) {
        fprintf(stderr, "bench: the program did not start: %s\n", p->text[0] != '\0' ? p->text : "no output");
        exit(1);
    }
    p->start_ms = (wall_seconds() - begin) * 1e3;
    CHECK(pthread_create(&p->drain, NULL, drain, p) == 0);
    return p;
}

double product_start_ms(const struct product *p)
{
    return p->start_ms;
}

int product_port(const struct product *p, const char *listener)
{
    const char *line = strstr(p->text, listener), *port = line != NULL ? strstr(line, ", port ") : NULL;
    CHECK(port != NULL);
    return (int)strtol(port + strlen(", port "), NULL, 10);
}

double product_cpu_seconds(const struct product *p)
{
    clockid_t clock;
    CHECK(clock_getcpuclockid(p->pid, &clock) == 0);
    return clock_seconds(clock);
}

size_t product_memory_bytes(const struct product *p, const char *key)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)p->pid);
    return status_bytes(path, key);
}

void product_stop(struct product **product)
{
    struct product *p = *product;
    kill(p->pid, SIGTERM);
    pthread_join(p->drain, NULL);
    waitpid(p->pid, NULL, 0);
    close(p->log);
    free(p);
    *product = NULL;
}
