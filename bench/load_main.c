// SPDX-License-Identifier: Apache-2.0
// The load of the bench as a program, for end-to-end tests and for trying things out; also the sink behind it.
#include "bench/bench.h"
#include "bench/load.h"

#include "base/mem.h"
#include "codec/compress.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: profrelay_load --port PORT [--grpc] [--connections N] [--requests N] [--seconds S] [--samples N]\n"
    "                      [--compression none|gzip|zstd] [--again] [--pause MS] [--path PATH]\n"
    "       profrelay_load --sink\n"
    "Sends generated OTLP profiles in a closed loop and prints what became of them as JSON. --samples 0 sends empty\n"
    "requests; 350 make about 26 KB, 20500 about 1 MB. --again: what is refused for now is sent until it is taken.\n"
    "--sink takes everything on a port, which it prints; then, after each line on its input, what has come.\n";

struct command {
    struct load load;
    uint32_t samples;
    enum compression compression;
    bool sink;
};

enum { PORT, GRPC, CONNECTIONS, REQUESTS, SECONDS, SAMPLES, COMPRESSION, AGAIN, PAUSE, PATH, SINK };

static const struct option options[] = {
    {"port", required_argument, NULL, PORT},
    {"grpc", no_argument, NULL, GRPC},
    {"connections", required_argument, NULL, CONNECTIONS},
    {"requests", required_argument, NULL, REQUESTS},
    {"seconds", required_argument, NULL, SECONDS},
    {"samples", required_argument, NULL, SAMPLES},
    {"compression", required_argument, NULL, COMPRESSION},
    {"again", no_argument, NULL, AGAIN},
    {"pause", required_argument, NULL, PAUSE},
    {"path", required_argument, NULL, PATH},
    {"sink", no_argument, NULL, SINK},
    {NULL, 0, NULL, 0},
};

static bool take_option(struct command *c, int option)
{
    struct load *l = &c->load;
    switch (option) {
    case PORT:
        l->port = (int)strtol(optarg, NULL, 10);
        return true;
    case GRPC:
        l->grpc = true;
        return true;
    case CONNECTIONS:
        l->connections = (unsigned)strtoul(optarg, NULL, 10);
        return true;
    case REQUESTS:
        l->requests = strtoull(optarg, NULL, 10);
        return true;
    case SECONDS:
        l->seconds = strtod(optarg, NULL);
        return true;
    case SAMPLES:
        c->samples = (uint32_t)strtoul(optarg, NULL, 10);
        return true;
    case COMPRESSION:
        return compression_from_name(optarg, &c->compression);
    case AGAIN:
        l->sends_again = true;
        return true;
    case PAUSE:
        l->pause_ms = (unsigned)strtoul(optarg, NULL, 10);
        return true;
    case PATH:
        l->path = optarg;
        return true;
    case SINK:
        c->sink = true;
        return true;
    default:
        return false;
    }
}

static void run_load(struct command *c)
{
    struct buf raw, packed;
    struct load_result r;
    struct err e;
    struct shape shape = shape_of_samples(c->samples);
    buf_init(&raw, SIZE_MAX / 2);
    buf_init(&packed, SIZE_MAX / 2);
    if (c->samples > 0)
        generate_otlp(&shape, &raw);
    c->load.body = buf_bytes(&raw);
    if (c->compression != COMPRESSION_NONE && c->samples > 0) {
        struct compressor *compressor = compressor_create(c->compression, 0);
        CHECK(compressor_run(compressor, buf_bytes(&raw), &packed, &e) == ERR_OK);
        compressor_destroy(&compressor);
        c->load.body = buf_bytes(&packed);
        c->load.encoding = compression_name(c->compression);
    }
    load_run(&c->load, &r);
    printf("{\"taken\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"other\": %" PRIu64 ", \"other_status\": %d, "
           "\"unfinished\": %" PRIu64 ", \"seconds\": %.4f, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"body_bytes\": %zu, "
           "\"raw_bytes\": %zu, \"samples\": %" PRIu32 "}\n",
           r.taken, r.refused, r.other, r.other_status, r.unfinished, r.seconds, r.p50_ms, r.p99_ms, c->load.body.len,
           raw.len, c->samples);
    buf_fini(&raw);
    buf_fini(&packed);
}

static void run_sink(void)
{
    char line[64];
    struct sink *s = sink_create(true);
    printf("%d\n", sink_port(s));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        printf("{\"requests\": %" PRIu64 ", \"samples\": %" PRIu64 "}\n", sink_requests(s), sink_samples(s));
        fflush(stdout);
    }
    _exit(0); // whatever its connections do
}

int main(int argc, char **argv)
{
    struct command c = {.load = {.connections = 8, .pause_ms = 1000}, .samples = 350};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (!take_option(&c, option)) {
            fputs(usage, stderr);
            return 2;
        }
    if (c.sink)
        run_sink();
    else if (c.load.port > 0 && (c.load.requests > 0 || c.load.seconds > 0))
        run_load(&c);
    else
        fputs(usage, stderr);
    return 0;
}
