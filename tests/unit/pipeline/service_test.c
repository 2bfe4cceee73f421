// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/fake_modules.h"

#include <stdio.h>
#include <string.h>

#define SENT "otelcol_exporter_sent_profile_samples"
#define FAILED "otelcol_exporter_send_failed_profile_samples"

struct run {
    struct fake_world world;
    struct fake_service service;
    char yaml[2048];
};

// Each test runs with one loop and with two, so that components live on different threads.
static void start(struct run *r, int loops, const char *components, const char *pipelines)
{
    fake_world_init(&r->world);
    snprintf(
        r->yaml, sizeof r->yaml,
        "extensions: {fake: }\n%s\nservice:\n  extensions: [fake]\n  workers: 2\n  loops: %d\n"
        "  telemetry: {metrics: {level: none}}\n  shutdown_timeout: 10s\n  memory_limit: 1MiB\n  pipelines: {%s}\n",
        components, loops, pipelines);
    fake_service_start(&r->service, &r->world, &r->world.clock, r->yaml);
}

static struct fake_seen end(struct run *r, int exit_code)
{
    assert_int_equal(fake_service_join(&r->service), exit_code);
    struct fake_seen seen = fake_world_seen(&r->world);
    // Whatever was created is destroyed, whatever was started has stopped, nothing is charged.
    for (int k = 0; k < KIND_COUNT; k++) {
        assert_int_equal(seen.destroyed[k], seen.created[k]);
        assert_int_equal(seen.stopped[k], seen.started[k]);
    }
    assert_int_equal(seen.budget_at_end, 0);
    return seen;
}

static void fini(struct run *r)
{
    fake_service_fini(&r->service);
    fake_world_fini(&r->world);
}

static bool log_has(const struct run *r, const char *text)
{
    return strstr(r->service.log, text) != NULL;
}

struct until {
    struct fake_world *world;
    unsigned finals, sends, encoded, cancelled;
};

static bool reached(void *arg)
{
    struct until *u = arg;
    struct fake_seen seen = fake_world_seen(u->world);
    unsigned finals = seen.finals[0] + seen.finals[1] + seen.finals[2] + seen.finals[3];
    return finals >= u->finals && seen.sends >= u->sends && seen.encoded >= u->encoded &&
           seen.cancelled >= u->cancelled;
}

static void wait_for(struct run *r, struct until until)
{
    until.world = &r->world;
    fake_world_wait(&r->world, reached, &until);
}

#define BOTH_LOOPS(name)                                                                                               \
    static void name##_one_loop(void **state)                                                                          \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        name(1);                                                                                                       \
    }                                                                                                                  \
    static void name##_two_loops(void **state)                                                                         \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        name(2);                                                                                                       \
    }

static void test_delivers_all(int loops)
{
    struct run r;
    start(&r, loops,
          "receivers: {fake: {batches: 20}, fake/2: {batches: 10}}\nprocessors: {fake: , serial: }\nexporters: {fake: "
          ", fake/slow: {answer: slow}}",
          "profiles: {receivers: [fake, fake/2], processors: [fake, serial], exporters: [fake, fake/slow]}");
    fake_service_wait_ready(&r.service);
    wait_for(&r, (struct until){.finals = 30});
    assert_int_equal(fake_service_counter(&r.service, SENT, "exporter", "fake", NULL, NULL), 210 + 55);
    assert_int_equal(fake_service_counter(&r.service, SENT, "exporter", "fake/slow", NULL, NULL), 210 + 55);
    fake_service_stop(&r.service);
    struct fake_seen seen = end(&r, 0);
    assert_int_equal(seen.held, 30);
    assert_int_equal(seen.finals[VERDICT_OK], 30);
    assert_int_equal(seen.processing_max, 1);
    assert_int_equal(seen.encoded, 60);
    assert_int_equal(seen.started[KIND_EXPORTER], 2);
    assert_int_equal(seen.closed, 2);
    assert_true(log_has(&r, "Everything is ready"));
    assert_true(log_has(&r, "Shutdown complete"));
    fini(&r);
}
BOTH_LOOPS(test_delivers_all)

static unsigned loop_of(const struct run *r, const char *id)
{
    return service_component(r->service.service, KIND_RECEIVER, id)->loop->index;
}

