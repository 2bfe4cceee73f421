// SPDX-License-Identifier: Apache-2.0
// The only place where two threads meet: a first-in first-out of nodes that are part of what they carry,
// bounded in entries and in bytes. Posting never allocates. A lock guards it: at one hand-off per profile
// the lock costs less than 0.1 % and every sanitizer understands it.
#ifndef BASE_RING_H
#define BASE_RING_H

#include "base/check.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct ring_node {
    struct ring_node *next;
    size_t bytes; // what the entry counts against max_bytes; set by whoever posts
};

struct ring {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct ring_node *head, **tail;
    size_t entries, bytes;
    size_t max_entries, max_bytes; // 0 = no bound
    unsigned waiting;              // takers that sleep
    bool closed;
    void (*wake)(void *); // called after a post to an empty ring; must not block or touch the ring; may be NULL
    void *wake_arg;
};

// In place. wake must be callable from any thread.
void ring_init(struct ring *r, size_t max_entries, size_t max_bytes, void (*wake)(void *), void *wake_arg);
void ring_fini(struct ring *r); // the ring must be empty

// Any thread, does not block. false = full or closed, node stays the caller's. An entry larger than
// max_bytes fits into an empty ring, so that nothing waits forever.
bool ring_try_post(struct ring *r, struct ring_node *node) MUST_USE;
// As ring_try_post, but past the bounds and after close: for verdicts, which must never be lost.
void ring_post(struct ring *r, struct ring_node *node);

// Any thread; NULL when empty. Does not block.
struct ring_node *ring_take(struct ring *r);
// Blocks until there is a node (returned) or the ring is closed and empty (NULL).
struct ring_node *ring_take_wait(struct ring *r);
// Takes everything at once as a list linked by next; NULL when empty.
struct ring_node *ring_take_all(struct ring *r);

// Later posts fail, waiting takers return once the ring is empty. May be called twice.
void ring_close(struct ring *r);
size_t ring_entries(struct ring *r);

#endif
