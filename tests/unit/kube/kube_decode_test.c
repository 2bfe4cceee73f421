// SPDX-License-Identifier: Apache-2.0
// What is taken from one object's JSON.
#include "kube/kube_decode.h"

#include "base/mem.h"
#include "kube/kube_object_reader.h"
#include "tests/unit/kube/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char full_pod[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"cart-5d-x\",\"generateName\":\"cart-5d-\","
    "\"namespace\":\"shop\",\"uid\":\"u-1\",\"resourceVersion\":\"4711\",\"creationTimestamp\":\"2026-11-30T10:05:"
    "50Z\","
    "\"labels\":{\"app\":\"cart\",\"secret\":\"no\",\"tier\":\"\\u0062ack\\\"end\\\"\"},"
    "\"annotations\":{\"app\":\"noted\",\"big\":\"{\\\"a\\\":[1,2]}\"},"
    "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n\",\"uid\":\"u-9\"},"
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"cart-5d\",\"uid\":\"u-2\",\"controller\":true,"
    "\"blockOwnerDeletion\":true}],"
    "\"managedFields\":[{\"manager\":\"kubelet\",\"fieldsV1\":{\"f:status\":{\"f:phase\":{},\"f:podIPs\":{\".\":{}}}}}]"
    "},"
    "\"spec\":{\"volumes\":[{\"name\":\"main\",\"projected\":{\"sources\":[]}}],"
    "\"initContainers\":[{\"name\":\"setup\",\"image\":\"r/setup:2\"}],"
    "\"containers\":[{\"name\":\"main\",\"image\":\"r/cart:1\",\"env\":[{\"name\":\"x\",\"value\":\"y\"}]},"
    "{\"name\":\"proxy\",\"image\":\"r/proxy@sha256:aa\"}],"
    "\"ephemeralContainers\":[{\"name\":\"debug-1\",\"image\":\"busybox\"}],"
    "\"nodeName\":\"node-a\",\"hostname\":\"cart-h\",\"hostNetwork\":true},"
    "\"status\":{\"phase\":\"Running\",\"hostIP\":\"10.9.9.9\",\"podIP\":\"10.0.0.7\","
    "\"podIPs\":[{\"ip\":\"10.0.0.7\"},{\"ip\":\"fd00::7\"},{\"ip\":\"junk\"},{}],\"startTime\":\"2026-11-30T10:05:"
    "51Z\","
    "\"containerStatuses\":[{\"name\":\"proxy\",\"image\":\"sha256:bb\",\"imageID\":\"r/proxy@sha256:aa\","
    "\"containerID\":\"containerd://p-2\",\"restartCount\":3,\"state\":{\"running\":{}},"
    "\"lastState\":{\"terminated\":{\"exitCode\":137,\"containerID\":\"containerd://p-1\"}}},"
    "{\"name\":\"main\",\"image\":\"r/cart:1\",\"imageID\":\"docker-pullable://r/cart@sha256:cc\","
    "\"containerID\":\"containerd://m-1\",\"restartCount\":0,\"lastState\":{}}],"
    "\"initContainerStatuses\":[{\"name\":\"setup\",\"containerID\":\"cri-o://s-1\"}],"
    "\"ephemeralContainerStatuses\":[{\"name\":\"debug-1\",\"containerID\":\"docker://d-1\"}]}}";

static bool keeps_some(void *arg, enum kube_kind kind, enum kube_map map, struct bytes key)
{
    (void)arg, (void)kind;
    return map == KUBE_ANNOTATIONS || !bytes_equal_text(key, "secret");
}

static const struct kube_keep keep_some = {keeps_some, NULL};

static struct kube_object *decode(const char *json, enum kube_kind kind)
{
    struct err e = {0};
    struct kube_object *o = kube_object_decode(B(json), kind, &keep_some, &e);
    if (o == NULL)
        fail_msg("%s", e.text);
    return o;
}

static void expect_text(struct bytes text, const char *expected)
{
    if (!bytes_equal_text(text, expected))
        fail_msg("\"%.*s\", not \"%s\"", BYTES_PRINT(text), expected);
}

static void expect_container(const struct kube_container *c, const char *name, const char *id, const char *last_id,
                             const char *image, const char *image_id)
{
    expect_text(c->name, name);
    expect_text(c->id, id);
    expect_text(c->last_id, last_id);
    expect_text(c->image, image);
    expect_text(c->image_id, image_id);
}

