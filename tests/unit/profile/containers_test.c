// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/profile/fixture.h"

static const struct bytes none = {NULL, 0};

static struct profile empty_profile(struct builder *b)
{
    struct sample_writer columns;
    struct observation_writer observations;
    sample_writer_init(&columns, b);
    observation_writer_init(&observations, b);
    return (struct profile){.columns = sample_writer_take(&columns),
                            .observations = observation_writer_take(&observations)};
}

static void add_profile(struct builder *b, uint64_t time_nanos)
{
    struct profile p = empty_profile(b);
    p.time_nanos = time_nanos;
    builder_profile(b, &p);
}

static void containers_nest(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    struct key_value attribute = {BYTES_LITERAL("k"), value_int(4)};
    builder_resource(b, &attribute, 1, 2, BYTES_LITERAL("url"));
    builder_resource_entity_ref(b, BYTES_LITERAL("ref1"));
    builder_scope(b, BYTES_LITERAL("name"), BYTES_LITERAL("version"), &attribute, 1, 3, BYTES_LITERAL("url2"));
    add_profile(b, 1);
    add_profile(b, 2);
    builder_scope(b, none, none, NULL, 0, 0, none);
    add_profile(b, 3);
    builder_resource_entity_ref(b, BYTES_LITERAL("ref2"));
    builder_resource(b, NULL, 0, 0, none);
    struct batch *batch = finish(b);
    assert_valid(batch, 0);

    assert_int_equal(batch->resource_count, 2);
    assert_int_equal(batch->profile_count, 3);
    assert_int_equal(batch->sample_count, 0);
    const struct resource *r = batch->resources[0];
    assert_true(bytes_equal_text(r->schema_url, "url"));
    assert_int_equal(r->attributes[0].value.integer, 4);
    assert_int_equal(r->dropped_attributes_count, 2);
    assert_int_equal(r->entity_ref_count, 2);
    assert_true(bytes_equal_text(r->entity_refs[1], "ref2"));
    assert_int_equal(r->scope_count, 2);
    const struct scope *s = r->scopes[0];
    assert_true(bytes_equal_text(s->name, "name"));
    assert_true(bytes_equal_text(s->version, "version"));
    assert_true(bytes_equal_text(s->schema_url, "url2"));
    assert_int_equal(s->attribute_count, 1);
    assert_int_equal(s->dropped_attributes_count, 3);
    assert_int_equal(s->profile_count, 2);
    assert_int_equal(s->profiles[1].time_nanos, 2);
    assert_int_equal(r->scopes[1]->profiles[0].time_nanos, 3);
    assert_int_equal(batch->resources[1]->scope_count, 0);
    batch_unref(&batch);
}

static void payloads_are_copied(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    builder_resource(b, NULL, 0, 0, none);
    builder_scope(b, none, none, NULL, 0, 0, none);
    char payload[] = "payload";
    struct profile p = empty_profile(b);
    p.original_payload_format = BYTES_LITERAL("pprof");
    p.original_payload = bytes_from_text(payload);
    builder_profile(b, &p);
    payload[0] = 'X';
    struct batch *batch = finish(b);
    assert_true(bytes_equal_text(batch->resources[0]->scopes[0]->profiles[0].original_payload, "payload"));
    batch_unref(&batch);
}

static void an_unfinished_builder_frees_what_is_open(void **state)
{
    (void)state;
    for (int steps = 0; steps < 6; steps++) {
        struct builder *b = builder_create(0);
        for (int i = 0; i < steps; i++) {
            if (i % 3 == 0)
                builder_resource(b, NULL, 0, 0, none);
            else if (i % 3 == 1)
                builder_scope(b, none, none, NULL, 0, 0, none);
            else
                add_profile(b, 1);
        }
        builder_destroy(&b);
    }
}

static void a_failed_builder_takes_profiles_over(void **state)
{
    (void)state;
    struct builder *b = builder_create(0), *failed = builder_create(1);
    struct profile p = empty_profile(b);
    builder_resource(failed, NULL, 0, 0, none);
    builder_scope(failed, none, none, NULL, 0, 0, none);
    builder_profile(failed, &p); // LeakSanitizer tells if it did not
    builder_resource_entity_ref(failed, none);
    builder_destroy(&failed);
    builder_destroy(&b);
}

static void an_empty_batch_has_zero_elements(void **state)
{
    (void)state;
    struct batch *batch = finish(builder_create(0));
    assert_int_equal(batch->resource_count, 0);
    assert_valid(batch, 0);
    assert_true(batch_memory_bytes(batch) < 4096);
    batch_unref(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_nest),
        cmocka_unit_test(payloads_are_copied),
        cmocka_unit_test(an_unfinished_builder_frees_what_is_open),
        cmocka_unit_test(a_failed_builder_takes_profiles_over),
        cmocka_unit_test(an_empty_batch_has_zero_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
