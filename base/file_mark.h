// SPDX-License-Identifier: Apache-2.0
// Whether a file is another than it was: by time, size and inode.
#ifndef BASE_FILE_MARK_H
#define BASE_FILE_MARK_H

#include <stdbool.h>
#include <sys/stat.h>

struct file_mark {
    struct timespec changed;
    off_t size;
    ino_t inode;
};

// All zero when path cannot be looked at.
struct file_mark file_mark_of(const char *path);
struct file_mark file_mark_from(const struct stat *s);
bool file_mark_equal(const struct file_mark *a, const struct file_mark *b);

#endif