static void test_metadata(void **state)
{
    (void)state;
    struct bytes value;
    struct kube_object *o = decode(full_pod, KUBE_POD);
    expect_text(o->name, "cart-5d-x");
    expect_text(o->namespace_name, "shop");
    expect_text(o->uid, "u-1");
    expect_text(o->resource_version, "4711");
    assert_int_equal(o->owner.kind, KUBE_REPLICASET);
    expect_text(o->owner.name, "cart-5d");
    expect_text(o->owner.uid, "u-2");
    assert_int_equal(o->map_counts[KUBE_LABELS], 2);
    assert_true(kube_object_find(o, KUBE_LABELS, "tier", &value));
    expect_text(value, "back\"end\"");
    assert_false(kube_object_find(o, KUBE_LABELS, "secret", &value));
    assert_true(kube_object_find(o, KUBE_ANNOTATIONS, "big", &value));
    expect_text(value, "{\"a\":[1,2]}");
    kube_object_unref(&o);
}

static void expect_full_pod(const struct kube_pod *p)
{
    struct ip_address v4 = address_of("10.0.0.7"), v6 = address_of("fd00::7");
    expect_text(p->node_name, "node-a");
    expect_text(p->hostname, "cart-h");
    expect_text(p->start_time, "2026-11-30T10:05:51Z");
    assert_int_equal(p->start_nanos, 1796033151000000000);
    assert_true(p->host_network);
    assert_false(p->is_done);
    assert_int_equal(p->address_count, 2);
    assert_memory_equal(&p->addresses[0], &v4, sizeof v4);
    assert_memory_equal(&p->addresses[1], &v6, sizeof v6);
    assert_int_equal(p->container_count, 4);
    expect_container(&p->containers[0], "setup", "s-1", "", "r/setup:2", "");
    expect_container(&p->containers[1], "main", "m-1", "", "r/cart:1", "r/cart@sha256:cc");
    expect_container(&p->containers[2], "proxy", "p-2", "p-1", "r/proxy@sha256:aa", "r/proxy@sha256:aa");
    expect_container(&p->containers[3], "debug-1", "d-1", "", "busybox", "");
    assert_int_equal(p->containers[2].restart_count, 3);
    assert_true(p->containers[0].is_init && !p->containers[0].is_ephemeral);
    assert_true(!p->containers[1].is_init && !p->containers[2].is_init);
    assert_true(p->containers[3].is_ephemeral && !p->containers[3].is_init);
}

static void test_a_pod(void **state)
{
    (void)state;
    struct kube_object *o = decode(full_pod, KUBE_POD);
    expect_full_pod(&o->pod);
    kube_object_unref(&o);
}

// Only pods have a pod's parts, whatever stands there.
static void test_other_kinds(void **state)
{
    (void)state;
    struct kube_object *o = decode("{\"metadata\":{\"name\":\"d\",\"uid\":\"u\"},\"spec\":{\"nodeName\":\"n\","
                                   "\"containers\":[{\"name\":\"x\"}]},\"status\":{\"podIP\":\"10.0.0.1\"}}",
                                   KUBE_DEPLOYMENT);
    expect_text(o->pod.node_name, "");
    assert_int_equal(o->pod.container_count + o->pod.address_count, 0);
    assert_int_equal(o->owner.kind, KUBE_NO_KIND);
    assert_int_equal(o->kind, KUBE_DEPLOYMENT);
    kube_object_unref(&o);
}

static void test_only_metadata(void **state)
{
    (void)state;
    struct kube_object *o =
        decode("{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":"
               "{\"name\":\"rs\",\"namespace\":\"shop\",\"uid\":\"u\",\"ownerReferences\":[{"
               "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"d\",\"uid\":\"v\"}]}}",
               KUBE_REPLICASET);
    assert_int_equal(o->owner.kind, KUBE_DEPLOYMENT);
    expect_text(o->owner.name, "d");
    kube_object_unref(&o);
}

static void expect_end(const char *phase, const char *first, const char *second, int64_t end)
{
    char json[1024];
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"status\":{\"phase\":\"%s\",\"containerStatuses\":[{"
             "\"name\":\"a\","
             "\"state\":{\"terminated\":{\"finishedAt\":%s}}},{\"name\":\"b\",\"state\":{\"terminated\":{"
             "\"finishedAt\":%s}}}]}}",
             phase, first, second);
    struct kube_object *o = decode(json, KUBE_POD);
    assert_int_equal(o->pod.end_nanos, end);
    kube_object_unref(&o);
}