// Receivers are spread over the loops, but those that share a listener are together, also by way of a third.
static void receivers_that_share_are_on_one_loop(void **state)
{
    (void)state;
    struct run r;
    start(&r, 3,
          "receivers: {fake/a: {endpoints: [x]}, fake/b: {endpoints: [y]}, fake/c: , fake/d: {endpoints: [z, y]}, "
          "fake/e: "
          "{endpoints: [z, x]}, fake/f: {endpoints: [w]}}\nexporters: {fake: }",
          "profiles: {receivers: [fake/a, fake/b, fake/c, fake/d, fake/e, fake/f], exporters: [fake]}");
    fake_service_wait_ready(&r.service);
    assert_int_equal(loop_of(&r, "fake/a"), loop_of(&r, "fake/e"));
    assert_int_equal(loop_of(&r, "fake/b"), loop_of(&r, "fake/d"));
    assert_int_equal(loop_of(&r, "fake/d"), loop_of(&r, "fake/e"));
    assert_int_equal(loop_of(&r, "fake/c"), 2);
    assert_int_equal(loop_of(&r, "fake/f"), 2);
    fake_service_stop(&r.service);
    (void)end(&r, 0);
    fini(&r);
}

// Two pipelines with one receiver, one serial processor and one exporter in common.
static void test_shared_components(int loops)
{
    struct run r;
    start(&r, loops, "receivers: {fake: {batches: 20}}\nprocessors: {serial: }\nexporters: {fake: , fake/2: }",
          "profiles: {receivers: [fake], processors: [serial], exporters: [fake]}, profiles/b: {receivers: [fake], "
          "processors: [serial], exporters: [fake, fake/2]}");
    fake_service_wait_ready(&r.service);
    wait_for(&r, (struct until){.finals = 20});
    assert_int_equal(fake_service_counter(&r.service, SENT, "exporter", "fake", NULL, NULL), 420);
    assert_int_equal(fake_service_counter(&r.service, SENT, "exporter", "fake/2", NULL, NULL), 210);
    fake_service_stop(&r.service);
    struct fake_seen seen = end(&r, 0);
    assert_int_equal(seen.created[KIND_PROCESSOR], 1);
    assert_int_equal(seen.processing_max, 1);
    assert_int_equal(seen.finals[VERDICT_OK], 20);
    fini(&r);
}
BOTH_LOOPS(test_shared_components)

// Stopped as soon as it runs: what was taken in is delivered all the same.
static void test_stop_drains(int loops)
{
    struct run r;
    start(&r, loops, "receivers: {fake: {batches: 50}}\nexporters: {fake: {answer: slow}}",
          "profiles: {receivers: [fake], exporters: [fake]}");
    fake_service_wait_ready(&r.service);
    fake_service_stop(&r.service);
    struct fake_seen seen = end(&r, 0);
    assert_int_equal(seen.finals[VERDICT_OK], 50);
    assert_int_equal(seen.taken_count, 50);
    assert_int_equal(seen.cancelled, 0);
    fini(&r);
}
BOTH_LOOPS(test_stop_drains)

static void test_second_stop_hurries(int loops)
{
    struct run r;
    start(&r, loops, "receivers: {fake: {batches: 20}}\nexporters: {fake: {answer: never}}",
          "profiles: {receivers: [fake], exporters: [fake]}");
    fake_service_wait_ready(&r.service);
    wait_for(&r, (struct until){.sends = 10});
    fake_service_stop(&r.service); // the clock stands still: this alone would wait for ever
    fake_service_stop(&r.service);
    struct fake_seen seen = end(&r, 0);
    assert_int_equal(seen.finals[VERDICT_RETRY], 20);
    assert_true(seen.cancelled >= 1);
    assert_true(log_has(&r, "asked to end a second time"));
    // Of those that wait some may get a sender, whose attempt is then cancelled, before the rest is ended.
    assert_true(log_has(&r, "could not be sent before the end") || log_has(&r, "giving up"));
    fini(&r);
}
BOTH_LOOPS(test_second_stop_hurries)

