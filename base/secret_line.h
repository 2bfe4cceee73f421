// SPDX-License-Identifier: Apache-2.0
// A secret_file of one line: a user's name, a password, the value of a header.
#ifndef BASE_SECRET_LINE_H
#define BASE_SECRET_LINE_H

#include "base/secret_file.h"

struct secret_line { // zeroed: none; must not be moved once loaded
    char *text;      // without the line's end; NULL = there is none
    struct secret_file file;
    size_t max_bytes;
    bool (*is_good)(const char *text);
};

// Reads it now. path NULL: nothing to do. is_good: of the text, which has neither zeros nor ends of lines.
enum err_code secret_line_load(struct secret_line *l, const char *path, size_t max_bytes,
                               bool (*is_good)(const char *text), struct err *e) MUST_USE;
// As secret_file_refresh; false without a file.
bool secret_line_refresh(struct secret_line *l, int64_t now_nanos, bool at_once, const struct logger *log);

// Overwrites and frees a text (NULL inside: nothing), and leaves NULL.
void secret_text_forget(char **text);

#endif
