// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "pipeline/loop.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, POSTS = 500 };

struct counter {
    struct loop *loop;
    unsigned ran; // on the loop's thread only
    unsigned stop_at;
    unsigned last[THREADS];
    bool in_order;
};

struct counted_task {
    struct loop_task task;
    struct counter *counter;
    unsigned thread, number;
};

static void run_counted(struct loop_task *task)
{
    struct counted_task *t = (struct counted_task *)task;
    struct counter *c = t->counter;
    CHECK(loop_is_current(c->loop));
    c->in_order = c->in_order && t->number == c->last[t->thread] + 1;
    c->last[t->thread] = t->number;
    if (++c->ran == c->stop_at)
        loop_stop(c->loop);
}

struct poster {
    struct counter *counter;
    unsigned index;
    struct counted_task tasks[POSTS];
};

static void *post_all(void *arg)
{
    struct poster *p = arg;
    for (unsigned i = 0; i < POSTS; i++) {
        p->tasks[i] =
            (struct counted_task){.task.run = run_counted, .counter = p->counter, .thread = p->index, .number = i + 1};
        loop_post(p->counter->loop, &p->tasks[i].task);
    }
    return NULL;
}

static void start_posters(struct counter *c, struct poster posters[THREADS], pthread_t threads[THREADS])
{
    for (unsigned i = 0; i < THREADS; i++) {
        posters[i].counter = c;
        posters[i].index = i;
        CHECK(pthread_create(&threads[i], NULL, post_all, &posters[i]) == 0);
    }
}

static void test_two_loops_take_posts_of_many_threads(void **state)
{
    (void)state;
    static struct poster posters[2][THREADS];
    pthread_t threads[2][THREADS];
    struct loop loops[2];
    struct counter counters[2];
    for (unsigned i = 0; i < 2; i++) {
        loop_init(&loops[i], i);
        counters[i] = (struct counter){.loop = &loops[i], .stop_at = THREADS * POSTS, .in_order = true};
        assert_int_equal(loops[i].index, i);
    }
    loop_start_thread(&loops[1]);
    for (unsigned i = 0; i < 2; i++)
        start_posters(&counters[i], posters[i], threads[i]);
    loop_run(&loops[0]);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned j = 0; j < THREADS; j++)
            pthread_join(threads[i][j], NULL);
    loop_fini(&loops[0]);
    loop_fini(&loops[1]);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(counters[i].ran, THREADS * POSTS);
        assert_true(counters[i].in_order); // each thread's posts in their order
    }
}

struct note {
    const struct loop *expected;
    unsigned calls;
    bool right;
};

static void note_call(void *arg)
{
    struct note *n = arg;
    n->calls++;
    n->right = loop_is_current(n->expected);
}

static void test_call_waits_and_runs_on_the_loop(void **state)
{
    (void)state;
    struct loop loops[2];
    loop_init(&loops[0], 0);
    loop_init(&loops[1], 1);
    loop_start_thread(&loops[1]);
    assert_true(loop_is_current(&loops[0]));
    assert_false(loop_is_current(&loops[1]));
    for (unsigned i = 0; i < 2; i++) {
        struct note n = {.expected = &loops[i]};
        loop_call(&loops[i], note_call, &n);
        loop_call(&loops[i], note_call, &n);
        assert_int_equal(n.calls, 2);
        assert_true(n.right);
    }
    loop_stop(&loops[1]);
    loop_stop(&loops[0]);
    loop_fini(&loops[1]);
    loop_fini(&loops[0]);
}

// A task that posts itself again goes behind what came in the meantime.
struct again {
    struct loop_task task;
    struct loop *loop;
    unsigned left;
};

static void run_again(struct loop_task *task)
{
    struct again *a = (struct again *)task;
    if (--a->left != 0)
        loop_post(a->loop, &a->task);
    else
        loop_stop(a->loop);
}

static void test_a_task_may_post_itself(void **state)
{
    (void)state;
    struct loop l;
    loop_init(&l, 0);
    struct again a = {.task.run = run_again, .loop = &l, .left = 100};
    loop_post(&l, &a.task);
    loop_run(&l);
    loop_fini(&l);
    assert_int_equal(a.left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_loops_take_posts_of_many_threads),
        cmocka_unit_test(test_call_waits_and_runs_on_the_loop),
        cmocka_unit_test(test_a_task_may_post_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