// When the last container ended, to the end of that second.
static void test_the_end_of_a_pod(void **state)
{
    (void)state;
    expect_end("Succeeded", "\"2026-11-30T10:05:51Z\"", "\"2026-11-30T10:05:41Z\"", 1796033152000000000);
    expect_end("Failed", "null", "\"2026-11-30T10:05:51Z\"", 1796033152000000000);
    expect_end("Failed", "null", "\"soon\"", 0);
    expect_end("Running", "\"2026-11-30T10:05:51Z\"", "null", 0); // it goes on
}

static enum kube_kind owner_of(const char *references, const char *name)
{
    char json[1024];
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"ownerReferences\":%s}}", references);
    struct kube_object *o = decode(json, KUBE_POD);
    enum kube_kind kind = o->owner.kind;
    expect_text(o->owner.name, name);
    kube_object_unref(&o);
    return kind;
}

#define OWNER(api, kind, name, more)                                                                                   \
    "{\"apiVersion\":\"" api "\",\"kind\":\"" kind "\",\"name\":\"" name "\",\"uid\":\"u\"" more "}"

static void test_owners(void **state)
{
    (void)state;
    assert_int_equal(owner_of("null", ""), KUBE_NO_KIND);
    assert_int_equal(owner_of("[]", ""), KUBE_NO_KIND);
    assert_int_equal(owner_of("[null,null]", ""), KUBE_NO_KIND);
    assert_int_equal(owner_of("[" OWNER("apps/v1", "StatefulSet", "s", "") "]", "s"), KUBE_STATEFULSET);
    assert_int_equal(owner_of("[" OWNER("apps/v1", "DaemonSet", "s", ",\"controller\":null") "]", "s"), KUBE_DAEMONSET);
    assert_int_equal(owner_of("[" OWNER("v1", "Node", "n", ",\"controller\":true") "]", "n"), KUBE_NODE);
    assert_int_equal(owner_of("[" OWNER("batch/v1", "Job", "j", "") "]", "j"), KUBE_JOB);
    assert_int_equal(owner_of("[" OWNER("batch.volcano.sh/v1alpha1", "Job", "j", "") "]", "j"), KUBE_NO_KIND);
    assert_int_equal(owner_of("[" OWNER("argoproj.io/v1alpha1", "Rollout", "r", "") "]", "r"), KUBE_NO_KIND);
    assert_int_equal(
        owner_of("[" OWNER("apps/v1", "ReplicaSet", "a", "") "," OWNER("apps/v1", "ReplicaSet", "b", "") "]", ""),
        KUBE_NO_KIND); // several, and none is the controller
    assert_int_equal(owner_of("[" OWNER("batch/v1", "Job", "a", ",\"controller\":true") "," OWNER(
                                  "apps/v1", "ReplicaSet", "b", ",\"controller\":true") "]",
                              "a"),
                     KUBE_JOB);
}

// null stands for nothing everywhere; so does a value of a wrong kind.
static void test_nulls_and_wrong_kinds(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "\"spec\":null,\"status\":null",
        "\"spec\":[],\"status\":7",
        "\"spec\":{\"containers\":null,\"initContainers\":{},\"hostNetwork\":null,\"nodeName\":[\"a\"],\"hostname\":{}}"
        ","
        "\"status\":{\"podIPs\":[null,7,\"10.0.0.1\",[],{\"ip\":null}],\"podIP\":{\"ip\":\"10.0.0.1\"},\"phase\":false,"
        "\"startTime\":null,\"containerStatuses\":\"x\",\"initContainerStatuses\":null}",
    };
    char json[1024];
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        snprintf(json, sizeof json,
                 "{\"kind\":null,\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"labels\":null,"
                 "\"annotations\":[1],\"namespace\":null,\"resourceVersion\":5},%s}",
                 bodies[i]);
        struct kube_object *o = decode(json, KUBE_POD);
        assert_int_equal(o->pod.container_count + o->pod.address_count, 0);
        assert_int_equal(o->map_counts[KUBE_LABELS] + o->map_counts[KUBE_ANNOTATIONS], 0);
        expect_text(o->namespace_name, "");
        expect_text(o->pod.node_name, "");
        assert_false(o->pod.host_network || o->pod.is_done);
        kube_object_unref(&o);
    }
}

