// SPDX-License-Identifier: Apache-2.0
#include "net/http_content.h"

#include <libdeflate.h>
#include <strings.h>

// Room for more than there was, at most the limit's.
static bool grow(struct buf *out)
{
    size_t room = out->max_bytes - out->len, more = 2 * out->capacity - out->len + 4096;
    if (out->capacity >= out->max_bytes)
        out->failed = out->too_large = true;
    return buf_reserve(out, more < room ? more : room);
}

// Inflates all members behind each other; false when damaged, or larger than out may be.
static bool inflate(struct bytes in, struct buf *out)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    CHECK(d != NULL);
    bool ok = grow(out);
    while (ok && in.len > 0) {
        size_t used = 0, written = 0;
        enum libdeflate_result result = libdeflate_gzip_decompress_ex(d, in.data, in.len, out->data + out->len,
                                                                      out->capacity - out->len, &used, &written);
        if (result == LIBDEFLATE_SUCCESS) {
            in = (struct bytes){in.data + used, in.len - used};
            out->len += written;
        } else {
            ok = result == LIBDEFLATE_INSUFFICIENT_SPACE && grow(out);
        }
    }
    libdeflate_free_decompressor(d);
    return ok;
}

bool http_content_is_plain(const struct http1_headers *h)
{
    const char *coding;
    size_t codings = http1_headers_find(h, "Content-Encoding", &coding);
    return codings == 0 || (codings == 1 && strcasecmp(coding, "identity") == 0);
}

bool http_content_decode(const struct http1_headers *h, struct buf *body, struct err *e)
{
    const char *coding;
    if (http1_headers_find(h, "Content-Encoding", &coding) != 1 || body->len == 0 ||
        (strcasecmp(coding, "gzip") != 0 && strcasecmp(coding, "x-gzip") != 0))
        return true;
    struct buf plain;
    buf_init(&plain, body->max_bytes);
    if (inflate(buf_bytes(body), &plain)) {
        buf_fini(body);
        *body = plain;
        return true;
    }
    if (plain.too_large)
        err_set(e, ERR_LIMIT, "the response's body inflates to more than %zu bytes", plain.max_bytes);
    else if (plain.failed)
        err_set(e, ERR_MEMORY, "out of memory");
    else
        err_set(e, ERR_INVALID, "the response's body is not the gzip it claims to be");
    buf_fini(&plain);
    return false;
}
