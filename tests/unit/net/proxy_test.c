// SPDX-License-Identifier: Apache-2.0
#include "net/proxy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const names[] = {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"};

static int clear_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unsetenv(names[i]);
    return 0;
}

static bool bypassed(const char *list, const char *text)
{
    struct url u;
    assert_int_equal(url_parse(text, &u, NULL), ERR_OK);
    return no_proxy_matches(list, &u);
}

static void test_no_proxy_names(void **state)
{
    (void)state;
    assert_true(bypassed("*", "http://any/"));
    assert_true(bypassed("example.com", "http://example.com/"));
    assert_true(bypassed("example.com", "http://EXAMPLE.com/"));
    assert_true(bypassed("example.com", "http://a.b.example.com/"));
    assert_false(bypassed("example.com", "http://badexample.com/"));
    assert_false(bypassed("example.com", "http://example.com.evil/"));
    assert_true(bypassed(".example.com", "http://a.example.com/"));
    assert_false(bypassed(".example.com", "http://example.com/"));
    assert_true(bypassed("*.example.com", "http://a.example.com/"));
    assert_false(bypassed("*.example.com", "http://example.com/"));
    assert_true(bypassed(" a , b,example.com", "http://b/"));
    assert_true(bypassed("example.com:8080", "http://example.com:8080/"));
    assert_false(bypassed("example.com:8080", "http://example.com/"));
    assert_true(bypassed("example.com:443", "https://example.com/"));
    assert_false(bypassed("", "http://a/"));
    assert_false(bypassed(",, ,", "http://a/"));
    assert_false(bypassed(NULL, "http://a/"));
}

static void test_no_proxy_addresses(void **state)
{
    (void)state;
    assert_true(bypassed("10.1.2.3", "http://10.1.2.3/"));
    assert_false(bypassed("10.1.2.3", "http://10.1.2.33/"));
    assert_true(bypassed("10.1.2.3:99", "http://10.1.2.3:99/"));
    assert_false(bypassed("10.1.2.3:99", "http://10.1.2.3/"));
    assert_true(bypassed("10.0.0.0/8", "http://10.200.3.4/"));
    assert_false(bypassed("10.0.0.0/8", "http://11.0.0.1/"));
    assert_true(bypassed("10.8.0.0/13", "http://10.15.255.255/"));
    assert_false(bypassed("10.8.0.0/13", "http://10.16.0.0/"));
    assert_false(bypassed("10.0.0.0/33", "http://10.0.0.0/"));
    assert_false(bypassed("10.0.0.0/x", "http://10.0.0.0/"));
    assert_true(bypassed("0.0.0.0/0", "http://1.2.3.4/"));
    assert_false(bypassed("0.0.0.0/0", "http://[::1]/"));
    assert_false(bypassed("10.0.0.0/8", "http://name/"));
    assert_true(bypassed("fd00::/8", "http://[fd12::1]/"));
    assert_true(bypassed("[fd12::1]", "http://[fd12::1]/"));
    assert_true(bypassed("[fd12::1]:81", "http://[fd12::1]:81/"));
    assert_false(bypassed("[fd12::1]:81", "http://[fd12::1]:82/"));
    assert_true(bypassed("fd12::1", "http://[fd12:0::1]/"));
    assert_false(bypassed("3.4", "http://1.2.3.4/"));
}

static const struct proxy *chosen(const struct proxy_rules *r, const char *text)
{
    struct url u;
    assert_int_equal(url_parse(text, &u, NULL), ERR_OK);
    return proxy_rules_choose(r, &u);
}

static void test_environment(void **state)
{
    (void)state;
    struct proxy_rules r;
    setenv("http_proxy", "http://plain:3128", 1);
    setenv("HTTPS_PROXY", "me%40work:p%3Aw@secure:8080/", 1);
    setenv("https_proxy", "http://ignored:1", 1);
    setenv("no_proxy", "inside", 1);
    assert_int_equal(proxy_rules_init(&r, NULL, NULL), ERR_OK);
    clear_environment(NULL); // read once
    assert_string_equal(chosen(&r, "http://out/")->host, "plain");
    assert_null(chosen(&r, "http://out/")->authorization);
    const struct proxy *secure = chosen(&r, "https://out/");
    assert_string_equal(secure->host, "secure");
    assert_int_equal(secure->port, 8080);
    assert_string_equal(secure->authorization, "Basic bWVAd29yazpwOnc="); // me@work:p:w
    assert_null(chosen(&r, "https://inside/"));
    assert_null(chosen(&r, "http://localhost/"));
    assert_null(chosen(&r, "http://127.9.9.9/"));
    assert_null(chosen(&r, "http://[::1]/"));
    proxy_rules_fini(&r);
}

static void test_without_environment(void **state)
{
    (void)state;
    struct proxy_rules r;
    setenv("HTTP_PROXY", "", 1);
    assert_int_equal(proxy_rules_init(&r, NULL, NULL), ERR_OK);
    assert_null(chosen(&r, "http://out/"));
    assert_null(chosen(&r, "https://out/"));
    proxy_rules_fini(&r);
}

static void test_configured_proxy_wins(void **state)
{
    (void)state;
    struct proxy_rules r;
    setenv("HTTP_PROXY", "http://other:1", 1);
    setenv("NO_PROXY", "*", 1);
    assert_int_equal(proxy_rules_init(&r, "http://user@given:3128", NULL), ERR_OK);
    assert_string_equal(chosen(&r, "http://out/")->host, "given");
    assert_string_equal(chosen(&r, "https://127.0.0.1/")->host, "given");
    assert_string_equal(chosen(&r, "https://out/")->authorization, "Basic dXNlcjo=");
    proxy_rules_fini(&r);
}

static void test_bad_proxies(void **state)
{
    (void)state;
    static const char *const bad[] = {"https://secure:1", "socks5://h:1",      "http://h:99999",
                                      "http://",          "http://h/path",     "",
                                      "http://u:%zz@h:1", "http://u:secret@:1"};
    struct proxy_rules r;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err e = {0};
        assert_int_not_equal(proxy_rules_init(&r, bad[i], &e), ERR_OK);
        assert_non_null(strstr(e.text, "proxy_url: "));
        assert_null(strstr(e.text, "secret"));
    }
    struct err e = {0};
    setenv("HTTPS_PROXY", "http://h:x", 1);
    assert_int_equal(proxy_rules_init(&r, NULL, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "HTTPS_PROXY"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_proxy_names),
        cmocka_unit_test(test_no_proxy_addresses),
        cmocka_unit_test_setup_teardown(test_environment, clear_environment, clear_environment),
        cmocka_unit_test_setup_teardown(test_without_environment, clear_environment, clear_environment),
        cmocka_unit_test_setup_teardown(test_configured_proxy_wins, clear_environment, clear_environment),
        cmocka_unit_test_setup_teardown(test_bad_proxies, clear_environment, clear_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
