// SPDX-License-Identifier: Apache-2.0
// Finds the files that globs name.
#ifndef RECEIVERS_FILE_WALK_H
#define RECEIVERS_FILE_WALK_H

#include "base/err.h"
#include "config/fields.h"

#include <stdint.h>

struct file_identity { // changes when the content may have
    uint64_t size, inode;
    int64_t mtime_nanos; // since 1970
};

struct found_file {
    char *path;
    struct file_identity identity;
};

struct found_files {
    struct found_file *items; // ordered by path, each once
    size_t count, capacity;
    bool truncated; // more than FILE_WALK_MAX matched
};

enum { FILE_WALK_MAX = 1000000, FILE_WALK_DEPTH = 32 };

// Regular files that match an include glob and no exclude glob (base/glob.h). A plain path names itself; a
// folder names everything below it. Folders that cannot be read are skipped; symbolic links to folders are
// followed only when they stand in the glob itself. Blocks: worker thread. ERR_MEMORY only.
enum err_code files_find(const struct config_strings *include, const struct config_strings *exclude,
                         struct found_files *out, struct err *e) MUST_USE;
// The same for paths that a person named: what exists is itself, whatever characters it has; what does not, or
// cannot be entered, is listed all the same, so that opening it tells why.
enum err_code files_find_named(const struct config_strings *paths, struct found_files *out, struct err *e) MUST_USE;
// "./a" and "a" are the same file: the path as found_files has it.
const char *file_path_plain(const char *path);
// Why the folder in which the search for a glob begins cannot be read: an errno, 0 = it can. Blocks.
int files_look(const char *pattern, char *folder, size_t size);
void found_files_fini(struct found_files *f);

static inline bool file_identity_equal(const struct file_identity *a, const struct file_identity *b)
{
    return a->size == b->size && a->inode == b->inode && a->mtime_nanos == b->mtime_nanos;
}

struct stat;
struct file_identity file_identity_of(const struct stat *st);

#endif
