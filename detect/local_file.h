// SPDX-License-Identifier: Apache-2.0
// Inside detect/: small text files of the system, below root_path, line by line.
#ifndef DETECT_LOCAL_FILE_H
#define DETECT_LOCAL_FILE_H

#include "codec/text_lines.h"

enum { LOCAL_FILE_MAX_BYTES = 1 << 20 };

struct local_file {
    struct buf text;
    struct decode_report report;
    struct text_lines lines;
};

// Reads it whole. false: it cannot be read, or is larger; it has no lines then. Close it in every case.
bool local_file_open(struct local_file *f, const char *root, const char *path);
bool local_file_next(struct local_file *f, struct bytes *line_out); // without blanks around it
void local_file_close(struct local_file *f);

// The first line, terminated, in out; "" when there is none.
void local_file_first_line(const char *root, const char *path, char *out, size_t out_size);

#endif
