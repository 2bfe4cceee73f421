// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_snapshot.h"

#include "base/mem.h"
#include "kube/kube_snapshot_build.h"
#include "tests/unit/kube/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { MANY = 2000 };

// Takes the references over.
static struct kube_snapshot *snapshot_of(struct kube_object **objects, uint32_t count)
{
    struct kube_snapshot *s = kube_snapshot_build(objects, count);
    assert_non_null(s);
    for (uint32_t i = 0; i < count; i++)
        kube_object_unref(&objects[i]);
    return s;
}

static struct kube_object *gone(struct kube_object *o, int64_t at_nanos)
{
    o->deleted_nanos = at_nanos;
    return o;
}

static void expect_uid(const struct kube_object *o, const char *uid)
{
    if (uid == NULL) {
        assert_null(o);
        return;
    }
    assert_non_null(o);
    assert_true(bytes_equal_text(o->uid, uid));
}

static void test_by_name_and_uid(void **state)
{
    (void)state;
    struct kube_object *objects[] = {
        object_of(KUBE_POD, "a", "x", "1"), object_of(KUBE_POD, "b", "x", "2"),  object_of(KUBE_NODE, "", "x", "1"),
        object_of(KUBE_JOB, "a", "x", "4"), object_of(KUBE_POD, "ab", "c", "5"), object_of(KUBE_POD, "a", "bc", "6"),
    };
    struct kube_snapshot *s = snapshot_of(objects, COUNT_OF(objects));
    expect_uid(kube_pod_by_name(s, B("a"), B("x")), "1");
    expect_uid(kube_pod_by_name(s, B("b"), B("x")), "2");
    expect_uid(kube_pod_by_name(s, B("ab"), B("c")), "5");
    expect_uid(kube_pod_by_name(s, B("a"), B("bc")), "6");
    expect_uid(kube_pod_by_name(s, B("c"), B("x")), NULL);
    expect_uid(kube_object_by_name(s, KUBE_JOB, B("a"), B("x")), "4");
    expect_uid(kube_object_by_name(s, KUBE_NODE, B(""), B("x")), "1");
    expect_uid(kube_object_by_name(s, KUBE_NAMESPACE, B(""), B("x")), NULL);
    assert_int_equal(kube_pod_by_uid(s, B("1"))->kind, KUBE_POD);
    assert_int_equal(kube_object_by_uid(s, KUBE_NODE, B("1"))->kind, KUBE_NODE);
    expect_uid(kube_pod_by_uid(s, B("4")), NULL);
    expect_uid(kube_pod_by_uid(s, B("")), NULL);
    assert_int_equal(kube_snapshot_count(s, KUBE_POD), 4);
    assert_int_equal(kube_snapshot_count(s, KUBE_DEPLOYMENT), 0);
    kube_snapshot_unref(&s);
}

static void test_of_a_name_the_one_that_is_there(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct kube_object *objects[] = {
            gone(object_of(KUBE_POD, "a", "x", "old"), 5), object_of(KUBE_POD, "a", "x", "new"),
            gone(object_of(KUBE_POD, "a", "y", "first"), 5), gone(object_of(KUBE_POD, "a", "y", "second"), 6)};
        struct kube_object *turned[] = {objects[3], objects[2], objects[1], objects[0]};
        struct kube_snapshot *s = snapshot_of(order == 0 ? objects : turned, COUNT_OF(objects));
        expect_uid(kube_pod_by_name(s, B("a"), B("x")), "new");
        expect_uid(kube_pod_by_name(s, B("a"), B("y")), "second");
        expect_uid(kube_pod_by_uid(s, B("old")), "old");
        assert_int_equal(kube_snapshot_count(s, KUBE_POD), 1);
        kube_snapshot_unref(&s);
    }
}

static const char *found_at(const struct kube_snapshot *s, const char *address, int64_t at_nanos)
{
    struct ip_address a = address_of(address);
    const struct kube_object *o = kube_pod_by_address(s, &a, at_nanos);
    return o == NULL ? "none" : (const char *)o->uid.data;
}

#define expect_at(s, address, at, uid) assert_memory_equal(found_at(s, address, at), uid, strlen(uid))

