// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/detect/fixture.h"

#include <pthread.h>
#include <sys/stat.h>

#define ID_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

// --- env ---

static void env_reads_the_variables_of_sdks(void **state)
{
    (void)state;
    static const struct {
        const char *attributes, *service_name, *expected;
    } cases[] = {
        {NULL, NULL, "{}"},
        {"", NULL, "{}"},
        {"a=1", NULL, "{\"a\":\"1\"}"},
        {" a = 1 , b=two,", NULL, "{\"a\":\"1\",\"b\":\"two\"}"},
        {"a=x%2Cy%3Dz%20%c3%a9+", NULL, "{\"a\":\"x,y=z \xc3\xa9+\"}"},
        {"a%20b=1", NULL, "{\"a b\":\"1\"}"},
        {"a=b=c", NULL, "{\"a\":\"b=c\"}"},
        {"a=", NULL, "{}"},
        {"a=%ff", NULL, "{\"a\":\"\xef\xbf\xbd\"}"},
        {"a=1,a=2", NULL, "{\"a\":\"2\"}"},
        {"service.name=x,a=1", "shop", "{\"service.name\":\"shop\",\"a\":\"1\"}"},
        {NULL, "sh%op", "{\"service.name\":\"sh%op\"}"},
        // one that is wrong spoils all
        {"a=1,b", NULL, "{}"},
        {"a=1,=b", NULL, "{}"},
        {"a=%4", NULL, "{}"},
        {"a=%zz", NULL, "{}"},
    };
    struct detecting d;
    detecting_init(&d);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct variable variables[] = {{"OTEL_RESOURCE_ATTRIBUTES", cases[i].attributes},
                                             {"OTEL_SERVICE_NAME", cases[i].service_name},
                                             {NULL, NULL}};
        assert_found(&d, "{}", variables, cases[i].expected);
    }
    assert_logged(&d, "detector env: entry 2 of OTEL_RESOURCE_ATTRIBUTES is no key=value");
    const struct variable old[] = {{"OTEL_RESOURCE", "a=1"}, {NULL, NULL}};
    assert_found(&d, "{}", old, "{\"a\":\"1\"}");
    detecting_fini(&d);
}

static void hostile_variables_end_somewhere(void **state)
{
    (void)state;
    struct detecting d;
    detecting_init(&d);
    char *text = malloc(200000);
    size_t len = 0;
    for (int i = 0; i < 129; i++)
        len += (size_t)snprintf(text + len, 200000 - len, "k%d=v,", i);
    const struct variable many[] = {{"OTEL_RESOURCE_ATTRIBUTES", text}, {NULL, NULL}};
    assert_found(&d, "{}", many, "{}");
    assert_logged(&d, "more than 128 attributes");
    memset(text, 'x', 199999);
    memcpy(text, "k=", 2);
    text[199999] = '\0';
    detecting_create(&d, "{}", many);
    detection_start(d.detection);
    detecting_wait(&d);
    struct detected *found = detection_current(d.detection);
    assert_int_equal(found->count, 1);
    assert_int_equal(found->list[0].value.bytes.len, 4096);
    detected_unref(&found);
    detecting_end(&d);
    free(text);
    detecting_fini(&d);
}

// --- kubernetes ---

