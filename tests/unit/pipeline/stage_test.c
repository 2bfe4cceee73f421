// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/stage.h"
#include "tests/support/fake_modules.h"
#include "tests/support/fake_origin.h"

#include <stdio.h>
#include <string.h>

enum { WORKERS = 4, THREADS = 3, BATCHES = 60 };

// Stages without a service: instances by hand, the end of the pipeline notes what comes.
struct bench {
    struct fake_world world;
    struct workers *workers;
    struct budget budget;
    struct metrics *metrics;
    struct component_env env;
    struct arena arena;
    struct loop loop;
    struct component_plan plan;
    struct instance instance;
    struct consumer end;
    pthread_mutex_t lock;
    uint64_t arrived[THREADS * BATCHES * 2];
    unsigned arrived_count;
    unsigned finals[FAKE_VERDICTS];
    struct verdict last;
    struct sender sender; // of new deliveries
};

static void end_take(struct consumer *self, struct delivery d)
{
    struct bench *b = CONTAINER_OF(self, struct bench, end);
    pthread_mutex_lock(&b->lock);
    b->arrived[b->arrived_count++] = d.batch->sample_count;
    pthread_mutex_unlock(&b->lock);
    delivery_end(&d, NULL);
}

static const struct module *find_module(struct fake_world *w, const char *type)
{
    return module_find(&w->modules.kinds[KIND_PROCESSOR], type);
}

static void bench_open(struct bench *b, const char *type, const char *settings)
{
    memset(b, 0, sizeof *b);
    fake_world_init(&b->world);
    b->workers = workers_create(WORKERS, 0, 0);
    budget_init(&b->budget, 1 << 20);
    b->metrics = metrics_create();
    b->env = (struct component_env){
        .workers = b->workers, .budget = &b->budget, .metrics = b->metrics, .clock = &clock_system};
    arena_init(&b->arena, 0);
    loop_init(&b->loop, 0);
    b->end.take = end_take;
    pthread_mutex_init(&b->lock, NULL);
    struct config_errors errors;
    config_errors_init(&errors);
    const struct module *m = find_module(&b->world, type);
    const struct config_node *node = config_parse_yaml(&b->arena, bytes_from_text(settings), "test", &errors);
    void *values = arena_alloc(&b->arena, m->settings_size);
    struct field_target target = {m->fields, values};
    assert_true(fields_decode(&target, 1, node, (struct config_position){0}, "processors.x", &b->arena, &errors));
    config_errors_fini(&errors);
    b->plan = (struct component_plan){.kind = KIND_PROCESSOR, .id = type, .module = m, .settings = values};
    struct err e;
    assert_int_equal(instance_create(&b->instance, &b->plan, &b->loop, &b->env, NULL, &b->arena, NULL, &e), ERR_OK);
}

static void bench_close(struct bench *b)
{
    loop_stop(&b->loop);
    loop_fini(&b->loop);
    workers_destroy(&b->workers);
    instance_destroy(&b->instance);
    metrics_destroy(&b->metrics);
    assert_int_equal(atomic_load(&b->budget.used), 0);
    pthread_mutex_destroy(&b->lock);
    arena_fini(&b->arena);
    fake_world_fini(&b->world);
}

static void on_verdict(void *arg, enum verdict_moment moment, const struct verdict *v)
{
    struct bench *b = arg;
    if (moment != MOMENT_FINAL)
        return;
    b->finals[v->kind]++;
    b->last = *v;
}

static struct delivery new_delivery(struct bench *b, uint32_t samples)
{
    const struct waiter waiter = {.sender = b->sender, .loop = &b->loop, .on_verdict = on_verdict, .arg = b};
    assert_true(budget_try_take(&b->budget, 10));
    return delivery_create(fake_batch(samples), &waiter, &b->budget, 10);
}

static int64_t counter(struct bench *b, const char *name, const char *pipeline)
{
    static const struct metric_family families[] = {
        {"otelcol_processor_incoming_items", "", METRIC_COUNTER},
        {"otelcol_processor_outgoing_items", "", METRIC_COUNTER},
        {"profrelay_processor_failed_items", "", METRIC_COUNTER},
        {"otelcol_processor_refused_profile_samples", "", METRIC_COUNTER},
    };
    const struct metric_label labels[] = {{"processor", b->plan.id}, {"pipeline", pipeline}};
    for (size_t i = 0; i < COUNT_OF(families); i++)
        if (strcmp(families[i].name, name) == 0)
            return metric_get(metrics_series(b->metrics, &families[i], labels, 2));
    fail();
    return 0;
}

