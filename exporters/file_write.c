// SPDX-License-Identifier: Apache-2.0
#include "exporters/file_write.h"

#include "base/fd.h"
#include "base/folder.h"
#include "base/limits.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum err_code fail(struct err *e, const char *what, const char *path)
{
    return err_set(e, ERR_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

char *file_folder_of(const char *path)
{
    char *folder = mem_copy_text(path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        free(folder);
        return mem_copy_text(".");
    }
    slash[slash == folder] = '\0';
    return folder;
}

// --- messages ---

// As far as the bytes go that are there.
static bool starts_like_a_message(struct bytes body)
{
    static const uint8_t gzip[] = {0x1F, 0x8B}, zstd[] = {0x28, 0xB5, 0x2F, 0xFD};
    size_t gzip_len = body.len < sizeof gzip ? body.len : sizeof gzip;
    size_t zstd_len = body.len < sizeof zstd ? body.len : sizeof zstd;
    return body.data[0] == 0x0A || body.data[0] == 0x12 || memcmp(body.data, gzip, gzip_len) == 0 ||
           memcmp(body.data, zstd, zstd_len) == 0;
}

// What is there already: where the last whole message ends, or where something foreign begins.
struct found {
    uint64_t end;
    bool foreign;
};

// False = errno tells what the disk says.
static bool find_messages(int fd, uint64_t size, struct found *out)
{
    uint8_t head[2 * FILE_PREFIX_BYTES];
    for (*out = (struct found){0}; out->end < size;) {
        ssize_t n = pread(fd, head, sizeof head, (off_t)out->end);
        if (n <= FILE_PREFIX_BYTES) {
            out->foreign = out->end == 0; // the first bytes alone tell nothing
            return n >= 0;
        }
        uint32_t len = (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
        struct bytes body = {head + FILE_PREFIX_BYTES, (size_t)n - FILE_PREFIX_BYTES};
        // Zeros are what a file system may leave behind after a crash.
        out->foreign = len == 0 ? out->end == 0 : !starts_like_a_message(body);
        if (out->foreign || len == 0 || len > size - out->end - FILE_PREFIX_BYTES)
            return true;
        out->end += FILE_PREFIX_BYTES + (uint64_t)len;
    }
    return true;
}

static bool starts_like_a_line(int fd, uint64_t size, bool *out)
{
    static const char start[] = "{\"resourceProfiles\":";
    char found[sizeof start - 1];
    size_t len = size < sizeof found ? (size_t)size : sizeof found;
    ssize_t n = pread(fd, found, len, 0);
    *out = n == (ssize_t)len && memcmp(found, start, len) == 0;
    return n >= 0;
}

// The same for lines of JSON: the last one ends that has its line end.
static bool find_lines(int fd, uint64_t size, struct found *out)
{
    uint8_t block[4096];
    bool ours;
    *out = (struct found){0};
    if (!starts_like_a_line(fd, size, &ours))
        return false;
    out->foreign = !ours;
    while (ours && size > 0) {
        size_t len = size % sizeof block != 0 ? size % sizeof block : sizeof block;
        size -= len;
        ssize_t n = pread(fd, block, len, (off_t)size);
        if (n < 0)
            return false;
        const uint8_t *line_end = memrchr(block, '\n', (size_t)n);
        if (line_end != NULL) {
            out->end = size + (uint64_t)(line_end - block) + 1;
            break;
        }
    }
    return true;
}

static enum err_code cut_half_message(int fd, const char *path, bool lines, uint64_t *cut_bytes_out, struct err *e)
{
    struct stat st;
    struct found found;
    if (fstat(fd, &st) != 0)
        return fail(e, "look at", path);
    if (!S_ISREG(st.st_mode))
        return ERR_OK;
    uint64_t size = (uint64_t)st.st_size;
    if (!(lines ? find_lines : find_messages)(fd, size, &found))
        return fail(e, "read", path);
    if (found.foreign)
        return err_set(e, ERR_INVALID,
                       "%s holds something else than this exporter's messages at byte %" PRIu64
                       "; move it away, or set append: false to overwrite it",
                       path, found.end);
    *cut_bytes_out = size - found.end;
    if (found.end < size && ftruncate(fd, (off_t)found.end) != 0)
        return fail(e, "cut", path);
    return ERR_OK;
}

enum err_code file_open_messages(const char *path, bool lines, bool append, uint64_t *cut_bytes_out, struct err *e)
{
    *cut_bytes_out = 0;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (append ? 0 : O_TRUNC), 0644);
    if (fd < 0)
        return fail(e, "open", path);
    enum err_code rc = append ? cut_half_message(fd, path, lines, cut_bytes_out, e) : ERR_OK;
    close(fd);
    if (rc != ERR_OK)
        return rc;
    char *folder = file_folder_of(path);
    rc = folder_sync(folder, e);
    free(folder);
    return rc;
}

static enum err_code append_to(int fd, const char *path, struct bytes messages, struct err *e)
{
    off_t before = lseek(fd, 0, SEEK_END);
    if (fd_write_all(fd, messages) && (fdatasync(fd) == 0 || errno == EINVAL || errno == EROFS))
        return ERR_OK;
    fail(e, "write", path);
    if (before >= 0 && ftruncate(fd, before) != 0)
        err_prefix(e, "half a message remains at byte %jd", (intmax_t)before);
    return e->code;
}

// Opened each time: whoever moves the file away gets a new one, whoever repairs the folder is heard.
enum err_code file_append(const char *path, struct bytes messages, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail(e, "open", path);
    enum err_code rc = append_to(fd, path, messages, e);
    close(fd);
    return rc;
}

// --- whole files ---

static enum err_code write_temporary(const char *path, struct bytes content, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail(e, "create", path);
    enum err_code rc = fd_write_all(fd, content) && fsync(fd) == 0 ? ERR_OK : fail(e, "write", path);
    close(fd);
    return rc;
}

enum err_code file_replace(const char *folder, const char *name, struct bytes content, struct err *e)
{
    char temporary[LIMIT_PATH_BYTES], path[LIMIT_PATH_BYTES];
    int len = snprintf(temporary, sizeof temporary, "%s/.%s.tmp", folder, name);
    if (len < 0 || (size_t)len >= sizeof temporary)
        return err_set(e, ERR_IO, "the path of %s in %s is too long", name, folder);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    enum err_code rc = write_temporary(temporary, content, e);
    if (rc == ERR_OK && rename(temporary, path) != 0)
        rc = fail(e, "rename", temporary);
    if (rc != ERR_OK)
        unlink(temporary);
    return rc == ERR_OK ? folder_sync(folder, e) : rc;
}