// An address that three had, one after the other, in any order of the objects.
static void test_an_address_by_time(void **state)
{
    (void)state;
    for (int first = 0; first < 3; first++) {
        struct kube_object *made[] = {
            gone(pod_of((struct pod_shape){.name = "a", .uid = "1st", .address = "10.0.0.1", .start_nanos = 100}), 200),
            gone(pod_of((struct pod_shape){.name = "b", .uid = "2nd", .address = "10.0.0.1", .start_nanos = 300}), 400),
            pod_of((struct pod_shape){.name = "c", .uid = "3rd", .address = "10.0.0.1", .start_nanos = 500})};
        struct kube_object *objects[] = {made[first], made[(first + 2) % 3], made[(first + 1) % 3]};
        struct kube_snapshot *s = snapshot_of(objects, COUNT_OF(objects));
        expect_at(s, "10.0.0.1", 100, "1st");
        expect_at(s, "10.0.0.1", 199, "1st");
        expect_at(s, "10.0.0.1", 200, "3rd"); // nobody had it: the one that is there
        expect_at(s, "10.0.0.1", 50, "3rd");
        expect_at(s, "10.0.0.1", 350, "2nd");
        expect_at(s, "10.0.0.1", 500, "3rd");
        expect_at(s, "10.0.0.1", 0, "3rd");
        expect_at(s, "10.0.0.2", 0, "none");
        kube_snapshot_unref(&s);
    }
}

static void test_an_address_of_one_that_is_gone(void **state)
{
    (void)state;
    struct kube_object *objects[] = {
        gone(pod_of((struct pod_shape){.name = "a", .uid = "gone", .address = "fd00::1", .start_nanos = 100}), 200)};
    struct kube_snapshot *s = snapshot_of(objects, 1);
    expect_at(s, "fd00::1", 150, "gone");
    expect_at(s, "fd00::1", 250, "none"); // somebody else's, perhaps
    expect_at(s, "fd00::1", 0, "gone");   // what it sent last
    kube_snapshot_unref(&s);
}

static void test_done_pods_only_by_time(void **state)
{
    (void)state;
    struct kube_object *objects[] = {
        pod_of((struct pod_shape){
            .name = "a", .uid = "done", .address = "10.0.0.1", .start_nanos = 100, .end_nanos = 200, .is_done = true}),
        pod_of((struct pod_shape){.name = "b", .uid = "runs", .address = "10.0.0.1", .start_nanos = 300}),
        pod_of((struct pod_shape){
            .name = "c", .uid = "alone", .address = "10.0.0.2", .start_nanos = 300, .end_nanos = 400, .is_done = true}),
        pod_of((struct pod_shape){
            .name = "d", .uid = "when?", .address = "10.0.0.3", .start_nanos = 300, .is_done = true}),
        gone(pod_of((struct pod_shape){
                 .name = "e", .uid = "gone", .address = "10.0.0.4", .start_nanos = 300, .is_done = true}),
             400)};
    struct kube_snapshot *s = snapshot_of(objects, COUNT_OF(objects));
    expect_at(s, "10.0.0.1", 150, "done");
    expect_at(s, "10.0.0.1", 250, "runs");
    expect_at(s, "10.0.0.1", 300, "runs");
    expect_at(s, "10.0.0.1", 0, "runs");
    expect_at(s, "10.0.0.1", 50, "runs");
    expect_at(s, "10.0.0.2", 0, "none");
    expect_at(s, "10.0.0.2", 300, "alone");
    expect_at(s, "10.0.0.2", 400, "none");
    expect_at(s, "10.0.0.3", 350, "none"); // nobody knows until when
    expect_at(s, "10.0.0.4", 350, "gone");
    expect_at(s, "10.0.0.4", 0, "none");
    kube_snapshot_unref(&s);
}

static void test_host_network_never_by_address(void **state)
{
    (void)state;
    struct kube_object *objects[] = {
        pod_of((struct pod_shape){.name = "a", .uid = "1", .address = "10.0.0.1", .host_network = true})};
    struct kube_snapshot *s = snapshot_of(objects, 1);
    expect_at(s, "10.0.0.1", 0, "none");
    expect_uid(kube_pod_by_uid(s, B("1")), "1");
    kube_snapshot_unref(&s);
}

