// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/extensions/auth_fixture.h"

#include <stdlib.h>
#include <string.h>

#define BCRYPT "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define SHA1 "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="
// base64 of "slow:secret", "slow:wrong", "fast:secret", "fast:wrong", "nobody:secret"
#define SLOW "Basic c2xvdzpzZWNyZXQ="
#define SLOW_WRONG "Basic c2xvdzp3cm9uZw=="
#define FAST "Basic ZmFzdDpzZWNyZXQ="
#define FAST_WRONG "Basic ZmFzdDp3cm9uZw=="
#define NOBODY "Basic bm9ib2R5OnNlY3JldA=="
#define USERS "{htpasswd: {inline: \"slow:" BCRYPT "\\nfast:" SHA1 "\"}}"

static enum auth_result check(struct auth_rig *r, const char *const *headers, struct auth_answer *a)
{
    struct http_header list[8];
    size_t count = 0;
    for (; headers[0] != NULL; headers += 2)
        list[count++] = (struct http_header){headers[0], headers[1]};
    return r->authenticator->ops->check(r->authenticator, list, count, a);
}

static void expect(struct auth_rig *r, const char *value, enum auth_result wanted, const char *identity)
{
    struct auth_answer a;
    assert_int_equal(auth_rig_check(r, HEADERS("authorization", value), &a), wanted);
    if (wanted == AUTH_ACCEPTED)
        assert_string_equal(a.identity, identity);
    else
        assert_non_null(strstr(a.challenge, "Basic realm="));
}

static void slow_hashes_are_computed_once(void **state)
{
    (void)state;
    struct auth_rig r;
    struct auth_answer a;
    auth_rig_init(&r);
    auth_rig_start(&r, &basicauth_extension, USERS);
    assert_int_equal(check(&r, HEADERS("authorization", SLOW), &a), AUTH_SLOW);
    assert_int_equal(r.authenticator->ops->verify(r.authenticator, a.attempt, &a), AUTH_ACCEPTED);
    assert_string_equal(a.identity, "slow");
    assert_int_equal(check(&r, HEADERS("authorization", SLOW), &a), AUTH_ACCEPTED);
    assert_int_equal(check(&r, HEADERS("authorization", SLOW_WRONG), &a), AUTH_SLOW);
    assert_int_equal(r.authenticator->ops->verify(r.authenticator, a.attempt, &a), AUTH_REFUSED);
    assert_int_equal(check(&r, HEADERS("authorization", SLOW_WRONG), &a), AUTH_REFUSED);
    // who does not exist takes as long
    assert_int_equal(check(&r, HEADERS("authorization", NOBODY), &a), AUTH_SLOW);
    assert_int_equal(r.authenticator->ops->verify(r.authenticator, a.attempt, &a), AUTH_REFUSED);
    assert_int_equal(check(&r, HEADERS("authorization", NOBODY), &a), AUTH_REFUSED);
    assert_int_equal(check(&r, HEADERS("authorization", FAST), &a), AUTH_ACCEPTED);
    assert_int_equal(check(&r, HEADERS("authorization", FAST_WRONG), &a), AUTH_REFUSED);
    auth_rig_fini(&r);
}

static void of_several_one_counts(void **state)
{
    (void)state;
    struct auth_rig r;
    struct auth_answer a;
    auth_rig_init(&r);
    auth_rig_start(&r, &basicauth_extension, USERS);
    assert_int_equal(check(&r, HEADERS("authorization", FAST_WRONG, "authorization", FAST), &a), AUTH_ACCEPTED);
    assert_int_equal(check(&r, HEADERS("authorization", SLOW, "authorization", FAST), &a), AUTH_ACCEPTED);
    assert_null(a.attempt);
    assert_int_equal(check(&r, HEADERS("authorization", "Bearer x", "authorization", SLOW), &a), AUTH_SLOW);
    r.authenticator->ops->forget(r.authenticator, a.attempt);
    assert_int_equal(check(&r, HEADERS("cookie", FAST), &a), AUTH_REFUSED);
    assert_string_equal(a.reason, "no user and password");
    auth_rig_fini(&r);
}

static void verify_gives(struct auth_rig *r, struct auth_answer *a, enum auth_result wanted)
{
    struct auth_attempt *attempt = a->attempt;
    assert_non_null(attempt);
    assert_int_equal(r->authenticator->ops->verify(r->authenticator, attempt, a), wanted);
    assert_null(a->attempt);
    if (wanted == AUTH_ACCEPTED)
        assert_string_equal(a->key_type, AUTH_KEY_SERVER);
    else
        assert_null(a->key_type);
}

