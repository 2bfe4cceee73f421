// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/processors/k8s_fixture.h"

#include "processors/k8s_metadata.h"
#include "tests/support/fake_origin.h"

#include <pthread.h>

// --- a cluster ---

#define OWNED_BY(kind, name)                                                                                           \
    "'ownerReferences':[{'apiVersion':'apps/v1','kind':'" kind "','name':'" name "','uid':'uid-" name                  \
    "','controller':true}]"
#define OWNED_BY_BATCH(kind, name)                                                                                     \
    "'ownerReferences':[{'apiVersion':'batch/v1','kind':'" kind "','name':'" name "','uid':'uid-" name                 \
    "','controller':true}]"
#define POD(name, rest) "{'metadata':{'name':'" name "','namespace':'shop','uid':'uid-" name "'," rest "}"

static const struct cluster_object cluster[] = {
    {KUBE_POD,
     POD("cart-6d4cf56db6-x7x2p",
         "'labels':{'app':'cart','app.kubernetes.io/version':'2.1','pod-template-hash':'6d4cf56db6',"
         "'team.example.com/name':'payments','team.example.com/tier':'1','team.example.com/lead':''},"
         "'annotations':{'resource.opentelemetry.io/deployment.environment.name':'prod','git-commit':'abc'}," OWNED_BY(
             "ReplicaSet",
             "cart-6d4cf56db6") "},"
                                "'spec':{'nodeName':'node-1','hostname':'cart-host','containers':[{'name':'main','"
                                "image':"
                                "'registry:5000/shop/cart:1.2@sha256:aa'},{'name':'proxy','image':'envoy'}],"
                                "'initContainers':[{'name':'setup','image':'busybox:1'}]},"
                                "'status':{'phase':'Running','startTime':'2026-11-01T10:00:00Z','podIP':'10.0.0.1','"
                                "podIPs':[{'ip':'10.0.0.1'},"
                                "{'ip':'fd00::1'}],'containerStatuses':[{'name':'main','containerID':'containerd://"
                                "c1','imageID':"
                                "'registry:5000/shop/"
                                "cart@sha256:bb','restartCount':2,'lastState':{'terminated':{'containerID':"
                                "'containerd://c0'}}},{'name':'proxy','containerID':'containerd://"
                                "p1','imageID':'sha256:cc','restartCount':0}],"
                                "'initContainerStatuses':[{'name':'setup','containerID':'docker://"
                                "i1','imageID':'x','restartCount':0}]}")},
    {KUBE_POD,
     POD("db-0",
         OWNED_BY("StatefulSet",
                  "db") ",'labels':{'app.kubernetes.io/name':'postgres'},"
                        "'annotations':{'resource.opentelemetry.io/service.name':'orders-db'}},"
                        "'spec':{'nodeName':'node-2','containers':[{'name':'pg','image':'postgres'}],'initContainers':["
                        "{'name':'wait','image':'busybox'}]},"
                        "'status':{'podIP':'10.0.0.2','containerStatuses':[{'name':'pg','containerID':'cri-o://d1',"
                        "'restartCount':0}]}")},
    {KUBE_POD,
     POD("agent-1",
         OWNED_BY("DaemonSet",
                  "agent") "},'spec':{'nodeName':'node-1','hostNetwork':true,"
                           "'containers':[{'name':'agent','image':'agent:9'}]},'status':{'podIP':'192.168.0.1'}")},
    {KUBE_POD,
     POD("report-29367000-abcde",
         OWNED_BY_BATCH("Job", "report-29367000") "},'spec':{'containers':[]},"
                                                  "'status':{'startTime':'2025-11-01T10:00:00Z','podIP':'10.0.0.4'}")},
    {KUBE_POD, POD("audit-1", OWNED_BY_BATCH("Job", "audit-20240101") "},'status':{'startTime':'2025-11-01T10:00:00Z',"
                                                                      "'podIP':'10.0.0.8'}")},
    {KUBE_POD, POD("audit-2", OWNED_BY_BATCH("Job", "audit-99999999") "},'status':{'startTime':'2025-11-01T10:00:00Z',"
                                                                      "'podIP':'10.0.0.9'}")},
    {KUBE_POD, POD("jaeger-agent-77", "'labels':{}},'status':{'podIP':'10.0.0.5'}")},
    {KUBE_POD, POD("shy", "'annotations':{'opentelemetry.io/k8s-processor.ignore':' True '}},"
                          "'status':{'podIP':'10.0.0.6'}")},
    {KUBE_POD, POD("alone", "'labels':{}},'status':{'podIP':'10.0.0.7'}")},
    {KUBE_NAMESPACE,
     "{'metadata':{'name':'shop','uid':'uid-shop','labels':{'stage':'live'},'annotations':{'owner':'ann'}}}"},
    {KUBE_NAMESPACE, "{'metadata':{'name':'kube-system','uid':'uid-cluster'}}"},
    {KUBE_NODE, "{'metadata':{'name':'node-1','uid':'uid-node-1','labels':{'zone':'a'}}}"},
    {KUBE_REPLICASET, "{'metadata':{'name':'cart-6d4cf56db6','namespace':'shop','uid':'uid-cart-6d4cf56db6'," OWNED_BY(
                          "Deployment", "cart") "}}"},
    {KUBE_DEPLOYMENT, "{'metadata':{'name':'cart','namespace':'shop','uid':'uid-cart','labels':{'tier':'front'}}}"},
    {KUBE_STATEFULSET, "{'metadata':{'name':'db','namespace':'shop','uid':'uid-db','annotations':{'page':'dba'}}}"},
    {KUBE_JOB, "{'metadata':{'name':'report-29367000','namespace':'shop','uid':'uid-report-29367000'," OWNED_BY_BATCH(
                   "CronJob", "report") "}}"},
};

