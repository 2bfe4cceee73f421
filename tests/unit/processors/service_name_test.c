// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/processors/fixture.h"

#include "tests/support/fake_origin.h"

static const struct processor_module *const module = &service_name_processor;

static struct batch *make_batch(const struct key_value *list, uint32_t count)
{
    struct builder *b = builder_create(0);
    builder_resource(b, list, count, 0, nothing);
    return finish(b);
}

static void assert_named(const char *yaml, const struct key_value *list, uint32_t count, const char *expected)
{
    assert_processed(module, yaml, make_batch(list, count), expected);
}

static void the_first_source_with_a_name_counts(void **state)
{
    (void)state;
    const struct key_value all[] = {
        PAIR("process.executable.name", TEXT("exe")),
        PAIR("k8s.deployment.name", TEXT("web")),
        PAIR("k8s.container.name", TEXT("app")),
        PAIR("file.path", TEXT("/data/cpu.pb.gz")),
    };
#define ALL "process.executable.name=exe,k8s.deployment.name=web,k8s.container.name=app,file.path=/data/cpu.pb.gz"
    assert_named("{}", all, 4, ALL ",service.name=exe\n");
    assert_named("fallbacks: [workload, executable]", all, 4, ALL ",service.name=web\n");
    assert_named("fallbacks: container", all, 4, ALL ",service.name=app\n");
    assert_named("fallbacks: [file]", all, 4, ALL ",service.name=cpu.pb.gz\n");
    assert_named("fallbacks: [unknown_service]", all, 4, ALL ",service.name=unknown_service:exe\n");
    assert_named("{}", all + 1, 3,
                 "k8s.deployment.name=web,k8s.container.name=app,file.path=/data/cpu.pb.gz,service.name=app\n");
    assert_named("{}", NULL, 0, "service.name=unknown_service\n");
    assert_named("fallbacks: [executable, container]", NULL, 0, "\n");
}

static void each_source_has_its_attributes(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *source, *name;
    } cases[] = {
        {"process.executable.name", "/usr/bin/exe", "executable", "exe"},
        {"process.executable.path", "/usr/local/bin/checkout", "executable", "checkout"},
        {"process.executable.path", "C:\\\\x\\\\checkout.exe", "executable", "checkout.exe"},
        {"process.command", "cmd/otelcol", "executable", "otelcol"},
        {"process.command", "/bin/", "executable", "/bin/"},
        {"k8s.container.name", "app", "container", "app"},
        {"container.name", "shop_app_1", "container", "shop_app_1"},
        {"container.image.name", "registry:5000/team/checkout:1.2@sha256:ab", "container", "checkout"},
        {"k8s.statefulset.name", "db", "workload", "db"},
        {"k8s.daemonset.name", "agent", "workload", "agent"},
        {"k8s.cronjob.name", "nightly", "workload", "nightly"},
        {"k8s.job.name", "nightly-1", "workload", "nightly-1"},
        {"k8s.pod.name", "web-1", "workload", "web-1"},
        {"file.name", "a.pprof", "file", "a.pprof"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct key_value list = {bytes_from_text(cases[i].key), value_string(bytes_from_text(cases[i].value))};
        char yaml[64], expected[256];
        snprintf(yaml, sizeof yaml, "fallbacks: [%s]", cases[i].source);
        snprintf(expected, sizeof expected, "%s=%s,service.name=%s\n", cases[i].key, cases[i].value, cases[i].name);
        assert_named(yaml, &list, 1, expected);
    }
    const struct key_value odd[] = {PAIR("process.executable.name", value_int(7)), PAIR("container.name", TEXT(""))};
    assert_named("fallbacks: [executable, container]", odd, 2, "process.executable.name=7,container.name=\n");
}

static void names_that_are_there_stay(void **state)
{
    (void)state;
    struct key_value list[] = {PAIR("service.name", TEXT("shop")), PAIR("process.executable.name", TEXT("exe"))};
#define EXE ",process.executable.name=exe\n"
    assert_named("{}", list, 2, "service.name=shop" EXE);
    list[0].value = value_int(5);
    assert_named("{}", list, 2, "service.name=5" EXE);
    list[0].value = TEXT("");
    assert_named("{}", list, 2, "service.name=exe" EXE);
    list[0].value = (struct value){.kind = VALUE_EMPTY};
    assert_named("{}", list, 2, "service.name=exe" EXE);
    list[0].value = TEXT("unknown_service:java");
    assert_named("{}", list, 2, "service.name=exe" EXE);
    assert_named("overwrite_unknown: false", list, 2, "service.name=unknown_service:java" EXE);
    // what the SDK said of it is not made less
    assert_named("{}", list, 1, "service.name=unknown_service:java\n");
    assert_named("fallbacks: [unknown_service]", list, 2, "service.name=unknown_service:java" EXE);
}

