// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/processors/fixture.h"

#include "base/clock.h"
#include "tests/support/fake_origin.h"

#include <pthread.h>

#define SAMPLES(...) ((const struct test_sample[]){__VA_ARGS__, {0, NULL, 0}})
#define TWO_SAMPLES SAMPLES({0, "", 1}, {0, "", 1})

static int64_t test_now;

static int64_t now(const struct clock *c)
{
    (void)c;
    return test_now;
}

static const struct clock test_clock = {now, now};

static void begin(struct test_run *r, const char *yaml)
{
    test_now = 0;
    run_begin(r, &rate_limit_processor, yaml);
    r->env.env.clock = &test_clock;
}

static bool admits(struct test_run *r, struct batch *b, struct verdict *refusal)
{
    struct processor *p = (struct processor *)r->component.instance.component;
    const bool yes = p->module->admit(p, b, refusal);
    batch_unref(&b);
    return yes;
}

// Services "a,b" in a batch, each with so many profiles of two samples.
static struct batch *services(const char *names, int profiles)
{
    struct builder *b = builder_create(0);
    for (const char *at = names; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        add_service(b, name);
        for (int i = 0; i < profiles; i++)
            add_profile(b, &(struct test_profile){"cpu", "", TWO_SAMPLES});
    }
    return finish(b);
}

