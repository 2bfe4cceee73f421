// SPDX-License-Identifier: Apache-2.0
// Claims, and the opening of deliveries that holds them.
#include "pipeline/claim.h"

#include "tests/support/fake_origin.h"
#include "tests/unit/pipeline/queue_fixture.h"

static size_t used(const struct budget *b)
{
    return atomic_load(&b->used);
}

static void test_at_least(void **state)
{
    (void)state;
    struct budget b;
    struct err e = {0};
    budget_init(&b, 1000);
    struct claim c = {.budget = &b};
    assert_int_equal(claim_at_least(&c, 300, &e), ERR_OK);
    assert_int_equal(claim_at_least(&c, 200, &e), ERR_OK); // has more already
    assert_int_equal(used(&b), 300);
    assert_int_equal(claim_at_least(&c, 1001, &e), ERR_MEMORY);
    assert_non_null(strstr(e.text, "service.memory_limit of 1000 bytes"));
    assert_int_equal(c.bytes, 300); // what is held stays
    assert_int_equal(claim_exactly(&c, 100, &e), ERR_OK);
    assert_int_equal(used(&b), 100);
    claim_end(&c);
    assert_int_equal(used(&b), 0);
    assert_int_equal(c.bytes, 0);
}

static void test_more(void **state)
{
    (void)state;
    struct budget b;
    struct err e = {0};
    budget_init(&b, 1000);
    struct claim c = {.budget = &b};
    assert_int_equal(claim_at_least(&c, 60, NULL), ERR_OK);
    assert_int_equal(claim_more(&c, CLAIM_TIMES, &e), ERR_OK);
    assert_int_equal(c.bytes, 240);
    assert_true(budget_try_take(&b, 100));
    assert_int_equal(claim_more(&c, CLAIM_TIMES, &e), ERR_MEMORY); // 960 do not fit now
    assert_int_equal(c.bytes, 240);
    budget_give(&b, 100);
    assert_int_equal(claim_more(&c, CLAIM_TIMES, &e), ERR_OK);
    assert_int_equal(claim_more(&c, CLAIM_TIMES, &e), ERR_OK);
    assert_int_equal(c.bytes, 1000);
    err_set(&e, ERR_LIMIT, "so much is needed");
    assert_int_equal(claim_more(&c, CLAIM_TIMES, &e), ERR_LIMIT);
    assert_string_equal(e.text, "service.memory_limit: so much is needed");
    claim_end(&c);
    assert_int_equal(used(&b), 0);
}

static void test_room(void **state)
{
    (void)state;
    const struct claim c = {.bytes = 100};
    assert_int_equal(claim_room(&c, 30), 70);
    assert_int_equal(claim_room(&c, 100), 1); // 0 would be no bound
    assert_int_equal(claim_room(&c, 200), 1);
}

// --- deliveries ---

enum { ORIGIN = 1000, CHARGED = 1200 };

struct opening {
    struct shared shared;
    struct told told;
    struct fake_origin *origin;
    struct batch *whole;
    struct delivery delivery;
};

static void opening_init(struct opening *o, size_t budget, size_t charged)
{
    shared_init(&o->shared, budget);
    o->whole = fake_batch(7);
    o->delivery = begin_delivery(&o->shared, &o->told, charged);
    batch_unref(&o->delivery.batch);
    o->delivery.batch = fake_unread_batch(o->whole, ORIGIN, &o->origin);
}

static void opening_fini(struct opening *o)
{
    if (o->delivery.ticket != NULL)
        delivery_end(&o->delivery, NULL);
    batch_unref(&o->whole);
    shared_run(&o->shared);
    assert_int_equal(o->told.final, 1);
    shared_fini(&o->shared); // asserts that all is given back
}

static size_t whole_bytes(const struct opening *o)
{
    return batch_memory_bytes(o->whole);
}

static void test_opening_is_charged(void **state)
{
    (void)state;
    struct opening o;
    struct err e = {0};
    opening_init(&o, 1 << 20, CHARGED);
    assert_int_equal(delivery_open(&o.delivery, &e), ERR_OK);
    assert_false(batch_is_unread(o.delivery.batch));
    assert_int_equal(o.delivery.batch->sample_count, o.whole->sample_count);
    assert_true(used(&o.shared.budget) >= CHARGED + whole_bytes(&o) / 2);
    size_t charged = used(&o.shared.budget);
    assert_int_equal(delivery_open(&o.delivery, &e), ERR_OK); // open already
    assert_int_equal(used(&o.shared.budget), charged);
    opening_fini(&o);
}

