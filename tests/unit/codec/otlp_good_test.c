// SPDX-License-Identifier: Apache-2.0
// Partial success: which profiles stay when others cannot be read.
#include "otlp_clean.h"

#include "base/mem.h"
#include "codec/otlp_json.h"
#include "codec/otlp_messages.h"
#include "profile/validate.h"
#include "tests/support/batch_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_BYTES = 1 << 20 };

static void put_sample(struct buf *out, uint64_t stack, uint64_t value)
{
    size_t s = wire_begin(out, 2);
    wire_put_uint(out, 1, stack);
    wire_put_uint(out, 4, value);
    wire_end(out, s);
}

// 'g' good; 'x' an index past the table, behind a good sample; 'n' no value; 'i' a short id; 'w' a field cut off;
// 'a' attributes, good ones and then a bad one.
static void put_profile(struct buf *out, char kind)
{
    size_t p = wire_begin(out, 2);
    put_sample(out, 1, 5);
    if (kind == 'x')
        put_sample(out, 99, 1);
    if (kind == 'n')
        put_sample(out, 1, 0);
    if (kind == 'i')
        wire_put_bytes(out, 7, BYTES_LITERAL("abc"));
    if (kind == 'a')
        wire_put_bytes(out, 11, BYTES_LITERAL("\1\143"));
    wire_put_uint(out, 6, (uint64_t)(uint8_t)kind);
    if (kind == 'w')
        buf_add(out, "\62\177", 2);
    wire_end(out, p);
}

// A resource with a scope of these profiles, "|" begins another scope; with a dictionary.
static struct buf request_of(const char *kinds)
{
    struct buf out;
    buf_init(&out, MAX_BYTES);
    clean_write(&out, &(struct clean){0});
    // Its dictionary alone: the second of its three parts.
    struct wire_reader r;
    struct wire_field f;
    struct bytes dictionary = {NULL, 0};
    wire_reader_init(&r, buf_bytes(&out));
    while (wire_next(&r, &f))
        dictionary = f.number == 2 ? f.bytes : dictionary;
    struct buf request;
    buf_init(&request, MAX_BYTES);
    size_t rp = wire_begin(&request, 1), sp = wire_begin(&request, 2);
    for (; *kinds != '\0'; kinds++) {
        if (*kinds != '|') {
            put_profile(&request, *kinds);
            continue;
        }
        wire_end(&request, sp);
        sp = wire_begin(&request, 2);
    }
    wire_end(&request, sp);
    wire_end(&request, rp);
    wire_put_bytes(&request, 2, dictionary);
    buf_fini(&out);
    return request;
}

static enum err_code decode(const struct buf *request, struct batch **out, struct otlp_rejected *rejected,
                            struct err *e)
{
    *rejected = (struct otlp_rejected){0};
    enum err_code code = otlp_decode_good(buf_bytes(request), NULL, out, rejected, e);
    if (code == ERR_OK && batch_validate(*out, e) != ERR_OK)
        fail_msg("%s", e->text);
    assert_int_equal(code == ERR_OK, *out != NULL);
    return code;
}

static void check(const char *kinds, uint64_t rejected_profiles, const char *reason, const char *same_as)
{
    struct buf request = request_of(kinds), good = request_of(same_as), left, right;
    struct batch *b, *expected;
    struct otlp_rejected rejected, none;
    struct err e = {0};
    if (decode(&request, &b, &rejected, &e) != ERR_OK || decode(&good, &expected, &none, &e) != ERR_OK)
        fail_msg("%s: %s", kinds, e.text);
    assert_int_equal(rejected.profiles, rejected_profiles);
    if (strstr(rejected.first.text, reason) == NULL)
        fail_msg("%s: \"%s\" is not \"%s\"", kinds, rejected.first.text, reason);
    assert_int_equal(b->profile_count, expected->profile_count);
    assert_int_equal(b->sample_count, expected->sample_count);
    buf_init(&left, MAX_BYTES);
    buf_init(&right, MAX_BYTES);
    batch_text(b, &left);
    batch_text(expected, &right);
    assert_true(bytes_equal(buf_bytes(&left), buf_bytes(&right)));
    buf_fini(&left);
    buf_fini(&right);
    batch_unref(&b);
    batch_unref(&expected);
    buf_fini(&request);
    buf_fini(&good);
}