static struct batch *with_attribute(const char *key, struct value v)
{
    struct builder *b = builder_create(0);
    const struct key_value list[] = {{bytes_from_text(key), v}};
    builder_resource(b, list, 1, 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    add_profile(b, &(struct test_profile){"cpu", "", TWO_SAMPLES});
    return finish(b);
}

static void a_noisy_neighbour_is_refused(void **state)
{
    (void)state;
    struct test_run r;
    struct verdict v;
    begin(&r, "limits: [{attribute: service.name, profiles: 2, burst: 2s}]");
    assert_true(admits(&r, services("a", 4), &v));
    assert_false(admits(&r, services("a", 3), &v));
    assert_int_equal(v.kind, VERDICT_RETRY);
    assert_true(v.over_limit);
    assert_in_range(v.retry_after_nanos, 3 * NANOS_PER_SECOND / 2, 3 * NANOS_PER_SECOND / 2 + 2);
    assert_string_equal(v.text, "rate_limit: more than 2 profiles a second come from service.name a");
    assert_true(admits(&r, services("b", 4), &v));
    test_now += v.retry_after_nanos;
    assert_true(admits(&r, services("a", 3), &v));
    assert_non_null(strstr(fake_env_log(&r.env), "refused: rate_limit: more than 2 profiles a second"));
    run_end(&r);
}

static void nothing_is_taken_unless_all_have_room(void **state)
{
    (void)state;
    struct test_run r;
    struct verdict v;
    begin(&r, "limits: [{attribute: service.name, samples: 4, burst: 1s}, {samples: 10, burst: 1s}]");
    assert_true(admits(&r, services("a", 2), &v));
    assert_false(admits(&r, services("b,a", 2), &v));
    assert_string_equal(v.text, "rate_limit: more than 4 samples a second come from service.name a");
    assert_true(admits(&r, services("b", 2), &v)); // b's is still there
    assert_false(admits(&r, services("c", 2), &v));
    assert_string_equal(v.text, "rate_limit: more than 10 samples a second come from all together");
    assert_true(admits(&r, services("c", 1), &v));
    run_end(&r);
}

static void parts_of_a_service_add_up(void **state)
{
    (void)state;
    struct test_run r;
    struct verdict v;
    begin(&r, "limits: [{attribute: service.name, profiles: 4, burst: 1s}]");
    assert_true(admits(&r, services("a", 1), &v));
    assert_false(admits(&r, services("a,b,a", 2), &v));
    assert_true(admits(&r, services("a,b,a", 1), &v));
    run_end(&r);
}

static void values_may_have_their_own_limits(void **state)
{
    (void)state;
    struct test_run r;
    struct verdict v;
    begin(&r, "limits: [{attribute: service.name, profiles: 1, burst: 1s, values: [{value: big, profiles: 5},"
              " {value: free, pass: true}, {value: bytes, bytes: 1000000}]}]");
    assert_true(admits(&r, services("big", 5), &v));
    assert_false(admits(&r, services("big", 1), &v));
    assert_string_equal(v.text, "rate_limit: more than 5 profiles a second come from service.name big");
    for (int i = 0; i < 10; i++)
        assert_true(admits(&r, services("free", 100), &v));
    assert_true(admits(&r, services("bytes", 1), &v));
    assert_false(admits(&r, services("bytes", 1), &v)); // of the others it has the number of profiles
    run_end(&r);
}

static void who_does_not_say_shares_or_passes(void **state)
{
    (void)state;
    struct test_run r;
    struct verdict v;
    begin(&r, "limits: [{attribute: tenant, profiles: 1, burst: 1s}]");
    assert_true(admits(&r, services("a", 1), &v));
    assert_false(admits(&r, services("b", 1), &v));
    assert_string_equal(v.text, "rate_limit: more than 1 profiles a second come from all without tenant");
    assert_true(admits(&r, with_attribute("tenant", TEXT("")), &v)); // says it, if little
    assert_false(admits(&r, with_attribute("tenant", TEXT("")), &v));
    run_end(&r);
    begin(&r, "limits: [{attribute: tenant, profiles: 1, burst: 1s, missing: pass}]");
    assert_true(admits(&r, services("a", 1), &v));
    assert_true(admits(&r, services("a", 1), &v));
    run_end(&r);
}

static void numbers_are_known_by_their_text(void **state)
{
    (void)state;
    struct test_run r;
    struct verdict v;
    begin(&r, "limits: [{attribute: tenant, profiles: 1, burst: 1s, values: [{value: '7', pass: true}]}]");
    for (int i = 0; i < 3; i++)
        assert_true(admits(&r, with_attribute("tenant", value_int(7)), &v));
    assert_true(admits(&r, with_attribute("tenant", value_int(8)), &v));
    assert_false(admits(&r, with_attribute("tenant", TEXT("8")), &v));
    run_end(&r);
}

static void a_name_cannot_steer_a_terminal(void **state)
{
    (void)state;
    struct test_run r;
    struct verdict v;
    struct value evil = TEXT("x\x1b[2J\n");
    char *long_name = mem_alloc(1000);
    memset(long_name, 'y', 1000);
    begin(&r, "limits: [{attribute: service.name, profiles: 1, burst: 1s}]");
    for (int i = 0; i < 2; i++)
        (void)admits(&r, with_attribute("service.name", evil), &v);
    assert_string_equal(v.text, "rate_limit: more than 1 profiles a second come from service.name x\\x1b[2J\\x0a");
    for (int i = 0; i < 2; i++)
        (void)admits(&r, with_attribute("service.name", value_string((struct bytes){(uint8_t *)long_name, 1000})), &v);
    assert_in_range(strlen(v.text), 100, 200);
    free(long_name);
    run_end(&r);
}

static struct batch *unread(struct batch *whole)
{
    struct fake_origin *origin;
    return fake_unread_batch(whole, 1000, &origin);
}

static void bytes_are_those_it_came_with(void **state)
{
    (void)state;
    struct test_run r;
    struct verdict v;
    struct batch *whole = services("a,b", 1);
    begin(&r, "limits: [{attribute: service.name, bytes: 1000, burst: 1s}]");
    for (int i = 0; i < 2; i++) // half of 1000 each
        assert_true(admits(&r, unread(whole), &v));
    assert_false(admits(&r, unread(whole), &v));
    assert_in_range(v.retry_after_nanos, NANOS_PER_SECOND / 2, NANOS_PER_SECOND / 2 + 2);
    run_end(&r);
    begin(&r, "limits: [{attribute: service.name, bytes: 1, burst: 1s}]");
    assert_true(admits(&r, batch_ref(whole), &v));
    assert_false(admits(&r, batch_ref(whole), &v));
    assert_in_range(v.retry_after_nanos / NANOS_PER_SECOND, batch_memory_bytes(whole) / 2 - 2,
                    batch_memory_bytes(whole) / 2 + 2);
    batch_unref(&whole);
    run_end(&r);
}

static void counts_of_the_unread_are_those_of_the_read(void **state)
{
    (void)state;
    struct test_run r;
    struct verdict v;
    struct batch *whole = services("a,b,a", 3);
    begin(&r, "limits: [{attribute: service.name, profiles: 6, samples: 12, burst: 1s}]");
    assert_true(admits(&r, unread(whole), &v));
    test_now += 999 * NANOS_PER_MS;
    assert_false(admits(&r, batch_ref(whole), &v));
    test_now += NANOS_PER_MS;
    assert_true(admits(&r, batch_ref(whole), &v));
    batch_unref(&whole);
    run_end(&r);
}

static void assert_dropped(struct test_run *r, struct batch *b, const char *expected)
{
    assert_int_equal(run_process(r, &b), ERR_OK);
    char *text = brief_text(b);
    assert_string_equal(text, expected);
    free(text);
    batch_unref(&b);
}

static void what_is_too_much_may_be_dropped(void **state)
{
    (void)state;
    static const char a[] = "service.name=a\n- cpu{}: {}1 {}1\n", b[] = "service.name=b\n- cpu{}: {}1 {}1\n";
    struct test_run r;
    char both[200];
    snprintf(both, sizeof both, "%s%s", a, b);
    begin(&r,
          "{limits: [{attribute: service.name, profiles: 2, burst: 1s}, {profiles: 3, burst: 1s}], on_limit: drop}");
    assert_dropped(&r, services("a,b", 1), both);
    assert_dropped(&r, services("a,b", 1), a);
    assert_dropped(&r, services("a", 1), "");
    test_now += NANOS_PER_SECOND;
    assert_dropped(&r, services("a,a,a,b", 1),
                   "service.name=a\n- cpu{}: {}1 {}1\nservice.name=a\n- cpu{}: {}1 {}1\n"
                   "service.name=b\n- cpu{}: {}1 {}1\n");
    const struct metric_family over = {"profrelay_processor_over_limit_profile_samples", "", METRIC_COUNTER};
    const struct metric_label of_service[] = {{"processor", "rate_limit"}, {"attribute", "service.name"}},
                              of_all[] = {{"processor", "rate_limit"}, {"attribute", ""}};
    assert_int_equal(metric_get(metrics_series(r.env.env.metrics, &over, of_service, 2)), 4);
    assert_int_equal(metric_get(metrics_series(r.env.env.metrics, &over, of_all, 2)), 2);
    run_end(&r);
}

static void a_failed_allocation_leaves_the_batch(void **state)
{
    (void)state;
    assert_memory_may_fail(&rate_limit_processor,
                           "{limits: [{attribute: service.name, profiles: 0.001}], on_limit: drop}",
                           services("a,b,a", 1), 1);
}

enum { THREADS = 4, ROUNDS = 500 };

struct racer {
    struct processor *processor;
    struct batch *batch;
    int taken;
};

static void *race(void *arg)
{
    struct racer *r = arg;
    struct verdict v;
    for (int i = 0; i < ROUNDS; i++)
        r->taken += r->processor->module->admit(r->processor, r->batch, &v);
    return NULL;
}

static void threads_take_no_more_than_there_is(void **state)
{
    (void)state;
    struct test_run r;
    struct racer racers[THREADS];
    pthread_t threads[THREADS];
    int taken = 0;
    struct batch *b = services("a,b", 1);
    begin(&r, "limits: [{attribute: service.name, profiles: 700, burst: 1s}]");
    for (int i = 0; i < THREADS; i++) {
        racers[i] = (struct racer){(struct processor *)r.component.instance.component, b, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        taken += racers[i].taken;
    }
    assert_int_equal(taken, 700);
    batch_unref(&b);
    run_end(&r);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
#define NAME "processors.rate_limit: limits: "
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"{limits: []}", "test:1:2: " NAME "must not be empty\n"},
        {"{limits: [{attribute: a}]}",
         "test:1:2: " NAME "[0]: expected at least one of bytes, profiles, samples, values\n"},
        {"{limits: [{profiles: 1}, {attribute: '', profiles: 1}]}",
         "test:1:2: " NAME "[1].attribute must not be empty\n"},
        {"{limits: [{profiles: 1, values: [{value: a, profiles: 2}]}]}",
         "test:1:2: " NAME "[0].values needs `attribute`\n"},
        {"{limits: [{attribute: a, values: [{value: a}]}]}",
         "test:1:2: " NAME "[0].values[0]: expected either a rate or `pass: true`\n"},
        {"{limits: [{attribute: a, values: [{value: a, pass: true, samples: 1}]}]}",
         "test:1:2: " NAME "[0].values[0]: expected either a rate or `pass: true`\n"},
        {"{limits: [{attribute: a, values: [{value: a, samples: 2}, {value: a, samples: 1}]}]}",
         "test:1:2: " NAME "[0].values: \"a\" is there twice\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_setting_error(&rate_limit_processor, cases[i].yaml, cases[i].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_noisy_neighbour_is_refused),
        cmocka_unit_test(nothing_is_taken_unless_all_have_room),
        cmocka_unit_test(parts_of_a_service_add_up),
        cmocka_unit_test(values_may_have_their_own_limits),
        cmocka_unit_test(who_does_not_say_shares_or_passes),
        cmocka_unit_test(numbers_are_known_by_their_text),
        cmocka_unit_test(a_name_cannot_steer_a_terminal),
        cmocka_unit_test(bytes_are_those_it_came_with),
        cmocka_unit_test(counts_of_the_unread_are_those_of_the_read),
        cmocka_unit_test(what_is_too_much_may_be_dropped),
        cmocka_unit_test(a_failed_allocation_leaves_the_batch),
        cmocka_unit_test(threads_take_no_more_than_there_is),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
