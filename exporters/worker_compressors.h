// SPDX-License-Identifier: Apache-2.0
// A compressor for each worker, made when it first needs one: encode runs on several at once.
#ifndef EXPORTERS_WORKER_COMPRESSORS_H
#define EXPORTERS_WORKER_COMPRESSORS_H

#include "codec/compress.h"

struct worker_compressors {
    struct compressor **items; // by worker
    unsigned count;
    enum compression kind;
    int level;
};

// In place. level as for compressor_create.
void worker_compressors_init(struct worker_compressors *w, unsigned workers, enum compression kind, int level);
void worker_compressors_fini(struct worker_compressors *w); // also of a zeroed one
// Appends the compressed form of data to out. Worker thread.
enum err_code worker_compressors_run(struct worker_compressors *w, struct bytes data, struct buf *out,
                                     struct err *e) MUST_USE;

#endif
