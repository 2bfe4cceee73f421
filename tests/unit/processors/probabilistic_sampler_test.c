// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/processors/fixture.h"

#include "base/hash.h"
#include "processors/sampler_budget.h"

#define SAMPLES(...) ((const struct test_sample[]){__VA_ARGS__, {0, NULL, 0}})

enum { PROFILES = 800 };

// Profiles with the values 1, 2, ... and ids, of services s0, s1, ... in turns; two sample types each.
static struct batch *many(uint32_t services, uint32_t count)
{
    struct builder *b = builder_create(0);
    for (uint32_t s = 0; s < services; s++) {
        char name[16];
        snprintf(name, sizeof name, "s%u", s);
        add_service(b, name);
        for (uint32_t i = s; i < count; i += services) {
            struct sample_writer samples;
            sample_writer_init(&samples, b);
            sample_writer_add(&samples, 0, 0, 0);
            struct columns *columns = sample_writer_take(&samples);
            sample_writer_fini(&samples);
            for (int type = 0; type < 2; type++) {
                struct observation_writer values;
                struct profile p = {.has_profile_id = true, .columns = columns_ref(columns)};
                observation_writer_init(&values, b);
                observation_writer_add_value(&values, (int64_t)i + 1);
                memcpy(p.profile_id, &(uint32_t){i + 1}, sizeof i);
                p.profile_id[15] = (uint8_t)(1 + type); // ids differ, the file is one
                p.observations = observation_writer_take(&values);
                observation_writer_fini(&values);
                builder_profile(b, &p);
            }
            columns_unref(&columns);
        }
    }
    return finish(b);
}

struct kept {
    bool values[PROFILES + 1];
    uint32_t count;
};

static struct kept kept_of(struct batch *b)
{
    struct kept k = {.count = 0};
    for (uint32_t r = 0; b != NULL && r < b->resource_count; r++) {
        const struct scope *s = b->resources[r]->scopes[0];
        assert_int_equal(s->profile_count % 2, 0);
        for (uint32_t p = 0; p < s->profile_count; p += 2) {
            assert_ptr_equal(s->profiles[p].columns, s->profiles[p + 1].columns); // types stay together
            k.values[s->profiles[p].observations->values[0]] = true;
            k.count++;
        }
    }
    batch_unref(&b);
    return k;
}

static struct kept sampled(const char *yaml, struct batch *b)
{
    return kept_of(processed(&probabilistic_sampler_processor, yaml, b));
}

static void so_many_percent_go_on(void **state)
{
    (void)state;
    assert_int_equal(sampled("{}", many(3, PROFILES)).count, PROFILES);
    assert_int_equal(sampled("sampling_percentage: 0", many(3, PROFILES)).count, 0);
    assert_in_range(sampled("sampling_percentage: 30", many(3, PROFILES)).count, 190, 290);
    assert_in_range(sampled("sampling_percentage: 0.5", many(3, PROFILES)).count, 1, 12);
}

static void every_instance_chooses_the_same(void **state)
{
    (void)state;
    const struct kept ten = sampled("sampling_percentage: 10", many(1, PROFILES)),
                      again = sampled("sampling_percentage: 10", many(1, PROFILES)),
                      more = sampled("sampling_percentage: 40", many(7, PROFILES)),
                      seed = sampled("{sampling_percentage: 10, hash_seed: 22}", many(1, PROFILES));
    uint32_t both = 0;
    for (uint32_t i = 1; i <= PROFILES; i++) {
        assert_int_equal(ten.values[i], again.values[i]);
        assert_true(!ten.values[i] || more.values[i]); // the smaller part is a part of the larger one
        both += ten.values[i] && seed.values[i];
    }
    assert_in_range(both, 1, ten.count / 3); // about a tenth
}

// Without ids the resource and the time choose.
static void profiles_without_ids_are_chosen_by_where_they_come_from(void **state)
{
    (void)state;
    uint32_t kept[2] = {0};
    for (uint32_t i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "service-%u", i);
        for (int again = 0; again < 2; again++) {
            struct builder *b = builder_create(0);
            add_service(b, name);
            add_profile(b, &(struct test_profile){"cpu", "", SAMPLES({0, "", 1})});
            struct batch *out = processed(&probabilistic_sampler_processor, "sampling_percentage: 50", finish(b));
            kept[again] += out != NULL;
            batch_unref(&out);
        }
        assert_int_equal(kept[0], kept[1]);
    }
    assert_in_range(kept[0], 30, 70);
}

