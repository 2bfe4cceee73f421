// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/extensions/auth_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect(struct auth_rig *r, const char *const *headers, enum auth_result wanted)
{
    struct auth_answer a;
    enum auth_result got = auth_rig_check(r, headers, &a);
    if (got != wanted)
        fail_msg("%s: %s is %d", headers[0] != NULL ? headers[0] : "", headers[0] != NULL ? headers[1] : "", (int)got);
    if (wanted == AUTH_REFUSED) {
        assert_non_null(a.reason);
        assert_non_null(strstr(a.challenge, "Bearer"));
    }
}

static void expect_applied(struct auth_rig *r, const char *const *headers, const char *name, const char *value)
{
    char *found = auth_rig_apply(r, headers, NULL, name);
    assert_non_null(found);
    assert_string_equal(found, value);
    free(found);
}

#define NONE ((const char *const[]){NULL})
// base64 of "any:secret", ":secret", "secret:", "a:b:secret"
#define BASIC_ANY "Basic YW55OnNlY3JldA=="
#define BASIC_EMPTY "Basic OnNlY3JldA=="
#define BASIC_USER "Basic c2VjcmV0Og=="

static void three_ways_in(void **state)
{
    (void)state;
    struct auth_rig r;
    auth_rig_init(&r);
    auth_rig_start(&r, &bearertokenauth_extension, "{header: X-Status200-Token, scheme: '', tokens: [other, secret]}");
    expect(&r, HEADERS("x-status200-token", "secret"), AUTH_ACCEPTED);
    expect(&r, HEADERS("x-status200-token", " secret "), AUTH_ACCEPTED);
    expect(&r, HEADERS("x-status200-token", "other"), AUTH_ACCEPTED);
    expect(&r, HEADERS("authorization", "Bearer secret"), AUTH_ACCEPTED);
    expect(&r, HEADERS("authorization", "BEARER  secret"), AUTH_ACCEPTED);
    expect(&r, HEADERS("authorization", BASIC_ANY), AUTH_ACCEPTED);
    expect(&r, HEADERS("authorization", BASIC_EMPTY), AUTH_ACCEPTED);
    expect(&r, HEADERS("authorization", "Bearer no", "authorization", BASIC_ANY), AUTH_ACCEPTED);
    expect(&r, HEADERS("x-status200-token", "no", "authorization", "Bearer secret"), AUTH_ACCEPTED);
    auth_rig_fini(&r);
}

static void strangers_stay_out(void **state)
{
    (void)state;
    struct auth_rig r;
    auth_rig_init(&r);
    auth_rig_start(&r, &bearertokenauth_extension, "{header: x-token, scheme: '', token: secret}");
    expect(&r, NONE, AUTH_REFUSED);
    expect(&r, HEADERS("x-token", ""), AUTH_REFUSED);
    expect(&r, HEADERS("x-token", "secre"), AUTH_REFUSED);
    expect(&r, HEADERS("x-token", "secrets"), AUTH_REFUSED);
    expect(&r, HEADERS("x-token", "Bearer secret"), AUTH_REFUSED);
    expect(&r, HEADERS("authorization", "secret"), AUTH_REFUSED);
    expect(&r, HEADERS("authorization", "Bearersecret"), AUTH_REFUSED);
    expect(&r, HEADERS("authorization", "Bearer"), AUTH_REFUSED);
    expect(&r, HEADERS("authorization", BASIC_USER), AUTH_REFUSED);
    expect(&r, HEADERS("authorization", "Basic ***"), AUTH_REFUSED);
    expect(&r, HEADERS("authorization", "Basic c2VjcmV0"), AUTH_REFUSED); // no colon
    expect(&r, HEADERS("cookie", "secret"), AUTH_REFUSED);
    auth_rig_fini(&r);
}

