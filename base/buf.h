// SPDX-License-Identifier: Apache-2.0
// A growing byte buffer that is born with a maximum. The first failure sticks: later writes do nothing,
// so a writer is straight-line code with one check at the end.
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/bytes.h"
#include "base/check.h"

struct buf {
    uint8_t *data;
    size_t len, capacity, max_bytes;
    bool failed;    // memory was out, or
    bool too_large; // max_bytes would have been exceeded
};

void buf_init(struct buf *b, size_t max_bytes); // in place, allocates nothing
void buf_fini(struct buf *b);                   // frees; may be called twice

// Room for extra more bytes behind len; false (and failed set) when that cannot be had.
bool buf_reserve(struct buf *b, size_t extra);
void buf_add(struct buf *b, const void *data, size_t len);
void buf_add_byte(struct buf *b, uint8_t byte);
void buf_add_text(struct buf *b, const char *text);
void buf_add_format(struct buf *b, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_clear(struct buf *b); // keeps the memory, forgets the failure

static inline bool buf_ok(const struct buf *b)
{
    return !b->failed;
}

static inline struct bytes buf_bytes(const struct buf *b)
{
    return (struct bytes){b->data, b->len};
}

// The bytes become the caller's to free(); b is empty afterwards.
uint8_t *buf_take(struct buf *b, size_t *len_out);

#endif
