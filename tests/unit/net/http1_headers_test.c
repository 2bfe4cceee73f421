// SPDX-License-Identifier: Apache-2.0
#include "net/http1_headers.h"

#include "base/limits.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static bool add(struct http1_headers *h, const char *name, const char *value)
{
    return http1_headers_field(h, name, strlen(name)) && http1_headers_value(h, value, strlen(value)) &&
           http1_headers_value_end(h);
}

static void test_pieces(void **state)
{
    (void)state;
    struct http1_headers h;
    const char *first;
    http1_headers_init(&h);
    assert_true(http1_headers_field(&h, "Ho", 2) && http1_headers_field(&h, "st", 2));
    assert_true(http1_headers_value(&h, "a", 1) && http1_headers_value(&h, "b \t ", 4) && http1_headers_value_end(&h));
    assert_true(http1_headers_field(&h, "Empty", 5) && http1_headers_value_end(&h));
    assert_true(add(&h, "HOST", "second"));
    assert_int_equal(h.count, 3);
    assert_string_equal(http1_headers_name_at(&h, 0), "Host");
    assert_string_equal(http1_headers_value_at(&h, 1), "");
    assert_int_equal(http1_headers_find(&h, "host", &first), 2);
    assert_string_equal(first, "ab");
    assert_int_equal(http1_headers_find(&h, "hos", &first), 0);
    assert_null(first);
    http1_headers_fini(&h);
}

static void test_trailers_are_counted_only(void **state)
{
    (void)state;
    struct http1_headers h;
    http1_headers_init(&h);
    assert_true(add(&h, "A", "b"));
    h.complete = true;
    size_t before = h.seen_bytes;
    assert_true(add(&h, "Trailer", "x"));
    assert_int_equal(h.count, 1);
    assert_int_equal(h.seen_bytes, before + 8);
    http1_headers_fini(&h);
}

static void test_limit(void **state)
{
    (void)state;
    struct http1_headers h;
    http1_headers_init(&h);
    assert_true(http1_headers_count_bytes(&h, LIMIT_HTTP_HEADER_BYTES - 6));
    assert_true(add(&h, "A", "b")); // with ": " and the line's end
    assert_false(http1_headers_count_bytes(&h, 1));
    assert_true(h.too_large);
    http1_headers_clear(&h);
    assert_int_equal(h.count, 0);
    assert_false(add(&h, "A", "b")); // what was seen stays counted
    http1_headers_fini(&h);
}

static void test_memory_is_out(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        struct http1_headers h;
        http1_headers_init(&h);
        mem_fail_from(n);
        bool added = add(&h, "A", "b");
        mem_fail_from(0);
        assert_false(added);
        assert_true(h.no_memory && !h.too_large);
        http1_headers_fini(&h);
    }
}

static void test_header_valid(void **state)
{
    (void)state;
    assert_true(http_header_valid("X-Scope_OrgID.1", "a \t\xC3\xA4 ,;"));
    assert_true(http_header_valid("A", ""));
    assert_false(http_header_valid("", "x"));
    assert_false(http_header_valid("A b", "x"));
    assert_false(http_header_valid("A:", "x"));
    assert_false(http_header_valid("\xC3\xA4", "x"));
    assert_false(http_header_valid("A", "x\r\nB: y"));
    assert_false(http_header_valid("A", "x\n"));
    assert_false(http_header_valid("A", "\x7f"));
    assert_false(http_header_valid("A", "\x01"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),       cmocka_unit_test(test_trailers_are_counted_only),
        cmocka_unit_test(test_limit),        cmocka_unit_test(test_memory_is_out),
        cmocka_unit_test(test_header_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