static void downward_reads_variables(void **state)
{
    (void)state;
    const struct variable variables[] = {{"POD_NAME", "web-1"},   {"POD_NAMESPACE", "shop"},
                                         {"POD_UID", "u-1"},      {"NODE_NAME", "n1"},
                                         {"K8S_NODE_NAME", "n2"}, {"C", "app"},
                                         {"POD_IP", "10.0.0.1"},  {NULL, NULL}};
    struct detecting d;
    detecting_init(&d);
    assert_found(&d, "detectors: [k8s_downward]", variables,
                 "{\"k8s.namespace.name\":\"shop\",\"k8s.pod.name\":\"web-1\",\"k8s.pod.uid\":\"u-1\","
                 "\"k8s.node.name\":\"n1\"}");
    assert_found(&d,
                 "{detectors: [k8s_downward], k8s_downward: {container_name_variable: C, pod_ip_variable: POD_IP,"
                 " pod_uid_variable: '', namespace_variable: X, node_name_variable: K8S_NODE_NAME}}",
                 variables,
                 "{\"k8s.pod.name\":\"web-1\",\"k8s.pod.ip\":\"10.0.0.1\",\"k8s.node.name\":\"n2\","
                 "\"k8s.container.name\":\"app\"}");
    assert_found(&d, "detectors: [k8s_downward]", NULL, "{}");
    assert_logged(&d, "detector k8s_downward: none of its variables is set: give the container POD_NAME");
    assert_found(&d, "detectors: [k8s_api]", variables, "{\"k8s.node.name\":\"n2\"}");
    assert_found(&d, "{detectors: [k8snode], k8snode: {node_from_env_var: NODE_NAME}}", variables,
                 "{\"k8s.node.name\":\"n1\"}");
    assert_found(&d, "detectors: [k8s_api]", NULL, "{}");
    assert_logged(&d, "detector k8s_api: the variable K8S_NODE_NAME is not set");
    detecting_fini(&d);
}

// --- container ---

static void write_proc(struct detecting *d, const char *name, const char *text)
{
    static const char *const folders[] = {"proc", "proc/self", "etc"};
    char path[256];
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        (void)mkdir(test_folder_path(&d->root, folders[i], path), 0755);
    test_folder_write(&d->root, name, bytes_from_text(text));
}

static void container_ids_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *cgroup, *mounts, *id;
    } cases[] = {
        // v1: Docker, Kubernetes with cgroupfs, ECS
        {"13:name=systemd:/docker/" ID_A "\n12:pids:/docker/" ID_A "\n", "", ID_A},
        {"11:cpu:/kubepods/burstable/pod1234-5/" ID_A, "", ID_A},
        {"9:perf_event:/ecs/55091c13-b8cf-4801-b527-f4601742204d/432624d2150b349fe35ba397284dea78-1234567890\n", "",
         "432624d2150b349fe35ba397284dea78-1234567890"},
        // systemd's names, and v2 seen from the host
        {"0::/system.slice/docker-" ID_A ".scope\n", "", ID_A},
        {"0::/kubepods.slice/kubepods-besteffort.slice/cri-containerd-" ID_A ".scope\n", "", ID_A},
        {"0::/kubepods-pod1.slice:cri-containerd:" ID_B "\n", "", ID_B},
        {"0::/machine.slice/crio-" ID_A ".scope\r\n", "", ID_A},
        // v2 with a namespace of its own
        {"0::/\n",
         "1 2 0:1 / /proc rw - proc proc rw\n"
         "473 456 254:1 /var/lib/docker/containers/" ID_A
         "/resolv.conf /etc/resolv.conf rw,relatime - ext4 /dev/x rw\n",
         ID_A},
        {"0::/\n",
         "5 4 0:33 /containers/storage/overlay-containers/" ID_B
         "/userdata/hostname /etc/hostname rw - tmpfs tmpfs rw\n"
         "6 4 0:33 /containers/storage/overlay-containers/" ID_A
         "/userdata/.containerenv /run/.containerenv rw - tmpfs tmpfs rw\n",
         ID_A},
        // that of the pod, and none
        {"0::/\n", "5 4 0:33 /var/lib/containerd/cri/sandboxes/" ID_A "/hostname /etc/hostname rw - ext4 x rw\n", NULL},
        {"0::/user.slice/user-1000.slice\n", "1 2 0:1 / / rw - ext4 /dev/sda rw\n", NULL},
        {"0::/docker/0123456789abcdef\n", "x\n\n1 2\n1 2 3 /containers/" ID_A, NULL},
        {"0::/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\n", "", NULL},
        {"0::/x" ID_A "\n", "", NULL}, // nothing says where the id begins
    };
    struct detecting d;
    detecting_init(&d);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char expected[128] = "{}";
        write_proc(&d, "proc/self/cgroup", cases[i].cgroup);
        write_proc(&d, "proc/self/mountinfo", cases[i].mounts);
        if (cases[i].id != NULL)
            snprintf(expected, sizeof expected, "{\"container.id\":\"%s\"}", cases[i].id);
        assert_found(&d, "{detectors: [container], root_path: %s}", NULL, expected);
    }
    assert_found(&d, "{detectors: [container], root_path: %s/none}", NULL, "{}");
    assert_found(&d, "{detectors: [container], container: {resource_attributes: {container.id: {enabled: false}}}}",
                 NULL, "{}");
    detecting_fini(&d);
}

