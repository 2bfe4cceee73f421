// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "processors/processors.h"
#include "profile/builder.h"
#include "profile/validate.h"
#include "tests/support/fake_env.h"
#include "tests/support/random_batch.h"

#include <stdlib.h>

#define TEXT(text) value_string(BYTES_LITERAL(text))

static const struct bytes none = {NULL, 0};

static uint32_t one_attribute(struct builder *b, const char *key, const char *unit, struct value v)
{
    uint32_t id = builder_attribute(b, builder_string_text(b, key), builder_string_text(b, unit), &v);
    return builder_attribute_set(b, &id, 1);
}

// Two sample types that share four samples: threads 1, 1, 2 and none.
static void add_profiles(struct builder *b, const char *process)
{
    struct sample_writer w;
    sample_writer_init(&w, b);
    uint32_t one = one_attribute(b, "thread", "number", value_int(1));
    uint32_t two = one_attribute(b, "thread", "", TEXT("two"));
    sample_writer_add(&w, 0, one, 0);
    sample_writer_add(&w, 0, one, 0);
    sample_writer_add(&w, 0, two, 0);
    sample_writer_add(&w, 0, 0, 0);
    struct columns *columns = sample_writer_take(&w);
    sample_writer_fini(&w);
    for (int type = 0; type < 2; type++) {
        struct observation_writer o;
        observation_writer_init(&o, b);
        for (int i = 0; i < 4; i++)
            observation_writer_add_value(&o, i);
        struct profile p = {.columns = columns_ref(columns),
                            .observations = observation_writer_take(&o),
                            .attribute_set = one_attribute(b, "process", "", value_string(bytes_from_text(process)))};
        observation_writer_fini(&o);
        builder_profile(b, &p);
    }
    columns_unref(&columns);
}

static struct batch *make_batch(void)
{
    struct err e;
    struct batch *batch;
    struct builder *b = builder_create(0);
    static const char *const services[] = {"cart", "shop"};
    for (int i = 0; i < 2; i++) {
        const struct key_value service[] = {{BYTES_LITERAL("service.name"), value_string(bytes_from_text(services[i]))},
                                            {BYTES_LITERAL("shard"), value_int(i)}};
        builder_resource(b, service, 2, 0, none);
        builder_scope(b, BYTES_LITERAL("go"), BYTES_LITERAL("1.2"), NULL, 0, 0, none);
        add_profiles(b, "main");
        const struct key_value mark = {BYTES_LITERAL("mark"), value_bool(true)};
        builder_scope(b, BYTES_LITERAL("java"), BYTES_LITERAL("1.3"), &mark, 1, 0, none);
        add_profiles(b, "gc");
    }
    assert_int_equal(builder_finish(b, &batch, &e), ERR_OK);
    builder_destroy(&b);
    return batch;
}

static void print_list(struct buf *out, const struct key_value *list, uint32_t count)
{
    struct value v = {.kind = VALUE_KVLIST, .count = count, .entries = list};
    value_print(out, &v);
}

static void print_set(struct buf *out, const struct dictionary *d, uint32_t set)
{
    struct batch_range range = d->attribute_sets[set];
    buf_add_byte(out, '{');
    for (uint32_t i = 0; i < range.count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[range.start + i]];
        buf_add_format(out, "%s%.*s:", i == 0 ? "" : ",", BYTES_PRINT(d->strings[a->key]));
        value_print(out, &a->value);
        buf_add_format(out, "%.*s", BYTES_PRINT(d->strings[a->unit]));
    }
    buf_add_byte(out, '}');
}

static void print_profiles(struct buf *out, const struct batch *b, const struct scope *s, char level)
{
    assert_ptr_equal(s->profiles[0].columns, s->profiles[1].columns);
    const struct profile *p = &s->profiles[0];
    if (level == 'p')
        print_set(out, b->dictionary, p->attribute_set);
    for (uint32_t i = 0; level == 's' && i < p->columns->sample_count; i++)
        print_set(out, b->dictionary, p->columns->attribute_sets == NULL ? 0 : p->columns->attribute_sets[i]);
}