#define CART_TEXT                                                                                                      \
    "k8s.namespace.name=shop,k8s.pod.name=cart-6d4cf56db6-x7x2p,k8s.pod.uid=uid-cart-6d4cf56db6-x7x2p,"                \
    "k8s.pod.start_time=2026-11-01T10:00:00Z,k8s.deployment.name=cart,k8s.node.name=node-1"
#define MAIN_TEXT ",container.image.name=registry:5000/shop/cart,container.image.tag=1.2"
#define DB_TEXT                                                                                                        \
    "k8s.namespace.name=shop,k8s.pod.name=db-0,k8s.pod.uid=uid-db-0,k8s.node.name=node-2,"                             \
    "container.image.name=postgres,container.image.tag=latest"

// "a=1,b=2" as attributes of a resource, texts all.
static struct batch *resource_of(const char *text)
{
    struct builder *b = builder_create(0);
    struct key_value list[16];
    uint32_t count = 0;
    for (const char *at = text; *at != '\0'; count++) {
        const char *equal = strchr(at, '='), *end = at + strcspn(at, ",");
        list[count] =
            (struct key_value){{(const uint8_t *)at, (size_t)(equal - at)},
                               value_string((struct bytes){(const uint8_t *)equal + 1, (size_t)(end - equal - 1)})};
        at = *end == ',' ? end + 1 : end;
    }
    builder_resource(b, list, count, 0, nothing);
    return finish(b);
}

struct resource_case {
    const char *yaml, *resource, *sender, *expected;
};

static void assert_described(const struct resource_case *c)
{
    struct test_run r;
    k8s_begin(&r, c->yaml, cluster, COUNT_OF(cluster));
    struct batch *b = resource_of(c->resource);
    if (process_from(&r, &b, c->sender) != ERR_OK)
        fail_msg("%s", r.e.text);
    char *text = brief_text(b);
    text[strlen(text) - 1] = '\0';
    assert_string_equal(text, c->expected);
    free(text);
    batch_unref(&b);
    run_end(&r);
}

#define ASSERT_ALL(cases)                                                                                              \
    for (size_t i = 0; i < COUNT_OF(cases); i++)                                                                       \
    assert_described(&(cases)[i])

#define EXTRACT(list) "extract: {metadata: [" list "]}"

// --- which pod ---

static void pods_are_found_by_the_defaults(void **state)
{
    (void)state;
    static const struct resource_case cases[] = {
        {"{}", "k8s.pod.uid=uid-cart-6d4cf56db6-x7x2p,k8s.container.name=main", NULL,
         "k8s.pod.uid=uid-cart-6d4cf56db6-x7x2p,k8s.container.name=main,k8s.namespace.name=shop,"
         "k8s.pod.name=cart-6d4cf56db6-x7x2p,k8s.pod.start_time=2026-11-01T10:00:00Z,k8s.deployment.name=cart,"
         "k8s.node.name=node-1" MAIN_TEXT},
        {"{}", "container.id=c1", NULL, "container.id=c1," CART_TEXT MAIN_TEXT},
        {"{}", "container.id=containerd://c1", NULL, "container.id=containerd://c1," CART_TEXT MAIN_TEXT},
        {"{}", "container.id=c0", NULL, "container.id=c0," CART_TEXT MAIN_TEXT}, // before its restart
        {"{}", "container.id=i1", NULL,
         "container.id=i1," CART_TEXT ",container.image.name=busybox,container.image.tag=1"},
        {"{}", "container.id=d1", NULL, "container.id=d1," DB_TEXT},
        {"{}", "k8s.pod.ip=10.0.0.2", NULL, "k8s.pod.ip=10.0.0.2," DB_TEXT},
        {"{}", "ip=10.0.0.2", NULL, "ip=10.0.0.2," DB_TEXT},
        {"{}", "host.name=10.0.0.2", NULL, "host.name=10.0.0.2," DB_TEXT},
        {"{}", "host.name=db-0", NULL, "host.name=db-0"},
        {"{}", "k8s.pod.ip=fd00:0::1", NULL, "k8s.pod.ip=fd00:0::1," CART_TEXT},
        {"{}", "a=1", "10.0.0.2", "a=1," DB_TEXT},
        {"{}", "a=1", "fd00::1", "a=1," CART_TEXT},
        {"{}", "a=1", NULL, "a=1"},
        {"{}", "a=1", "10.9.9.9", "a=1"},
        {"{}", "a=1", "192.168.0.1", "a=1"}, // a node's
        {"{}", "k8s.pod.ip=192.168.0.1", NULL, "k8s.pod.ip=192.168.0.1"},
        {"{}", "k8s.pod.uid=uid-agent-1", NULL,
         "k8s.pod.uid=uid-agent-1,k8s.namespace.name=shop,k8s.pod.name=agent-1,k8s.node.name=node-1,"
         "container.image.name=agent,container.image.tag=9"},
    };
    ASSERT_ALL(cases);
}

// What came through an agent is not the agent's.
static void the_connection_has_no_say_against_a_name(void **state)
{
    (void)state;
    static const struct resource_case cases[] = {
        {"{}", "container.id=unknown", "10.0.0.2", "container.id=unknown"},
        {"{}", "k8s.pod.uid=unknown", "10.0.0.2", "k8s.pod.uid=unknown"},
        {"{}", "host.name=10.9.9.9", "10.0.0.2", "host.name=10.9.9.9," DB_TEXT}, // may be its node's
        {"{}", "k8s.pod.uid=unknown,container.id=d1", "10.0.0.1",
         "k8s.pod.uid=unknown,container.id=d1,"
         "k8s.namespace.name=shop,k8s.pod.name=db-0,k8s.node.name=node-2,container.image.name=postgres,"
         "container.image.tag=latest"},
        {"pod_association: [{sources: [{from: connection}]}, {sources: [{from: resource_attribute, name: "
         "container.id}]}]",
         "container.id=unknown", "10.0.0.2", "container.id=unknown," DB_TEXT},
    };
    ASSERT_ALL(cases);
}