// "The first that is known counts", wherever it stands.
static void several_lines(void **state)
{
    (void)state;
    struct auth_rig r;
    auth_rig_init(&r);
    auth_rig_start(&r, &bearertokenauth_extension, "{token: secret, browser_tokens: [page]}");
#define LINE(value) "authorization", value
    expect(&r, HEADERS(LINE("Digest x"), LINE("Bearer secret")), AUTH_ACCEPTED);
    expect(&r, HEADERS(LINE("Bearer secret"), LINE("Digest x"), LINE("Bearer no")), AUTH_ACCEPTED);
    expect(&r, HEADERS(LINE("Basic ***"), LINE("AWS4-HMAC-SHA256 x"), LINE(""), LINE(BASIC_ANY)), AUTH_ACCEPTED);
    expect(&r, HEADERS(LINE(BASIC_USER), LINE("Bearer no"), LINE(BASIC_EMPTY)), AUTH_ACCEPTED);
    expect(&r, HEADERS(LINE("Bearer no"), LINE(BASIC_USER), LINE("Digest x")), AUTH_REFUSED);
    // of two that are known, the first
    expect(&r, HEADERS(LINE("Bearer secret"), LINE("Bearer page")), AUTH_ACCEPTED);
    expect(&r, HEADERS(LINE("Bearer no"), LINE("Bearer page"), LINE("Bearer secret")), AUTH_REFUSED);
    auth_rig_fini(&r);
}

static void a_header_without_a_scheme(void **state)
{
    (void)state;
    struct auth_rig r;
    auth_rig_init(&r);
    auth_rig_start(&r, &bearertokenauth_extension, "{token: secret, scheme: ''}");
    expect(&r, HEADERS(LINE("secret")), AUTH_ACCEPTED);
    expect(&r, HEADERS(LINE("Bearer secret")), AUTH_ACCEPTED);
    expect(&r, HEADERS(LINE(BASIC_ANY)), AUTH_ACCEPTED);
    expect(&r, HEADERS(LINE("Bearer")), AUTH_REFUSED);
    auth_rig_fini(&r);
}

static const char *key_type(struct auth_rig *r, const char *value, enum auth_result *result_out)
{
    struct auth_answer a;
    *result_out = auth_rig_check(r, HEADERS(LINE(value)), &a);
    if (a.key_type != NULL && strcmp(a.key_type, AUTH_KEY_BROWSER) == 0)
        assert_string_equal(a.reason, "a key of type Browser may not send profiles");
    return a.key_type;
}

static void types_of_keys(void **state)
{
    (void)state;
    enum auth_result result;
    static const char *const yaml[] = {
        "{token: secret, browser_tokens: [page, both]}",
        "{tokens: [secret, both], browser_tokens: [page, both]}",
        "{filename: '@/t', browser_tokens: [page, both]}",
    };
    for (size_t i = 0; i < COUNT_OF(yaml); i++) {
        struct auth_rig r;
        auth_rig_init(&r);
        auth_rig_write(&r, "t", "secret\nboth\n");
        auth_rig_start(&r, &bearertokenauth_extension, yaml[i]);
        assert_string_equal(key_type(&r, "Bearer secret", &result), AUTH_KEY_SERVER);
        assert_int_equal(result, AUTH_ACCEPTED);
        assert_string_equal(key_type(&r, "Bearer page", &result), AUTH_KEY_BROWSER);
        assert_int_equal(result, AUTH_REFUSED);
        assert_string_equal(key_type(&r, "Bearer both", &result), AUTH_KEY_BROWSER);
        assert_int_equal(result, AUTH_REFUSED);
        assert_null(key_type(&r, "Bearer no", &result));
        assert_int_equal(result, AUTH_REFUSED);
        expect_applied(&r, NONE, "authorization", "Bearer secret");
        auth_rig_write(&r, "t", "other\n"); // and the keys of browsers stay
        auth_rig_later(&r);
        assert_string_equal(key_type(&r, "Bearer page", &result), AUTH_KEY_BROWSER);
        auth_rig_fini(&r);
    }
}

static void tries_are_bounded(void **state)
{
    (void)state;
    struct auth_rig r;
    auth_rig_init(&r);
    auth_rig_start(&r, &bearertokenauth_extension, "{token: secret}");
    const char *headers[19] = {NULL};
    for (size_t i = 0; i < 9; i++) {
        headers[2 * i] = "authorization";
        headers[2 * i + 1] = i < 8 ? "Bearer guess" : "Bearer secret";
    }
    expect(&r, headers, AUTH_REFUSED);
    headers[15] = "Bearer secret"; // the eighth
    expect(&r, headers, AUTH_ACCEPTED);
    auth_rig_fini(&r);
}

