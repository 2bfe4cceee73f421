// SPDX-License-Identifier: Apache-2.0
#include "detect/local_file.h"

#include "base/fd.h"
#include "base/limits.h"

#include <stdio.h>

static bool read_whole(struct buf *text, const char *root, const char *path)
{
    char whole[LIMIT_PATH_BYTES];
    const int len = snprintf(whole, sizeof whole, "%s/%s", root, path);
    return (size_t)len < sizeof whole && fd_read_file(whole, LOCAL_FILE_MAX_BYTES, text) == ERR_OK;
}

bool local_file_open(struct local_file *f, const char *root, const char *path)
{
    *f = (struct local_file){.report = {0}};
    const bool good = read_whole(&f->text, root, path);
    const struct bytes text = good ? buf_bytes(&f->text) : BYTES_LITERAL("");
    return text_lines_init(&f->lines, text, 0, &f->report, NULL) == ERR_OK && good;
}

bool local_file_next(struct local_file *f, struct bytes *line_out)
{
    if (!text_lines_next(&f->lines, line_out))
        return false;
    *line_out = text_trim(*line_out);
    return true;
}

void local_file_close(struct local_file *f)
{
    text_lines_fini(&f->lines);
    buf_fini(&f->text);
}

void local_file_first_line(const char *root, const char *path, char *out, size_t out_size)
{
    struct local_file f;
    struct bytes line = {NULL, 0};
    if (local_file_open(&f, root, path))
        (void)local_file_next(&f, &line);
    snprintf(out, out_size, "%.*s", BYTES_PRINT(line));
    local_file_close(&f);
}
