// SPDX-License-Identifier: Apache-2.0
#include "pipeline/trim.h"

#include <malloc.h>

enum { TICKS = 2, PRESSURE_MS = 1000 };

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

// Holes between what is in use are nobody's in the budget, but the system counts them.
bool trim_press(const struct trim *t)
{
    size_t rss = 0, limit = t->budget->limit;
    if (atomic_load(&t->budget->used) <= limit / 2 || uv_resident_set_memory(&rss) != 0 || rss <= limit + limit / 16)
        return false;
    malloc_trim(0);
    return true;
}

static void on_pressure(uv_timer_t *timer)
{
    trim_press(timer->data);
}

static void start_timer(struct trim *t, uv_loop_t *loop, uv_timer_t *timer, uv_timer_cb run, uint64_t each_ms)
{
    CHECK(uv_timer_init(loop, timer) == 0);
    timer->data = t;
    CHECK(uv_timer_start(timer, run, each_ms, each_ms) == 0);
    uv_unref((uv_handle_t *)timer);
}

void trim_start(struct trim *t, uv_loop_t *loop, uint64_t after_ms, struct workers *workers,
                const struct budget *budget)
{
    *t = (struct trim){.workers = workers, .budget = budget};
    moved(t);
    start_timer(t, loop, &t->timer, on_timer, after_ms < TICKS ? 1 : after_ms / TICKS);
    start_timer(t, loop, &t->pressure, on_pressure, PRESSURE_MS);
}

void trim_close(struct trim *t)
{
    uv_close((uv_handle_t *)&t->timer, NULL);
    uv_close((uv_handle_t *)&t->pressure, NULL);
}