// --- when ---

static struct batch *profile_of(const char *key, const char *address, int64_t end_nanos)
{
    struct builder *b = builder_create(0);
    const struct key_value ip = {bytes_from_text(key), value_string(bytes_from_text(address))};
    struct sample_writer samples;
    struct observation_writer observations;
    sample_writer_init(&samples, b);
    observation_writer_init(&observations, b);
    struct profile p = {.time_nanos = (uint64_t)(end_nanos - NANOS_PER_SECOND), .duration_nanos = NANOS_PER_SECOND};
    p.columns = sample_writer_take(&samples);
    p.observations = observation_writer_take(&observations);
    builder_resource(b, &ip, 1, 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    builder_profile(b, &p);
    sample_writer_fini(&samples);
    observation_writer_fini(&observations);
    return finish(b);
}

// An address is that of the pod that had it when the profile ended; that of a connection is the pod's that has it now.
static void addresses_are_those_of_their_time(void **state)
{
    (void)state;
    static const struct cluster_object pods[] = {
        {KUBE_POD, POD("before", "'labels':{}},'status':{'startTime':'2026-11-01T10:00:00Z','podIP':'10.0.0.1'}")},
        {KUBE_POD, POD("after", "'labels':{}},'status':{'startTime':'2026-11-01T11:00:00Z','podIP':'10.0.0.1'}")},
    };
    static const struct {
        int64_t at_seconds;
        const char *pod;
    } cases[] = {{1793529600, "before"}, {1793533200, "after"}}; // 10:40 and 11:40
    struct test_run r;
    struct kube_needs needs;
    run_begin(&r, &k8s_attributes_processor, EXTRACT("k8s.pod.name"));
    k8s_attributes_needs(processor_of(&r), &needs);
    struct kube_store *store = kube_store_create(&(struct kube_store_options){.keep_deleted_nanos = INT64_MAX});
    const int64_t eleven = INT64_C(1793530800) * NANOS_PER_SECOND;
    assert_true(kube_store_put(store, decode_object(&pods[0], &needs.keep), eleven - 3600 * NANOS_PER_SECOND));
    kube_store_delete(store, KUBE_POD, BYTES_LITERAL("uid-before"), eleven);
    assert_true(kube_store_put(store, decode_object(&pods[1], &needs.keep), eleven));
    k8s_attributes_publish(processor_of(&r), kube_store_snapshot(store));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct batch *b = profile_of("k8s.pod.ip", "10.0.0.1", cases[i].at_seconds * NANOS_PER_SECOND);
        assert_int_equal(process_from(&r, &b, NULL), ERR_OK);
        const struct resource *to = b->resources[0];
        const struct key_value *name =
            key_values_find(to->attributes, to->attribute_count, BYTES_LITERAL("k8s.pod.name"));
        assert_non_null(name);
        assert_true(bytes_equal_text(name->value.bytes, cases[i].pod));
        batch_unref(&b);
    }
    struct batch *b = profile_of("a", "1", cases[0].at_seconds * NANOS_PER_SECOND);
    assert_int_equal(process_from(&r, &b, "10.0.0.1"), ERR_OK);
    assert_true(bytes_equal_text(b->resources[0]->attributes[1].value.bytes, "after"));
    batch_unref(&b);
    kube_store_destroy(&store);
    run_end(&r);
}

#define RULE(sources) "pod_association: [{sources: [" sources "]}]\nextract: {metadata: [k8s.pod.name]}"
#define FROM(name) "{from: resource_attribute, name: " name "}"

static void all_sources_must_match(void **state)
{
    (void)state;
    static const struct resource_case cases[] = {
        {RULE(FROM("k8s.pod.name") "," FROM("k8s.namespace.name")), "k8s.pod.name=db-0,k8s.namespace.name=shop", NULL,
         "k8s.pod.name=db-0,k8s.namespace.name=shop"},
        {"extract: {metadata: [k8s.pod.uid]}\npod_association: [{sources: [" FROM("k8s.namespace.name") "," FROM(
             "k8s.pod.name") "]}]",
         "k8s.pod.name=db-0,k8s.namespace.name=shop", NULL,
         "k8s.pod.name=db-0,k8s.namespace.name=shop,k8s.pod.uid=uid-db-0"},
        {RULE(FROM("container.id") "," FROM("k8s.namespace.name")), "container.id=d1,k8s.namespace.name=shop", NULL,
         "container.id=d1,k8s.namespace.name=shop,k8s.pod.name=db-0"},
        {RULE(FROM("container.id") "," FROM("k8s.namespace.name")), "container.id=d1,k8s.namespace.name=other", NULL,
         "container.id=d1,k8s.namespace.name=other"},
        {RULE(FROM("container.id") "," FROM("k8s.namespace.name")), "container.id=d1", NULL, "container.id=d1"},
        {RULE(FROM("k8s.pod.uid") ", {from: connection}"), "k8s.pod.uid=uid-db-0", "10.0.0.2",
         "k8s.pod.uid=uid-db-0,k8s.pod.name=db-0"},
        {RULE(FROM("k8s.pod.uid") ", {from: connection}"), "k8s.pod.uid=uid-db-0", "10.0.0.1", "k8s.pod.uid=uid-db-0"},
        {RULE(FROM("k8s.pod.ip") "," FROM("k8s.node.name")), "k8s.pod.ip=10.0.0.2,k8s.node.name=node-2", NULL,
         "k8s.pod.ip=10.0.0.2,k8s.node.name=node-2,k8s.pod.name=db-0"},
        {RULE(FROM("k8s.pod.ip") "," FROM("k8s.node.name")), "k8s.pod.ip=10.0.0.2,k8s.node.name=node-1", NULL,
         "k8s.pod.ip=10.0.0.2,k8s.node.name=node-1"},
        {RULE(FROM("k8s.pod.uid") "," FROM("k8s.pod.ip")), "k8s.pod.uid=uid-agent-1,k8s.pod.ip=192.168.0.1", NULL,
         "k8s.pod.uid=uid-agent-1,k8s.pod.ip=192.168.0.1"},
    };
    ASSERT_ALL(cases);
}