static void test_containers_with_holes(void **state)
{
    (void)state;
    struct kube_object *o = decode(
        "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[null,{"
        "\"name\":\"m\","
        "\"containerID\":\"\",\"restartCount\":null,\"lastState\":null},{\"name\":\"stray\",\"containerID\":\"x\","
        "\"restartCount\":-4,\"lastState\":{\"terminated\":null}}],\"initContainerStatuses\":[{\"name\":\"m\","
        "\"restartCount\":9e99,"
        "\"containerID\":\"i\"}]},\"spec\":{\"containers\":[{\"name\":\"m\",\"image\":\"r\"}]}}",
        KUBE_POD);
    assert_true(o->pod.is_done);
    assert_int_equal(o->pod.container_count, 4);
    expect_container(&o->pod.containers[0], "m", "", "", "r", ""); // the status stood before the spec
    expect_container(&o->pod.containers[1], "", "", "", "", "");
    expect_container(&o->pod.containers[2], "stray", "x", "", "", "");
    expect_container(&o->pod.containers[3], "m", "i", "", "", "");
    assert_true(o->pod.containers[3].is_init);
    for (int i = 0; i < 4; i++)
        assert_int_equal(o->pod.containers[i].restart_count, 0);
    kube_object_unref(&o);
}

// As the API's own reader has it: the last one holds.
static void test_equal_keys(void **state)
{
    (void)state;
    struct bytes value;
    struct kube_object *o =
        decode("{\"metadata\":{\"name\":\"a\",\"name\":\"b\",\"uid\":\"u\",\"labels\":{\"k\":\"1\",\"k\":\"2\"}},"
               "\"spec\":{\"nodeName\":\"m\",\"hostNetwork\":true},\"metadata\":{\"labels\":{\"k\":\"3\"}},"
               "\"spec\":{\"nodeName\":\"n\",\"hostNetwork\":false}}",
               KUBE_POD);
    expect_text(o->name, "b");
    expect_text(o->pod.node_name, "n");
    assert_false(o->pod.host_network);
    assert_true(kube_object_find(o, KUBE_LABELS, "k", &value));
    expect_text(value, "3");
    kube_object_unref(&o);
}

static void expect_refused(const char *json, enum err_code code, const char *text)
{
    struct err e = {0};
    assert_null(kube_object_decode(B(json), KUBE_POD, NULL, &e));
    assert_int_equal(e.code, code);
    if (strstr(e.text, text) == NULL)
        fail_msg("%s", e.text);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    expect_refused("", ERR_INVALID, "line 1");
    expect_refused("[]", ERR_INVALID, "an object should be here");
    expect_refused("{}", ERR_INVALID, "the Pod has no name or no uid");
    expect_refused("{\"metadata\":{\"name\":\"a\"}}", ERR_INVALID, "no uid");
    expect_refused("{\"metadata\":{\"uid\":\"a\",\"name\":\"\"}}", ERR_INVALID, "no name");
    expect_refused("{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}", ERR_INVALID, "kind is not Pod");
    expect_refused("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}{}", ERR_INVALID, "something follows");
    expect_refused("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",}}", ERR_INVALID, "line 1, column 35");
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    char json[1024] = "{\"spec\":";
    memset(json + strlen(json), '[', 500);
    expect_refused(json, ERR_INVALID, "deeper");
}

static void test_truncation(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof full_pod - 1; len++) {
        struct err e = {0};
        uint8_t *copy = malloc(len + 1); // of its exact size, for the sanitizer
        assert_non_null(copy);
        memcpy(copy + 1, full_pod, len);
        assert_null(kube_object_decode((struct bytes){copy + 1, len}, KUBE_POD, &keep_some, &e));
        assert_int_equal(e.code, ERR_INVALID);
        free(copy);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    struct kube_object *o = NULL;
    size_t n = 0;
    while (o == NULL) {
        struct err e = {0};
        mem_fail_from(++n);
        o = kube_object_decode(B(full_pod), KUBE_POD, &keep_some, &e);
        mem_fail_from(0);
        assert_int_equal(e.code, o == NULL ? ERR_MEMORY : ERR_OK);
    }
    assert_true(n > 6);
    expect_full_pod(&o->pod);
    kube_object_unref(&o);
}

