// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <errno.h>
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