static void test_the_good_ones_stay(void **state)
{
    (void)state;
    check("gg", 0, "", "gg");
    check("gxg", 1, "resource_profiles[0].scope_profiles[0].profiles[1].samples[1]: stack_index 99 is not below 2",
          "gg");
    check("ng", 1, "profiles[0].samples[1]: neither a value nor a timestamp", "g");
    check("gi", 1, "profiles[1]: profile_id has 3 bytes", "g");
    check("gwg", 1, "profiles[1]: length runs past the end", "gg");
    check("agxg", 2, "profiles[0]: attribute_indices 99 is not below 2", "gg");
    check("xixng", 4, "profiles[0].samples[1]: stack_index 99", "g");
    check("x|g", 1, "scope_profiles[0].profiles[0]", "|g"); // the scope is left, empty
    check("g|xx", 2, "scope_profiles[1].profiles[0]", "g|");
}

static void test_all_bad_is_an_error(void **state)
{
    (void)state;
    const char *const all_bad[] = {"x", "xi", "x|n"};
    for (size_t i = 0; i < COUNT_OF(all_bad); i++) {
        struct buf request = request_of(all_bad[i]);
        struct batch *b;
        struct otlp_rejected rejected;
        struct err e = {0};
        assert_int_equal(decode(&request, &b, &rejected, &e), ERR_INVALID);
        assert_non_null(strstr(e.text, "scope_profiles[0].profiles[0].samples[1]: stack_index 99 is not below 2"));
        buf_fini(&request);
    }
    struct buf request = request_of("");
    struct batch *b;
    struct otlp_rejected rejected;
    assert_int_equal(decode(&request, &b, &rejected, NULL), ERR_OK); // none at all is no error
    batch_unref(&b);
    buf_fini(&request);
}

