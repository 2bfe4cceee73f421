// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool fd_write_all(int fd, struct bytes data)
{
    while (data.len != 0) {
        ssize_t n = write(fd, data.data, data.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data.data += n;
        data.len -= (size_t)n;
    }
    return true;
}

bool fd_read_to_end(int fd, struct buf *out)
{
    while (buf_reserve(out, FD_READ_BYTES)) {
        ssize_t n = read(fd, out->data + out->len, FD_READ_BYTES);
        if (n == 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
        out->len += n > 0 ? (size_t)n : 0;
    }
    return false;
}

enum err_code fd_read_file(const char *path, size_t max_bytes, struct buf *out)
{
    buf_init(out, max_bytes + FD_READ_BYTES);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool read = fd >= 0 && fd_read_to_end(fd, out);
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    if (out->too_large || out->len > max_bytes)
        return ERR_LIMIT;
    if (read)
        return ERR_OK;
    return buf_ok(out) ? ERR_IO : ERR_MEMORY;
}