// The attributes at one level (r, c, p or s), a space between resources.
static char *level_text(const struct batch *b, char level)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    for (uint32_t r = 0; r < b->resource_count; r++) {
        const struct resource *resource = b->resources[r];
        buf_add_text(&out, r == 0 ? "" : " ");
        if (level == 'r')
            print_list(&out, resource->attributes, resource->attribute_count);
        for (uint32_t s = 0; s < resource->scope_count; s++) {
            if (level == 'c')
                print_list(&out, resource->scopes[s]->attributes, resource->scopes[s]->attribute_count);
            print_profiles(&out, b, resource->scopes[s], level);
        }
    }
    buf_add_byte(&out, '\0');
    assert_true(buf_ok(&out));
    return (char *)buf_take(&out, &(size_t){0});
}

static enum err_code process(struct fake_component *c, struct batch **b, struct err *e)
{
    struct processor *p = (struct processor *)c->instance.component;
    return p->module->process(p, b, &(const struct sender){0}, e);
}

struct fixture {
    struct fake_env env;
    struct fake_component component;
};

static struct fixture *make_processor(const char *yaml)
{
    struct fixture *f = MEM_NEW(struct fixture);
    fake_env_init(&f->env, 1);
    fake_component_init(&f->component, &f->env, KIND_PROCESSOR, &attributes_processor.module, yaml);
    return f;
}

static void drop_processor(struct fixture *f)
{
    fake_component_fini(&f->component);
    fake_env_fini(&f->env);
    free(f);
}

static void assert_level(const char *yaml, char level, const char *expected)
{
    struct fixture *f = make_processor(yaml);
    struct batch *b = make_batch(), *before = batch_ref(b);
    struct err e = {0};
    assert_int_equal(process(&f->component, &b, &e), ERR_OK);
    assert_int_equal(batch_validate(b, &e), ERR_OK);
    char *text = level_text(b, level), *was = level_text(before, level);
    if (expected == NULL) {
        assert_ptr_equal(b, before);
    } else {
        assert_string_equal(text, expected);
        assert_string_not_equal(text, was);
    }
    for (const char *other = "rcps"; *other != '\0'; other++) {
        char *a = level_text(before, *other), *z = level_text(b, *other);
        if (*other != level)
            assert_string_equal(a, z);
        free(a);
        free(z);
    }
    free(text);
    free(was);
    batch_unref(&b);
    batch_unref(&before);
    drop_processor(f);
}

#define CART "{\"service.name\":\"cart\",\"shard\":0"
#define SHOP "{\"service.name\":\"shop\",\"shard\":1"
#define SAMPLES "{thread:1number}{thread:1number}{thread:two}{}"

static void each_level_is_changed_alone(void **state)
{
    (void)state;
    assert_level("{level: resource, actions: [{key: x, action: insert, value: 1}]}", 'r',
                 CART ",\"x\":1} " SHOP ",\"x\":1}");
    assert_level("{level: scope, actions: [{key: x, action: insert, value: 1}]}", 'c',
                 "{\"x\":1}{\"mark\":true,\"x\":1} {\"x\":1}{\"mark\":true,\"x\":1}");
    assert_level("{level: profile, actions: [{key: process, action: update, value: 1}]}", 'p',
                 "{process:1}{process:1} {process:1}{process:1}");
    assert_level("{actions: [{key: x, action: insert, value: 1}]}", 's',
                 "{thread:1number,x:1}{thread:1number,x:1}{thread:two,x:1}{x:1}"
                 "{thread:1number,x:1}{thread:1number,x:1}{thread:two,x:1}{x:1} "
                 "{thread:1number,x:1}{thread:1number,x:1}{thread:two,x:1}{x:1}"
                 "{thread:1number,x:1}{thread:1number,x:1}{thread:two,x:1}{x:1}");
    assert_level("{level: sample, actions: [{key: thread, action: delete}]}", 's', "{}{}{}{}{}{}{}{} {}{}{}{}{}{}{}{}");
    assert_level("{level: sample, actions: [{key: nothing, action: delete}]}", 's', NULL);
}

