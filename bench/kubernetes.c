// SPDX-License-Identifier: Apache-2.0
// What a cluster of 5,000 pods costs: the first list, which comes as a stream, then all that is kept, then looking up.
#include "bench/bench.h"

#include "kube/kube_decode.h"
#include "kube/kube_store.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { PODS = 5000, SERVICES = 60, PIECE_BYTES = 16 << 10, LOOKUPS = 200000, RUNS = 5 };

// --- pods as an API server writes them ---

static void add_hex(struct buf *out, uint64_t number, int words)
{
    for (int i = 0; i < words; i++)
        buf_add_format(out, "%016" PRIx64, (number + 1) * 0x9E3779B97F4A7C15u + (uint64_t)i * 0x517CC1B7u);
}

static void add_metadata(struct buf *out, unsigned i)
{
    unsigned service = i % SERVICES;
    buf_add_format(out,
                   "{\"metadata\":{\"name\":\"service-%u-7d9f8b6c5-%05x\",\"generateName\":\"service-%u-7d9f8b6c5-\","
                   "\"namespace\":\"team-%u\",\"uid\":\"3f2b%04x-7c1d-4f0e-9a52-0c%010x\",\"resourceVersion\":\"%u\","
                   "\"creationTimestamp\":\"2026-11-30T10:05:50Z\",\"labels\":{",
                   service, i, service, service % 12, i, i, 1000000 + i);
    buf_add_format(
        out,
        "\"app.kubernetes.io/name\":\"service-%u\",\"app.kubernetes.io/instance\":\"service-%u-prod\","
        "\"app.kubernetes.io/version\":\"2026.11.%u\",\"app.kubernetes.io/managed-by\":\"Helm\","
        "\"app.kubernetes.io/part-of\":\"shop\",\"helm.sh/chart\":\"service-4.2.1\","
        "\"pod-template-hash\":\"7d9f8b6c5\",\"security.istio.io/tlsMode\":\"istio\","
        "\"service.istio.io/canonical-name\":\"service-%u\",\"topology.kubernetes.io/zone\":\"eu-west-1a\"},",
        service, service, service, service);
    buf_add_format(
        out,
        "\"annotations\":{\"checksum/config\":\"%064x\",\"prometheus.io/scrape\":\"true\","
        "\"sidecar.istio.io/status\":\"{\\\"initContainers\\\":[\\\"istio-init\\\"],\\\"volumes\\\":null}\"},"
        "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":"
        "\"service-%u-7d9f8b6c5\",\"uid\":\"9a52%04x-7c1d-4f0e-9a52-0c%010x\",\"controller\":true,"
        "\"blockOwnerDeletion\":true}],\"managedFields\":[",
        i, service, service, service);
    for (int manager = 0; manager < 2; manager++) {
        buf_add_format(out,
                       "%s{\"manager\":\"kubelet\",\"operation\":\"Update\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{",
                       manager == 0 ? "" : ",");
        for (int field = 0; field < 40; field++)
            buf_add_format(out, "\"f:spec-field-%d\":{\".\":{},\"f:inner\":{}},", field);
        buf_add_text(out, "\"f:last\":{}}}");
    }
    buf_add_text(out, "]},");
}

static void add_container(struct buf *out, unsigned i, unsigned container)
{
    unsigned service = i % SERVICES;
    buf_add_format(out,
                   "%s{\"name\":\"container-%u\",\"image\":\"123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop/"
                   "service-%u-%u:2026.11.%u\",\"ports\":[{\"name\":\"http\",\"containerPort\":8080}],\"env\":[",
                   container == 0 ? "" : ",", container, service, container, service);
    for (int env = 0; env < 20; env++)
        buf_add_format(out, "{\"name\":\"SETTING_%d\",\"value\":\"some value that is set\"},", env);
    buf_add_text(out, "{\"name\":\"POD_IP\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"status.podIP\"}}}],"
                      "\"resources\":{\"limits\":{\"cpu\":\"2\",\"memory\":\"2Gi\"},\"requests\":{\"cpu\":\"500m\"}},"
                      "\"livenessProbe\":{\"httpGet\":{\"path\":\"/healthz\",\"port\":\"http\"},\"periodSeconds\":10},"
                      "\"imagePullPolicy\":\"IfNotPresent\"}");
}

