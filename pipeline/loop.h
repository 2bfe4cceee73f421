// SPDX-License-Identifier: Apache-2.0
// A loop thread: libuv, timers, I/O. The program holds an array of them (one by default); whatever a
// connection needs hangs off its own loop. Other threads reach a loop only through its inbox.
#ifndef PIPELINE_LOOP_H
#define PIPELINE_LOOP_H

#include "base/ring.h"

#include <uv.h>

struct loop_task {
    struct ring_node node; // first: a task is a node of the inbox
    void (*run)(struct loop_task *task);
};

struct loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t before_sleep;
    uv_check_t after_sleep;
    struct ring inbox;
    bool posted; // from its own thread: seen in the same turn, mostly without a system call
    uv_thread_t thread;
    bool has_thread;
    unsigned index;
};

// Loop 0 runs on the thread that calls loop_run; loops 1.. get a thread of their own by loop_start_thread.
void loop_init(struct loop *l, unsigned index);
void loop_start_thread(struct loop *l);
// Runs until loop_stop. Loop 0 only.
void loop_run(struct loop *l);
// Makes the loop end once every handle but its own is closed. Any thread.
void loop_stop(struct loop *l);
// Joins the thread (loops 1..) and frees. Every other handle must be closed.
void loop_fini(struct loop *l);

// Has task->run called on the loop's thread. Any thread; never blocks, allocates or fails. The task is the
// loop's until run is called.
void loop_post(struct loop *l, struct loop_task *task);
// Runs call(arg) on the loop's thread and waits for it; directly when already there. Not from another
// loop's callbacks except the service's start and stop on loop 0.
void loop_call(struct loop *l, void (*call)(void *arg), void *arg);
bool loop_is_current(const struct loop *l);

#endif