static void test_passes_and_counts(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "fake", "{}");
    struct stage *s = stage_create(&b.instance, "profiles", &b.end);
    consumer_take(stage_consumer(s), new_delivery(&b, 5)); // not serial: on the caller's thread
    assert_int_equal(b.arrived_count, 1);
    assert_int_equal(counter(&b, "otelcol_processor_incoming_items", "profiles"), 5);
    assert_int_equal(counter(&b, "otelcol_processor_outgoing_items", "profiles"), 5);
    assert_int_equal(counter(&b, "profrelay_processor_failed_items", "profiles"), 0);
    workers_stop(b.workers);
    uv_run(&b.loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(b.finals[VERDICT_OK], 1);
    stage_destroy(&s);
    assert_null(s);
    bench_close(&b);
}

struct asked {
    unsigned times;
    struct sender sender;
};

// Those of an odd number of samples; who asked is noted behind the module.
struct asking_module {
    struct processor_module module;
    struct asked asked;
};

static bool wants_odd(struct processor *self, const struct batch *b, const struct sender *from)
{
    struct asked *asked = &CONTAINER_OF(self->module, struct asking_module, module)->asked;
    assert_true(batch_is_unread(b));
    asked->times++;
    asked->sender = *from;
    return b->sample_count % 2 == 1;
}

static enum err_code leave_alone(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    (void)self, (void)batch, (void)from, (void)e;
    return ERR_OK;
}

static void test_opens_what_is_wanted(void **state)
{
    (void)state;
    static const struct {
        bool takes_unread, asks;
        uint32_t samples;
        unsigned asked, reads;
    } cases[] = {{false, true, 4, 0, 1}, {true, false, 5, 0, 0}, {true, true, 4, 1, 0}, {true, true, 5, 1, 1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench b;
        struct fake_origin *origin;
        bench_open(&b, "fake", "{}");
        struct processor *p = (struct processor *)b.instance.component;
        const struct processor_module *before = p->module;
        struct asking_module m = {.module = {.process = leave_alone}};
        m.module.wants_samples = cases[i].asks ? wants_odd : NULL;
        p->module = &m.module;
        p->takes_unread = cases[i].takes_unread;
        struct stage *s = stage_create(&b.instance, "profiles", &b.end);
        const struct waiter waiter = {
            .sender.address.bytes[15] = 7, .loop = &b.loop, .on_verdict = on_verdict, .arg = &b};
        struct batch *whole = fake_batch(cases[i].samples), *unread = fake_unread_batch(whole, 100, &origin);
        struct origin *kept = origin_ref(&origin->origin);
        consumer_take(stage_consumer(s), delivery_create(unread, &waiter, &b.budget, 0));
        assert_int_equal(b.arrived_count, 1);
        assert_int_equal(m.asked.times, cases[i].asked);
        assert_int_equal(m.asked.sender.address.bytes[15], cases[i].asked > 0 ? 7 : 0);
        assert_int_equal(origin->reads, cases[i].reads);
        origin_unref(&kept);
        batch_unref(&whole);
        workers_stop(b.workers);
        uv_run(&b.loop.uv, UV_RUN_NOWAIT);
        stage_destroy(&s);
        p->module = before;
        bench_close(&b);
    }
}

static void test_drops_and_failures(void **state)
{
    (void)state;
    const struct {
        const char *settings;
        enum verdict_kind verdict;
        int64_t failed;
    } cases[] = {{"{action: drop}", VERDICT_OK, 0},
                 {"{action: fail}", VERDICT_REFUSED, 5},
                 {"{action: memory}", VERDICT_RETRY, 5}};
    static const char *const types[] = {"fake", "serial"};
    for (size_t i = 0; i < COUNT_OF(cases) * COUNT_OF(types); i++) {
        struct bench b;
        bench_open(&b, types[i % 2], cases[i / 2].settings);
        struct stage *s = stage_create(&b.instance, "profiles", &b.end);
        consumer_take(stage_consumer(s), new_delivery(&b, 5));
        workers_stop(b.workers);
        uv_run(&b.loop.uv, UV_RUN_NOWAIT);
        assert_int_equal(b.arrived_count, 0);
        assert_int_equal(b.finals[cases[i / 2].verdict], 1);
        assert_int_equal(counter(&b, "otelcol_processor_incoming_items", "profiles"), 5);
        assert_int_equal(counter(&b, "otelcol_processor_outgoing_items", "profiles"), 0);
        assert_int_equal(counter(&b, "profrelay_processor_failed_items", "profiles"), cases[i / 2].failed);
        stage_destroy(&s);
        bench_close(&b);
    }
}

static void test_serial_keeps_the_order(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "serial", "{}");
    struct stage *s = stage_create(&b.instance, "profiles", &b.end);
    for (uint32_t i = 1; i <= BATCHES; i++)
        consumer_take(stage_consumer(s), new_delivery(&b, i));
    workers_stop(b.workers);
    assert_int_equal(b.arrived_count, BATCHES);
    for (uint32_t i = 0; i < BATCHES; i++)
        assert_int_equal(b.arrived[i], i + 1);
    assert_int_equal(fake_world_seen(&b.world).processing_max, 1);
    uv_run(&b.loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(b.finals[VERDICT_OK], BATCHES);
    stage_destroy(&s);
    bench_close(&b);
}

struct feeder {
    struct bench *bench;
    struct stage *stages[2];
};

static void *feed(void *arg)
{
    struct feeder *f = arg;
    for (uint32_t i = 1; i <= BATCHES; i++)
        for (int s = 0; s < 2; s++)
            consumer_take(stage_consumer(f->stages[s]), new_delivery(f->bench, i));
    return NULL;
}

// One processor in two pipelines is one instance: its two stages must not run it at the same time either.
static void test_serial_never_two_at_once(void **state)
{
    (void)state;
    struct bench b;
    pthread_t threads[THREADS];
    bench_open(&b, "serial", "{}");
    struct feeder f = {
        &b, {stage_create(&b.instance, "profiles", &b.end), stage_create(&b.instance, "profiles/2", &b.end)}};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, feed, &f), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    workers_stop(b.workers);
    assert_int_equal(b.arrived_count, THREADS * BATCHES * 2);
    assert_int_equal(fake_world_seen(&b.world).processing_max, 1);
    const int64_t each = THREADS * BATCHES * (BATCHES + 1) / 2;
    assert_int_equal(counter(&b, "otelcol_processor_outgoing_items", "profiles"), each);
    assert_int_equal(counter(&b, "otelcol_processor_outgoing_items", "profiles/2"), each);
    uv_run(&b.loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(b.finals[VERDICT_OK], THREADS * BATCHES * 2);
    stage_destroy(&f.stages[0]);
    stage_destroy(&f.stages[1]);
    bench_close(&b);
}

static void test_the_sender_is_told(void **state)
{
    (void)state;
    static const char *const types[] = {"fake", "serial"};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct bench b;
        bench_open(&b, types[i], "{}");
        b.sender = (struct sender){.address.bytes = {[10] = 0xff, [11] = 0xff, 10, 1, 2, 3}};
        struct stage *s = stage_create(&b.instance, "profiles", &b.end);
        consumer_take(stage_consumer(s), new_delivery(&b, 1));
        workers_stop(b.workers);
        struct fake_seen seen = fake_world_seen(&b.world);
        assert_memory_equal(&seen.sender, &b.sender, sizeof b.sender);
        uv_run(&b.loop.uv, UV_RUN_NOWAIT);
        stage_destroy(&s);
        bench_close(&b);
    }
}

