// SPDX-License-Identifier: Apache-2.0
// Of two profiles with the same labels and time a server drops one: each time is given out once for the labels of a batch.
#ifndef EXPORTERS_PYROSCOPE_TIMES_H
#define EXPORTERS_PYROSCOPE_TIMES_H

#include "base/index_table.h"

struct pyroscope_times {
    struct index_table table;
    void *items; // struct entry[]
    size_t count, capacity;
};

void pyroscope_times_init(struct pyroscope_times *t);
void pyroscope_times_fini(struct pyroscope_times *t);
// *nanos becomes the next time that these labels (a hash of them) do not have yet. False: out of memory.
bool pyroscope_times_take(struct pyroscope_times *t, uint64_t labels, int64_t *nanos) MUST_USE;

#endif
