// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include "base/clock.h"

#include <libgen.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct bytes read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return (struct bytes){NULL, 0};
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = malloc(size + 1);
    CHECK(data != NULL && fread(data, 1, size, f) == size);
    fclose(f);
    return (struct bytes){data, size};
}

static const char *write_file(const char *path, struct bytes data)
{
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL && fwrite(data.data, 1, data.len, f) == data.len);
    fclose(f);
    return path;
}

static void bench_generated(const char *program)
{
    const struct shape shape = {"generated, 50k samples", 50000, 25, 20000, 2, 2, 0};
    char path[] = "/tmp/profrelay-bench-XXXXXX";
    struct buf file;
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    buf_init(&file, SIZE_MAX / 2);
    generate_pprof(&shape, &file);
    bench_stages(shape.name, buf_bytes(&file));
    bench_program(program, shape.name, write_file(path, buf_bytes(&file)), buf_bytes(&file));
    unlink(path);
    buf_fini(&file);
}

static void bench_corpus(const char *program)
{
    static const char *const names[] = {"heap_go_large.pb.gz", "heap.pb.gz", "cpu_go_truncated_1.pb.gz",
                                        "dotnet-pprof-211.pb.gz"};
    const char *corpus = getenv("PROFRELAY_CORPUS");
    for (size_t i = 0; corpus != NULL && i < COUNT_OF(names); i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/pprof/%s", corpus, names[i]);
        struct bytes file = read_file(path);
        if (file.len == 0)
            continue;
        bench_stages(names[i], file);
        if (i == 0)
            bench_program(program, names[i], path, file);
        free((void *)(uintptr_t)file.data);
    }
}

static bool has(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], option) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    char program[4096];
    if (has(argc, argv, "--help")) {
        puts("usage: ./dev bench [--json] [--quick] [--only "
             "stages|processors|kubernetes|transports|pyroscope|start|scaling]\n"
             "Exit code 1 if a limit does not hold. --quick: scaling to 100k samples only, transports half a second "
             "each.");
        return 0;
    }
    snprintf(program, sizeof program, "%s", argv[0]);
    char *folder = dirname(program);
    char path[8192];
    snprintf(path, sizeof path, "%s/profrelay", folder);
    bool all = !has(argc, argv, "--only");
    // As the service sets it.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
    report_begin(has(argc, argv, "--json"));
    if (all || has(argc, argv, "stages")) {
        bench_generated(path);
        bench_corpus(path);
    }
    if (all || has(argc, argv, "processors"))
        bench_processors();
    if (all || has(argc, argv, "kubernetes"))
        bench_kubernetes();
    if (all || has(argc, argv, "transports"))
        bench_transports(path, has(argc, argv, "--quick"));
    if (all || has(argc, argv, "pyroscope"))
        bench_pyroscope(path);
    if (all || has(argc, argv, "start"))
        bench_start(path);
    if (all || has(argc, argv, "scaling"))
        bench_scaling(has(argc, argv, "--quick"));
    return report_end();
}