static void test_opening_that_fails(void **state)
{
    (void)state;
    const enum err_code codes[] = {ERR_INVALID, ERR_MEMORY};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        struct opening o;
        struct err e = {0};
        opening_init(&o, 1 << 20, CHARGED);
        const struct batch *before = o.delivery.batch;
        o.origin->fails = codes[i];
        assert_int_equal(delivery_open(&o.delivery, &e), codes[i]);
        assert_ptr_equal(o.delivery.batch, before);
        assert_int_equal(used(&o.shared.budget), CHARGED);
        opening_fini(&o);
    }
}

static void test_opening_asks_for_more(void **state)
{
    (void)state;
    struct opening o;
    struct err e = {0};
    opening_init(&o, 1 << 20, CHARGED);
    o.origin->needed_bytes = 100 * ORIGIN;
    assert_int_equal(delivery_open(&o.delivery, &e), ERR_OK);
    assert_int_equal(o.origin->reads, 1);
    assert_true(used(&o.shared.budget) < CHARGED + 2 * whole_bytes(&o)); // what was too much is given back
    opening_fini(&o);
}

static void test_opening_without_room(void **state)
{
    (void)state;
    struct opening o;
    struct err e = {0};
    opening_init(&o, 1 << 20, CHARGED);
    const struct batch *before = o.delivery.batch;
    size_t others = (1 << 20) - CHARGED - 2 * ORIGIN;
    assert_true(budget_try_take(&o.shared.budget, others));
    assert_int_equal(delivery_open(&o.delivery, &e), ERR_MEMORY);
    assert_ptr_equal(o.delivery.batch, before);
    assert_int_equal(used(&o.shared.budget), others + CHARGED);
    budget_give(&o.shared.budget, others);
    opening_fini(&o);
}

// Alone, a delivery may take all; what does not fit then never will: offering it again would not help.
static void test_opening_takes_what_there_is(void **state)
{
    (void)state;
    struct opening o;
    struct err e = {0};
    opening_init(&o, 1 << 16, CHARGED);
    o.origin->needed_bytes = (1 << 16) - CHARGED;
    assert_int_equal(delivery_open(&o.delivery, &e), ERR_OK);
    opening_fini(&o);
    opening_init(&o, 1 << 16, CHARGED);
    o.origin->needed_bytes = (1 << 16) - CHARGED + 1;
    assert_int_equal(delivery_open(&o.delivery, &e), ERR_LIMIT);
    assert_non_null(strstr(e.text, "service.memory_limit"));
    assert_true(batch_is_unread(o.delivery.batch));
    assert_int_equal(used(&o.shared.budget), CHARGED);
    opening_fini(&o);
    opening_init(&o, CHARGED + 2 * ORIGIN, CHARGED); // less than the first guess
    o.origin->needed_bytes = 10;
    enum err_code code = delivery_open(&o.delivery, &e);
    assert_true(code == ERR_OK || code == ERR_MEMORY); // as large as the fake's own parts are
    assert_int_equal(o.origin->reads, 1);
    opening_fini(&o);
}

static void test_one_of_two_pipelines_opens(void **state)
{
    (void)state;
    struct opening o;
    struct err e = {0};
    opening_init(&o, 1 << 20, CHARGED);
    struct delivery other = delivery_share(&o.delivery);
    assert_int_equal(delivery_open(&o.delivery, &e), ERR_OK);
    assert_true(batch_is_unread(other.batch));
    size_t charged = used(&o.shared.budget);
    delivery_end(&o.delivery, NULL);
    assert_int_equal(used(&o.shared.budget), charged); // until the last has ended
    assert_int_equal(delivery_open(&other, &e), ERR_OK);
    assert_int_equal(o.origin->reads, 1);
    delivery_end(&other, NULL);
    assert_int_equal(used(&o.shared.budget), 0);
    opening_fini(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_least),
        cmocka_unit_test(test_more),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_opening_is_charged),
        cmocka_unit_test(test_opening_that_fails),
        cmocka_unit_test(test_opening_asks_for_more),
        cmocka_unit_test(test_opening_without_room),
        cmocka_unit_test(test_opening_takes_what_there_is),
        cmocka_unit_test(test_one_of_two_pipelines_opens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
