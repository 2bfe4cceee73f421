// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

// RFC 4648, section 10, and what the two alphabets differ in.
static const struct {
    const char *raw, *padded, *url, *bare;
} cases[] = {
    {"", "", "", ""},
    {"f", "Zg==", "Zg==", "Zg"},
    {"fo", "Zm8=", "Zm8=", "Zm8"},
    {"foo", "Zm9v", "Zm9v", "Zm9v"},
    {"foob", "Zm9vYg==", "Zm9vYg==", "Zm9vYg"},
    {"fooba", "Zm9vYmE=", "Zm9vYmE=", "Zm9vYmE"},
    {"foobar", "Zm9vYmFy", "Zm9vYmFy", "Zm9vYmFy"},
    {"\xFB\xFF\xBF", "+/+/", "-_-_", "-_-_"},
};

static void check_decoded(const char *text, const char *raw)
{
    uint8_t out[32];
    size_t len = 99;
    assert_true(base64_decoded_max(strlen(text)) <= sizeof out);
    if (!base64_decode(bytes_from_text(text), out, &len))
        fail_msg("%s", text);
    assert_int_equal(len, strlen(raw));
    assert_memory_equal(out, raw, len);
}

static void test_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf out;
        buf_init(&out, 100);
        base64_encode(bytes_from_text(cases[i].raw), &out);
        assert_true(bytes_equal_text(buf_bytes(&out), cases[i].padded));
        buf_fini(&out);
        check_decoded(cases[i].padded, cases[i].raw);
        check_decoded(cases[i].url, cases[i].raw);
        check_decoded(cases[i].bare, cases[i].raw);
    }
}

static void test_what_is_none(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "A", "=", "==", "====", "A===", "AB=", "ABC==", "AB=C", "AB C", "AAAAA", "AB\n=", "ABC%"};
    uint8_t out[32];
    size_t len;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (base64_decode(bytes_from_text(texts[i]), out, &len))
            fail_msg("%s", texts[i]);
}

static void test_no_room(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 7);
    base64_encode(BYTES_LITERAL("foobar"), &out);
    assert_true(out.too_large && out.len == 0);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