// A unit goes with the value it belongs to: copied, kept by another number, not by a hash.
static void units_stay_with_values(void **state)
{
    (void)state;
#define TWICE(set) set set " " set set
    assert_level(
        "{actions: [{key: t, from_attribute: thread, action: insert}, {key: thread, action: update, value: 9}]}", 's',
        TWICE("{thread:9number,t:1number}{thread:9number,t:1number}{thread:9,t:two}{}"));
    assert_level("{actions: [{key: thread, action: hash}, {key: thread, action: extract, pattern: '^(?P<thread>.)'}]}",
                 's', TWICE("{thread:7}{thread:7}{thread:3}{}"));
}

static void include_and_exclude_choose(void **state)
{
    (void)state;
#define X "{level: sample, actions: [{key: thread, action: delete}], "
#define GONE "{}{}{}{}"
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {X "include: {match_type: strict, services: [cart]}}", GONE GONE " " SAMPLES SAMPLES},
        {X "exclude: {match_type: strict, services: [x, cart]}}", SAMPLES SAMPLES " " GONE GONE},
        {X "include: {match_type: regexp, services: ['^c']}}", GONE GONE " " SAMPLES SAMPLES},
        {X "include: {match_type: regexp, services: ['zz', 'ho']}}", SAMPLES SAMPLES " " GONE GONE},
        {X "include: {match_type: strict, resources: [{key: shard, value: 1}]}}", SAMPLES SAMPLES " " GONE GONE},
        {X "include: {match_type: regexp, resources: [{key: shard, value: '^1$'}]}}", SAMPLES SAMPLES " " GONE GONE},
        {X "include: {match_type: strict, resources: [{key: shard}]}}", GONE GONE " " GONE GONE},
        {X "include: {match_type: strict, libraries: [{name: go}]}}", GONE SAMPLES " " GONE SAMPLES},
        {X "include: {match_type: strict, libraries: [{name: go}, {name: java, version: '1.3'}]}}",
         GONE GONE " " GONE GONE},
        {X "exclude: {match_type: regexp, libraries: [{name: o, version: ^1}]}}", SAMPLES GONE " " SAMPLES GONE},
        {X "include: {match_type: strict, attributes: [{key: thread, value: 1}]}}", TWICE("{}{}{thread:two}{}")},
        {X "exclude: {match_type: regexp, attributes: [{key: thread, value: o}]}}", TWICE("{}{}{thread:two}{}")},
        // all conditions of one block must hold
        {X "include: {match_type: strict, services: [cart], libraries: [{name: java}]}}",
         SAMPLES GONE " " SAMPLES SAMPLES},
        {X "exclude: {match_type: strict, libraries: [{name: java}], attributes: [{key: thread, value: two}]}}",
         GONE "{}{}{thread:two}{} " GONE "{}{}{thread:two}{}"},
        {X "include: {match_type: strict, services: [shop]}, exclude: {match_type: strict, libraries: [{name: go}]}}",
         SAMPLES SAMPLES " " SAMPLES GONE},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_level(cases[i].yaml, 's', cases[i].expected);
    static const char *const unmatched[] = {
        X "include: {match_type: strict, services: [c]}}",
        X "include: {match_type: strict, resources: [{key: shard, value: '1'}]}}",
        X "include: {match_type: strict, resources: [{key: shard, value: 1}, {key: service.name, value: cart}]}}",
        X "include: {match_type: strict, libraries: [{name: go, version: ''}]}}",
        X "include: {match_type: strict, attributes: [{key: other}]}}",
        X "exclude: {match_type: strict, attributes: [{key: thread}]}}",
    };
    for (size_t i = 0; i < COUNT_OF(unmatched); i++)
        assert_level(unmatched[i], 's', NULL);
    assert_level("{level: resource, actions: [{key: shard, action: delete}],"
                 " include: {match_type: strict, attributes: [{key: shard, value: 0}]}}",
                 'r', "{\"service.name\":\"cart\"} " SHOP "}");
    assert_level("{level: scope, actions: [{key: x, action: insert, value: 1}],"
                 " include: {match_type: strict, libraries: [{name: go}], services: [shop]}}",
                 'c', "{}{\"mark\":true} {\"x\":1}{\"mark\":true}");
}

