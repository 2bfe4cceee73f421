// SPDX-License-Identifier: Apache-2.0
// Writes COUNT random OTLP requests as FOLDER/N.otlp, for judges that are no code of ours.
#include "codec/otlp.h"
#include "tests/support/random_batch.h"

#include <stdio.h>
#include <stdlib.h>

static bool write_request(const char *folder, uint64_t seed)
{
    char path[512];
    struct buf out;
    struct batch *b = random_batch(seed, NULL);
    buf_init(&out, SIZE_MAX / 2);
    bool ok = otlp_encode(b, &out, NULL) == ERR_OK;
    batch_unref(&b);
    snprintf(path, sizeof path, "%s/%u.otlp", folder, (unsigned)seed);
    FILE *f = ok ? fopen(path, "wb") : NULL;
    ok = f != NULL && (out.len == 0 || fwrite(out.data, 1, out.len, f) == out.len);
    if (f != NULL)
        ok = fclose(f) == 0 && ok;
    buf_fini(&out);
    return ok;
}

int main(int argc, char **argv)
{
    unsigned count = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (count == 0) {
        fprintf(stderr, "usage: random_otlp FOLDER COUNT\n");
        return 2;
    }
    for (unsigned seed = 1; seed <= count; seed++) {
        if (!write_request(argv[1], seed)) {
            fprintf(stderr, "random_otlp: %s: not written\n", argv[1]);
            return 1;
        }
    }
    return 0;
}
