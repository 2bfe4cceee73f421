// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "pipeline/stage.h"
#include "profile/builder.h"
#include "profile/merge.h"
#include "tests/support/fake_modules.h"
#include "tests/support/loop_step.h"

enum { WORKERS = 4, THREADS = 3, EACH = 200, ARRIVED_MAX = 1024, CHARGE = 1000 };

// A processor that joins as a test says, in a stage of its own; the end of the pipeline notes what comes.
struct joiner {
    struct processor processor;
    enum err_code rc; // of joining several
    bool fails_alone; // of one, too
};

struct bench {
    struct fake_world world;
    struct workers *workers;
    struct budget budget;
    struct metrics *metrics;
    struct log *log;
    FILE *log_stream;
    char *log_text;
    size_t log_size;
    struct component_env env;
    struct loop loop;
    struct processor_module module;
    struct component_plan plan;
    struct joiner joiner;
    struct instance instance;
    struct stage *stage;
    bool drained;
    struct consumer end;
    pthread_mutex_t lock;
    struct verdict answer; // of the end
    uint64_t arrived[ARRIVED_MAX];
    unsigned arrived_count;
    unsigned finals[FAKE_VERDICTS], helds;
};

static void end_take(struct consumer *self, struct delivery d)
{
    struct bench *b = CONTAINER_OF(self, struct bench, end);
    pthread_mutex_lock(&b->lock);
    assert_true(b->arrived_count < ARRIVED_MAX);
    b->arrived[b->arrived_count++] = d.batch->sample_count;
    const struct verdict answer = b->answer;
    pthread_mutex_unlock(&b->lock);
    delivery_end(&d, &answer);
}

static void set_answer(struct bench *b, enum verdict_kind kind, bool tried)
{
    pthread_mutex_lock(&b->lock);
    b->answer = verdict_make(kind, "as told");
    b->answer.tried = tried;
    pthread_mutex_unlock(&b->lock);
}

// While it wants what comes to be offered again.
static bool end_has_room(struct consumer *self, struct verdict *refusal)
{
    struct bench *b = CONTAINER_OF(self, struct bench, end);
    pthread_mutex_lock(&b->lock);
    *refusal = b->answer;
    pthread_mutex_unlock(&b->lock);
    return refusal->kind == VERDICT_OK;
}

static enum err_code join(struct processor *self, struct batch *const *batches, size_t count, struct batch ***out,
                          size_t *count_out, struct err *e)
{
    const struct joiner *j = (const struct joiner *)self;
    if ((count > 1 || j->fails_alone) && j->rc != ERR_OK)
        return err_set(e, j->rc, "told to fail");
    *out = mem_try_array(1, sizeof(struct batch *));
    assert_non_null(*out);
    *count_out = 1;
    return batch_merge(batches, count, *out, e);
}

static void bench_open(struct bench *b, struct processor_hold hold)
{
    memset(b, 0, sizeof *b);
    fake_world_init(&b->world);
    b->workers = workers_create(WORKERS, 0, 0);
    budget_init(&b->budget, 1 << 20);
    b->metrics = metrics_create();
    b->log_stream = open_memstream(&b->log_text, &b->log_size);
    b->log = log_create(&(struct log_options){.stream = b->log_stream});
    b->env = (struct component_env){
        .workers = b->workers, .budget = &b->budget, .metrics = b->metrics, .clock = &b->world.clock};
    loop_init(&b->loop, 0);
    b->module = (struct processor_module){.join = join};
    b->plan = (struct component_plan){.kind = KIND_PROCESSOR, .id = "join"};
    b->joiner.processor = (struct processor){
        .component = {.id = "join", .log = {b->log, "processor", "join"}, .loop = &b->loop, .env = &b->env},
        .module = &b->module,
        .takes_unread = true,
        .hold = hold};
    b->instance = (struct instance){.plan = &b->plan, .component = &b->joiner.processor.component};
    b->end.take = end_take;
    b->end.has_room = end_has_room;
    pthread_mutex_init(&b->lock, NULL);
    b->stage = stage_create(&b->instance, "profiles", &b->end);
}

