// SPDX-License-Identifier: Apache-2.0
#include "base/file_mark.h"

struct file_mark file_mark_from(const struct stat *s)
{
    return (struct file_mark){s->st_mtim, s->st_size, s->st_ino};
}

struct file_mark file_mark_of(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 ? file_mark_from(&s) : (struct file_mark){0};
}

bool file_mark_equal(const struct file_mark *a, const struct file_mark *b)
{
    return a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec && a->size == b->size &&
           a->inode == b->inode;
}