static void excluded_pods_are_left_alone(void **state)
{
    (void)state;
    static const struct resource_case cases[] = {
        {"extract: {metadata: [k8s.pod.name]}", "a=1", "10.0.0.5", "a=1"},
        {"extract: {metadata: [k8s.pod.name]}", "a=1", "10.0.0.6", "a=1"},
        {"extract: {metadata: [k8s.pod.name]}\nexclude: {pods: [{name: '^db-\\d$'}]}", "a=1", "10.0.0.2", "a=1"},
        {"extract: {metadata: [k8s.pod.name]}\nexclude: {pods: [{name: 'd$'}]}", "a=1", "10.0.0.2",
         "a=1,k8s.pod.name=db-0"},
        {"extract: {metadata: [k8s.pod.name]}\nexclude: {pods: []}", "a=1", "10.0.0.5",
         "a=1,k8s.pod.name=jaeger-agent-77"},
    };
    ASSERT_ALL(cases);
}

// --- what is added ---

static void every_name_is_known(void **state)
{
    (void)state;
    static const struct resource_case cases[] = {
        {EXTRACT(
             "k8s.pod.ip, k8s.pod.hostname, k8s.replicaset.name, k8s.replicaset.uid, k8s.deployment.uid, k8s.node.uid, "
             "k8s.cluster.uid, k8s.statefulset.name, k8s.job.name"),
         "a=1", "10.0.0.1",
         "a=1,k8s.pod.ip=10.0.0.1,k8s.pod.hostname=cart-host,k8s.replicaset.name=cart-6d4cf56db6,"
         "k8s.replicaset.uid=uid-cart-6d4cf56db6,k8s.deployment.uid=uid-cart,k8s.node.uid=uid-node-1,"
         "k8s.cluster.uid=uid-cluster"},
        {EXTRACT("k8s.statefulset.name, k8s.statefulset.uid, k8s.pod.hostname"), "a=1", "10.0.0.2",
         "a=1,k8s.statefulset.name=db,k8s.statefulset.uid=uid-db"},
        {EXTRACT("k8s.daemonset.name, k8s.daemonset.uid"), "k8s.pod.uid=uid-agent-1", NULL,
         "k8s.pod.uid=uid-agent-1,k8s.daemonset.name=agent,k8s.daemonset.uid=uid-agent"},
        {EXTRACT("k8s.job.name, k8s.job.uid, k8s.cronjob.name"), "a=1", "10.0.0.4",
         "a=1,k8s.job.name=report-29367000,k8s.job.uid=uid-report-29367000,k8s.cronjob.name=report"},
        // Dates are no minutes.
        {EXTRACT("k8s.job.name, k8s.cronjob.name"), "a=1", "10.0.0.8", "a=1,k8s.job.name=audit-20240101"},
        {EXTRACT("k8s.job.name, k8s.cronjob.name"), "a=1", "10.0.0.9", "a=1,k8s.job.name=audit-99999999"},
        {EXTRACT("k8s.cronjob.uid, k8s.cronjob.name"), "a=1", "10.0.0.4",
         "a=1,k8s.cronjob.uid=uid-report,k8s.cronjob.name=report"},
        {EXTRACT("k8s.deployment.name") "\n", "a=1", "10.0.0.1", "a=1,k8s.deployment.name=cart"},
        {"extract: {metadata: [k8s.deployment.name], deployment_name_from_replicaset: false}", "a=1", "10.0.0.1",
         "a=1,k8s.deployment.name=cart"},
        {EXTRACT("k8s.container.name, k8s.container.restart_count, container.id, container.image.tags, "
                 "container.image.repo_digests"),
         "k8s.container.name=main", "10.0.0.1",
         "k8s.container.name=main,k8s.container.restart_count=2,container.id=c1,container.image.tags=[\"1.2\"],"
         "container.image.repo_digests=[\"registry:5000/shop/cart@sha256:bb\"]"},
        {EXTRACT("container.id, container.image.repo_digests"), "k8s.container.name=proxy", "10.0.0.1",
         "k8s.container.name=proxy,container.id=p1"},
        {EXTRACT("k8s.container.name"), "container.id=p1", NULL, "container.id=p1,k8s.container.name=proxy"},
        {EXTRACT("k8s.container.name"), "a=1", "10.0.0.1", "a=1"}, // which of two?
        {EXTRACT("k8s.container.name"), "k8s.container.name=other", "10.0.0.2", "k8s.container.name=other"},
        {EXTRACT("container.id"), "k8s.container.name=other", "10.0.0.2", "k8s.container.name=other"},
        {"extract: {metadata: []}", "a=1", "10.0.0.1", "a=1"},
    };
    ASSERT_ALL(cases);
}

