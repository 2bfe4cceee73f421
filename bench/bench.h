// SPDX-License-Identifier: Apache-2.0
// What the bench's parts share. Figures are for ratios within one run: machines are noisy.
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

// --- generate.c: pprof bytes of our own, the same for the same shape ---
struct shape {
    const char *name;
    uint32_t samples, depth, distinct_stacks, labels, sample_types;
    uint32_t functions; // 0 = 5000
};
void generate_pprof(const struct shape *s, struct buf *out);
struct shape shape_of_samples(uint32_t samples); // what a service of some size sends: 350 are 26 KB, 20500 1 MB
void generate_otlp(const struct shape *s, struct buf *out); // the same as an export request

// --- measure.c ---
double cpu_seconds(void); // of this process, all threads
double wall_seconds(void);
double clock_seconds(clockid_t id);
size_t status_bytes(const char *path, const char *key); // of a /proc/PID/status; 0 if there is none
void memory_peak_reset(void);                           // of this process
size_t memory_peak_bytes(void);                         // highest since the reset
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
void bench_sample_processors(void);
void bench_k8s_attributes(void);
void bench_kubernetes(void); // a list of pods, what is kept of it, looking up
struct arena;
struct batch;
struct processor;
struct processor_module;
struct processor *bench_create_processor(struct arena *arena, const struct processor_module *m, const char *yaml);
void bench_destroy_processor(struct processor *p);
// Batches that a processor gets in turns, so many times; each must come out as another one, if must_change.
struct bench_work {
    struct processor *processor;
    struct batch *const *batches;
    size_t batch_count;
    unsigned repeats;
    bool must_change;
};
double bench_process_seconds(const struct bench_work *w); // for one of them, the best of seven runs
struct builder;
uint32_t bench_text_attribute(struct builder *b, const char *key, const char *format, uint32_t number);
// With the program at `path`: import end to end against the floor, start time, idle memory.
void bench_program(const char *path, const char *input_name, const char *input_path, struct bytes file);
void bench_start(const char *path);
// The program at `path` between a load and a sink: OTLP in and out over HTTP and gRPC.
void bench_transports(const char *path, bool quick);
void bench_pyroscope(const char *path);

// Inflating the same input and deflating the same output, one thread: what no program can avoid.
double floor_seconds(struct bytes file, struct bytes encoded, unsigned runs);

// --- sink.c: a server of HTTP/1.1 and gRPC, a thread per connection, that takes everything ---
struct sink;
struct sink *sink_create(bool counts_samples);
int sink_port(const struct sink *s);
uint64_t sink_requests(const struct sink *s); // answered so far
uint64_t sink_samples(const struct sink *s);  // in them, if it counts them
void sink_wait(const struct sink *s,
               uint64_t requests); // until so many were answered; ends the program after half a minute
void sink_destroy(struct sink **s);

// --- product.c: the program in a process of its own ---
struct product;
struct product *product_start(const char *path, const char *config); // ready when it returns
double product_start_ms(const struct product *p);
int product_port(const struct product *p, const char *listener); // "OTLP/HTTP"
double product_cpu_seconds(const struct product *p);
size_t product_memory_bytes(const struct product *p, const char *key); // "VmHWM"
void product_stop(struct product **p);

#endif
