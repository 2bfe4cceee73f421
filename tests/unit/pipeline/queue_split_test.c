// SPDX-License-Identifier: Apache-2.0
// Records that the peer finds too large become smaller ones, without loss and without duplicate.
#include "tests/support/loop_step.h"
#include "tests/unit/pipeline/queue_fixture.h"

static struct workers *open_peer(struct shared *s, struct peer *p, size_t budget)
{
    shared_init(s, budget);
    peer_prepare(p, s, "fake/q");
    p->workers = workers_create(1, 0, 0);
    p->split = (struct split_script){.parts = 2};
    peer_open(p);
    return p->workers;
}

static void end_peer(struct peer *p)
{
    struct shared *s = p->shared;
    peer_close(p);
    workers_stop(p->workers);
    workers_destroy(&p->workers);
    shared_fini(s);
}

static void run_until_attempts(struct peer *p, size_t attempts)
{
    while (p->attempts < attempts)
        loop_step(&p->shared->loop.uv);
}

static void run_until_final(struct told *t)
{
    while (t->final == 0)
        loop_step(&t->shared->loop.uv);
}

// Of the oldest attempt, and nothing is idle before its parts are there.
static void refuse_size(struct peer *p)
{
    struct send *s = p->sends[0];
    p->send_count--;
    memmove(p->sends, p->sends + 1, p->send_count * sizeof *p->sends);
    peer_refuse_size(s);
    assert_false(queue_idle(p->queue));
}

static void parts_take_its_place_in_front(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told large, next;
    open_peer(&s, &p, 1000);
    offer(&p, &large, 100, 20);
    offer(&p, &next, 100, 7);
    run_until_attempts(&p, 1);
    refuse_size(&p);
    assert_int_equal(peer_counter(&p, IN_FLIGHT), 1); // being split
    static const uint64_t order[] = {10, 10, 7};
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        run_until_attempts(&p, 2 + i);
        assert_int_equal(large.final, i == 2);
        assert_int_equal(p.last_samples, order[i]);
        assert_int_equal(peer_counter(&p, IN_FLIGHT), 1);
        assert_int_equal(atomic_load(&s.budget.used), 100 + (2 - i) * 55); // what is there of memory
        peer_answer(&p, VERDICT_OK);
        shared_run(&s);
    }
    assert_int_equal(large.held, 1);
    assert_int_equal(large.verdict.kind, VERDICT_OK);
    assert_int_equal(next.verdict.kind, VERDICT_OK);
    assert_int_equal(peer_counter(&p, SENT), 27);
    assert_int_equal(peer_counter(&p, SEND_FAILED), 0);
    assert_int_equal(atomic_load(&p.splits), 1);
    end_peer(&p);
}

static void parts_of_parts(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    p.most_bytes = 40;
    p.auto_ok = true;
    offer(&p, &t, 100, 16);
    run_until_final(&t);
    assert_int_equal(t.verdict.kind, VERDICT_OK);
    assert_int_equal(atomic_load(&p.splits), 3);
    assert_int_equal(p.attempts, 7);
    assert_int_equal(peer_counter(&p, SENT), 16);
    end_peer(&p);
}

static void fates_add_up(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    p.split = (struct split_script){.parts = 3, .drops = true};
    offer(&p, &t, 90, 30);
    run_until_attempts(&p, 1);
    refuse_size(&p);
    static const enum verdict_kind answers[] = {VERDICT_PARTIAL, VERDICT_REFUSED, VERDICT_OK};
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        run_until_attempts(&p, 2 + i);
        assert_int_equal(t.final, 0);
        peer_answer(&p, answers[i]);
    }
    shared_run(&s);
    assert_int_equal(t.final, 1);
    assert_int_equal(t.verdict.kind, VERDICT_REFUSED);
    assert_int_equal(t.verdict.rejected_profiles, 2); // the peer's and the one dropped
    assert_int_equal(peer_counter(&p, SENT), 20);
    assert_int_equal(peer_counter(&p, SEND_FAILED), 10);
    end_peer(&p);
}

static void nothing_is_left(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    p.split = (struct split_script){.drops = true};
    offer(&p, &t, 90, 30);
    run_until_attempts(&p, 1);
    refuse_size(&p);
    run_until_final(&t);
    assert_int_equal(t.verdict.kind, VERDICT_PARTIAL);
    assert_int_equal(t.verdict.rejected_profiles, 1);
    assert_string_equal(t.verdict.text, "told to drop");
    assert_true(queue_idle(p.queue));
    assert_int_equal(peer_counter(&p, SENT) + peer_counter(&p, SEND_FAILED), 0);
    end_peer(&p);
}

static void without_memory_it_is_tried_again(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    p.split.rc = ERR_MEMORY;
    offer(&p, &t, 90, 30);
    run_until_attempts(&p, 1);
    refuse_size(&p);
    run_until_attempts(&p, 2); // the whole, after the back-off
    assert_int_equal(p.last_samples, 30);
    assert_int_equal(peer_counter(&p, RETRIES), 1);
    p.split.rc = ERR_OK;
    refuse_size(&p);
    for (size_t i = 0; i < 2; i++) {
        run_until_attempts(&p, 3 + i);
        peer_answer(&p, VERDICT_OK);
    }
    run_until_final(&t);
    assert_int_equal(t.verdict.kind, VERDICT_OK);
    assert_int_equal(peer_counter(&p, SENT), 30);
    end_peer(&p);
}

