// SPDX-License-Identifier: Apache-2.0
#include "bench/http2_frames.h"

#include <string.h>
#include <sys/socket.h>

static bool fill(struct frame_reader *r, size_t need)
{
    if (r->len - r->at >= need)
        return true;
    memmove(r->data, r->data + r->at, r->len - r->at);
    r->len -= r->at;
    r->at = 0;
    while (r->len < need) {
        ssize_t n = recv(r->fd, r->data + r->len, sizeof r->data - r->len, 0);
        if (n <= 0)
            return false;
        r->len += (size_t)n;
    }
    return true;
}

uint32_t frame_uint32(const uint8_t *d)
{
    return (uint32_t)d[0] << 24 | (uint32_t)d[1] << 16 | (uint32_t)d[2] << 8 | d[3];
}

bool frame_read(struct frame_reader *r, struct frame *out)
{
    if (!fill(r, FRAME_HEAD_BYTES))
        return false;
    const uint8_t *head = r->data + r->at;
    *out = (struct frame){.len = frame_uint32(head) >> 8,
                          .stream = frame_uint32(head + 5) & WINDOW_MAX_BYTES,
                          .type = head[3],
                          .flags = head[4]};
    if (out->len > FRAME_MAX_BYTES || !fill(r, FRAME_HEAD_BYTES + out->len))
        return false;
    out->payload = r->data + r->at + FRAME_HEAD_BYTES;
    r->at += FRAME_HEAD_BYTES + out->len;
    return true;
}

bool socket_send_all(int fd, struct bytes data)
{
    while (data.len > 0) {
        ssize_t n = send(fd, data.data, data.len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        data = (struct bytes){data.data + n, data.len - (size_t)n};
    }
    return true;
}

bool socket_send_parts(int fd, struct iovec *parts, size_t count)
{
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = count};
    while (m.msg_iovlen > 0) {
        ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        for (size_t left = (size_t)n; m.msg_iovlen > 0; m.msg_iov++, m.msg_iovlen--) {
            if (left < m.msg_iov->iov_len) {
                *m.msg_iov = (struct iovec){(char *)m.msg_iov->iov_base + left, m.msg_iov->iov_len - left};
                break;
            }
            left -= m.msg_iov->iov_len;
        }
    }
    return true;
}

static void put_uint32(struct buf *out, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_add_byte(out, (uint8_t)(value >> shift));
}

void frame_put_head(struct buf *out, uint8_t type, uint8_t flags, uint32_t stream, size_t len)
{
    put_uint32(out, (uint32_t)len << 8 | type);
    buf_add_byte(out, flags);
    put_uint32(out, stream);
}

void frame_put(struct buf *out, uint8_t type, uint8_t flags, uint32_t stream, struct bytes payload)
{
    frame_put_head(out, type, flags, stream, payload.len);
    buf_add(out, payload.data, payload.len);
}

void frame_put_setting(struct buf *out, uint16_t setting, uint32_t value)
{
    frame_put_head(out, FRAME_SETTINGS, 0, 0, 6);
    buf_add_byte(out, (uint8_t)(setting >> 8));
    buf_add_byte(out, (uint8_t)setting);
    put_uint32(out, value);
}

void frame_put_window(struct buf *out, uint32_t stream, uint32_t increment)
{
    frame_put_head(out, FRAME_WINDOW_UPDATE, 0, stream, 4);
    put_uint32(out, increment);
}

void frame_set_stream(uint8_t *frame, uint32_t stream)
{
    for (int i = 0; i < 4; i++)
        frame[5 + i] = (uint8_t)(stream >> (24 - 8 * i));
}

static void put_text(struct buf *out, const char *text)
{
    size_t len = strlen(text);
    CHECK(len < 127 + 128);
    if (len < 127) {
        buf_add_byte(out, (uint8_t)len);
    } else {
        buf_add_byte(out, 127);
        buf_add_byte(out, (uint8_t)(len - 127));
    }
    buf_add_text(out, text);
}

void hpack_put(struct buf *out, uint8_t index, const char *name, const char *value)
{
    buf_add_byte(out, index < 15 ? index : 15);
    if (index >= 15)
        buf_add_byte(out, (uint8_t)(index - 15));
    if (index == 0)
        put_text(out, name);
    put_text(out, value);
}