static void bench_drain(struct bench *b)
{
    if (!b->drained)
        stage_drain(b->stage);
    b->drained = true;
    while (workers_busy(b->workers) != 0 || !stage_idle(b->stage))
        loop_step(&b->loop.uv);
    uv_run(&b->loop.uv, UV_RUN_NOWAIT);
}

static void bench_close(struct bench *b)
{
    bench_drain(b);
    stage_close(b->stage);
    workers_stop(b->workers);
    loop_stop(&b->loop);
    loop_fini(&b->loop);
    stage_destroy(&b->stage);
    workers_destroy(&b->workers);
    metrics_destroy(&b->metrics);
    log_destroy(&b->log);
    fclose(b->log_stream);
    free(b->log_text);
    assert_int_equal(atomic_load(&b->budget.used), 0);
    pthread_mutex_destroy(&b->lock);
    fake_world_fini(&b->world);
}

static void on_verdict(void *arg, enum verdict_moment moment, const struct verdict *v)
{
    struct bench *b = arg;
    if (moment == MOMENT_HELD)
        b->helds++;
    else
        b->finals[v->kind]++;
}

static void give_batch(struct bench *b, struct batch *batch)
{
    const struct waiter waiter = {.loop = &b->loop, .wants_held = true, .on_verdict = on_verdict, .arg = b};
    assert_true(budget_try_take(&b->budget, CHARGE));
    consumer_take(stage_consumer(b->stage), delivery_create(batch, &waiter, &b->budget, CHARGE));
}

static void give(struct bench *b, uint32_t samples)
{
    give_batch(b, fake_batch(samples));
}

// Until the workers have nothing to do and the loop nothing to say.
static void settle(struct bench *b)
{
    do
        loop_step(&b->loop.uv);
    while (workers_busy(b->workers) != 0);
    uv_run(&b->loop.uv, UV_RUN_NOWAIT);
}

static void wait_arrived(struct bench *b, unsigned count)
{
    while (b->finals[VERDICT_OK] + b->finals[VERDICT_RETRY] + b->finals[VERDICT_REFUSED] < count)
        loop_step(&b->loop.uv);
}

static int64_t flushes(struct bench *b, const char *cause)
{
    static const struct metric_family family = {"profrelay_processor_flushes", "", METRIC_COUNTER};
    const struct metric_label labels[] = {{"processor", "join"}, {"pipeline", "profiles"}, {"cause", cause}};
    return metric_get(metrics_series(b->metrics, &family, labels, 3));
}

static int64_t counter(struct bench *b, const char *name, enum metric_type type)
{
    const struct metric_family family = {name, "", type};
    const struct metric_label labels[] = {{"processor", "join"}, {"pipeline", "profiles"}};
    return metric_get(metrics_series(b->metrics, &family, labels, 2));
}

#define HOUR (3600 * NANOS_PER_SECOND)

static void test_size(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR, .enough = 10});
    give(&b, 3);
    give(&b, 4);
    settle(&b);
    assert_int_equal(b.arrived_count, 0);
    assert_int_equal(b.helds + b.finals[VERDICT_OK], 0);
    assert_int_equal(counter(&b, "profrelay_processor_held_deliveries", METRIC_GAUGE), 2);
    give(&b, 5);
    wait_arrived(&b, 3);
    assert_int_equal(b.arrived_count, 1);
    assert_int_equal(b.arrived[0], 12);
    assert_int_equal(b.helds, 3);
    assert_int_equal(b.finals[VERDICT_OK], 3);
    assert_int_equal(flushes(&b, "size"), 1);
    assert_int_equal(counter(&b, "profrelay_processor_held_deliveries", METRIC_GAUGE), 0);
    assert_int_equal(counter(&b, "otelcol_processor_incoming_items", METRIC_COUNTER), 12);
    assert_int_equal(counter(&b, "otelcol_processor_outgoing_items", METRIC_COUNTER), 12);
    bench_close(&b);
}

static void test_other_sizers(void **state)
{
    (void)state;
    for (int sizer = HOLD_PROFILES; sizer <= HOLD_BYTES; sizer++) {
        struct bench b;
        struct batch *one = fake_batch(5);
        uint64_t enough = sizer == HOLD_PROFILES ? 3 : 2 * batch_memory_bytes(one) + 1;
        bench_open(&b,
                   (struct processor_hold){.longest_nanos = HOUR, .enough = enough, .sizer = (enum hold_sizer)sizer});
        give_batch(&b, one);
        give(&b, 5);
        settle(&b);
        assert_int_equal(b.arrived_count, 0);
        give(&b, 5);
        wait_arrived(&b, 3);
        assert_int_equal(b.arrived_count, 1);
        bench_close(&b);
    }
}

