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
#include "tests/support/batch_text.h"
#include "tests/support/fake_env.h"

#include <pthread.h>
#include <stdlib.h>

#define TEXT(text) value_string(BYTES_LITERAL(text))
#define PAIR(name, v) {BYTES_LITERAL(name), v}

static const struct bytes nothing = {NULL, 0};

// --- batches ---

static uint32_t sample_set(struct builder *b, const char *key, const char *value, const char *unit)
{
    const struct value v = value_string(bytes_from_text(value));
    uint32_t attribute = builder_attribute(b, builder_string_text(b, key), builder_string_text(b, unit), &v);
    return builder_attribute_set(b, &attribute, 1);
}

// A profile with one sample (value 1) for each set.
static void add_profile(struct builder *b, const uint32_t *sets, uint32_t count, uint32_t profile_set)
{
    struct sample_writer samples;
    struct observation_writer observations;
    sample_writer_init(&samples, b);
    observation_writer_init(&observations, b);
    for (uint32_t i = 0; i < count; i++) {
        sample_writer_add(&samples, 0, sets[i], 0);
        observation_writer_add_value(&observations, 1);
    }
    struct profile p = {.attribute_set = profile_set};
    p.columns = sample_writer_take(&samples);
    p.observations = observation_writer_take(&observations);
    builder_profile(b, &p);
    sample_writer_fini(&samples);
    observation_writer_fini(&observations);
}

static struct batch *finish(struct builder *b)
{
    struct err e;
    struct batch *batch;
    assert_int_equal(builder_finish(b, &batch, &e), ERR_OK);
    builder_destroy(&b);
    return batch;
}

