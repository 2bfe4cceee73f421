// SPDX-License-Identifier: Apache-2.0
// Several deliveries that became one: each hears what became of the whole, never before it is held.
#include "tests/unit/pipeline/queue_fixture.h"

enum { MEMBERS = 3, CHARGE = 50, JOINT_CHARGE = 70 };

struct joined {
    struct shared shared;
    struct peer peer;
    struct told told[MEMBERS];
    struct delivery members[MEMBERS], joint;
};

static void joined_open(struct joined *j, size_t budget)
{
    shared_init(&j->shared, budget);
    peer_prepare(&j->peer, &j->shared, "fake/a");
    for (size_t i = 0; i < MEMBERS; i++)
        j->members[i] = begin_delivery(&j->shared, &j->told[i], CHARGE);
}

static void joined_make(struct joined *j)
{
    peer_open(&j->peer);
    assert_true(budget_try_take(&j->shared.budget, JOINT_CHARGE));
    assert_true(delivery_join(fake_batch(3), j->members, MEMBERS, &j->shared.budget, JOINT_CHARGE, &j->joint));
}

static void joined_send(struct joined *j)
{
    ticket_add_record(j->joint.ticket, j->peer.queue, new_record(100, 3));
    delivery_end(&j->joint, NULL);
    shared_run(&j->shared);
}

static void joined_close(struct joined *j)
{
    peer_close(&j->peer);
    shared_fini(&j->shared);
}

static void assert_told(const struct joined *j, unsigned held, unsigned final, enum verdict_kind kind)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        assert_int_equal(j->told[i].held, held);
        assert_int_equal(j->told[i].final, final);
        if (final != 0)
            assert_int_equal(j->told[i].verdict.kind, kind);
    }
}

static void test_all_hear_held_then_final(void **state)
{
    (void)state;
    struct joined j;
    joined_open(&j, 1000);
    joined_make(&j);
    for (size_t i = 0; i < MEMBERS; i++)
        assert_null(j.members[i].batch);
    shared_run(&j.shared);
    assert_told(&j, 0, 0, VERDICT_OK);                                  // nothing is promised before it is held
    assert_int_equal(atomic_load(&j.shared.budget.used), JOINT_CHARGE); // in place of the members'
    joined_send(&j);
    assert_told(&j, 1, 0, VERDICT_OK);
    assert_int_equal(atomic_load(&j.shared.budget.used), 100);
    peer_answer(&j.peer, VERDICT_OK);
    shared_run(&j.shared);
    assert_told(&j, 1, 1, VERDICT_OK);
    joined_close(&j);
}

static void test_all_hear_that_a_queue_is_full(void **state)
{
    (void)state;
    struct joined j;
    joined_open(&j, 1000);
    j.peer.settings.queue_size = 1;
    joined_make(&j);
    struct told other;
    offer(&j.peer, &other, 10, 1);
    joined_send(&j);
    assert_told(&j, 0, 1, VERDICT_RETRY);
    for (size_t i = 0; i < MEMBERS; i++)
        assert_true(j.told[i].verdict.queue_full);
    peer_answer(&j.peer, VERDICT_OK);
    joined_close(&j);
}

static void test_all_hear_of_what_fails_later(void **state)
{
    (void)state;
    struct joined j;
    joined_open(&j, 1000);
    joined_make(&j);
    joined_send(&j);
    peer_answer(&j.peer, VERDICT_REFUSED);
    shared_run(&j.shared);
    assert_told(&j, 1, 1, VERDICT_REFUSED);
    joined_close(&j);
}

static void test_without_a_queue_held_is_not_before_final(void **state)
{
    (void)state;
    struct joined j;
    joined_open(&j, 1000);
    j.peer.settings.enabled = false;
    joined_make(&j);
    joined_send(&j);
    assert_told(&j, 0, 0, VERDICT_OK);
    peer_answer(&j.peer, VERDICT_OK);
    shared_run(&j.shared);
    for (size_t i = 0; i < MEMBERS; i++) {
        assert_int_equal(j.told[i].final, 1);
        assert_int_equal(j.told[i].verdict.kind, VERDICT_OK);
    }
    joined_close(&j);
}

