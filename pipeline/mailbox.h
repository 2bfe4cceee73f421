// SPDX-License-Identifier: Apache-2.0
// Letters that are read one at a time, in order, on the workers: what only they touch needs no lock.
#ifndef PIPELINE_MAILBOX_H
#define PIPELINE_MAILBOX_H

#include "pipeline/worker.h"

#include <stdatomic.h>

struct letter {
    struct ring_node node;             // first
    void (*read)(struct letter *self); // on a worker; the letter is its own from then on
};

struct mailbox {
    struct ring ring;
    _Atomic size_t letters; // waiting or being read
    struct job job;
    struct workers *workers;
};

void mailbox_init(struct mailbox *m, struct workers *workers);
void mailbox_fini(struct mailbox *m); // it must be empty
// Any thread. Never blocks, allocates or fails.
void mailbox_post(struct mailbox *m, struct letter *letter);

#endif