// Of several that are new, all are looked into: the right one may be the last.
static void of_several_new_ones_one_counts(void **state)
{
    (void)state;
#define LINE(value) "authorization", value
    static const char *const orders[][7] = {
        {LINE(SLOW_WRONG), LINE(SLOW)},
        {LINE(SLOW), LINE(SLOW_WRONG)},
        {LINE(NOBODY), LINE("Digest x"), LINE(SLOW)},
        {LINE("Bearer x"), LINE(SLOW), LINE(NOBODY)},
    };
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        struct auth_rig r;
        struct auth_answer a;
        auth_rig_init(&r);
        auth_rig_start(&r, &basicauth_extension, USERS);
        assert_int_equal(check(&r, orders[i], &a), AUTH_SLOW);
        r.authenticator->ops->forget(r.authenticator, a.attempt);
        assert_int_equal(check(&r, orders[i], &a), AUTH_SLOW);
        verify_gives(&r, &a, AUTH_ACCEPTED);
        assert_string_equal(a.identity, "slow");
        assert_int_equal(check(&r, orders[i], &a), AUTH_ACCEPTED);
        assert_string_equal(a.identity, "slow");
        assert_string_equal(a.key_type, AUTH_KEY_SERVER);
        assert_int_equal(check(&r, HEADERS(LINE(SLOW_WRONG), LINE(NOBODY), LINE(SLOW_WRONG)), &a), AUTH_SLOW);
        verify_gives(&r, &a, AUTH_REFUSED);
        assert_int_equal(check(&r, HEADERS(LINE(SLOW_WRONG), LINE(NOBODY)), &a), AUTH_REFUSED);
        auth_rig_fini(&r);
    }
}

// One that could not be looked into may have been right: the same again later.
static void several_that_are_too_many(void **state)
{
    (void)state;
    struct auth_rig r;
    struct auth_answer a[100], late;
    size_t count = 0;
    auth_rig_init(&r);
    auth_rig_start(&r, &basicauth_extension, USERS);
    while (count < 100 && check(&r, HEADERS(LINE(SLOW)), &a[count]) == AUTH_SLOW)
        count++;
    r.authenticator->ops->forget(r.authenticator, a[--count].attempt);
    for (int i = 0; i < 3; i++) { // and what was begun is given back
        assert_int_equal(check(&r, HEADERS(LINE(NOBODY), LINE(SLOW)), &late), AUTH_BUSY);
        assert_null(late.attempt);
    }
    assert_int_equal(check(&r, HEADERS(LINE(SLOW)), &late), AUTH_SLOW);
    r.authenticator->ops->forget(r.authenticator, late.attempt);
    while (count-- > 0)
        r.authenticator->ops->forget(r.authenticator, a[count].attempt);
    auth_rig_fini(&r);
}

// The clock stands still: what hashes may cost is soon spent, and forgetting gives it back.
static void attempts_are_bounded(void **state)
{
    (void)state;
    struct auth_rig r;
    struct auth_answer a[100], late;
    size_t count = 0;
    auth_rig_init(&r);
    auth_rig_start(&r, &basicauth_extension, USERS);
    while (count < 100 && check(&r, HEADERS("authorization", SLOW), &a[count]) == AUTH_SLOW)
        count++;
    assert_in_range(count, 10, 64);
    assert_int_equal(check(&r, HEADERS("authorization", SLOW), &late), AUTH_BUSY);
    assert_string_equal(late.reason, "too many new passwords to check now");
    assert_int_equal(r.authenticator->ops->verify(r.authenticator, a[--count].attempt, &late), AUTH_ACCEPTED);
    assert_int_equal(check(&r, HEADERS("authorization", SLOW), &late), AUTH_ACCEPTED);
    // the others are spared the hash
    assert_int_equal(r.authenticator->ops->verify(r.authenticator, a[--count].attempt, &late), AUTH_ACCEPTED);
    while (count-- > 0)
        r.authenticator->ops->forget(r.authenticator, a[count].attempt);
    assert_int_equal(check(&r, HEADERS("authorization", SLOW_WRONG), &late), AUTH_SLOW);
    r.authenticator->ops->forget(r.authenticator, late.attempt);
    auth_rig_fini(&r);
}

