// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/processors/fixture.h"

#include "profile/origin.h"
#include "tests/support/fake_origin.h"

#define SAMPLES(...) ((const struct test_sample[]){__VA_ARGS__, {0, NULL, 0}})

static const struct test_sample none[] = {{0, NULL, 0}};

// --- attributes and sample types ---

// Two services; the second has a profile without samples.
static struct batch *shop(void)
{
    struct builder *b = builder_create(0);
    add_service(b, "cart");
    add_profile(b,
                &(struct test_profile){"cpu", "env=prod", SAMPLES({0, "thread=1", 1}, {0, "thread=2", 2}, {0, "", 4})});
    add_profile(b, &(struct test_profile){"wall", "env=test", SAMPLES({0, "thread=1", 8})});
    add_service(b, "mail");
    add_profile(b, &(struct test_profile){"cpu", "env=prod", SAMPLES({0, "thread=1", 16})});
    add_profile(b, &(struct test_profile){"jfr", "env=test", none});
    return finish(b);
}

static const char cart_text[] = "service.name=cart\n- cpu{env=prod}: {thread=1}1 {thread=2}2 {}4\n"
                                "  wall{env=test}: {thread=1}8\n",
                  mail_text[] = "service.name=mail\n- cpu{env=prod}: {thread=1}16\n  jfr{env=test}:\n";

static void matchers_drop_at_each_level(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"{level: resource, include: {match_type: strict, services: [cart]}}", cart_text},
        {"{level: resource, exclude: {match_type: regexp, services: ['^c']}}", mail_text},
        {"{level: resource, include: {match_type: strict, attributes: [{key: service.name, value: mail}]}}", mail_text},
        {"{level: resource, include: {match_type: strict, resources: [{key: none}]}}", ""},
        {"{level: scope, include: {match_type: strict, libraries: [{name: other}]}}", ""},
        {"{level: scope, exclude: {match_type: strict, services: [cart], libraries: [{name: scope}]}}", mail_text},
        {"{level: profile, exclude: {match_type: strict, attributes: [{key: env, value: test}]}}",
         "service.name=cart\n- cpu{env=prod}: {thread=1}1 {thread=2}2 {}4\n"
         "service.name=mail\n- cpu{env=prod}: {thread=1}16\n"},
        {"{level: profile, include: {match_type: regexp, attributes: [{key: env, value: 'te.t'}]},"
         " exclude: {match_type: strict, services: [cart]}}",
         "service.name=mail\n- jfr{env=test}:\n"},
        {"{include: {match_type: strict, attributes: [{key: thread, value: '1'}]}}",
         "service.name=cart\n- cpu{env=prod}: {thread=1}1\n  wall{env=test}: {thread=1}8\n"
         "service.name=mail\n- cpu{env=prod}: {thread=1}16\n"},
        {"{exclude: {match_type: strict, services: [cart], attributes: [{key: thread, value: '1'}]}}",
         "service.name=cart\n- cpu{env=prod}: {thread=2}2 {}4\n"
         "service.name=mail\n- cpu{env=prod}: {thread=1}16\n  jfr{env=test}:\n"},
        {"{exclude: {match_type: strict, services: [mail]}}", cart_text},
        {"{exclude: {match_type: strict, attributes: [{key: none}]}}", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char both[400];
        snprintf(both, sizeof both, "%s%s", cart_text, mail_text);
        assert_processed(&filter_processor, cases[i].yaml, shop(),
                         cases[i].expected == NULL ? both : cases[i].expected);
    }
}

static void sample_types_drop_profiles(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"sample_types: {include: [wall]}", "service.name=cart\n- wall{env=test}: {thread=1}8\n"},
        {"sample_types: {include: wall/}", "service.name=cart\n- wall{env=test}: {thread=1}8\n"},
        {"sample_types: {include: [wall/ms, al]}", ""},
        {"sample_types: {match_type: regexp, include: ['^(cpu|jfr)/$'], exclude: [c]}",
         "service.name=mail\n- jfr{env=test}:\n"},
        {"{level: resource, include: {match_type: strict, services: [mail]}, sample_types: {exclude: [jfr]}}",
         "service.name=mail\n- cpu{env=prod}: {thread=1}16\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_processed(&filter_processor, cases[i].yaml, shop(), cases[i].expected);
}

