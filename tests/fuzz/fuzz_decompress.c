// SPDX-License-Identifier: Apache-2.0
// Output never passes the limit, a limit never changes what comes out, and what is compressed comes back.
#include "codec/compress.h"

#include <stdlib.h>

static enum err_code run(enum compression kind, struct bytes data, size_t max, struct buf *out)
{
    struct err e = {0};
    buf_init(out, SIZE_MAX);
    enum err_code code = decompress(kind, data, max, "max", out, &e);
    CHECK(out->len <= max);
    CHECK(code == ERR_OK || code == ERR_INVALID || code == ERR_LIMIT);
    CHECK(code == ERR_OK || e.text[0] != '\0');
    return code;
}

static void check_comes_back(enum compression kind, int level, struct bytes plain)
{
    struct compressor *c = compressor_create(kind, level);
    struct buf packed, again;
    struct err e = {0};
    CHECK(c != NULL);
    buf_init(&packed, SIZE_MAX);
    CHECK(compressor_run(c, plain, &packed, &e) == ERR_OK);
    CHECK(compression_detect(buf_bytes(&packed)) == kind);
    CHECK(run(kind, buf_bytes(&packed), plain.len, &again) == ERR_OK && bytes_equal(plain, buf_bytes(&again)));
    buf_fini(&again);
    buf_init(&again, packed.len - 1); // no room for all of it
    CHECK(compressor_run(c, plain, &again, &e) == ERR_LIMIT);
    buf_fini(&again);
    buf_fini(&packed);
    compressor_destroy(&c);
}

static void check(enum compression kind, struct bytes input)
{
    struct buf out, same;
    enum err_code code = run(kind, input, 1 << 20, &out);
    if (code == ERR_OK && out.len > 0) {
        CHECK(run(kind, input, out.len, &same) == ERR_OK && bytes_equal(buf_bytes(&out), buf_bytes(&same)));
        buf_fini(&same);
    }
    if (code == ERR_OK && out.len > 1) {
        CHECK(run(kind, input, out.len - 1, &same) == ERR_LIMIT);
        buf_fini(&same);
    }
    if (code == ERR_OK && out.len > 0 && out.len < 4096) {
        int level = input.data[input.len - 1] % 12 + 1;
        check_comes_back(COMPRESSION_GZIP, level, buf_bytes(&out));
        check_comes_back(COMPRESSION_ZSTD, level, buf_bytes(&out));
    }
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What has no magic bytes is taken for anything.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = {data, size};
    enum compression kind = compression_detect(input);
    CHECK(compression_from_name(compression_name(kind), &kind));
    check(kind, input);
    if (kind != COMPRESSION_NONE)
        return 0;
    check(COMPRESSION_DEFLATE, input);
    check(COMPRESSION_SNAPPY, input);
    return 0;
}
