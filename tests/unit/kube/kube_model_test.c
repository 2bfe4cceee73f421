// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_model.h"

#include "base/mem.h"
#include "tests/unit/kube/objects.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define TEXT(text) {(const uint8_t *)(text), sizeof(text) - 1}

static const struct kube_pair labels[] = {
    {TEXT("app"), TEXT("cart")}, {TEXT("tier"), TEXT("")}, {TEXT("app"), TEXT("checkout")}};
static const struct kube_pair annotations[] = {{TEXT("app"), TEXT("noted")}};
static const struct kube_container containers[] = {
    {.name = TEXT("main"), .id = TEXT("abc"), .image = TEXT("r/i:1"), .restart_count = 3},
    {.name = TEXT("setup"), .last_id = TEXT("def"), .image_id = TEXT("r/i@sha256:1"), .is_init = true},
};
static const struct ip_address addresses[] = {{{1, 2, 3}}, {{4, 5, 6}}};

static struct kube_object full_draft(void)
{
    return (struct kube_object){
        .kind = KUBE_POD,
        .namespace_name = B("shop"),
        .name = B("cart-1"),
        .uid = B("u-1"),
        .resource_version = B("17"),
        .owner = {KUBE_REPLICASET, B("cart-5d"), B("u-2")},
        .maps = {labels, annotations},
        .map_counts = {3, 1},
        .pod = {.node_name = B("node-a"),
                .hostname = B("cart"),
                .start_time = B("2026-11-30T10:05:51Z"),
                .start_nanos = 5,
                .addresses = addresses,
                .containers = containers,
                .address_count = 2,
                .container_count = 2,
                .is_done = true},
    };
}

static void expect_text(struct bytes text, const char *expected)
{
    assert_int_equal(text.len, strlen(expected));
    assert_memory_equal(text.data, expected, text.len);
}

static bool inside(const struct kube_object *o, const void *p)
{
    return (const uint8_t *)p >= (const uint8_t *)o && (const uint8_t *)p <= (const uint8_t *)o + o->bytes;
}

static void test_a_copy_is_whole_and_in_one_block(void **state)
{
    (void)state;
    struct kube_object draft = full_draft();
    struct kube_object *o = kube_object_create(&draft);
    assert_non_null(o);
    expect_text(o->namespace_name, "shop");
    expect_text(o->name, "cart-1");
    expect_text(o->uid, "u-1");
    expect_text(o->resource_version, "17");
    assert_int_equal(o->owner.kind, KUBE_REPLICASET);
    expect_text(o->owner.name, "cart-5d");
    expect_text(o->owner.uid, "u-2");
    expect_text(o->pod.node_name, "node-a");
    expect_text(o->pod.hostname, "cart");
    expect_text(o->pod.start_time, "2026-11-30T10:05:51Z");
    assert_int_equal(o->pod.start_nanos, 5);
    assert_true(o->pod.is_done);
    expect_text(o->pod.containers[0].id, "abc");
    expect_text(o->pod.containers[0].image, "r/i:1");
    assert_int_equal(o->pod.containers[0].restart_count, 3);
    expect_text(o->pod.containers[1].last_id, "def");
    expect_text(o->pod.containers[1].image_id, "r/i@sha256:1");
    assert_true(o->pod.containers[1].is_init);
    assert_memory_equal(o->pod.addresses, addresses, sizeof addresses);
    assert_true(inside(o, o->pod.containers) && inside(o, o->pod.addresses) && inside(o, o->maps[KUBE_LABELS]));
    assert_true(inside(o, o->name.data) && inside(o, o->maps[KUBE_ANNOTATIONS][0].value.data));
    kube_object_unref(&o);
    assert_null(o);
}

static void test_values_are_found(void **state)
{
    (void)state;
    struct kube_object draft = full_draft();
    struct kube_object *o = kube_object_create(&draft);
    struct bytes value = B("untouched");
    assert_false(kube_object_find(o, KUBE_LABELS, "ap", &value));
    assert_false(kube_object_find(o, KUBE_ANNOTATIONS, "tier", &value));
    expect_text(value, "untouched");
    assert_true(kube_object_find(o, KUBE_LABELS, "app", &value)); // the last of equal keys
    expect_text(value, "checkout");
    assert_true(kube_object_find(o, KUBE_LABELS, "tier", &value));
    expect_text(value, "");
    assert_true(kube_object_find(o, KUBE_ANNOTATIONS, "app", &value));
    expect_text(value, "noted");
    kube_object_unref(&o);
}

static void test_references(void **state)
{
    (void)state;
    struct kube_object *o = object_of(KUBE_NODE, "", "a", "u"), *other = kube_object_ref(o);
    assert_ptr_equal(o, other);
    kube_object_unref(&o);
    expect_text(other->name, "a");
    kube_object_unref(&other);
    kube_object_unref(&other); // of none
}

static void test_no_memory(void **state)
{
    (void)state;
    struct kube_object draft = full_draft();
    mem_fail_from(1);
    struct kube_object *o = kube_object_create(&draft);
    mem_fail_from(0);
    assert_null(o);
}

static void test_schemes(void **state)
{
    (void)state;
    expect_text(kube_without_scheme(B("containerd://abc")), "abc");
    expect_text(kube_without_scheme(B("cri-o://abc")), "abc");
    expect_text(kube_without_scheme(B("docker://")), "");
    expect_text(kube_without_scheme(B("abc")), "abc");
    expect_text(kube_without_scheme(B("docker-pullable://r:5000/i@sha256:cc")), "r:5000/i@sha256:cc");
    expect_text(kube_without_scheme(B("sha256:cc://")), "sha256:cc://");
    expect_text(kube_without_scheme(B("abc:/")), "abc:/");
    expect_text(kube_without_scheme(B("")), "");
    expect_text(kube_without_scheme((struct bytes){NULL, 0}), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_copy_is_whole_and_in_one_block),
        cmocka_unit_test(test_values_are_found),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_schemes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