static void what_stays_is_shared(void **state)
{
    (void)state;
    struct batch *b = shop(), *out;
    out = processed(&filter_processor, "{level: profile, exclude: {match_type: strict, attributes: [{key: none}]}}",
                    batch_ref(b));
    assert_ptr_equal(out, b);
    batch_unref(&out);
    out = processed(&filter_processor, "{exclude: {match_type: strict, services: [cart]}}", batch_ref(b));
    assert_ptr_equal(out->resources[0], b->resources[1]);
    assert_ptr_equal(out->dictionary, b->dictionary);
    batch_unref(&out);
    batch_unref(&b);
}

static void resources_are_dropped_unread(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        bool unread;
    } cases[] = {
        {"{level: resource, include: {match_type: strict, services: [cart]}}", true},
        {"{level: scope, include: {match_type: strict, services: [cart]}}", false},
        {"{level: resource, include: {match_type: strict, services: [cart]}, sample_types: {include: cpu}}", false},
        {"{level: resource, include: {match_type: strict, services: [cart]}, frames: {drop: [{name: x}]}}", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct test_run r;
        run_begin(&r, &filter_processor, cases[i].yaml);
        assert_int_equal(((struct processor *)r.component.instance.component)->takes_unread, cases[i].unread);
        run_end(&r);
    }
    struct fake_origin *origin;
    struct batch *read = shop(), *b = fake_unread_batch(read, 100, &origin);
    assert_true(batch_is_unread(b));
    b = processed(&filter_processor, cases[0].yaml, b);
    assert_true(batch_is_unread(b));
    assert_int_equal(b->resource_count, 1);
    assert_int_equal(b->sample_count, 4);
    batch_unref(&b);
    batch_unref(&read);
}

// Judged with nothing but the samples at hand: those that stay are exactly those with the attribute.
static void include_and_exclude_are_each_others_rest(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct batch *b = random_batch(seed, NULL);
        struct batch *in = processed(&filter_processor, "include: {match_type: strict, attributes: [{key: x1}]}",
                                     batch_ref(b)),
                     *out = processed(&filter_processor, "exclude: {match_type: strict, attributes: [{key: x1}]}",
                                      batch_ref(b));
        const struct totals all = totals_of(b), a = totals_of(in), c = totals_of(out);
        assert_int_equal(a.samples + c.samples, all.samples);
        assert_true(a.sum + c.sum == all.sum);
        assert_int_equal(a.timestamps + c.timestamps, all.timestamps);
        batch_unref(&in);
        batch_unref(&out);
        batch_unref(&b);
    }
}

// What is long is looked at once, whoever refers to it: attributes of samples, the resource, the scope, types, functions.
static void long_texts_are_looked_at_once(void **state)
{
    (void)state;
    enum { MANY = 8000 };
    static const char *const cases[] = {
        "exclude: {match_type: regexp, attributes: [{key: a, value: 'x.*y'}]}",
        "{level: scope, exclude: {match_type: regexp, attributes: [{key: a, value: 'x.*y'}]}}",
        "{level: profile, exclude: {match_type: regexp, resources: [{key: a, value: 'x.*y'}]}}",
        "sample_types: {match_type: regexp, exclude: ['x.*y']}",
        "frames: {drop: [{name: 'x.*y'}, {file: 'x.*y'}, {mapping: 'x.*y'}]}",
    };
    const struct key_value own = {BYTES_LITERAL("a"), value_string(long_text())};
    struct builder *b = builder_create(0);
    struct sample_writer samples;
    builder_resource(b, &own, 1, 0, nothing);
    builder_scope(b, BYTES_LITERAL("scope"), nothing, &own, 1, 0, nothing);
    sample_writer_init(&samples, b);
    const uint32_t text = builder_string(b, long_text()),
                   long_value = builder_attribute(b, builder_string_text(b, "a"), 0, &own.value);
    for (int i = 0; i < MANY; i++) {
        const struct value v = value_int(i);
        const uint32_t ids[] = {long_value, builder_attribute(b, builder_string_text(b, "n"), 0, &v)};
        const struct batch_mapping m = {.memory_start = (uint64_t)i, .filename = text};
        const struct batch_function f = {.name = text, .filename = text, .start_line = i};
        const struct batch_line line = {.function = builder_function(b, &f), .line = 1};
        const uint32_t location = builder_location(
            b, &(struct batch_location){.mapping = builder_mapping(b, &m), .address = (uint64_t)i}, &line, 1);
        sample_writer_add(&samples, builder_stack(b, &location, 1), builder_attribute_set(b, ids, 2), 0);
    }
    add_written(b, &samples, MANY, (struct profile){.sample_type = {text, text}});
    for (int i = 0; i < MANY; i++) {
        struct sample_writer none_of_it;
        sample_writer_init(&none_of_it, b);
        add_written(b, &none_of_it, 0, (struct profile){.sample_type = {text, text}, .time_nanos = (uint64_t)i});
    }
    struct batch *batch = finish(b);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_quick(&filter_processor, cases[i], batch_ref(batch));
    batch_unref(&batch);
}

