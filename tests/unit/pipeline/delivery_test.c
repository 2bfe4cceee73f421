// SPDX-License-Identifier: Apache-2.0
#include "tests/support/loop_step.h"
#include "tests/unit/pipeline/queue_fixture.h"

struct two {
    struct shared shared;
    struct peer a, b;
};

static void two_open(struct two *w, size_t budget)
{
    shared_init(&w->shared, budget);
    peer_prepare(&w->a, &w->shared, "fake/a");
    peer_prepare(&w->b, &w->shared, "fake/b");
    peer_open(&w->a);
    peer_open(&w->b);
}

static void two_close(struct two *w)
{
    peer_close(&w->a);
    peer_close(&w->b);
    shared_fini(&w->shared);
}

// A fan-out of two branches, one record each, in one ticket.
static void offer_both(struct two *w, struct told *t)
{
    struct delivery d = begin_delivery(&w->shared, t, 50);
    struct delivery other = delivery_share(&d);
    ticket_add_record(other.ticket, w->a.queue, new_record(100, 1));
    delivery_end(&other, NULL);
    ticket_add_record(d.ticket, w->b.queue, new_record(100, 1));
    assert_int_equal(atomic_load(&w->shared.budget.used) % 100, 50); // the batch is charged until the last has encoded
    delivery_end(&d, NULL);
    assert_null(d.batch);
    assert_null(d.ticket);
}

static void test_verdict_make_cuts(void **state)
{
    (void)state;
    char longer[2 * VERDICT_TEXT_MAX];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    struct verdict v = verdict_make(VERDICT_REFUSED, "%s", longer);
    assert_int_equal(v.kind, VERDICT_REFUSED);
    assert_int_equal(strlen(v.text), VERDICT_TEXT_MAX - 1);
}

static void test_dropped_on_purpose_is_ok(void **state)
{
    (void)state;
    struct shared s;
    struct told t;
    shared_init(&s, 1000);
    struct delivery d = begin_delivery(&s, &t, 70);
    batch_unref(&d.batch); // as a processor that drops
    delivery_end(&d, NULL);
    assert_int_equal(atomic_load(&s.budget.used), 0);
    shared_run(&s);
    assert_int_equal(t.held, 1);
    assert_int_equal(t.final, 1);
    assert_int_equal(t.verdict.kind, VERDICT_OK);
    shared_fini(&s);
}

static void test_nobody_waits(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    shared_init(&s, 1000);
    peer_prepare(&p, &s, "fake/a");
    peer_open(&p);
    const struct waiter nobody = {0};
    struct delivery d = delivery_create(fake_batch(1), &nobody, &s.budget, 0);
    ticket_add_record(d.ticket, p.queue, new_record(100, 1));
    delivery_end(&d, NULL);
    shared_run(&s);
    peer_answer(&p, VERDICT_OK);
    peer_close(&p);
    shared_fini(&s);
}

static void test_who_does_not_want_held_hears_final_only(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t = {.shared = &s};
    shared_init(&s, 1000);
    peer_prepare(&p, &s, "fake/a");
    peer_open(&p);
    const struct waiter waiter = {.loop = &s.loop, .wants_held = false, .on_verdict = on_told, .arg = &t};
    struct delivery d = delivery_create(fake_batch(1), &waiter, &s.budget, 0);
    ticket_add_record(d.ticket, p.queue, new_record(100, 1));
    delivery_end(&d, NULL);
    shared_run(&s);
    assert_int_equal(t.held, 0);
    peer_answer(&p, VERDICT_OK);
    shared_run(&s);
    assert_int_equal(t.held, 0);
    assert_int_equal(t.final, 1);
    peer_close(&p);
    shared_fini(&s);
}

static void test_final_waits_for_every_branch(void **state)
{
    (void)state;
    struct two w;
    struct told t;
    two_open(&w, 1000);
    offer_both(&w, &t);
    shared_run(&w.shared);
    assert_int_equal(t.held, 1);
    peer_answer(&w.b, VERDICT_OK);
    shared_run(&w.shared);
    assert_int_equal(t.final, 0);
    peer_answer(&w.a, VERDICT_OK);
    shared_run(&w.shared);
    assert_int_equal(t.held, 1);
    assert_int_equal(t.final, 1);
    two_close(&w);
}

