// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/ring.h"

#include <sched.h>
#include <stdatomic.h>

struct item {
    struct ring_node node;
    int poster, number;
};

static struct item *item_of(struct ring_node *node)
{
    return CONTAINER_OF(node, struct item, node);
}

static void count_wake(void *arg)
{
    ++*(int *)arg;
}

static void first_in_first_out(void **state)
{
    (void)state;
    struct ring r;
    struct item items[5] = {0};
    ring_init(&r, 0, 0, NULL, NULL);
    assert_null(ring_take(&r));
    assert_null(ring_take_all(&r));
    for (int i = 0; i < 5; i++)
        assert_true(ring_try_post(&r, &items[i].node));
    assert_int_equal(ring_entries(&r), 5);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(ring_take(&r), &items[i].node);
    struct ring_node *rest = ring_take_all(&r);
    assert_ptr_equal(rest, &items[3].node);
    assert_ptr_equal(rest->next, &items[4].node);
    assert_null(rest->next->next);
    assert_int_equal(ring_entries(&r), 0);
    assert_true(ring_try_post(&r, &items[0].node));
    assert_ptr_equal(ring_take(&r), &items[0].node);
    ring_fini(&r);
}

static void bounded_in_entries(void **state)
{
    (void)state;
    struct ring r;
    struct item items[4] = {0};
    ring_init(&r, 2, 0, NULL, NULL);
    assert_true(ring_try_post(&r, &items[0].node));
    assert_true(ring_try_post(&r, &items[1].node));
    assert_false(ring_try_post(&r, &items[2].node));
    ring_post(&r, &items[3].node); // a verdict is never refused
    assert_int_equal(ring_entries(&r), 3);
    assert_false(ring_try_post(&r, &items[2].node));
    ring_take(&r);
    assert_false(ring_try_post(&r, &items[2].node));
    ring_take(&r);
    assert_true(ring_try_post(&r, &items[2].node));
    assert_ptr_equal(ring_take(&r), &items[3].node);
    assert_ptr_equal(ring_take(&r), &items[2].node);
    ring_fini(&r);
}

static void bounded_in_bytes(void **state)
{
    (void)state;
    struct ring r;
    struct item a = {.node.bytes = 60}, b = {.node.bytes = 40}, c = {.node.bytes = 1}, none = {0};
    struct item huge = {.node.bytes = SIZE_MAX};
    ring_init(&r, 0, 100, NULL, NULL);
    assert_true(ring_try_post(&r, &a.node));
    assert_false(ring_try_post(&r, &huge.node)); // the sum must not wrap around
    assert_true(ring_try_post(&r, &b.node));
    assert_false(ring_try_post(&r, &c.node));
    assert_true(ring_try_post(&r, &none.node));
    ring_take_all(&r);
    assert_true(ring_try_post(&r, &huge.node)); // alone it may exceed
    assert_false(ring_try_post(&r, &c.node));
    assert_false(ring_try_post(&r, &none.node));
    assert_ptr_equal(ring_take(&r), &huge.node);
    assert_true(ring_try_post(&r, &c.node));
    ring_take(&r);
    assert_int_equal(r.bytes, 0);
    ring_fini(&r);
}

static void wakes_when_it_was_empty(void **state)
{
    (void)state;
    struct ring r;
    struct item items[4] = {0};
    int wakes = 0;
    ring_init(&r, 2, 0, count_wake, &wakes);
    assert_true(ring_try_post(&r, &items[0].node));
    assert_int_equal(wakes, 1);
    assert_true(ring_try_post(&r, &items[1].node));
    assert_false(ring_try_post(&r, &items[2].node));
    assert_int_equal(wakes, 1);
    ring_take_all(&r);
    ring_post(&r, &items[2].node);
    assert_int_equal(wakes, 2);
    ring_take(&r);
    ring_fini(&r);
}

static void close_refuses_but_lets_the_rest_out(void **state)
{
    (void)state;
    struct ring r;
    struct item items[3] = {0};
    ring_init(&r, 0, 0, NULL, NULL);
    assert_true(ring_try_post(&r, &items[0].node));
    ring_close(&r);
    ring_close(&r);
    assert_false(ring_try_post(&r, &items[1].node));
    ring_post(&r, &items[2].node);
    assert_ptr_equal(ring_take_wait(&r), &items[0].node);
    assert_ptr_equal(ring_take_wait(&r), &items[2].node);
    assert_null(ring_take_wait(&r));
    assert_null(ring_take_wait(&r));
    ring_fini(&r);
}

enum { POSTERS = 3, TAKERS = 3, PER_POSTER = 2000, MAX_ENTRIES = 16 };

struct traffic {
    struct ring ring;
    struct item items[POSTERS][PER_POSTER];
    _Atomic int seen[POSTERS][PER_POSTER];
    _Atomic int next_poster;
    _Atomic size_t most_entries;
    _Atomic int disorder;
};

