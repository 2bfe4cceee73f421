// SPDX-License-Identifier: Apache-2.0
#include "profile/origin.h"

#include "tests/support/fake_origin.h"
#include "tests/unit/profile/fixture.h"

#include <pthread.h>

// Batches with a resource that has scopes with profiles.
static struct batch *unread(uint64_t seed, struct batch **whole_out, struct fake_origin **origin_out)
{
    *whole_out = random_batch(seed, NULL);
    struct batch *b = fake_unread_batch(*whole_out, 1000, origin_out);
    assert_true(batch_is_unread(b));
    return b;
}

static void open_ok(struct batch **b, uint64_t seed)
{
    struct err e = {0};
    if (batch_open(b, 0, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_false(batch_is_unread(*b));
    assert_valid(*b, seed);
}

static void an_unread_batch_knows_its_totals(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct batch *whole, *b;
        struct fake_origin *o;
        unsigned destroyed = 0;
        b = unread(seed, &whole, &o);
        o->destroyed = &destroyed;
        assert_int_equal(b->profile_count, whole->profile_count);
        assert_int_equal(b->sample_count, whole->sample_count);
        assert_true(batch_as_came(b));
        assert_true(batch_memory_bytes(b) > 1000);
        batch_unref(&b);
        assert_int_equal(destroyed, 1);
        batch_unref(&whole);
    }
}

static void opening_gives_the_profiles_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct batch *whole, *b = NULL, *other;
        struct fake_origin *o;
        b = unread(seed, &whole, &o);
        other = batch_ref(b);
        open_ok(&b, seed);
        assert_same_text(whole_text(b), whole_text(whole), seed);
        assert_true(batch_as_came(b));
        assert_true(batch_is_unread(other)); // shared: another still has it as it was
        open_ok(&other, seed);
        open_ok(&other, seed); // open already
        assert_int_equal(o->reads, 1);
        assert_ptr_equal(other->dictionary, b->dictionary);
        batch_unref(&other);
        batch_unref(&b);
        batch_unref(&whole);
    }
}

static void what_was_changed_before_stays_changed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct batch *whole, *b;
        struct fake_origin *o;
        b = unread(seed, &whole, &o);
        uint32_t r = (uint32_t)seed % whole->resource_count, scopes = whole->resources[r]->scope_count;
        struct attribute_put put = {.resource = r,
                                    .attribute = {BYTES_LITERAL("service.name"), value_string(BYTES_LITERAL("new"))}};
        for (int of_scopes = 0; of_scopes < 2; of_scopes++) {
            put.change.of_scopes = of_scopes == 1;
            put.scope = of_scopes && scopes > 0 ? scopes - 1 : 0;
            assert_int_equal(put_attribute(&b, put, NULL), ERR_OK);
            assert_int_equal(put_attribute(&whole, put, NULL), ERR_OK);
        }
        assert_true(batch_is_unread(b));
        for (int opened = 0; opened < 2; opened++) {
            assert_false(batch_as_came(b));
            assert_int_equal(b->sample_count, whole->sample_count);
            for (uint32_t i = 0; i < b->resource_count; i++) {
                assert_int_equal(batch_resource_as_came(b, i), i != r);
                for (uint32_t s = 0; s < b->resources[i]->scope_count; s++)
                    assert_int_equal(batch_scope_as_came(b, i, s), i != r || s != put.scope);
            }
            open_ok(&b, seed);
        }
        assert_same_text(whole_text(b), whole_text(whole), seed);
        batch_unref(&b);
        batch_unref(&whole);
    }
}

static void dropped_resources_are_forgotten(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct batch *whole, *b;
        struct fake_origin *o;
        b = unread(seed, &whole, &o);
        const struct attribute_put put = {.resource = 0, .drops = true};
        assert_int_equal(put_attribute(&b, put, NULL), ERR_OK);
        assert_int_equal(put_attribute(&whole, put, NULL), ERR_OK);
        assert_int_equal(b == NULL, whole == NULL);
        if (b == NULL)
            continue;
        assert_int_equal(b->profile_count, whole->profile_count);
        assert_int_equal(b->sample_count, whole->sample_count);
        assert_false(batch_as_came(b));
        assert_true(batch_resource_as_came(b, 0)); // the others are as they came
        open_ok(&b, seed);
        assert_same_text(whole_text(b), whole_text(whole), seed);
        assert_false(batch_as_came(b));
        batch_unref(&b);
        batch_unref(&whole);
    }
}