static void what_is_there_stays(void **state)
{
    (void)state;
    static const struct resource_case cases[] = {
        {EXTRACT("k8s.pod.name, k8s.node.name"), "k8s.pod.name=mine", "10.0.0.1",
         "k8s.pod.name=mine,k8s.node.name=node-1"},
        {EXTRACT("k8s.pod.name"), "k8s.pod.name=,b=2", "10.0.0.2", "k8s.pod.name=db-0,b=2"}, // it says nothing
    };
    ASSERT_ALL(cases);
}

static void labels_and_annotations_become_attributes(void **state)
{
    (void)state;
#define NO_METADATA "extract: {metadata: [], "
    static const struct resource_case cases[] = {
        {NO_METADATA "labels: [{key: app}, {tag_name: version, key: app.kubernetes.io/version}, {key: none}]}", "a=1",
         "10.0.0.1", "a=1,version=2.1,k8s.pod.labels.app=cart"},
        {NO_METADATA "labels: [{tag_name: team.$1, key_regex: 'team\\.example\\.com/(.*)'}]}", "a=1", "10.0.0.1",
         "a=1,team.name=payments,team.tier=1"},
        {NO_METADATA "labels: [{key_regex: 'team.*'}]}", "a=1", "10.0.0.1",
         "a=1,k8s.pod.labels.team.example.com/name=payments,k8s.pod.labels.team.example.com/tier=1"},
        {NO_METADATA "labels: [{key_regex: 'eam.*'}]}", "a=1", "10.0.0.1", "a=1"}, // the whole key
        {NO_METADATA "labels: [{tag_name: lead, key: team.example.com/lead}]}", "a=1", "10.0.0.1", "a=1,lead="},
        {NO_METADATA "annotations: [{key: git-commit}, {key: owner, from: namespace}]}", "a=1", "10.0.0.1",
         "a=1,k8s.pod.annotations.git-commit=abc,k8s.namespace.annotations.owner=ann"},
        {NO_METADATA "labels: [{key: stage, from: namespace}, {key: zone, from: node}, {key: tier, from: deployment}]}",
         "a=1", "10.0.0.1",
         "a=1,k8s.deployment.label.tier=front,k8s.node.labels.zone=a,k8s.namespace.labels.stage=live"},
        {NO_METADATA "annotations: [{key: page, from: statefulset}], labels: [{key: x, from: daemonset}, "
                     "{key: x, from: job}]}",
         "a=1", "10.0.0.2", "a=1,k8s.statefulset.annotation.page=dba"},
        {NO_METADATA "labels: [{key: zone, from: node}]}", "a=1", "10.0.0.2", "a=1"}, // an unknown node
        {NO_METADATA "otel_annotations: true}", "a=1", "10.0.0.1", "a=1,deployment.environment.name=prod"},
        {NO_METADATA "otel_annotations: true}", "deployment.environment.name=test", "10.0.0.1",
         "deployment.environment.name=test"},
    };
    ASSERT_ALL(cases);
}

static void services_follow_the_conventions(void **state)
{
    (void)state;
#define SERVICE EXTRACT("service.namespace, service.name, service.version, service.instance.id")
    static const struct resource_case cases[] = {
        {SERVICE, "container.id=c1", NULL,
         "container.id=c1,service.namespace=shop,service.name=cart,service.version=2.1,"
         "service.instance.id=shop.cart-6d4cf56db6-x7x2p.main"},
        {SERVICE, "a=1", "10.0.0.2",
         "a=1,service.namespace=shop,service.name=orders-db,service.instance.id=shop.db-0.pg"},
        {SERVICE, "k8s.pod.uid=uid-agent-1", NULL,
         "k8s.pod.uid=uid-agent-1,service.namespace=shop,service.name=agent,service.version=9,"
         "service.instance.id=shop.agent-1.agent"},
        {SERVICE, "a=1", "10.0.0.4", "a=1,service.namespace=shop,service.name=report"},
        {SERVICE, "a=1", "10.0.0.7", "a=1,service.namespace=shop,service.name=alone"},
        {SERVICE, "service.name=mine", "10.0.0.7", "service.name=mine,service.namespace=shop"},
    };
    ASSERT_ALL(cases);
}

static void images_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *tag, *digest;
    } cases[] = {
        {"nginx", "nginx", "", ""},
        {"nginx:1.2", "nginx", "1.2", ""},
        {"registry:5000/shop/cart", "registry:5000/shop/cart", "", ""},
        {"registry:5000/shop/cart:1.2", "registry:5000/shop/cart", "1.2", ""},
        {"ghcr.io/x/y@sha256:ab", "ghcr.io/x/y", "", "sha256:ab"},
        {"registry:5000/x/y:v1@sha256:ab", "registry:5000/x/y", "v1", "sha256:ab"},
        {"", "", "", ""},
        {"@", "", "", ""},
        {":", "", "", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct k8s_image image = k8s_image_parse(bytes_from_text(cases[i].text));
        assert_true(bytes_equal_text(image.name, cases[i].name));
        assert_true(bytes_equal_text(image.tag, cases[i].tag));
        assert_true(bytes_equal_text(image.digest, cases[i].digest));
    }
}

// --- what is asked of the cluster ---