static void test_several_records_are_one_delivery(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    shared_init(&s, 1000);
    peer_prepare(&p, &s, "fake/a");
    peer_open(&p);
    struct delivery d = begin_delivery(&s, &t, 0);
    for (uint64_t i = 1; i <= 3; i++)
        ticket_add_record(d.ticket, p.queue, new_record(10, i));
    delivery_end(&d, NULL);
    for (uint64_t i = 1; i <= 3; i++) {
        shared_run(&s);
        assert_int_equal(t.final, 0);
        assert_int_equal(p.last_samples, i); // in order
        peer_answer(&p, i == 2 ? VERDICT_PARTIAL : VERDICT_OK);
    }
    shared_run(&s);
    assert_int_equal(t.final, 1);
    assert_int_equal(t.verdict.kind, VERDICT_PARTIAL);
    assert_int_equal(t.verdict.rejected_profiles, 1);
    peer_close(&p);
    shared_fini(&s);
}

// What a branch had to leave out is known before anything is sent; what a peer says is not.
static void test_held_tells_what_was_left_out(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    struct verdict partial = verdict_make(VERDICT_PARTIAL, "one was too large");
    partial.rejected_profiles = 1;
    shared_init(&s, 1000);
    peer_prepare(&p, &s, "fake/a");
    peer_open(&p);
    struct delivery d = begin_delivery(&s, &t, 0);
    ticket_add_record(d.ticket, p.queue, new_record(10, 1));
    delivery_end(&d, &partial);
    shared_run(&s);
    assert_int_equal(t.held, 1);
    assert_int_equal(t.held_verdict.kind, VERDICT_PARTIAL);
    assert_int_equal(t.held_verdict.rejected_profiles, 1);
    assert_string_equal(t.held_verdict.text, "one was too large");
    peer_answer(&p, VERDICT_PARTIAL);
    shared_run(&s);
    assert_int_equal(t.verdict.rejected_profiles, 2);
    offer(&p, &t, 10, 1);
    shared_run(&s);
    assert_int_equal(t.held_verdict.kind, VERDICT_OK);
    peer_answer(&p, VERDICT_OK);
    peer_close(&p);
    shared_fini(&s);
}

static void test_the_gravest_verdict_counts(void **state)
{
    (void)state;
    static const enum verdict_kind cases[][3] = {
        {VERDICT_OK, VERDICT_PARTIAL, VERDICT_PARTIAL},    {VERDICT_PARTIAL, VERDICT_OK, VERDICT_PARTIAL},
        {VERDICT_PARTIAL, VERDICT_RETRY, VERDICT_RETRY},   {VERDICT_REFUSED, VERDICT_RETRY, VERDICT_REFUSED},
        {VERDICT_RETRY, VERDICT_REFUSED, VERDICT_REFUSED}, {VERDICT_REFUSED, VERDICT_OK, VERDICT_REFUSED},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct two w;
        struct told t;
        two_open(&w, 1000);
        w.a.retry.enabled = w.b.retry.enabled = false;
        offer_both(&w, &t);
        shared_run(&w.shared);
        peer_answer(&w.a, cases[i][0]);
        peer_answer(&w.b, cases[i][1]);
        shared_run(&w.shared);
        assert_int_equal(t.verdict.kind, cases[i][2]);
        two_close(&w);
    }
}

static void test_all_or_nothing(void **state)
{
    (void)state;
    struct two w;
    struct told filling[2], t;
    two_open(&w, 1000);
    w.b.settings.queue_size = 1;
    offer(&w.b, &filling[0], 100, 1);
    shared_run(&w.shared);
    offer(&w.b, &filling[1], 100, 1); // b: one in flight, one waits
    shared_run(&w.shared);
    offer_both(&w, &t);
    shared_run(&w.shared);
    assert_int_equal(t.held, 0);
    assert_int_equal(t.final, 1);
    assert_int_equal(t.verdict.kind, VERDICT_RETRY);
    assert_non_null(strstr(t.verdict.text, "fake/b"));
    assert_true(queue_idle(w.a.queue)); // a has room, but gets nothing
    assert_int_equal(w.a.attempts, 0);
    assert_int_equal(peer_counter(&w.b, ENQUEUE_FAILED), 1);
    assert_int_equal(atomic_load(&w.shared.budget.used), 200);
    peer_answer(&w.b, VERDICT_OK);
    shared_run(&w.shared);
    peer_answer(&w.b, VERDICT_OK);
    shared_run(&w.shared);
    offer_both(&w, &t); // now both have room
    shared_run(&w.shared);
    assert_int_equal(t.held, 1);
    peer_answer(&w.a, VERDICT_OK);
    peer_answer(&w.b, VERDICT_OK);
    shared_run(&w.shared);
    assert_int_equal(t.verdict.kind, VERDICT_OK);
    two_close(&w);
}

