// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "processors/processors.h"
#include "profile/builder.h"
#include "tests/support/fake_env.h"

#include <math.h>
#include <stdlib.h>

static struct value number(double d)
{
    return (struct value){.kind = VALUE_DOUBLE, .number = d};
}

#define TEXT(text) value_string(BYTES_LITERAL(text))
#define PAIR(name, v) {BYTES_LITERAL(name), v}

// Two resources: the first with the attributes of the test, the second with {other: 1}.
static struct batch *make_batch(const struct key_value *list, uint32_t count)
{
    struct err e;
    struct batch *b;
    struct builder *builder = builder_create(0);
    const struct key_value other = PAIR("other", value_int(1));
    builder_resource(builder, list, count, 0, (struct bytes){NULL, 0});
    builder_resource(builder, &other, 1, 0, (struct bytes){NULL, 0});
    assert_int_equal(builder_finish(builder, &b, &e), ERR_OK);
    builder_destroy(&builder);
    return b;
}

static struct batch *default_batch(void)
{
    const struct key_value list[] = {PAIR("a", TEXT("one")), PAIR("n", value_int(7))};
    return make_batch(list, 2);
}

static char *attributes_text(const struct resource *r)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    struct value v = {.kind = VALUE_KVLIST, .count = r->attribute_count, .entries = r->attributes};
    value_print(&out, &v);
    buf_add_byte(&out, '\0');
    assert_true(buf_ok(&out));
    size_t len;
    return (char *)buf_take(&out, &len);
}

static enum err_code process(struct fake_component *c, struct batch **b, struct err *e)
{
    struct processor *p = (struct processor *)c->instance.component;
    return p->module->process(p, b, &(const struct sender){0}, e);
}

// Runs the actions over the batch (taken over) and compares the first resource.
static void assert_result(struct batch *b, const char *yaml, const char *expected)
{
    struct fake_env f;
    struct fake_component c;
    struct err e = {0};
    fake_env_init(&f, 1);
    fake_component_init(&c, &f, KIND_PROCESSOR, &resource_processor.module, yaml);
    assert_int_equal(process(&c, &b, &e), ERR_OK);
    char *text = attributes_text(b->resources[0]);
    assert_string_equal(text, expected);
    free(text);
    batch_unref(&b);
    fake_component_fini(&c);
    fake_env_fini(&f);
}

static void actions_put_values(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"attributes: [{key: b, action: insert, value: two}]", "{\"a\":\"one\",\"n\":7,\"b\":\"two\"}"},
        {"attributes: [{key: a, action: insert, value: two}]", "{\"a\":\"one\",\"n\":7}"},
        {"attributes: [{key: a, action: update, value: 2}]", "{\"a\":2,\"n\":7}"},
        {"attributes: [{key: b, action: update, value: 2}]", "{\"a\":\"one\",\"n\":7}"},
        {"attributes: [{key: a, action: upsert, value: true}]", "{\"a\":true,\"n\":7}"},
        {"attributes: [{key: b, action: upsert, value: 1.5}]", "{\"a\":\"one\",\"n\":7,\"b\":1.5}"},
        {"attributes: [{key: b, action: upsert, from_attribute: n}]", "{\"a\":\"one\",\"n\":7,\"b\":7}"},
        {"attributes: [{key: b, action: upsert, from_attribute: x}]", "{\"a\":\"one\",\"n\":7}"},
        {"attributes: [{key: b, action: insert, value: [1, {k: v}]}]",
         "{\"a\":\"one\",\"n\":7,\"b\":[1,{\"k\":\"v\"}]}"},
        {"attributes: [{key: a, action: delete}]", "{\"n\":7}"},
        {"attributes: [{key: x, action: delete}]", "{\"a\":\"one\",\"n\":7}"},
        // later actions see earlier results
        {"attributes: [{key: b, action: insert, value: x}, {key: a, action: update, from_attribute: b},"
         " {key: b, action: delete}]",
         "{\"a\":\"x\",\"n\":7}"},
        {"attributes: [{key: a, action: delete}, {key: a, action: insert, value: new}]", "{\"n\":7,\"a\":\"new\"}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_result(default_batch(), cases[i].yaml, cases[i].expected);
}