static void what_cannot_be_split_is_refused(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    struct workers *workers = open_peer(&s, &p, 1000);
    p.split.rc = ERR_INVALID;
    offer(&p, &t, 90, 30);
    run_until_attempts(&p, 1);
    refuse_size(&p);
    run_until_final(&t);
    assert_int_equal(t.verdict.kind, VERDICT_REFUSED);
    assert_string_equal(t.verdict.text, "too large, as told");
    assert_int_equal(peer_counter(&p, SEND_FAILED), 30);
    assert_non_null(strstr(shared_log(&s), "cannot split a request: told to fail"));
    peer_close(&p);
    // An exporter that cannot split at all.
    p.workers = NULL;
    peer_open(&p);
    offer(&p, &t, 90, 30);
    run_until_attempts(&p, 2);
    peer_refuse_size(p.sends[--p.send_count]);
    run_until_final(&t);
    assert_int_equal(t.verdict.kind, VERDICT_REFUSED);
    assert_true(queue_idle(p.queue));
    p.workers = workers;
    end_peer(&p);
}

// The peer could not read it: what is made of it anew takes its place, or the peer's words are final.
static void what_cannot_be_read_is_made_anew(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    struct verdict v = verdict_make(VERDICT_REFUSED, "no such field, as told");
    v.unreadable = true;
    p.split.parts = 1;
    offer(&p, &t, 90, 30);
    run_until_attempts(&p, 1);
    send_done(p.sends[--p.send_count], &v);
    run_until_attempts(&p, 2);
    p.split.rc = ERR_INVALID;
    send_done(p.sends[--p.send_count], &v);
    run_until_final(&t);
    assert_int_equal(t.verdict.kind, VERDICT_REFUSED);
    assert_string_equal(t.verdict.text, "no such field, as told");
    assert_int_equal(peer_counter(&p, SEND_FAILED), 30);
    assert_non_null(strstr(shared_log(&s), "cannot rewrite a request: told to fail"));
    end_peer(&p);
}

static void answer_faulty(struct peer *p)
{
    struct verdict v = verdict_make(VERDICT_REFUSED, "no period, as told");
    v.faulty = true;
    send_done(p->sends[--p->send_count], &v);
}

// A peer that finds something in it wrong has the rest, and whoever waits hears how much it has not.
static void what_is_faulty_is_cut_out(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    p.split_is_cut = true;
    struct delivery d = begin_delivery(&s, &t, 0);
    struct record *r = new_record(90, 30);
    r->is_divisible = true;
    ticket_add_record(d.ticket, p.queue, r);
    delivery_end(&d, NULL);
    run_until_attempts(&p, 1);
    answer_faulty(&p);
    run_until_attempts(&p, 2);
    answer_faulty(&p); // of one resource
    run_until_attempts(&p, 3);
    peer_answer(&p, VERDICT_OK);
    run_until_final(&t);
    assert_int_equal(atomic_load(&p.splits), 1);
    assert_int_equal(t.verdict.kind, VERDICT_PARTIAL);
    assert_int_equal(t.verdict.rejected_profiles, 2);
    assert_string_equal(t.verdict.text, "no period, as told");
    assert_int_equal(peer_counter(&p, SENT), 15);
    assert_int_equal(peer_counter(&p, SEND_FAILED), 15);
    end_peer(&p);
}

static void all_of_it_is_faulty(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    p.split_is_cut = true;
    struct delivery d = begin_delivery(&s, &t, 0);
    struct record *r = new_record(90, 30);
    r->is_divisible = true;
    ticket_add_record(d.ticket, p.queue, r);
    delivery_end(&d, NULL);
    for (size_t i = 1; i <= 3; i++) {
        run_until_attempts(&p, i);
        answer_faulty(&p);
    }
    run_until_final(&t);
    assert_int_equal(t.verdict.kind, VERDICT_REFUSED);
    assert_string_equal(t.verdict.text, "no period, as told");
    end_peer(&p);
}

static void a_single_resource_is_not_cut(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    offer(&p, &t, 90, 30);
    run_until_attempts(&p, 1);
    answer_faulty(&p);
    run_until_final(&t);
    assert_int_equal(t.verdict.kind, VERDICT_REFUSED);
    assert_int_equal(p.attempts, 1);
    end_peer(&p);
}