static void only_what_is_needed_is_watched(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *kinds;
    } cases[] = {
        {"{}", "0"},
        {EXTRACT("k8s.cluster.uid"), "01"},
        {EXTRACT("k8s.node.name, k8s.replicaset.uid, k8s.job.uid"), "0"},
        {EXTRACT("k8s.node.uid"), "02"},
        {EXTRACT("k8s.deployment.uid"), "03"},
        {"extract: {deployment_name_from_replicaset: false}", "03"},
        {EXTRACT("k8s.cronjob.name"), "0"},
        {EXTRACT("k8s.cronjob.uid"), "07"},
        {NO_METADATA "labels: [{key: x, from: deployment}]}", "034"},
        {NO_METADATA "labels: [{key: x, from: statefulset}], annotations: [{key: x, from: namespace}]}", "015"},
        {NO_METADATA "labels: [{key: x, from: daemonset}, {key: x, from: job}]}", "067"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct test_run r;
        struct kube_needs needs;
        char text[KUBE_KINDS + 1] = "", *end = text;
        run_begin(&r, &k8s_attributes_processor, cases[i].yaml);
        k8s_attributes_needs(processor_of(&r), &needs);
        for (int kind = 0; kind < KUBE_KINDS; kind++)
            if (needs.kinds[kind])
                *end++ = (char)('0' + kind);
        assert_string_equal(text, cases[i].kinds);
        run_end(&r);
    }
}

// --- passing through ---

static void passing_through_adds_the_address(void **state)
{
    (void)state;
    static const struct resource_case cases[] = {
        {"passthrough: true", "a=1", "10.0.0.1", "a=1,k8s.pod.ip=10.0.0.1"},
        {"passthrough: true", "a=1", "fd00::1", "a=1,k8s.pod.ip=fd00::1"},
        {"passthrough: true", "k8s.pod.ip=10.0.0.9", "10.0.0.1", "k8s.pod.ip=10.0.0.9"},
        {"passthrough: true", "k8s.pod.uid=uid-db-0", NULL, "k8s.pod.uid=uid-db-0"},
    };
    ASSERT_ALL(cases);
}

// --- the batch ---

static const char resource_rules[] = "pod_association: [{sources: [" FROM("container.id") "]}]";

static void unread_batches_stay_unread(void **state)
{
    (void)state;
    struct test_run r;
    struct fake_origin *origin;
    struct batch *whole = resource_of("container.id=d1"), *b = fake_unread_batch(whole, 100, &origin);
    k8s_begin(&r, resource_rules, cluster, COUNT_OF(cluster));
    assert_true(processor_of(&r)->takes_unread);
    assert_int_equal(process_from(&r, &b, NULL), ERR_OK);
    assert_null(b->dictionary);
    assert_int_equal(origin->reads, 0);
    char *text = brief_text(b);
    assert_string_equal(text, "container.id=d1," DB_TEXT "\n");
    free(text);
    batch_unref(&b);
    batch_unref(&whole);
    run_end(&r);
}

static bool wants_samples_of(struct test_run *r, const char *resource, const char *address)
{
    const struct sender from = sender_of(address);
    struct fake_origin *origin;
    struct batch *whole = resource_of(resource), *b = fake_unread_batch(whole, 100, &origin);
    const bool wants = processor_of(r)->module->wants_samples(processor_of(r), b, &from);
    assert_int_equal(origin->reads, 0);
    batch_unref(&b);
    batch_unref(&whole);
    return wants;
}

static void samples_are_wanted_of_what_is_not_found_by_itself(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *resource;
        bool wants;
    } cases[] = {
        {"{}", "container.id=c1", false},
        {"{}", "k8s.pod.ip=10.0.0.7", false},
        {"{}", "container.id=none", true},
        {"{}", "a=1", true}, // although the connection would find it
        {"passthrough: true", "a=1", false},
        {resource_rules, "container.id=none", false}, // no rule looks at samples
        {"pod_association: [{sources: [{from: connection}]}, {sources: [{from: sample_attribute, name: "
         "container.id}]}]",
         "a=1", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct test_run r;
        k8s_begin(&r, cases[i].yaml, cluster, COUNT_OF(cluster));
        assert_true(processor_of(&r)->takes_unread);
        assert_int_equal(wants_samples_of(&r, cases[i].resource, "10.0.0.7"), cases[i].wants);
        run_end(&r);
    }
    struct test_run r;
    run_begin(&r, &k8s_attributes_processor, "{auth_type: none, endpoint: 'http://127.0.0.1:1'}");
    assert_false(wants_samples_of(&r, "a=1", NULL)); // nothing is known yet
    run_end(&r);
}

// Whose an address was is to be seen from the profiles' time alone.
static void samples_are_wanted_for_their_time(void **state)
{
    (void)state;
    static const struct cluster_object pods[] = {
        {KUBE_POD, POD("one", "'labels':{}},'status':{'podIP':'10.0.0.1'}")},
        {KUBE_POD, POD("other", "'labels':{}},'status':{'podIP':'10.0.0.1'}")},
        {KUBE_POD, POD("done", "'labels':{}},'status':{'phase':'Succeeded','podIP':'10.0.0.2'}")},
        {KUBE_POD, POD("alone", "'labels':{}},'status':{'podIP':'10.0.0.3'}")},
    };
    struct test_run r;
    k8s_begin(&r, "pod_association: [{sources: [" FROM("k8s.pod.ip") "]}, {sources: [{from: connection}]}]", pods,
              COUNT_OF(pods));
    assert_true(wants_samples_of(&r, "k8s.pod.ip=10.0.0.1", NULL));
    assert_true(wants_samples_of(&r, "k8s.pod.ip=10.0.0.2", NULL));
    assert_false(wants_samples_of(&r, "k8s.pod.ip=10.0.0.3", NULL));
    assert_false(wants_samples_of(&r, "k8s.pod.ip=10.0.0.4", NULL));
    assert_false(wants_samples_of(&r, "a=1", "10.0.0.1")); // of a connection it is now
    run_end(&r);
}

static void nothing_to_add_gives_the_batch_itself(void **state)
{
    (void)state;
    struct test_run r;
    struct batch *b = resource_of("a=1"), *before = b;
    k8s_begin(&r, "{}", cluster, COUNT_OF(cluster));
    assert_int_equal(process_from(&r, &b, "10.9.9.9"), ERR_OK);
    assert_ptr_equal(b, before);
    batch_unref(&b);
    run_end(&r);
}

