// SPDX-License-Identifier: Apache-2.0
#include "codec/snappy.h"

enum {
    MAX_RATIO = 32, // a copy of 64 bytes takes at least 3
    CHUNK_HEAD = 4,
    CHECKSUM = 4,
    CHUNK_MAX = 65536, // inflated
    CHUNK_COMPRESSED = 0,
    CHUNK_PLAIN = 1,
    CHUNK_FIRST_SKIPPED = 0x80,
};

static const uint8_t stream_head[] = {0xff, 6, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y'};

struct block {
    const uint8_t *at, *end;
    uint8_t *out;
    size_t made, size;
};

// A little-endian number of 1 to 4 bytes.
static bool take_number(struct block *b, size_t bytes, size_t *out)
{
    *out = 0;
    if ((size_t)(b->end - b->at) < bytes)
        return false;
    for (size_t i = 0; i < bytes; i++)
        *out |= (size_t)*b->at++ << 8 * i;
    return true;
}

static bool literal(struct block *b, uint8_t tag)
{
    size_t len = tag >> 2;
    if (len >= 60 && !take_number(b, len - 59, &len))
        return false;
    len++;
    if (len > (size_t)(b->end - b->at) || len > b->size - b->made)
        return false;
    memcpy(b->out + b->made, b->at, len);
    b->at += len;
    b->made += len;
    return true;
}

static bool copy(struct block *b, uint8_t tag)
{
    size_t offset, len = (size_t)(tag >> 2) + 1;
    if (!take_number(b, (tag & 3) == 3 ? 4 : tag & 3, &offset))
        return false;
    if ((tag & 3) == 1) {
        len = (tag >> 2 & 7) + 4u;
        offset |= (size_t)(tag >> 5) << 8;
    }
    if (offset == 0 || offset > b->made || len > b->size - b->made)
        return false;
    if (offset >= len)
        memcpy(b->out + b->made, b->out + b->made - offset, len);
    else
        for (size_t i = 0; i < len; i++)
            b->out[b->made + i] = b->out[b->made + i - offset];
    b->made += len;
    return true;
}

static bool take_size(struct block *b, size_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 35 && b->at < b->end; shift += 7) {
        uint8_t byte = *b->at++;
        *out |= (size_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return *out <= UINT32_MAX;
    }
    return false;
}

static enum snappy_result inflate_block(struct bytes data, size_t max_bytes, struct buf *out)
{
    struct block b = {.at = data.data, .end = data.data + data.len};
    if (!take_size(&b, &b.size) || b.size / MAX_RATIO > data.len)
        return SNAPPY_DAMAGED;
    if (b.size > max_bytes)
        return SNAPPY_TOO_LARGE;
    if (!buf_reserve(out, b.size + 1)) // so that there is memory for an empty block, too
        return SNAPPY_NO_MEMORY;
    b.out = out->data + out->len;
    while (b.at < b.end) {
        uint8_t tag = *b.at++;
        if (!((tag & 3) == 0 ? literal(&b, tag) : copy(&b, tag)))
            return SNAPPY_DAMAGED;
    }
    if (b.made != b.size)
        return SNAPPY_DAMAGED;
    out->len += b.made;
    return SNAPPY_OK;
}

static enum snappy_result inflate_chunk(uint8_t type, struct bytes chunk, size_t max_bytes, struct buf *out)
{
    if (type >= CHUNK_FIRST_SKIPPED)
        return SNAPPY_OK;
    if (type > CHUNK_PLAIN || chunk.len < CHECKSUM)
        return SNAPPY_DAMAGED;
    chunk = (struct bytes){chunk.data + CHECKSUM, chunk.len - CHECKSUM};
    size_t most = max_bytes < CHUNK_MAX ? max_bytes : CHUNK_MAX;
    if (type == CHUNK_COMPRESSED) {
        enum snappy_result rc = inflate_block(chunk, most, out);
        return rc == SNAPPY_TOO_LARGE && most == CHUNK_MAX ? SNAPPY_DAMAGED : rc;
    }
    if (chunk.len > most)
        return most == CHUNK_MAX ? SNAPPY_DAMAGED : SNAPPY_TOO_LARGE;
    buf_add(out, chunk.data, chunk.len);
    return buf_ok(out) ? SNAPPY_OK : SNAPPY_NO_MEMORY;
}

static enum snappy_result inflate_frames(struct bytes data, size_t max_bytes, struct buf *out)
{
    size_t base = out->len;
    while (data.len > 0) {
        if (data.len < CHUNK_HEAD)
            return SNAPPY_DAMAGED;
        size_t len = (size_t)data.data[1] | (size_t)data.data[2] << 8 | (size_t)data.data[3] << 16;
        if (len > data.len - CHUNK_HEAD)
            return SNAPPY_DAMAGED;
        enum snappy_result rc = inflate_chunk(data.data[0], (struct bytes){data.data + CHUNK_HEAD, len},
                                              max_bytes - (out->len - base), out);
        if (rc != SNAPPY_OK)
            return rc;
        data = (struct bytes){data.data + CHUNK_HEAD + len, data.len - CHUNK_HEAD - len};
    }
    return SNAPPY_OK;
}

enum snappy_result snappy_inflate(struct bytes data, size_t max_bytes, struct buf *out)
{
    bool framed = data.len >= sizeof stream_head && memcmp(data.data, stream_head, sizeof stream_head) == 0;
    return (framed ? inflate_frames : inflate_block)(data, max_bytes, out);
}
