// SPDX-License-Identifier: Apache-2.0
// SDKs all upload on the same seconds: so many clients push one pprof each, on a connection of their own, to a program that
// sends on over OTLP/HTTP.
#include "bench/bench.h"
#include "bench/load.h"

#include "codec/compress.h"
#include "codec/pyroscope_push.h"

#include <stdio.h>
#include <stdlib.h>

enum { CLIENTS = 200, BURSTS = 10, WARM_BURSTS = 2, GZIP_LEVEL = 6, SAMPLES = 850 };

#define GROUP "Pyroscope: 200 clients at once, a pprof of 30 KB each"

struct way {
    const char *name, *path, *content_type;
    bool is_push;
};

static const struct way ways[] = {
    {"/ingest", "/ingest?name=bench&format=pprof&sampleRate=100&spyName=gospy", "application/octet-stream", false},
    {"Push", "/push.v1.PusherService/Push", "application/proto", true},
};

static void make_profile(struct buf *raw, struct buf *packed)
{
    const struct shape shape = shape_of_samples(SAMPLES);
    struct compressor *c = compressor_create(COMPRESSION_GZIP, GZIP_LEVEL);
    struct err e;
    generate_pprof(&shape, raw);
    CHECK(c != NULL && compressor_run(c, buf_bytes(raw), packed, &e) == ERR_OK);
    compressor_destroy(&c);
}

static void make_body(const struct way *w, struct bytes profile, struct buf *body)
{
    struct pyroscope_labels labels;
    if (!w->is_push) {
        buf_add(body, profile.data, profile.len);
        return;
    }
    pyroscope_labels_init(&labels);
    CHECK(pyroscope_labels_add(&labels, BYTES_LITERAL("__name__"), BYTES_LITERAL("process_cpu")));
    CHECK(pyroscope_labels_add(&labels, BYTES_LITERAL("service_name"), BYTES_LITERAL("bench")));
    pyroscope_push_encode(&labels, profile, (struct bytes){NULL, 0}, body);
    pyroscope_labels_fini(&labels);
}

static struct product *start(const char *path, const struct sink *sink)
{
    char config[1024];
    snprintf(config, sizeof config,
             "yaml:{receivers: {pyroscope: {endpoint: '127.0.0.1:0'}}, "
             "exporters: {otlp_http: {endpoint: 'http://127.0.0.1:%d'}}, "
             "service: {telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {port: 0}}}}]}}, "
             "pipelines: {profiles: {receivers: [pyroscope], exporters: [otlp_http]}}}}",
             sink_port(sink));
    return product_start(path, config);
}

static void burst(const struct load *l, const struct sink *sink, uint64_t *sent, struct load_result *out)
{
    load_run(l, out);
    if (out->taken != CLIENTS || out->other > 0 || out->refused > 0) {
        fprintf(stderr, "bench: %llu of %d uploads were taken, other status %d\n", (unsigned long long)out->taken,
                CLIENTS, out->other_status);
        exit(1);
    }
    *sent += out->taken;
    sink_wait(sink, *sent);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double values[BURSTS])
{
    qsort(values, BURSTS, sizeof *values, by_size);
    return values[BURSTS / 2];
}

static void row(const char *input, const char *metric, double value)
{
    const struct row r = {GROUP, input, metric, value, 0, false};
    report_row(&r);
}

static void bench_way(const char *path, const struct way *w, size_t raw_bytes, struct bytes profile)
{
    double p50[BURSTS], p99[BURSTS];
    uint64_t sent = 0;
    struct buf body;
    struct load_result r;
    struct sink *sink = sink_create(false);
    struct product *p = start(path, sink);
    buf_init(&body, SIZE_MAX / 2);
    make_body(w, profile, &body);
    const struct load load = {.port = product_port(p, "Pyroscope"),
                              .connections = CLIENTS,
                              .body = buf_bytes(&body),
                              .path = w->path,
                              .content_type = w->content_type,
                              .once = true};
    for (int i = 0; i < WARM_BURSTS; i++)
        burst(&load, sink, &sent, &r);
    double before = product_cpu_seconds(p);
    for (int i = 0; i < BURSTS; i++) {
        burst(&load, sink, &sent, &r);
        p50[i] = r.p50_ms;
        p99[i] = r.p99_ms;
    }
    double cpu = product_cpu_seconds(p) - before, gb = (double)CLIENTS * BURSTS * (double)raw_bytes / 1e9;
    row(w->name, "bytes of an upload", (double)body.len);
    row(w->name, "latency, ms, median", median(p50));
    row(w->name, "latency, ms, 99 %", median(p99));
    row(w->name, "CPU us per upload", cpu * 1e6 / (CLIENTS * BURSTS));
    row(w->name, "CPU s per GB of inflated pprof", cpu / gb);
    row(w->name, "peak RSS MiB", (double)product_memory_bytes(p, "VmHWM") / (1 << 20));
    product_stop(&p);
    sink_destroy(&sink);
    buf_fini(&body);
}

void bench_pyroscope(const char *path)
{
    struct buf raw, packed;
    buf_init(&raw, SIZE_MAX / 2);
    buf_init(&packed, SIZE_MAX / 2);
    make_profile(&raw, &packed);
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        bench_way(path, &ways[i], raw.len, buf_bytes(&packed));
    buf_fini(&raw);
    buf_fini(&packed);
}