// --- system ---

#define SYSTEM_ON(name) name ": {enabled: true}, "

static void system_describes_the_host(void **state)
{
    (void)state;
    struct detecting d;
    detecting_init(&d);
    write_proc(&d, "etc/hostname", "  node-7  \n");
    write_proc(&d, "etc/machine-id", "8d5c\n");
    write_proc(&d, "etc/os-release", "NAME=\"X\"\nPRETTY_NAME=\"Some Linux 12\"\nID=some\nVERSION_ID='12.1'\nBUG\n");
    write_proc(&d, "proc/cpuinfo",
               "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Xeon: fast\n"
               "stepping\t: 7\n\nprocessor\t: 1\nvendor_id\t: Other\n");
    assert_found(&d, "{detectors: [system], root_path: %s, system: {hostname_sources: [os]}}", NULL,
                 "{\"os.type\":\"linux\",\"host.name\":\"node-7\"}");
    detecting_create(&d,
                     "{detectors: [system], root_path: %s, system: {hostname_sources: os, resource_attributes: {"
                     "host.name: {enabled: false}, " SYSTEM_ON("host.id") SYSTEM_ON("host.arch") SYSTEM_ON("os.name")
                         SYSTEM_ON("os.version") SYSTEM_ON("os.description") SYSTEM_ON("host.cpu.vendor.id")
                             SYSTEM_ON("host.cpu.family") SYSTEM_ON("host.cpu.model.id")
                                 SYSTEM_ON("host.cpu.model.name") SYSTEM_ON("host.cpu.stepping") SYSTEM_ON("host.ip")
                                     SYSTEM_ON("host.mac") "}}}",
                     NULL);
    detection_start(d.detection);
    detecting_wait(&d);
    char *text = detecting_text(&d);
    static const char *const parts[] = {
        "\"os.type\":\"linux\"",
        "\"host.id\":\"8d5c\"",
        "\"os.name\":\"some\"",
        "\"os.version\":\"12.1\"",
        "\"host.arch\":\"",
        "\"os.description\":\"Some Linux 12 (Linux ",
        "\"host.cpu.vendor.id\":\"GenuineIntel\"",
        "\"host.cpu.family\":\"6\"",
        "\"host.cpu.model.id\":\"85\"",
        "\"host.cpu.model.name\":\"Xeon: fast\"",
        "\"host.cpu.stepping\":\"7\"",
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (strstr(text, parts[i]) == NULL)
            fail_msg("no %s in %s", parts[i], text);
    assert_null(strstr(text, "host.name"));
    free(text);
    detecting_end(&d);
    detecting_fini(&d);
}

// --- several ---

static void earlier_detectors_win(void **state)
{
    (void)state;
    const struct variable variables[] = {
        {"OTEL_RESOURCE_ATTRIBUTES", "k8s.node.name=by-env,a=1"}, {"K8S_NODE_NAME", "by-variable"}, {NULL, NULL}};
    struct detecting d;
    detecting_init(&d);
    assert_found(&d, "detectors: [env, k8s_api]", variables, "{\"k8s.node.name\":\"by-env\",\"a\":\"1\"}");
    assert_found(&d, "detectors: [k8s_api, env]", variables, "{\"k8s.node.name\":\"by-variable\",\"a\":\"1\"}");
    detecting_fini(&d);
}

static void a_failure_is_fatal_only_when_asked_for(void **state)
{
    (void)state;
    struct detecting d;
    struct err e = {0};
    detecting_init(&d);
    detecting_create(&d, "detectors: [env, k8s_api]", NULL);
    assert_int_equal(detection_ready(d.detection, &e), ERR_UNAVAILABLE);
    detection_start(d.detection);
    detecting_wait(&d);
    assert_int_equal(detection_ready(d.detection, &e), ERR_OK);
    detecting_end(&d);
    detecting_create(&d, "{detectors: [env, k8s_api], fail_on_missing_metadata: true}", NULL);
    detection_start(d.detection);
    detecting_wait(&d);
    assert_int_equal(detection_ready(d.detection, &e), ERR_IO);
    assert_non_null(strstr(e.text, "detector k8s_api: the variable K8S_NODE_NAME is not set"));
    detecting_end(&d);
    detecting_fini(&d);
}

static void it_may_end_before_it_began(void **state)
{
    (void)state;
    struct detecting d;
    detecting_init(&d);
    detecting_create(&d, "{}", NULL);
    assert_known(&d, "{}");
    detecting_end(&d);
    detection_destroy(&d.detection);
    detecting_fini(&d);
}

// --- again ---

static bool has_changed(void *arg)
{
    struct detecting *d = arg;
    char *text = detecting_text(d);
    const bool changed = strcmp(text, "{\"a\":\"1\"}") != 0;
    free(text);
    return changed;
}

static int64_t failures(struct detecting *d)
{
    struct buf page;
    long long count = -1;
    buf_init(&page, 1 << 20);
    metrics_write(d->env.env.metrics, &page);
    buf_add_byte(&page, '\0');
    static const char series[] =
        "profrelay_resource_detection_runs{detector=\"env\",outcome=\"failure\",processor=\"detect\"} ";
    const char *at = strstr((const char *)page.data, series);
    if (at != NULL)
        sscanf(at + strlen(series), "%lld", &count);
    buf_fini(&page);
    return count;
}

static bool has_failed(void *arg)
{
    return failures(arg) > 0;
}

static void refreshing_finds_what_changed(void **state)
{
    (void)state;
    const struct variable before[] = {{"OTEL_RESOURCE_ATTRIBUTES", "a=1"}, {NULL, NULL}};
    const struct variable broken[] = {{"OTEL_RESOURCE_ATTRIBUTES", "a"}, {NULL, NULL}};
    const struct variable after[] = {{"OTEL_RESOURCE_ATTRIBUTES", "b=2"}, {NULL, NULL}};
    struct detecting d;
    detecting_init(&d);
    detecting_create(&d, "refresh_interval: 2ms", before);
    detection_start(d.detection);
    detecting_wait(&d);
    assert_known(&d, "{\"a\":\"1\"}");
    struct detected *old = detection_current(d.detection);
    d.variables = broken; // what was known stays
    fake_env_run_until(&d.env, has_failed, &d);
    assert_known(&d, "{\"a\":\"1\"}");
    d.variables = after;
    fake_env_run_until(&d.env, has_changed, &d);
    assert_known(&d, "{\"b\":\"2\"}");
    assert_true(bytes_equal_text(old->list[0].key, "a")); // whoever has it may still read it
    detected_unref(&old);
    detecting_end(&d);
    detecting_fini(&d);
}

static void *read_on(void *arg)
{
    struct detecting *d = arg;
    for (int i = 0; i < 20000; i++) {
        struct detected *found = detection_current(d->detection);
        CHECK(found->count <= 1 && (found->count == 0 || found->list[0].key.len == 1));
        detected_unref(&found);
    }
    return NULL;
}

static void others_may_read_meanwhile(void **state)
{
    (void)state;
    const struct variable variables[] = {{"OTEL_RESOURCE_ATTRIBUTES", "a=1"}, {NULL, NULL}};
    struct detecting d;
    pthread_t thread;
    detecting_init(&d);
    detecting_create(&d, "refresh_interval: 1ms", variables);
    assert_int_equal(pthread_create(&thread, NULL, read_on, &d), 0);
    detection_start(d.detection);
    for (int i = 0; i < 5; i++) {
        const int64_t runs = failures(&d); // the page takes its time
        assert_int_equal(runs, 0);
        detecting_wait(&d);
        (void)uv_run(&d.env.loop.uv, UV_RUN_NOWAIT);
    }
    pthread_join(thread, NULL);
    detecting_end(&d);
    detecting_fini(&d);
}

static void memory_may_fail(void **state)
{
    (void)state;
    const struct variable variables[] = {{"OTEL_RESOURCE_ATTRIBUTES", "a=1,b=2"}, {NULL, NULL}};
    struct detecting d;
    detecting_init(&d);
    size_t n = 1;
    for (bool whole = false; !whole; n++) {
        assert_in_range(n, 1, 50);
        detecting_create(&d, "{}", variables);
        mem_fail_from(n);
        detection_start(d.detection);
        mem_fail_from(0);
        detecting_wait(&d);
        char *text = detecting_text(&d);
        whole = strcmp(text, "{\"a\":\"1\",\"b\":\"2\"}") == 0;
        assert_true(whole || strcmp(text, "{}") == 0); // all or nothing
        free(text);
        detecting_end(&d);
    }
    assert_in_range(n, 5, 50);
    detecting_fini(&d);
}

// --- settings ---

static void wrong_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"detectors: []", "test:1:1: processors.detect: detectors: needs at least one, as in [env, system]\n"},
        {"detectors: [docker]",
         "test:1:1: processors.detect: detectors: \"docker\" is not available: container finds container.id without "
         "Docker's socket, system the host's name\n"},
        {"detectors: [eks]",
         "test:1:1: processors.detect: detectors: \"eks\" is not available: use ec2; the processor k8s_attributes asks "
         "the Kubernetes API, resource sets k8s.cluster.name\n"},
        {"detectors: [sytem]",
         "test:1:1: processors.detect: detectors: there is no \"sytem\"; there are env, system, container, "
         "k8s_downward, k8s_api, ec2, gcp, azure\n"},
        {"detectors: [env, env]", "test:1:1: processors.detect: detectors: \"env\" is there twice\n"},
        {"system: {hostname_sources: [dsn]}",
         "test:1:10: processors.detect: system.hostname_sources: there is no \"dsn\"; there are dns, os, cname, "
         "lookup\n"},
        {"ec2: {endpoint: 'ftp://x'}",
         "test:1:7: processors.detect: ec2.endpoint: a URL must begin with http:// or https://\n"},
        {"k8snode: {resource_attributes: {k8s.node.uid: {enabled: true}}}",
         "test:1:1: processors.detect: k8s_api: k8s.node.uid and k8s.cluster.uid need the Kubernetes API: the "
         "processor "
         "k8s_attributes writes them\n"},
        {"ec2: {resource_attributes: {host.nam: {enabled: true}}}",
         "test:1:29: processors.detect: ec2.resource_attributes: unknown key \"host.nam\", did you mean "
         "\"host.name\"?\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fake_env f;
        void *settings;
        fake_env_init(&f, 1);
        char *text = fake_settings(&f, KIND_PROCESSOR, &test_module, cases[i].yaml, &settings);
        assert_string_equal(text, cases[i].expected);
        free(text);
        fake_env_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(env_reads_the_variables_of_sdks),
        cmocka_unit_test(hostile_variables_end_somewhere),
        cmocka_unit_test(downward_reads_variables),
        cmocka_unit_test(container_ids_are_found),
        cmocka_unit_test(system_describes_the_host),
        cmocka_unit_test(earlier_detectors_win),
        cmocka_unit_test(a_failure_is_fatal_only_when_asked_for),
        cmocka_unit_test(it_may_end_before_it_began),
        cmocka_unit_test(refreshing_finds_what_changed),
        cmocka_unit_test(others_may_read_meanwhile),
        cmocka_unit_test(memory_may_fail),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