// Parts were admitted with the whole: they need no room, but take it.
static void a_full_queue(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told large, waiting[3], more;
    open_peer(&s, &p, 400); // no byte is left for what the parts have more than the whole
    p.split.parts = 4;
    offer(&p, &large, 100, 40);
    run_until_attempts(&p, 1);
    for (size_t i = 0; i < COUNT_OF(waiting); i++)
        offer(&p, &waiting[i], 100, 1);
    refuse_size(&p);
    run_until_attempts(&p, 2);
    assert_int_equal(atomic_load(&s.budget.used), 400);
    offer(&p, &more, 1, 1);
    shared_run(&s);
    assert_int_equal(more.verdict.kind, VERDICT_RETRY);
    assert_true(more.verdict.queue_full);
    for (size_t i = 0; i < 7; i++) {
        run_until_attempts(&p, 2 + i);
        assert_int_equal(p.last_samples, i < 4 ? 10 : 1);
        peer_answer(&p, VERDICT_OK);
    }
    shared_run(&s);
    assert_int_equal(large.final + waiting[0].final + waiting[1].final + waiting[2].final, 4);
    assert_int_equal(peer_counter(&p, SENT), 43);
    end_peer(&p);
}

static void the_oldest_may_be_a_part(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told large, more;
    open_peer(&s, &p, 1000);
    p.settings.on_full = QUEUE_DROP_OLDEST;
    p.split.parts = 4;
    offer(&p, &large, 100, 40);
    run_until_attempts(&p, 1);
    refuse_size(&p);
    run_until_attempts(&p, 2);
    offer(&p, &more, 10, 1); // three parts wait and fill the queue
    assert_int_equal(peer_counter(&p, DROPPED), 10);
    for (size_t i = 0; i < 4; i++) {
        run_until_attempts(&p, 2 + i);
        peer_answer(&p, VERDICT_OK);
    }
    shared_run(&s);
    assert_int_equal(large.verdict.kind, VERDICT_OK);
    assert_int_equal(peer_counter(&p, SENT), 31);
    end_peer(&p);
}

static void a_queue_that_is_off(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    p.settings.enabled = false;
    offer(&p, &t, 100, 20);
    run_until_attempts(&p, 1);
    refuse_size(&p);
    for (size_t i = 0; i < 2; i++) {
        run_until_attempts(&p, 2 + i);
        peer_answer(&p, VERDICT_OK);
    }
    run_until_final(&t);
    assert_int_equal(t.held, 0);
    assert_int_equal(t.verdict.kind, VERDICT_OK);
    end_peer(&p);
}

// The end of the program neither loses parts nor waits for what never comes.
static void draining(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    s.have_copies = true;
    offer(&p, &t, 100, 20);
    run_until_attempts(&p, 1);
    refuse_size(&p);
    queue_drain(p.queue);
    assert_false(queue_idle(p.queue));
    run_until_attempts(&p, 2);
    peer_answer(&p, VERDICT_OK);
    run_until_attempts(&p, 3);
    peer_answer(&p, VERDICT_RETRY); // its last
    run_until_final(&t);
    assert_int_equal(t.verdict.kind, VERDICT_RETRY);
    assert_int_equal(peer_counter(&p, SENT), 10);
    assert_int_equal(peer_counter(&p, SEND_FAILED), 10);
    end_peer(&p);
}

static void abandoned_while_it_is_split(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    offer(&p, &t, 100, 20);
    run_until_attempts(&p, 1);
    refuse_size(&p);
    queue_abandon(p.queue);
    assert_int_equal(t.final, 0);
    run_until_attempts(&p, 2); // the service cancels and abandons again until all is idle
    peer_answer(&p, VERDICT_RETRY);
    queue_abandon(p.queue);
    run_until_final(&t);
    assert_int_equal(t.verdict.kind, VERDICT_RETRY);
    assert_int_equal(peer_counter(&p, SEND_FAILED), 20);
    assert_true(queue_idle(p.queue));
    end_peer(&p);
}

static void many_at_once(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    static struct told told[COUNT];
    struct shared s;
    struct peer p;
    shared_init(&s, 1 << 20);
    peer_prepare(&p, &s, "fake/q");
    p.settings.queue_size = COUNT;
    p.settings.num_consumers = 8;
    p.workers = workers_create(3, 0, 0);
    p.split.parts = 2;
    p.most_bytes = 60;
    p.auto_ok = true;
    peer_open(&p);
    for (size_t i = 0; i < COUNT; i++)
        offer(&p, &told[i], 200, 64);
    for (size_t i = 0; i < COUNT; i++)
        run_until_final(&told[i]);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(told[i].verdict.kind, VERDICT_OK);
    assert_int_equal(peer_counter(&p, SENT), COUNT * 64);
    assert_int_equal(atomic_load(&p.splits), COUNT * 3);
    end_peer(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_take_its_place_in_front),
        cmocka_unit_test(parts_of_parts),
        cmocka_unit_test(fates_add_up),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(without_memory_it_is_tried_again),
        cmocka_unit_test(what_cannot_be_split_is_refused),
        cmocka_unit_test(what_cannot_be_read_is_made_anew),
        cmocka_unit_test(what_is_faulty_is_cut_out),
        cmocka_unit_test(all_of_it_is_faulty),
        cmocka_unit_test(a_single_resource_is_not_cut),
        cmocka_unit_test(a_full_queue),
        cmocka_unit_test(the_oldest_may_be_a_part),
        cmocka_unit_test(a_queue_that_is_off),
        cmocka_unit_test(draining),
        cmocka_unit_test(abandoned_while_it_is_split),
        cmocka_unit_test(many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
