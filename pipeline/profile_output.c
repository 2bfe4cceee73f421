// SPDX-License-Identifier: Apache-2.0
#include "pipeline/profile_output.h"

#include "base/clean_text.h"
#include "base/fd.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum err_code fail(struct err *e, const char *what, const char *path)
{
    return err_set(e, ERR_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

static enum err_code write_stream(int fd, const char *path, struct bytes content, struct err *e)
{
    if (isatty(fd) != 0 && !clean_text_is(content))
        return err_set(e, ERR_UNSUPPORTED,
                       "the result is not for a terminal (binary, or with control characters): name a file, or pipe it "
                       "to a program");
    return fd_write_all(fd, content) ? ERR_OK : fail(e, "write", path);
}

static enum err_code write_device(const char *path, struct bytes content, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail(e, "open", path);
    enum err_code rc = write_stream(fd, path, content, e);
    return close(fd) != 0 && rc == ERR_OK ? fail(e, "write", path) : rc;
}

// Where a result lies until it is whole. old: the file that is there, or NULL: what comes has its permissions.
static enum err_code write_new(const char *temporary, const char *path, const struct stat *old, struct bytes content,
                               struct err *e)
{
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old != NULL ? 0600 : 0666);
    if (fd < 0)
        return fail(e, "create", path);
    enum err_code rc = ERR_OK;
    if (old != NULL && fchmod(fd, old->st_mode & 0777) != 0)
        rc = fail(e, "keep the mode of", path);
    if (rc == ERR_OK && (!fd_write_all(fd, content) || fsync(fd) != 0))
        rc = fail(e, "write", path);
    if (close(fd) != 0 && rc == ERR_OK)
        rc = fail(e, "write", path);
    if (rc == ERR_OK && rename(temporary, path) != 0)
        rc = fail(e, "write", path);
    if (rc != ERR_OK)
        unlink(temporary);
    return rc;
}

static enum err_code replace(const char *path, const struct stat *old, struct bytes content, struct err *e)
{
    char temporary[LIMIT_PATH_BYTES + 32];
    const char *slash = strrchr(path, '/');
    int folder_len = slash != NULL ? (int)(slash + 1 - path) : 0;
    snprintf(temporary, sizeof temporary, "%.*s.profrelay-%ld.tmp", folder_len, path, (long)getpid());
    return write_new(temporary, path, old, content, e);
}

enum err_code output_write(const char *path, struct bytes content, struct err *e)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return write_stream(STDOUT_FILENO, "the standard output", content, e);
    if (strlen(path) >= LIMIT_PATH_BYTES)
        return err_set(e, ERR_INVALID, "a path has more than %d bytes", LIMIT_PATH_BYTES - 1);
    if (stat(path, &st) != 0)
        return replace(path, NULL, content, e);
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_INVALID, "%s is a folder: name a file in it", path);
    if (!S_ISREG(st.st_mode))
        return write_device(path, content, e);
    // Where a link leads is replaced, not the link.
    char *target = realpath(path, NULL);
    enum err_code rc = target != NULL ? replace(target, &st, content, e) : fail(e, "find", path);
    free(target);
    return rc;
}
