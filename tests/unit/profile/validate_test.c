// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/profile/fixture.h"

// Sealed parts are never written; a test may, to see what is noticed.
#define WRITABLE(type, pointer) ((type *)(uintptr_t)(pointer))

struct damage {
    struct batch *batch;
    struct dictionary *d;
    struct profile *p;
    struct columns *c;
    struct observations *o;
};

static uint32_t *column(const uint32_t *sealed)
{
    return WRITABLE(uint32_t, sealed);
}

static void break_string_zero(struct damage *x)
{
    WRITABLE(struct bytes, x->d->strings)[0] = BYTES_LITERAL("x");
}

static void break_string_text(struct damage *x)
{
    WRITABLE(struct bytes, x->d->strings)[1] = BYTES_LITERAL("\xff");
}

static void break_string_twice(struct damage *x)
{
    WRITABLE(struct bytes, x->d->strings)[1] = x->d->strings[2];
}

static void break_mapping_zero(struct damage *x)
{
    WRITABLE(struct batch_mapping, x->d->mappings)[0].file_offset = 1;
}

static void break_mapping(struct damage *x)
{
    WRITABLE(struct batch_mapping, x->d->mappings)[1].filename = x->d->string_count;
}

static void break_location_zero(struct damage *x)
{
    WRITABLE(struct batch_location, x->d->locations)[0].address = 1;
}

static void break_location_mapping(struct damage *x)
{
    WRITABLE(struct batch_location, x->d->locations)[1].mapping = x->d->mapping_count;
}

static void break_location_set(struct damage *x)
{
    WRITABLE(struct batch_location, x->d->locations)[1].attribute_set = x->d->attribute_set_count;
}

static void break_location_lines(struct damage *x)
{
    WRITABLE(struct batch_location, x->d->locations)[1].line_count = x->d->line_count + 1;
}

static void break_line(struct damage *x)
{
    WRITABLE(struct batch_line, x->d->lines)[0].function = x->d->function_count;
}

static void break_function_zero(struct damage *x)
{
    WRITABLE(struct batch_function, x->d->functions)[0].start_line = 1;
}

static void break_function(struct damage *x)
{
    WRITABLE(struct batch_function, x->d->functions)[1].system_name = UINT32_MAX;
}

static void break_link_zero(struct damage *x)
{
    WRITABLE(struct batch_link, x->d->links)[0].span_id[7] = 1;
}

static void break_attribute_zero(struct damage *x)
{
    WRITABLE(struct batch_attribute, x->d->attributes)[0].unit = 1;
}

static void break_attribute(struct damage *x)
{
    WRITABLE(struct batch_attribute, x->d->attributes)[1].key = x->d->string_count;
}

static void break_stack_range(struct damage *x)
{
    WRITABLE(struct batch_range, x->d->stacks)[1].count = UINT32_MAX;
}

static void break_stack_location(struct damage *x)
{
    WRITABLE(uint8_t, x->d->stack_bytes)[0] = (uint8_t)x->d->location_count;
}

static void break_stack_varint(struct damage *x)
{
    WRITABLE(uint8_t, x->d->stack_bytes)[0] = 0x80;
}

static void break_every_location_used(struct damage *x)
{
    x->d->every_location_used = true;
    WRITABLE(uint8_t, x->d->stack_bytes)[0] = 0;
}

static void break_set_member(struct damage *x)
{
    column(x->d->set_attributes)[0] = x->d->attribute_count;
}

static void break_set_keys(struct damage *x)
{
    struct batch_range r = x->d->attribute_sets[1];
    column(x->d->set_attributes)[r.start] = x->d->set_attributes[r.start + 1];
}

static void break_sample_stack(struct damage *x)
{
    column(x->c->stacks)[1] = x->d->stack_count;
}

static void break_sample_set(struct damage *x)
{
    column(x->c->attribute_sets)[1] = x->d->attribute_set_count;
}

static void break_zero_column(struct damage *x)
{
    memset(column(x->c->attribute_sets), 0, x->c->sample_count * sizeof(uint32_t));
}

static void break_sample_link(struct damage *x)
{
    column(x->c->links)[0] = x->d->link_count;
}

static void break_counts(struct damage *x)
{
    x->o->sample_count--;
}

static void break_shape(struct damage *x)
{
    column(x->o->timestamp_ends)[0]--;
    column(x->o->timestamp_ends)[1]--;
}

static void break_order_of_ends(struct damage *x)
{
    column(x->o->value_ends)[1] = 0;
}

static void break_sample_type(struct damage *x)
{
    x->p->sample_type.type = x->d->string_count;
}

