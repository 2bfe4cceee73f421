// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_store.h"

#include "base/mem.h"
#include "tests/unit/kube/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { KEEP = 100, MANY = 3000 };

static struct kube_store *store_new(void)
{
    return kube_store_create(&(struct kube_store_options){.keep_deleted_nanos = KEEP});
}

static void put(struct kube_store *s, const char *name, const char *uid, int64_t now)
{
    assert_true(kube_store_put(s, object_of(KUBE_POD, "shop", name, uid), now));
}

// -1: not found; else when it went, 0 = it is there.
static int64_t deleted(struct kube_store *s, const char *uid)
{
    struct kube_snapshot *snapshot = kube_store_snapshot(s);
    const struct kube_object *o = kube_pod_by_uid(snapshot, B(uid));
    int64_t nanos = o == NULL ? -1 : o->deleted_nanos;
    kube_snapshot_unref(&snapshot);
    return nanos;
}

static void test_put_and_replace(void **state)
{
    (void)state;
    struct kube_store *s = store_new();
    size_t empty = kube_store_bytes(s);
    put(s, "a", "1", 10);
    size_t one = kube_store_bytes(s);
    assert_true(one > empty);
    put(s, "a", "1", 11);
    assert_int_equal(kube_store_bytes(s), one);
    struct kube_snapshot *snapshot = kube_store_snapshot(s);
    assert_int_equal(kube_snapshot_count(snapshot, KUBE_POD), 1);
    kube_snapshot_unref(&snapshot);
    kube_store_destroy(&s);
    kube_store_destroy(&s);
}

static void test_changes_are_told(void **state)
{
    (void)state;
    struct kube_store *s = store_new();
    struct kube_snapshot *snapshot = kube_store_snapshot(s);
    assert_false(kube_store_changed(s));
    put(s, "a", "1", 10);
    assert_true(kube_store_changed(s));
    kube_snapshot_unref(&snapshot);
    snapshot = kube_store_snapshot(s);
    assert_false(kube_store_changed(s));
    kube_store_delete(s, KUBE_POD, B("2"), 11); // not known
    kube_store_delete(s, KUBE_NODE, B("1"), 11);
    assert_false(kube_store_changed(s));
    kube_store_delete(s, KUBE_POD, B("1"), 11);
    assert_true(kube_store_changed(s));
    kube_snapshot_unref(&snapshot);
    kube_store_destroy(&s);
}

static void test_what_is_gone_is_found_for_a_while(void **state)
{
    (void)state;
    struct kube_store *s = store_new();
    put(s, "a", "1", 10);
    put(s, "b", "2", 10);
    put(s, "c", "3", 10);
    kube_store_delete(s, KUBE_POD, B("1"), 20);
    kube_store_delete(s, KUBE_POD, B("1"), 25); // gone already
    kube_store_delete(s, KUBE_POD, B("3"), 30);
    assert_int_equal(deleted(s, "1"), 20);
    assert_false(kube_store_expire(s, 20 + KEEP - 1));
    assert_int_equal(deleted(s, "1"), 20);
    assert_true(kube_store_expire(s, 20 + KEEP));
    assert_int_equal(deleted(s, "1"), -1);
    assert_int_equal(deleted(s, "2"), 0);
    assert_int_equal(deleted(s, "3"), 30);
    assert_false(kube_store_expire(s, 20 + KEEP));
    assert_true(kube_store_expire(s, 30 + KEEP));
    assert_int_equal(deleted(s, "3"), -1);
    put(s, "d", "2", 500); // the tables hold after what went
    assert_int_equal(deleted(s, "2"), 0);
    kube_store_destroy(&s);
}

static void test_it_comes_back(void **state)
{
    (void)state;
    struct kube_store *s = store_new();
    put(s, "a", "1", 10);
    kube_store_delete(s, KUBE_POD, B("1"), 20);
    put(s, "a", "1", 30);
    assert_int_equal(deleted(s, "1"), 0);
    kube_store_expire(s, 10 * KEEP);
    assert_int_equal(deleted(s, "1"), 0);
    kube_store_destroy(&s);
}

static void test_a_name_is_ones_at_a_time(void **state)
{
    (void)state;
    struct kube_store *s = store_new();
    put(s, "web-0", "1", 10);
    put(s, "web-0", "2", 20);
    assert_int_equal(deleted(s, "1"), 20);
    assert_int_equal(deleted(s, "2"), 0);
    kube_store_expire(s, 20 + KEEP);
    put(s, "web-0", "3", 300);
    assert_int_equal(deleted(s, "2"), 300);
    assert_int_equal(deleted(s, "3"), 0);
    kube_store_destroy(&s);
}