static void users_of_a_file(void **state)
{
    (void)state;
    struct auth_rig r;
    auth_rig_init(&r);
    auth_rig_write(&r, "p", "slow:" BCRYPT "\nother:" SHA1 "\n");
    auth_rig_start(&r, &basicauth_extension, "{htpasswd: {file: '@/p', inline: 'fast:" SHA1 "'}}");
    expect(&r, SLOW, AUTH_ACCEPTED, "slow");
    expect(&r, FAST, AUTH_ACCEPTED, "fast");
    auth_rig_write(&r, "p", "other:" SHA1 "\n");
    expect(&r, SLOW, AUTH_ACCEPTED, "slow"); // not looked at again yet
    auth_rig_later(&r);
    expect(&r, SLOW, AUTH_REFUSED, NULL);
    expect(&r, FAST, AUTH_ACCEPTED, "fast");
    auth_rig_write(&r, "p", "slow:broken\n");
    auth_rig_later(&r);
    expect(&r, FAST, AUTH_ACCEPTED, "fast");
    assert_non_null(strstr(fake_env_log(&r.env), "stays in use"));
    auth_rig_fini(&r);
}

static void expect_header(struct auth_rig *r, const char *wanted)
{
    char *found = auth_rig_apply(r, HEADERS("authorization", "x"), NULL, "Authorization");
    assert_non_null(found);
    assert_string_equal(found, wanted);
    free(found);
}

static void a_client(void **state)
{
    (void)state;
    struct auth_rig r;
    auth_rig_init(&r);
    auth_rig_start(&r, &basicauth_extension, "{client_auth: {username: fast, password: secret}}");
    expect_header(&r, FAST);
    auth_rig_fini(&r);
    auth_rig_init(&r);
    auth_rig_write(&r, "u", "fast\n");
    auth_rig_write(&r, "p", "secret");
    auth_rig_start(&r, &basicauth_extension, "{client_auth: {username_file: '@/u', password_file: '@/p'}}");
    expect_header(&r, FAST);
    auth_rig_write(&r, "p", "wrong");
    auth_rig_later(&r);
    expect_header(&r, FAST); // may be half written
    assert_true(r.authenticator->ops->renew(r.authenticator));
    expect_header(&r, FAST_WRONG);
    auth_rig_write(&r, "u", "slow\n");
    auth_rig_later(&r);
    expect_header(&r, SLOW_WRONG);
    auth_rig_write(&r, "p", "");
    assert_false(r.authenticator->ops->renew(r.authenticator));
    expect_header(&r, SLOW_WRONG);
    auth_rig_fini(&r);
}

static void settings_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *words;
    } cases[] = {
        {"{}", "has one role"},
        {"{htpasswd: {inline: 'a:" SHA1 "'}, client_auth: {username: a, password: b}}", "has one role"},
        {"{htpasswd: {}}", "no users are given"},
        {"{htpasswd: {inline: '# nobody'}}", "htpasswd.inline: there is no user in it"},
        {"{htpasswd: {inline: 'a:b'}}", "htpasswd.inline: line 1: user a"},
        {"{htpasswd: {file: '@/missing'}}", "/missing: No such file"},
        {"{htpasswd: {file: '@/empty'}}", "there is no user in it"},
        {"{htpasswd: {file: '@/broken'}}", "/broken: line 2"},
        {"{client_auth: {}}", "give either password or password_file"},
        {"{client_auth: {username: a, username_file: '@/w', password: b}}", "give either username or username_file"},
        {"{client_auth: {username: 'a:b', password: b}}", "has a colon"},
        {"{client_auth: {username: a, password_file: '@/missing'}}", "client_auth.password_file: cannot read"},
        {"{client_auth: {username_file: '@/empty', password: a}}", "client_auth.username_file: "},
        {"{client_auth: {username: a, password_file: '@/lines'}}", "more than one line"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct auth_rig r;
        auth_rig_init(&r);
        auth_rig_write(&r, "w", "word\n");
        auth_rig_write(&r, "empty", "");
        auth_rig_write(&r, "broken", "a:" SHA1 "\nb\n");
        auth_rig_write(&r, "lines", "a\nb\n");
        char *messages = auth_rig_messages(&r, &basicauth_extension, cases[i].yaml);
        if (strstr(messages, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].yaml, messages);
        free(messages);
        auth_rig_fini(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_hashes_are_computed_once),
        cmocka_unit_test(of_several_one_counts),
        cmocka_unit_test(of_several_new_ones_one_counts),
        cmocka_unit_test(several_that_are_too_many),
        cmocka_unit_test(attempts_are_bounded),
        cmocka_unit_test(users_of_a_file),
        cmocka_unit_test(a_client),
        cmocka_unit_test(settings_that_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
