// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/extensions/auth_fixture.h"

#include <stdlib.h>
#include <string.h>

static void expect(struct auth_rig *r, const char *const *headers, const char *const *values, const char *name,
                   const char *wanted)
{
    char *found = auth_rig_apply(r, headers, values, name);
    if ((found == NULL) != (wanted == NULL) || (found != NULL && strcmp(found, wanted) != 0))
        fail_msg("%s is %s, not %s", name, found != NULL ? found : "missing", wanted != NULL ? wanted : "missing");
    free(found);
}

#define NONE ((const char *const[]){NULL})

static void actions(void **state)
{
    (void)state;
    struct auth_rig r;
    auth_rig_init(&r);
    auth_rig_start(&r, &headers_setter_extension,
                   "{headers: [{key: x-upsert, value: a}, {action: insert, key: x-insert, value: b}, {action: update, "
                   "key: x-update, value: c}, {action: delete, key: x-delete}]}");
    static const char *const there[] = {"X-Upsert", "0", "X-Insert", "0", "X-Update", "0",
                                        "X-Delete", "0", "x",        "0", NULL};
    expect(&r, there, NULL, "x-upsert", "a");
    expect(&r, there, NULL, "x-insert", "0");
    expect(&r, there, NULL, "x-update", "c");
    expect(&r, there, NULL, "x-delete", NULL);
    expect(&r, there, NULL, "x", "0");
    expect(&r, NONE, NULL, "x-upsert", "a");
    expect(&r, NONE, NULL, "x-insert", "b");
    expect(&r, NONE, NULL, "x-update", NULL);
    assert_int_equal(r.authenticator->attribute_count, 0);
    auth_rig_fini(&r);
}

static void attributes(void **state)
{
    (void)state;
    struct auth_rig r;
    auth_rig_init(&r);
    auth_rig_start(&r, &headers_setter_extension,
                   "{headers: [{key: x-a, from_attribute: dataset, default_value: main}, {key: x-b, from_attribute: "
                   "team}, {key: x-c, from_attribute: dataset}]}");
    assert_int_equal(r.authenticator->attribute_count, 2); // each once
    assert_string_equal(r.authenticator->attributes[0], "dataset");
    assert_string_equal(r.authenticator->attributes[1], "team");
    static const char *const both[] = {"d", "t"}, *const none[] = {NULL, NULL};
    expect(&r, NONE, both, "x-a", "d");
    expect(&r, NONE, both, "x-b", "t");
    expect(&r, NONE, both, "x-c", "d");
    expect(&r, NONE, none, "x-a", "main");
    expect(&r, HEADERS("x-b", "own"), none, "x-b", "own"); // left alone
    expect(&r, NONE, none, "x-c", NULL);
    auth_rig_fini(&r);
}

static void a_file_that_changes(void **state)
{
    (void)state;
    struct auth_rig r;
    auth_rig_init(&r);
    auth_rig_write(&r, "v", "one\n");
    auth_rig_start(&r, &headers_setter_extension, "{headers: [{key: x-a, value_file: '@/v'}]}");
    expect(&r, NONE, NULL, "x-a", "one");
    auth_rig_write(&r, "v", "two\n");
    assert_true(r.authenticator->ops->renew(r.authenticator));
    expect(&r, NONE, NULL, "x-a", "two");
    auth_rig_write(&r, "v", "three\nfour\n");
    auth_rig_later(&r);
    expect(&r, NONE, NULL, "x-a", "two");
    auth_rig_fini(&r);
}

static void apply_other(struct authenticator *self, const char *const *values, struct header_set *headers)
{
    (void)self, (void)values;
    header_set_put(headers, "authorization", "other");
    header_set_put(headers, "x-a", "other");
}

static bool renew_other(struct authenticator *self)
{
    (void)self;
    return true;
}

static void another_goes_first(void **state)
{
    (void)state;
    static const struct authenticator_ops ops = {.apply = apply_other, .renew = renew_other};
    struct authenticator other = {.ops = &ops};
    struct auth_rig r;
    auth_rig_init(&r);
    r.env.authenticator = &other;
    r.env.authenticator_roles = AUTH_ROLE_CLIENT;
    auth_rig_start(&r, &headers_setter_extension, "{additional_auth: basicauth, headers: [{key: x-a, value: mine}]}");
    expect(&r, NONE, NULL, "authorization", "other");
    expect(&r, NONE, NULL, "x-a", "mine");
    assert_true(r.authenticator->ops->renew(r.authenticator));
    auth_rig_fini(&r);
}

static void settings_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *words;
    } cases[] = {
        {"{}", "headers: is empty"},
        {"{headers: [{value: a}]}", "key"},
        {"{headers: [{key: x}]}", "headers[0]: give one of value, value_file and from_attribute"},
        {"{headers: [{key: x, value: a, from_attribute: b}]}", "give one of"},
        {"{headers: [{key: x, value: a}, {key: y, from_context: z}]}", "headers[1]: from_context is not possible"},
        {"{headers: [{action: delete, key: x, value: a}]}", "delete takes no value"},
        {"{headers: [{key: x, value: a, default_value: b}]}", "default_value belongs to from_attribute"},
        {"{headers: [{key: 'x y', value: a}]}", "key is not the name of a header"},
        {"{headers: [{key: Content-Type, value: a}]}", "Content-Type belongs to the transport"},
        {"{headers: [{key: grpc-timeout, value: a}]}", "belongs to the transport"},
        {"{headers: [{key: x, value: \"a\\nb\"}]}", "line ends"},
        {"{headers: [{key: x, value_file: '@/missing'}]}", "value_file: cannot read"},
        {"{headers: [{key: x, value: a}], additional_auth: nobody}", "no extension \"nobody\" is started"},
        {"{headers: [{key: x, value: a}], additional_auth: headers_setter/b}", "names a headers_setter"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct auth_rig r;
        auth_rig_init(&r);
        char *messages = auth_rig_messages(&r, &headers_setter_extension, cases[i].yaml);
        if (strstr(messages, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].yaml, messages);
        free(messages);
        auth_rig_fini(&r);
    }
}

// As a receiver or an exporter names it.
static void roles_are_checked(void **state)
{
    (void)state;
    struct auth_rig r;
    auth_rig_init(&r);
    r.env.authenticator_roles = AUTH_ROLE_SERVER;
    char *messages = auth_rig_messages(&r, &headers_setter_extension,
                                       "{headers: [{key: x, value: a}], additional_auth: basicauth/in}");
    assert_non_null(strstr(messages, "it has no credentials to send"));
    free(messages);
    auth_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(actions),
        cmocka_unit_test(attributes),
        cmocka_unit_test(a_file_that_changes),
        cmocka_unit_test(another_goes_first),
        cmocka_unit_test(settings_that_are_wrong),
        cmocka_unit_test(roles_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
