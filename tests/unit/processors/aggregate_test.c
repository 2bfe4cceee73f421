// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "processors/processors.h"
#include "profile/builder.h"
#include "tests/support/batch_text.h"
#include "tests/support/fake_env.h"

#include <string.h>

static void add_profile(struct builder *b, const char *type, const int64_t *values, uint32_t count, uint64_t time)
{
    struct sample_writer rows;
    struct observation_writer observations;
    sample_writer_init(&rows, b);
    observation_writer_init(&observations, b);
    for (uint32_t i = 0; i < count; i++) {
        const struct batch_line line = {
            .function =
                builder_function(b, &(struct batch_function){.name = builder_string_text(b, i == 0 ? "f" : "g")})};
        uint32_t location = builder_location(b, &(struct batch_location){0}, &line, 1);
        sample_writer_add(&rows, builder_stack(b, &location, 1), 0, 0);
        observation_writer_add_value(&observations, values[i]);
    }
    struct profile p = {.sample_type = {builder_string_text(b, type), builder_string_text(b, "ns")},
                        .time_nanos = time,
                        .duration_nanos = 5,
                        .columns = sample_writer_take(&rows),
                        .observations = observation_writer_take(&observations)};
    builder_profile(b, &p);
    sample_writer_fini(&rows);
    observation_writer_fini(&observations);
}

static struct batch *make(const int64_t *values, uint32_t count, uint64_t time)
{
    const struct key_value kv = {BYTES_LITERAL("service.name"), value_string(BYTES_LITERAL("shop"))};
    struct builder *b = builder_create(0);
    struct batch *batch;
    struct err e;
    builder_resource(b, &kv, 1, 0, (struct bytes){0});
    builder_scope(b, BYTES_LITERAL("agent"), (struct bytes){0}, NULL, 0, 0, (struct bytes){0});
    add_profile(b, "cpu", values, count, time);
    add_profile(b, "inuse_space", values, count, time);
    assert_int_equal(builder_finish(b, &batch, &e), ERR_OK);
    builder_destroy(&b);
    return batch;
}

static void check(const char *yaml, const struct batch *wanted)
{
    static const int64_t first[] = {1, 10}, second[] = {2};
    struct batch *inputs[] = {make(first, 2, 100), make(second, 1, 103)}, **parts;
    struct fake_env env;
    struct fake_component c;
    struct err e = {0};
    size_t count;
    fake_env_init(&env, 1);
    fake_component_init(&c, &env, KIND_PROCESSOR, &aggregate_processor.module, yaml);
    struct processor *p = (struct processor *)c.instance.component;
    enum err_code rc = ERR_MEMORY;
    for (size_t n = 1; rc != ERR_OK; n++) {
        mem_fail_from(n);
        rc = p->module->join(p, inputs, 2, &parts, &count, &e);
        mem_fail_from(0);
        assert_true(rc == ERR_OK || rc == ERR_MEMORY);
    }
    assert_int_equal(count, 1);
    struct buf text, wanted_text;
    buf_init(&text, 1 << 16);
    buf_init(&wanted_text, 1 << 16);
    batch_text(parts[0], &text);
    batch_text(wanted, &wanted_text);
    assert_int_equal(text.len, wanted_text.len);
    assert_memory_equal(text.data, wanted_text.data, text.len);
    buf_fini(&text);
    buf_fini(&wanted_text);
    for (size_t i = 0; i < 2; i++)
        batch_unref(&inputs[i]);
    batch_unref(&parts[0]);
    free(parts);
    fake_component_fini(&c);
    fake_env_fini(&env);
}

// What the two of check become: cpu alone, or both, is summed.
static struct batch *golden(bool sums_states)
{
    static const int64_t sum[] = {3, 10}, first[] = {1, 10}, second[] = {2};
    const struct key_value kv = {BYTES_LITERAL("service.name"), value_string(BYTES_LITERAL("shop"))};
    struct builder *b = builder_create(0);
    struct batch *batch;
    struct err e;
    builder_resource(b, &kv, 1, 0, (struct bytes){0});
    builder_scope(b, BYTES_LITERAL("agent"), (struct bytes){0}, NULL, 0, 0, (struct bytes){0});
    add_profile(b, "cpu", sum, 2, 100);
    add_profile(b, "inuse_space", sums_states ? sum : first, 2, 100);
    if (!sums_states)
        add_profile(b, "inuse_space", second, 1, 103);
    assert_int_equal(builder_finish(b, &batch, &e), ERR_OK);
    builder_destroy(&b);
    return batch;
}

static void test_counts_are_summed_states_are_not(void **state)
{
    (void)state;
    struct batch *wanted = golden(false);
    struct profile *cpu = (struct profile *)&wanted->resources[0]->scopes[0]->profiles[0];
    cpu->duration_nanos = 8; // 100 to 108
    check("{}", wanted);
    batch_unref(&wanted);
}

static void test_keep(void **state)
{
    (void)state;
    struct batch *wanted = golden(true);
    struct profile *profiles = (struct profile *)wanted->resources[0]->scopes[0]->profiles;
    profiles[0].duration_nanos = profiles[1].duration_nanos = 8;
    check("{keep: [goroutine]}", wanted);
    batch_unref(&wanted);
}

static void test_settings(void **state)
{
    (void)state;
    struct fake_env env;
    struct fake_component c;
    fake_env_init(&env, 1);
    fake_component_init(&c, &env, KIND_PROCESSOR, &aggregate_processor.module, "{window: 3s, max_samples: 7}");
    const struct processor *p = (struct processor *)c.instance.component;
    assert_int_equal(p->hold.longest_nanos, 3 * NANOS_PER_SECOND);
    assert_int_equal(p->hold.enough, 7);
    assert_false(p->takes_unread);
    assert_true(p->hold.keeps); // senders cannot wait as long
    fake_component_fini(&c);
    fake_component_init(&c, &env, KIND_PROCESSOR, &aggregate_processor.module, "{window: 2s}");
    assert_false(((const struct processor *)c.instance.component)->hold.keeps);
    fake_component_fini(&c);
    fake_env_fini(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_summed_states_are_not),
        cmocka_unit_test(test_keep),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
