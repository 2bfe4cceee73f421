// SPDX-License-Identifier: Apache-2.0
// Freed memory stays with the process, for the next file; when nothing moves for a while the system gets it, and at
// once when the process has become larger than the budget says.
#ifndef PIPELINE_TRIM_H
#define PIPELINE_TRIM_H

#include "pipeline/budget.h"
#include "pipeline/worker.h"

#include <uv.h>

enum { TRIM_AFTER_MS = 40000 }; // and up to a half more

struct trim {
    uv_timer_t timer, pressure;
    struct workers *workers;
    const struct budget *budget;
    size_t jobs, bytes; // as seen last
    unsigned quiet;     // ticks since something moved
    bool held;          // something moved since memory was given back
};

// A timer that keeps no loop alive: looks twice in after_ms. Workers and budget must outlive it.
void trim_start(struct trim *t, uv_loop_t *loop, uint64_t after_ms, struct workers *workers,
                const struct budget *budget);
// What the timer does. True when memory was given back: no job was submitted and the budget did not change
// since the last two calls, but before.
bool trim_tick(struct trim *t);
// What another timer does each second. True when memory was given back: the budget is used, and the process larger.
bool trim_press(const struct trim *t);
void trim_close(struct trim *t);

#endif
