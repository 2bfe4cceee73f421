// SPDX-License-Identifier: Apache-2.0
// A processor k8s_attributes that knows a cluster of the test's.
#ifndef TESTS_UNIT_PROCESSORS_K8S_FIXTURE_H
#define TESTS_UNIT_PROCESSORS_K8S_FIXTURE_H

#include "tests/unit/processors/fixture.h"

#include "kube/kube_store.h"
#include "processors/k8s_attributes.h"

#include <stdio.h>

// An object as the API writes it, with ' for ".
struct cluster_object {
    enum kube_kind kind;
    const char *json;
};

static inline struct processor *processor_of(struct test_run *r)
{
    return (struct processor *)r->component.instance.component;
}

static inline struct kube_object *decode_object(const struct cluster_object *o, const struct kube_keep *keep)
{
    struct err e = {0};
    char *json = mem_copy_text(o->json);
    for (char *c = json; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    struct kube_object *object = kube_object_decode(bytes_from_text(json), o->kind, keep, &e);
    if (object == NULL)
        fail_msg("%s: %s", e.text, json);
    free(json);
    return object;
}

// What the watch would tell: only kinds that are asked for, and the labels and annotations that are.
static inline struct kube_snapshot *make_snapshot(struct processor *p, const struct cluster_object *list, size_t count)
{
    struct kube_needs needs;
    k8s_attributes_needs(p, &needs);
    struct kube_store *store = kube_store_create(&(struct kube_store_options){.keep_deleted_nanos = INT64_MAX});
    for (size_t i = 0; i < count; i++)
        if (needs.kinds[list[i].kind])
            assert_true(kube_store_put(store, decode_object(&list[i], &needs.keep), 1));
    struct kube_snapshot *s = kube_store_snapshot(store);
    assert_non_null(s);
    kube_store_destroy(&store);
    return s;
}

static inline void k8s_begin(struct test_run *r, const char *yaml, const struct cluster_object *list, size_t count)
{
    run_begin(r, &k8s_attributes_processor, yaml);
    k8s_attributes_publish(processor_of(r), make_snapshot(processor_of(r), list, count));
}

static inline struct sender sender_of(const char *address)
{
    struct sender s = {0};
    if (address != NULL)
        assert_true(ip_address_parse(bytes_from_text(address), &s.address));
    return s;
}

static inline enum err_code process_from(struct test_run *r, struct batch **b, const char *address)
{
    const struct sender from = sender_of(address);
    struct err e = {0};
    enum err_code rc = processor_of(r)->module->process(processor_of(r), b, &from, &r->e);
    mem_fail_from(0);
    if (*b != NULL && (*b)->dictionary != NULL && batch_validate(*b, &e) != ERR_OK)
        fail_msg("not valid: %s", e.text);
    return rc;
}

static inline bool page_has(struct test_run *r, const char *line)
{
    struct buf page;
    buf_init(&page, 1 << 20);
    metrics_write(r->env.env.metrics, &page);
    buf_add_byte(&page, '\0');
    const bool has = strstr((const char *)page.data, line) != NULL;
    if (!has)
        fputs((const char *)page.data, stderr);
    buf_fini(&page);
    return has;
}

#endif