static void test_a_new_list(void **state)
{
    (void)state;
    struct kube_store *s = store_new();
    put(s, "a", "1", 10);
    put(s, "b", "2", 10);
    assert_true(kube_store_put(s, object_of(KUBE_NODE, "", "n", "1"), 10));
    kube_store_begin_list(s, KUBE_POD);
    put(s, "b", "2", 20);
    kube_store_begin_list(s, KUBE_POD); // the first one broke off
    put(s, "b", "2", 30);
    put(s, "c", "3", 30);
    assert_int_equal(deleted(s, "1"), 0); // not before the end
    kube_store_end_list(s, KUBE_POD, 40);
    assert_int_equal(deleted(s, "1"), 40);
    assert_int_equal(deleted(s, "2"), 0);
    assert_int_equal(deleted(s, "3"), 0);
    struct kube_snapshot *snapshot = kube_store_snapshot(s);
    assert_int_equal(kube_snapshot_count(snapshot, KUBE_NODE), 1); // another kind's list
    kube_snapshot_unref(&snapshot);
    kube_store_destroy(&s);
}

// A snapshot that somebody reads still is a snapshot when the store goes on, and goes.
static void test_snapshots_outlive_it(void **state)
{
    (void)state;
    struct kube_store *s = store_new();
    put(s, "a", "1", 10);
    struct kube_snapshot *snapshot = kube_store_snapshot(s);
    const struct kube_object *o = kube_pod_by_uid(snapshot, B("1"));
    put(s, "a", "1", 20);
    kube_store_delete(s, KUBE_POD, B("1"), 20);
    kube_store_expire(s, 1000);
    kube_store_destroy(&s);
    assert_ptr_equal(kube_pod_by_name(snapshot, B("shop"), B("a")), o);
    assert_int_equal(o->refs, 1);
    kube_snapshot_unref(&snapshot);
}

static void test_many_come_and_go(void **state)
{
    (void)state;
    struct kube_store *s = store_new();
    char name[32];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof name, "%d-%d", round, i);
            put(s, name, name, 1 + round);
        }
        kube_store_begin_list(s, KUBE_POD);
        kube_store_end_list(s, KUBE_POD, 10 + round);
        assert_true(kube_store_expire(s, 10 + round + KEEP));
        assert_int_equal(deleted(s, "0-1"), -1);
    }
    kube_store_destroy(&s);
}

// One object that is called differently each time does not fill the tables.
static void test_names_that_change(void **state)
{
    (void)state;
    struct kube_store *s = store_new();
    char name[16];
    size_t bytes = 0;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "%04d", i);
        put(s, name, "1", 1);
        if (i == 200)
            bytes = kube_store_bytes(s);
    }
    assert_int_equal(kube_store_bytes(s), bytes);
    struct kube_snapshot *snapshot = kube_store_snapshot(s);
    assert_null(kube_pod_by_name(snapshot, B("shop"), B("0000")));
    assert_non_null(kube_pod_by_name(snapshot, B("shop"), B(name)));
    kube_snapshot_unref(&snapshot);
    kube_store_destroy(&s);
}

static void test_no_memory(void **state)
{
    (void)state;
    bool done = false;
    size_t n = 0;
    while (!done) {
        struct kube_store *s = store_new();
        struct kube_object *o = object_of(KUBE_POD, "shop", "a", "1");
        mem_fail_from(++n);
        bool stored = kube_store_put(s, o, 1);
        struct kube_snapshot *snapshot = kube_store_snapshot(s);
        mem_fail_from(0);
        assert_int_equal(kube_store_changed(s), snapshot == NULL);
        done = stored && snapshot != NULL;
        kube_snapshot_unref(&snapshot);
        put(s, "b", "2", 2);
        assert_int_equal(deleted(s, "1"), stored ? 0 : -1);
        kube_store_destroy(&s);
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_and_replace),
        cmocka_unit_test(test_changes_are_told),
        cmocka_unit_test(test_what_is_gone_is_found_for_a_while),
        cmocka_unit_test(test_it_comes_back),
        cmocka_unit_test(test_a_name_is_ones_at_a_time),
        cmocka_unit_test(test_a_new_list),
        cmocka_unit_test(test_snapshots_outlive_it),
        cmocka_unit_test(test_many_come_and_go),
        cmocka_unit_test(test_names_that_change),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