// --- the file a profile is of ---

// "kernel:x" is a frame of that type.
static uint32_t frame(struct builder *b, const char *path)
{
    const bool is_kernel = strncmp(path, "kernel:", 7) == 0;
    const struct batch_mapping mapping = {.filename = builder_string_text(b, is_kernel ? path + 7 : path)};
    const struct batch_location l = {.mapping = path[0] == '\0' ? 0 : builder_mapping(b, &mapping),
                                     .attribute_set = is_kernel ? set_of(b, "profile.frame.type=kernel") : 0,
                                     .address = 1};
    return builder_location(b, &l, NULL, 0);
}

// Paths of the mappings of a stack, leaf first, ended by NULL.
static uint32_t stack_of(struct builder *b, const char *const *paths)
{
    uint32_t ids[8], count = 0;
    for (; paths[count] != NULL; count++)
        ids[count] = frame(b, paths[count]);
    return builder_stack(b, ids, count);
}

static struct batch *batch_of_stacks(const char *const (*stacks)[8], size_t count)
{
    struct builder *b = builder_create(0);
    struct test_sample samples[8] = {{0}};
    builder_resource(b, NULL, 0, 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    for (size_t i = 0; i < count; i++)
        samples[i] = (struct test_sample){stack_of(b, stacks[i]), "", 1};
    add_profile(b, &(struct test_profile){"cpu", "", samples});
    return finish(b);
}

static void assert_file(const char *const (*stacks)[8], size_t count, const char *expected)
{
    struct batch *b = processed(module, "fallbacks: [file]", batch_of_stacks(stacks, count));
    const struct resource *r = b->resources[0];
    const struct bytes found = r->attribute_count > 0 ? r->attributes[0].value.bytes : (struct bytes){NULL, 0};
    assert_int_equal(found.len, strlen(expected));
    assert_true(bytes_equal_text(found, expected));
    batch_unref(&b);
}

static void the_main_mapping_names_a_file(void **state)
{
    (void)state;
    static const char *const usual[1][8] = {
        {"[kernel.kallsyms]", "/lib/x86_64-linux-gnu/libc.so.6", "", "/usr/bin/checkout", "/usr/lib/libc.so.6"}};
    static const char *const second[3][8] = {
        {"[vdso]", NULL}, {"/lib/libm.so", "//anon", NULL}, {"/app/plugin", "/app/server", NULL}};
    static const char *const none[1][8] = {
        {"/x/a.jar", "/boot/vmlinux", "/memfd:doublemapper", "", "[heap]", "kernel:i915"}};
    static const char *const mixed[1][8] = {{"firefox", "kernel:i915"}};
    assert_file(usual, 1, "checkout");
    assert_file(second, 3, "server");
    assert_file(none, 1, "");
    assert_file(mixed, 1, "firefox");
    assert_file(NULL, 0, "");
}

static void an_unread_batch_stays_unread(void **state)
{
    (void)state;
    static const char *const stacks[1][8] = {{"/usr/bin/checkout"}};
    struct fake_origin *origin;
    struct batch *whole = batch_of_stacks(stacks, 1);
    struct batch *unread = fake_unread_batch(whole, 1000, &origin);
    unread = processed(module, "{}", unread);
    assert_null(unread->dictionary);
    assert_int_equal(origin->reads, 0);
    assert_true(bytes_equal_text(unread->resources[0]->attributes[0].value.bytes, "unknown_service"));
    batch_unref(&unread);
    batch_unref(&whole);
}

static bool wants_samples(const char *yaml, const struct key_value *list, uint32_t count)
{
    struct test_run r;
    struct fake_origin *origin;
    struct batch *whole = make_batch(list, count), *unread = fake_unread_batch(whole, 100, &origin);
    run_begin(&r, module, yaml);
    const bool wants =
        module->wants_samples((struct processor *)r.component.instance.component, unread, &(const struct sender){0});
    batch_unref(&unread);
    batch_unref(&whole);
    run_end(&r);
    return wants;
}

static void samples_are_wanted_for_the_main_mapping(void **state)
{
    (void)state;
    const struct key_value named[] = {PAIR("service.name", TEXT("shop"))}, file[] = {PAIR("file.name", TEXT("a"))},
                           exe[] = {PAIR("process.executable.name", TEXT("exe"))},
                           unknown[] = {PAIR("service.name", TEXT("unknown_service:x"))};
    assert_true(wants_samples("{}", NULL, 0));
    assert_true(wants_samples("{}", unknown, 1));
    assert_true(wants_samples("fallbacks: [file, executable]", exe, 1));
    assert_false(wants_samples("{}", named, 1));
    assert_false(wants_samples("{}", exe, 1));
    assert_false(wants_samples("{}", file, 1));
    assert_false(wants_samples("overwrite_unknown: false", unknown, 1));
    assert_false(wants_samples("fallbacks: [executable, unknown_service]", NULL, 0));
}

static void the_dictionary_is_shared(void **state)
{
    (void)state;
    static const char *const stacks[1][8] = {{"/usr/bin/checkout"}};
    struct batch *b = batch_of_stacks(stacks, 1), *before = batch_ref(b);
    b = processed(module, "{}", b);
    assert_ptr_not_equal(b, before);
    assert_ptr_equal(b->dictionary, before->dictionary);
    assert_ptr_equal(b->resources[0]->scopes[0], before->resources[0]->scopes[0]);
    batch_unref(&before);
    before = batch_ref(b);
    b = processed(module, "{}", b);
    assert_ptr_equal(b, before);
    batch_unref(&before);
    batch_unref(&b);
}

// Paths that are looked through to their end, alternating, in more frames than may be looked at.
static void deep_stacks_of_many_resources_are_quick(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    uint32_t ids[2000];
    const struct bytes path = {long_text().data, 512};
    for (uint32_t i = 0; i < COUNT_OF(ids); i++) {
        const struct bytes so = {path.data, 500 + i % 2};
        struct batch_mapping mapping = {.memory_start = i % 2, .filename = builder_string(b, so)};
        const struct batch_location l = {.mapping = builder_mapping(b, &mapping), .address = i};
        ids[i] = builder_location(b, &l, NULL, 0);
    }
    const uint32_t stack = builder_stack(b, ids, COUNT_OF(ids));
    const struct test_sample samples[] = {{stack, "", 1}, {stack, "", 1}, {stack, "", 1}, {0, NULL, 0}};
    for (int i = 0; i < 1000; i++) {
        builder_resource(b, NULL, 0, 0, nothing);
        builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
        add_profile(b, &(struct test_profile){"cpu", "", samples});
    }
    assert_quick(module, "fallbacks: [file]", finish(b));
}

// --- the rest ---

static void fallbacks_are_counted(void **state)
{
    (void)state;
    struct test_run r;
    struct buf page;
    struct builder *builder = builder_create(0);
    const struct key_value exe = PAIR("process.executable.name", TEXT("exe"));
    const struct key_value name = PAIR("service.name", TEXT("a"));
    for (int i = 0; i < 3; i++)
        builder_resource(builder, &exe, 1, 0, nothing);
    builder_resource(builder, &name, 1, 0, nothing);
    builder_resource(builder, NULL, 0, 0, nothing);
    struct batch *b = finish(builder);
    run_begin(&r, module, "fallbacks: [container, executable]");
    assert_int_equal(run_process(&r, &b), ERR_OK);
    buf_init(&page, 1 << 20);
    metrics_write(r.env.env.metrics, &page);
    buf_add_byte(&page, '\0');
    static const char *const lines[] = {
        "profrelay_service_name_fallbacks{processor=\"service_name\",source=\"executable\"} 3\n",
        "profrelay_service_name_fallbacks{processor=\"service_name\",source=\"container\"} 0\n",
        "profrelay_service_name_fallbacks{processor=\"service_name\",source=\"none\"} 1\n",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        assert_non_null(strstr((const char *)page.data, lines[i]));
    buf_fini(&page);
    batch_unref(&b);
    run_end(&r);
}

static void memory_may_fail(void **state)
{
    (void)state;
    const struct key_value list = PAIR("process.executable.name", TEXT("exe"));
    assert_memory_may_fail(module, "{}", make_batch(&list, 1), 3);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    assert_setting_error(module, "fallbacks: []",
                         "test:1:1: processors.service_name: fallbacks: needs at least one, as in [executable, "
                         "unknown_service]\n");
    assert_setting_error(module, "fallbacks: [exe]",
                         "test:1:1: processors.service_name: fallbacks: there is no \"exe\"; there are executable, "
                         "workload, container, file, unknown_service\n");
    assert_setting_error(module, "fallbacks: [file, file]",
                         "test:1:1: processors.service_name: fallbacks: \"file\" is there twice\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_source_with_a_name_counts),
        cmocka_unit_test(each_source_has_its_attributes),
        cmocka_unit_test(names_that_are_there_stay),
        cmocka_unit_test(the_main_mapping_names_a_file),
        cmocka_unit_test(an_unread_batch_stays_unread),
        cmocka_unit_test(samples_are_wanted_for_the_main_mapping),
        cmocka_unit_test(the_dictionary_is_shared),
        cmocka_unit_test(deep_stacks_of_many_resources_are_quick),
        cmocka_unit_test(fallbacks_are_counted),
        cmocka_unit_test(memory_may_fail),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
