// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_files.h"

#include "base/check.h"
#include "base/mem.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct bytes test_read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        perror(path);
    CHECK(f != NULL);
    uint8_t *data = NULL;
    size_t len = 0, capacity = 0, n;
    do {
        capacity = capacity * 2 + 65536;
        data = realloc(data, capacity);
        CHECK(data != NULL);
        n = fread(data + len, 1, capacity - len, f);
        len += n;
    } while (len == capacity);
    fclose(f);
    return (struct bytes){data, len};
}

const char *test_corpus_dir(void)
{
    return getenv("PROFRELAY_CORPUS");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

size_t test_each_corpus_file(const char *folder, void (*visit)(void *arg, const char *path, struct bytes content),
                             void *arg)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", test_corpus_dir(), folder);
    struct dirent **names = NULL;
    int n = scandir(path, &names, NULL, by_name);
    CHECK(n >= 0);
    size_t visited = 0;
    for (int i = 0; i < n; i++) {
        char file[4096];
        struct stat st;
        snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        if (stat(file, &st) == 0 && S_ISREG(st.st_mode)) {
            struct bytes content = test_read_file(file);
            visit(arg, file, content);
            free((void *)content.data);
            visited++;
        }
        free(names[i]);
    }
    free(names);
    return visited;
}