// Each has one profile, so each hears of one, however many of the whole were rejected.
static void test_partial_is_shared(void **state)
{
    (void)state;
    struct joined j;
    joined_open(&j, 1000);
    joined_make(&j);
    struct verdict some = verdict_make(VERDICT_PARTIAL, "two are odd");
    some.rejected_profiles = 2;
    struct delivery part = delivery_share(&j.joint);
    delivery_end(&part, &some);
    joined_send(&j);
    assert_told(&j, 1, 0, VERDICT_PARTIAL);
    assert_int_equal(j.told[0].held_verdict.kind, VERDICT_PARTIAL);
    assert_int_equal(j.told[0].held_verdict.rejected_profiles, 1);
    peer_answer(&j.peer, VERDICT_PARTIAL); // one more
    shared_run(&j.shared);
    assert_told(&j, 1, 1, VERDICT_PARTIAL);
    assert_int_equal(j.told[0].verdict.rejected_profiles, 1);
    joined_close(&j);
}

// The other pipeline of a member must wait for the joint one, and goes with it.
static void test_other_branches_of_a_member(void **state)
{
    (void)state;
    struct joined j;
    struct peer other;
    joined_open(&j, 1000);
    peer_prepare(&other, &j.shared, "fake/b");
    peer_open(&other);
    struct delivery branch = delivery_share(&j.members[0]);
    ticket_add_record(branch.ticket, other.queue, new_record(10, 1));
    delivery_end(&branch, NULL);
    joined_make(&j);
    shared_run(&j.shared);
    assert_int_equal(other.attempts, 0);
    joined_send(&j);
    assert_told(&j, 1, 0, VERDICT_OK);
    assert_int_equal(other.attempts, 1);
    peer_answer(&j.peer, VERDICT_OK);
    shared_run(&j.shared);
    assert_int_equal(j.told[0].final, 0);
    assert_int_equal(j.told[1].final, 1);
    peer_answer(&other, VERDICT_OK);
    shared_run(&j.shared);
    assert_told(&j, 1, 1, VERDICT_OK);
    peer_close(&other);
    joined_close(&j);
}

// What cannot be queued is offered again as a whole: the other pipeline must not have sent it.
static void test_refused_before_it_is_held(void **state)
{
    (void)state;
    struct joined j;
    struct peer other;
    joined_open(&j, 1000);
    peer_prepare(&other, &j.shared, "fake/b");
    peer_open(&other);
    struct delivery branch = delivery_share(&j.members[0]);
    ticket_add_record(branch.ticket, other.queue, new_record(10, 1));
    delivery_end(&branch, NULL);
    joined_make(&j);
    const struct verdict later = verdict_make(VERDICT_RETRY, "not now");
    delivery_end(&j.joint, &later);
    shared_run(&j.shared);
    assert_told(&j, 0, 1, VERDICT_RETRY);
    assert_int_equal(other.attempts, 0);
    peer_close(&other);
    joined_close(&j);
}

// Of the whole there is a copy if each sender has its own.
static void test_copies(void **state)
{
    (void)state;
    for (unsigned last_has_one = 0; last_has_one < 2; last_has_one++) {
        struct joined j;
        shared_init(&j.shared, 1000);
        peer_prepare(&j.peer, &j.shared, "fake/a");
        for (size_t i = 0; i < MEMBERS; i++) {
            j.shared.have_copies = i + 1 < MEMBERS || last_has_one;
            j.members[i] = begin_delivery(&j.shared, &j.told[i], CHARGE);
        }
        joined_make(&j);
        assert_int_equal(ticket_has_copy(j.joint.ticket), last_has_one);
        joined_send(&j);
        peer_answer(&j.peer, VERDICT_OK);
        shared_run(&j.shared);
        joined_close(&j);
    }
}