static void default_value_stands_in(void **state)
{
    (void)state;
    assert_result(default_batch(),
                  "attributes: [{key: b, action: insert, from_attribute: x, default_value: d},"
                  " {key: c, action: upsert, from_attribute: n, default_value: d},"
                  " {key: a, action: update, default_value: 1}]",
                  "{\"a\":1,\"n\":7,\"b\":\"d\",\"c\":7}");
}

static void patterns_name_attributes(void **state)
{
    (void)state;
    const struct key_value list[] = {PAIR("k8s.pod.name", TEXT("p")), PAIR("k8s.node.name", TEXT("n")),
                                     PAIR("secret", TEXT("abc")), PAIR("my.secret", TEXT("abc"))};
    assert_result(make_batch(list, 4),
                  "attributes: [{pattern: '^k8s[.]', action: delete}, {key: my.secret, action: delete}]",
                  "{\"secret\":\"abc\"}");
    assert_result(make_batch(list, 4), "attributes: [{key: secret, pattern: pod, action: delete}]",
                  "{\"k8s.node.name\":\"n\",\"my.secret\":\"abc\"}");
    assert_result(make_batch(list + 2, 2), "attributes: [{key: secret, pattern: secret, action: hash}]",
                  "{\"secret\":\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\","
                  "\"my.secret\":\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}");
}

static void extract_makes_attributes_of_groups(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *expected;
    } cases[] = {
        {"^(?P<ns>[^/]+)/(?P<pod>.+)$", "{\"path\":\"shop/cart-7\",\"pod\":\"cart-7\",\"n\":7,\"ns\":\"shop\"}"},
        {"(?P<digit>[0-9])", "{\"path\":\"shop/cart-7\",\"pod\":\"old\",\"n\":7,\"digit\":\"7\"}"}, // not anchored
        {"^(?P<x>[0-9])", "{\"path\":\"shop/cart-7\",\"pod\":\"old\",\"n\":7}"},
        {"shop(?P<x>9)?", "{\"path\":\"shop/cart-7\",\"pod\":\"old\",\"n\":7,\"x\":\"\"}"},
        {"(?:shop)/(?P<path>.*)", "{\"path\":\"cart-7\",\"pod\":\"old\",\"n\":7}"}, // over the source itself
    };
    const struct key_value list[] = {PAIR("path", TEXT("shop/cart-7")), PAIR("pod", TEXT("old")),
                                     PAIR("n", value_int(7))};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[160];
        snprintf(yaml, sizeof yaml, "attributes: [{key: path, action: extract, pattern: '%s'}]", cases[i].pattern);
        assert_result(make_batch(list, 3), yaml, cases[i].expected);
    }
    assert_result(make_batch(list + 2, 1),
                  "attributes: [{key: n, action: extract, pattern: '(?P<x>.)'},"
                  " {key: none, action: extract, pattern: '(?P<x>.)'}]",
                  "{\"n\":7}");
}

// The figures are those of sha256sum.
static void hash_is_sha256_of_the_value(void **state)
{
    (void)state;
    const struct key_value list[] = {PAIR("s", TEXT("abc")), PAIR("t", value_bool(true)), PAIR("i", value_int(1)),
                                     PAIR("e", TEXT(""))};
    assert_result(make_batch(list, 4),
                  "attributes: [{key: s, action: hash}, {key: t, action: hash}, {key: i, action: hash},"
                  " {key: e, action: hash}, {key: none, action: hash}]",
                  "{\"s\":\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\","
                  "\"t\":\"4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a\","
                  "\"i\":\"7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8\","
                  "\"e\":\"\"}");
}