// --- frames ---

static uint32_t function_of(struct builder *b, const char *name, const char *file)
{
    return builder_function(
        b, &(struct batch_function){.name = builder_string_text(b, name), .filename = builder_string_text(b, file)});
}

static uint32_t location_of(struct builder *b, uint32_t mapping, const char *const *names, uint32_t count)
{
    struct batch_line lines[4];
    for (uint32_t i = 0; i < count; i++)
        lines[i] =
            (struct batch_line){.function = function_of(b, names[i], names[i][0] == 'r' ? "rt.c" : "app.c"), .line = 1};
    return builder_location(b, &(struct batch_location){.mapping = mapping, .address = 16 + count}, lines, count);
}

// "work" over "run" (with "rt_in" inlined) over "main"; "unknown" is a location in libc without lines.
static struct batch *frames(void)
{
    struct builder *b = builder_create(0);
    add_service(b, "app");
    const uint32_t app = builder_mapping(
                       b, &(struct batch_mapping){.memory_start = 1, .filename = builder_string_text(b, "/bin/app")}),
                   libc =
                       builder_mapping(b, &(struct batch_mapping){
                                              .memory_start = 2, .filename = builder_string_text(b, "/lib/libc.so.6")});
    const uint32_t work = location_of(b, app, (const char *const[]){"work"}, 1),
                   other = location_of(b, app, (const char *const[]){"other"}, 1),
                   run = location_of(b, app, (const char *const[]){"rt_in", "exec"}, 2),
                   start = location_of(b, libc, (const char *const[]){"start"}, 1),
                   unknown = location_of(b, libc, NULL, 0);
    const uint32_t long_stack = builder_stack(b, (uint32_t[]){work, run, start}, 3),
                   short_stack = builder_stack(b, (uint32_t[]){other, start}, 2),
                   system_stack = builder_stack(b, (uint32_t[]){unknown, start}, 2),
                   rest = builder_stack(b, (uint32_t[]){work, run}, 2);
    add_profile(b, &(struct test_profile){"cpu", "",
                                          SAMPLES({long_stack, "t=1", 1}, {short_stack, "", 2}, {system_stack, "", 4},
                                                  {rest, "t=1", 8}, {0, "", 16})});
    return finish(b);
}

