// SPDX-License-Identifier: Apache-2.0
#include "codec/compress.h"

#include "base/mem.h"
#include "codec/snappy.h"

#include <libdeflate.h>
#include <stdint.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
    DEFLATE_MAX_RATIO = 1032,     // 258 bytes from 2 bits
    ZSTD_WINDOW_LOG_MAX = 23,     // RFC 9659: 8 MiB
    ZSTD_BLOCK_BYTES = 128 << 10, // what a block of 4 bytes can inflate to
    GZIP_DEFAULT_LEVEL = 1,       // of libdeflate
    ZSTD_DEFAULT_LEVEL = 3,
};

static const char *const names[] = {
    [COMPRESSION_NONE] = "none",       [COMPRESSION_GZIP] = "gzip",     [COMPRESSION_ZSTD] = "zstd",
    [COMPRESSION_DEFLATE] = "deflate", [COMPRESSION_SNAPPY] = "snappy",
};

static bool has_gzip_magic(struct bytes data)
{
    return data.len >= 2 && data.data[0] == 0x1f && data.data[1] == 0x8b;
}

enum compression compression_detect(struct bytes data)
{
    static const uint8_t zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (has_gzip_magic(data))
        return COMPRESSION_GZIP;
    if (data.len >= sizeof zstd_magic && memcmp(data.data, zstd_magic, sizeof zstd_magic) == 0)
        return COMPRESSION_ZSTD;
    return COMPRESSION_NONE;
}

const char *compression_name(enum compression c)
{
    return names[c];
}

bool compression_from_name(const char *name, enum compression *out)
{
    for (size_t i = 0; i <= COMPRESSION_ZSTD; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (enum compression)i;
            return true;
        }
    }
    return false;
}

// One decompress call. Output is counted from `base`: out may hold something already.
struct inflate {
    struct buf *out;
    size_t base;
    size_t max_bytes; // SIZE_MAX = no limit
    const char *limit_name;
    struct err *e;
};

static size_t room_left(const struct inflate *in)
{
    return in->max_bytes - (in->out->len - in->base);
}

static enum err_code limit_reached(const struct inflate *in, const char *kind, uint64_t at_least)
{
    return err_set(in->e, ERR_LIMIT, "%s: %s data inflates to at least %llu bytes, allowed are %zu", in->limit_name,
                   kind, (unsigned long long)at_least, in->max_bytes);
}

static enum err_code no_memory(const struct inflate *in)
{
    return err_set(in->e, ERR_MEMORY, "out of memory after inflating %zu bytes", in->out->len - in->base);
}

// Gives the spare room of out, at least want if that is to be had, never more than the limit allows.
static bool room(const struct inflate *in, size_t want, size_t *room_out)
{
    if (!buf_reserve(in->out, want))
        return false;
    size_t spare = in->out->capacity - in->out->len;
    *room_out = spare < room_left(in) ? spare : room_left(in);
    return true;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

// The four bytes at the very end are the size of the last member modulo 2^32: only a hint.
static size_t gzip_size_hint(struct bytes data)
{
    if (data.len < 18)
        return 64;
    const uint8_t *p = data.data + data.len - 4;
    size_t hint = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
    return hint != 0 ? hint : 64;
}

typedef enum libdeflate_result deflate_fn(struct libdeflate_decompressor *d, const void *data, size_t len, void *to,
                                          size_t space, size_t *used_out, size_t *made_out);

// name: of the container that run reads.
static enum err_code deflate_member(const struct inflate *in, struct libdeflate_decompressor *d, deflate_fn *run,
                                    const char *name, struct bytes data, size_t *used_out)
{
    size_t most = smaller(room_left(in), data.len * DEFLATE_MAX_RATIO + 64);
    size_t want = smaller(run == libdeflate_gzip_decompress_ex ? gzip_size_hint(data) : 4 * data.len, most);
    for (;;) {
        size_t space, made = 0;
        // With some to spare, untouched: so what is made of a profile fits where its bytes were.
        if (!room(in, want + want / 8, &space))
            return no_memory(in);
        enum libdeflate_result rc = run(d, data.data, data.len, in->out->data + in->out->len, space, used_out, &made);
        if (rc == LIBDEFLATE_SUCCESS) {
            in->out->len += made;
            return ERR_OK;
        }
        if (rc != LIBDEFLATE_INSUFFICIENT_SPACE)
            return err_set(in->e, ERR_INVALID, "%s data is damaged or cut off", name);
        if (space >= room_left(in))
            return limit_reached(in, name, (uint64_t)in->max_bytes + 1);
        if (space >= most)
            return err_set(in->e, ERR_INVALID, "%s data is damaged", name);
        want = smaller(space > most / 2 ? most : 2 * space + 64, most);
    }
}

static enum err_code inflate_gzip(const struct inflate *in, struct bytes data)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (d == NULL)
        return no_memory(in);
    enum err_code code;
    do {
        size_t used = 0;
        code = deflate_member(in, d, libdeflate_gzip_decompress_ex, "gzip", data, &used);
        data.data += used;
        data.len -= used;
        if (code == ERR_OK && data.len > 0 && !has_gzip_magic(data))
            code = err_set(in->e, ERR_INVALID, "%zu bytes that are not gzip follow the gzip data", data.len);
    } while (code == ERR_OK && data.len > 0);
    libdeflate_free_decompressor(d);
    return code;
}

