// SPDX-License-Identifier: Apache-2.0
// Paths and selectors, the pace of requests, and what is refused in a configuration.
#include "base/clock.h"
#include "kube/kube_pace.h"
#include "kube/kube_resource.h"
#include "kube/kube_settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_path(enum kube_kind kind, const struct kube_watch_settings *s, const char *node, const char *wanted)
{
    struct buf path;
    buf_init(&path, 4096);
    kube_resource_write(kind, s, node, &path);
    if (!bytes_equal_text(buf_bytes(&path), wanted))
        fail_msg("\"%.*s\" is not \"%s\"", BYTES_PRINT(buf_bytes(&path)), wanted);
    buf_fini(&path);
}

static void test_paths(void **state)
{
    (void)state;
    static const struct kube_filter_row labels[] = {{"app", "web", KUBE_EQUALS},
                                                    {"tier", "x", KUBE_NOT_EQUALS},
                                                    {"a/b", NULL, KUBE_EXISTS},
                                                    {"gone", NULL, KUBE_DOES_NOT_EXIST}};
    static const struct kube_filter_row fields[] = {{"status.phase", "Running", KUBE_EQUALS},
                                                    {"metadata.name", "x", KUBE_NOT_EQUALS}};
    const struct kube_watch_settings all = {0}, space = {.namespace_name = "sh op"},
                                     rows = {.labels = {labels, 4}, .fields = {fields, 2}};
    assert_path(KUBE_POD, &all, NULL, "/api/v1/pods?");
    assert_path(KUBE_POD, &all, "n1", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&");
    assert_path(KUBE_NODE, &all, "n1", "/api/v1/nodes?fieldSelector=metadata.name%3Dn1&");
    assert_path(KUBE_NAMESPACE, &space, "n1", "/api/v1/namespaces?");
    assert_path(KUBE_POD, &space, NULL, "/api/v1/namespaces/sh%20op/pods?");
    assert_path(KUBE_REPLICASET, &space, "n1", "/apis/apps/v1/namespaces/sh%20op/replicasets?");
    assert_path(KUBE_JOB, &rows, NULL, "/apis/batch/v1/jobs?");
    assert_path(KUBE_POD, &rows, "n1",
                "/api/v1/pods?labelSelector=app%3Dweb%2Ctier%21%3Dx%2Ca%2Fb%2C%21gone&"
                "fieldSelector=spec.nodeName%3Dn1%2Cstatus.phase%3DRunning%2Cmetadata.name%21%3Dx&");
}

static void assert_rule(enum kube_kind kind, const char *namespace_name, const char *wanted)
{
    struct buf rule;
    buf_init(&rule, 4096);
    kube_resource_rule(kind, namespace_name, &rule);
    if (!bytes_equal_text(buf_bytes(&rule), wanted))
        fail_msg("\"%.*s\" is not \"%s\"", BYTES_PRINT(buf_bytes(&rule)), wanted);
    buf_fini(&rule);
}

static void test_rules(void **state)
{
    (void)state;
#define RULE(group, plural) "{apiGroups: [\"" group "\"], resources: [\"" plural "\"], verbs: [\"list\", \"watch\"]}"
    assert_rule(KUBE_POD, NULL, RULE("", "pods") " in its ClusterRole");
    assert_rule(KUBE_NODE, "shop", RULE("", "nodes") " in its ClusterRole");
    assert_rule(KUBE_JOB, "shop", RULE("batch", "jobs") " in a Role of the namespace shop");
}

static void test_path_that_does_not_fit(void **state)
{
    (void)state;
    const struct kube_watch_settings s = {0};
    struct buf path;
    buf_init(&path, 20);
    kube_resource_write(KUBE_POD, &s, "node", &path);
    assert_false(buf_ok(&path));
    buf_fini(&path);
}

static void test_pace(void **state)
{
    (void)state;
    struct kube_pace p;
    const int64_t s = NANOS_PER_SECOND;
    kube_pace_init(&p, 2, 3, 100 * s);
    for (int i = 0; i < 3; i++)
        assert_int_equal(kube_pace_take(&p, 100 * s), 0);
    int64_t wait = kube_pace_take(&p, 100 * s);
    assert_true(wait > s / 2 - 10 && wait < s / 2 + 10);
    assert_true(kube_pace_take(&p, 100 * s + s / 4) > 0);
    assert_int_equal(kube_pace_take(&p, 100 * s + wait), 0);
    assert_true(kube_pace_take(&p, 50 * s) > 0); // a clock that goes back gives nothing
    for (int i = 0; i < 3; i++)
        assert_int_equal(kube_pace_take(&p, 500 * s), 0); // and waiting long no more than the burst
    assert_true(kube_pace_take(&p, 500 * s) > 0);
}

// --- settings ---

struct settings {
    struct kube_watch_settings watch;
};

static const struct field fields[] = {
    KUBE_WATCH_FIELDS(offsetof(struct settings, watch)),
    {.name = NULL},
};

static char *check(const char *yaml, struct settings *out, struct arena *arena)
{
    struct config_errors errors;
    char *text = NULL;
    size_t len;
    FILE *stream = open_memstream(&text, &len);
    config_errors_init(&errors);
    struct config_node *node = config_parse_yaml(arena, bytes_from_text(yaml), "y", &errors);
    struct field_target target = {fields, out};
    if (fields_decode(&target, 1, node, (struct config_position){0}, "k", arena, &errors)) {
        struct component_check c = {.node = node, .name = "k", .errors = &errors};
        kube_watch_settings_check(&out->watch, &c);
    }
    config_errors_print(&errors, stream);
    config_errors_fini(&errors);
    fclose(stream);
    return text;
}

static void test_defaults(void **state)
{
    (void)state;
    struct settings s = {0};
    struct arena arena;
    arena_init(&arena, 0);
    char *said = check("{}", &s, &arena);
    assert_string_equal(said, "");
    free(said);
    assert_int_equal(s.watch.auth_type, KUBE_AUTH_SERVICE_ACCOUNT);
    assert_true(s.watch.api_qps > 4.9 && s.watch.api_qps < 5.1);
    assert_int_equal(s.watch.api_burst, 10);
    assert_int_equal(s.watch.pod_delete_grace_nanos, 120 * NANOS_PER_SECOND);
    assert_string_equal(s.watch.service_account_folder, "/var/run/secrets/kubernetes.io/serviceaccount");
    arena_fini(&arena);
}

static void test_checks(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *says;
    } cases[] = {
        {"{filter: {node: ''}}", "filter.node: is empty"},
        {"{filter: {node: 'a,b'}}", "filter.node: is empty, or has"},
        {"{filter: {namespace: ''}}", "filter.namespace: is empty"},
        {"{filter: {node: a, node_from_env_var: B}}", "filter.node is given, too"},
        {"{filter: {labels: [{key: a b, value: c}]}}", "filter.labels: entry 1: neither key nor value"},
        {"{filter: {labels: [{key: a, value: 'b,c=d'}]}}", "filter.labels: entry 1: neither key nor value"},
        {"{filter: {labels: [{key: a}]}}", "equals needs a value"},
        {"{filter: {labels: [{key: a, op: exists, value: b}]}}", "exists has no value"},
        {"{filter: {fields: [{key: a, op: exists}]}}", "cannot ask a field for exists"},
        {"{filter: {labels: [{value: b}]}}", "key"},
        {"{endpoint: 'ftp://x'}", "endpoint: "},
        {"{context: x}", "means nothing without auth_type kubeConfig"},
        {"{auth_type: kubeconfig}", "kubeConfig"},
        {"{watch_sync_period: 5m}", "warning: "},
        {"{kube_api_qps: 0}", "kube_api_qps"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct settings s = {0};
        struct arena arena;
        arena_init(&arena, 0);
        char *said = check(cases[i].yaml, &s, &arena);
        if (strstr(said, cases[i].says) == NULL)
            fail_msg("%s: \"%s\" is not \"%s\"", cases[i].yaml, said, cases[i].says);
        free(said);
        arena_fini(&arena);
    }
}

static void test_the_same(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}",
        "{auth_type: none}",
        "{auth_type: kubeConfig, context: a}",
        "{auth_type: kubeConfig, kubeconfig: a}",
        "{endpoint: 'http://a'}",
        "{service_account_folder: /a}",
        "{kube_api_qps: 6}",
        "{kube_api_burst: 6}",
        "{kube_api_timeout: 6s}",
        "{pod_delete_grace_period: 6s}",
        "{filter: {node: a}}",
        "{filter: {node_from_env_var: a}}",
        "{filter: {namespace: a}}",
        "{filter: {labels: [{key: a, value: b}]}}",
        "{filter: {labels: [{key: a, value: c}]}}",
        "{filter: {labels: [{key: a, op: exists}]}}",
        "{filter: {fields: [{key: a, value: b}]}}",
    };
    struct settings s[COUNT_OF(texts)] = {0}, again[COUNT_OF(texts)] = {0};
    struct arena arena;
    arena_init(&arena, 0);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        free(check(texts[i], &s[i], &arena));
        free(check(texts[i], &again[i], &arena));
    }
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        for (size_t k = 0; k < COUNT_OF(texts); k++)
            assert_int_equal(kube_settings_equal(&s[i].watch, &again[k].watch), i == k);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),    cmocka_unit_test(test_rules),    cmocka_unit_test(test_path_that_does_not_fit),
        cmocka_unit_test(test_pace),     cmocka_unit_test(test_defaults), cmocka_unit_test(test_checks),
        cmocka_unit_test(test_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
