// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

enum { FIRST_CAPACITY = 64 };

void buf_init(struct buf *b, size_t max_bytes)
{
    *b = (struct buf){.max_bytes = max_bytes};
}

void buf_fini(struct buf *b)
{
    free(b->data);
    buf_init(b, b->max_bytes);
}

// Doubles, within max_bytes. One byte more than capacity says is held, for vsnprintf's terminator.
static bool grow(struct buf *b, size_t need)
{
    size_t wanted = need < FIRST_CAPACITY ? FIRST_CAPACITY : need;
    if (wanted / 2 < b->capacity)
        wanted = 2 * b->capacity;
    if (wanted > b->max_bytes)
        wanted = b->max_bytes;
    uint8_t *data = wanted > SIZE_MAX / 2 ? NULL : mem_try_realloc(b->data, wanted + 1);
    if (data == NULL) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = wanted;
    return true;
}

bool buf_reserve(struct buf *b, size_t extra)
{
    if (b->failed)
        return false;
    if (extra <= b->capacity - b->len)
        return true;
    if (extra > b->max_bytes - b->len) {
        b->failed = b->too_large = true;
        return false;
    }
    return grow(b, b->len + extra);
}

void buf_add(struct buf *b, const void *data, size_t len)
{
    if (len == 0 || !buf_reserve(b, len))
        return;
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

void buf_add_byte(struct buf *b, uint8_t byte)
{
    buf_add(b, &byte, 1);
}

void buf_add_text(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

void buf_add_format(struct buf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    CHECK(n >= 0);
    if (n > 0 && buf_reserve(b, (size_t)n)) {
        vsnprintf((char *)b->data + b->len, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = b->too_large = false;
}

uint8_t *buf_take(struct buf *b, size_t *len_out)
{
    uint8_t *data = b->data;
    *len_out = b->len;
    b->data = NULL;
    buf_fini(b);
    return data;
}