static void convert_leaves_what_it_cannot(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        struct value from;
        const char *expected;
    } cases[] = {
        {"int", {.kind = VALUE_STRING, .bytes = {(const uint8_t *)"42", 2}}, "{\"v\":42}"},
        {"int", {.kind = VALUE_STRING, .bytes = {(const uint8_t *)"4x", 2}}, "{\"v\":\"4x\"}"},
        {"int", {.kind = VALUE_DOUBLE, .number = -3.9}, "{\"v\":-3}"},
        {"int", {.kind = VALUE_DOUBLE, .number = 1e300}, "{\"v\":1e+300}"},
        {"int", {.kind = VALUE_DOUBLE, .number = NAN}, "{\"v\":NaN}"},
        {"int", {.kind = VALUE_BOOL, .boolean = true}, "{\"v\":1}"},
        {"int", {.kind = VALUE_INT, .integer = 9}, "{\"v\":9}"},
        {"double", {.kind = VALUE_STRING, .bytes = {(const uint8_t *)"2.5", 3}}, "{\"v\":2.5}"},
        {"double", {.kind = VALUE_STRING, .bytes = {(const uint8_t *)" 2", 2}}, "{\"v\":\" 2\"}"},
        {"double", {.kind = VALUE_STRING, .bytes = {(const uint8_t *)"2\0", 2}}, "{\"v\":\"2\\u0000\"}"},
        {"double", {.kind = VALUE_STRING, .bytes = {(const uint8_t *)"", 0}}, "{\"v\":\"\"}"},
        {"double", {.kind = VALUE_INT, .integer = 3}, "{\"v\":3}"},
        {"double", {.kind = VALUE_BOOL, .boolean = false}, "{\"v\":0}"},
        {"string", {.kind = VALUE_INT, .integer = -5}, "{\"v\":\"-5\"}"},
        {"string", {.kind = VALUE_DOUBLE, .number = 0.5}, "{\"v\":\"0.5\"}"},
        {"string", {.kind = VALUE_BOOL, .boolean = true}, "{\"v\":\"true\"}"},
        {"string", {.kind = VALUE_STRING, .bytes = {(const uint8_t *)"x", 1}}, "{\"v\":\"x\"}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct key_value list = {BYTES_LITERAL("v"), cases[i].from};
        char yaml[128];
        snprintf(yaml, sizeof yaml, "attributes: [{key: v, action: convert, converted_type: %s}]", cases[i].type);
        assert_result(make_batch(&list, 1), yaml, cases[i].expected);
    }
    const struct key_value list = PAIR("v", number(2));
    assert_result(make_batch(&list, 1), "attributes: [{key: w, action: convert, converted_type: int}]", "{\"v\":2}");
}

static void only_changed_resources_are_copied(void **state)
{
    (void)state;
    struct fake_env f;
    struct fake_component c;
    struct err e = {0};
    fake_env_init(&f, 1);
    fake_component_init(&c, &f, KIND_PROCESSOR, &resource_processor.module,
                        "attributes: [{key: a, action: update, value: new}]");
    struct batch *b = default_batch(), *before = batch_ref(b);
    assert_int_equal(process(&c, &b, &e), ERR_OK);
    assert_ptr_not_equal(b, before);
    assert_ptr_not_equal(b->resources[0], before->resources[0]);
    assert_ptr_equal(b->resources[1], before->resources[1]);
    assert_ptr_equal(b->dictionary, before->dictionary);
    // the same again changes nothing
    struct batch *changed = batch_ref(b);
    assert_int_equal(process(&c, &b, &e), ERR_OK);
    assert_ptr_equal(b, changed);
    batch_unref(&changed);
    batch_unref(&before);
    batch_unref(&b);
    fake_component_fini(&c);
    fake_env_fini(&f);
}

