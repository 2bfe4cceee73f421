// SPDX-License-Identifier: Apache-2.0
// A set of keys and values as a file that only grows: records with checksums, the last one of a key counts.
// A crash can leave half a record at the end; reading stops there and cuts it off. One thread at a time.
#ifndef EXTENSIONS_STORAGE_LOG_H
#define EXTENSIONS_STORAGE_LOG_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/log.h"

#include <stdint.h>

enum { STORAGE_KEY_MAX = 64 << 10, STORAGE_VALUE_MAX = 64 << 20, STORAGE_COMPACT_BYTES = 64 << 10 };

struct storage_log {
    char *path, *folder;
    const struct logger *log;
    int fd;
    bool fsync;         // false: the operating system decides when changes reach the disk
    uint64_t size;      // where the next record goes
    uint64_t durable;   // what storage_log_sync has confirmed
    uint64_t review_at; // size at which to look for garbage again
    bool needs_cut;     // something may stand behind `size`
};

typedef void storage_visit_fn(void *arg, struct bytes key, struct bytes value);

// In place; creates the file if it is missing, visits what it holds (each key once, in no particular order;
// visit may be NULL) and makes it small again if more than half is garbage. path is copied.
enum err_code storage_log_open(struct storage_log *l, const char *path, bool fsync, const struct logger *log,
                               storage_visit_fn *visit, void *arg, struct err *e) MUST_USE;
void storage_log_close(struct storage_log *l); // also after a failed open

// An empty value removes the key. The record counts once it is synced.
enum err_code storage_log_append(struct storage_log *l, struct bytes key, struct bytes value, struct err *e) MUST_USE;
// After a failure all records since the last success are gone.
enum err_code storage_log_sync(struct storage_log *l, struct err *e) MUST_USE;
// Now and then, after a sync: rewrites the file when garbage has gathered. A failure is logged, nothing is lost.
void storage_log_review(struct storage_log *l);

#endif
