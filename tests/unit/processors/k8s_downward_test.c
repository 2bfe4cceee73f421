// SPDX-License-Identifier: Apache-2.0
// Our own pod, by the environment and mounted files; and how the processor starts.
#include "tests/unit/processors/k8s_fixture.h"

#include "processors/k8s_downward.h"
#include "tests/support/test_folder.h"

#include <unistd.h>

// --- lines ---

static enum err_code parse(struct bytes text, struct buf *out, struct err *e)
{
    struct arena arena;
    struct kube_pair *pairs;
    size_t count;
    arena_init(&arena, 0);
    enum err_code rc = k8s_downward_parse(text, &arena, &pairs, &count, e);
    for (size_t i = 0; rc == ERR_OK && i < count; i++)
        buf_add_format(out, "%.*s=<%.*s>", BYTES_PRINT(pairs[i].key), BYTES_PRINT(pairs[i].value));
    buf_add_byte(out, '\0');
    free(pairs);
    arena_fini(&arena);
    return rc;
}

static void lines_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected; // or the error
    } cases[] = {
        {"", ""},
        {"\n\n", ""},
        {"a=\"1\"\nb.io/c=\"x=y\"\n", "a=<1>b.io/c=<x=y>"},
        {"a=\"1\"", "a=<1>"},
        {"a=\"\"", "a=<>"},
        {"a=\"q\\\"\\\\\\n\\t'\"", "a=<q\"\\\n\t'>"},
        {"a=\"\\u00fc\\U0001F600\\xc3\\xbc\"", "a=<\xc3\xbc\xf0\x9f\x98\x80\xc3\xbc>"},
        {"a", "line 1 is not key=\"value\": there is no key"},
        {"=\"1\"", "line 1 is not key=\"value\": there is no key"},
        {"a=1", "line 1 is not key=\"value\": there are no quotes"},
        {"a=\"", "line 1 is not key=\"value\": there are no quotes"},
        {"x=\"\"\na=\"1", "line 2 is not key=\"value\": there are no quotes"},
        {"a=\"b\"c\"", "line 1 is not key=\"value\": there is a quote inside"},
        {"a=\"\\q\"", "line 1 is not key=\"value\": there is an unknown escape"},
        {"a=\"\\\"", "line 1 is not key=\"value\": there is an unknown escape"},
        {"a=\"\\u12\"", "line 1 is not key=\"value\": there is an unknown escape"},
        {"a=\"\\UFFFFFFFF\"", "line 1 is not key=\"value\": there is an unknown escape"},
        {"a=\"\\xff\"", "line 1 is not key=\"value\": the value is not UTF-8"},
        {"\xff=\"\"", "line 1 is not key=\"value\": the key is not UTF-8"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = {0};
        struct buf out;
        buf_init(&out, 1 << 12);
        enum err_code rc = parse(bytes_from_text(cases[i].text), &out, &e);
        assert_string_equal(rc == ERR_OK ? (const char *)out.data : e.text, cases[i].expected);
        buf_fini(&out);
    }
}

// Nothing is read behind the end, wherever that is.
static void lines_may_end_anywhere(void **state)
{
    (void)state;
    static const char whole[] = "key=\"\\u00fc\\x41\\\"\"\nother=\"2\"\n";
    for (size_t len = 0; len < sizeof whole; len++) {
        struct err e;
        struct buf out;
        uint8_t *copy = mem_alloc(len + 1);
        uint8_t *exact = mem_try_realloc(copy, len == 0 ? 1 : len);
        memcpy(exact, whole, len);
        buf_init(&out, 1 << 12);
        const enum err_code rc = parse((struct bytes){exact, len}, &out, &e);
        assert_true(rc == ERR_OK || rc == ERR_INVALID);
        buf_fini(&out);
        free(exact);
    }
}

// --- the pod ---

