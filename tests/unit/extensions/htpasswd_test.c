// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extensions/authorization.h"
#include "extensions/htpasswd.h"
#include "extensions/login_cache.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Written by openssl passwd, crypt(3) and sha1sum. The password is "secret".
#define BCRYPT "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define SHA256 "$5$rounds=1000$salt$CCvcOM6b7TEJDPb37Aec/9UpOg4QhPNAxPpL9ZzjTB7"
#define SHA512                                                                                                         \
    "$6$rounds=1000$salt$HNxBeBnDfSfUrTj6KiLnmd7tGCvHEmcExh8kl/S0cZ5WrCciNZgfhbpkeFQ4JfkHX.8vPq45lY0iINnCx1Lkm."
#define SHA1 "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="

static const struct {
    const char *hash, *password;
} hashes[] = {
    {BCRYPT, "secret"},
    {"$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW", "secret"},
    {SHA256, "secret"},
    {SHA512, "secret"},
    {SHA1, "secret"},
    {"$apr1$a$PtM1vJaZieHDFk40mKMu6/", "secret"},
    {"$apr1$a$lsAcX0kKaMIVmrCtUuk5b0", ""},
    {"$apr1$a$imAgGwQOMYUgw6YBDqEAb/", "a password that is longer than thirty-two bytes, in UTF-8: ü"},
    {"$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/", "secret"},
    {"$apr1$abcdefgh$L.PT565ESX4Tp2bqNs7Ie.", ""},
    {"$apr1$abcdefgh$NKhf6MFrv.1l9BO5ITehX/", "a password that is longer than thirty-two bytes, in UTF-8: ü"},
};

static void every_hash(void **state)
{
    (void)state;
    struct err e = {0};
    for (size_t i = 0; i < COUNT_OF(hashes); i++) {
        struct htpasswd h;
        char line[256];
        snprintf(line, sizeof line, "u:%s", hashes[i].hash);
        htpasswd_init(&h);
        if (htpasswd_add(&h, bytes_from_text(line), &e) != ERR_OK)
            fail_msg("%s: %s", line, e.text);
        htpasswd_fini(&h);
        if (!htpasswd_matches(hashes[i].hash, bytes_from_text(hashes[i].password)))
            fail_msg("%s is not \"%s\"", hashes[i].hash, hashes[i].password);
        assert_false(htpasswd_matches(hashes[i].hash, bytes_from_text("Secret")));
        assert_false(htpasswd_matches(hashes[i].hash, (struct bytes){(const uint8_t *)"secret\0x", 8}));
    }
    static char lengthy[1024];
    memset(lengthy, 'a', sizeof lengthy - 1);
    assert_false(htpasswd_matches(SHA512, bytes_from_text(lengthy)));
    assert_false(htpasswd_matches(BCRYPT, bytes_from_text(lengthy)));
}

static void lines_of_users(void **state)
{
    (void)state;
    struct htpasswd h;
    struct err e = {0};
    htpasswd_init(&h);
    assert_int_equal(htpasswd_add(&h, bytes_from_text("# all\n\n a:" SHA1 " \r\nb:" BCRYPT "\na:" SHA256), &e), ERR_OK);
    assert_int_equal(h.count, 3);
    assert_string_equal(htpasswd_find(&h, bytes_from_text("a"))->hash, SHA256); // the last one
    assert_true(htpasswd_find(&h, bytes_from_text("b"))->is_slow);
    assert_null(htpasswd_find(&h, bytes_from_text("c")));
    assert_null(htpasswd_find(&h, bytes_from_text("")));
    htpasswd_fini(&h);
}

static void lines_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"a:" SHA1 "\nnobody\n", "line 2: it is not user:hash"},
        {":" SHA1, "line 1: it is not user:hash"},
        {"a:", "user a: there is no hash we know"},
        {"a:secret", "line 1: user a: there is no hash we know"},
        {"a:$1$salt$0vxkP.5LyQwWoBMBE5EM50", "no hash we know"},
        {"a:{SSHA}5en6G6MezRroT3XKqkdPOmY", "no hash we know"},
        {"a:{SHA}5en6G6MezRroT3XKqkdPOmY", "the {SHA} hash is broken"},
        {"a:$apr1$abcdefghi$h9FWgUz3n9YxylKLlR5SQ/", "the apr1 hash is broken"},
        {"a:$apr1$abc", "the apr1 hash is broken"},
        {"a:$2y$04$abc", "the bcrypt hash is broken"},
        {"a:$2y$xx$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW", "the bcrypt hash is broken"},
        {"a:$2y$15$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW", "is 15, allowed are 14"},
        {"a:$5$salt$short", "the SHA-crypt hash is broken"},
        {"a:$6$nothing", "the SHA-crypt hash is broken"},
        {"a:$5$rounds=200001$salt$CCvcOM6b7TEJDPb37Aec/9UpOg4QhPNAxPpL9ZzjTB7", "more than the 200000 rounds"},
        {"a:$5$rounds=99999999999999999999$s$CCvcOM6b7TEJDPb37Aec/9UpOg4QhPNAxPpL9ZzjTB7", "more than the 200000"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct htpasswd h;
        struct err e = {0};
        htpasswd_init(&h);
        assert_int_not_equal(htpasswd_add(&h, bytes_from_text(cases[i].text), &e), ERR_OK);
        if (strstr(e.text, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].text, e.text);
        assert_null(strstr(e.text, "abcdefgh")); // of a hash
        assert_null(strstr(e.text, "5en6G6"));
        htpasswd_fini(&h);
    }
}