static void a_failed_allocation_leaves_the_batch(void **state)
{
    (void)state;
    struct fake_env f;
    struct fake_component c;
    struct err e = {0};
    fake_env_init(&f, 1);
    fake_component_init(&c, &f, KIND_PROCESSOR, &resource_processor.module,
                        "attributes: [{key: a, action: hash}, {key: n, action: convert, converted_type: string},"
                        " {key: other, action: upsert, value: x}, {key: n, action: extract, pattern: '(?P<b>.)'}]");
    struct batch *b = default_batch(), *before = b;
    enum err_code rc = ERR_MEMORY;
    size_t n = 1;
    for (; rc != ERR_OK; n++) {
        assert_in_range(n, 1, 200);
        mem_fail_from(n);
        rc = process(&c, &b, &e);
        mem_fail_from(0);
        if (rc != ERR_OK) {
            assert_int_equal(rc, ERR_MEMORY);
            assert_ptr_equal(b, before);
        }
    }
    assert_in_range(n, 4, 200);
    batch_unref(&b);
    fake_component_fini(&c);
    fake_env_fini(&f);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"attributes: []", "test:1:1: processors.resource: attributes: needs at least one action\n"},
        {"{}", "test:1:1: processors.resource: the key \"attributes\" is required\n"},
        {"attributes:\n- {key: a, action: insert}",
         "test:2:3: processors.resource: attributes[0]: insert needs `value` or `from_attribute`\n"},
        {"attributes:\n- {key: a, action: insert, value: 1, from_attribute: b}",
         "test:2:38: processors.resource: attributes[0].from_attribute: give either `value` or `from_attribute`, "
         "not both\n"},
        {"attributes:\n- {key: a, action: delete}\n- {key: a, action: hash, value: 1}",
         "test:3:26: processors.resource: attributes[1].value: has no meaning for hash\n"},
        {"attributes:\n- {key: a, action: delete, pattern: '('}",
         "test:2:28: processors.resource: attributes[0].pattern: \"(\" is no regular expression: missing ): (\n"},
        {"attributes:\n- {key: a, action: delete, pattern: ''}",
         "test:2:28: processors.resource: attributes[0].pattern: must not be empty\n"},
        {"attributes:\n- {key: a, action: update, value: 1, pattern: x}",
         "test:2:38: processors.resource: attributes[0].pattern: has no meaning for update\n"},
        {"attributes:\n- {key: a, action: extract}",
         "test:2:3: processors.resource: attributes[0]: extract needs `pattern`\n"},
        {"attributes:\n- {key: a, action: extract, pattern: x}",
         "test:2:29: processors.resource: attributes[0].pattern: has no group: name what is to be taken, as "
         "in (?P<service>[^/]+)\n"},
        {"attributes:\n- {key: a, action: extract, pattern: '(?P<b>x)(y)'}",
         "test:2:29: processors.resource: attributes[0].pattern: group 2 has no name: write (?P<name>...), or (?:...) "
         "for one that is not to be taken\n"},
        {"attributes:\n- {action: extract, pattern: '(?P<b>x)'}",
         "test:2:3: processors.resource: attributes[0]: extract needs `key`\n"},
        {"attributes:\n- {key: a, action: insert, value: 1, default_value: 2}",
         "test:2:38: processors.resource: attributes[0].default_value: is never used beside `value`\n"},
        {"attributes:\n- {key: a, action: hash, default_value: 2}",
         "test:2:26: processors.resource: attributes[0].default_value: has no meaning for hash\n"},
        {"attributes:\n- {key: a, action: convert}",
         "test:2:3: processors.resource: attributes[0]: convert needs `converted_type`: int, double or string\n"},
        {"attributes:\n- {key: a, action: delete, converted_type: int}",
         "test:2:28: processors.resource: attributes[0].converted_type: has no meaning for delete\n"},
        {"attributes:\n- {key: '', action: delete}",
         "test:2:4: processors.resource: attributes[0].key: must not be empty\n"},
        {"attributes:\n- {action: delete}",
         "test:2:3: processors.resource: attributes[0]: delete needs `key` or `pattern`\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fake_env f;
        void *settings;
        fake_env_init(&f, 1);
        char *text = fake_settings(&f, KIND_PROCESSOR, &resource_processor.module, cases[i].yaml, &settings);
        assert_string_equal(text, cases[i].expected);
        free(text);
        fake_env_fini(&f);
    }
}

static void the_table_lists_it(void **state)
{
    (void)state;
    assert_ptr_equal(module_find(&processors_table, "resource/a"), &resource_processor.module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(actions_put_values),
        cmocka_unit_test(default_value_stands_in),
        cmocka_unit_test(patterns_name_attributes),
        cmocka_unit_test(extract_makes_attributes_of_groups),
        cmocka_unit_test(hash_is_sha256_of_the_value),
        cmocka_unit_test(convert_leaves_what_it_cannot),
        cmocka_unit_test(only_changed_resources_are_copied),
        cmocka_unit_test(a_failed_allocation_leaves_the_batch),
        cmocka_unit_test(wrong_settings_are_named),
        cmocka_unit_test(the_table_lists_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