static void test_a_dead_branch_that_drops_starves_nobody(void **state)
{
    (void)state;
    struct two w;
    struct told told[20];
    two_open(&w, 10000);
    w.b.settings.queue_size = 1;
    w.b.settings.on_full = QUEUE_DROP_NEW;
    w.a.auto_ok = true;
    for (size_t i = 0; i < COUNT_OF(told); i++) {
        offer_both(&w, &told[i]);
        shared_run(&w.shared);
    }
    assert_int_equal(peer_counter(&w.a, SENT), 20);
    assert_int_equal(peer_counter(&w.b, DROPPED), 18);
    for (size_t i = 2; i < COUNT_OF(told); i++)
        assert_int_equal(told[i].verdict.kind, VERDICT_OK);
    while (!queue_idle(w.b.queue)) {
        peer_answer(&w.b, VERDICT_OK);
        shared_run(&w.shared);
    }
    two_close(&w);
}

// One branch is out of memory, the other has encoded: the waiter offers the whole again, so nothing may go out.
static void test_a_branch_that_wants_a_retry_holds_back_the_others(void **state)
{
    (void)state;
    struct two w;
    struct told t;
    const struct verdict memory = verdict_make(VERDICT_RETRY, "out of memory");
    two_open(&w, 1000);
    struct delivery d = begin_delivery(&w.shared, &t, 50);
    struct delivery other = delivery_share(&d);
    ticket_add_record(other.ticket, w.a.queue, new_record(100, 1));
    delivery_end(&other, NULL);
    delivery_end(&d, &memory);
    shared_run(&w.shared);
    assert_int_equal(t.held, 0);
    assert_int_equal(t.verdict.kind, VERDICT_RETRY);
    assert_string_equal(t.verdict.text, "out of memory");
    assert_int_equal(w.a.attempts, 0);
    two_close(&w);
}

// One branch cannot encode it, for good: the other goes on, but nobody says held.
static void test_a_branch_that_refuses_lets_the_others_go(void **state)
{
    (void)state;
    struct two w;
    struct told t;
    const struct verdict refused = verdict_make(VERDICT_REFUSED, "cannot be encoded");
    two_open(&w, 1000);
    struct delivery d = begin_delivery(&w.shared, &t, 50);
    struct delivery other = delivery_share(&d);
    ticket_add_record(other.ticket, w.a.queue, new_record(100, 1));
    delivery_end(&other, NULL);
    delivery_end(&d, &refused);
    shared_run(&w.shared);
    assert_int_equal(t.held, 0);
    assert_int_equal(t.final, 0);
    peer_answer(&w.a, VERDICT_OK);
    shared_run(&w.shared);
    assert_int_equal(t.verdict.kind, VERDICT_REFUSED);
    two_close(&w);
}

enum { THREADS = 4, ROUNDS = 200 };

struct storm {
    struct two *two;
    struct told told[ROUNDS];
};

static void *deliver_many(void *arg)
{
    struct storm *s = arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct delivery d = begin_delivery(&s->two->shared, &s->told[i], 0);
        struct delivery other = delivery_share(&d);
        ticket_add_record(other.ticket, s->two->a.queue, new_record(10, 1));
        delivery_end(&other, NULL);
        ticket_add_record(d.ticket, s->two->b.queue, new_record(10, 1));
        delivery_end(&d, NULL);
    }
    return NULL;
}

static bool all_final(const struct storm *storms)
{
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < ROUNDS; j++)
            if (storms[i].told[j].final == 0)
                return false;
    return true;
}

// From many threads into two queues with little room: each delivery is settled once, each way counts the same.
// --- parts that are kept ---

struct keeper {
    struct consumer consumer;
    struct delivery kept[2];
    size_t count;
};

static void keeper_take(struct consumer *self, struct delivery d)
{
    struct keeper *k = (struct keeper *)self;
    assert_true(k->count < COUNT_OF(k->kept));
    k->kept[k->count++] = d;
}

// The part that is kept, and a record of 100 bytes for peer a.
static void keep_one(struct two *w, struct keeper *k, struct told *t)
{
    *k = (struct keeper){.consumer.take = keeper_take};
    struct delivery d = begin_delivery(&w->shared, t, 50), other = delivery_share(&d);
    delivery_keep(&d, &k->consumer);
    shared_run(&w->shared);
    assert_int_equal(k->count + t->held, 0); // not before the rest has room
    ticket_add_record(other.ticket, w->a.queue, new_record(100, 1));
    delivery_end(&other, NULL);
    shared_run(&w->shared);
}

static void test_kept(void **state)
{
    (void)state;
    struct two w;
    struct keeper k;
    struct told t;
    two_open(&w, 1000);
    keep_one(&w, &k, &t);
    assert_int_equal(k.count, 1);
    assert_int_equal(k.kept[0].batch->profile_count, 1);
    assert_int_equal(t.held, 1);
    peer_answer(&w.a, VERDICT_OK);
    shared_run(&w.shared);
    assert_int_equal(t.final, 0);
    assert_int_equal(atomic_load(&w.shared.budget.used), 50); // of what is kept
    const struct verdict refused = verdict_make(VERDICT_REFUSED, "as told");
    delivery_end(&k.kept[0], &refused);
    shared_run(&w.shared);
    assert_int_equal(t.held, 1);
    assert_int_equal(t.final, 1);
    assert_int_equal(t.verdict.kind, VERDICT_REFUSED);
    two_close(&w);
}

