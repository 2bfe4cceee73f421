// SPDX-License-Identifier: Apache-2.0
#include "receivers/file_walk.h"

#include "base/clock.h"
#include "base/glob.h"
#include "base/limits.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
    const char *pattern;
    bool whole_folder;  // the pattern is a folder: everything below matches
    unsigned max_depth; // folders below the pattern's fixed part that can matter
    const struct config_strings *exclude;
    struct found_files *out;
    bool out_of_memory;
};

struct file_identity file_identity_of(const struct stat *st)
{
    return (struct file_identity){
        .size = (uint64_t)st->st_size,
        .inode = (uint64_t)st->st_ino,
        .mtime_nanos = (int64_t)st->st_mtim.tv_sec * NANOS_PER_SECOND + st->st_mtim.tv_nsec,
    };
}

static bool is_excluded(const struct walk *w, const char *path)
{
    for (size_t i = 0; i < w->exclude->count; i++)
        if (glob_match(w->exclude->items[i], path))
            return true;
    return false;
}

static void add_path(struct walk *w, const char *path, struct file_identity identity)
{
    void *items = w->out->items;
    if (w->out->count >= FILE_WALK_MAX) {
        w->out->truncated = true;
        return;
    }
    if (!mem_try_grow(&items, &w->out->capacity, w->out->count + 1, sizeof *w->out->items, FILE_WALK_MAX)) {
        w->out_of_memory = true;
        return;
    }
    w->out->items = items;
    w->out->items[w->out->count++] = (struct found_file){mem_copy_text(path), identity};
}

static void add_file(struct walk *w, const char *path, const struct stat *st)
{
    if (S_ISREG(st->st_mode) && !is_excluded(w, path))
        add_path(w, path, file_identity_of(st));
}

static void walk_folder(struct walk *w, const char *folder, unsigned depth);

static void visit_entry(struct walk *w, const char *folder, const struct dirent *entry, unsigned depth)
{
    char path[LIMIT_PATH_BYTES];
    const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    bool here = strcmp(folder, ".") == 0; // globs have no "./" either
    int len = snprintf(path, sizeof path, "%s%s%s", here ? "" : folder, here ? "" : slash, entry->d_name);
    if (len < 0 || (size_t)len >= sizeof path)
        return;
    struct stat st;
    // Looked at before the name is matched only where the folder does not tell what it is.
    bool is_folder =
        entry->d_type == DT_DIR || (entry->d_type == DT_UNKNOWN && lstat(path, &st) == 0 && S_ISDIR(st.st_mode));
    if (is_folder) {
        if (depth < w->max_depth)
            walk_folder(w, path, depth + 1);
        return;
    }
    if ((w->whole_folder || glob_match(w->pattern, path)) && stat(path, &st) == 0)
        add_file(w, path, &st);
}

static void walk_folder(struct walk *w, const char *folder, unsigned depth)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    const struct dirent *entry;
    while (!w->out_of_memory && !w->out->truncated && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            visit_entry(w, folder, entry, depth);
    closedir(dir);
}

// The folder before the first wildcard; "." when there is none.
static void fixed_folder(const char *pattern, char *folder, size_t size)
{
    size_t len = strcspn(pattern, "*?[");
    while (len > 0 && pattern[len - 1] != '/')
        len--;
    if (len == 0)
        snprintf(folder, size, ".");
    else
        snprintf(folder, size, "%.*s", (int)(len > 1 ? len - 1 : len), pattern);
}

static unsigned folders_in(const char *rest)
{
    if (strstr(rest, "**") != NULL)
        return FILE_WALK_DEPTH;
    unsigned n = 0;
    for (; *rest != '\0'; rest++)
        n += *rest == '/';
    return n;
}

static bool has_wildcard(const char *pattern)
{
    return pattern[strcspn(pattern, "*?[")] != '\0';
}

int files_look(const char *pattern, char *folder, size_t size)
{
    struct stat st;
    if (has_wildcard(pattern) || stat(pattern, &st) != 0 || !S_ISDIR(st.st_mode))
        fixed_folder(pattern, folder, size);
    else
        snprintf(folder, size, "%s", pattern);
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return errno;
    closedir(dir);
    return 0;
}

static void walk_wildcards(struct walk *w)
{
    char folder[LIMIT_PATH_BYTES];
    fixed_folder(w->pattern, folder, sizeof folder);
    size_t fixed = strcspn(w->pattern, "*?[");
    // "x*/y" has its wildcard within a folder's name: that folder counts too and is in the rest already.
    w->max_depth = folders_in(w->pattern + fixed);
    walk_folder(w, folder, 0);
}

// A folder or a file, without wildcards.
static void walk_path(struct walk *w, const struct stat *st)
{
    if (!S_ISDIR(st->st_mode)) {
        add_file(w, w->pattern, st);
        return;
    }
    w->whole_folder = true;
    w->max_depth = FILE_WALK_DEPTH;
    walk_folder(w, w->pattern, 0);
}

static void walk_pattern(struct walk *w)
{
    struct stat st;
    if (has_wildcard(w->pattern))
        walk_wildcards(w);
    else if (stat(w->pattern, &st) == 0)
        walk_path(w, &st);
}

static void walk_named(struct walk *w)
{
    struct stat st;
    size_t before = w->out->count;
    bool exists = stat(w->pattern, &st) == 0;
    if (exists && (S_ISREG(st.st_mode) || (S_ISDIR(st.st_mode) && access(w->pattern, R_OK | X_OK) == 0)))
        walk_path(w, &st);
    else if (!exists && has_wildcard(w->pattern))
        walk_wildcards(w);
    else
        add_path(w, w->pattern, exists ? file_identity_of(&st) : (struct file_identity){0});
    if (!exists && w->out->count == before)
        add_path(w, w->pattern, (struct file_identity){0});
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct found_file *)a)->path, ((const struct found_file *)b)->path);
}

static void sort_unique(struct found_files *f)
{
    if (f->count == 0)
        return;
    qsort(f->items, f->count, sizeof *f->items, by_path);
    size_t kept = 1;
    for (size_t i = 1; i < f->count; i++) {
        if (strcmp(f->items[i].path, f->items[kept - 1].path) == 0)
            free(f->items[i].path);
        else
            f->items[kept++] = f->items[i];
    }
    f->count = kept;
}

const char *file_path_plain(const char *path)
{
    return strncmp(path, "./", 2) == 0 && path[2] != '\0' ? path + 2 : path;
}

static enum err_code find_all(const struct config_strings *patterns, const struct config_strings *exclude,
                              void (*walk)(struct walk *w), struct found_files *out, struct err *e)
{
    *out = (struct found_files){0};
    for (size_t i = 0; i < patterns->count; i++) {
        // globs are matched without the prefix
        struct walk w = {.pattern = file_path_plain(patterns->items[i]), .exclude = exclude, .out = out};
        walk(&w);
        if (w.out_of_memory) {
            found_files_fini(out);
            return err_set(e, ERR_MEMORY, "out of memory for the list of files");
        }
    }
    sort_unique(out);
    return ERR_OK;
}

enum err_code files_find(const struct config_strings *include, const struct config_strings *exclude,
                         struct found_files *out, struct err *e)
{
    return find_all(include, exclude, walk_pattern, out, e);
}

enum err_code files_find_named(const struct config_strings *paths, struct found_files *out, struct err *e)
{
    const struct config_strings nothing = {0};
    return find_all(paths, &nothing, walk_named, out, e);
}

void found_files_fini(struct found_files *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->items[i].path);
    free(f->items);
    *f = (struct found_files){0};
}
