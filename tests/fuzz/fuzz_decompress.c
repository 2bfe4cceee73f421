// SPDX-License-Identifier: Apache-2.0
// Output never passes the limit, and a limit never changes what comes out.
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = {data, size};
    enum compression kind = compression_detect(input);
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
    buf_fini(&out);
    return 0;
}
