// SPDX-License-Identifier: Apache-2.0
#include "net/url.h"

#include "net/http_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void parses(const char *text, bool tls, const char *host, uint16_t port, const char *target)
{
    struct url u;
    assert_int_equal(url_parse(text, &u, NULL), ERR_OK);
    assert_int_equal(u.tls, tls);
    assert_true(bytes_equal_text(u.host, host));
    assert_int_equal(u.port, port);
    assert_true(bytes_equal_text(u.target, target));
}

static void test_parts(void **state)
{
    (void)state;
    parses("http://h", false, "h", 80, "");
    parses("HTTPS://h/", true, "h", 443, "/");
    parses("http://a.b-c_d.e:4318/v1development/profiles?x=y", false, "a.b-c_d.e", 4318, "/v1development/profiles?x=y");
    parses("http://h?x", false, "h", 80, "?x");
    parses("https://[::1]:8443/p", true, "::1", 8443, "/p");
    parses("https://[fe80::1]", true, "fe80::1", 443, "");
    parses("http://h:65535", false, "h", 65535, "");
}

static void test_user_info(void **state)
{
    (void)state;
    struct url u;
    assert_int_equal(url_parse("http://me:p%40ss@h:1/", &u, NULL), ERR_OK);
    assert_true(bytes_equal_text(u.user_info, "me:p%40ss"));
    assert_true(bytes_equal_text(u.host, "h"));
    assert_int_equal(url_parse("http://h/a@b", &u, NULL), ERR_OK);
    assert_null(u.user_info.data);
}

static void refuses(const char *text, const char *because)
{
    struct err e = {0};
    assert_int_equal(http_url_check(text, &e), ERR_INVALID);
    if (strstr(e.text, because) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", text, e.text, because);
}

static void test_refused(void **state)
{
    (void)state;
    refuses("", "http://");
    refuses("h:4317", "http://");
    refuses("grpc://h", "http://");
    refuses("http://", "host is missing");
    refuses("http:///path", "host is missing");
    refuses("http://:80/", "host is missing");
    refuses("http://h:/", "port");
    refuses("http://h:0", "1..65535");
    refuses("http://h:65536", "1..65535");
    refuses("http://h:8o", "\"8o\"");
    refuses("http://h:+80", "\"+80\"");
    refuses("http://a b/", "not a host name");
    refuses("http://a%41/", "not a host name");
    refuses("http://[::1", "bracket");
    refuses("http://[::1]x", "not a port");
    refuses("http://[1.2.3.4]/", "IPv6");
    refuses("http://[fe80::1%eth0]/", "IPv6");
    refuses("http://::1/", "host is missing");
    refuses("http://h/#x", "fragment");
    refuses("http://h/a b", "%20");
    refuses("http://h/a\r\nX: y", "%0D");
    refuses("http://h/\xC3\xA4", "%C3");
    refuses("http://me:secret@h/", "user name");
    char long_name[400] = "http://";
    memset(long_name + 7, 'a', 256);
    refuses(long_name, "not a host name");
    long_name[7 + 255] = '\0';
    assert_int_equal(http_url_check(long_name, NULL), ERR_OK);
}

static void test_secrets_are_not_shown(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(http_url_check("http://me:secret@h/", &e), ERR_INVALID);
    assert_null(strstr(e.text, "secret"));
    assert_int_equal(http_url_check("http://me:sec/ret@h/", &e), ERR_INVALID);
    assert_null(strstr(e.text, "sec"));
    assert_int_equal(http_url_check("http://me:secret@h:x/", &e), ERR_INVALID);
    assert_null(strstr(e.text, "secret"));
}

static void test_authority(void **state)
{
    (void)state;
    struct url u;
    char text[URL_AUTHORITY_MAX];
    assert_int_equal(url_parse("http://h:80/", &u, NULL), ERR_OK);
    assert_string_equal(url_authority(&u, false, text), "h");
    assert_string_equal(url_authority(&u, true, text), "h:80");
    assert_int_equal(url_parse("https://[::1]:80/", &u, NULL), ERR_OK);
    assert_string_equal(url_authority(&u, false, text), "[::1]:80");
    assert_string_equal(authority_format("::1", 9, text), "[::1]:9");
    assert_string_equal(authority_format("a", 9, text), "a:9");
}

static void test_endpoint(void **state)
{
    (void)state;
    char host[URL_HOST_MAX + 1];
    uint16_t port;
    assert_int_equal(endpoint_parse("localhost:8888", host, &port, NULL), ERR_OK);
    assert_string_equal(host, "localhost");
    assert_int_equal(port, 8888);
    assert_int_equal(endpoint_parse("[::1]:0", host, &port, NULL), ERR_OK);
    assert_string_equal(host, "::1");
    assert_int_equal(port, 0);
    struct err e = {0};
    assert_int_equal(endpoint_parse("localhost", host, &port, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "host:port"));
    assert_int_equal(endpoint_parse(":1", host, &port, &e), ERR_INVALID);
    assert_int_equal(endpoint_parse("", host, &port, &e), ERR_INVALID);
    assert_int_equal(endpoint_parse("a:70000", host, &port, &e), ERR_INVALID);
}

static void joins(const char *base, const char *path, const char *wanted)
{
    char *joined = http_url_join(base, path);
    assert_string_equal(joined, wanted);
    free(joined);
}

static void test_join(void **state)
{
    (void)state;
    joins("http://h", "v1/p", "http://h/v1/p");
    joins("http://h/", "/v1/p", "http://h/v1/p");
    joins("http://h/base//", "//p", "http://h/base/p");
    joins("http://h/base?tenant=1", "p", "http://h/base/p?tenant=1");
    joins("http://h", "", "http://h/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_user_info),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_authority),
        cmocka_unit_test(test_endpoint),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_secrets_are_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