static void a_failed_allocation_leaves_the_batch(void **state)
{
    (void)state;
    static const char *const levels[] = {"resource", "scope", "profile", "sample"};
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        char yaml[256];
        snprintf(yaml, sizeof yaml,
                 "{level: %s, actions: [{key: new, action: insert, value: x}, {key: thread, action: hash},"
                 " {key: new, action: extract, pattern: '(?P<other>.)'}],"
                 " exclude: {match_type: regexp, services: [shop]}}",
                 levels[i]);
        struct fixture *f = make_processor(yaml);
        struct batch *b = make_batch(), *before = b;
        struct err e = {0};
        enum err_code rc = ERR_MEMORY;
        size_t n = 1;
        for (; rc != ERR_OK; n++) {
            assert_in_range(n, 1, 300);
            mem_fail_from(n);
            rc = process(&f->component, &b, &e);
            mem_fail_from(0);
            assert_int_equal(rc, rc == ERR_OK ? ERR_OK : ERR_MEMORY);
            assert_int_equal(b == before, rc != ERR_OK);
        }
        assert_in_range(n, 4, 300);
        batch_unref(&b);
        drop_processor(f);
    }
}

static void any_batch_stays_valid(void **state)
{
    (void)state;
    static const char *const levels[] = {"resource", "scope", "profile", "sample"};
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        char yaml[512];
        snprintf(yaml, sizeof yaml,
                 "{level: %s, actions: [{pattern: '[13579]$', action: delete}, {pattern: 'm', action: hash},"
                 " {key: a b7, action: upsert, from_attribute: main3, default_value: [1, {k: v}]},"
                 " {key: a b7, action: convert, converted_type: string},"
                 " {key: a b7, action: extract, pattern: '(?P<q>.)(?P<r>.)?'}]}",
                 levels[i]);
        struct fixture *f = make_processor(yaml);
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct batch *b = random_batch(seed, NULL);
            struct err e = {0};
            for (int round = 0; round < 2; round++) {
                assert_int_equal(process(&f->component, &b, &e), ERR_OK);
                if (batch_validate(b, &e) != ERR_OK)
                    fail_msg("%s, seed %u: %s", levels[i], (unsigned)seed, e.text);
            }
            batch_unref(&b);
        }
        drop_processor(f);
    }
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
#define A "actions: [{key: a, action: delete}]\n"
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"{}", "test:1:1: processors.attributes: the key \"actions\" is required\n"},
        {"actions: []", "test:1:1: processors.attributes: actions: needs at least one action\n"},
        {"actions:\n- {key: a, action: insert}",
         "test:2:3: processors.attributes: actions[0]: insert needs `value` or `from_attribute`\n"},
        {A "include: {services: [a]}",
         "test:2:10: processors.attributes: include: the key \"match_type\" is required\n"},
        {A "include: {match_type: strict}",
         "test:2:1: processors.attributes: include: needs at least one of services, resources, attributes and "
         "libraries\n"},
        {A "exclude: {match_type: regexp, services: [a, '(']}",
         "test:2:1: processors.attributes: exclude: services[1]: \"(\" is no regular expression: missing ): (\n"},
        {A "exclude: {match_type: regexp, attributes: [{key: a, value: 1}]}",
         "test:2:1: processors.attributes: exclude: attributes[0]: the value must be a text, because match_type is "
         "regexp\n"},
        {A "level: resource\ninclude: {match_type: strict, libraries: [{name: a}]}",
         "test:3:1: processors.attributes: include: libraries has no meaning at the level of resources\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fake_env f;
        void *settings;
        fake_env_init(&f, 1);
        char *text = fake_settings(&f, KIND_PROCESSOR, &attributes_processor.module, cases[i].yaml, &settings);
        assert_string_equal(text, cases[i].expected);
        free(text);
        fake_env_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_level_is_changed_alone), cmocka_unit_test(units_stay_with_values),
        cmocka_unit_test(include_and_exclude_choose),  cmocka_unit_test(a_failed_allocation_leaves_the_batch),
        cmocka_unit_test(any_batch_stays_valid),       cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
