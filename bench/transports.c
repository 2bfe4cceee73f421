// SPDX-License-Identifier: Apache-2.0
// The program between a load and a sink, each request sent on as it came or with a resource attribute more, against
// what inflating (and deflating) the same bodies takes.
#include "bench/bench.h"
#include "bench/load.h"

#include "codec/compress.h"

#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
    CONNECTIONS = 8,
    MANY_CONNECTIONS = 200,
    FLOOR_RUNS = 5,
    FLOOR_BYTES = 20 << 20,
    CLIENT_GZIP_LEVEL = 6,
    LEVEL = 1
};

#define GROUP "transports (8 connections; CPU of the program alone)"

struct transport {
    const char *name, *listener, *exporter, *scheme;
    bool grpc;
};

static const struct transport transports[] = {
    {"HTTP", "OTLP/HTTP", "otlp_http", "http://", false},
    {"gRPC", "OTLP/gRPC", "otlp_grpc", "http://", true},
};

struct body {
    const char *name; // "26 KB"
    struct buf raw, packed;
    enum compression compression;
};

struct figures {
    struct load_result load;
    double cpu_seconds, peak_mib;
};

static void pack(struct body *b, enum compression kind)
{
    struct compressor *c = compressor_create(kind, kind == COMPRESSION_GZIP ? CLIENT_GZIP_LEVEL : 0);
    struct err e;
    buf_fini(&b->packed);
    buf_init(&b->packed, SIZE_MAX / 2);
    CHECK(c != NULL && compressor_run(c, buf_bytes(&b->raw), &b->packed, &e) == ERR_OK);
    compressor_destroy(&c);
    b->compression = kind;
}

// What no program can avoid.

struct floor {
    const struct body *body;
    unsigned times;
    bool deflates;
    uint8_t *raw, *packed;
    size_t packed_size;
    struct libdeflate_decompressor *gunzip;
    struct libdeflate_compressor *gzip;
    ZSTD_DCtx *unzstd;
    ZSTD_CCtx *zstd;
};

static void run_gzip(struct floor *f)
{
    const struct body *b = f->body;
    CHECK(libdeflate_gzip_decompress(f->gunzip, b->packed.data, b->packed.len, f->raw, b->raw.len, NULL) == 0);
    if (f->deflates)
        CHECK(libdeflate_gzip_compress(f->gzip, f->raw, b->raw.len, f->packed, f->packed_size) != 0);
}

static void run_zstd(struct floor *f)
{
    const struct body *b = f->body;
    CHECK(ZSTD_decompressDCtx(f->unzstd, f->raw, b->raw.len, b->packed.data, b->packed.len) == b->raw.len);
    if (f->deflates)
        CHECK(!ZSTD_isError(ZSTD_compressCCtx(f->zstd, f->packed, f->packed_size, f->raw, b->raw.len, LEVEL)));
}

static void run_floor(void *arg)
{
    struct floor *f = arg;
    for (unsigned i = 0; i < f->times; i++)
        (f->body->compression == COMPRESSION_GZIP ? run_gzip : run_zstd)(f);
}

static double floor_per_gb(const struct body *b, bool deflates)
{
    if (b->compression == COMPRESSION_NONE)
        return 0;
    struct floor f = {.body = b, .times = 1 + (unsigned)(FLOOR_BYTES / b->raw.len), .deflates = deflates};
    f.packed_size = 2 * b->raw.len + 4096;
    f.raw = malloc(b->raw.len);
    f.packed = malloc(f.packed_size);
    f.gunzip = libdeflate_alloc_decompressor();
    f.gzip = libdeflate_alloc_compressor(LEVEL);
    f.unzstd = ZSTD_createDCtx();
    f.zstd = ZSTD_createCCtx();
    double seconds = best_cpu_seconds(FLOOR_RUNS, run_floor, &f);
    libdeflate_free_decompressor(f.gunzip);
    libdeflate_free_compressor(f.gzip);
    ZSTD_freeDCtx(f.unzstd);
    ZSTD_freeCCtx(f.zstd);
    free(f.raw);
    free(f.packed);
    return seconds / ((double)f.times * (double)b->raw.len / 1e9);
}

// The program.

static void make_config(const struct transport *t, const struct body *b, bool changes, int sink, char *out, size_t size)
{
    snprintf(
        out, size,
        "yaml:{receivers: {otlp: {protocols: {http: {endpoint: '127.0.0.1:0'}, grpc: {endpoint: '127.0.0.1:0'}}}}, "
        "processors: {resource: {attributes: [{key: deployment.environment.name, action: insert, value: bench}]}}, "
        "exporters: {%s: {endpoint: '%s127.0.0.1:%d', compression: %s, compression_params: {level: %d}}}, "
        "service: {telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {port: 0}}}}]}}, "
        "pipelines: {profiles: {receivers: [otlp]%s, exporters: [%s]}}}}",
        t->exporter, t->scheme, sink, compression_name(b->compression), b->compression == COMPRESSION_NONE ? 0 : LEVEL,
        changes ? ", processors: [resource]" : "", t->exporter);
}

static void check_load(const struct load_result *r)
{
    if (r->other == 0 && r->unfinished == 0)
        return;
    fprintf(stderr, "bench: %llu requests failed, one with status %d\n", (unsigned long long)r->other, r->other_status);
    exit(1);
}

