// SPDX-License-Identifier: Apache-2.0
// How time and memory grow from 10k to 1M samples: the slope of a line through the logarithms.
#include "bench/bench.h"

#include "codec/otlp.h"
#include "codec/pprof.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZES = 3, RUNS = 3 };

static const uint32_t sizes[SIZES] = {10000, 100000, 1000000};

struct result {
    double seconds, bytes;
};

static void convert(struct bytes file)
{
    struct decode_limits limits = decode_default_limits;
    struct decode_options options = {.limits = &limits};
    struct decode_report report = {0};
    struct batch *batch = NULL;
    struct err e = {0};
    struct buf out;
    limits.max_inflated_bytes = limits.max_batch_bytes = 0;
    buf_init(&out, SIZE_MAX / 2);
    if (pprof_decode(file, &options, &batch, &report, &e) != ERR_OK || otlp_encode(batch, &out, &e) != ERR_OK) {
        fprintf(stderr, "bench: %s\n", e.text);
        _exit(1);
    }
    batch_unref(&batch);
    buf_fini(&out);
}

static void run_convert(void *arg)
{
    convert(*(struct bytes *)arg);
}

// The input lies in a file of memory, so that making it leaves nothing behind in the process that is measured.
static int make_input(const struct shape *shape, size_t *size_out)
{
    struct buf file;
    int fd = memfd_create("profrelay-bench", MFD_CLOEXEC);
    CHECK(fd >= 0);
    buf_init(&file, SIZE_MAX / 2);
    generate_pprof(shape, &file);
    for (size_t written = 0; written < file.len;) {
        ssize_t n = write(fd, file.data + written, file.len - written);
        CHECK(n > 0);
        written += (size_t)n;
    }
    *size_out = file.len;
    buf_fini(&file);
    return fd;
}

static struct result measure_here(int fd, size_t size)
{
    struct result r;
    uint8_t *data = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    CHECK(data != MAP_FAILED);
    struct bytes file = {data, size};
    size_t before = memory_now_bytes();
    memory_peak_reset();
    convert(file);
    r.bytes = (double)(memory_peak_bytes() - before);
    r.seconds = best_cpu_seconds(RUNS, run_convert, &file);
    return r;
}

// In a process of its own, so that one run's memory does not count for the next.
static struct result measure(const struct shape *shape)
{
    int ends[2];
    size_t size;
    struct result r = {0};
    CHECK(pipe(ends) == 0);
    int fd = make_input(shape, &size);
    malloc_trim(0);
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        r = measure_here(fd, size);
        _exit(write(ends[1], &r, sizeof r) == (ssize_t)sizeof r ? 0 : 1);
    }
    close(fd);
    close(ends[1]);
    if (read(ends[0], &r, sizeof r) != (ssize_t)sizeof r) {
        fprintf(stderr, "bench: a scaling run failed\n");
        exit(1);
    }
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return r;
}

static double slope(const double *values, size_t count)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, n = (double)count;
    for (size_t i = 0; i < count; i++) {
        double x = log(sizes[i]), y = log(values[i]);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static void report(const char *input, const char *metric, double value, double limit)
{
    const struct row r = {"scaling, 10k to 1M samples, decode + encode", input, metric, value, limit, false};
    report_row(&r);
}

void bench_scaling(bool quick)
{
    static const struct shape shapes[] = {
        {"100 deep-25 stacks", 0, 25, 100, 1, 2, 0},
        {"every stack distinct", 0, 25, UINT32_MAX, 1, 2, 0},
        {"500 deep", 0, 500, 1000, 0, 1, 0},
        {"20 labels each", 0, 10, 1000, 20, 1, 0},
    };
    size_t count = quick ? 2 : SIZES;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        double seconds[SIZES], bytes[SIZES];
        for (size_t n = 0; n < count; n++) {
            struct shape s = shapes[i];
            s.samples = sizes[n];
            struct result r = measure(&s);
            seconds[n] = r.seconds;
            bytes[n] = r.bytes;
        }
        report(shapes[i].name, "ns per sample at 10k", seconds[0] * 1e9 / sizes[0], 0);
        report(shapes[i].name, "ns per sample at the largest", seconds[count - 1] * 1e9 / sizes[count - 1], 0);
        report(shapes[i].name, "bytes per sample at the largest", bytes[count - 1] / sizes[count - 1], 0);
        report(shapes[i].name, "exponent of time", slope(seconds, count), 1.05);
        report(shapes[i].name, "exponent of memory", slope(bytes, count), 1.05);
    }
}
