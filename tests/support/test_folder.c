// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_folder.h"

#include "base/check.h"
#include "base/mem.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

void test_folder_init(struct test_folder *f)
{
    snprintf(f->path, sizeof f->path, "/tmp/profrelay-test-XXXXXX");
    CHECK(mkdtemp(f->path) != NULL);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

void test_folder_fini(struct test_folder *f)
{
    CHECK(nftw(f->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

char *test_folder_path(const struct test_folder *f, const char *name, char out[256])
{
    CHECK(snprintf(out, 256, "%s/%s", f->path, name) < 256);
    return out;
}

void test_folder_write(const struct test_folder *f, const char *name, struct bytes content)
{
    char path[256];
    FILE *out = fopen(test_folder_path(f, name, path), "wb");
    CHECK(out != NULL);
    CHECK(fwrite(content.data, 1, content.len, out) == content.len);
    CHECK(fclose(out) == 0);
}

char *test_folder_names(const struct test_folder *f)
{
    struct dirent **entries;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    int count = scandir(f->path, &entries, NULL, alphasort);
    CHECK(out != NULL && count >= 0);
    bool first = true;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            fprintf(out, "%s%s", first ? "" : " ", name);
            first = false;
        }
        free(entries[i]);
    }
    free(entries);
    fclose(out);
    return text;
}
