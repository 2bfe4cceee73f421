// SPDX-License-Identifier: Apache-2.0
#include "base/secret_file.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_EVERY_NANOS = NANOS_PER_SECOND };

static enum err_code fail(const struct secret_file *f, struct err *e)
{
    return err_set(e, ERR_IO, "cannot read %s: %s", f->path, strerror(errno));
}

static enum err_code read_open(struct secret_file *f, int fd, struct buf *text, struct err *e)
{
    struct stat s;
    if (fstat(fd, &s) != 0)
        return fail(f, e);
    f->read = file_mark_from(&s); // of before it is read: what is written meanwhile is a change
    if (!S_ISREG(s.st_mode))
        return err_set(e, ERR_IO, "%s is not a file", f->path);
    if (!fd_read_to_end(fd, text) && buf_ok(text))
        return fail(f, e);
    if (text->too_large || text->len > SECRET_FILE_MAX_BYTES)
        return err_set(e, ERR_LIMIT, "%s has more than the %d bytes that are allowed", f->path, SECRET_FILE_MAX_BYTES);
    return buf_ok(text) ? ERR_OK : err_set(e, ERR_MEMORY, "no memory to read %s", f->path);
}

static enum err_code read_text(struct secret_file *f, struct buf *text, struct err *e)
{
    int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail(f, e);
    enum err_code rc = read_open(f, fd, text, e);
    close(fd);
    return rc;
}

static enum err_code use_text(struct secret_file *f, struct bytes text, struct err *e)
{
    enum err_code rc = f->use(f->arg, text, e);
    if (rc != ERR_OK)
        err_prefix(e, "%s", f->path);
    return rc;
}

static void forget_text(struct buf *text)
{
    if (text->data != NULL)
        explicit_bzero(text->data, text->len); // the rest was never touched
    buf_fini(text);
}

enum err_code secret_file_load(struct secret_file *f, struct err *e)
{
    struct buf text;
    buf_init(&text, SECRET_FILE_MAX_BYTES + FD_READ_BYTES);
    enum err_code rc = read_text(f, &text, e);
    if (rc == ERR_OK)
        rc = use_text(f, buf_bytes(&text), e);
    f->seen = f->read;
    forget_text(&text);
    return rc;
}

// now: what is there; settled: it was there at the last look, too.
static bool take_change(struct secret_file *f, const struct file_mark *now, bool settled, const struct logger *log)
{
    struct file_mark before = f->read;
    struct err e = {0};
    struct buf text;
    buf_init(&text, SECRET_FILE_MAX_BYTES + FD_READ_BYTES);
    f->read = *now; // also when it cannot be opened: told once
    enum err_code rc = read_text(f, &text, &e);
    bool whole = settled || (text.len > 0 && text.data[text.len - 1] == '\n');
    if (rc == ERR_OK && whole)
        rc = use_text(f, buf_bytes(&text), &e);
    else if (rc == ERR_OK)
        f->read = before;
    forget_text(&text);
    if (rc != ERR_OK)
        log_warn(log, "what was read before stays in use: %s", e.text);
    return rc == ERR_OK && whole;
}

bool secret_file_refresh(struct secret_file *f, int64_t now_nanos, bool at_once, const struct logger *log)
{
    if (!at_once && now_nanos - f->looked_nanos < LOOK_EVERY_NANOS)
        return false;
    f->looked_nanos = now_nanos;
    struct file_mark now = file_mark_of(f->path);
    bool settled = at_once || file_mark_equal(&now, &f->seen);
    f->seen = now;
    if (file_mark_equal(&now, &f->read))
        return false;
    bool taken = take_change(f, &now, settled, log);
    if (taken)
        log_info(log, "%s has changed and is in use", f->path);
    return taken;
}