static void set_all(const char *name)
{
    setenv("POD_NAME", name, 1);
    setenv("POD_NAMESPACE", "shop", 1);
    setenv("POD_UID", "uid-cart", 1);
    setenv("POD_IP", "10.0.0.1,fd00::1", 1);
    setenv("NODE_NAME", "node-1", 1);
    unsetenv("CONTAINER_NAME");
}

static int clear_environment(void **state)
{
    static const char *const names[] = {"POD_NAME", "POD_NAMESPACE", "POD_UID",
                                        "POD_IP",   "NODE_NAME",     "CONTAINER_NAME"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unsetenv(names[i]);
    return 0;
}

static void start(struct test_run *r, const char *yaml)
{
    run_begin(r, &k8s_attributes_processor, yaml);
    if (fake_component_start(&r->component, &r->e) != ERR_OK)
        fail_msg("%s", r->e.text);
}

static struct batch *one_resource(const char *key, const char *value)
{
    struct builder *b = builder_create(0);
    const struct key_value list = {bytes_from_text(key), value_string(bytes_from_text(value))};
    builder_resource(b, &list, 1, 0, nothing);
    return finish(b);
}

static void assert_resource(struct test_run *r, const char *key, const char *value, const char *sender,
                            const char *expected)
{
    struct batch *b = one_resource(key, value);
    assert_int_equal(process_from(r, &b, sender), ERR_OK);
    char *text = brief_text(b);
    assert_string_equal(text, expected);
    free(text);
    batch_unref(&b);
}

static void everything_is_of_the_own_pod(void **state)
{
    (void)state;
    struct test_run r;
    set_all("cart-6d4cf56db6-x7x2p");
    setenv("CONTAINER_NAME", "main", 1);
    start(&r, "auth_type: none\ndownward: {}\nextract: {metadata: [k8s.namespace.name, k8s.pod.name, k8s.pod.uid, "
              "k8s.pod.ip, k8s.node.name, k8s.node.uid, k8s.container.name, service.instance.id]}");
    static const char added[] = "k8s.namespace.name=shop,k8s.pod.name=cart-6d4cf56db6-x7x2p,k8s.pod.uid=uid-cart,"
                                "k8s.pod.ip=10.0.0.1,k8s.node.name=node-1,k8s.container.name=main,"
                                "service.instance.id=shop.cart-6d4cf56db6-x7x2p.main\n";
    char expected[512];
    static const char *const senders[] = {NULL, "127.0.0.1", "127.9.9.9", "::1", "10.0.0.1", "fd00::1"};
    snprintf(expected, sizeof expected, "a=1,%s", added);
    for (size_t i = 0; i < COUNT_OF(senders); i++)
        assert_resource(&r, "a", "1", senders[i], expected);
    // What is somebody else's.
    assert_resource(&r, "a", "1", "10.0.0.2", "a=1\n");
    assert_resource(&r, "k8s.pod.uid", "other", "127.0.0.1", "k8s.pod.uid=other\n");
    assert_true(page_has(&r, "otelcol_k8s_pod_association{pod_identifier=\"downward\",processor=\"k8s_attributes\","
                             "status=\"success\"} 4\n"));
    run_end(&r);
}

static void what_is_not_known_is_not_said(void **state)
{
    (void)state;
    struct test_run r;
    clear_environment(NULL);
    setenv("POD_NAME", "cart", 1);
    start(&r, "downward: {}");
    assert_resource(&r, "a", "1", NULL, "a=1,k8s.pod.name=cart\n");
    run_end(&r);
}

// As the kubelet does it: names are links through ..data, which is replaced at once.
static void mount(const struct test_folder *f, const char *generation, const char *labels)
{
    char from[256], to[256], name[64];
    snprintf(name, sizeof name, "labels.%s", generation);
    test_folder_write(f, name, bytes_from_text(labels));
    test_folder_path(f, "labels.new", from);
    test_folder_path(f, "labels", to);
    assert_int_equal(symlink(name, from), 0);
    assert_int_equal(rename(from, to), 0);
}

struct waited {
    struct test_run *run;
    const char *expected;
};

static bool says(void *arg)
{
    const struct waited *w = arg;
    struct batch *b = one_resource("a", "1");
    assert_int_equal(process_from(w->run, &b, NULL), ERR_OK);
    char *text = brief_text(b);
    const bool same = strcmp(text, w->expected) == 0;
    free(text);
    batch_unref(&b);
    return same;
}

static bool log_says(void *arg)
{
    const struct waited *w = arg;
    return strstr(fake_env_log(&w->run->env), w->expected) != NULL;
}

static void files_are_read_again(void **state)
{
    (void)state;
    struct test_run r;
    struct test_folder f;
    char yaml[512], path[256];
    test_folder_init(&f);
    set_all("cart-6d4cf56db6-x7x2p");
    mount(&f, "1", "app=\"cart\"\npod-template-hash=\"6d4cf56db6\"\nnot.kept=\"x\"\n");
    snprintf(yaml, sizeof yaml,
             "downward: {labels_file: %s, refresh_interval: 100ms}\n"
             "extract: {metadata: [k8s.deployment.name, k8s.replicaset.name], labels: [{key: app}]}",
             test_folder_path(&f, "labels", path));
    start(&r, yaml);
    const char *first = "a=1,k8s.pod.labels.app=cart,k8s.deployment.name=cart,k8s.replicaset.name=cart-6d4cf56db6\n";
    assert_resource(&r, "a", "1", NULL, first);
    mount(&f, "2", "app=\"new\"\n");
    struct waited w = {&r, "a=1,k8s.pod.labels.app=new\n"};
    fake_env_run_until(&r.env, says, &w);
    mount(&f, "3", "broken");
    struct waited line = {&r, "line 1 is not key=\"value\": there is no key; what was read before stays in use"};
    fake_env_run_until(&r.env, log_says, &line);
    assert_true(says(&w));
    run_end(&r);
    test_folder_fini(&f);
}

static void annotations_come_from_a_file(void **state)
{
    (void)state;
    struct test_run r;
    struct test_folder f;
    char yaml[512], path[256];
    test_folder_init(&f);
    set_all("cart");
    test_folder_write(&f, "annotations", BYTES_LITERAL("resource.opentelemetry.io/team=\"pay\\\"ments\"\nx=\"y\"\n"));
    snprintf(yaml, sizeof yaml, "downward: {annotations_file: %s}\nextract: {metadata: [], otel_annotations: true}",
             test_folder_path(&f, "annotations", path));
    start(&r, yaml);
    assert_resource(&r, "a", "1", NULL, "a=1,team=pay\"ments\n");
    run_end(&r);
    test_folder_fini(&f);
}

static void assert_no_start(const char *yaml, const char *part)
{
    struct test_run r;
    run_begin(&r, &k8s_attributes_processor, yaml);
    assert_int_not_equal(fake_component_start(&r.component, &r.e), ERR_OK);
    if (strstr(r.e.text, part) == NULL)
        fail_msg("%s", r.e.text);
    run_end(&r);
}

static void a_start_that_cannot_be_says_why(void **state)
{
    (void)state;
    struct test_folder f;
    char yaml[512], path[256];
    clear_environment(NULL);
    assert_no_start("downward: {}", "downward: POD_NAME is not set: give the container the variable");
    assert_no_start("downward: {name_env: X_NAME}", "downward: X_NAME is not set");
    set_all("cart");
    setenv("POD_IP", "10.0.0.1,x", 1);
    assert_no_start("downward: {}", "downward: POD_IP is \"x\", which is not an address");
    set_all("cart");
    assert_no_start("downward: {labels_file: /nowhere/labels}", "/nowhere/labels cannot be read");
    test_folder_init(&f);
    test_folder_write(&f, "labels", BYTES_LITERAL("a=b"));
    snprintf(yaml, sizeof yaml, "downward: {labels_file: %s}", test_folder_path(&f, "labels", path));
    assert_no_start(yaml, "labels: line 1 is not key=\"value\"");
    test_folder_fini(&f);
}

static void a_failed_allocation_is_said(void **state)
{
    (void)state;
    struct test_folder f;
    char path[256];
    enum err_code rc = ERR_MEMORY;
    size_t n = 1;
    test_folder_init(&f);
    set_all("cart");
    test_folder_write(&f, "labels", BYTES_LITERAL("a=\"b\"\n"));
    const struct k8s_downward_settings settings = {
        .name_env = "POD_NAME", .uid_env = "POD_UID", .labels_file = test_folder_path(&f, "labels", path)};
    struct test_run r;
    struct kube_needs needs;
    run_begin(&r, &k8s_attributes_processor, "downward: {}");
    k8s_attributes_needs(processor_of(&r), &needs);
    for (; rc != ERR_OK; n++) {
        struct kube_snapshot *s;
        mem_fail_from(n);
        rc = k8s_downward_read(&settings, &needs.keep, &s, &r.e);
        mem_fail_from(0);
        assert_in_range(n, 1, 100);
        assert_int_equal(rc == ERR_OK, s != NULL);
        assert_true(rc == ERR_OK || rc == ERR_MEMORY);
        kube_snapshot_unref(&s);
    }
    assert_in_range(n, 4, 100);
    run_end(&r);
    test_folder_fini(&f);
}

// --- waiting for the cluster ---

static _Atomic int64_t now_nanos = 1;

static int64_t tell_now(const struct clock *c)
{
    (void)c;
    return now_nanos;
}

static void waiting_ends_at_its_time(void **state)
{
    (void)state;
    static const struct clock clock = {tell_now, tell_now};
    struct test_run r;
    run_begin(
        &r, &k8s_attributes_processor,
        "auth_type: none\nendpoint: 'http://127.0.0.1:9'\nwait_for_metadata: true\nwait_for_metadata_timeout: 2s");
    r.env.env.clock = &clock;
    struct processor *p = processor_of(&r);
    assert_int_equal(fake_component_start(&r.component, &r.e), ERR_OK);
    assert_int_equal(p->module->ready(p, &r.e), ERR_UNAVAILABLE);
    now_nanos = 1999 * NANOS_PER_MS;
    assert_int_equal(p->module->ready(p, &r.e), ERR_UNAVAILABLE);
    now_nanos = 2001 * NANOS_PER_MS;
    assert_int_equal(p->module->ready(p, &r.e), ERR_IO);
    assert_non_null(strstr(r.e.text, "has not told all that is asked for within 2000 ms"));
    run_end(&r);
}

static void without_waiting_it_is_ready_at_once(void **state)
{
    (void)state;
    static const char *const yamls[] = {"auth_type: none\nendpoint: 'http://127.0.0.1:9'",
                                        "{passthrough: true, wait_for_metadata: true}",
                                        "{downward: {}, wait_for_metadata: true}"};
    set_all("cart");
    for (size_t i = 0; i < COUNT_OF(yamls); i++) {
        struct test_run r;
        start(&r, yamls[i]);
        struct processor *p = processor_of(&r);
        assert_int_equal(p->module->ready(p, &r.e), ERR_OK);
        run_end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read),
        cmocka_unit_test(lines_may_end_anywhere),
        cmocka_unit_test_teardown(everything_is_of_the_own_pod, clear_environment),
        cmocka_unit_test_teardown(what_is_not_known_is_not_said, clear_environment),
        cmocka_unit_test_teardown(files_are_read_again, clear_environment),
        cmocka_unit_test_teardown(annotations_come_from_a_file, clear_environment),
        cmocka_unit_test_teardown(a_start_that_cannot_be_says_why, clear_environment),
        cmocka_unit_test_teardown(a_failed_allocation_is_said, clear_environment),
        cmocka_unit_test(waiting_ends_at_its_time),
        cmocka_unit_test_teardown(without_waiting_it_is_ready_at_once, clear_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