// While another pipeline has the batch of a member, its charge stays.
static void test_charge_of_what_others_have(void **state)
{
    (void)state;
    struct joined j;
    joined_open(&j, 1000);
    struct delivery branch = delivery_share(&j.members[0]);
    joined_make(&j);
    assert_int_equal(atomic_load(&j.shared.budget.used), CHARGE + JOINT_CHARGE);
    delivery_end(&branch, NULL);
    joined_send(&j);
    assert_int_equal(atomic_load(&j.shared.budget.used), 100);
    peer_answer(&j.peer, VERDICT_OK);
    shared_run(&j.shared);
    joined_close(&j);
}

// The joint one is on its way: a full queue of the other pipeline must not make the member come again.
static void full_queue_beside(bool joint_has_queue)
{
    struct joined j;
    struct peer other;
    struct told told[2];
    joined_open(&j, 1000);
    j.peer.settings.enabled = joint_has_queue;
    peer_prepare(&other, &j.shared, "fake/b");
    other.settings.queue_size = 1;
    peer_open(&other);
    for (size_t i = 0; i < COUNT_OF(told); i++) { // one is being sent, one waits
        offer(&other, &told[i], 10, 1);
        shared_run(&j.shared);
    }
    struct delivery branch = delivery_share(&j.members[0]);
    ticket_add_record(branch.ticket, other.queue, new_record(10, 1));
    delivery_end(&branch, NULL);
    joined_make(&j);
    joined_send(&j);
    peer_answer(&j.peer, VERDICT_OK);
    shared_run(&j.shared);
    while (other.send_count > 0) {
        peer_answer(&other, VERDICT_OK);
        shared_run(&j.shared);
    }
    assert_int_equal(other.attempts, 3);
    assert_int_equal(peer_counter(&other, ENQUEUE_FAILED), 0);
    assert_told(&j, 1, 1, VERDICT_OK);
    peer_close(&other);
    joined_close(&j);
}

static void test_full_queue_beside(void **state)
{
    (void)state;
    full_queue_beside(true);
}

static void test_full_queue_beside_one_without_a_queue(void **state)
{
    (void)state;
    full_queue_beside(false);
}

static void test_joints_of_joints(void **state)
{
    (void)state;
    struct joined j;
    struct delivery outer;
    joined_open(&j, 1000);
    joined_make(&j);
    assert_true(delivery_join(fake_batch(3), &j.joint, 1, &j.shared.budget, 0, &outer));
    j.joint = outer;
    joined_send(&j);
    assert_told(&j, 1, 0, VERDICT_OK);
    peer_answer(&j.peer, VERDICT_OK);
    shared_run(&j.shared);
    assert_told(&j, 1, 1, VERDICT_OK);
    joined_close(&j);
}

static void test_out_of_memory_takes_nothing(void **state)
{
    (void)state;
    struct joined j;
    struct batch *batch = fake_batch(3);
    joined_open(&j, 1000);
    peer_open(&j.peer);
    mem_fail_from(1);
    assert_false(delivery_join(batch, j.members, MEMBERS, &j.shared.budget, 0, &j.joint));
    mem_fail_from(0);
    batch_unref(&batch);
    for (size_t i = 0; i < MEMBERS; i++) {
        assert_non_null(j.members[i].batch);
        delivery_end(&j.members[i], NULL);
    }
    shared_run(&j.shared);
    assert_told(&j, 1, 1, VERDICT_OK);
    joined_close(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_hear_held_then_final),
        cmocka_unit_test(test_all_hear_that_a_queue_is_full),
        cmocka_unit_test(test_all_hear_of_what_fails_later),
        cmocka_unit_test(test_without_a_queue_held_is_not_before_final),
        cmocka_unit_test(test_partial_is_shared),
        cmocka_unit_test(test_other_branches_of_a_member),
        cmocka_unit_test(test_refused_before_it_is_held),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_charge_of_what_others_have),
        cmocka_unit_test(test_full_queue_beside),
        cmocka_unit_test(test_full_queue_beside_one_without_a_queue),
        cmocka_unit_test(test_joints_of_joints),
        cmocka_unit_test(test_out_of_memory_takes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
