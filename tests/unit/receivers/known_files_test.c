// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receivers/known_files.h"
#include "tests/unit/receivers/fake_storage.h"

struct rig {
    struct loop loop;
    struct fake_storage store;
    struct known_files *known;
};

static void open_known(struct rig *r, bool stored)
{
    struct err e;
    assert_int_equal(known_files_create(stored ? &r->store.storage : NULL, "test", 0, &r->known, &e), ERR_OK);
}

static void rig_init(struct rig *r)
{
    loop_init(&r->loop, 0);
    fake_storage_init(&r->store);
    r->known = NULL;
}

static void rig_fini(struct rig *r)
{
    known_files_destroy(&r->known);
    assert_null(r->known);
    loop_stop(&r->loop);
    loop_fini(&r->loop);
    fake_storage_fini(&r->store);
}

static struct known_key key_of(uint32_t n)
{
    struct known_key key = {{0}};
    memcpy(key.bytes + 20, &n, sizeof n); // differ at the end only
    return key;
}

static void note_done(void *arg, bool failed)
{
    *(int *)arg = failed ? 2 : 1;
}

static const struct file_identity identity = {.size = 10, .inode = 20, .mtime_nanos = 30};

static int remember(struct rig *r, const struct known_key *key, const char *path)
{
    int done = 0;
    known_files_remember(r->known, key, path, &identity, &r->loop, note_done, &done);
    assert_int_equal(known_files_pending(r->known), 1);
    assert_int_equal(done, 0); // the answer comes through the loop, with and without storage
    uv_run(&r->loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(known_files_pending(r->known), 0);
    return done;
}

static void test_claims(void **state)
{
    (void)state;
    for (int stored = 0; stored < 2; stored++) {
        struct rig r;
        struct known_key a = key_of(1), b = key_of(2);
        rig_init(&r);
        open_known(&r, stored);
        assert_int_equal(known_files_claim(r.known, &a), KNOWN_CLAIMED);
        assert_int_equal(known_files_claim(r.known, &a), KNOWN_IN_FLIGHT);
        assert_int_equal(known_files_claim(r.known, &b), KNOWN_CLAIMED);
        known_files_release(r.known, &a);
        assert_int_equal(known_files_claim(r.known, &a), KNOWN_CLAIMED);
        assert_int_equal(remember(&r, &a, "/x"), 1);
        assert_int_equal(known_files_claim(r.known, &a), KNOWN_SENT);
        assert_int_equal(known_files_claim(r.known, &b), KNOWN_IN_FLIGHT);
        rig_fini(&r);
    }
}

// Two paths have the content: only when both have lost it, and long enough ago, may it come again.
static void test_forgets_what_no_path_has(void **state)
{
    (void)state;
    for (int stored = 0; stored < 2; stored++) {
        struct rig r;
        struct known_key a = key_of(1);
        rig_init(&r);
        open_known(&r, stored);
        assert_int_equal(known_files_claim(r.known, &a), KNOWN_CLAIMED);
        assert_int_equal(remember(&r, &a, "/x"), 1);
        known_files_join(r.known, &a);
        known_files_join(r.known, &a);
        known_files_leave(r.known, &a, 100);
        known_files_expire(r.known, 1000, 10, &r.loop);
        assert_int_equal(known_files_claim(r.known, &a), KNOWN_SENT);
        known_files_leave(r.known, &a, 1000);
        known_files_expire(r.known, 1009, 10, &r.loop);
        known_files_expire(r.known, 5000, 0, &r.loop); // 0 = never
        assert_int_equal(known_files_claim(r.known, &a), KNOWN_SENT);
        known_files_join(r.known, &a); // it came back under another name
        known_files_expire(r.known, 1010, 10, &r.loop);
        assert_int_equal(known_files_claim(r.known, &a), KNOWN_SENT);
        known_files_leave(r.known, &a, 2000);
        known_files_expire(r.known, 2010, 10, &r.loop);
        assert_int_equal(known_files_claim(r.known, &a), KNOWN_CLAIMED);
        uv_run(&r.loop.uv, UV_RUN_NOWAIT);
        assert_int_equal(fake_storage_count(&r.store), 0);
        rig_fini(&r);
    }
}

// What an earlier run sent and no file has any more does not stay for ever.
static void test_forgets_what_was_stored_and_is_gone(void **state)
{
    (void)state;
    struct rig r;
    struct known_key a = key_of(1), b = key_of(2);
    rig_init(&r);
    open_known(&r, true);
    assert_int_equal(known_files_claim(r.known, &a), KNOWN_CLAIMED);
    assert_int_equal(known_files_claim(r.known, &b), KNOWN_CLAIMED);
    assert_int_equal(remember(&r, &a, "/x"), 1);
    assert_int_equal(remember(&r, &b, "/y"), 1);
    known_files_destroy(&r.known);
    open_known(&r, true);
    known_files_join(r.known, &b);
    known_files_expire(r.known, 10, 10, &r.loop);
    uv_run(&r.loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(fake_storage_count(&r.store), 1);
    assert_int_equal(known_files_claim(r.known, &a), KNOWN_CLAIMED);
    assert_int_equal(known_files_claim(r.known, &b), KNOWN_SENT);
    rig_fini(&r);
}

static void test_many_keys(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    open_known(&r, false);
    for (uint32_t i = 0; i < 3000; i++) {
        struct known_key key = key_of(i);
        assert_int_equal(known_files_claim(r.known, &key), KNOWN_CLAIMED);
    }
    for (uint32_t i = 0; i < 3000; i++) {
        struct known_key key = key_of(i);
        assert_int_equal(known_files_claim(r.known, &key), KNOWN_IN_FLIGHT);
    }
    rig_fini(&r);
}

static void test_remembers_across_restarts(void **state)
{
    (void)state;
    struct rig r;
    struct known_key a = key_of(1), b = key_of(2), c = key_of(3), got;
    rig_init(&r);
    open_known(&r, true);
    assert_false(known_files_unchanged(r.known, "/b", &identity, &got));
    assert_int_equal(known_files_claim(r.known, &a), KNOWN_CLAIMED); // on its way at the end: forgotten
    assert_int_equal(remember(&r, &b, "/b"), 1);
    assert_int_equal(remember(&r, &c, "/a longer path"), 1);
    known_files_destroy(&r.known);

    open_known(&r, true);
    assert_int_equal(known_files_claim(r.known, &a), KNOWN_CLAIMED);
    assert_int_equal(known_files_claim(r.known, &b), KNOWN_SENT);
    assert_true(known_files_unchanged(r.known, "/b", &identity, &got));
    assert_memory_equal(got.bytes, b.bytes, sizeof b.bytes);
    assert_true(known_files_unchanged(r.known, "/a longer path", &identity, &got));
    assert_memory_equal(got.bytes, c.bytes, sizeof c.bytes);
    struct file_identity other = identity;
    other.mtime_nanos++;
    assert_false(known_files_unchanged(r.known, "/b", &other, &got));
    assert_false(known_files_unchanged(r.known, "/a", &identity, &got));
    rig_fini(&r);
}

static void test_foreign_pairs_are_ignored(void **state)
{
    (void)state;
    struct rig r;
    struct known_key a = key_of(1), got;
    rig_init(&r);
    fake_storage_set(&r.store, BYTES_LITERAL("short"), BYTES_LITERAL("value"));
    // A key of ours with a value that is cut: known by content, not by path.
    fake_storage_set(&r.store, (struct bytes){a.bytes, sizeof a.bytes}, BYTES_LITERAL("cut"));
    open_known(&r, true);
    assert_int_equal(known_files_claim(r.known, &a), KNOWN_SENT);
    assert_false(known_files_unchanged(r.known, "", &identity, &got));
    rig_fini(&r);
}

static void test_storage_that_fails(void **state)
{
    (void)state;
    struct rig r;
    struct known_key a = key_of(1);
    rig_init(&r);
    open_known(&r, true);
    r.store.fail_put = true;
    assert_int_equal(known_files_claim(r.known, &a), KNOWN_CLAIMED);
    assert_int_equal(remember(&r, &a, "/a"), 2);
    assert_int_equal(known_files_claim(r.known, &a), KNOWN_SENT); // not again in this run
    known_files_destroy(&r.known);
    struct err e;
    r.store.fail_open = true;
    assert_int_equal(known_files_create(&r.store.storage, "test", 0, &r.known, &e), ERR_IO);
    assert_null(r.known);
    assert_string_equal(e.text, "cannot open test");
    rig_fini(&r);
}

static void count_idle(void *arg)
{
    ++*(int *)arg;
}

static void test_idle(void **state)
{
    (void)state;
    struct rig r;
    struct known_key a = key_of(1), b = key_of(2);
    int idle = 0;
    rig_init(&r);
    open_known(&r, true);
    known_files_on_idle(r.known, count_idle, &idle);
    known_files_remember(r.known, &a, "/a", &identity, &r.loop, NULL, NULL);
    known_files_remember(r.known, &b, "/b", &identity, &r.loop, NULL, NULL);
    assert_int_equal(known_files_pending(r.known), 2);
    uv_run(&r.loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(idle, 1); // with the last only
    rig_fini(&r);
}

static void test_out_of_memory_means_later(void **state)
{
    (void)state;
    struct rig r;
    struct known_key a = key_of(1);
    rig_init(&r);
    open_known(&r, false);
    for (size_t n = 1; n <= 2; n++) {
        mem_fail_from(n);
        assert_int_equal(known_files_claim(r.known, &a), KNOWN_IN_FLIGHT);
        mem_fail_from(0);
    }
    assert_int_equal(known_files_claim(r.known, &a), KNOWN_CLAIMED);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_forgets_what_no_path_has),
        cmocka_unit_test(test_forgets_what_was_stored_and_is_gone),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_remembers_across_restarts),
        cmocka_unit_test(test_foreign_pairs_are_ignored),
        cmocka_unit_test(test_storage_that_fails),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_out_of_memory_means_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
