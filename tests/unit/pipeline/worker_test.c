// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/worker.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

struct counted_job {
    struct job job;
    struct workers *pool;
    _Atomic unsigned *ran;
    unsigned follow; // jobs this one starts
};

static struct counted_job *new_job(struct workers *pool, _Atomic unsigned *ran, unsigned follow);

static void run_counted(struct job *job)
{
    struct counted_job *j = (struct counted_job *)job;
    if (j->follow != 0)
        workers_submit(j->pool, &new_job(j->pool, j->ran, j->follow - 1)->job);
    atomic_fetch_add(j->ran, 1);
    free(j);
}

static struct counted_job *new_job(struct workers *pool, _Atomic unsigned *ran, unsigned follow)
{
    struct counted_job *j = calloc(1, sizeof *j);
    *j = (struct counted_job){.job.run = run_counted, .pool = pool, .ran = ran, .follow = follow};
    return j;
}

static void test_stop_finishes_what_waits(void **state)
{
    (void)state;
    _Atomic unsigned ran = 0;
    struct workers *pool = workers_create(3, 0, 0);
    assert_int_equal(workers_count(pool), 3);
    for (int i = 0; i < 500; i++)
        workers_submit(pool, &new_job(pool, &ran, 2)->job);
    workers_stop(pool);
    workers_destroy(&pool);
    assert_null(pool);
    assert_int_equal(ran, 1500);
    workers_destroy(&pool); // nothing
}

// A job that stays until it is let go.
struct gate_job {
    struct job job;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool running, go;
    unsigned index;
    bool signals_blocked;
};

static void run_gate(struct job *job)
{
    struct gate_job *g = (struct gate_job *)job;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    pthread_mutex_lock(&g->lock);
    g->signals_blocked = sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGINT) == 1;
    g->index = worker_current_index();
    g->running = true;
    pthread_cond_signal(&g->changed);
    while (!g->go)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void gate_init(struct gate_job *g)
{
    *g = (struct gate_job){.job.run = run_gate};
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
}

static void gate_wait_running(struct gate_job *g)
{
    pthread_mutex_lock(&g->lock);
    while (!g->running)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void gate_open(struct gate_job *g)
{
    pthread_mutex_lock(&g->lock);
    g->go = true;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static void gate_fini(struct gate_job *g)
{
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
}

static void test_bounds_and_busy(void **state)
{
    (void)state;
    _Atomic unsigned ran = 0;
    struct gate_job gate;
    gate_init(&gate);
    struct workers *pool = workers_create(1, 2, 100);
    assert_int_equal(workers_busy(pool), 0);
    assert_true(workers_try_submit(pool, &gate.job));
    gate_wait_running(&gate);
    assert_int_equal(workers_busy(pool), 1);

    struct counted_job *jobs[4];
    for (int i = 0; i < 4; i++)
        jobs[i] = new_job(pool, &ran, 0);
    jobs[0]->job.node.bytes = 60;
    jobs[1]->job.node.bytes = 41; // too much together with the first
    assert_true(workers_try_submit(pool, &jobs[0]->job));
    assert_false(workers_try_submit(pool, &jobs[1]->job));
    assert_int_equal(workers_busy(pool), 2); // what was turned away does not count
    jobs[1]->job.node.bytes = 40;
    assert_true(workers_try_submit(pool, &jobs[1]->job));
    assert_false(workers_try_submit(pool, &jobs[2]->job)); // two entries
    workers_submit(pool, &jobs[2]->job);                   // past the bounds
    assert_int_equal(workers_busy(pool), 4);
    free(jobs[3]);
    gate_open(&gate);
    workers_stop(pool);
    workers_destroy(&pool);
    assert_int_equal(ran, 3);
    gate_fini(&gate);
}

static void test_workers_know_their_index_and_get_no_signals(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    struct gate_job gates[COUNT];
    unsigned seen = 0;
    struct workers *pool = workers_create(COUNT, 0, 0);
    for (int i = 0; i < COUNT; i++) {
        gate_init(&gates[i]);
        workers_submit(pool, &gates[i].job);
    }
    for (int i = 0; i < COUNT; i++)
        gate_wait_running(&gates[i]); // all at once, so each on its own thread
    for (int i = 0; i < COUNT; i++)
        gate_open(&gates[i]);
    workers_stop(pool);
    workers_destroy(&pool);
    for (int i = 0; i < COUNT; i++) {
        seen |= 1u << gates[i].index;
        assert_true(gates[i].signals_blocked);
        gate_fini(&gates[i]);
    }
    assert_int_equal(seen, 7);
    assert_int_equal(worker_current_index(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_finishes_what_waits),
        cmocka_unit_test(test_bounds_and_busy),
        cmocka_unit_test(test_workers_know_their_index_and_get_no_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