static struct batch *tenants(void)
{
    struct builder *b = builder_create(0);
    add_service(b, "a");
    add_profile(b, &(struct test_profile){"cpu", "tenant=x", SAMPLES({0, "", 1})});
    add_profile(b, &(struct test_profile){"cpu", "tenant=x,p=y", SAMPLES({0, "", 2}, {0, "", 4})});
    add_profile(b, &(struct test_profile){"cpu", "", SAMPLES({0, "", 8})});
    return finish(b);
}

static void an_attribute_may_choose(void **state)
{
    (void)state;
    static const char yaml[] =
        "{attribute_source: record, from_attribute: tenant, sampling_percentage: %s, hash_seed: %u%s}";
    uint32_t together = 0;
    for (unsigned seed = 0; seed < 20; seed++) {
        char text[200];
        snprintf(text, sizeof text, yaml, "50", seed, "");
        struct batch *b = processed(&probabilistic_sampler_processor, text, tenants());
        const uint64_t sum = totals_of(b).sum;
        assert_true(sum == 0 || sum == 7); // both or none; without it: closed
        together += sum == 7;
        batch_unref(&b);
        snprintf(text, sizeof text, yaml, "50", seed, ", fail_closed: false");
        b = processed(&probabilistic_sampler_processor, text, tenants());
        assert_true(totals_of(b).sum == sum + 8);
        batch_unref(&b);
    }
    assert_in_range(together, 3, 17);
    struct batch *b = processed(&probabilistic_sampler_processor,
                                "{attribute_source: record, from_attribute: service.name}", tenants());
    assert_true(totals_of(b).sum == 15); // of the resource
    batch_unref(&b);
}