static void add_container_status(struct buf *out, unsigned i, unsigned container)
{
    unsigned service = i % SERVICES;
    buf_add_format(out,
                   "%s{\"name\":\"container-%u\",\"state\":{\"running\":{\"startedAt\":\"2026-11-30T10:05:52Z\"}},"
                   "\"lastState\":{",
                   container == 0 ? "" : ",", container);
    if (i % 4 == 0) { // one in four has been restarted
        buf_add_text(out, "\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\",\"containerID\":\"containerd://");
        add_hex(out, 16 * i + container + 8, 4);
        buf_add_text(out, "\"}");
    }
    buf_add_format(out,
                   "},\"ready\":true,\"restartCount\":%u,\"image\":\"shop/service-%u\",\"imageID\":"
                   "\"123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop/service-%u-%u@sha256:",
                   i % 4 == 0, service, service, container);
    add_hex(out, service * 4 + container, 4);
    buf_add_text(out, "\",\"containerID\":\"containerd://");
    add_hex(out, 16 * i + container, 4);
    buf_add_text(out, "\",\"started\":true}");
}

static void add_pod(struct buf *out, unsigned i)
{
    unsigned containers = 2 + i % 2;
    add_metadata(out, i);
    buf_add_text(out,
                 "\"spec\":{\"volumes\":[{\"name\":\"token\",\"projected\":{\"defaultMode\":420}}],\"containers\":[");
    for (unsigned c = 0; c < containers; c++)
        add_container(out, i, c);
    buf_add_format(
        out,
        "],\"restartPolicy\":\"Always\",\"nodeName\":\"ip-10-0-%u-%u.eu-west-1.compute.internal\"},"
        "\"status\":{\"phase\":\"Running\",\"hostIP\":\"10.0.%u.%u\",\"podIP\":\"10.%u.%u.%u\","
        "\"podIPs\":[{\"ip\":\"10.%u.%u.%u\"}],\"startTime\":\"2026-11-30T10:05:51Z\",\"containerStatuses\":[",
        i % 7, i % 200, i % 7, i % 200, 16 + i / 62500, i / 250 % 250, i % 250, 16 + i / 62500, i / 250 % 250, i % 250);
    for (unsigned c = 0; c < containers; c++)
        add_container_status(out, i, c);
    buf_add_text(out, "]}}");
}

// --- the first list ---

struct cluster {
    struct kube_store *store;
    struct kube_snapshot *snapshot;
    struct kube_stream *stream;
    double feed_seconds;
    uint64_t json_bytes;
};

static bool keeps_four(void *arg, enum kube_kind kind, enum kube_map map, struct bytes key)
{
    static const char *const kept[] = {"app.kubernetes.io/name", "app.kubernetes.io/instance",
                                       "app.kubernetes.io/version", "topology.kubernetes.io/zone"};
    (void)arg, (void)kind;
    for (size_t i = 0; map == KUBE_LABELS && i < COUNT_OF(kept); i++)
        if (bytes_equal_text(key, kept[i]))
            return true;
    return false;
}

static void store_item(void *arg, struct kube_object *o)
{
    struct cluster *c = arg;
    CHECK(kube_store_put(c->store, o, 1));
}

static void feed_pieces(struct cluster *c, struct bytes data)
{
    struct err e;
    double start = cpu_seconds();
    for (size_t at = 0; at < data.len; at += PIECE_BYTES) {
        size_t len = data.len - at < PIECE_BYTES ? data.len - at : PIECE_BYTES;
        CHECK(kube_stream_feed(c->stream, (struct bytes){data.data + at, len}, &e) == ERR_OK);
    }
    c->feed_seconds += cpu_seconds() - start;
    c->json_bytes += data.len;
}

