// SPDX-License-Identifier: Apache-2.0
#include "pipeline/loop.h"

#include "base/check.h"

static void run_tasks(struct loop *l)
{
    struct ring_node *node = ring_take_all(&l->inbox);
    while (node != NULL) {
        struct ring_node *next = node->next;
        struct loop_task *task = (struct loop_task *)node;
        task->run(task);
        node = next;
    }
}

static void on_wake(uv_async_t *wake)
{
    struct loop *l = wake->data;
    l->posted = false;
    run_tasks(l);
}

static void after_sleep(uv_check_t *check)
{
    struct loop *l = check->data;
    if (l->posted)
        on_wake(&l->wake);
}

static void before_sleep(uv_prepare_t *prepare)
{
    struct loop *l = prepare->data;
    if (l->posted)
        CHECK(uv_async_send(&l->wake) == 0);
}

static void wake_loop(void *arg)
{
    struct loop *l = arg;
    if (loop_is_current(l))
        l->posted = true;
    else
        CHECK(uv_async_send(&l->wake) == 0);
}

// Looks at the inbox in each turn, without keeping the loop alive.
static void look_each_turn(struct loop *l)
{
    CHECK(uv_prepare_init(&l->uv, &l->before_sleep) == 0 && uv_check_init(&l->uv, &l->after_sleep) == 0);
    l->before_sleep.data = l->after_sleep.data = l;
    CHECK(uv_prepare_start(&l->before_sleep, before_sleep) == 0);
    CHECK(uv_check_start(&l->after_sleep, after_sleep) == 0);
    uv_unref((uv_handle_t *)&l->before_sleep);
    uv_unref((uv_handle_t *)&l->after_sleep);
}

void loop_init(struct loop *l, unsigned index)
{
    *l = (struct loop){.index = index};
    CHECK(uv_loop_init(&l->uv) == 0);
    CHECK(uv_async_init(&l->uv, &l->wake, on_wake) == 0);
    l->wake.data = l;
    look_each_turn(l);
    l->uv.data = l;
    ring_init(&l->inbox, 0, 0, wake_loop, l);
    l->thread = uv_thread_self();
}

static void run_thread(void *arg)
{
    struct loop *l = arg;
    uv_run(&l->uv, UV_RUN_DEFAULT);
}

void loop_start_thread(struct loop *l)
{
    l->has_thread = true;
    CHECK(uv_thread_create(&l->thread, run_thread, l) == 0);
}

void loop_run(struct loop *l)
{
    if (!loop_is_current(l)) // others read it already
        l->thread = uv_thread_self();
    uv_run(&l->uv, UV_RUN_DEFAULT);
}

static void close_wake(void *arg)
{
    struct loop *l = arg;
    uv_close((uv_handle_t *)&l->wake, NULL);
    uv_close((uv_handle_t *)&l->before_sleep, NULL);
    uv_close((uv_handle_t *)&l->after_sleep, NULL);
}

void loop_stop(struct loop *l)
{
    loop_call(l, close_wake, l);
}

void loop_fini(struct loop *l)
{
    if (l->has_thread)
        CHECK(uv_thread_join(&l->thread) == 0);
    else
        uv_run(&l->uv, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&l->uv) == 0);
    ring_fini(&l->inbox);
}

void loop_post(struct loop *l, struct loop_task *task)
{
    ring_post(&l->inbox, &task->node);
}

struct call_task {
    struct loop_task task;
    void (*call)(void *arg);
    void *arg;
    uv_sem_t done;
};

static void run_call(struct loop_task *task)
{
    struct call_task *c = (struct call_task *)task;
    c->call(c->arg);
    uv_sem_post(&c->done);
}

bool loop_is_current(const struct loop *l)
{
    uv_thread_t self = uv_thread_self();
    return uv_thread_equal(&self, &l->thread) != 0;
}

void loop_call(struct loop *l, void (*call)(void *arg), void *arg)
{
    if (loop_is_current(l)) {
        call(arg);
        return;
    }
    struct call_task c = {.task.run = run_call, .call = call, .arg = arg};
    CHECK(uv_sem_init(&c.done, 0) == 0);
    loop_post(l, &c.task);
    uv_sem_wait(&c.done);
    uv_sem_destroy(&c.done);
}
