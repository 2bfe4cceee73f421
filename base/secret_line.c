// SPDX-License-Identifier: Apache-2.0
#include "base/secret_line.h"

#include "base/mem.h"

#include <string.h>

void secret_text_forget(char **text)
{
    if (*text != NULL)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

// secret_file's use.
static enum err_code use_line(void *arg, struct bytes text, struct err *e)
{
    struct secret_line *l = arg;
    while (text.len > 0 && memchr("\r\n", text.data[text.len - 1], 2) != NULL)
        text.len--;
    if (text.len == 0)
        return err_set(e, ERR_INVALID, "it is empty");
    if (text.len > l->max_bytes)
        return err_set(e, ERR_LIMIT, "it has %zu bytes, allowed are %zu", text.len, l->max_bytes);
    char *found = mem_alloc(text.len + 1);
    memcpy(found, text.data, text.len);
    found[text.len] = '\0';
    if (strlen(found) != text.len || strpbrk(found, "\r\n") != NULL || !l->is_good(found)) {
        explicit_bzero(found, text.len);
        free(found);
        return err_set(e, ERR_INVALID, "it has more than one line, or control characters");
    }
    secret_text_forget(&l->text);
    l->text = found;
    return ERR_OK;
}

enum err_code secret_line_load(struct secret_line *l, const char *path, size_t max_bytes,
                               bool (*is_good)(const char *text), struct err *e)
{
    if (path == NULL)
        return ERR_OK;
    l->max_bytes = max_bytes;
    l->is_good = is_good;
    l->file = (struct secret_file){.path = path, .use = use_line, .arg = l};
    return secret_file_load(&l->file, e);
}

bool secret_line_refresh(struct secret_line *l, int64_t now_nanos, bool at_once, const struct logger *log)
{
    return l->file.path != NULL && secret_file_refresh(&l->file, now_nanos, at_once, log);
}
