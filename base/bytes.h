// SPDX-License-Identifier: Apache-2.0
// A borrowed run of bytes. Never terminated, never owned; data may be NULL only when len is 0.
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    const uint8_t *data;
    size_t len;
};

#define BYTES_LITERAL(text) ((struct bytes){(const uint8_t *)(text), sizeof(text) - 1})

// For printf's "%.*s": the length is cut to 512 so that a hostile name cannot fill a log.
#define BYTES_PRINT(b) ((int)((b).len > 512 ? 512 : (b).len)), (const char *)((b).len ? (b).data : (const uint8_t *)"")

static inline struct bytes bytes_from_text(const char *text)
{
    return (struct bytes){(const uint8_t *)text, text ? strlen(text) : 0};
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

// Byte by byte; of two that begin alike the shorter is less.
static inline int bytes_compare(struct bytes a, struct bytes b)
{
    const size_t common = a.len < b.len ? a.len : b.len;
    const int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static inline bool bytes_equal_text(struct bytes a, const char *text)
{
    return bytes_equal(a, bytes_from_text(text));
}

#endif