static void without_a_list_everything_goes_on(void **state)
{
    (void)state;
    struct test_run r;
    struct batch *b = resource_of("container.id=d1"), *before = b;
    run_begin(&r, &k8s_attributes_processor, "{}");
    assert_int_equal(process_from(&r, &b, "10.0.0.1"), ERR_OK);
    assert_ptr_equal(b, before);
    assert_true(page_has(&r, "otelcol_k8s_pod_association{pod_identifier=\"none\",processor=\"k8s_attributes\","
                             "status=\"error\"} 1\n"));
    batch_unref(&b);
    run_end(&r);
}

static void look_ups_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *resource, *sender;
    } asked[] = {{"container.id=d1", NULL}, {"container.id=x\ny", NULL}, {"container.id=zz", NULL}, {"a=1", NULL},
                 {"a=1", "10.0.0.1"},       {"a=1", "10.0.0.5"},         {"a=1", "10.0.0.2"}};
    struct test_run r;
    k8s_begin(&r, "{}", cluster, COUNT_OF(cluster));
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        struct batch *b = resource_of(asked[i].resource);
        assert_int_equal(process_from(&r, &b, asked[i].sender), ERR_OK);
        batch_unref(&b);
    }
#define COUNTED(identifier, status, count)                                                                             \
    page_has(&r, "otelcol_k8s_pod_association{pod_identifier=\"" identifier "\",processor=\"k8s_attributes\","         \
                 "status=\"" status "\"} " count "\n")
    assert_true(COUNTED("resource_attribute:container.id", "success", "1"));
    assert_true(COUNTED("resource_attribute:container.id", "error", "2"));
    assert_true(COUNTED("connection", "success", "2"));
    assert_true(COUNTED("none", "error", "1"));
    assert_true(COUNTED("none", "excluded", "1"));
    assert_true(page_has(&r, "profrelay_k8s_missed_containers{processor=\"k8s_attributes\"} 1\n"));
    const char *log = fake_env_log(&r.env), *line = strstr(log, "there is no pod for resource_attribute:container.id");
    assert_non_null(line);
    assert_null(strstr(line + 1, "there is no pod")); // once
    assert_non_null(strstr(line, "x\\ny"));
    run_end(&r);
}

// --- threads and memory ---

struct reader {
    struct test_run *run;
    _Atomic bool *ends;
    unsigned found;
};

static void *read_on(void *arg)
{
    struct reader *reader = arg;
    do {
        struct err e;
        struct batch *b = resource_of("k8s.pod.uid=uid-db-0"), *before = batch_ref(b);
        struct processor *p = processor_of(reader->run);
        assert_int_equal(p->module->process(p, &b, &(const struct sender){0}, &e), ERR_OK);
        reader->found += b != before;
        batch_unref(&before);
        batch_unref(&b);
    } while (!atomic_load(reader->ends));
    return NULL;
}

static void snapshots_are_replaced_while_they_are_read(void **state)
{
    (void)state;
    struct test_run r;
    _Atomic bool ends = false;
    struct reader readers[2] = {{&r, &ends, 0}, {&r, &ends, 0}};
    pthread_t threads[2];
    k8s_begin(&r, "{}", cluster, COUNT_OF(cluster));
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    for (size_t i = 0; i < 50; i++)
        k8s_attributes_publish(processor_of(&r), make_snapshot(processor_of(&r), cluster, COUNT_OF(cluster)));
    atomic_store(&ends, true);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_in_range(readers[i].found, 1, UINT32_MAX);
    }
    run_end(&r);
}

// A pod with so many annotations that become attributes, each of so many bytes.
static void annotated_begin(struct test_run *r, unsigned count, unsigned bytes)
{
    struct buf json;
    buf_init(&json, 1 << 22);
    buf_add_text(&json, "{'metadata':{'name':'fat','namespace':'shop','uid':'fat','annotations':{");
    for (unsigned i = 0; i < count; i++)
        buf_add_format(&json, "%s'resource.opentelemetry.io/a%u':'%0*u'", i > 0 ? "," : "", i, (int)bytes, i);
    buf_add_text(&json, "}}}");
    buf_add_byte(&json, '\0');
    assert_true(buf_ok(&json));
    k8s_begin(r, NO_METADATA "otel_annotations: true}",
              &(const struct cluster_object){KUBE_POD, (const char *)json.data}, 1);
    buf_fini(&json);
}

static void many_annotations_are_told_apart(void **state)
{
    (void)state;
    enum { ANNOTATIONS = 5000 };
    struct test_run r;
    struct batch *b = resource_of("k8s.pod.uid=fat,a7=mine,a4999=mine,z=1");
    annotated_begin(&r, ANNOTATIONS, 5);
    assert_int_equal(process_from(&r, &b, NULL), ERR_OK);
    const struct resource *to = b->resources[0];
    assert_int_equal(to->attribute_count, ANNOTATIONS + 2);
    assert_true(bytes_equal_text(to->attributes[1].value.bytes, "mine"));
    const struct key_value *last = key_values_find(to->attributes, to->attribute_count, BYTES_LITERAL("a4998"));
    assert_true(last != NULL && bytes_equal_text(last->value.bytes, "04998"));
    batch_unref(&b);
    run_end(&r);
}