static void test_not_kept_while_the_rest_has_no_room(void **state)
{
    (void)state;
    struct two w;
    struct keeper k;
    struct told t;
    two_open(&w, 120); // not for both
    keep_one(&w, &k, &t);
    assert_int_equal(k.count + t.held, 0);
    assert_int_equal(t.final, 1);
    assert_int_equal(t.verdict.kind, VERDICT_RETRY);
    assert_false(t.verdict.tried);
    assert_int_equal(atomic_load(&w.shared.budget.used), 0);
    two_close(&w);
}

static void test_not_kept_if_another_part_wants_a_retry(void **state)
{
    (void)state;
    struct two w;
    struct keeper k = {.consumer.take = keeper_take};
    struct told t;
    two_open(&w, 1000);
    struct delivery d = begin_delivery(&w.shared, &t, 50), other = delivery_share(&d);
    const struct verdict later = verdict_make(VERDICT_RETRY, "not now");
    delivery_keep(&d, &k.consumer);
    delivery_end(&other, &later);
    shared_run(&w.shared);
    assert_int_equal(k.count + t.held, 0);
    assert_int_equal(t.verdict.kind, VERDICT_RETRY);
    two_close(&w);
}

// Two pipelines keep it.
static void test_kept_twice(void **state)
{
    (void)state;
    struct two w;
    struct keeper k = {.consumer.take = keeper_take};
    struct told t;
    two_open(&w, 1000);
    struct delivery d = begin_delivery(&w.shared, &t, 50), other = delivery_share(&d);
    delivery_keep(&d, &k.consumer);
    delivery_keep(&other, &k.consumer);
    shared_run(&w.shared);
    assert_int_equal(k.count, 2);
    assert_int_equal(t.held, 1);
    for (size_t i = 0; i < k.count; i++) {
        assert_int_equal(t.final, 0);
        delivery_end(&k.kept[i], NULL);
        shared_run(&w.shared);
    }
    assert_int_equal(t.final, 1);
    two_close(&w);
}

static void test_what_a_peer_had_was_tried(void **state)
{
    (void)state;
    struct two w;
    struct told t;
    two_open(&w, 1000);
    w.a.retry.enabled = false;
    offer(&w.a, &t, 10, 1);
    shared_run(&w.shared);
    peer_answer(&w.a, VERDICT_RETRY);
    shared_run(&w.shared);
    assert_int_equal(t.verdict.kind, VERDICT_RETRY);
    assert_true(t.verdict.tried);
    two_close(&w);
}

static void test_storm(void **state)
{
    (void)state;
    static struct storm storms[THREADS];
    struct two w;
    pthread_t threads[THREADS];
    two_open(&w, 100000);
    w.a.auto_ok = w.b.auto_ok = true;
    w.b.settings.queue_size = 2;
    for (int i = 0; i < THREADS; i++) {
        memset(&storms[i], 0, sizeof storms[i]);
        storms[i].two = &w;
        assert_int_equal(pthread_create(&threads[i], NULL, deliver_many, &storms[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    while (!all_final(storms))
        loop_step(&w.shared.loop.uv);
    int64_t ok = 0;
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < ROUNDS; j++)
            ok += storms[i].told[j].verdict.kind == VERDICT_OK;
    assert_int_equal(peer_counter(&w.a, SENT), ok);
    assert_int_equal(peer_counter(&w.b, SENT), ok);
    two_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdict_make_cuts),
        cmocka_unit_test(test_dropped_on_purpose_is_ok),
        cmocka_unit_test(test_nobody_waits),
        cmocka_unit_test(test_who_does_not_want_held_hears_final_only),
        cmocka_unit_test(test_final_waits_for_every_branch),
        cmocka_unit_test(test_several_records_are_one_delivery),
        cmocka_unit_test(test_held_tells_what_was_left_out),
        cmocka_unit_test(test_the_gravest_verdict_counts),
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_a_dead_branch_that_drops_starves_nobody),
        cmocka_unit_test(test_a_branch_that_wants_a_retry_holds_back_the_others),
        cmocka_unit_test(test_a_branch_that_refuses_lets_the_others_go),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_not_kept_while_the_rest_has_no_room),
        cmocka_unit_test(test_not_kept_if_another_part_wants_a_retry),
        cmocka_unit_test(test_kept_twice),
        cmocka_unit_test(test_what_a_peer_had_was_tried),
        cmocka_unit_test(test_storm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