// RFC 1950's two bytes: method 8, and a check.
static bool has_zlib_head(struct bytes data)
{
    return data.len >= 2 && (data.data[0] & 0x0f) == 8 && (data.data[0] << 8 | data.data[1]) % 31 == 0;
}

static enum err_code inflate_deflate(const struct inflate *in, struct bytes data)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    size_t used = 0;
    if (d == NULL)
        return no_memory(in);
    deflate_fn *run = has_zlib_head(data) ? libdeflate_zlib_decompress_ex : libdeflate_deflate_decompress_ex;
    enum err_code code = deflate_member(in, d, run, "deflate", data, &used);
    libdeflate_free_decompressor(d);
    if (code == ERR_OK && used != data.len)
        code = err_set(in->e, ERR_INVALID, "%zu bytes follow the deflate data", data.len - used);
    return code;
}

static enum err_code inflate_snappy(const struct inflate *in, struct bytes data)
{
    switch (snappy_inflate(data, in->max_bytes, in->out)) {
    case SNAPPY_OK:
        return ERR_OK;
    case SNAPPY_TOO_LARGE:
        return limit_reached(in, "snappy", (uint64_t)in->max_bytes + 1);
    case SNAPPY_NO_MEMORY:
        return no_memory(in);
    default:
        return err_set(in->e, ERR_INVALID, "snappy data is damaged or cut off");
    }
}

// The limit cuts the space off, so one byte more is asked for to learn whether there was more to come.
static enum err_code zstd_probe(const struct inflate *in, ZSTD_DCtx *d, ZSTD_inBuffer *from, size_t *more_out)
{
    uint8_t byte;
    ZSTD_outBuffer to = {&byte, 1, 0};
    *more_out = ZSTD_decompressStream(d, &to, from);
    return to.pos == 0 ? ERR_OK : limit_reached(in, "zstd", (uint64_t)in->max_bytes + 1);
}

static enum err_code zstd_step(const struct inflate *in, ZSTD_DCtx *d, ZSTD_inBuffer *from, size_t *more_out)
{
    size_t space = in->out->capacity - in->out->len;
    if (space > room_left(in) || space == 0) {
        size_t want = smaller(room_left(in), ZSTD_BLOCK_BYTES + (in->out->len - in->base));
        if (want == 0)
            return zstd_probe(in, d, from, more_out);
        if (!room(in, want, &space))
            return no_memory(in);
    }
    ZSTD_outBuffer to = {in->out->data + in->out->len, space, 0};
    *more_out = ZSTD_decompressStream(d, &to, from);
    in->out->len += to.pos;
    return ERR_OK;
}

static enum err_code zstd_damaged(const struct inflate *in, size_t zstd_error)
{
    if (ZSTD_getErrorCode(zstd_error) == ZSTD_error_frameParameter_windowTooLarge)
        return err_set(in->e, ERR_LIMIT,
                       "the zstd window is larger than the %d MiB allowed (RFC 9659); compress again without --long",
                       1 << (ZSTD_WINDOW_LOG_MAX - 20));
    return err_set(in->e, ERR_INVALID, "zstd data is damaged: %s", ZSTD_getErrorName(zstd_error));
}

static enum err_code zstd_stream(const struct inflate *in, ZSTD_DCtx *d, struct bytes data)
{
    ZSTD_inBuffer from = {data.data, data.len, 0};
    size_t more = 0, before_in, before_out;
    do {
        before_in = from.pos;
        before_out = in->out->len;
        enum err_code code = zstd_step(in, d, &from, &more);
        if (code != ERR_OK)
            return code;
        if (ZSTD_isError(more))
            return zstd_damaged(in, more);
        if (from.pos == before_in && in->out->len == before_out)
            break;
    } while (from.pos < from.size || more != 0);
    if (more != 0)
        return err_set(in->e, ERR_INVALID, "zstd data is cut off");
    return ERR_OK;
}

static enum err_code inflate_zstd(const struct inflate *in, struct bytes data)
{
    unsigned long long size = ZSTD_getFrameContentSize(data.data, data.len);
    if (size == ZSTD_CONTENTSIZE_ERROR)
        return err_set(in->e, ERR_INVALID, "zstd data is damaged or cut off");
    if (size == ZSTD_CONTENTSIZE_UNKNOWN)
        size = 0;
    if (size > room_left(in))
        return limit_reached(in, "zstd", size);
    size_t space, most = data.len < SIZE_MAX / ZSTD_BLOCK_BYTES ? data.len * ZSTD_BLOCK_BYTES : SIZE_MAX;
    if (size > 0 && !room(in, smaller((size_t)size, most), &space))
        return no_memory(in);
    ZSTD_DCtx *d = ZSTD_createDCtx();
    if (d == NULL)
        return no_memory(in);
    ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
    enum err_code code = zstd_stream(in, d, data);
    ZSTD_freeDCtx(d);
    return code;
}