static void test_time(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = 5 * NANOS_PER_MS});
    give(&b, 3);
    settle(&b);
    fake_world_advance(&b.world, 4 * NANOS_PER_MS);
    give(&b, 4);
    settle(&b);
    assert_int_equal(b.arrived_count, 0);
    fake_world_advance(&b.world, NANOS_PER_MS); // since the first
    wait_arrived(&b, 2);
    assert_int_equal(b.arrived_count, 1);
    assert_int_equal(b.arrived[0], 7);
    assert_int_equal(flushes(&b, "timeout"), 1);
    give(&b, 1); // and again
    settle(&b);
    fake_world_advance(&b.world, 5 * NANOS_PER_MS);
    wait_arrived(&b, 3);
    assert_int_equal(b.arrived[1], 1);
    bench_close(&b);
}

static void test_no_time_is_no_wait(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, (struct processor_hold){.enough = 100});
    give(&b, 3);
    wait_arrived(&b, 1);
    assert_int_equal(b.arrived[0], 3);
    bench_close(&b);
}

static void test_drain(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR});
    give(&b, 3);
    give(&b, 4);
    settle(&b);
    stage_drain(b.stage);
    give(&b, 5); // nothing is held any more
    wait_arrived(&b, 3);
    assert_int_equal(b.arrived_count, 2);
    assert_int_equal(b.arrived[0] + b.arrived[1], 12);
    assert_int_equal(flushes(&b, "shutdown"), 1);
    b.drained = true;
    bench_close(&b);
}

static void test_verdicts_reach_all(void **state)
{
    (void)state;
    for (int kind = VERDICT_RETRY; kind <= VERDICT_REFUSED; kind++) {
        struct bench b;
        bench_open(&b, (struct processor_hold){.longest_nanos = HOUR, .enough = 6});
        set_answer(&b, (enum verdict_kind)kind, false);
        for (int i = 0; i < 3; i++)
            give(&b, 2);
        wait_arrived(&b, 3);
        assert_int_equal(b.arrived_count, 1);
        assert_int_equal(b.finals[kind], 3);
        assert_int_equal(b.helds, 0);
        bench_close(&b);
    }
}

// What cannot be joined goes on by itself.
static void test_failing_join(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR, .enough = 6});
    b.joiner.rc = ERR_LIMIT;
    for (int i = 0; i < 3; i++)
        give(&b, 2);
    wait_arrived(&b, 3);
    assert_int_equal(b.arrived_count, 3);
    assert_int_equal(b.finals[VERDICT_OK], 3);
    fflush(b.log_stream);
    assert_non_null(strstr(b.log_text, "cannot join 3 parts"));
    bench_close(&b);
}

// With a full budget nothing is joined, and nothing waits.
static void test_full_budget(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR});
    give(&b, 2);
    settle(&b);
    size_t rest = b.budget.limit - atomic_load(&b.budget.used) - CHARGE;
    assert_true(budget_try_take(&b.budget, rest));
    give(&b, 2);
    wait_arrived(&b, 2);
    assert_int_equal(b.arrived_count, 2);
    assert_int_equal(flushes(&b, "memory"), 1);
    budget_give(&b.budget, rest);
    bench_close(&b);
}

static void add_tenant(struct builder *b, const char *tenant, uint32_t samples)
{
    const struct key_value kv = {BYTES_LITERAL("tenant"), value_string(bytes_from_text(tenant))};
    struct sample_writer rows;
    struct observation_writer values;
    sample_writer_init(&rows, b);
    observation_writer_init(&values, b);
    builder_resource(b, &kv, tenant[0] == '\0' ? 0 : 1, 0, (struct bytes){0});
    builder_scope(b, (struct bytes){0}, (struct bytes){0}, NULL, 0, 0, (struct bytes){0});
    for (uint32_t i = 0; i < samples; i++) {
        sample_writer_add(&rows, 0, 0, 0);
        observation_writer_add_value(&values, 1);
    }
    struct profile p = {.columns = sample_writer_take(&rows), .observations = observation_writer_take(&values)};
    builder_profile(b, &p);
    sample_writer_fini(&rows);
    observation_writer_fini(&values);
}