static void *post_all(void *arg)
{
    struct traffic *t = arg;
    int poster = atomic_fetch_add(&t->next_poster, 1);
    for (int i = 0; i < PER_POSTER; i++) {
        struct item *item = &t->items[poster][i];
        *item = (struct item){.node.bytes = 10, .poster = poster, .number = i};
        if (i % 100 == 0)
            ring_post(&t->ring, &item->node);
        else
            while (!ring_try_post(&t->ring, &item->node))
                sched_yield();
        size_t entries = ring_entries(&t->ring), most = atomic_load(&t->most_entries);
        while (entries > most && !atomic_compare_exchange_weak(&t->most_entries, &most, entries))
            ;
    }
    return NULL;
}

static void *take_until_closed(void *arg)
{
    struct traffic *t = arg;
    int last[POSTERS] = {-1, -1, -1};
    for (struct ring_node *n; (n = ring_take_wait(&t->ring)) != NULL;) {
        struct item *item = item_of(n);
        if (item->number <= last[item->poster])
            atomic_fetch_add(&t->disorder, 1);
        last[item->poster] = item->number;
        atomic_fetch_add(&t->seen[item->poster][item->number], 1);
    }
    return NULL;
}

static void many_threads_lose_and_double_nothing(void **state)
{
    (void)state;
    static struct traffic t;
    pthread_t posters[POSTERS], takers[TAKERS];
    ring_init(&t.ring, MAX_ENTRIES, 1000, NULL, NULL);
    for (int i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_create(&takers[i], NULL, take_until_closed, &t), 0);
    for (int i = 0; i < POSTERS; i++)
        assert_int_equal(pthread_create(&posters[i], NULL, post_all, &t), 0);
    for (int i = 0; i < POSTERS; i++)
        pthread_join(posters[i], NULL);
    ring_close(&t.ring);
    for (int i = 0; i < TAKERS; i++)
        pthread_join(takers[i], NULL);
    for (int p = 0; p < POSTERS; p++)
        for (int i = 0; i < PER_POSTER; i++)
            assert_int_equal(t.seen[p][i], 1);
    assert_int_equal(t.disorder, 0);
    assert_true(t.most_entries <= MAX_ENTRIES + POSTERS);
    ring_fini(&t.ring);
}

static void *take_one(void *ring)
{
    return ring_take_wait(ring);
}

// All of them, not one: rounds, because a taker may come after the close.
static void close_wakes_all_who_wait(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct ring r;
        pthread_t takers[TAKERS];
        ring_init(&r, 0, 0, NULL, NULL);
        for (int i = 0; i < TAKERS; i++)
            assert_int_equal(pthread_create(&takers[i], NULL, take_one, &r), 0);
        for (int i = 0; i < 10; i++)
            sched_yield();
        ring_close(&r);
        for (int i = 0; i < TAKERS; i++) {
            void *taken;
            pthread_join(takers[i], &taken);
            assert_null(taken);
        }
        ring_fini(&r);
    }
}

// A loop that sleeps until woken and then empties the ring, as libuv's async handles do.
struct sleeper {
    struct ring ring;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool awake;
    struct item items[PER_POSTER];
};

static void wake_sleeper(void *arg)
{
    struct sleeper *s = arg;
    pthread_mutex_lock(&s->lock);
    s->awake = true;
    pthread_cond_signal(&s->woken);
    pthread_mutex_unlock(&s->lock);
}

static void *post_to_sleeper(void *arg)
{
    struct sleeper *s = arg;
    for (int i = 0; i < PER_POSTER; i++)
        ring_post(&s->ring, &s->items[i].node);
    return NULL;
}

static void no_wake_is_lost(void **state)
{
    (void)state;
    static struct sleeper s = {.lock = PTHREAD_MUTEX_INITIALIZER, .woken = PTHREAD_COND_INITIALIZER};
    ring_init(&s.ring, 0, 0, wake_sleeper, &s);
    pthread_t poster;
    assert_int_equal(pthread_create(&poster, NULL, post_to_sleeper, &s), 0);
    for (int taken = 0; taken < PER_POSTER;) {
        pthread_mutex_lock(&s.lock);
        while (!s.awake)
            pthread_cond_wait(&s.woken, &s.lock);
        s.awake = false;
        pthread_mutex_unlock(&s.lock);
        for (struct ring_node *n = ring_take_all(&s.ring); n != NULL; n = n->next)
            assert_ptr_equal(n, &s.items[taken++].node);
    }
    pthread_join(poster, NULL);
    ring_fini(&s.ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_in_first_out),
        cmocka_unit_test(bounded_in_entries),
        cmocka_unit_test(bounded_in_bytes),
        cmocka_unit_test(wakes_when_it_was_empty),
        cmocka_unit_test(close_refuses_but_lets_the_rest_out),
        cmocka_unit_test(many_threads_lose_and_double_nothing),
        cmocka_unit_test(close_wakes_all_who_wait),
        cmocka_unit_test(no_wake_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
