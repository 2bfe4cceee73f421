// SPDX-License-Identifier: Apache-2.0
#include "tests/support/loop_step.h"
#include "tests/unit/pipeline/queue_fixture.h"

static void open_peer(struct shared *s, struct peer *p, size_t budget)
{
    shared_init(s, budget);
    peer_prepare(p, s, "fake/q");
    peer_open(p);
}

static void end_peer(struct peer *p)
{
    peer_close(p);
    shared_fini(p->shared);
}

static void test_held_then_final(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    assert_true(queue_idle(p.queue));
    offer(&p, &t, 100, 7);
    assert_false(queue_idle(p.queue));
    assert_int_equal(t.held, 0); // told by the loop only
    shared_run(&s);
    assert_int_equal(t.held, 1);
    assert_int_equal(t.final, 0);
    assert_int_equal(atomic_load(&s.budget.used), 100);
    assert_int_equal(peer_counter(&p, IN_FLIGHT), 1);
    peer_answer(&p, VERDICT_OK);
    shared_run(&s);
    assert_int_equal(t.final, 1);
    assert_int_equal(t.verdict.kind, VERDICT_OK);
    assert_int_equal(peer_counter(&p, SENT), 7);
    assert_int_equal(peer_counter(&p, IN_FLIGHT), 0);
    end_peer(&p);
}

static void test_a_queue_that_is_off_does_not_say_held(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    shared_init(&s, 1000);
    peer_prepare(&p, &s, "fake/q");
    p.settings.enabled = false;
    peer_open(&p);
    assert_false(queue_holds(p.queue));
    offer(&p, &t, 100, 7);
    shared_run(&s);
    assert_int_equal(t.held, 0);
    peer_answer(&p, VERDICT_OK);
    shared_run(&s);
    assert_int_equal(t.held, 0);
    assert_int_equal(t.final, 1);
    end_peer(&p);
}

