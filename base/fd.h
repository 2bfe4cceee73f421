// SPDX-License-Identifier: Apache-2.0
// Whole reads and writes of file descriptors, whatever parts the kernel hands out. All block.
#ifndef BASE_FD_H
#define BASE_FD_H

#include "base/buf.h"

enum { FD_READ_BYTES = 1 << 20 }; // at a time; to allow n bytes, out's maximum must be n + this

// False: errno says why; what was written before stays.
bool fd_write_all(int fd, struct bytes data) MUST_USE;
// Appends everything up to the end. False: out has failed (memory, its maximum), or else errno says why.
bool fd_read_to_end(int fd, struct buf *out) MUST_USE;

#endif