// The deadline counts from when the stop was seen.
static bool time_passes_until_the_end(void *arg)
{
    struct run *r = arg;
    fake_world_advance(&r->world, 11 * NANOS_PER_SECOND);
    pthread_mutex_lock(&r->world.lock);
    bool ended = r->service.ended;
    pthread_mutex_unlock(&r->world.lock);
    return ended;
}

static void test_timeout_gives_up(int loops)
{
    struct run r;
    start(&r, loops, "receivers: {fake: {batches: 20}}\nexporters: {fake: {answer: never}, fake/ok: }",
          "profiles: {receivers: [fake], exporters: [fake, fake/ok]}");
    fake_service_wait_ready(&r.service);
    wait_for(&r, (struct until){.sends = 10 + 20});
    fake_service_stop(&r.service);
    fake_world_wait(&r.world, time_passes_until_the_end, &r);
    struct fake_seen seen = end(&r, 0);
    assert_int_equal(seen.finals[VERDICT_RETRY], 20); // one branch has not got it
    assert_int_equal(seen.taken_count, 20);
    fini(&r);
}
BOTH_LOOPS(test_timeout_gives_up)

static void test_retry_then_success(int loops)
{
    struct run r;
    start(&r, loops,
          "receivers: {fake: {batches: 5}}\nexporters: {fake: {failures: 4, retry_on_failure: {initial_interval: 1ms, "
          "max_interval: 1ms}}}",
          "profiles: {receivers: [fake], exporters: [fake]}");
    fake_service_wait_ready(&r.service);
    wait_for(&r, (struct until){.finals = 5});
    assert_int_equal(fake_service_counter(&r.service, "profrelay_exporter_retries", "exporter", "fake", NULL, NULL), 4);
    fake_service_stop(&r.service);
    struct fake_seen seen = end(&r, 0);
    assert_int_equal(seen.finals[VERDICT_OK], 5);
    assert_int_equal(seen.sends, 9);
    fini(&r);
}
BOTH_LOOPS(test_retry_then_success)

static void test_answers_reach_the_receiver(int loops)
{
    static const struct {
        const char *exporter;
        enum verdict_kind verdict;
        unsigned held;
    } cases[] = {
        {"{answer: partial}", VERDICT_PARTIAL, 3},
        {"{answer: refused}", VERDICT_REFUSED, 3},
        {"{answer: retry, retry_on_failure: {enabled: false}}", VERDICT_RETRY, 3},
        {"{encode: invalid}", VERDICT_REFUSED, 0},
        {"{encode: memory}", VERDICT_RETRY, 0},
        {"{records: 0}", VERDICT_OK, 3},
        {"{records: 3}", VERDICT_OK, 3},
        {"{sending_queue: {enabled: false}}", VERDICT_OK, 0},
        {"{record_bytes: 2000000}", VERDICT_RETRY, 0}, // more than the budget
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run r;
        char components[512];
        snprintf(components, sizeof components, "receivers: {fake: {batches: 3}}\nexporters: {fake: %s}",
                 cases[i].exporter);
        start(&r, loops, components, "profiles: {receivers: [fake], exporters: [fake]}");
        fake_service_wait_ready(&r.service);
        wait_for(&r, (struct until){.finals = 3});
        fake_service_stop(&r.service);
        struct fake_seen seen = end(&r, 0);
        assert_int_equal(seen.finals[cases[i].verdict], 3);
        assert_int_equal(seen.held, cases[i].held);
        fini(&r);
    }
}
BOTH_LOOPS(test_answers_reach_the_receiver)