static void the_schemes_of_a_client(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *name, *value;
    } cases[] = {
        {"{token: t}", "Authorization", "Bearer t"},
        {"{tokens: [first, second]}", "Authorization", "Bearer first"},
        {"{token: t, scheme: Token}", "Authorization", "Token t"},
        {"{token: t, scheme: '', header: x-status200-token}", "x-status200-token", "t"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct auth_rig r;
        auth_rig_init(&r);
        auth_rig_start(&r, &bearertokenauth_extension, cases[i].yaml);
        expect_applied(&r, HEADERS("x-other", "1"), cases[i].name, cases[i].value);
        expect_applied(&r, HEADERS("AUTHORIZATION", "x", "X-STATUS200-TOKEN", "y"), cases[i].name, cases[i].value);
        assert_false(r.authenticator->ops->renew(r.authenticator));
        auth_rig_fini(&r);
    }
}

static void a_file_that_changes(void **state)
{
    (void)state;
    struct auth_rig r;
    auth_rig_init(&r);
    auth_rig_write(&r, "t", "\n# comment\n  one the first\r\n\ttwo\n");
    auth_rig_start(&r, &bearertokenauth_extension, "{filename: '@/t'}");
    expect(&r, HEADERS("authorization", "Bearer one"), AUTH_ACCEPTED);
    expect(&r, HEADERS("authorization", "Bearer two"), AUTH_ACCEPTED);
    expect(&r, HEADERS("authorization", "Bearer the"), AUTH_REFUSED);
    expect(&r, HEADERS("authorization", "Bearer #"), AUTH_REFUSED);
    expect_applied(&r, NONE, "authorization", "Bearer one");
    auth_rig_write(&r, "t", "three\n");
    expect_applied(&r, NONE, "authorization", "Bearer one"); // looked at a moment ago
    assert_true(r.authenticator->ops->renew(r.authenticator));
    assert_false(r.authenticator->ops->renew(r.authenticator));
    expect_applied(&r, NONE, "authorization", "Bearer three");
    auth_rig_write(&r, "t", "four\n");
    auth_rig_later(&r);
    expect(&r, HEADERS("authorization", "Bearer four"), AUTH_ACCEPTED);
    expect(&r, HEADERS("authorization", "Bearer three"), AUTH_REFUSED);
    for (size_t i = 0; i < 3; i++) { // nothing but a comment: the old stays
        auth_rig_write(&r, "t", "# soon\n");
        auth_rig_later(&r);
        expect(&r, HEADERS("authorization", "Bearer four"), AUTH_ACCEPTED);
    }
    assert_non_null(strstr(fake_env_log(&r.env), "there is no token in it"));
    assert_null(strstr(fake_env_log(&r.env), "four"));
    auth_rig_fini(&r);
}

static void settings_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *words;
    } cases[] = {
        {"{}", "no token is given"},
        {"{token: a, tokens: [b]}", "not several"},
        {"{token: a, filename: '@/t'}", "not several"},
        {"{token: 'a b'}", "token: token 1 is empty or has spaces"},
        {"{token: ''}", "token 1 is empty"},
        {"{tokens: [a, '']}", "tokens: token 2 is empty"},
        {"{token: a, header: 'x y'}", "header: is not the name of a header"},
        {"{token: a, scheme: 'x y'}", "scheme: must be one word"},
        {"{browser_tokens: [a]}", "no token is given"},
        {"{token: a, browser_tokens: [b, 'c d']}", "browser_tokens: token 2 is empty or has spaces"},
        {"{filename: '@/missing'}", "/missing: No such file"},
        {"{filename: '@/empty'}", "there is no token in it"},
        {"{token: a}", ""},
        {"{filename: '@/t', browser_tokens: [b]}", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct auth_rig r;
        auth_rig_init(&r);
        auth_rig_write(&r, "t", "a\n");
        auth_rig_write(&r, "empty", "");
        char *messages = auth_rig_messages(&r, &bearertokenauth_extension, cases[i].yaml);
        if (cases[i].words[0] == '\0' ? messages[0] != '\0' : strstr(messages, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].yaml, messages);
        free(messages);
        auth_rig_fini(&r);
    }
}

static void both_roles(void **state)
{
    (void)state;
    assert_int_equal(bearertokenauth_extension.auth_roles(NULL), AUTH_ROLE_SERVER | AUTH_ROLE_CLIENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_ways_in),           cmocka_unit_test(strangers_stay_out),
        cmocka_unit_test(several_lines),           cmocka_unit_test(a_header_without_a_scheme),
        cmocka_unit_test(types_of_keys),           cmocka_unit_test(tries_are_bounded),
        cmocka_unit_test(the_schemes_of_a_client), cmocka_unit_test(a_file_that_changes),
        cmocka_unit_test(settings_that_are_wrong), cmocka_unit_test(both_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
