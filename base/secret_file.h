// SPDX-License-Identifier: Apache-2.0
// A small file with secrets that may change while the program runs: tokens, passwords. Nothing watches it; whoever needs
// the secret asks before, and the file is looked at if that was not done within the last second.
//
// What is there is never taken for less: an empty file, one that is gone or cannot be used leaves the old in use and is
// told once. A change whose last line has no end may be half written: it is taken when the next look sees the same.
#ifndef BASE_SECRET_FILE_H
#define BASE_SECRET_FILE_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/file_mark.h"
#include "base/log.h"

enum { SECRET_FILE_MAX_BYTES = 1 << 20 };

struct secret_file {
    const char *path; // borrowed
    // Makes what is used of the text, or an error and nothing changes. The text is gone afterwards.
    enum err_code (*use)(void *arg, struct bytes text, struct err *e);
    void *arg;
    struct file_mark read; // of the last text that was tried
    struct file_mark seen; // at the last look
    int64_t looked_nanos;
};

// Reads and uses it now. Errors name the file.
enum err_code secret_file_load(struct secret_file *f, struct err *e) MUST_USE;
// True: something new is in use. now_nanos: monotonic; at_once: looks and takes whatever is there. Not from two threads.
bool secret_file_refresh(struct secret_file *f, int64_t now_nanos, bool at_once, const struct logger *log);

#endif
