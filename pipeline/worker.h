// SPDX-License-Identifier: Apache-2.0
// Worker threads do everything that costs CPU: inflate, decode, process, encode, deflate.
#ifndef PIPELINE_WORKER_H
#define PIPELINE_WORKER_H

#include "base/ring.h"

struct job {
    struct ring_node node;        // first; node.bytes counts against the ring
    void (*run)(struct job *job); // on a worker; the job is its own from then on
};

struct workers;

// max_entries and max_bytes bound the jobs that wait.
struct workers *workers_create(unsigned count, size_t max_entries, size_t max_bytes);
// Any thread. false = full: try later, the job stays the caller's.
bool workers_try_submit(struct workers *w, struct job *job) MUST_USE;
// Past the bounds: for work that continues what was admitted already. Never fails.
void workers_submit(struct workers *w, struct job *job);
size_t workers_submitted(const struct workers *w); // so far; wraps
// Jobs waiting or running.
size_t workers_busy(struct workers *w);
unsigned workers_count(const struct workers *w);
// Finishes what waits, then ends the threads. May block; nothing may be submitted any more.
void workers_stop(struct workers *w);
void workers_destroy(struct workers **w); // after stop

// 0..count-1 on a worker thread, for per-worker scratch memory; 0 elsewhere.
unsigned worker_current_index(void);

#endif