static void frames_go_out_of_stacks(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *expected;
    } cases[] = {
        {"{mapping: libc}", "work;rt_in+exec{t=1}1 other{}2 {}4 work;rt_in+exec{t=1}8 {}16"},
        {"{name: '^start$'}", "work;rt_in+exec{t=1}1 other{}2 ?{}4 work;rt_in+exec{t=1}8 {}16"},
        {"{file: rt.c}", "work;exec;start{t=1}1 other;start{}2 ?;start{}4 work;exec{t=1}8 {}16"},
        {"{name: exec|rt_}", "work;start{t=1}1 other;start{}2 ?;start{}4 work{t=1}8 {}16"},
        {"{name: work, mapping: libc}",
         "work;rt_in+exec;start{t=1}1 other;start{}2 ?;start{}4 work;rt_in+exec{t=1}8 {}16"},
        {"{name: work, mapping: app}, {name: other}",
         "rt_in+exec;start{t=1}1 start{}2 ?;start{}4 rt_in+exec{t=1}8 {}16"},
        {"{mapping: ''}", "{t=1}1 {}2 {}4 {t=1}8 {}16"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[100], expected[200];
        snprintf(yaml, sizeof yaml, "frames: {drop: [%s]}", cases[i].rule);
        snprintf(expected, sizeof expected, "service.name=app\n- cpu{}: %s\n", cases[i].expected);
        assert_processed(&filter_processor, yaml, frames(), expected);
    }
}

static bool has_string(const struct dictionary *d, const char *text)
{
    for (uint32_t i = 0; i < d->string_count; i++)
        if (bytes_equal_text(d->strings[i], text))
            return true;
    return false;
}

static void the_dictionary_is_pruned(void **state)
{
    (void)state;
    struct batch *b = frames(), *out = processed(&filter_processor, "frames: {drop: [{mapping: libc}]}", batch_ref(b));
    assert_true(has_string(b->dictionary, "start") && has_string(b->dictionary, "/lib/libc.so.6"));
    assert_false(has_string(out->dictionary, "start"));
    assert_false(has_string(out->dictionary, "/lib/libc.so.6"));
    assert_true(has_string(out->dictionary, "work"));
    // Stacks that became equal are one in the dictionary; samples stay apart.
    assert_int_equal(out->dictionary->stack_count, 3);
    assert_int_equal(out->sample_count, b->sample_count);
    batch_unref(&out);
    out = processed(&filter_processor, "frames: {match_type: strict, drop: [{name: sta}]}", batch_ref(b));
    assert_ptr_equal(out, b);
    batch_unref(&out);
    batch_unref(&b);
}

// Names of all frames of a sample but those that are dropped, from the batch as it was.
static void expected_frames(struct buf *out, const struct dictionary *d, uint32_t stack, const char *name)
{
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, d, stack);
    while (stack_next(&r, &location)) {
        const struct batch_location *l = &d->locations[location];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < l->line_count; i++) {
            const struct batch_function *f = &d->functions[d->lines[l->line_start + i].function];
            struct bytes text = d->strings[f->name != 0 ? f->name : f->system_name];
            if (name != NULL && bytes_equal_text(text, name))
                continue;
            kept++;
            buf_add(out, text.data, text.len);
            buf_add_format(out, ":%d ", (int)d->lines[l->line_start + i].line);
        }
        if (kept > 0 || l->line_count == 0)
            buf_add_format(out, "@%" PRIx64 ";", l->address);
    }
    buf_add_byte(out, '\n');
}

static char *all_frames(const struct batch *b, const char *name)
{
    struct buf out;
    buf_init(&out, 1 << 24);
    for (uint32_t r = 0; r < b->resource_count; r++)
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            for (uint32_t p = 0; p < b->resources[r]->scopes[s]->profile_count; p++) {
                const struct columns *c = b->resources[r]->scopes[s]->profiles[p].columns;
                for (uint32_t i = 0; i < c->sample_count; i++)
                    expected_frames(&out, b->dictionary, c->stacks[i], name);
            }
    buf_add_byte(&out, '\0');
    assert_true(buf_ok(&out));
    return (char *)buf_take(&out, &(size_t){0});
}

static void stacks_lose_these_frames_and_no_others(void **state)
{
    (void)state;
    static const char *const names[] = {"main1", "x1", "a b2", "x7", "runtime.gc3"};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const char *name = names[seed % COUNT_OF(names)];
        char yaml[100];
        snprintf(yaml, sizeof yaml, "frames: {match_type: strict, drop: [{name: '%s'}]}", name);
        struct batch *b = random_batch(seed, NULL), *out = processed(&filter_processor, yaml, batch_ref(b));
        char *expected = all_frames(b, name), *is = all_frames(out, NULL);
        assert_string_equal(is, expected);
        assert_same_totals(b, out);
        free(expected);
        free(is);
        batch_unref(&out);
        batch_unref(&b);
    }
}

