// SPDX-License-Identifier: Apache-2.0
// How what was found meets what a resource has; what is found is tested in tests/unit/detect.
#include "tests/unit/processors/fixture.h"

#include "tests/support/fake_origin.h"

static const struct processor_module *const module = &resource_detection_processor;

static int init_environment(void **state)
{
    (void)state;
    unsetenv("OTEL_RESOURCE_ATTRIBUTES");
    unsetenv("OTEL_SERVICE_NAME");
    return 0;
}

static bool is_ready(void *arg)
{
    struct processor *p = arg;
    return p->module->ready(p, NULL) == ERR_OK;
}

static void run_start(struct test_run *r, const char *yaml)
{
    run_begin(r, module, yaml);
    assert_int_equal(fake_component_start(&r->component, &r->e), ERR_OK);
    fake_env_run_until(&r->env, is_ready, r->component.instance.component);
}

static struct batch *default_batch(void)
{
    struct builder *b = builder_create(0);
    const struct key_value list[] = {PAIR("a", TEXT("own")), PAIR("n", value_int(7))};
    const struct key_value other[] = {PAIR("a", TEXT("found")), PAIR("b", TEXT("2"))};
    builder_resource(b, list, 2, 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    builder_resource(b, other, 2, 0, nothing);
    builder_resource(b, NULL, 0, 0, nothing);
    return finish(b);
}

static void assert_written(const char *yaml, const char *expected)
{
    struct test_run r;
    struct batch *b = default_batch(), *before = batch_ref(b);
    setenv("OTEL_RESOURCE_ATTRIBUTES", "a=found,b=2", 1);
    run_start(&r, yaml);
    assert_int_equal(run_process(&r, &b), ERR_OK);
    char *text = brief_text(b);
    assert_string_equal(text, expected);
    free(text);
    assert_ptr_equal(b->dictionary, before->dictionary);
    assert_ptr_equal(b->resources[1], before->resources[1]); // says it already
    batch_unref(&before);
    batch_unref(&b);
    run_end(&r);
}

static void override_decides_who_is_right(void **state)
{
    (void)state;
    assert_written("{}", "a=found,n=7,b=2\na=found,b=2\na=found,b=2\n");
    assert_written("override: false", "a=own,n=7,b=2\na=found,b=2\na=found,b=2\n");
}

static void nothing_found_changes_nothing(void **state)
{
    (void)state;
    struct test_run r;
    struct batch *b = default_batch(), *before = batch_ref(b);
    run_start(&r, "{}");
    assert_int_equal(run_process(&r, &b), ERR_OK);
    assert_ptr_equal(b, before);
    batch_unref(&before);
    batch_unref(&b);
    run_end(&r);
}

// As when a start failed for another reason.
static void it_may_end_without_a_start(void **state)
{
    (void)state;
    struct batch *b = default_batch(), *before = batch_ref(b);
    b = processed(module, "{}", b);
    assert_ptr_equal(b, before);
    batch_unref(&before);
    batch_unref(&b);
}

static void an_unread_batch_stays_unread(void **state)
{
    (void)state;
    struct test_run r;
    struct fake_origin *origin;
    struct batch *whole = default_batch(), *b = fake_unread_batch(whole, 1000, &origin);
    setenv("OTEL_RESOURCE_ATTRIBUTES", "a=found", 1);
    run_start(&r, "{}");
    assert_int_equal(run_process(&r, &b), ERR_OK);
    assert_null(b->dictionary);
    assert_int_equal(origin->reads, 0);
    assert_true(bytes_equal_text(b->resources[0]->attributes[0].value.bytes, "found"));
    batch_unref(&b);
    batch_unref(&whole);
    run_end(&r);
}

static void memory_may_fail(void **state)
{
    (void)state;
    struct test_run r;
    setenv("OTEL_RESOURCE_ATTRIBUTES", "a=found,b=2", 1);
    run_start(&r, "{}");
    enum err_code rc = ERR_MEMORY;
    size_t n = 1;
    for (; rc != ERR_OK; n++) {
        struct batch *b = default_batch(), *before = b;
        assert_in_range(n, 1, 100);
        mem_fail_from(n);
        rc = run_process(&r, &b);
        if (rc != ERR_OK) {
            assert_int_equal(rc, ERR_MEMORY);
            assert_ptr_equal(b, before);
        }
        batch_unref(&b);
    }
    assert_in_range(n, 4, 100);
    run_end(&r);
}

static void the_table_knows_both_names(void **state)
{
    (void)state;
    assert_ptr_equal(module_find(&processors_table, "resource_detection"), &module->module);
    assert_ptr_equal(module_find(&processors_table, "resourcedetection/env"), &module->module);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    assert_setting_error(module, "detectors: [heroku]",
                         "test:1:1: processors.resource_detection: detectors: \"heroku\" is not available: set "
                         "OTEL_RESOURCE_ATTRIBUTES where it runs, and use env\n");
    assert_setting_error(module, "timeout: 0s",
                         "test:1:10: processors.resource_detection: timeout: expected 1ms to 1h, found 0s\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(override_decides_who_is_right, init_environment),
        cmocka_unit_test_setup(nothing_found_changes_nothing, init_environment),
        cmocka_unit_test_setup(it_may_end_without_a_start, init_environment),
        cmocka_unit_test_setup(an_unread_batch_stays_unread, init_environment),
        cmocka_unit_test_setup(memory_may_fail, init_environment),
        cmocka_unit_test(the_table_knows_both_names),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
