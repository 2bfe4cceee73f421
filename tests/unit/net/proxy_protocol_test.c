// SPDX-License-Identifier: Apache-2.0
#include "net/proxy_protocol.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define V2 "\r\n\r\n\0\r\nQUIT\n"
#define CASE(text, result, address, port) {text, sizeof(text) - 1, result, address, port}

static const struct {
    const char *bytes;
    size_t len;
    enum proxy_result result;
    const char *address;
    uint16_t port;
} cases[] = {
    CASE("PROXY TCP4 192.0.2.1 198.51.100.2 5000 4318\r\n", PROXY_OK, "192.0.2.1", 5000),
    CASE("PROXY TCP6 2001:db8::1 ::1 65535 0\r\n", PROXY_OK, "2001:db8::1", 65535),
    CASE("PROXY UNKNOWN\r\n", PROXY_OK, "", 0),
    CASE("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", PROXY_OK, "", 0),
    CASE("PROXY TCP4 192.0.2.1 198.51.100.2 5000\r\n", PROXY_BAD, "", 0),
    CASE("PROXY TCP4 192.0.2.1 198.51.100.2 5000 4318 x\r\n", PROXY_BAD, "", 0),
    CASE("PROXY TCP4 192.0.2.256 198.51.100.2 5000 4318\r\n", PROXY_BAD, "", 0),
    CASE("PROXY TCP4 2001:db8::1 ::1 1 2\r\n", PROXY_BAD, "", 0),
    CASE("PROXY TCP4 192.0.2.1 198.51.100.2 65536 1\r\n", PROXY_BAD, "", 0),
    CASE("PROXY TCP4 192.0.2.1 198.51.100.2 -1 1\r\n", PROXY_BAD, "", 0),
    CASE("PROXY TCP5 192.0.2.1 198.51.100.2 1 1\r\n", PROXY_BAD, "", 0),
    CASE("PROXY TCP4 192.0.2.1 198.51.100.2 5000 4318\n", PROXY_BAD, "", 0),
    CASE("PROXY \r\n", PROXY_BAD, "", 0),
    CASE("GET / HTTP/1.1\r\n", PROXY_BAD, "", 0),
    CASE("PROXI TCP4", PROXY_BAD, "", 0),
    CASE("\x16\x03\x01", PROXY_BAD, "", 0),
    CASE(V2 "\x21\x11\0\x0C\xC0\0\2\1\xC6\x33\x64\2\x13\x88\x10\xDE", PROXY_OK, "192.0.2.1", 5000),
    CASE(V2 "\x21\x11\0\x0F\xC0\0\2\1\xC6\x33\x64\2\x13\x88\x10\xDE\4\0\0", PROXY_OK, "192.0.2.1", 5000),
    CASE(V2 "\x21\x21\0\x24\x20\1\x0D\xB8\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\x01\0\2", PROXY_OK,
         "2001:db8::1", 1),
    CASE(V2 "\x20\0\0\0", PROXY_OK, "", 0),
    CASE(V2 "\x21\x31\0\1x", PROXY_OK, "", 0),
    CASE(V2 "\x21\x11\0\x0B\xC0\0\2\1\xC6\x33\x64\2\x13\x88\x10", PROXY_BAD, "", 0),
    CASE(V2 "\x11\x11\0\x0C\xC0\0\2\1\xC6\x33\x64\2\x13\x88\x10\xDE", PROXY_BAD, "", 0),
    CASE(V2 "\x22\x11\0\0", PROXY_BAD, "", 0),
    CASE(V2 "\x21\x11\xFF\xFF", PROXY_BAD, "", 0),
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char bytes[256] = "";
        size_t used = 0, len = cases[i].len;
        struct proxy_source source;
        memcpy(bytes, cases[i].bytes, len);
        memcpy(bytes + len, "GET /", 5);
        bool ok = cases[i].result == PROXY_OK;
        enum proxy_result result =
            proxy_protocol_parse((struct bytes){(uint8_t *)bytes, len + (ok ? 5 : 0)}, &used, &source);
        if (result != cases[i].result)
            fail_msg("row %zu: %d", i, result);
        if (!ok)
            continue;
        assert_int_equal(used, len);
        assert_string_equal(source.address, cases[i].address);
        assert_int_equal(source.port, cases[i].port);
    }
}

static void test_cut_everywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t len = 0; cases[i].result == PROXY_OK && len < cases[i].len; len++) {
            size_t used = 0;
            struct proxy_source source;
            uint8_t *copy = malloc(len + 1);
            memcpy(copy, cases[i].bytes, len);
            assert_int_equal(proxy_protocol_parse((struct bytes){copy, len}, &used, &source), PROXY_MORE);
            free(copy);
        }
}

static void test_endless(void **state)
{
    (void)state;
    char bytes[200];
    size_t used = 0;
    struct proxy_source source;
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, "PROXY ", 6);
    assert_int_equal(proxy_protocol_parse((struct bytes){(uint8_t *)bytes, sizeof bytes}, &used, &source), PROXY_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_cut_everywhere),
        cmocka_unit_test(test_endless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
