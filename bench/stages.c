// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include "codec/compress.h"
#include "codec/otlp.h"
#include "codec/pprof.h"

#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 7 };

struct stages {
    struct bytes file;
    struct batch *batch;
    struct buf encoded, packed;
    struct compressor *compressor;
};

static struct batch *decode(struct bytes file)
{
    struct decode_limits limits = decode_default_limits;
    struct decode_options options = {.limits = &limits};
    struct decode_report report = {0};
    struct batch *batch = NULL;
    struct err e = {0};
    limits.max_inflated_bytes = limits.max_batch_bytes = 0;
    if (pprof_decode(file, &options, &batch, &report, &e) != ERR_OK) {
        fprintf(stderr, "bench: %s\n", e.text);
        exit(1);
    }
    return batch;
}

static void run_decode(void *arg)
{
    struct stages *s = arg;
    batch_unref(&s->batch);
    s->batch = decode(s->file);
}

static void run_encode(void *arg)
{
    struct stages *s = arg;
    struct err e = {0};
    buf_fini(&s->encoded);
    CHECK(otlp_encode(s->batch, &s->encoded, &e) == ERR_OK);
}

static void run_convert(void *arg)
{
    struct stages *s = arg;
    struct err e = {0};
    run_decode(s);
    run_encode(s);
    buf_fini(&s->packed);
    CHECK(compressor_run(s->compressor, buf_bytes(&s->encoded), &s->packed, &e) == ERR_OK);
}

struct floor_run {
    struct bytes file, encoded;
    uint8_t *inflated, *packed;
    size_t inflated_size, packed_size;
    struct libdeflate_decompressor *in;
    struct libdeflate_compressor *out;
};

static void run_floor(void *arg)
{
    struct floor_run *f = arg;
    size_t n = 0;
    if (f->in != NULL)
        CHECK(libdeflate_gzip_decompress(f->in, f->file.data, f->file.len, f->inflated, f->inflated_size, &n) == 0);
    CHECK(libdeflate_gzip_compress(f->out, f->encoded.data, f->encoded.len, f->packed, f->packed_size) != 0);
}

double floor_seconds(struct bytes file, struct bytes encoded, unsigned runs)
{
    struct floor_run f = {.file = file, .encoded = encoded, .out = libdeflate_alloc_compressor(1)};
    if (compression_detect(file) == COMPRESSION_GZIP) {
        f.in = libdeflate_alloc_decompressor();
        f.inflated_size = file.len * 64 + 4096;
        f.inflated = malloc(f.inflated_size);
    }
    f.packed_size = libdeflate_gzip_compress_bound(f.out, encoded.len);
    f.packed = malloc(f.packed_size);
    double seconds = best_cpu_seconds(runs, run_floor, &f);
    if (f.in != NULL)
        libdeflate_free_decompressor(f.in);
    libdeflate_free_compressor(f.out);
    free(f.inflated);
    free(f.packed);
    return seconds;
}

static size_t inflated_bytes(struct bytes file)
{
    struct buf raw;
    struct err e = {0};
    buf_init(&raw, SIZE_MAX / 2);
    CHECK(decompress(compression_detect(file), file, 0, "none", &raw, &e) == ERR_OK);
    size_t len = raw.len;
    buf_fini(&raw);
    return len;
}

static void row(const char *input, const char *metric, double value)
{
    const struct row r = {"stages (one thread, best of 7)", input, metric, value, 0, false};
    report_row(&r);
}

void bench_stages(const char *input_name, struct bytes file)
{
    struct stages s = {.file = file, .compressor = compressor_create(COMPRESSION_GZIP, 1)};
    buf_init(&s.encoded, SIZE_MAX / 2);
    buf_init(&s.packed, SIZE_MAX / 2);
    double mb = (double)inflated_bytes(file) / 1e6;
    double decode_s = best_cpu_seconds(RUNS, run_decode, &s);
    double samples = (double)s.batch->sample_count;
    double encode_s = best_cpu_seconds(RUNS, run_encode, &s);
    double convert_s = best_cpu_seconds(RUNS, run_convert, &s);
    double floor_s = floor_seconds(file, buf_bytes(&s.encoded), RUNS);
    row(input_name, "input, MB inflated", mb);
    row(input_name, "decode, MB/s", mb / decode_s);
    row(input_name, "decode, ns per sample", decode_s * 1e9 / samples);
    row(input_name, "encode, MB/s of output", (double)s.encoded.len / 1e6 / encode_s);
    row(input_name, "encode, ns per sample", encode_s * 1e9 / samples);
    row(input_name, "convert, CPU s per GB", convert_s / mb * 1e3);
    row(input_name, "convert, ratio to the floor", convert_s / floor_s);
    row(input_name, "batch, bytes per input byte", (double)batch_memory_bytes(s.batch) / (mb * 1e6));
    batch_unref(&s.batch);
    buf_fini(&s.encoded);
    buf_fini(&s.packed);
    compressor_destroy(&s.compressor);
}