// More containers than are taken, each with a status: no time is lost, no memory taken.
static void test_more_containers_than_any_pod_has(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    struct buf json;
    buf_init(&json, 16 << 20);
    buf_add_text(&json, "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"spec\":{\"containers\":[{}");
    for (int i = 0; i < MANY; i++)
        buf_add_format(&json, ",{\"name\":\"c%d\"}", i);
    buf_add_text(&json, "]},\"status\":{\"containerStatuses\":[{}");
    for (int i = 0; i < MANY; i++)
        buf_add_format(&json, ",{\"name\":\"c%d\",\"containerID\":\"%d\"}", i, i);
    buf_add_text(&json, "],\"podIPs\":[{}");
    for (int i = 0; i < MANY; i++)
        buf_add_format(&json, ",{\"ip\":\"10.0.%d.%d\"}", i / 250, i % 250);
    buf_add_text(&json, "]}}");
    buf_add_byte(&json, 0);
    struct kube_object *o = decode((const char *)json.data, KUBE_POD);
    assert_int_equal(o->pod.container_count, 512);
    assert_int_equal(o->pod.address_count, 16);
    expect_container(&o->pod.containers[511], "c510", "510", "", "", "");
    kube_object_unref(&o);
    buf_fini(&json);
}

static void test_times(void **state)
{
    (void)state;
    static const char *const none[] = {"",
                                       "2026-11-30",
                                       "2026-11-30T10:05:51",
                                       "2026-11-30 10:05:51Z",
                                       "2026-13-30T10:05:51Z",
                                       "2026-11-30T10:05:51Zulu",

                                       "2026-11-30T10:05:51+02:00x",
                                       "9999-11-30T10:05:51Z",
                                       "now",
                                       "2026-11-30T10:05:51.000000000000000000000000000000000000000000000000Z"};
    for (size_t i = 0; i < COUNT_OF(none); i++)
        assert_int_equal(kube_time_parse(B(none[i])), 0);
    assert_int_equal(kube_time_parse(B("2026-11-30T10:05:51Z")), 1796033151000000000);
    assert_int_equal(kube_time_parse(B("2026-11-30T10:05:51.25Z")), 1796033151250000000);
    assert_int_equal(kube_time_parse(B("2026-11-30T10:05:51.1234567899Z")), 1796033151123456789);
    assert_int_equal(kube_time_parse(B("2026-11-30T12:35:51+02:30")), 1796033151000000000);
    assert_int_equal(kube_time_parse(B("2026-11-30T09:05:51-01:00")), 1796033151000000000);
    assert_int_equal(kube_time_parse(B("1970-01-01T00:00:01Z")), 1000000000);
}

static void test_status_answers(void **state)
{
    (void)state;
    char message[64];
    assert_int_equal(
        kube_status_decode(B("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
                             "\"message\":\"too old resource version\",\"reason\":\"Expired\",\"code\":410}"),
                           message, sizeof message),
        410);
    assert_string_equal(message, "too old resource version");
    assert_int_equal(
        kube_status_decode(B("{\"kind\":\"Status\",\"code\":403,\"message\":null}"), message, sizeof message), 403);
    assert_string_equal(message, "");
    assert_int_equal(kube_status_decode(B("{\"kind\":\"Status\",\"message\":\"abcdef\",\"code\":500}"), message, 4),
                     500);
    assert_string_equal(message, "abc");
    static const char *const none[] = {"",
                                       "404 page not found",
                                       "{}",
                                       "{\"kind\":\"Pod\",\"code\":410}",
                                       "{\"kind\":\"Status\"}",
                                       "{\"kind\":\"Status\",\"code\":-1}",
                                       "{\"kind\":\"Status\",\"code\":99999999999}"};
    for (size_t i = 0; i < COUNT_OF(none); i++)
        assert_int_equal(kube_status_decode(B(none[i]), message, sizeof message), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_a_pod),
        cmocka_unit_test(test_other_kinds),
        cmocka_unit_test(test_only_metadata),
        cmocka_unit_test(test_the_end_of_a_pod),
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_nulls_and_wrong_kinds),
        cmocka_unit_test(test_containers_with_holes),
        cmocka_unit_test(test_equal_keys),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_more_containers_than_any_pod_has),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_status_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
