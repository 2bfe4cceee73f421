// SPDX-License-Identifier: Apache-2.0
// Decodes an OTLP request from stdin and writes it again to stdout, for judges that compare the two.
#include "codec/otlp.h"

#include <stdint.h>
#include <stdio.h>

static void read_all(struct buf *in)
{
    uint8_t chunk[65536];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, stdin)) > 0;)
        buf_add(in, chunk, n);
}

static enum err_code reencode(const struct buf *in, struct buf *out, struct err *e)
{
    struct batch *b;
    enum err_code code = otlp_decode(buf_bytes(in), NULL, &b, e);
    if (code == ERR_OK)
        code = otlp_encode(b, out, e);
    batch_unref(&b);
    return code;
}

int main(void)
{
    struct buf in, out;
    struct err e = {0};
    buf_init(&in, SIZE_MAX / 2);
    buf_init(&out, SIZE_MAX / 2);
    read_all(&in);
    bool ok = buf_ok(&in) && reencode(&in, &out, &e) == ERR_OK;
    if (!ok)
        fprintf(stderr, "otlp_reencode: %s\n", e.text);
    else if (out.len != 0)
        ok = fwrite(out.data, 1, out.len, stdout) == out.len && fflush(stdout) == 0;
    buf_fini(&in);
    buf_fini(&out);
    return ok ? 0 : 1;
}