static bool shift_time(void *arg, struct profile *p)
{
    (void)arg;
    p->time_nanos++;
    return true;
}

static void other_changes_leave_the_origin(void **state)
{
    (void)state;
    struct batch *whole, *b;
    struct fake_origin *o;
    unsigned destroyed = 0;
    b = unread(3, &whole, &o);
    o->destroyed = &destroyed;
    open_ok(&b, 3);
    assert_int_equal(batch_change_profiles(&b, shift_time, NULL, NULL), ERR_OK);
    assert_null(b->origin);
    assert_int_equal(destroyed, 1);
    assert_false(batch_as_came(b) || batch_resource_as_came(b, 0) || batch_scope_as_came(b, 0, 0));
    batch_unref(&b);
    batch_unref(&whole);
}

static void a_failure_leaves_it_unread(void **state)
{
    (void)state;
    struct batch *whole, *b, *before;
    struct fake_origin *o;
    struct err e = {0};
    before = b = unread(4, &whole, &o);
    o->needed_bytes = 50;
    assert_int_equal(batch_open(&b, 49, &e), ERR_LIMIT);
    assert_string_equal(e.text, "49 bytes are too few");
    o->fails = ERR_INVALID;
    assert_int_equal(batch_open(&b, 50, &e), ERR_INVALID);
    assert_ptr_equal(b, before);
    assert_true(batch_is_unread(b));
    o->fails = ERR_OK;
    assert_int_equal(batch_open(&b, 50, &e), ERR_OK);
    batch_unref(&b);
    batch_unref(&whole);
}

static void memory_may_be_out(void **state)
{
    (void)state;
    struct batch *whole, *b, *before;
    struct fake_origin *o;
    enum err_code code = ERR_MEMORY;
    before = b = unread(5, &whole, &o);
    for (size_t n = 1; code != ERR_OK; n++) {
        struct err e = {0};
        const struct attribute_put put = {.attribute = {BYTES_LITERAL("n"), value_int((int64_t)n)}};
        struct batch *changed = batch_ref(b);
        assert_int_equal(put_attribute(&changed, put, NULL), ERR_OK);
        mem_fail_from(n);
        code = batch_open(&changed, 0, &e);
        mem_fail_from(0);
        assert_true(code == ERR_OK || (code == ERR_MEMORY && batch_is_unread(changed)));
        batch_unref(&changed);
        assert_ptr_equal(b, before);
        assert_true(n < 1000);
    }
    batch_unref(&b);
    batch_unref(&whole);
}

static void *open_in_thread(void *arg)
{
    struct batch *b = arg;
    CHECK(batch_open(&b, 0, NULL) == ERR_OK && batch_as_came(b));
    return b;
}

static void several_threads_open(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    struct batch *whole, *b;
    struct fake_origin *o;
    pthread_t threads[THREADS];
    b = unread(6, &whole, &o);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_in_thread, batch_ref(b)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *opened;
        assert_int_equal(pthread_join(threads[i], &opened), 0);
        struct batch *mine = opened;
        assert_same_text(whole_text(mine), whole_text(whole), 6);
        batch_unref(&mine);
    }
    assert_int_equal(o->reads, 1);
    batch_unref(&b);
    batch_unref(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unread_batch_knows_its_totals),
        cmocka_unit_test(opening_gives_the_profiles_once),
        cmocka_unit_test(what_was_changed_before_stays_changed),
        cmocka_unit_test(dropped_resources_are_forgotten),
        cmocka_unit_test(other_changes_leave_the_origin),
        cmocka_unit_test(a_failure_leaves_it_unread),
        cmocka_unit_test(memory_may_be_out),
        cmocka_unit_test(several_threads_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