static void test_what_is_wrong_elsewhere_fails(void **state)
{
    (void)state;
    const struct {
        struct bytes more;
        const char *text;
    } cases[] = {
        {BYTES_LITERAL("\22\4\72\2\10\143"), "dictionary.stack_table[2]: location_indices 99"},
        {BYTES_LITERAL("\12\4\12\2\20"), "length runs past the end"},
        {BYTES_LITERAL("\12\6\12\4\12\2\30\143"), "resource_profiles[1].resource.attributes[0]: key_strindex 99"},
        {BYTES_LITERAL("\12\2\20\1"), "resource_profiles[1]: scope_profiles (field 2)"},
        {BYTES_LITERAL("\12\4\22\2\20\1"), "resource_profiles[1].scope_profiles[0]: profiles (field 2)"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf request = request_of("gxg");
        struct batch *b;
        struct otlp_rejected rejected;
        struct err e = {0};
        buf_add(&request, cases[i].more.data, cases[i].more.len);
        assert_int_equal(decode(&request, &b, &rejected, &e), ERR_INVALID);
        if (strstr(e.text, cases[i].text) == NULL)
            fail_msg("%s", e.text);
        buf_fini(&request);
    }
}

static void test_limits_fail_the_whole(void **state)
{
    (void)state;
    struct otlp_limits limits = otlp_default_limits;
    struct buf request = request_of("gxg");
    struct otlp_rejected rejected = {0};
    struct batch *b;
    struct err e = {0};
    limits.max_samples = 3; // those of the bad one count
    assert_int_equal(otlp_decode_good(buf_bytes(&request), &limits, &b, &rejected, &e), ERR_LIMIT);
    assert_non_null(strstr(e.text, "profiles[2].samples[0]: more than 3 samples"));
    limits = otlp_default_limits;
    limits.max_profiles = 2;
    assert_int_equal(otlp_decode_good(buf_bytes(&request), &limits, &b, &rejected, &e), ERR_LIMIT);
    assert_non_null(strstr(e.text, "max_profiles"));
    assert_null(b);
    assert_int_equal(otlp_decode_good(buf_bytes(&request), &limits, &b, &rejected, NULL), ERR_LIMIT);
    buf_fini(&request);
}

static void test_failing_memory(void **state)
{
    (void)state;
    struct buf request = request_of("gxg");
    enum err_code code = ERR_MEMORY;
    for (size_t n = 1; code != ERR_OK; n++) {
        struct otlp_rejected rejected = {0};
        struct batch *b;
        struct err e = {0};
        mem_fail_from(n);
        code = otlp_decode_good(buf_bytes(&request), NULL, &b, &rejected, &e);
        mem_fail_from(0);
        assert_true(code == ERR_OK || code == ERR_MEMORY); // not "rejected"
        assert_true(code != ERR_OK || (b->profile_count == 2 && rejected.profiles == 1));
        batch_unref(&b);
    }
    buf_fini(&request);
}

// --- with the options of all formats ---

static enum err_code decode_with(struct bytes request, const struct decode_options *options, struct batch **out,
                                 struct decode_report *report, struct err *e)
{
    struct otlp_messages m;
    otlp_messages_init(&m, options, e);
    (void)!otlp_messages_add(&m, request);
    return otlp_messages_finish(&m, out, report);
}

static void test_the_report_tells(void **state)
{
    (void)state;
    struct decode_options options = {.keep_good_profiles = true};
    struct buf request = request_of("gxgi");
    struct decode_report report = {0};
    struct batch *b;
    struct err e = {0};
    assert_int_equal(decode_with(buf_bytes(&request), &options, &b, &report, &e), ERR_OK);
    assert_int_equal(report.rejected_profiles, 2);
    assert_int_equal(report.samples, 2);
    assert_int_equal(report.sample_types, 2);
    assert_non_null(strstr(report.first_bad.text, "stack_index 99"));
    batch_unref(&b);
    options.keep_good_profiles = false;
    assert_int_equal(decode_with(buf_bytes(&request), &options, &b, &report, &e), ERR_INVALID);
    buf_fini(&request);
}

#define JSON_PROFILE(stack) "{\"samples\":[{\"stackIndex\":" stack ",\"values\":[1]}]}"
#define JSON(profiles) "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[" profiles "]}]}]}"

static void test_json(void **state)
{
    (void)state;
    const struct decode_options options = {.keep_good_profiles = true};
    const struct {
        const char *json;
        uint64_t rejected, profiles; // profiles 0: an error
    } cases[] = {
        {JSON(JSON_PROFILE("0") "," JSON_PROFILE("7")), 1, 1},
        {JSON(JSON_PROFILE("7")), 0, 0},
        {JSON(JSON_PROFILE("7") "," JSON_PROFILE("0")) "\n{}", 1, 1}, // another without profiles is not to blame
        {JSON(JSON_PROFILE("7") "," JSON_PROFILE("0")) "\n" JSON(JSON_PROFILE("0") "," JSON_PROFILE("8")), 2, 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct decode_report report = {0};
        struct batch *b;
        struct err e = {0};
        enum err_code code = otlp_json_decode(bytes_from_text(cases[i].json), &options, &b, &report, &e);
        assert_int_equal(code, cases[i].profiles == 0 ? ERR_INVALID : ERR_OK);
        if (code != ERR_OK)
            continue;
        assert_int_equal(report.rejected_profiles, cases[i].rejected);
        assert_int_equal(b->profile_count, cases[i].profiles);
        if (strstr(report.first_bad.text, "7 is not below 1") == NULL)
            fail_msg("%s", report.first_bad.text);
        batch_unref(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_good_ones_stay),
        cmocka_unit_test(test_all_bad_is_an_error),
        cmocka_unit_test(test_what_is_wrong_elsewhere_fails),
        cmocka_unit_test(test_limits_fail_the_whole),
        cmocka_unit_test(test_failing_memory),
        cmocka_unit_test(test_the_report_tells),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
