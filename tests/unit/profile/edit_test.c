// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/profile/fixture.h"

static void only_the_resource_is_copied(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct batch *old = random_batch(seed, NULL), *new = batch_ref(old);
        char *before = whole_text(old);
        uint32_t last = old->resource_count - 1;
        char name[] = "name";
        const struct attribute_put put = {
            .resource = last, .attribute = {BYTES_LITERAL("service.name"), value_string(bytes_from_text(name))}};
        assert_int_equal(put_attribute(&new, put, NULL), ERR_OK);
        name[0] = 'X';
        assert_ptr_not_equal(new, old);
        assert_valid(new, seed);
        assert_ptr_equal(new->dictionary, old->dictionary);
        for (uint32_t r = 0; r < last; r++)
            assert_ptr_equal(new->resources[r], old->resources[r]);
        const struct resource *changed = new->resources[last];
        assert_int_equal(changed->attribute_count, 1);
        assert_true(bytes_equal_text(changed->attributes[0].value.bytes, "name"));
        assert_true(bytes_equal(changed->schema_url, old->resources[last]->schema_url));
        assert_int_equal(changed->entity_ref_count, old->resources[last]->entity_ref_count);
        for (uint32_t s = 0; s < changed->scope_count; s++)
            assert_ptr_equal(changed->scopes[s], old->resources[last]->scopes[s]);
        assert_same_text(before, whole_text(old), seed);
        batch_unref(&new);
        batch_unref(&old);
    }
}

static void resources_can_be_dropped(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct batch *old = random_batch(seed, NULL), *new = batch_ref(old);
        uint32_t count = old->resource_count, dropped = (uint32_t)(seed % count);
        assert_int_equal(put_attribute(&new, (struct attribute_put){.resource = dropped, .drops = true}, NULL), ERR_OK);
        assert_int_equal(new == NULL ? 0 : new->resource_count, count - 1);
        for (uint32_t r = 0; r + 1 < count; r++)
            assert_ptr_equal(new->resources[r], old->resources[r + (r >= dropped)]);
        if (new != NULL)
            assert_valid(new, seed);
        batch_unref(&new);
        batch_unref(&old);
    }
}

static enum err_code refuse(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part, struct err *e)
{
    (void)scope;
    part->dropped = resource == 0;
    return resource < *(uint32_t *)arg ? ERR_OK : err_set(e, ERR_INVALID, "no more");
}

static void a_failure_leaves_the_resources(void **state)
{
    (void)state;
    struct batch *old = random_batch(3, NULL), *b = batch_ref(old);
    struct err e = {0};
    for (uint32_t left = 0; left < old->resource_count; left++) {
        const struct part_attributes_change change = {.change = refuse, .arg = &left};
        assert_int_equal(batch_change_part_attributes(&b, &change, &e), ERR_INVALID);
        assert_string_equal(e.text, "no more");
        assert_ptr_equal(b, old);
    }
    batch_unref(&b);
    batch_unref(&old);
}

static bool change_nothing(void *arg, struct profile *p)
{
    ++*(uint64_t *)arg;
    p->time_nanos = 99; // a private copy: without true it is forgotten
    return false;
}

static bool change_every_third(void *arg, struct profile *p)
{
    uint64_t *calls = arg;
    if (++*calls % 3 != 0)
        return false;
    p->time_nanos = *calls;
    return true;
}

static void without_a_change_the_batch_stays(void **state)
{
    (void)state;
    struct batch *b = random_batch(2, NULL), *same = batch_ref(b);
    uint64_t calls = 0;
    assert_int_equal(batch_change_profiles(&same, change_nothing, &calls, NULL), ERR_OK);
    assert_ptr_equal(same, b);
    assert_int_equal(calls, b->profile_count);
    batch_unref(&same);
    batch_unref(&b);
}

static void compare_scopes(const struct scope *old, const struct scope *new, uint64_t *number)
{
    bool changed = false;
    for (uint32_t p = 0; p < old->profile_count; p++) {
        bool third = ++*number % 3 == 0;
        changed |= third;
        assert_int_equal(new->profiles[p].time_nanos, third ? *number : old->profiles[p].time_nanos);
        assert_ptr_equal(new->profiles[p].columns, old->profiles[p].columns);
        assert_ptr_equal(new->profiles[p].observations, old->profiles[p].observations);
        assert_true(bytes_equal(new->profiles[p].original_payload, old->profiles[p].original_payload));
    }
    assert_int_equal(old != new, changed);
}

static void changed_profiles_share_their_samples(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct batch *old = random_batch(seed, NULL), *new = batch_ref(old);
        uint64_t calls = 0, number = 0;
        assert_int_equal(batch_change_profiles(&new, change_every_third, &calls, NULL), ERR_OK);
        assert_valid(new, seed);
        for (uint32_t r = 0; r < old->resource_count; r++) {
            for (uint32_t s = 0; s < old->resources[r]->scope_count; s++)
                compare_scopes(old->resources[r]->scopes[s], new->resources[r]->scopes[s], &number);
        }
        assert_int_equal(number, calls);
        batch_unref(&new);
        batch_unref(&old);
    }
}

static bool set_attributes(void *arg, struct err *e)
{
    struct batch *b = batch_ref(arg);
    const struct attribute_put put = {.attribute = {BYTES_LITERAL("k"), value_string(BYTES_LITERAL("v"))}};
    bool ok = put_attribute(&b, put, e) == ERR_OK;
    assert_int_equal(ok, b != arg);
    batch_unref(&b);
    return ok;
}

static bool change_profiles(void *arg, struct err *e)
{
    struct batch *b = batch_ref(arg);
    uint64_t calls = 0;
    bool ok = batch_change_profiles(&b, change_every_third, &calls, e) == ERR_OK;
    assert_true(ok || b == arg);
    batch_unref(&b);
    return ok;
}

static void editing_survives_failing_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 10; seed++) {
        struct batch *b = random_batch(seed, NULL);
        run_with_failing_memory(set_attributes, b);
        run_with_failing_memory(change_profiles, b);
        batch_unref(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_resource_is_copied),          cmocka_unit_test(resources_can_be_dropped),
        cmocka_unit_test(a_failure_leaves_the_resources),       cmocka_unit_test(without_a_change_the_batch_stays),
        cmocka_unit_test(changed_profiles_share_their_samples), cmocka_unit_test(editing_survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