static struct figures measure(const char *path, const char *config, const struct transport *t, struct load *load,
                              const struct sink *sink)
{
    struct figures f = {0};
    struct product *p = product_start(path, config);
    struct load_result warm;
    double seconds = load->seconds;
    load->port = product_port(p, t->listener);
    load->seconds = seconds / 5;
    load_run(load, &warm);
    check_load(&warm);
    if (sink != NULL)
        sink_wait(sink, warm.taken);
    double before = product_cpu_seconds(p), begin = wall_seconds();
    load->seconds = seconds;
    load_run(load, &f.load);
    if (sink != NULL) {
        check_load(&f.load);
        sink_wait(sink, warm.taken + f.load.taken);
    }
    f.load.seconds = wall_seconds() - begin;
    f.cpu_seconds = product_cpu_seconds(p) - before;
    f.peak_mib = (double)product_memory_bytes(p, "VmHWM") / (1 << 20);
    product_stop(&p);
    return f;
}

static void row(const char *input, const char *metric, double value, double limit)
{
    const struct row r = {GROUP, input, metric, value, limit, false};
    report_row(&r);
}

static void report(const char *input, const struct body *b, bool changes, const struct figures *f)
{
    double gb = (double)f->load.taken * (double)b->raw.len / 1e9, per_gb = f->cpu_seconds / gb;
    double floor = floor_per_gb(b, changes);
    row(input, "raw MB/s", gb * 1e3 / f->load.seconds, 0);
    row(input, "requests/s", (double)f->load.taken / f->load.seconds, 0);
    row(input, "CPU us per request", f->cpu_seconds * 1e6 / (double)f->load.taken, 0);
    row(input, "CPU s per GB", per_gb, 0);
    if (floor > 0) {
        row(input, changes ? "floor: inflate + deflate 1" : "floor: inflate", floor, 0);
        row(input, "ratio to the floor", per_gb / floor, changes ? 1.25 : 2.0);
    }
    row(input, "peak RSS MiB", f->peak_mib, 0);
    if (f->load.refused > 0)
        row(input, "refused, sent again", (double)f->load.refused, 0);
}

static void bench_way(const char *path, const struct transport *t, const struct body *b, bool changes, double seconds)
{
    char input[64], config[2048];
    struct sink *sink = sink_create(false);
    struct load load = {.grpc = t->grpc,
                        .connections = CONNECTIONS,
                        .body = buf_bytes(b->compression != COMPRESSION_NONE ? &b->packed : &b->raw),
                        .encoding = b->compression != COMPRESSION_NONE ? compression_name(b->compression) : NULL,
                        .sends_again = true,
                        .pause_ms = 1,
                        .seconds = seconds};
    snprintf(input, sizeof input, "%s %s %s %s", t->name, b->name, compression_name(b->compression),
             changes ? "changed" : "unchanged");
    make_config(t, b, changes, sink_port(sink), config, sizeof config);
    struct figures f = measure(path, config, t, &load, sink);
    report(input, b, changes, &f);
    sink_destroy(&sink);
}

static void bench_latency(const char *path, const struct transport *t, const struct body *b, double seconds)
{
    char input[64], config[2048];
    struct sink *sink = sink_create(false);
    struct load load = {.grpc = t->grpc,
                        .connections = MANY_CONNECTIONS,
                        .body = buf_bytes(&b->packed),
                        .encoding = compression_name(b->compression),
                        .sends_again = true,
                        .pause_ms = 1,
                        .seconds = seconds};
    snprintf(input, sizeof input, "%s %s %s, %d clients", t->name, b->name, load.encoding, MANY_CONNECTIONS);
    make_config(t, b, false, sink_port(sink), config, sizeof config);
    struct figures f = measure(path, config, t, &load, sink);
    row(input, "requests/s", (double)f.load.taken / f.load.seconds, 0);
    row(input, "latency, ms, median", f.load.p50_ms, 0);
    row(input, "latency, ms, 99 %", f.load.p99_ms, 0);
    row(input, "peak RSS MiB", f.peak_mib, 0);
    sink_destroy(&sink);
}

// The transport's own share: empty requests, answered without a worker's decoding much.
static void bench_empty(const char *path, const struct transport *t, double seconds)
{
    const struct body none = {0};
    char input[64], config[2048];
    struct sink *sink = sink_create(false);
    struct load load = {.grpc = t->grpc, .connections = CONNECTIONS, .seconds = seconds};
    snprintf(input, sizeof input, "%s, empty requests", t->name);
    make_config(t, &none, false, sink_port(sink), config, sizeof config);
    struct figures f = measure(path, config, t, &load, NULL);
    check_load(&f.load);
    row(input, "requests/s", (double)f.load.taken / f.load.seconds, 0);
    row(input, "CPU us per request", f.cpu_seconds * 1e6 / (double)f.load.taken, 0);
    sink_destroy(&sink);
}

static void bench_body(const char *path, const char *name, uint32_t samples, bool has_latency, double seconds)
{
    static const enum compression kinds[] = {COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD};
    struct body b = {.name = name};
    const struct shape shape = shape_of_samples(samples);
    buf_init(&b.raw, SIZE_MAX / 2);
    generate_otlp(&shape, &b.raw);
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        b.compression = kinds[k];
        if (kinds[k] != COMPRESSION_NONE)
            pack(&b, kinds[k]);
        for (size_t t = 0; t < COUNT_OF(transports); t++) {
            bench_way(path, &transports[t], &b, false, seconds);
            bench_way(path, &transports[t], &b, true, seconds);
            if (has_latency && b.compression == COMPRESSION_GZIP)
                bench_latency(path, &transports[t], &b, seconds);
        }
    }
    buf_fini(&b.raw);
    buf_fini(&b.packed);
}

void bench_transports(const char *path, bool quick)
{
    double seconds = quick ? 0.5 : 2;
    for (size_t t = 0; t < COUNT_OF(transports); t++)
        bench_empty(path, &transports[t], seconds);
    bench_body(path, "26 KB", 350, true, seconds);
    bench_body(path, "1 MB", 20500, false, seconds);
}
