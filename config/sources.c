// SPDX-License-Identifier: Apache-2.0
// The environment and the files that references name.
#include "base/limits.h"
#include "config/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEP = CONFIG_READ_STEP };

static bool read_all(int fd, struct buf *text, struct err *e)
{
    for (;;) {
        if (!buf_reserve(text, STEP)) {
            err_set(e, ERR_LIMIT, "larger than %zu bytes", text->max_bytes - STEP);
            return false;
        }
        ssize_t got = read(fd, text->data + text->len, STEP);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            err_set(e, ERR_IO, "cannot read: %s", strerror(errno));
            return false;
        }
        if (got == 0)
            return true;
        text->len += (size_t)got;
    }
}

static bool read_file(void *arg, const char *path, struct buf *text, struct err *e)
{
    (void)arg;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        err_set(e, ERR_IO, "cannot open: %s", strerror(errno));
        return false;
    }
    bool ok = read_all(fd, text, e);
    close(fd);
    return ok;
}

static const char *env_value(void *arg, const char *name)
{
    (void)arg;
    return getenv(name);
}

const struct config_sources config_sources_system = {env_value, read_file, NULL};
