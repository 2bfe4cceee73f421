// SPDX-License-Identifier: Apache-2.0
#include "pipeline/trim.h"

#include <malloc.h>

enum { TICKS = 2 };

static bool moved(struct trim *t)
{
    size_t jobs = workers_submitted(t->workers), bytes = atomic_load(&t->budget->used);
    bool same = jobs == t->jobs && bytes == t->bytes;
    t->jobs = jobs;
    t->bytes = bytes;
    return !same || workers_busy(t->workers) != 0;
}

bool trim_tick(struct trim *t)
{
    if (moved(t)) {
        t->held = true;
        t->quiet = 0;
        return false;
    }
    if (!t->held || ++t->quiet < TICKS)
        return false;
    t->held = false;
    malloc_trim(0);
    return true;
}

static void on_timer(uv_timer_t *timer)
{
    trim_tick(timer->data);
}

void trim_start(struct trim *t, uv_loop_t *loop, uint64_t after_ms, struct workers *workers,
                const struct budget *budget)
{
    *t = (struct trim){.workers = workers, .budget = budget};
    moved(t);
    CHECK(uv_timer_init(loop, &t->timer) == 0);
    t->timer.data = t;
    uint64_t tick_ms = after_ms < TICKS ? 1 : after_ms / TICKS;
    CHECK(uv_timer_start(&t->timer, on_timer, tick_ms, tick_ms) == 0);
    uv_unref((uv_handle_t *)&t->timer);
}

void trim_close(struct trim *t)
{
    uv_close((uv_handle_t *)&t->timer, NULL);
}