static void what_is_added_is_bounded(void **state)
{
    (void)state;
    enum { RESOURCES = 300, BYTES = 250 << 10 };
    const struct key_value uid[] = {PAIR("k8s.pod.uid", TEXT("fat"))};
    struct test_run r;
    struct builder *builder = builder_create(0);
    for (int i = 0; i < RESOURCES; i++)
        builder_resource(builder, uid, 1, 0, nothing);
    struct batch *b = finish(builder), *before = b;
    annotated_begin(&r, 1, BYTES);
    assert_int_equal(process_from(&r, &b, NULL), ERR_LIMIT);
    assert_non_null(strstr(r.e.text, "the first 263 of 300 resources take more than 64 MiB"));
    assert_ptr_equal(b, before);
    batch_unref(&b);
    run_end(&r);
}

static void a_failed_allocation_leaves_the_batch(void **state)
{
    (void)state;
    static const char yaml[] =
        "extract: {metadata: [k8s.pod.ip, service.instance.id, container.image.tags], otel_annotations: true,"
        " labels: [{tag_name: t-$1, key_regex: 'team(.*)'}]}";
    struct test_run r;
    enum err_code rc = ERR_MEMORY;
    size_t n = 1;
    k8s_begin(&r, yaml, cluster, COUNT_OF(cluster));
    struct batch *b = resource_of("container.id=c1");
    for (; rc != ERR_OK; n++) {
        struct batch *before = b;
        mem_fail_from(n);
        rc = process_from(&r, &b, NULL);
        mem_fail_from(0);
        assert_in_range(n, 1, 200);
        assert_true(rc == ERR_OK || (rc == ERR_MEMORY && b == before));
    }
    assert_in_range(n, 8, 200);
    char *text = brief_text(b);
    assert_non_null(strstr(text, "t-.example.com/name=payments"));
    free(text);
    batch_unref(&b);
    run_end(&r);
}

// --- settings ---

static void wrong_settings_are_named(void **state)
{
    (void)state;
#define AT "test:1:1: processors.k8s_attributes: "
    static const struct {
        const char *yaml, *part;
    } cases[] = {
        {EXTRACT("k8s.pod.nam"), "extract.metadata: there is no \"k8s.pod.nam\", did you mean \"k8s.pod.name\"?"},
        {EXTRACT("qqqqqqqqqqqq"), "extract.metadata: there is no \"qqqqqqqqqqqq\"\n"},
        {"extract: {labels: [{tag_name: x}]}", "extract.labels[0]: needs key or key_regex, and not both"},
        {"extract: {labels: [{key: x, key_regex: y}]}", "extract.labels[0]: needs key or key_regex, and not both"},
        {"extract: {annotations: [{key: x}, {key_regex: '(['}]}", "extract.annotations[1].key_regex: "},
        {"extract: {labels: [{key: x, from: pods}]}", "did you mean \"pod\""},
        {"exclude: {pods: [{name: '('}]}", "exclude.pods[0].name: "},
        {"exclude: {pods: [{}]}", "name"},
        {"pod_association: [{sources: [{from: resource_attribute}]}]",
         "pod_association[0].sources[0]: from: resource_attribute needs the name of an attribute"},
        {"pod_association: [{sources: [{from: sample_attribute}]}]", "from: sample_attribute needs the name"},
        {"pod_association: [{sources: []}]", "pod_association[0].sources: must not be empty"},
        {"pod_association: [{sources: [{from: connection}, {from: connection}, {from: connection}, {from: connection}, "
         "{from: connection}]}]",
         "pod_association[0].sources: has 5 sources, allowed are 4"},
        {"pod_association: [{sources: [" FROM("k8s.pod.name") "]}]", "k8s.pod.name needs k8s.namespace.name beside it"},
        {"pod_association: [{sources: [" FROM("service.name") "]}]", "leads to no single pod"},
        {"pod_association: [{sources: [{from: connection}, " FROM("color") "]}]",
         "pod_association[0].sources[1]: a pod is not found by \"color\""},
        {"pod_association: [{sources: [{from: connexion}]}]", "did you mean \"connection\""},
        {"{passthrough: true, downward: {}}", "downward: has no meaning with passthrough: true"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fake_env f;
        void *settings;
        fake_env_init(&f, 1);
        char *text = fake_settings(&f, KIND_PROCESSOR, &k8s_attributes_processor.module, cases[i].yaml, &settings);
        if (strstr(text, cases[i].part) == NULL)
            fail_msg("%s gave \"%s\"", cases[i].yaml, text);
        free(text);
        fake_env_fini(&f);
    }
    assert_setting_error(&k8s_attributes_processor, "{}", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_are_found_by_the_defaults),
        cmocka_unit_test(the_connection_has_no_say_against_a_name),
        cmocka_unit_test(addresses_are_those_of_their_time),
        cmocka_unit_test(all_sources_must_match),
        cmocka_unit_test(excluded_pods_are_left_alone),
        cmocka_unit_test(every_name_is_known),
        cmocka_unit_test(what_is_there_stays),
        cmocka_unit_test(labels_and_annotations_become_attributes),
        cmocka_unit_test(services_follow_the_conventions),
        cmocka_unit_test(images_are_taken_apart),
        cmocka_unit_test(only_what_is_needed_is_watched),
        cmocka_unit_test(passing_through_adds_the_address),
        cmocka_unit_test(unread_batches_stay_unread),
        cmocka_unit_test(samples_are_wanted_of_what_is_not_found_by_itself),
        cmocka_unit_test(samples_are_wanted_for_their_time),
        cmocka_unit_test(nothing_to_add_gives_the_batch_itself),
        cmocka_unit_test(without_a_list_everything_goes_on),
        cmocka_unit_test(look_ups_are_counted),
        cmocka_unit_test(snapshots_are_replaced_while_they_are_read),
        cmocka_unit_test(many_annotations_are_told_apart),
        cmocka_unit_test(what_is_added_is_bounded),
        cmocka_unit_test(a_failed_allocation_leaves_the_batch),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
