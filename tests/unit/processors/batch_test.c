// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "processors/processors.h"
#include "profile/validate.h"
#include "tests/support/batch_text.h"
#include "tests/support/fake_env.h"
#include "tests/support/random_batch.h"

#include <string.h>

enum { INPUTS = 5 };

struct fixture {
    struct fake_env env;
    struct fake_component c;
    struct processor *p;
    struct batch *inputs[INPUTS];
    struct batch **parts;
    size_t count;
};

static void open_with(struct fixture *f, const char *yaml)
{
    fake_env_init(&f->env, 1);
    fake_component_init(&f->c, &f->env, KIND_PROCESSOR, &batch_processor.module, yaml);
    f->p = (struct processor *)f->c.instance.component;
    for (uint64_t i = 0; i < INPUTS; i++)
        f->inputs[i] = random_batch(i + 1, NULL);
    f->parts = NULL;
    f->count = 0;
}

static void close_it(struct fixture *f)
{
    for (size_t i = 0; i < INPUTS; i++)
        batch_unref(&f->inputs[i]);
    for (size_t i = 0; i < f->count; i++)
        batch_unref(&f->parts[i]);
    free(f->parts);
    fake_component_fini(&f->c);
    fake_env_fini(&f->env);
}

static void assert_same_lines(const struct fixture *f)
{
    char *before = batch_lines(f->inputs, INPUTS), *after = batch_lines(f->parts, f->count);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void join_all(struct fixture *f)
{
    struct err e = {0};
    assert_int_equal(f->p->module->join(f->p, f->inputs, INPUTS, &f->parts, &f->count, &e), ERR_OK);
    for (size_t i = 0; i < f->count; i++)
        assert_int_equal(batch_validate(f->parts[i], &e), ERR_OK);
}

static void test_defaults(void **state)
{
    (void)state;
    struct fixture f;
    open_with(&f, "{}");
    assert_int_equal(f.p->hold.longest_nanos, 200 * NANOS_PER_MS);
    assert_int_equal(f.p->hold.enough, 8192);
    assert_int_equal(f.p->hold.sizer, HOLD_SAMPLES);
    assert_int_equal(f.p->hold.most_groups, 1000);
    assert_true(f.p->takes_unread);
    close_it(&f);
}

static void test_settings(void **state)
{
    (void)state;
    struct fixture f;
    open_with(&f, "{send_batch_size: 5, send_batch_max_size: 7, timeout: 1s, sizer: profiles, metadata_keys: [a, b],\n"
                  " metadata_cardinality_limit: 3}");
    assert_int_equal(f.p->hold.longest_nanos, NANOS_PER_SECOND);
    assert_int_equal(f.p->hold.enough, 5);
    assert_int_equal(f.p->hold.sizer, HOLD_PROFILES);
    assert_int_equal(f.p->hold.keys->count, 2);
    assert_int_equal(f.p->hold.most_groups, 3);
    assert_false(f.p->takes_unread); // it may have to cut
    close_it(&f);
}

static void test_wrong_settings(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{send_batch_max_size: 10}", "send_batch_max_size: must be at least send_batch_size, 8192"},
        {"{send_batch_size: 1, send_batch_max_size: 10, sizer: bytes}", "not cut by bytes"},
        {"{sizer: requests}", "sizer"},
        {"{metadata_cardinality_limit: 0}", "metadata_cardinality_limit"},
    };
    struct fake_env env;
    fake_env_init(&env, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        void *settings;
        char *messages = fake_settings(&env, KIND_PROCESSOR, &batch_processor.module, cases[i][0], &settings);
        assert_non_null(strstr(messages, cases[i][1]));
        free(messages);
    }
    fake_env_fini(&env);
}

// Senders would give up, and send again.
static void test_long_timeout(void **state)
{
    (void)state;
    struct fixture f;
    void *settings;
    struct err e;
    open_with(&f, "{}");
    char *messages = fake_settings(&f.env, KIND_PROCESSOR, &batch_processor.module, "{timeout: 10s}", &settings);
    assert_non_null(strstr(messages, "warning: "));
    assert_non_null(strstr(messages, "timeout: senders wait as long"));
    free(messages);
    assert_int_equal(batch_processor.create(f.p, settings, &e), ERR_OK);
    assert_int_equal(f.p->hold.longest_nanos, 2 * NANOS_PER_SECOND);
    assert_false(f.p->hold.keeps);
    close_it(&f);
}

static void test_joins(void **state)
{
    (void)state;
    struct fixture f;
    open_with(&f, "{}");
    join_all(&f);
    assert_int_equal(f.count, 1);
    assert_same_lines(&f);
    close_it(&f);
}

static void test_one_stays_itself(void **state)
{
    (void)state;
    struct fixture f;
    struct err e;
    open_with(&f, "{}");
    assert_int_equal(f.p->module->join(f.p, f.inputs, 1, &f.parts, &f.count, &e), ERR_OK);
    assert_int_equal(f.count, 1);
    assert_ptr_equal(f.parts[0], f.inputs[0]);
    close_it(&f);
}

static void test_cuts(void **state)
{
    (void)state;
    static const char *const sizers[] = {"items", "profiles"};
    for (uint64_t max = 1; max < 9; max += 2) {
        for (size_t s = 0; s < COUNT_OF(sizers); s++) {
            struct fixture f;
            char yaml[128];
            snprintf(yaml, sizeof yaml, "{send_batch_size: 1, send_batch_max_size: %d, sizer: %s}", (int)max,
                     sizers[s]);
            open_with(&f, yaml);
            join_all(&f);
            assert_true(f.count > 1);
            for (size_t i = 0; i < f.count; i++)
                assert_true((s == 0 ? f.parts[i]->sample_count : f.parts[i]->profile_count) <= max);
            assert_same_lines(&f);
            close_it(&f);
        }
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const char *const sizers[] = {"items", "profiles"};
    for (size_t s = 0; s < COUNT_OF(sizers); s++) {
        struct fixture f;
        char yaml[128];
        snprintf(yaml, sizeof yaml, "{send_batch_size: 1, send_batch_max_size: 3, sizer: %s}", sizers[s]);
        open_with(&f, yaml);
        enum err_code rc = ERR_MEMORY;
        for (size_t n = 1; rc != ERR_OK; n += 1 + n / 16) {
            struct err e = {0};
            mem_fail_from(n);
            rc = f.p->module->join(f.p, f.inputs, 2, &f.parts, &f.count, &e);
            mem_fail_from(0);
            assert_true(rc == ERR_OK || rc == ERR_MEMORY);
        }
        close_it(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_settings),      cmocka_unit_test(test_wrong_settings),
        cmocka_unit_test(test_joins),    cmocka_unit_test(test_long_timeout),  cmocka_unit_test(test_one_stays_itself),
        cmocka_unit_test(test_cuts),     cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