// A processor that admits: what it refuses ends with its verdict, and is refused before it is read.
static void test_admits_or_refuses(void **state)
{
    (void)state;
    for (int refuses = 0; refuses < 2; refuses++) {
        struct bench b;
        struct verdict refusal = {0};
        bench_open(&b, "gate", refuses ? "{action: refuse}" : "{}");
        struct stage *s = stage_create(&b.instance, "profiles", &b.end);
        assert_int_equal(consumer_has_room(stage_consumer(s), &refusal), !refuses);
        consumer_take(stage_consumer(s), new_delivery(&b, 5));
        workers_stop(b.workers);
        uv_run(&b.loop.uv, UV_RUN_NOWAIT);
        assert_int_equal(b.arrived_count, !refuses);
        assert_int_equal(b.finals[refuses ? VERDICT_RETRY : VERDICT_OK], 1);
        assert_int_equal(b.last.over_limit, refuses);
        assert_string_equal(b.last.text, refuses ? "the gate is closed" : "");
        assert_string_equal(refusal.text, b.last.text);
        assert_int_equal(counter(&b, "otelcol_processor_incoming_items", "profiles"), 5);
        assert_int_equal(counter(&b, "otelcol_processor_outgoing_items", "profiles"), refuses ? 0 : 5);
        assert_int_equal(counter(&b, "otelcol_processor_refused_profile_samples", "profiles"), refuses ? 5 : 0);
        stage_destroy(&s);
        bench_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes_and_counts),        cmocka_unit_test(test_opens_what_is_wanted),
        cmocka_unit_test(test_drops_and_failures),       cmocka_unit_test(test_serial_keeps_the_order),
        cmocka_unit_test(test_serial_never_two_at_once), cmocka_unit_test(test_the_sender_is_told),
        cmocka_unit_test(test_admits_or_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