static struct batch *tenants(const char *const *names, size_t count)
{
    struct builder *b = builder_create(0);
    struct batch *batch;
    struct err e;
    for (size_t i = 0; i < count; i++)
        add_tenant(b, names[i], 1);
    assert_int_equal(builder_finish(b, &batch, &e), ERR_OK);
    builder_destroy(&b);
    return batch;
}

// Each tenant has a group; one delivery may be in several, and hears when all of it is through.
static void test_keys(void **state)
{
    (void)state;
    static const char *const keys[] = {"tenant"}, *const mixed[] = {"a", "a", "b", "", "a"}, *const as[] = {"a"},
                             *const bs[] = {"b"};
    const struct config_strings list = {keys, 1};
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR, .enough = 4, .keys = &list});
    give_batch(&b, tenants(as, 1));
    give_batch(&b, tenants(bs, 1));
    give_batch(&b, tenants(mixed, 5)); // a has four now
    wait_arrived(&b, 1);
    settle(&b);
    assert_int_equal(b.arrived_count, 1);
    assert_int_equal(b.arrived[0], 4);
    assert_int_equal(b.finals[VERDICT_OK], 1);
    bench_drain(&b);
    assert_int_equal(b.arrived_count, 3);
    assert_int_equal(b.arrived[1] + b.arrived[2], 3);
    assert_int_equal(b.finals[VERDICT_OK], 3);
    bench_close(&b);
}

static void test_most_groups(void **state)
{
    (void)state;
    static const char *const keys[] = {"tenant"}, *const names[] = {"a", "b", "c"};
    const struct config_strings list = {keys, 1};
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR, .keys = &list, .most_groups = 2});
    for (size_t i = 0; i < COUNT_OF(names); i++)
        give_batch(&b, tenants(names + i, 1));
    wait_arrived(&b, 1);
    settle(&b);
    assert_int_equal(b.arrived_count, 1);
    bench_close(&b);
}

// Too many parts: as it came, at once.
static void test_many_keys_in_one(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    static const char *const keys[] = {"tenant"};
    const struct config_strings list = {keys, 1};
    const char *names[COUNT];
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR, .keys = &list});
    for (size_t i = 0; i < COUNT; i++)
        names[i] = i % 2 == 0 ? "a" : "b";
    give_batch(&b, tenants(names, COUNT));
    wait_arrived(&b, 1);
    assert_int_equal(b.arrived_count, 1);
    assert_int_equal(b.arrived[0], COUNT);
    bench_close(&b);
}

// While nothing comes, either: what is held may be why.
static void test_budget_that_fills_meanwhile(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR});
    give(&b, 2);
    settle(&b);
    assert_true(budget_try_take(&b.budget, b.budget.limit / 2));
    wait_arrived(&b, 1);
    assert_int_equal(flushes(&b, "memory"), 1);
    budget_give(&b.budget, b.budget.limit / 2);
    bench_close(&b);
}

// --- a processor that keeps ---

// Senders hear at once that it is held; what became of it, when it is known.
static void test_keeps(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR, .keeps = true, .enough = 10});
    give(&b, 3);
    give(&b, 4);
    settle(&b);
    assert_int_equal(b.helds, 2);
    assert_int_equal(b.arrived_count, 0);
    assert_int_equal(atomic_load(&b.budget.used), 2 * CHARGE);
    give(&b, 5);
    wait_arrived(&b, 3);
    assert_int_equal(b.arrived_count, 1);
    assert_int_equal(b.arrived[0], 12);
    assert_int_equal(b.helds, 3);
    assert_int_equal(b.finals[VERDICT_OK], 3);
    bench_close(&b);
}