// Whatever fails at start, the rest is taken down again, and the program says why.
static void test_failing_start(int loops)
{
    static const struct {
        const char *components, *text;
    } cases[] = {
        {"receivers: {fake: {fail: create}}\nexporters: {fake: }", "receivers.fake: told to fail"},
        {"receivers: {fake: {fail: start}}\nexporters: {fake: }", "receivers.fake: told to fail"},
        {"receivers: {fake: {batches: 5}}\nexporters: {fake: {fail: create}}", "exporters.fake: told to fail"},
        {"receivers: {fake: {batches: 5}}\nexporters: {fake: {fail: start}}", "exporters.fake: told to fail"},
        {"receivers: {fake: }\nexporters: {fake: }\nprocessors: {fake: {fail: create}}",
         "processors.fake: told to fail"},
        {"receivers: {fake: }\nexporters: {fake: }\nprocessors: {gate/fake: {fail: start}}",
         "cannot start: processors.gate/fake: told to fail"},
        {"receivers: {fake: }\nexporters: {fake: }\nprocessors: {gate/fake: {not_ready: -1}}",
         "cannot start: processors.gate/fake: never ready"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run r;
        start(&r, loops, cases[i].components,
              strstr(cases[i].components, "gate") != NULL
                  ? "profiles: {receivers: [fake], processors: [gate/fake], exporters: [fake]}"
              : strstr(cases[i].components, "processors") != NULL
                  ? "profiles: {receivers: [fake], processors: [fake], exporters: [fake]}"
                  : "profiles: {receivers: [fake], exporters: [fake]}");
        struct fake_seen seen = end(&r, 1);
        assert_int_equal(seen.finals[VERDICT_OK], 0);
        assert_null(r.service.service); // never ready
        assert_true(log_has(&r, cases[i].text));
        fini(&r);
    }
}
BOTH_LOOPS(test_failing_start)

// Receivers start once every processor is ready.
static void test_waits_for_processors(int loops)
{
    struct run r;
    start(&r, loops,
          "receivers: {fake: {batches: 3}}\nprocessors: {gate/a: {not_ready: 2}, gate/b: {not_ready: 4}}\nexporters: "
          "{fake: }",
          "profiles: {receivers: [fake], processors: [gate/a, gate/b], exporters: [fake]}");
    fake_service_wait_ready(&r.service);
    wait_for(&r, (struct until){.finals = 3});
    fake_service_stop(&r.service);
    struct fake_seen seen = end(&r, 0);
    assert_int_equal(seen.started[KIND_PROCESSOR], 2);
    assert_int_equal(seen.finals[VERDICT_OK], 3);
    const char *waits = strstr(r.service.log, "not receiving yet: processors.gate/a: told to wait");
    assert_non_null(waits);
    assert_non_null(strstr(waits, "Everything is ready"));
    fini(&r);
}
BOTH_LOOPS(test_waits_for_processors)

// The first receiver has delivered when the second fails: its batches are not lost in the ruins.
static void test_second_receiver_fails(int loops)
{
    struct run r;
    start(&r, loops, "receivers: {fake: {batches: 5}, fake/bad: {fail: start}}\nexporters: {fake: }",
          "profiles: {receivers: [fake, fake/bad], exporters: [fake]}");
    struct fake_seen seen = end(&r, 1);
    assert_int_equal(seen.finals[VERDICT_OK], 5);
    assert_int_equal(seen.taken_count, 5);
    fini(&r);
}
BOTH_LOOPS(test_second_receiver_fails)

static void test_failing_extension(int loops)
{
    static const char *const cases[] = {"create", "start"};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run r;
        fake_world_init(&r.world);
        snprintf(r.yaml, sizeof r.yaml,
                 "extensions: {fake: , fake/bad: {fail: %s}}\nreceivers: {fake: }\nexporters: {fake: }\n"
                 "service: {extensions: [fake, fake/bad], loops: %d, pipelines: {profiles: {receivers: [fake], "
                 "exporters: [fake]}}}",
                 cases[i], loops);
        fake_service_start(&r.service, &r.world, NULL, r.yaml);
        struct fake_seen seen = end(&r, 1);
        assert_int_equal(seen.started[KIND_RECEIVER], 0);
        assert_true(log_has(&r, "cannot start: extensions.fake/bad: told to fail"));
        fini(&r);
    }
}
BOTH_LOOPS(test_failing_extension)

#define TWICE(name) cmocka_unit_test(name##_one_loop), cmocka_unit_test(name##_two_loops)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receivers_that_share_are_on_one_loop),
        TWICE(test_delivers_all),
        TWICE(test_shared_components),
        TWICE(test_stop_drains),
        TWICE(test_second_stop_hurries),
        TWICE(test_timeout_gives_up),
        TWICE(test_retry_then_success),
        TWICE(test_answers_reach_the_receiver),
        TWICE(test_failing_start),
        TWICE(test_waits_for_processors),
        TWICE(test_second_receiver_fails),
        TWICE(test_failing_extension),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
