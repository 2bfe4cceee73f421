// SPDX-License-Identifier: Apache-2.0
#include "base/folder.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

mode_t folder_mode_parse(const char *text)
{
    char *end;
    unsigned long mode = text == NULL || text[0] < '0' || text[0] > '7' ? 0 : strtoul(text, &end, 8);
    return mode == 0 || *end != '\0' || mode > 07777 ? 0 : (mode_t)mode;
}

static enum err_code fail(struct err *e, const char *what, const char *path)
{
    return err_set(e, ERR_IO, "cannot %s the folder %s: %s", what, path, strerror(errno));
}

enum err_code folder_create(const char *path, mode_t mode, struct err *e)
{
    char *part = mem_copy_text(path);
    enum err_code rc = ERR_OK;
    for (char *slash = part + strspn(part, "/"); rc == ERR_OK && slash != NULL;) {
        slash = strchr(slash, '/');
        if (slash != NULL)
            *slash = '\0';
        if (mkdir(part, mode) != 0 && errno != EEXIST)
            rc = fail(e, "create", part);
        if (slash != NULL)
            *slash++ = '/';
    }
    free(part);
    return rc;
}

enum err_code folder_sync(const char *path, struct err *e)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail(e, "open", path);
    // EINVAL: a file system without fsync of folders
    enum err_code rc = fsync(fd) == 0 || errno == EINVAL ? ERR_OK : fail(e, "write", path);
    close(fd);
    return rc;
}
