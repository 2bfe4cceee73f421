// SPDX-License-Identifier: Apache-2.0
// Just enough HTTP/2 for a load and its sink: frames over a blocking socket, headers that are never compressed.
#ifndef BENCH_HTTP2_FRAMES_H
#define BENCH_HTTP2_FRAMES_H

#include "base/buf.h"

#include <sys/uio.h>

enum {
    FRAME_DATA = 0,
    FRAME_HEADERS = 1,
    FRAME_RST_STREAM = 3,
    FRAME_SETTINGS = 4,
    FRAME_PING = 6,
    FRAME_GOAWAY = 7,
    FRAME_WINDOW_UPDATE = 8,

    FLAG_END_STREAM = 1,
    FLAG_ACK = 1,
    FLAG_END_HEADERS = 4,

    SETTING_TABLE_SIZE = 1,
    SETTING_WINDOW = 4,

    FRAME_HEAD_BYTES = 9,
    FRAME_MAX_BYTES = 16 << 10,
    WINDOW_BYTES = 65535, // of a new connection
    WINDOW_MAX_BYTES = 0x7fffffff,
};

struct frame {
    uint32_t len, stream;
    uint8_t type, flags;
    const uint8_t *payload; // valid until the next is read
};

struct frame_reader {
    int fd;
    size_t at, len;
    uint8_t data[256 << 10];
};

bool frame_read(struct frame_reader *r, struct frame *out); // false: the end, or nonsense
bool socket_send_all(int fd, struct bytes data);
bool socket_send_parts(int fd, struct iovec *parts, size_t count); // changes parts

// Writers append to out.
void frame_put_head(struct buf *out, uint8_t type, uint8_t flags, uint32_t stream, size_t len);
void frame_put(struct buf *out, uint8_t type, uint8_t flags, uint32_t stream, struct bytes payload);
void frame_put_setting(struct buf *out, uint16_t setting, uint32_t value); // a SETTINGS of one
void frame_put_window(struct buf *out, uint32_t stream, uint32_t increment);
void frame_set_stream(uint8_t *frame, uint32_t stream);
uint32_t frame_uint32(const uint8_t *data);
// HPACK (RFC 7541), literals without indexing. index 0: name is written.
void hpack_put(struct buf *out, uint8_t index, const char *name, const char *value);

#endif