static void no_memory(void **state)
{
    (void)state;
    struct htpasswd h;
    struct err e = {0};
    htpasswd_init(&h);
    mem_fail_from(1);
    assert_int_equal(htpasswd_add(&h, bytes_from_text("a:" SHA1), &e), ERR_MEMORY);
    mem_fail_from(0);
    htpasswd_fini(&h);
}

// --- Authorization ---

static void headers_of_basic(void **state)
{
    (void)state;
    struct basic_credentials c;
    struct bytes rest;
    assert_true(authorization_basic("basic  dXNlcjpwYTpzcw==  ", &c)); // user:pa:ss
    assert_true(bytes_equal_text(c.user, "user") && bytes_equal_text(c.password, "pa:ss"));
    assert_true(authorization_basic("Basic Og", &c)); // nothing but the colon
    assert_true(c.user.len == 0 && c.password.len == 0);
    assert_false(authorization_basic("Basic", &c));
    assert_false(authorization_basic("Basic ", &c));
    assert_false(authorization_basic("Basic dXNlcg==", &c)); // no colon
    assert_false(authorization_basic("Basicx dXNlcjpwYTpzcw==", &c));
    assert_false(authorization_basic("Basic dXNlcjpwYTpzcw== x", &c));
    char text[3000] = "Basic ";
    memset(text + 6, 'A', sizeof text - 7);
    assert_false(authorization_basic(text, &c)); // more than there is room for
    assert_true(authorization_rest("abc ", "", &rest) && bytes_equal_text(rest, "abc"));
    assert_false(authorization_rest("Bearer", "Bearer", &rest));
    assert_true(authorization_rest("bearer ", "Bearer", &rest) && rest.len == 0);
}

// --- known logins ---

static struct login_key key(const struct login_cache *c, const char *user, const char *password)
{
    return login_cache_key(c, bytes_from_text(user), bytes_from_text(password));
}

static void logins_are_known(void **state)
{
    (void)state;
    struct login_cache *c = MEM_NEW(struct login_cache);
    login_cache_init(c, 0);
    const struct login_key right = key(c, "a", "b"), wrong = key(c, "a", "x"), moved = key(c, "ab", "");
    assert_memory_not_equal(&right, &moved, sizeof right);
    assert_int_equal(login_cache_find(c, &right), LOGIN_UNKNOWN);
    login_cache_store(c, &right, true);
    login_cache_store(c, &wrong, false);
    assert_int_equal(login_cache_find(c, &right), LOGIN_RIGHT);
    assert_int_equal(login_cache_find(c, &wrong), LOGIN_WRONG);
    for (unsigned i = 0; i < 1000; i++) { // guesses
        char password[16];
        snprintf(password, sizeof password, "%u", i);
        const struct login_key guess = key(c, "a", password);
        login_cache_store(c, &guess, false);
    }
    assert_int_equal(login_cache_find(c, &right), LOGIN_RIGHT);
    login_cache_forget_all(c);
    assert_int_equal(login_cache_find(c, &right), LOGIN_UNKNOWN);
    free(c);
}

// Logins whose keys meet at one place are each remembered; when there are too many, the oldest goes.
static void logins_that_meet(void **state)
{
    (void)state;
    struct login_cache *c = MEM_NEW(struct login_cache);
    for (int is_right = 0; is_right < 2; is_right++) {
        struct login_key meeting = {{7, 7, 7, 7}};
        const enum login_known known = is_right ? LOGIN_RIGHT : LOGIN_WRONG;
        login_cache_init(c, 0);
        for (uint8_t i = 0; i <= LOGINS_MEETING; i++) {
            meeting.bytes[9] = i;
            login_cache_store(c, &meeting, is_right);
        }
        for (uint8_t i = 0; i <= LOGINS_MEETING; i++) {
            meeting.bytes[9] = i;
            assert_int_equal(login_cache_find(c, &meeting), i > 0 ? known : LOGIN_UNKNOWN);
        }
    }
    free(c);
}

// At most a quarter of the time goes into hashes.
static void checks_are_bounded(void **state)
{
    (void)state;
    const int64_t cost = 100 * NANOS_PER_MS;
    struct login_cache *c = MEM_NEW(struct login_cache);
    int64_t now = 0, spent = 0;
    login_cache_init(c, now);
    for (; now < 100 * NANOS_PER_SECOND; now += 10 * NANOS_PER_MS) {
        if (!login_cache_begin_check(c, now))
            continue;
        login_cache_end_check(c, cost);
        spent += cost;
    }
    assert_in_range(spent, 25 * NANOS_PER_SECOND, 28 * NANOS_PER_SECOND);
    unsigned begun = 0;
    while (login_cache_begin_check(c, now + 100 * NANOS_PER_SECOND))
        begun++;
    assert_int_equal(begun, 20); // what they will cost counts at once
    while (begun-- > 0)
        login_cache_end_check(c, 0);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_hash),           cmocka_unit_test(lines_of_users),
        cmocka_unit_test(lines_that_are_wrong), cmocka_unit_test(no_memory),
        cmocka_unit_test(headers_of_basic),     cmocka_unit_test(logins_are_known),
        cmocka_unit_test(logins_that_meet),     cmocka_unit_test(checks_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
