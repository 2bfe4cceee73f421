// SPDX-License-Identifier: Apache-2.0
#include "net/grpc_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define BODY(text) BYTES_LITERAL(text)

static void test_message(void **state)
{
    (void)state;
    struct grpc_message m;
    assert_int_equal(grpc_message_parse(BODY("\x00\x00\x00\x00\x03"
                                             "abc"),
                                        3, &m, NULL),
                     ERR_OK);
    assert_false(m.compressed);
    assert_true(bytes_equal_text(m.payload, "abc"));
    assert_int_equal(grpc_message_parse(BODY("\x01\x00\x00\x00\x00"), 0, &m, NULL), ERR_OK);
    assert_true(m.compressed);
    assert_int_equal(m.payload.len, 0);
}

static void refuses(struct bytes body, enum err_code code, const char *text)
{
    struct grpc_message m;
    struct err e = {0};
    assert_int_equal(grpc_message_parse(body, 4, &m, &e), code);
    if (strstr(e.text, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, e.text);
    assert_null(m.payload.data);
}

static void test_message_refused(void **state)
{
    (void)state;
    refuses(BODY(""), ERR_INVALID, "no message");
    refuses(BODY("\x00\x00\x00\x00"), ERR_INVALID, "prefix");
    refuses(BODY("\x02\x00\x00\x00\x00"), ERR_INVALID, "flag is 2");
    refuses(BODY("\x00\x00\x00\x00\x05"
                 "abcde"),
            ERR_LIMIT, "has 5 bytes; 4 are allowed");
    refuses(BODY("\x00\xFF\xFF\xFF\xFF"), ERR_LIMIT, "4294967295");
    refuses(BODY("\x00\x00\x00\x00\x04"
                 "abc"),
            ERR_INVALID, "should have 4 bytes and ends after 3");
    refuses(BODY("\x00\x00\x00\x00\x01"
                 "ab"),
            ERR_INVALID, "1 bytes follow");
}

static void test_length(void **state)
{
    (void)state;
    uint8_t prefix[GRPC_PREFIX_BYTES];
    grpc_prefix_write(true, 0x01020304, prefix);
    assert_memory_equal(prefix, "\x01\x01\x02\x03\x04", 5);
    assert_int_equal(grpc_message_length((struct bytes){prefix, 5}), 0x01020304 + 5);
    assert_int_equal(grpc_message_length((struct bytes){prefix, 4}), 0);
    grpc_prefix_write(false, UINT32_MAX, prefix);
    assert_true(grpc_message_length((struct bytes){prefix, 5}) == (size_t)UINT32_MAX + 5);
}

static void encodes(const char *text, const char *wanted)
{
    struct buf coded, plain;
    buf_init(&coded, 1000);
    buf_init(&plain, 1000);
    grpc_percent_encode(bytes_from_text(text), &coded);
    assert_true(bytes_equal_text(buf_bytes(&coded), wanted));
    grpc_percent_decode(buf_bytes(&coded), &plain);
    assert_true(bytes_equal_text(buf_bytes(&plain), text));
    buf_fini(&coded);
    buf_fini(&plain);
}

static void decodes(const char *text, const char *wanted)
{
    struct buf plain;
    buf_init(&plain, 1000);
    grpc_percent_decode(bytes_from_text(text), &plain);
    assert_true(bytes_equal_text(buf_bytes(&plain), wanted));
    buf_fini(&plain);
}

static void test_percent(void **state)
{
    (void)state;
    encodes("", "");
    encodes("plain ~ text", "plain ~ text");
    encodes("100% \n\x7f", "100%25 %0A%7F");
    encodes("gr\xC3\xBC\xC3\x9F", "gr%C3%BC%C3%9F");
    decodes("%c3%bc", "\xC3\xBC");
    decodes("%", "%");
    decodes("%4", "%4");
    decodes("%zz%41", "%zzA");
    decodes("%%41", "%A");
}

static void test_status(void **state)
{
    (void)state;
    enum grpc_status s;
    assert_true(grpc_status_parse("0", &s) && s == GRPC_OK);
    assert_true(grpc_status_parse("16", &s) && s == GRPC_UNAUTHENTICATED);
    assert_true(grpc_status_parse("17", &s) && s == GRPC_UNKNOWN);
    assert_false(grpc_status_parse("", &s));
    assert_false(grpc_status_parse("-1", &s));
    assert_false(grpc_status_parse("1 ", &s));
    assert_false(grpc_status_parse("4294967296", &s));
    assert_string_equal(grpc_status_name(GRPC_UNAVAILABLE), "UNAVAILABLE");
    assert_string_equal(grpc_status_name((enum grpc_status)99), "UNKNOWN");
    assert_int_equal(grpc_status_of_http(503), GRPC_UNAVAILABLE);
    assert_int_equal(grpc_status_of_http(404), GRPC_UNIMPLEMENTED);
    assert_int_equal(grpc_status_of_http(302), GRPC_UNKNOWN);
}

static void test_timeout(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t nanos; // -1 = refused
    } rows[] = {
        {"1n", 1},
        {"5000m", 5000000000},
        {"99999999u", 99999999000},
        {"10S", 10000000000},
        {"2M", 120000000000},
        {"1H", 3600000000000},
        {"99999999H", INT64_MAX},
        {"0S", 0},
        {"", -1},
        {"S", -1},
        {"1", -1},
        {"1s", -1},
        {"1SS", -1},
        {"-1S", -1},
        {"100000000S", -1},
        {" 1S", -1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t nanos = -1;
        bool ok = grpc_timeout_parse(rows[i].text, &nanos);
        if (ok != (rows[i].nanos >= 0) || nanos != rows[i].nanos)
            fail_msg("%s: %d %lld", rows[i].text, ok, (long long)nanos);
    }
}

static void test_timeout_format(void **state)
{
    (void)state;
    static const struct {
        int64_t nanos;
        const char *text;
    } rows[] = {
        {1, "1n"},
        {99999999, "99999999n"},
        {100000000, "100000u"},
        {100000001, "100001u"},
        {5000000000, "5000000u"},
        {99999999001, "100000m"},
        {INT64_MAX, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[GRPC_TIMEOUT_SIZE];
        grpc_timeout_format(rows[i].nanos, text);
        if (rows[i].text != NULL)
            assert_string_equal(text, rows[i].text);
        int64_t back;
        assert_true(grpc_timeout_parse(text, &back));
        assert_true(back >= rows[i].nanos);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message),        cmocka_unit_test(test_message_refused), cmocka_unit_test(test_length),
        cmocka_unit_test(test_percent),        cmocka_unit_test(test_status),          cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_timeout_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
