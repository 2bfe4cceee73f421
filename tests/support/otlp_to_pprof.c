// SPDX-License-Identifier: Apache-2.0
// otlp_to_pprof REQUEST PREFIX: writes PREFIX-0.pb, PREFIX-1.pb ..., one pprof for each that went into the
// OTLP request. The way back for the interop tests; prints the names and what pprof could not hold.
#include "codec/otlp.h"
#include "codec/pprof.h"
#include "tests/support/test_files.h"

#include <stdio.h>
#include <stdlib.h>

struct output {
    const struct batch *batch;
    const char *prefix;
    uint32_t files;
    struct err err;
};

static bool write_file(struct output *o, struct bytes content)
{
    char path[4096];
    snprintf(path, sizeof path, "%s-%u.pb", o->prefix, o->files++);
    FILE *f = fopen(path, "wb");
    bool ok = f != NULL && fwrite(content.data, 1, content.len, f) == content.len;
    if ((f != NULL && fclose(f) != 0) || !ok) {
        err_set(&o->err, ERR_IO, "cannot write %s", path);
        return false;
    }
    puts(path);
    return true;
}

static bool write_group(struct output *o, const struct scope *s, uint32_t first, uint32_t count)
{
    struct buf out;
    uint64_t lost = 0;
    buf_init(&out, (size_t)1 << 30);
    bool ok = pprof_encode(o->batch, s, first, count, &out, &lost, &o->err) == ERR_OK && write_file(o, buf_bytes(&out));
    if (lost > 0)
        fprintf(stderr, "lost: %llu\n", (unsigned long long)lost);
    buf_fini(&out);
    return ok;
}

static bool write_batch(struct output *o)
{
    for (uint32_t r = 0; r < o->batch->resource_count; r++) {
        const struct resource *resource = o->batch->resources[r];
        for (uint32_t i = 0; i < resource->scope_count; i++) {
            const struct scope *s = resource->scopes[i];
            for (uint32_t first = 0, n; (n = pprof_group(s, first)) != 0; first += n)
                if (!write_group(o, s, first, n))
                    return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: otlp_to_pprof REQUEST PREFIX\n");
        return 2;
    }
    struct bytes request = test_read_file(argv[1]);
    struct output o = {.prefix = argv[2]};
    struct batch *b = NULL;
    bool ok = otlp_decode(request, &otlp_default_limits, &b, &o.err) == ERR_OK;
    o.batch = b;
    ok = ok && write_batch(&o);
    if (!ok)
        fprintf(stderr, "%s: %s\n", argv[1], o.err.text);
    batch_unref(&b);
    free((void *)request.data);
    return ok ? 0 : 1;
}
