// SPDX-License-Identifier: Apache-2.0
#include "pipeline/worker.h"

#include "base/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

struct workers {
    struct ring ring;
    unsigned count;
    _Atomic size_t busy; // waiting and running
    _Atomic size_t submitted;
    struct worker {
        struct workers *pool;
        unsigned index;
        pthread_t thread;
    } *threads;
};

static _Thread_local unsigned current_index;

unsigned worker_current_index(void)
{
    return current_index;
}

static void *run_worker(void *arg)
{
    struct worker *self = arg;
    current_index = self->index;
    struct ring_node *node;
    while ((node = ring_take_wait(&self->pool->ring)) != NULL) {
        struct job *job = (struct job *)node;
        job->run(job);
        atomic_fetch_sub(&self->pool->busy, 1);
    }
    return NULL;
}

// Signals are for loop 0 only.
static void start_thread(struct worker *w)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    CHECK(pthread_create(&w->thread, NULL, run_worker, w) == 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

struct workers *workers_create(unsigned count, size_t max_entries, size_t max_bytes)
{
    struct workers *pool = MEM_NEW(struct workers);
    ring_init(&pool->ring, max_entries, max_bytes, NULL, NULL);
    pool->count = count;
    pool->threads = mem_alloc(count * sizeof *pool->threads);
    for (unsigned i = 0; i < count; i++) {
        pool->threads[i].pool = pool;
        pool->threads[i].index = i;
        start_thread(&pool->threads[i]);
    }
    return pool;
}

bool workers_try_submit(struct workers *w, struct job *job)
{
    atomic_fetch_add(&w->busy, 1);
    if (ring_try_post(&w->ring, &job->node)) {
        atomic_fetch_add_explicit(&w->submitted, 1, memory_order_relaxed);
        return true;
    }
    atomic_fetch_sub(&w->busy, 1);
    return false;
}

void workers_submit(struct workers *w, struct job *job)
{
    atomic_fetch_add(&w->busy, 1);
    atomic_fetch_add_explicit(&w->submitted, 1, memory_order_relaxed);
    ring_post(&w->ring, &job->node);
}

size_t workers_submitted(const struct workers *w)
{
    return atomic_load_explicit(&w->submitted, memory_order_relaxed);
}

size_t workers_busy(struct workers *w)
{
    return atomic_load(&w->busy);
}

unsigned workers_count(const struct workers *w)
{
    return w->count;
}

void workers_stop(struct workers *w)
{
    ring_close(&w->ring);
    for (unsigned i = 0; i < w->count; i++)
        CHECK(pthread_join(w->threads[i].thread, NULL) == 0);
}

void workers_destroy(struct workers **w)
{
    if (*w == NULL)
        return;
    ring_fini(&(*w)->ring);
    free((*w)->threads);
    free(*w);
    *w = NULL;
}
