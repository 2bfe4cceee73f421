// SPDX-License-Identifier: Apache-2.0
// What the bench's parts share. Figures are for ratios within one run: machines are noisy.
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

// --- generate.c: pprof bytes of our own, the same for the same shape ---
struct shape {
    const char *name;
    uint32_t samples, depth, distinct_stacks, labels, sample_types;
};
void generate_pprof(const struct shape *s, struct buf *out);

// --- measure.c ---
double cpu_seconds(void); // of this process, all threads
double wall_seconds(void);
void memory_peak_reset(void);   // of this process
size_t memory_peak_bytes(void); // highest since the reset
size_t memory_now_bytes(void);
// The least of `runs` runs of run(arg), in CPU seconds.
double best_cpu_seconds(unsigned runs, void (*run)(void *arg), void *arg);

// --- report.c: a table for people, or one JSON document ---
struct row {
    const char *group, *input;
    const char *metric; // "decode MB/s"
    double value;
    double limit;  // what must hold; 0 = none
    bool at_least; // the limit is a minimum
};
void report_begin(bool json);
void report_row(const struct row *row);
int report_end(void); // 1 if a limit does not hold

// --- the groups ---
void bench_stages(const char *input_name, struct bytes file); // decode, encode, convert against the floor
void bench_scaling(bool quick);
void bench_processors(void);
// With the program at `path`: import end to end against the floor, start time, idle memory.
void bench_program(const char *path, const char *input_name, const char *input_path, struct bytes file);
void bench_start(const char *path);

// Inflating the same input and deflating the same output, one thread: what no program can avoid.
double floor_seconds(struct bytes file, struct bytes encoded, unsigned runs);

// --- sink.c: an HTTP server in a thread that takes everything ---
struct sink;
struct sink *sink_create(void);
int sink_port(const struct sink *s);
void sink_destroy(struct sink **s);

#endif