static void break_profile_set(struct damage *x)
{
    x->p->attribute_set = x->d->attribute_set_count;
}

static void break_payload(struct damage *x)
{
    x->p->original_payload_format = BYTES_LITERAL("pprof");
}

static void break_profile_id(struct damage *x)
{
    x->p->has_profile_id = true;
}

static void break_totals(struct damage *x)
{
    x->batch->sample_count++;
}

static void add_samples(struct builder *b, uint32_t stack, uint32_t set, uint32_t link)
{
    struct sample_writer columns;
    struct observation_writer observations;
    sample_writer_init(&columns, b);
    observation_writer_init(&observations, b);
    int64_t values[] = {1, 2};
    uint64_t at[] = {3, 4};
    sample_writer_add(&columns, stack, set, link);
    sample_writer_add(&columns, stack, 0, 0);
    observation_writer_add(&observations, values, 2, at, 2);
    observation_writer_add_value(&observations, 5);
    struct profile p = {.columns = sample_writer_take(&columns),
                        .observations = observation_writer_take(&observations)};
    builder_profile(b, &p);
}

static struct batch *whole_batch(void)
{
    struct builder *b = builder_create(0);
    uint32_t k = builder_string_text(b, "k"), l = builder_string_text(b, "l");
    struct value v = value_int(1);
    uint32_t ids[] = {builder_attribute(b, k, 0, &v), builder_attribute(b, l, 0, &v)};
    uint32_t set = builder_attribute_set(b, ids, 2);
    struct batch_mapping m = {.filename = k, .attribute_set = set};
    struct batch_line line = {.function = builder_function(b, &(struct batch_function){.name = k})};
    struct batch_location location = {.mapping = builder_mapping(b, &m), .attribute_set = set};
    uint32_t id = builder_location(b, &location, &line, 1);
    uint32_t stack = builder_stack(b, &id, 1), link = builder_link(b, &(struct batch_link){.span_id = {1}});
    struct bytes none = {NULL, 0};
    builder_resource(b, NULL, 0, 0, none);
    builder_scope(b, none, none, NULL, 0, 0, none);
    add_samples(b, stack, set, link);
    return finish(b);
}

static void each_damage_is_noticed(void **state)
{
    (void)state;
    static void (*const damages[])(struct damage *) = {
        break_string_zero,
        break_string_text,
        break_string_twice,
        break_mapping_zero,
        break_mapping,
        break_location_zero,
        break_location_mapping,
        break_location_set,
        break_location_lines,
        break_line,
        break_function_zero,
        break_function,
        break_link_zero,
        break_attribute_zero,
        break_attribute,
        break_stack_range,
        break_stack_location,
        break_set_member,
        break_set_keys,
        break_sample_stack,
        break_sample_set,
        break_zero_column,
        break_sample_link,
        break_counts,
        break_shape,
        break_order_of_ends,
        break_sample_type,
        break_profile_set,
        break_payload,
        break_profile_id,
        break_totals,
        break_stack_varint,
        break_every_location_used,
    };
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        struct batch *b = whole_batch();
        assert_valid(b, i);
        struct profile *p = WRITABLE(struct profile, b->resources[0]->scopes[0]->profiles);
        struct damage damage = {b, b->dictionary, p, p->columns, p->observations};
        damages[i](&damage);
        struct err e = {0};
        if (batch_validate(b, &e) != ERR_INVALID)
            fail_msg("damage %zu is not noticed", i);
        assert_true(e.text[0] != 0);
        batch_unref(&b);
    }
}

static void errors_name_the_place(void **state)
{
    (void)state;
    struct batch *b = whole_batch();
    column(b->resources[0]->scopes[0]->profiles[0].columns->stacks)[1] = 99;
    struct err e = {0};
    assert_int_equal(batch_validate(b, &e), ERR_INVALID);
    assert_string_equal(e.text, "resource 0, scope 0, profile 0: sample 1: stack 99 is not below 2");
    batch_unref(&b);
}

static bool validate(void *arg, struct err *e)
{
    return batch_validate(arg, e) == ERR_OK;
}

static void validating_survives_failing_memory(void **state)
{
    (void)state;
    struct batch *b = whole_batch();
    run_with_failing_memory(validate, b);
    batch_unref(&b);
}

static void random_batches_are_valid(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct batch *b = random_batch(seed, NULL);
        assert_valid(b, seed);
        batch_unref(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_damage_is_noticed),
        cmocka_unit_test(errors_name_the_place),
        cmocka_unit_test(validating_survives_failing_memory),
        cmocka_unit_test(random_batches_are_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