static enum err_code copy_plain(const struct inflate *in, struct bytes data)
{
    if (data.len > room_left(in))
        return err_set(in->e, ERR_LIMIT, "%s: the data has %zu bytes, allowed are %zu", in->limit_name, data.len,
                       in->max_bytes);
    buf_add(in->out, data.data, data.len);
    return buf_ok(in->out) ? ERR_OK : no_memory(in);
}

static enum err_code inflate(const struct inflate *in, enum compression c, struct bytes data)
{
    if (data.len == 0 && c != COMPRESSION_NONE)
        return err_set(in->e, ERR_INVALID, "%s data is empty", names[c]);
    switch (c) {
    case COMPRESSION_GZIP:
        return inflate_gzip(in, data);
    case COMPRESSION_ZSTD:
        return inflate_zstd(in, data);
    case COMPRESSION_DEFLATE:
        return inflate_deflate(in, data);
    case COMPRESSION_SNAPPY:
        return inflate_snappy(in, data);
    default:
        return copy_plain(in, data);
    }
}

enum err_code decompress(enum compression c, struct bytes data, size_t max_bytes, const char *limit_name,
                         struct buf *out, struct err *e)
{
    size_t own_max = out->max_bytes;
    size_t most = SIZE_MAX / 4; // keeps every sum of sizes below far from wrapping
    struct inflate in = {out, out->len, max_bytes == 0 || max_bytes > most ? most : max_bytes, limit_name, e};
    out->max_bytes = SIZE_MAX / 2;
    enum err_code code = inflate(&in, c, data);
    out->max_bytes = own_max > out->len ? own_max : out->len;
    return code;
}

struct compressor {
    enum compression kind;
    struct libdeflate_compressor *gzip;
    ZSTD_CCtx *zstd;
};

static void zstd_create(struct compressor *c, int level)
{
    c->zstd = ZSTD_createCCtx();
    if (c->zstd != NULL)
        ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, level != 0 ? level : ZSTD_DEFAULT_LEVEL);
}

struct compressor *compressor_create(enum compression kind, int level)
{
    struct compressor *c = MEM_NEW(struct compressor);
    c->kind = kind;
    if (kind == COMPRESSION_GZIP)
        c->gzip = libdeflate_alloc_compressor(level > 12 ? 12 : level > 0 ? level : GZIP_DEFAULT_LEVEL);
    if (kind == COMPRESSION_ZSTD)
        zstd_create(c, level);
    CHECK(kind <= COMPRESSION_ZSTD);
    if (kind != COMPRESSION_NONE && c->gzip == NULL && c->zstd == NULL)
        compressor_destroy(&c);
    return c;
}

void compressor_destroy(struct compressor **c)
{
    if (*c == NULL)
        return;
    if ((*c)->gzip != NULL)
        libdeflate_free_compressor((*c)->gzip);
    ZSTD_freeCCtx((*c)->zstd);
    free(*c);
    *c = NULL;
}

static size_t worst_size(const struct compressor *c, size_t len)
{
    switch (c->kind) {
    case COMPRESSION_GZIP:
        return libdeflate_gzip_compress_bound(c->gzip, len);
    case COMPRESSION_ZSTD:
        return ZSTD_compressBound(len);
    default:
        return len;
    }
}

// Returns the size written, 0 when space was too small.
static size_t compress_into(struct compressor *c, struct bytes data, uint8_t *to, size_t space)
{
    if (c->kind == COMPRESSION_GZIP)
        return libdeflate_gzip_compress(c->gzip, data.data, data.len, to, space);
    size_t n = ZSTD_compress2(c->zstd, to, space, data.data, data.len);
    return ZSTD_isError(n) ? 0 : n;
}

static enum err_code output_failed(const struct buf *out, struct err *e)
{
    if (out->too_large)
        return err_set(e, ERR_LIMIT, "compressed data takes more than the %zu bytes allowed", out->max_bytes);
    return err_set(e, ERR_MEMORY, "out of memory while compressing");
}

enum err_code compressor_run(struct compressor *c, struct bytes data, struct buf *out, struct err *e)
{
    if (c->kind == COMPRESSION_NONE) {
        buf_add(out, data.data, data.len);
        return buf_ok(out) ? ERR_OK : output_failed(out, e);
    }
    size_t worst = worst_size(c, data.len);
    size_t allowed = out->max_bytes > out->len ? out->max_bytes - out->len : 0;
    if (!buf_reserve(out, smaller(worst, allowed)))
        return output_failed(out, e);
    size_t n = allowed == 0 ? 0 : compress_into(c, data, out->data + out->len, out->capacity - out->len);
    if (n == 0) {
        out->failed = out->too_large = true;
        return output_failed(out, e);
    }
    out->len += n;
    return ERR_OK;
}