// All pods claim one address: the newest are found, in short time whatever is asked.
static void test_many_of_one_address(void **state)
{
    (void)state;
    struct kube_object *objects[MANY];
    char uid[16];
    for (int i = 0; i < MANY; i++) {
        snprintf(uid, sizeof uid, "%d", i * 7919 % MANY);
        objects[i] = pod_of(
            (struct pod_shape){.name = uid, .uid = uid, .address = "10.0.0.1", .start_nanos = 1 + i * 7919 % MANY});
    }
    struct kube_snapshot *s = snapshot_of(objects, MANY);
    expect_at(s, "10.0.0.1", 0, "1999");
    expect_at(s, "10.0.0.1", 1991, "1990");
    kube_snapshot_unref(&s);
}

static void test_by_container(void **state)
{
    (void)state;
    const struct kube_container *c;
    struct kube_object *objects[] = {
        pod_of((struct pod_shape){.name = "a", .uid = "1", .container = "aaa", .last_container = "bbb"}),
        pod_of((struct pod_shape){.name = "b", .uid = "2", .container = "ccc", .host_network = true}),
        pod_of((struct pod_shape){.name = "c", .uid = "3", .is_done = true})};
    struct kube_snapshot *s = snapshot_of(objects, COUNT_OF(objects));
    expect_uid(kube_pod_by_container(s, B("aaa"), &c), "1");
    assert_true(bytes_equal_text(c->name, "main"));
    expect_uid(kube_pod_by_container(s, B("cri-o://bbb"), &c), "1");
    assert_ptr_equal(c, &kube_pod_by_uid(s, B("1"))->pod.containers[0]);
    expect_uid(kube_pod_by_container(s, B("containerd://ccc"), &c), "2");
    expect_uid(kube_pod_by_container(s, B("ddd"), &c), NULL);
    assert_null(c);
    expect_uid(kube_pod_by_container(s, B(""), &c), NULL);
    expect_uid(kube_pod_by_container(s, B("docker://"), &c), NULL);
    kube_snapshot_unref(&s);
}

static void test_an_empty_one(void **state)
{
    (void)state;
    const struct kube_container *c;
    struct kube_snapshot *s = kube_snapshot_build(NULL, 0), *other = kube_snapshot_ref(s);
    kube_snapshot_unref(&s);
    expect_at(other, "10.0.0.1", 0, "none");
    expect_uid(kube_pod_by_uid(other, B("1")), NULL);
    expect_uid(kube_pod_by_name(other, B("1"), B("1")), NULL);
    expect_uid(kube_pod_by_container(other, B("1"), &c), NULL);
    kube_snapshot_unref(&other);
    kube_snapshot_unref(&other);
}

static void test_it_keeps_its_objects(void **state)
{
    (void)state;
    struct kube_object *o = pod_of((struct pod_shape){.name = "a", .uid = "1"});
    struct kube_snapshot *s = kube_snapshot_build(&o, 1);
    assert_int_equal(o->refs, 2);
    kube_snapshot_unref(&s);
    assert_int_equal(o->refs, 1);
    kube_object_unref(&o);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct kube_object *o =
        pod_of((struct pod_shape){.name = "a", .uid = "1", .address = "10.0.0.1", .container = "c"});
    struct kube_snapshot *s = NULL;
    size_t n = 0;
    while (s == NULL) {
        mem_fail_from(++n);
        s = kube_snapshot_build(&o, 1);
        mem_fail_from(0);
        assert_int_equal(o->refs, s == NULL ? 1 : 2);
    }
    assert_true(n > 4);
    kube_snapshot_unref(&s);
    kube_object_unref(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_name_and_uid),
        cmocka_unit_test(test_of_a_name_the_one_that_is_there),
        cmocka_unit_test(test_an_address_by_time),
        cmocka_unit_test(test_an_address_of_one_that_is_gone),
        cmocka_unit_test(test_done_pods_only_by_time),
        cmocka_unit_test(test_host_network_never_by_address),
        cmocka_unit_test(test_many_of_one_address),
        cmocka_unit_test(test_by_container),
        cmocka_unit_test(test_an_empty_one),
        cmocka_unit_test(test_it_keeps_its_objects),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