// One resource with these attributes, and one with {other: 1}; a sample each.
static struct batch *resources(const struct key_value *list, uint32_t count)
{
    struct builder *b = builder_create(0);
    const struct key_value other = PAIR("other", value_int(1));
    const uint32_t no_set = 0;
    builder_resource(b, list, count, 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    add_profile(b, &no_set, 1, 0);
    builder_resource(b, &other, 1, 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    add_profile(b, &no_set, 1, 0);
    return finish(b);
}

static struct batch *pod(void)
{
    const struct key_value list[] = {
        PAIR("service.name", TEXT("unknown")),
        PAIR("process.executable.path", TEXT("/usr/bin/python3")),
        PAIR("process.pid", value_int(42)),
        PAIR("__meta_process_exe", TEXT("/usr/bin/python3")),
        PAIR("k8s.pod.labels.app", TEXT("shop")),
        PAIR("empty", TEXT("")),
        PAIR("list", ((struct value){.kind = VALUE_ARRAY})),
    };
    return resources(list, COUNT_OF(list));
}

// --- running ---

static char *attributes_text(const struct key_value *list, uint32_t count)
{
    struct buf out;
    size_t len;
    buf_init(&out, 1 << 20);
    const struct value v = {.kind = VALUE_KVLIST, .count = count, .entries = list};
    value_print(&out, &v);
    buf_add_byte(&out, '\0');
    assert_true(buf_ok(&out));
    return (char *)buf_take(&out, &len);
}

struct run {
    struct fake_env env;
    struct fake_component component;
    struct err e;
};

static void run_begin(struct run *r, const char *yaml)
{
    *r = (struct run){.e = {0}};
    fake_env_init(&r->env, 1);
    fake_component_init(&r->component, &r->env, KIND_PROCESSOR, &relabel_processor.module, yaml);
}

static enum err_code run_process(struct run *r, struct batch **b)
{
    struct processor *p = (struct processor *)r->component.instance.component;
    enum err_code rc = p->module->process(p, b, &(const struct sender){0}, &r->e);
    struct err e = {0};
    if (*b != NULL)
        assert_int_equal(batch_validate(*b, &e), ERR_OK);
    return rc;
}

static void run_end(struct run *r)
{
    fake_component_fini(&r->component);
    fake_env_fini(&r->env);
}

// The attributes of the first resource afterwards; NULL = it is gone.
static void assert_attributes(struct batch *b, const char *yaml, const char *expected)
{
    struct run r;
    run_begin(&r, yaml);
    assert_int_equal(run_process(&r, &b), ERR_OK);
    assert_int_equal(b->resource_count, expected == NULL ? 1 : 2);
    char *text = attributes_text(b->resources[0]->attributes, b->resources[0]->attribute_count);
    assert_string_equal(text, expected == NULL ? "{\"other\":1}" : expected);
    free(text);
    batch_unref(&b);
    run_end(&r);
}

#define REST ",\"__meta_process_exe\":\"/usr/bin/python3\",\"k8s.pod.labels.app\":\"shop\",\"empty\":\"\",\"list\":[]"

static void attributes_are_labels_and_back(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        // the service from the executable, as for Alloy
        {"rules: [{source_labels: [__meta_process_exe], regex: '.*/([^/]+)', target_label: service_name}]",
         "{\"service.name\":\"python3\",\"process.executable.path\":\"/usr/bin/python3\",\"process.pid\":42" REST "}"},
        // or from a label of the pod; names with dots are the labels they are seen as
        {"rules: [{source_labels: [k8s.pod.labels.app], regex: '(.+)', target_label: service.name}]",
         "{\"service.name\":\"shop\",\"process.executable.path\":\"/usr/bin/python3\",\"process.pid\":42" REST "}"},
        // new attributes: well-known ones get their dots back, others what the rule says
        {"rules: [{target_label: k8s_pod_name, replacement: p}, {target_label: my.own, replacement: q},"
         " {target_label: my_other, replacement: r}, {source_labels: [my_own], target_label: seen}]",
         "{\"service.name\":\"unknown\",\"process.executable.path\":\"/usr/bin/python3\",\"process.pid\":42" REST
         ",\"k8s.pod.name\":\"p\",\"my.own\":\"q\",\"my_other\":\"r\",\"seen\":\"q\"}"},
        // numbers stay numbers unless they change
        {"rules: [{source_labels: [process_pid], regex: '4(.)', target_label: x},"
         " {source_labels: [process_pid], target_label: process_pid}]",
         "{\"service.name\":\"unknown\",\"process.executable.path\":\"/usr/bin/python3\",\"process.pid\":42" REST
         ",\"x\":\"2\"}"},
        {"rules: [{target_label: process_pid, replacement: '43'}]",
         "{\"service.name\":\"unknown\",\"process.executable.path\":\"/usr/bin/python3\",\"process.pid\":\"43\"" REST
         "}"},
        // temporary labels go, attributes that came with such a name stay until a rule takes them
        {"rules: [{target_label: __tmp, replacement: t}, {source_labels: [__tmp], target_label: service_name}]",
         "{\"service.name\":\"t\",\"process.executable.path\":\"/usr/bin/python3\",\"process.pid\":42" REST "}"},
        {"rules: [{action: labeldrop, regex: '__meta_.*|k8s_.*|process_.*|list'}]",
         "{\"service.name\":\"unknown\",\"empty\":\"\"}"},
        // a label that goes and comes again is the attribute it was
        {"rules: [{action: labelkeep, regex: process_pid}, {target_label: service_name, replacement: new}]",
         "{\"service.name\":\"new\",\"process.pid\":42,\"empty\":\"\"}"},
        // what is empty is not seen; written, it is the same attribute
        {"rules: [{action: labelkeep, regex: none}, {target_label: empty, replacement: full}]", "{\"empty\":\"full\"}"},
        {"rules: [{action: drop, source_labels: [process_pid], regex: '42'}]", NULL},
        {"rules: [{action: keep, source_labels: [other], regex: '1'}]", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_attributes(pod(), cases[i].yaml, cases[i].expected);
}

static void colliding_names_lose_nothing(void **state)
{
    (void)state;
    const struct key_value exact[] = {PAIR("a.b", TEXT("dots")), PAIR("a_b", TEXT("exact"))};
    const struct key_value first[] = {PAIR("a.b", TEXT("dots")), PAIR("a-b", TEXT("dash"))};
    const char *change = "rules: [{source_labels: [a_b], target_label: a_b, replacement: '<$1>'}]";
    const char *drop = "rules: [{action: labeldrop, regex: a_b}]";
    assert_attributes(resources(exact, 2), change, "{\"a.b\":\"dots\",\"a_b\":\"<exact>\"}");
    assert_attributes(resources(exact, 2), drop, "{\"a.b\":\"dots\"}");
    assert_attributes(resources(first, 2), change, "{\"a.b\":\"<dots>\",\"a-b\":\"dash\"}");
    assert_attributes(resources(first, 2), drop, "{\"a-b\":\"dash\"}");
    // Of two labels that are one attribute, the one that is written so wins.
    assert_attributes(resources(first, 1),
                      "rules: [{target_label: host_name, replacement: a}, {source_labels: [none], regex: '(.*)',"
                      " target_label: 'host.${1}name', replacement: b}]",
                      "{\"a.b\":\"dots\",\"host.name\":\"b\"}");
}

static void nothing_to_change_is_the_same_batch(void **state)
{
    (void)state;
    static const char *const yamls[] = {
        "rules: [{source_labels: [service_name], target_label: service_name}, {target_label: __x, replacement: y}]",
        "rules: [{action: keep, source_labels: [none], regex: ''}]",
        "{level: sample, rules: [{action: labeldrop, regex: service_name}, {action: drop, source_labels: [x], regex: "
        "y}]}",
        "{include: [scope, profile], rules: [{action: labelmap, regex: none}]}",
    };
    for (size_t i = 0; i < COUNT_OF(yamls); i++) {
        struct run r;
        struct batch *b = pod(), *before = b;
        run_begin(&r, yamls[i]);
        assert_int_equal(run_process(&r, &b), ERR_OK);
        assert_ptr_equal(b, before);
        assert_int_equal(atomic_load(&b->refs), 1);
        batch_unref(&b);
        run_end(&r);
    }
}

static void only_changed_resources_are_copied(void **state)
{
    (void)state;
    struct run r;
    struct batch *b = pod(), *before = batch_ref(b);
    run_begin(&r, "rules: [{source_labels: [service_name], regex: '(.+)', target_label: x}]");
    assert_int_equal(run_process(&r, &b), ERR_OK);
    assert_ptr_not_equal(b->resources[0], before->resources[0]);
    assert_ptr_equal(b->resources[1], before->resources[1]);
    assert_ptr_equal(b->dictionary, before->dictionary);
    batch_unref(&before);
    batch_unref(&b);
    run_end(&r);
}

// From the third time on the answer comes from the cache.
static void the_same_resource_gets_the_same_answer(void **state)
{
    (void)state;
    const struct key_value number[] = {PAIR("a.b", value_int(1))}, text[] = {PAIR("a.b", TEXT("1"))};
    const struct {
        const struct key_value *list;
        const char *expected; // NULL = dropped
    } cases[] = {{number, "{\"a.b\":1,\"x\":\"1\"}"}, {text, "{\"a.b\":\"1\",\"x\":\"1\"}"}};
    struct run r;
    run_begin(&r,
              "rules: [{source_labels: [a_b], target_label: x}, {action: drop, source_labels: [other], regex: '1'}]");
    for (int i = 0; i < 10; i++) {
        struct batch *b = resources(cases[i / 5].list, 1);
        assert_int_equal(run_process(&r, &b), ERR_OK);
        assert_int_equal(b->resource_count, 1);
        char *got = attributes_text(b->resources[0]->attributes, b->resources[0]->attribute_count);
        assert_string_equal(got, cases[i / 5].expected);
        free(got);
        batch_unref(&b);
    }
    run_end(&r);
}

// One of three resources after the other, each of them often enough to be found again.
static void *relabel_many(void *arg)
{
    struct run *r = arg;
    static const char *const names[] = {"a", "b", "drop"};
    for (unsigned i = 0; i < 300; i++) {
        const char *name = names[i % COUNT_OF(names)];
        const struct key_value list[] = {PAIR("name", value_string(bytes_from_text(name)))};
        struct batch *b = resources(list, 1);
        assert_int_equal(run_process(r, &b), ERR_OK);
        bool dropped = strcmp(name, "drop") == 0;
        assert_int_equal(b->resource_count, dropped ? 1 : 2);
        const struct resource *first = b->resources[0];
        assert_int_equal(first->attribute_count, dropped ? 1 : 2);
        assert_true(dropped || bytes_equal_text(first->attributes[1].value.bytes, name));
        batch_unref(&b);
    }
    return NULL;
}

static void workers_share_the_answers(void **state)
{
    (void)state;
    struct run r;
    pthread_t threads[3];
    run_begin(&r, "rules: [{action: drop, source_labels: [name], regex: drop},"
                  " {source_labels: [name], regex: (.+), target_label: copy}]");
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, relabel_many, &r), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    run_end(&r);
}

static void all_gone_is_no_batch(void **state)
{
    (void)state;
    static const char *const yamls[] = {"rules: [{action: drop, regex: ''}]",
                                        "{level: sample, rules: [{action: drop, regex: ''}]}"};
    for (size_t i = 0; i < COUNT_OF(yamls); i++) {
        struct run r;
        struct batch *b = pod();
        run_begin(&r, yamls[i]);
        assert_int_equal(run_process(&r, &b), ERR_OK);
        assert_null(b);
        run_end(&r);
    }
}

// Two profiles of the first resource, {service.name: svc, tier: "1"}: samples {thread: a}, {thread: b}, {}, {thread: a},
// and {tier: "2"}; the second resource has {thread: a}.
static struct batch *threads(void)
{
    struct builder *b = builder_create(0);
    const struct key_value list[] = {PAIR("service.name", TEXT("svc")), PAIR("tier", TEXT("1"))};
    const struct key_value scope[] = {PAIR("lib.lang", TEXT("go")), PAIR("n", value_int(1))};
    const struct key_value scope2[] = {PAIR("lib.lang", TEXT("go")), PAIR("n", value_int(2))};
    uint32_t a = sample_set(b, "thread", "a", ""), thread_b = sample_set(b, "thread", "b", "name");
    uint32_t tier = sample_set(b, "tier", "2", ""), of_profile = sample_set(b, "kind.of", "x", "");
    const uint32_t first[] = {a, thread_b, 0, a};
    builder_resource(b, list, 2, 0, nothing);
    builder_scope(b, BYTES_LITERAL("profiler"), BYTES_LITERAL("1"), scope, 2, 0, nothing);
    add_profile(b, first, 4, of_profile);
    builder_scope(b, BYTES_LITERAL("profiler"), BYTES_LITERAL("2"), scope2, 2, 0, nothing);
    add_profile(b, &tier, 1, of_profile);
    builder_resource(b, NULL, 0, 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    add_profile(b, &a, 1, 0);
    return finish(b);
}

// Of all samples in order: "thread=a;".
static char *sample_attributes(const struct batch *b)
{
    const struct dictionary *d = b->dictionary;
    struct buf out;
    size_t len;
    buf_init(&out, 1 << 16);
    for (uint32_t i = 0; i < b->resource_count; i++)
        for (uint32_t j = 0; j < b->resources[i]->scope_count; j++)
            for (uint32_t k = 0; k < b->resources[i]->scopes[j]->profile_count; k++) {
                const struct columns *c = b->resources[i]->scopes[j]->profiles[k].columns;
                for (uint32_t s = 0; s < c->sample_count; s++) {
                    struct batch_range set = d->attribute_sets[c->attribute_sets == NULL ? 0 : c->attribute_sets[s]];
                    for (uint32_t n = 0; n < set.count; n++) {
                        const struct batch_attribute *a = &d->attributes[d->set_attributes[set.start + n]];
                        buf_add_format(&out, "%s%.*s%.*s=", n > 0 ? "," : "", BYTES_PRINT(d->strings[a->key]),
                                       BYTES_PRINT(d->strings[a->unit]));
                        value_print(&out, &a->value);
                    }
                    buf_add_byte(&out, ';');
                }
            }
    buf_add_byte(&out, '\0');
    assert_true(buf_ok(&out));
    return (char *)buf_take(&out, &len);
}

static void assert_samples(const char *yaml, const char *expected)
{
    struct run r;
    struct batch *b = threads();
    run_begin(&r, yaml);
    assert_int_equal(run_process(&r, &b), ERR_OK);
    assert_non_null(b);
    char *text = sample_attributes(b);
    assert_string_equal(text, expected);
    free(text);
    batch_unref(&b);
    run_end(&r);
}

static void samples_have_labels_of_their_own(void **state)
{
    (void)state;
    static const struct {
        const char *rules, *expected;
    } cases[] = {
        {"{action: drop, source_labels: [thread], regex: a}", "threadname=b;;tier=2;"},
        {"{action: keep, source_labels: [thread], regex: b}", "threadname=b;"},
        // resources are seen below, and not changed
        {"{action: keep, source_labels: [service_name], regex: svc}", "thread=a;threadname=b;;thread=a;tier=2;"},
        {"{action: keep, source_labels: [tier], regex: '2'}", "tier=2;"},
        {"{source_labels: [service_name, thread], regex: 'svc;(.+)', target_label: both}",
         "thread=a,both=a;threadname=b,both=b;;thread=a,both=a;tier=2;thread=a;"},
        {"{source_labels: [service_name], regex: svc, target_label: service_name, replacement: x}",
         "thread=a,service.name=x;threadname=b,service.name=x;service.name=x;thread=a,service.name=x;"
         "tier=2,service.name=x;thread=a;"},
        {"{action: labeldrop, regex: 'thread|service_name'}", ";;;;tier=2;;"},
        {"{source_labels: [thread], regex: '(b)', target_label: thread, replacement: $1$1}",
         "thread=a;thread=bb;;thread=a;tier=2;thread=a;"},
        // what was dropped is dropped though its set is another's afterwards
        {"{action: drop, source_labels: [thread], regex: b}, {action: labeldrop, regex: thread}", ";;;tier=2;;"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[512];
        snprintf(yaml, sizeof yaml, "{level: sample, rules: [%s]}", cases[i].rules);
        assert_samples(yaml, cases[i].expected);
    }
}

static void scopes_and_profiles_can_be_seen(void **state)
{
    (void)state;
    assert_samples("{level: sample, include: [scope, profile], rules: [{action: keep, source_labels: [__scope_name,"
                   " __scope_version, __scope_attribute_lib_lang, __scope_attribute_n, __profile_attribute_kind_of],"
                   " regex: 'profiler;;go;;x'}, {action: labeldrop, regex: '(thread|tier).*'},"
                   " {action: labelmap, regex: '__profile_attribute_(.*)'}]}",
                   "kind_of=x;kind_of=x;kind_of=x;kind_of=x;kind_of=x;");
    assert_samples("{level: sample, rules: [{action: drop, source_labels: [__scope_name], regex: profiler}]}",
                   "thread=a;threadname=b;;thread=a;tier=2;thread=a;");
    struct run r;
    struct batch *b = threads();
    run_begin(&r, "{include: scope, rules: [{action: drop, source_labels: [__scope_name], regex: profiler}]}");
    assert_int_equal(run_process(&r, &b), ERR_OK);
    assert_int_equal(b->resource_count, 1);
    assert_int_equal(b->resources[0]->attribute_count, 0);
    batch_unref(&b);
    run_end(&r);
}

static void trace_shows_each_rule(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "relabel: rules[0]\treplace: {other=\"1\"} -> {other=\"1\", x=\"a\\nb\"}",
        "relabel: rules[1]\tkeep: {other=\"1\", x=\"a\\nb\"} unchanged",
        "relabel: rules[2]\tdrop: {other=\"1\", x=\"a\\nb\"} dropped",
    };
    struct run r;
    const struct key_value none[] = {PAIR("other", value_int(1))};
    struct batch *b = resources(none, 1);
    run_begin(&r, "{trace: true, rules: [{target_label: x, replacement: \"a\\nb\"}, {action: keep, regex: ''},"
                  " {action: drop, regex: ''}, {target_label: y, replacement: never}]}");
    assert_int_equal(run_process(&r, &b), ERR_OK);
    const char *log = fake_env_log(&r.env);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (strstr(log, lines[i]) == NULL)
            fail_msg("\"%s\" is not in the log:\n%s", lines[i], log);
    assert_null(strstr(log, "rules[3]"));
    run_end(&r);
}

static void a_failed_allocation_leaves_the_batch(void **state)
{
    (void)state;
    static const char *const yamls[] = {
        "{include: [scope, profile], trace: true, rules: [{source_labels: [tier, service_name], target_label: x.y},"
        " {action: labelmap, regex: '(.*)', replacement: 'new_$1'}, {action: uppercase, source_labels: [tier],"
        " target_label: z}, {action: hashmod, source_labels: [a], modulus: 7, target_label: h},"
        " {action: drop, source_labels: [service_name], regex: ''}]}",
        "{level: sample, include: [profile], rules: [{action: drop, source_labels: [thread], regex: b},"
        " {source_labels: [tier, thread], target_label: x.y}]}",
    };
    for (size_t i = 0; i < COUNT_OF(yamls); i++) {
        struct run r;
        struct batch *b = threads(), *before = b;
        run_begin(&r, yamls[i]);
        enum err_code rc = ERR_MEMORY;
        for (size_t n = 1; rc != ERR_OK; n++) {
            assert_in_range(n, 1, 1000);
            mem_fail_from(n);
            struct processor *p = (struct processor *)r.component.instance.component;
            rc = p->module->process(p, &b, &(const struct sender){0}, &r.e);
            mem_fail_from(0);
            if (rc != ERR_OK) {
                assert_int_equal(rc, ERR_MEMORY);
                assert_ptr_equal(b, before);
                assert_int_equal(atomic_load(&b->refs), 1);
            }
        }
        assert_ptr_not_equal(b, before);
        batch_unref(&b);
        run_end(&r);
    }
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"rules: []", "test:1:1: processors.relabel: rules: needs at least one rule\n"},
        {"{}", "test:1:1: processors.relabel: the key \"rules\" is required\n"},
        {"rules:\n- {source_labels: [a]}", "test:2:3: processors.relabel: rules[0]: replace needs `target_label`\n"},
        {"rules:\n- {action: hashmod, source_labels: [a], target_label: b}",
         "test:2:3: processors.relabel: rules[0]: hashmod needs `modulus`, which must not be 0\n"},
        {"rules:\n- {action: labeldrop, regex: a, source_labels: [b]}",
         "test:2:33: processors.relabel: rules[0].source_labels: has no meaning for labeldrop, which takes only "
         "`regex`\n"},
        {"rules:\n- {action: keepequal, source_labels: [a], target_label: b, regex: (.*)}",
         "test:2:60: processors.relabel: rules[0].regex: has no meaning for keepequal, which takes only "
         "`source_labels` and `target_label`\n"},
        {"rules:\n- {action: lowercase, source_labels: [a], target_label: b, replacement: x}",
         "test:2:60: processors.relabel: rules[0].replacement: has no meaning for lowercase, which takes only "
         "`source_labels`, `separator` and `target_label`\n"},
        {"rules:\n- {action: labelmap, regex: a, replacement: ''}",
         "test:2:3: processors.relabel: rules[0]: labelmap needs `replacement`\n"},
        {"rules:\n- {action: keep, source_labels: [a], regex: '('}",
         "test:2:38: processors.relabel: rules[0].regex: \"(\" is no regular expression: missing ): (\n"},
        {"rules:\n- {action: keep, source_labels: [a], regex: 'a)|(b'}",
         "test:2:38: processors.relabel: rules[0].regex: \"a)|(b\" is no regular expression: unexpected ): a)|(b\n"},
        {"rules:\n- {action: keep, source_labels: [a], regex: }",
         "test:2:38: processors.relabel: rules[0].regex: has no value: write '' for the empty text, or leave the key "
         "out\n"},
        {"rules:\n- {action: keep, source_labels: [''], regex: a}",
         "test:2:18: processors.relabel: rules[0].source_labels: the name of a label must not be empty\n"},
        {"rules:\n- {action: nothing}",
         "test:2:12: processors.relabel: rules[0].action: expected one of \"replace\", \"keep\", \"drop\", "
         "\"keepequal\", \"dropequal\", \"hashmod\", \"labelmap\", \"labeldrop\", \"labelkeep\", \"lowercase\", "
         "\"uppercase\", found \"nothing\"\n"},
        {"include: [scope, link]\nrules:\n- {action: keep}",
         "test:1:18: processors.relabel: include[1]: takes \"scope\" and \"profile\", found \"link\"\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fake_env f;
        void *settings;
        fake_env_init(&f, 1);
        char *text = fake_settings(&f, KIND_PROCESSOR, &relabel_processor.module, cases[i].yaml, &settings);
        assert_string_equal(text, cases[i].expected);
        free(text);
        fake_env_fini(&f);
    }
}

static void the_table_lists_it(void **state)
{
    (void)state;
    assert_ptr_equal(module_find(&processors_table, "relabel/a"), &relabel_processor.module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_are_labels_and_back),
        cmocka_unit_test(colliding_names_lose_nothing),
        cmocka_unit_test(nothing_to_change_is_the_same_batch),
        cmocka_unit_test(only_changed_resources_are_copied),
        cmocka_unit_test(the_same_resource_gets_the_same_answer),
        cmocka_unit_test(workers_share_the_answers),
        cmocka_unit_test(all_gone_is_no_batch),
        cmocka_unit_test(samples_have_labels_of_their_own),
        cmocka_unit_test(scopes_and_profiles_can_be_seen),
        cmocka_unit_test(trace_shows_each_rule),
        cmocka_unit_test(a_failed_allocation_leaves_the_batch),
        cmocka_unit_test(wrong_settings_are_named),
        cmocka_unit_test(the_table_lists_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