// Three wait, one more is in flight.
static void fill(struct peer *p, struct told told[4])
{
    for (int i = 0; i < 4; i++) {
        offer(p, &told[i], 100, (uint64_t)i + 1);
        shared_run(p->shared);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(told[i].held, 1);
}

static void answer_all(struct peer *p)
{
    while (!queue_idle(p->queue)) {
        peer_answer(p, VERDICT_OK);
        shared_run(p->shared);
    }
}

static void test_refuse_when_full(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told told[4], more;
    struct verdict refusal;
    open_peer(&s, &p, 1000);
    assert_true(queue_has_room(p.queue, &refusal));
    fill(&p, told);
    assert_false(queue_has_room(p.queue, &refusal));
    assert_non_null(strstr(refusal.text, "3 of 3 requests"));
    offer(&p, &more, 100, 50);
    shared_run(&s);
    assert_int_equal(more.held, 0);
    assert_int_equal(more.final, 1);
    assert_int_equal(more.verdict.kind, VERDICT_RETRY);
    assert_non_null(strstr(more.verdict.text, "fake/q"));
    assert_non_null(strstr(more.verdict.text, "3 of 3 requests"));
    assert_int_equal(peer_counter(&p, ENQUEUE_FAILED), 50);
    assert_int_equal(atomic_load(&s.budget.used), 400);
    answer_all(&p);
    for (int i = 0; i < 4; i++)
        assert_int_equal(told[i].verdict.kind, VERDICT_OK);
    assert_int_equal(peer_counter(&p, SENT), 1 + 2 + 3 + 4);
    end_peer(&p);
}

static void test_drop_new_when_full(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told told[4], more;
    open_peer(&s, &p, 1000);
    p.settings.on_full = QUEUE_DROP_NEW;
    fill(&p, told);
    assert_true(queue_has_room(p.queue, NULL)); // what does not fit is dropped, not refused
    offer(&p, &more, 100, 50);
    shared_run(&s);
    assert_int_equal(more.final, 1);
    assert_int_equal(more.verdict.kind, VERDICT_OK); // as was wanted
    assert_int_equal(peer_counter(&p, DROPPED), 50);
    assert_int_equal(peer_counter(&p, ENQUEUE_FAILED), 0);
    assert_int_equal(atomic_load(&s.budget.used), 400);
    answer_all(&p);
    assert_int_equal(peer_counter(&p, SENT), 1 + 2 + 3 + 4);
    end_peer(&p);
}

static void test_drop_oldest_when_full(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told told[4], more;
    open_peer(&s, &p, 1000);
    p.settings.on_full = QUEUE_DROP_OLDEST;
    fill(&p, told);
    offer(&p, &more, 100, 50);
    shared_run(&s);
    assert_int_equal(more.final, 0);
    assert_int_equal(told[0].final, 0); // in flight: not the queue's to drop
    assert_int_equal(told[1].final, 1);
    assert_int_equal(told[2].final, 0);
    assert_int_equal(peer_counter(&p, DROPPED), 2);
    answer_all(&p);
    assert_int_equal(peer_counter(&p, SENT), 1 + 3 + 4 + 50);
    assert_int_equal(more.verdict.kind, VERDICT_OK);
    end_peer(&p);
}

static void test_drop_oldest_for_memory(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told told[4], more;
    open_peer(&s, &p, 400);
    p.settings.on_full = QUEUE_DROP_OLDEST;
    fill(&p, told);
    p.settings.queue_size = 100; // room enough, but no memory
    offer(&p, &more, 150, 50);
    shared_run(&s);
    assert_int_equal(told[1].final + told[2].final, 2);
    assert_int_equal(told[3].final, 0);
    // More than all that waits could free: dropped itself, with all that waited.
    struct told huge;
    offer(&p, &huge, 350, 9);
    shared_run(&s);
    assert_int_equal(huge.final, 1);
    assert_int_equal(peer_counter(&p, DROPPED), 2 + 3 + 4 + 50 + 9);
    answer_all(&p);
    assert_int_equal(peer_counter(&p, SENT), 1);
    end_peer(&p);
}

static void test_budget_exhausted(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told a, b;
    open_peer(&s, &p, 150);
    offer(&p, &a, 100, 1);
    offer(&p, &b, 100, 1);
    shared_run(&s);
    assert_int_equal(b.verdict.kind, VERDICT_RETRY);
    assert_non_null(strstr(b.verdict.text, "100 of 150 bytes"));
    answer_all(&p);
    assert_int_equal(a.verdict.kind, VERDICT_OK);
    end_peer(&p);
}

static void test_sizers(void **state)
{
    (void)state;
    const struct {
        enum queue_sizer sizer;
        int64_t size;
    } cases[] = {{QUEUE_ITEMS, 30}, {QUEUE_BYTES, 300}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct shared s;
        struct peer p;
        struct told flying, a, b, c, d;
        open_peer(&s, &p, 100000);
        p.settings.sizer = (int)cases[i].sizer;
        p.settings.queue_size = cases[i].size;
        offer(&p, &flying, 100, 10);
        shared_run(&s);
        offer(&p, &a, 5000, 500); // larger than the whole queue: into an empty one it fits
        offer(&p, &b, 10, 1);
        shared_run(&s);
        assert_int_equal(a.held, 1);
        assert_int_equal(b.verdict.kind, VERDICT_RETRY);
        peer_answer(&p, VERDICT_OK);
        shared_run(&s); // a is in flight now
        offer(&p, &c, 200, 20);
        offer(&p, &d, 101, 11);
        shared_run(&s);
        assert_int_equal(c.held, 1);
        assert_int_equal(d.verdict.kind, VERDICT_RETRY);
        answer_all(&p);
        end_peer(&p);
    }
}

static void run_until_attempts(struct peer *p, size_t attempts)
{
    while (p->attempts < attempts)
        loop_step(&p->shared->loop.uv);
}

static void test_retry_then_success(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    offer(&p, &t, 100, 5);
    for (size_t i = 1; i <= 3; i++) {
        run_until_attempts(&p, i);
        peer_answer(&p, VERDICT_RETRY);
    }
    run_until_attempts(&p, 4);
    assert_int_equal(peer_counter(&p, IN_FLIGHT), 1);
    fake_world_advance(&s.world, 2 * NANOS_PER_SECOND);
    peer_answer(&p, VERDICT_OK);
    shared_run(&s);
    assert_int_equal(t.final, 1);
    assert_int_equal(t.verdict.kind, VERDICT_OK);
    assert_int_equal(peer_counter(&p, RETRIES), 3);
    assert_int_equal(peer_counter(&p, SENT), 5);
    assert_int_equal(peer_counter(&p, SEND_FAILED), 0);
    // One line per change of state.
    assert_non_null(strstr(shared_log(&s), "sending fails, will retry: as told"));
    assert_null(strstr(strstr(shared_log(&s), "sending fails") + 1, "sending fails"));
    assert_non_null(strstr(shared_log(&s), "sending works again after 2.0 s"));
    end_peer(&p);
}

// What began before the peer took something else tells nothing new; what begins after it does.
static void test_an_old_attempt_is_no_news(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told old, new;
    shared_init(&s, 1000);
    peer_prepare(&p, &s, "fake/q");
    p.settings.num_consumers = 2;
    peer_open(&p);
    offer(&p, &new, 100, 1);
    offer(&p, &old, 100, 1);
    run_until_attempts(&p, 2);
    fake_world_advance(&s.world, NANOS_PER_SECOND);
    peer_answer(&p, VERDICT_OK);
    peer_answer(&p, VERDICT_RETRY);
    assert_null(strstr(shared_log(&s), "sending fails"));
    run_until_attempts(&p, 3);
    peer_answer(&p, VERDICT_RETRY);
    assert_non_null(strstr(shared_log(&s), "sending fails, will retry: as told"));
    run_until_attempts(&p, 4);
    peer_answer(&p, VERDICT_OK);
    shared_run(&s);
    assert_int_equal(old.verdict.kind, VERDICT_OK);
    end_peer(&p);
}

static struct queue_health health_of(struct peer *p)
{
    struct queue_health h;
    queue_health(p->queue, &h);
    return h;
}

static void test_health(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t[3];
    open_peer(&s, &p, 1000);
    for (size_t i = 0; i < 3; i++)
        offer(&p, &t[i], 100, 5);
    run_until_attempts(&p, 1);
    struct queue_health h = health_of(&p);
    assert_false(h.failing);
    assert_int_equal(h.load, 2); // one is with the sender
    assert_int_equal(h.bytes, 200);
    assert_int_equal(h.capacity, p.settings.queue_size);
    assert_string_equal(h.unit, "requests");
    peer_answer(&p, VERDICT_RETRY);
    h = health_of(&p);
    assert_true(h.failing && !h.refused);
    assert_string_equal(h.error, "as told");
    int64_t since = h.failing_since_nanos;
    run_until_attempts(&p, 2);
    fake_world_advance(&s.world, NANOS_PER_SECOND);
    peer_answer(&p, VERDICT_REFUSED);
    h = health_of(&p);
    assert_true(h.failing && h.refused && h.failing_since_nanos == since);
    run_until_attempts(&p, 3);
    peer_answer(&p, VERDICT_PARTIAL);
    assert_false(health_of(&p).failing);
    run_until_attempts(&p, 4);
    peer_answer(&p, VERDICT_REFUSED);
    assert_true(health_of(&p).failing_since_nanos > since);
    end_peer(&p);
}

static void test_gives_up(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    shared_init(&s, 1000);
    peer_prepare(&p, &s, "fake/q");
    p.retry.max_elapsed_nanos = NANOS_PER_SECOND;
    peer_open(&p);
    offer(&p, &t, 100, 5);
    run_until_attempts(&p, 1);
    peer_answer(&p, VERDICT_RETRY);
    run_until_attempts(&p, 2);
    fake_world_advance(&s.world, NANOS_PER_SECOND);
    peer_answer(&p, VERDICT_RETRY);
    shared_run(&s);
    assert_int_equal(t.verdict.kind, VERDICT_RETRY);
    assert_int_equal(peer_counter(&p, SEND_FAILED), 5);
    assert_int_equal(peer_counter(&p, RETRIES), 1);
    assert_non_null(strstr(shared_log(&s), "giving up 2 profiles (5 samples) after 2 attempts: as told"));
    end_peer(&p);
}

static void test_partial_and_refused(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told partial, refused;
    open_peer(&s, &p, 1000);
    offer(&p, &partial, 100, 5);
    offer(&p, &refused, 100, 6);
    shared_run(&s);
    peer_answer(&p, VERDICT_PARTIAL);
    shared_run(&s);
    peer_answer(&p, VERDICT_REFUSED);
    shared_run(&s);
    assert_int_equal(partial.verdict.kind, VERDICT_PARTIAL);
    assert_int_equal(partial.verdict.rejected_profiles, 1);
    assert_int_equal(refused.verdict.kind, VERDICT_REFUSED);
    assert_int_equal(p.attempts, 2); // neither is repeated
    assert_int_equal(peer_counter(&p, SENT), 5);
    assert_int_equal(peer_counter(&p, SEND_FAILED), 6);
    end_peer(&p);
}

static void test_senders_work_side_by_side(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told told[5];
    shared_init(&s, 1000);
    peer_prepare(&p, &s, "fake/q");
    p.settings.num_consumers = 2;
    peer_open(&p);
    for (int i = 0; i < 3; i++)
        offer(&p, &told[i], 10, 1);
    shared_run(&s);
    assert_int_equal(p.send_count, 2);
    peer_answer(&p, VERDICT_OK);
    shared_run(&s);
    assert_int_equal(p.send_count, 2);
    assert_int_equal(p.attempts, 3);
    answer_all(&p);
    end_peer(&p);
}

static void test_a_peer_that_answers_at_once(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    static struct told told[COUNT];
    struct shared s;
    struct peer p;
    shared_init(&s, 100000);
    peer_prepare(&p, &s, "fake/q");
    p.settings.queue_size = COUNT;
    p.auto_ok = true;
    peer_open(&p);
    for (int i = 0; i < COUNT; i++)
        offer(&p, &told[i], 10, 1);
    // One record a turn: the loop is never kept from other work.
    size_t before = p.attempts;
    uv_run(&s.loop.uv, UV_RUN_NOWAIT);
    assert_in_range(p.attempts - before, 1, 2);
    while (!queue_idle(p.queue))
        loop_step(&s.loop.uv);
    shared_run(&s);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(told[i].final, 1);
    end_peer(&p);
}

// At the end, what senders have heard to be held is tried again and again, whatever the waits were.
static void test_drain_goes_on_trying(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told told;
    open_peer(&s, &p, 1000);
    p.retry.initial_interval_nanos = p.retry.max_interval_nanos = 3600 * NANOS_PER_SECOND;
    offer(&p, &told, 100, 5);
    run_until_attempts(&p, 1);
    peer_answer(&p, VERDICT_RETRY);
    shared_run(&s);
    queue_drain(p.queue);
    assert_int_equal(p.attempts, 2); // at once
    peer_answer(&p, VERDICT_RETRY);
    shared_run(&s);
    assert_int_equal(told.final, 0);
    assert_false(queue_idle(p.queue));
    run_until_attempts(&p, 3);
    peer_answer(&p, VERDICT_OK);
    shared_run(&s);
    assert_int_equal(told.verdict.kind, VERDICT_OK);
    assert_int_equal(peer_counter(&p, SENT), 5);
    end_peer(&p);
}

// What its sender has, too, is tried once more.
static void test_drain_tries_copies_once_more(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told backing_off, waiting;
    open_peer(&s, &p, 1000);
    s.have_copies = true;
    p.retry.initial_interval_nanos = p.retry.max_interval_nanos = 3600 * NANOS_PER_SECOND;
    offer(&p, &backing_off, 100, 5);
    offer(&p, &waiting, 100, 6);
    run_until_attempts(&p, 1);
    peer_answer(&p, VERDICT_RETRY);
    shared_run(&s);
    assert_int_equal(p.attempts, 1);
    queue_drain(p.queue);
    assert_int_equal(p.attempts, 2);
    assert_false(queue_idle(p.queue));
    peer_answer(&p, VERDICT_RETRY); // its last
    shared_run(&s);
    assert_int_equal(backing_off.verdict.kind, VERDICT_RETRY);
    assert_int_equal(p.attempts, 3); // what waited gets its one attempt
    assert_int_equal(p.last_samples, 6);
    peer_answer(&p, VERDICT_OK);
    shared_run(&s);
    assert_int_equal(waiting.verdict.kind, VERDICT_OK);
    assert_int_equal(peer_counter(&p, SENT), 6);
    assert_int_equal(peer_counter(&p, SEND_FAILED), 5);
    end_peer(&p);
}

static void test_abandon_ends_what_is_not_in_flight(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told backing_off, flying, waiting[2];
    shared_init(&s, 1000);
    peer_prepare(&p, &s, "fake/q");
    p.settings.num_consumers = 2;
    p.settings.queue_size = 10;
    p.retry.initial_interval_nanos = p.retry.max_interval_nanos = 3600 * NANOS_PER_SECOND;
    peer_open(&p);
    offer(&p, &backing_off, 100, 5);
    offer(&p, &flying, 100, 6);
    offer(&p, &waiting[0], 100, 7);
    offer(&p, &waiting[1], 100, 8);
    run_until_attempts(&p, 2);
    peer_answer(&p, VERDICT_RETRY);
    queue_abandon(p.queue);
    shared_run(&s);
    assert_int_equal(backing_off.verdict.kind, VERDICT_RETRY);
    assert_int_equal(waiting[0].verdict.kind, VERDICT_RETRY);
    assert_int_equal(waiting[1].verdict.kind, VERDICT_RETRY);
    assert_int_equal(flying.final, 0);
    assert_false(queue_idle(p.queue));
    assert_int_equal(peer_counter(&p, SEND_FAILED), 5 + 7 + 8);
    assert_non_null(strstr(shared_log(&s), "2 requests (15 samples) could not be sent before the end"));
    peer_answer(&p, VERDICT_OK);
    shared_run(&s);
    assert_int_equal(flying.verdict.kind, VERDICT_OK);
    end_peer(&p);
}

// A pump that was posted and has nothing left to do must not find the queue gone.
static void test_close_with_a_pump_under_way(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told t;
    open_peer(&s, &p, 1000);
    offer(&p, &t, 100, 5); // posts the pump
    queue_abandon(p.queue);
    assert_true(queue_idle(p.queue));
    queue_close(&p.queue, on_peer_closed, &p);
    shared_run(&s);
    assert_true(p.closed);
    assert_int_equal(t.verdict.kind, VERDICT_RETRY);
    assert_int_equal(p.attempts, 0);
    // Nothing on the page reads the queue any more.
    struct buf page;
    buf_init(&page, 1 << 20);
    metrics_write(s.metrics, &page);
    buf_add_byte(&page, 0);
    assert_null(strstr((const char *)page.data, "otelcol_exporter_queue_size{"));
    buf_fini(&page);
    shared_fini(&s);
}

static void test_gauges(void **state)
{
    (void)state;
    struct shared s;
    struct peer p;
    struct told told[4];
    open_peer(&s, &p, 1000);
    fill(&p, told);
    struct buf page;
    buf_init(&page, 1 << 20);
    metrics_write(s.metrics, &page);
    buf_add_byte(&page, 0);
    const char *text = (const char *)page.data;
    const char *labels = "{data_type=\"profiles\",exporter=\"fake/q\"}";
    const char *swapped = "{exporter=\"fake/q\",data_type=\"profiles\"}";
    const struct {
        const char *name, *value;
    } lines[] = {{"otelcol_exporter_queue_size", " 3\n"},
                 {"otelcol_exporter_queue_capacity", " 3\n"},
                 {"profrelay_exporter_queue_bytes", " 300\n"}};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        char a[256], b[256];
        snprintf(a, sizeof a, "%s%s%s", lines[i].name, labels, lines[i].value);
        snprintf(b, sizeof b, "%s%s%s", lines[i].name, swapped, lines[i].value);
        assert_true(strstr(text, a) != NULL || strstr(text, b) != NULL);
    }
    buf_fini(&page);
    answer_all(&p);
    end_peer(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held_then_final),
        cmocka_unit_test(test_a_queue_that_is_off_does_not_say_held),
        cmocka_unit_test(test_refuse_when_full),
        cmocka_unit_test(test_drop_new_when_full),
        cmocka_unit_test(test_drop_oldest_when_full),
        cmocka_unit_test(test_drop_oldest_for_memory),
        cmocka_unit_test(test_budget_exhausted),
        cmocka_unit_test(test_sizers),
        cmocka_unit_test(test_retry_then_success),
        cmocka_unit_test(test_an_old_attempt_is_no_news),
        cmocka_unit_test(test_health),
        cmocka_unit_test(test_gives_up),
        cmocka_unit_test(test_partial_and_refused),
        cmocka_unit_test(test_senders_work_side_by_side),
        cmocka_unit_test(test_a_peer_that_answers_at_once),
        cmocka_unit_test(test_drain_goes_on_trying),
        cmocka_unit_test(test_drain_tries_copies_once_more),
        cmocka_unit_test(test_abandon_ends_what_is_not_in_flight),
        cmocka_unit_test(test_close_with_a_pump_under_way),
        cmocka_unit_test(test_gauges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
