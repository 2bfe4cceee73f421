// SPDX-License-Identifier: Apache-2.0
// What k8s_attributes costs: a profile whose resource names its pod, and a whole host's that is split by its pods.
#include "bench/bench.h"

#include "base/mem.h"
#include "kube/kube_store.h"
#include "processors/k8s_attributes.h"
#include "processors/processors.h"
#include "profile/builder.h"

#include <stdio.h>
#include <stdlib.h>

enum { SMALL_REPEATS = 2000, HOST_SAMPLES = 100000, PODS = 200, THREADS = 16 };

static const char yaml[] = "downward: {}\n" // no API server is asked
                           "extract:\n"
                           "  metadata: [k8s.namespace.name, k8s.pod.name, k8s.pod.uid, k8s.pod.start_time,\n"
                           "    k8s.deployment.name, k8s.node.name, k8s.container.name, container.image.name,\n"
                           "    container.image.tag, service.name, service.version, service.instance.id]\n"
                           "  labels: [{tag_name: team, key: team}]\n";

// --- input ---

static struct kube_object *make_pod(const struct kube_keep *keep, unsigned i)
{
    struct err e;
    struct buf json;
    buf_init(&json, 1 << 12);
    buf_add_format(
        &json,
        "{\"metadata\":{\"name\":\"cart-%u-6d4cf56db6-x7x2p\",\"namespace\":\"shop\",\"uid\":\"uid-%u\","
        "\"labels\":{\"team\":\"payments\",\"pod-template-hash\":\"6d4cf56db6\"},\"ownerReferences\":[{"
        "\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"cart-%u-6d4cf56db6\",\"uid\":\"rs-%u\","
        "\"controller\":true}]},\"spec\":{\"nodeName\":\"node-1\",\"containers\":[{\"name\":\"main\","
        "\"image\":\"registry:5000/shop/cart:1.%u\"}]},\"status\":{\"startTime\":\"2026-11-30T10:00:00Z\","
        "\"podIP\":\"10.0.0.%u\",\"containerStatuses\":[{\"name\":\"main\",\"containerID\":"
        "\"containerd://container-%u\",\"restartCount\":0}]}}",
        i, i, i, i, i, i % 256, i);
    struct kube_object *o = kube_object_decode(buf_bytes(&json), KUBE_POD, keep, &e);
    CHECK(o != NULL);
    buf_fini(&json);
    return o;
}

static void publish_pods(struct processor *p)
{
    struct kube_needs needs;
    k8s_attributes_needs(p, &needs);
    struct kube_store *store = kube_store_create(&(const struct kube_store_options){.keep_deleted_nanos = INT64_MAX});
    for (unsigned i = 0; i < PODS; i++)
        CHECK(kube_store_put(store, make_pod(&needs.keep, i), 1));
    k8s_attributes_publish(p, kube_store_snapshot(store));
    kube_store_destroy(&store);
}

// pods 0: samples say nothing of pods.
static void add_profile(struct builder *b, uint32_t count, uint32_t pods)
{
    struct sample_writer samples;
    struct observation_writer observations;
    sample_writer_init(&samples, b);
    observation_writer_init(&observations, b);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t ids[2] = {bench_text_attribute(b, "thread.name", "worker-%u", i % THREADS)};
        if (pods > 0)
            ids[1] = bench_text_attribute(b, "container.id", "container-%u", i * 7 % pods);
        sample_writer_add(&samples, 0, builder_attribute_set(b, ids, pods > 0 ? 2 : 1), 0);
        observation_writer_add_value(&observations, 1);
    }
    struct profile p = {.columns = sample_writer_take(&samples),
                        .observations = observation_writer_take(&observations)};
    builder_profile(b, &p);
    sample_writer_fini(&samples);
    observation_writer_fini(&observations);
}

static struct batch *make_batch(uint32_t samples, uint32_t pods)
{
    const struct bytes nothing = {NULL, 0};
    const struct key_value own[] = {
        {BYTES_LITERAL("host.name"), value_string(BYTES_LITERAL("node-1"))},
        {BYTES_LITERAL("process.executable.name"), value_string(BYTES_LITERAL("cart"))},
        {BYTES_LITERAL("container.id"), value_string(BYTES_LITERAL("container-7"))},
    };
    struct builder *b = builder_create(0);
    struct batch *batch;
    struct err e;
    builder_resource(b, own, pods > 0 ? 1 : 3, 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    add_profile(b, samples, pods);
    CHECK(builder_finish(b, &batch, &e) == ERR_OK);
    builder_destroy(&b);
    return batch;
}

// --- measuring ---

static void measure(struct processor *p, uint32_t samples, uint32_t pods)
{
    char metric[64], input[48];
    struct batch *b = make_batch(samples, pods);
    const double nanos =
        bench_process_seconds(&(struct bench_work){p, &b, 1, pods > 0 ? 1 : SMALL_REPEATS, true}) * 1e9;
    snprintf(input, sizeof input, "%u samples", samples);
    if (pods > 0)
        snprintf(metric, sizeof metric, "k8s_attributes, split by %u pods, ns per sample", pods);
    else
        snprintf(metric, sizeof metric, "k8s_attributes, ns per profile");
    report_row(&(struct row){"k8s_attributes (one thread, best of 7)", input, metric,
                             pods > 0 ? nanos / samples : nanos, 0, false});
    batch_unref(&b);
}

void bench_k8s_attributes(void)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct processor *p = bench_create_processor(&arena, &k8s_attributes_processor, yaml);
    publish_pods(p);
    measure(p, 10, 0);
    measure(p, HOST_SAMPLES, 0);
    for (uint32_t pods = 50; pods <= PODS; pods *= 2)
        measure(p, HOST_SAMPLES, pods);
    bench_destroy_processor(p);
    arena_fini(&arena);
}