// The original file would still have what was to go.
static void a_shorter_profile_loses_its_payload(void **state)
{
    (void)state;
    const struct random_batch_options *o = &random_batch_defaults;
    uint32_t payloads = 0;
    for (uint64_t seed = 1; seed <= 15; seed++) {
        struct batch *out = processed(&filter_processor, "frames: {drop: [{mapping: ''}]}", random_batch(seed, o));
        for (uint32_t r = 0; r < out->resource_count; r++)
            for (uint32_t s = 0; s < out->resources[r]->scope_count; s++)
                for (uint32_t i = 0; i < out->resources[r]->scopes[s]->profile_count; i++) {
                    const struct profile *p = &out->resources[r]->scopes[s]->profiles[i];
                    payloads += p->original_payload.len > 0;
                    for (uint32_t n = 0; p->original_payload.len > 0 && n < p->columns->sample_count; n++)
                        assert_int_equal(p->columns->stacks[n], 0);
                }
        batch_unref(&out);
    }
    assert_true(payloads > 0); // of profiles without stacks
}

// --- both ---

static void a_failed_allocation_leaves_the_batch(void **state)
{
    (void)state;
    assert_memory_may_fail(&filter_processor, "frames: {drop: [{name: work}]}", frames(), 20);
    assert_memory_may_fail(&filter_processor,
                           "{level: profile, exclude: {match_type: strict, attributes: [{key: x1}]},"
                           " sample_types: {exclude: [cpu]}}",
                           random_batch(3, NULL), 5);
    assert_memory_may_fail(&filter_processor, "{exclude: {match_type: strict, attributes: [{key: thread}]}}", shop(),
                           10);
    assert_memory_may_fail(&filter_processor, "{level: resource, exclude: {match_type: strict, services: [cart]}}",
                           shop(), 3);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"{}", "test:1:1: processors.filter: needs include, exclude, sample_types or frames\n"},
        {"profile_conditions: ['resource.attributes[\"a\"] == \"b\"']",
         "test:1:1: processors.filter: profile_conditions: conditions in OTTL are not supported yet: write include, "
         "exclude, "
         "sample_types or frames\n"},
        {"profiles: {profile: ['true']}",
         "test:1:1: processors.filter: profiles: conditions in OTTL are not supported yet: write include, exclude, "
         "sample_types or frames\n"},
        {"include: {match_type: strict}",
         "test:1:1: processors.filter: include: needs at least one of services, resources, attributes and libraries\n"},
        {"{level: resource, exclude: {match_type: strict, libraries: [{name: a}]}}",
         "test:1:19: processors.filter: exclude: libraries has no meaning at the level of resources\n"},
        {"sample_types: {match_type: regexp, include: ['(']}",
         "test:1:36: processors.filter: sample_types.include: \"(\" is no regular expression: missing ): (\n"},
        {"frames: {drop: [{}]}", "test:1:10: processors.filter: frames.drop: [0]: needs name, file or mapping\n"},
        {"frames: {drop: [{name: a}, {file: '['}]}",
         "test:1:10: processors.filter: frames.drop: [1]: \"[\" is no regular expression: missing ]: [\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_setting_error(&filter_processor, cases[i].yaml, cases[i].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matchers_drop_at_each_level),
        cmocka_unit_test(sample_types_drop_profiles),
        cmocka_unit_test(what_stays_is_shared),
        cmocka_unit_test(resources_are_dropped_unread),
        cmocka_unit_test(include_and_exclude_are_each_others_rest),
        cmocka_unit_test(long_texts_are_looked_at_once),
        cmocka_unit_test(frames_go_out_of_stacks),
        cmocka_unit_test(the_dictionary_is_pruned),
        cmocka_unit_test(stacks_lose_these_frames_and_no_others),
        cmocka_unit_test(a_shorter_profile_loses_its_payload),
        cmocka_unit_test(a_failed_allocation_leaves_the_batch),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