// They will not send it again.
static void test_what_is_kept_is_offered_again(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR, .keeps = true, .enough = 6});
    set_answer(&b, VERDICT_RETRY, false);
    for (int i = 0; i < 3; i++)
        give(&b, 2);
    settle(&b);
    assert_int_equal(b.arrived_count, 1);
    assert_int_equal(b.helds, 3);
    assert_int_equal(b.finals[VERDICT_RETRY], 0);
    assert_false(stage_idle(b.stage));
    assert_true(atomic_load(&b.budget.used) > 0);
    stage_drain(b.stage); // it comes sooner then
    b.drained = true;
    set_answer(&b, VERDICT_OK, false);
    wait_arrived(&b, 3);
    assert_int_equal(b.arrived_count, 2);
    assert_int_equal(b.arrived[1], 6);
    assert_int_equal(b.finals[VERDICT_OK], 3);
    assert_true(stage_idle(b.stage));
    bench_close(&b);
}

// Whoever comes to be refused, or tried, is not.
static void test_what_is_kept_ends_once(void **state)
{
    (void)state;
    for (int kind = VERDICT_RETRY; kind <= VERDICT_REFUSED; kind++) {
        struct bench b;
        bench_open(&b, (struct processor_hold){.longest_nanos = HOUR, .keeps = true, .enough = 6});
        set_answer(&b, (enum verdict_kind)kind, true);
        for (int i = 0; i < 3; i++)
            give(&b, 2);
        wait_arrived(&b, 3);
        assert_int_equal(b.arrived_count, 1);
        assert_int_equal(b.helds, 3);
        assert_int_equal(b.finals[kind], 3);
        bench_close(&b);
    }
}

static void test_what_is_kept_and_cannot_be_joined(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR, .keeps = true, .enough = 6});
    b.joiner.rc = ERR_MEMORY;
    b.joiner.fails_alone = true;
    for (int i = 0; i < 3; i++)
        give(&b, 2);
    wait_arrived(&b, 3);
    assert_int_equal(b.arrived_count, 3); // as they came
    assert_int_equal(b.finals[VERDICT_OK], 3);
    assert_int_equal(counter(&b, "profrelay_processor_failed_items", METRIC_COUNTER), 6);
    bench_close(&b);
}

// Room that was charged for it is not in the way of what it becomes, and is charged again after a refusal.
static void test_kept_within_a_full_budget(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR, .keeps = true, .enough = 1});
    size_t rest = b.budget.limit - CHARGE;
    assert_true(budget_try_take(&b.budget, rest));
    set_answer(&b, VERDICT_RETRY, false);
    give(&b, 2);
    settle(&b);
    assert_int_equal(b.helds, 1);
    assert_int_equal(atomic_load(&b.budget.used), b.budget.limit);
    set_answer(&b, VERDICT_OK, false);
    bench_drain(&b);
    assert_int_equal(b.finals[VERDICT_OK], 1);
    budget_give(&b.budget, rest);
    bench_close(&b);
}

static void *feed(void *arg)
{
    struct bench *b = arg;
    for (int i = 0; i < EACH; i++)
        give(b, 2);
    return NULL;
}

static void many_threads(bool keeps)
{
    struct bench b;
    pthread_t threads[THREADS];
    bench_open(&b, (struct processor_hold){.longest_nanos = HOUR, .keeps = keeps, .enough = 7});
    b.budget.limit = (size_t)1 << 30;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, feed, &b), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    bench_drain(&b);
    uint64_t samples = 0;
    for (unsigned i = 0; i < b.arrived_count; i++)
        samples += b.arrived[i];
    assert_int_equal(samples, THREADS * EACH * 2);
    assert_int_equal(b.arrived_count, THREADS * EACH / 4); // of four each
    assert_int_equal(b.finals[VERDICT_OK], THREADS * EACH);
    assert_int_equal(b.helds, THREADS * EACH);
    bench_close(&b);
}

static void test_many_threads(void **state)
{
    (void)state;
    many_threads(false);
    many_threads(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_other_sizers),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_no_time_is_no_wait),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_verdicts_reach_all),
        cmocka_unit_test(test_failing_join),
        cmocka_unit_test(test_full_budget),
        cmocka_unit_test(test_budget_that_fills_meanwhile),
        cmocka_unit_test(test_keeps),
        cmocka_unit_test(test_what_is_kept_is_offered_again),
        cmocka_unit_test(test_what_is_kept_ends_once),
        cmocka_unit_test(test_what_is_kept_and_cannot_be_joined),
        cmocka_unit_test(test_kept_within_a_full_budget),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_most_groups),
        cmocka_unit_test(test_many_keys_in_one),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