static void read_list(struct cluster *c)
{
    struct kube_list_meta meta;
    struct err e;
    struct buf pod;
    buf_init(&pod, 1 << 20);
    c->stream = kube_stream_create(
        &(struct kube_stream_options){.kind = KUBE_POD, .keep = {keeps_four, NULL}, .on_item = store_item, .arg = c});
    feed_pieces(c, bytes_from_text("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":["));
    for (unsigned i = 0; i < PODS; i++) {
        buf_clear(&pod);
        if (i > 0)
            buf_add_byte(&pod, ',');
        add_pod(&pod, i);
        feed_pieces(c, buf_bytes(&pod));
    }
    feed_pieces(c, bytes_from_text("]}"));
    CHECK(kube_stream_end_list(c->stream, &meta, &e) == ERR_OK && kube_stream_passed_over(c->stream) == 0);
    kube_stream_destroy(&c->stream);
    buf_fini(&pod);
}

static size_t allocated_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void report(const char *metric, double value, double limit)
{
    report_row(
        &(struct row){.group = "kubernetes", .input = "5,000 pods", .metric = metric, .value = value, .limit = limit});
}

static void bench_list(struct cluster *c)
{
    malloc_trim(0);
    memory_peak_reset();
    size_t before = allocated_bytes(), resident = memory_now_bytes();
    c->store = kube_store_create(&(struct kube_store_options){.keep_deleted_nanos = 1});
    read_list(c);
    c->snapshot = kube_store_snapshot(c->store);
    CHECK(kube_snapshot_count(c->snapshot, KUBE_POD) == PODS);
    report("first list, peak MB", (double)(memory_peak_bytes() - resident) / 1e6, 25);
    report("kept, bytes a pod", (double)(allocated_bytes() - before) / PODS, 2048);
    report("of it the snapshot's tables", (double)kube_snapshot_bytes(c->snapshot) / PODS, 0);
    report("JSON, bytes a pod", (double)c->json_bytes / PODS, 0);
    report("list, JSON MB/s", (double)c->json_bytes / c->feed_seconds / 1e6, 0);
}

// --- looking up ---

static const struct kube_object *pod_at(const struct cluster *c, unsigned i)
{
    char name[64], namespace_name[16];
    snprintf(name, sizeof name, "service-%u-7d9f8b6c5-%05x", i % SERVICES, i);
    snprintf(namespace_name, sizeof namespace_name, "team-%u", i % SERVICES % 12);
    return kube_pod_by_name(c->snapshot, bytes_from_text(namespace_name), bytes_from_text(name));
}

// What is looked for, in memory of its own: not what the table compares it with.
struct wanted {
    char uid[40], name[48], namespace_name[16], container[80];
    struct ip_address address;
    const struct kube_object *pod;
};

struct lookups {
    const struct cluster *cluster;
    struct wanted *wanted;
    const struct kube_object *(*find)(const struct kube_snapshot *s, const struct wanted *w);
};

static void copy_text(char *to, size_t size, struct bytes text)
{
    CHECK(text.len < size);
    memcpy(to, text.data, text.len);
    to[text.len] = 0;
}

static void want(struct wanted *w, const struct kube_object *pod)
{
    CHECK(pod != NULL && pod->pod.address_count == 1 && pod->pod.container_count >= 2);
    copy_text(w->uid, sizeof w->uid, pod->uid);
    copy_text(w->name, sizeof w->name, pod->name);
    copy_text(w->namespace_name, sizeof w->namespace_name, pod->namespace_name);
    copy_text(w->container, sizeof w->container, pod->pod.containers[1].id);
    w->address = pod->pod.addresses[0];
    w->pod = pod;
}

static const struct kube_object *find_uid(const struct kube_snapshot *s, const struct wanted *w)
{
    return kube_pod_by_uid(s, bytes_from_text(w->uid));
}

static const struct kube_object *find_name(const struct kube_snapshot *s, const struct wanted *w)
{
    return kube_pod_by_name(s, bytes_from_text(w->namespace_name), bytes_from_text(w->name));
}

static const struct kube_object *find_address(const struct kube_snapshot *s, const struct wanted *w)
{
    return kube_pod_by_address(s, &w->address, 0);
}

static const struct kube_object *find_container(const struct kube_snapshot *s, const struct wanted *w)
{
    const struct kube_container *container;
    return kube_pod_by_container(s, bytes_from_text(w->container), &container);
}

static void run_lookups(void *arg)
{
    const struct lookups *l = arg;
    for (unsigned i = 0; i < LOOKUPS; i++) {
        const struct wanted *w = &l->wanted[i * 2654435761u % PODS];
        CHECK(l->find(l->cluster->snapshot, w) == w->pod);
    }
}

static void bench_lookups(const struct cluster *c)
{
    static const struct {
        const char *metric;
        const struct kube_object *(*find)(const struct kube_snapshot *s, const struct wanted *w);
    } cases[] = {{"ns a lookup by uid", find_uid},
                 {"ns a lookup by name", find_name},
                 {"ns a lookup by address", find_address},
                 {"ns a lookup by container", find_container}};
    struct wanted *wanted = malloc(PODS * sizeof *wanted);
    CHECK(wanted != NULL);
    for (unsigned i = 0; i < PODS; i++)
        want(&wanted[i], pod_at(c, i));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct lookups l = {c, wanted, cases[i].find};
        report(cases[i].metric, best_cpu_seconds(RUNS, run_lookups, &l) * 1e9 / LOOKUPS, 1000);
    }
    free(wanted);
}

static void take_snapshot(void *arg)
{
    struct cluster *c = arg;
    kube_snapshot_unref(&c->snapshot);
    c->snapshot = kube_store_snapshot(c->store);
}

void bench_kubernetes(void)
{
    struct cluster c = {.store = NULL};
    bench_list(&c);
    bench_lookups(&c);
    report("ms a snapshot", best_cpu_seconds(RUNS, take_snapshot, &c) * 1e3, 0);
    kube_snapshot_unref(&c.snapshot);
    kube_store_destroy(&c.store);
}