static void a_profile_may_have_a_priority(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    const struct key_value list[] = {PAIR("p", value_int(100))};
    add_service(b, "a");
    add_profile(b, &(struct test_profile){"cpu", "p=100", SAMPLES({0, "", 1})}); // a text is no number
    builder_resource(b, list, 1, 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    add_profile(b, &(struct test_profile){"cpu", "", SAMPLES({0, "", 2})});
    struct batch *out =
        processed(&probabilistic_sampler_processor, "{sampling_percentage: 0, sampling_priority: p}", finish(b));
    assert_true(totals_of(out).sum == 2);
    batch_unref(&out);
}

static void services_have_their_own_percentage(void **state)
{
    (void)state;
    struct batch *b = processed(&probabilistic_sampler_processor,
                                "{sampling_percentage: 0, services: [{name: s1, sampling_percentage: 100},"
                                " {name: s2, sampling_percentage: 50}]}",
                                many(3, 600));
    assert_int_equal(b->resource_count, 2);
    assert_int_equal(b->resources[0]->scopes[0]->profile_count, 400);
    assert_in_range(b->resources[1]->scopes[0]->profile_count, 140, 260);
    batch_unref(&b);
}

// --- the budget ---

static int64_t test_now;

static int64_t now(const struct clock *c)
{
    (void)c;
    return test_now;
}

static const struct clock test_clock = {now, now};

static void no_service_sends_more_than_its_budget(void **state)
{
    (void)state;
    struct test_run r;
    run_begin(&r, &probabilistic_sampler_processor, "budget: {profiles: 50, interval: 10s}");
    r.env.env.clock = &test_clock;
    test_now = 0;
    for (int interval = 0; interval < 4; interval++) {
        uint32_t kept[2] = {0}, late = 0;
        for (int i = 0; i < 10; i++) { // s0 sends 1000 in an interval, s1 20
            struct batch *b = many(1, 100);
            assert_int_equal(run_process(&r, &b), ERR_OK);
            const uint32_t count = b == NULL ? 0 : b->resources[0]->scopes[0]->profile_count / 2;
            kept[0] += count;
            late += i >= 5 ? count : 0;
            batch_unref(&b);
            b = many(2, 4);
            assert_int_equal(run_process(&r, &b), ERR_OK);
            assert_non_null(b);
            assert_int_equal(b->resources[b->resource_count - 1]->scopes[0]->profile_count, 4);
            kept[1] += b->resources[b->resource_count - 1]->scopes[0]->profile_count / 2;
            batch_unref(&b);
            test_now += NANOS_PER_SECOND;
        }
        assert_in_range(kept[0], 25, 50);
        assert_int_equal(kept[1], 20);
        if (interval > 0)
            assert_true(late > 0); // not all at the beginning
    }
    run_end(&r);
}

static void many_services_share_what_is_left(void **state)
{
    (void)state;
    struct sampler_budget b;
    sampler_budget_init(&b, 1, 1000);
    uint32_t kept = 0;
    for (int64_t turn = 0; turn < 3; turn++) {
        kept = 0;
        for (uint32_t i = 0; i < BUDGET_MAX_SERVICES + 500; i++) {
            const uint32_t name = i + (uint32_t)turn * 100000;
            kept += sampler_budget_takes(&b, hash_bytes(&name, sizeof name), turn * 5000, 0);
        }
        assert_in_range(kept, BUDGET_MAX_SERVICES, BUDGET_MAX_SERVICES + 1);
        assert_in_range(b.services.count, BUDGET_MAX_SERVICES, BUDGET_MAX_SERVICES + 1);
    }
    mem_fail_from(1);
    assert_true(sampler_budget_takes(&b, hash_bytes("new", 3), 90000, 0)); // of those that share
    assert_false(sampler_budget_takes(&b, hash_bytes("another", 7), 90000, 0));
    mem_fail_from(0);
    sampler_budget_fini(&b);
}

static void a_failed_allocation_leaves_the_batch(void **state)
{
    (void)state;
    assert_memory_may_fail(&probabilistic_sampler_processor, "sampling_percentage: 50", many(3, 30), 5);
}

// What is long is looked at once, however many profiles refer to it.
static void long_texts_are_looked_at_once(void **state)
{
    (void)state;
    enum { MANY = 8000 };
    static const char *const cases[] = {
        "sampling_percentage: 100",
        "{attribute_source: record, from_attribute: a}",
        "{attribute_source: record, from_attribute: b, sampling_priority: a}",
        "budget: {profiles: 100000}",
    };
    const struct key_value own[] = {{BYTES_LITERAL("a"), value_string(long_text())},
                                    {BYTES_LITERAL("service.name"), value_string(long_text())}};
    struct builder *b = builder_create(0);
    builder_resource(b, own, 2, 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    const uint32_t shared = builder_attribute(b, builder_string_text(b, "b"), 0, &own[0].value);
    for (int i = 0; i < MANY; i++) {
        const struct value v = value_int(i);
        const uint32_t ids[] = {shared, builder_attribute(b, builder_string_text(b, "n"), 0, &v)};
        struct sample_writer samples;
        sample_writer_init(&samples, b);
        add_written(b, &samples, 0, (struct profile){.attribute_set = builder_attribute_set(b, ids, 2)});
    }
    struct batch *batch = finish(b);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_quick(&probabilistic_sampler_processor, cases[i], batch_ref(batch));
    batch_unref(&batch);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"{attribute_source: record}",
         "test:1:2: processors.probabilistic_sampler: attribute_source: record needs `from_attribute`\n"},
        {"{from_attribute: a}", "test:1:2: processors.probabilistic_sampler: from_attribute: has no meaning unless "
                                "attribute_source is record\n"},
        {"services: [{name: a, sampling_percentage: 1}, {name: a, sampling_percentage: 2}]",
         "test:1:1: processors.probabilistic_sampler: services: \"a\" is there twice\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_setting_error(&probabilistic_sampler_processor, cases[i].yaml, cases[i].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_percent_go_on),
        cmocka_unit_test(every_instance_chooses_the_same),
        cmocka_unit_test(profiles_without_ids_are_chosen_by_where_they_come_from),
        cmocka_unit_test(an_attribute_may_choose),
        cmocka_unit_test(a_profile_may_have_a_priority),
        cmocka_unit_test(services_have_their_own_percentage),
        cmocka_unit_test(no_service_sends_more_than_its_budget),
        cmocka_unit_test(many_services_share_what_is_left),
        cmocka_unit_test(a_failed_allocation_leaves_the_batch),
        cmocka_unit_test(long_texts_are_looked_at_once),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
