// SPDX-License-Identifier: Apache-2.0
// Whole reads and writes of file descriptors, whatever parts the kernel hands out. All block.
#ifndef BASE_FD_H
#define BASE_FD_H

#include "base/buf.h"
#include "base/err.h"

enum { FD_READ_BYTES = 1 << 20 }; // at a time; to allow n bytes, out's maximum must be n + this

// False: errno says why; what was written before stays.
bool fd_write_all(int fd, struct bytes data) MUST_USE;
// Appends everything up to the end. False: out has failed (memory, its maximum), or else errno says why.
bool fd_read_to_end(int fd, struct buf *out) MUST_USE;

// The whole file in out, which is initialised here and the caller's to free in every case. A named pipe in its place does not
// hold it up. ERR_LIMIT: it has more than max_bytes; ERR_MEMORY; ERR_IO: errno says why.
enum err_code fd_read_file(const char *path, size_t max_bytes, struct buf *out) MUST_USE;

#endif
