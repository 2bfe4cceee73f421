// SPDX-License-Identifier: Apache-2.0
// The cases that matter of those that JSON parsers are commonly judged by, written anew: what must be read, what must
// be refused, and what we do where RFC 8259 leaves it open.
#include "codec/json.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DEPTH = 100 };

static void read_value(struct json_reader *r);

static void read_members(struct json_reader *r)
{
    struct bytes key;
    if (json_enter_object(r))
        while (json_next_member(r, &key))
            read_value(r);
}

static void read_scalar(struct json_reader *r, enum json_kind kind)
{
    struct bytes text;
    bool truth;
    if (kind == JSON_STRING)
        json_string(r, &text);
    else if (kind == JSON_NUMBER)
        json_number(r, &text);
    else if (kind == JSON_BOOL)
        json_bool(r, &truth);
    else if (kind == JSON_NULL)
        json_null(r);
}

// Reads everything of a value, where json_skip only passes over it.
static void read_value(struct json_reader *r)
{
    enum json_kind kind = json_peek(r);
    if (kind == JSON_OBJECT)
        read_members(r);
    else if (kind == JSON_ARRAY && json_enter_array(r))
        while (json_next_element(r))
            read_value(r);
    else
        read_scalar(r, kind);
}

static enum err_code parse(struct bytes text, bool skip, uint32_t depth, struct err *e)
{
    struct arena arena;
    struct json_reader r;
    // A copy of its exact size, so that a sanitizer sees what is read past its end.
    uint8_t *copy = malloc(text.len + 1);
    assert_non_null(copy);
    uint8_t *at = copy + 1;
    memcpy(at, text.data, text.len);
    arena_init(&arena, 0);
    json_reader_init(&r, (struct bytes){at, text.len}, &arena, depth);
    (skip ? json_skip : read_value)(&r);
    json_end(&r);
    enum err_code rc = json_result(&r, e);
    arena_fini(&arena);
    free(copy);
    return rc;
}

static void expect(struct bytes text, enum err_code expected)
{
    struct err e = {0};
    for (int skip = 0; skip < 2; skip++) {
        enum err_code rc = parse(text, skip, DEPTH, &e);
        if (rc != expected)
            fail_msg("%.*s: %s %s", BYTES_PRINT(text), err_code_name(rc), e.text);
    }
}

#define T(text) {(const uint8_t *)(text), sizeof(text) - 1}

static const struct bytes good[] = {
    T("[]"),
    T("[   ]"),
    T("[\"\"]"),
    T("[\"a\"]"),
    T("[false]"),
    T("[null, 1, \"1\", {}]"),
    T("[null]"),
    T("[1\n]"),
    T(" [1]"),
    T("[1,null,null,null,2]"),
    T("[2] "),
    T("[[]   ]"),
    T("[1\r,\t2]"),
    // numbers
    T("[123e65]"),
    T("[0e+1]"),
    T("[0e1]"),
    T("[ 4]"),
    T("[-0.000000000000000000000000000000000000000000000001]"),
    T("[20e1]"),
    T("[-0]"),
    T("[-123]"),
    T("[-1]"),
    T("[1E22]"),
    T("[1E-2]"),
    T("[1E+2]"),
    T("[123e45]"),
    T("[123.456e78]"),
    T("[1e-2]"),
    T("[1e+2]"),
    T("[123]"),
    T("[123.456789]"),
    T("0"),
    T("-1.5e0"),
    // objects
    T("{\"asd\":\"sdf\", \"dfg\":\"fgh\"}"),
    T("{\"a\":\"b\"}"),
    T("{\"a\":\"b\",\"a\":\"c\"}"),
    T("{\"a\":\"b\",\"a\":\"b\"}"),
    T("{}"),
    T("{\"\":0}"),
    T("{\"foo\\u0000bar\": 42}"),
    T("{ \"min\": -1.0e+28, \"max\": 1.0e+28 }"),
    T("{\"a\":[]}"),
    T("{\"title\":\"\\u041f\\u043e\" }"),
    T("{\n\"a\": \"b\"\n}"),
    // strings
    T("[\"\\u0060\\u012a\\u12AB\"]"),
    T("[\"\\uD801\\udc37\"]"),
    T("[\"\\ud83d\\ude39\\ud83d\\udc8d\"]"),
    T("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]"),
    T("[\"\\\\u0000\"]"),
    T("[\"\\\"\"]"),
    T("[\"a/*b*/c/*d//e\"]"),
    T("[\"\\\\a\"]"),
    T("[\"\\\\n\"]"),
    T("[\"\\u0012\"]"),
    T("[\"\\uFFFF\"]"),
    T("[\"asd\"]"),
    T("[ \"asd\"]"),
    T("[\"\\uDBFF\\uDFFF\"]"),
    T("[\"new\\u00A0line\"]"),
    T("[\"\xF4\x8F\xBF\xBF\"]"),
    T("[\"\xEF\xBF\xBF\"]"),
    T("[\"\\u0000\"]"),
    T("[\"\\u002c\"]"),
    T("[\"\xCF\x80\"]"),
    T("[\"\xF0\x9B\xBF\xBF\"]"),
    T("[\"asd \"]"),
    T("\" \""),
    T("[\"\\u0821\"]"),
    T("[\"\\u0123\"]"),
    T("[\"\xE2\x80\xA8\"]"),
    T("[\"\xE2\x80\xA9\"]"),
    T("[\"\\u0061\\u30af\\u30EA\\u30b9\"]"),
    T("[\"new\\u000Aline\"]"),
    T("[\"\x7f\"]"),
    T("[\"\\uA66D\"]"),
    T("[\"\xE2\x8D\x82\xE3\x88\xB4\xE2\x8D\x82\"]"),
    T("[\"\\u0022\"]"),
    T("[\"a\x7f"
      "a\"]"),
    // alone
    T("false"),
    T("42"),
    T("-0.1"),
    T("null"),
    T("\"asd\""),
    T("true"),
    T("\"\""),
    T("[\"a\"]\n"),
    T("[true]"),
    T("   \n[]\t"),
    // where it is left open: read
    T("\xEF\xBB\xBF{}"),
    T("[0.4e006699999999999999999999999999999999999999999]"),
    T("[-1e+9999]"),
    T("[123123e-10000000]"),
    T("[100000000000000000000]"),
    T("[\"\\uDADA\"]"),
    T("[\"\\uD888\\u1234\"]"),
    T("[\"\\uD800\\n\"]"),
    T("[\"\\uDd1ea\"]"),
    T("[\"\\uD800\\uD800\\n\"]"),
    T("[\"\\uDFAA\"]"),
    T("[\"\xFF\"]"),
    T("[\"\xE6\x97\xA5\xD1\x88\xFA\"]"),
    T("[\"\x81\"]"),
    T("[\"\xED\xA0\x80\"]"),
    T("[\"\xC0\xAF\"]"),
    T("[\"\xF4\xBF\xBF\xBF\"]"),
    T("[\"\xFC\x83\xBF\xBF\xBF\xBF\"]"),
    T("[\"\xE0\xFF\"]"),
};

static const struct bytes bad[] = {
    // arrays
    T("[1 true]"),
    T("[a\xE5]"),
    T("[\"\": 1]"),
    T("[\"\"],"),
    T("[,1]"),
    T("[1,,2]"),
    T("[\"x\",,]"),
    T("[\"x\"]]"),
    T("[\"\",]"),
    T("[\"x\""),
    T("[x"),
    T("[3[4]]"),
    T("[\xFF]"),
    T("[1:2]"),
    T("[,]"),
    T("[-]"),
    T("[   , \"\"]"),
    T("[\"a\",\n4\n,1,"),
    T("[1,]"),
    T("[\"a"),
    T("[*]"),
    T("[\"\"\n"),
    T("[1,\n1\n,1"),
    T("[{}"),
    T("[1}"),
    // words
    T("[fals]"),
    T("[nul]"),
    T("[tru]"),
    T("[True]"),
    T("nul"),
    T("[truex]"),
    T("123\0"),
    T("\0"),
    T("[nulll]"),
    // numbers
    T("[++1234]"),
    T("[+1]"),
    T("[+Inf]"),
    T("[-01]"),
    T("[-1.0.]"),
    T("[-2.]"),
    T("[-NaN]"),
    T("[.-1]"),
    T("[.2e-3]"),
    T("[0.1.2]"),
    T("[0.3e+]"),
    T("[0.3e]"),
    T("[0.e1]"),
    T("[0E+]"),
    T("[0E]"),
    T("[0e+]"),
    T("[0e]"),
    T("[1.0e+]"),
    T("[1.0e-]"),
    T("[1.0e]"),
    T("[1 000.0]"),
    T("[1eE2]"),
    T("[2.e+3]"),
    T("[2.e-3]"),
    T("[2.e3]"),
    T("[9.e+]"),
    T("[Inf]"),
    T("[NaN]"),
    T("[\xEF\xBC\x91]"),
    T("[1+2]"),
    T("[0x1]"),
    T("[0x42]"),
    T("[Infinity]"),
    T("[0e+-1]"),
    T("[-123.123foo]"),
    T("[123\xE5]"),
    T("[1e1\xE5]"),
    T("[0\xE5]"),
    T("[-Infinity]"),
    T("[-foo]"),
    T("[- 1]"),
    T("[-012]"),
    T("[-.123]"),
    T("[-1x]"),
    T("[1ea]"),
    T("[1e\xE5]"),
    T("[1.]"),
    T("[.123]"),
    T("[1.2a-3]"),
    T("[1.8011670033376514H-308]"),
    T("[012]"),
    T("-"),
    T("1e"),
    T("01"),
    T("[1e+"),
    // objects
    T("[\"x\", truth]"),
    T("{[: \"x\"}\n"),
    T("{\"x\", null}"),
    T("{\"x\"::\"b\"}"),
    T("{\xF0\x9F\x87\xA8}"),
    T("{\"a\":\"a\" 123}"),
    T("{key: 'value'}"),
    T("{\"\xB9\":\"0\",}"),
    T("{\"a\" b}"),
    T("{:\"b\"}"),
    T("{\"a\" \"b\"}"),
    T("{\"a\":"),
    T("{\"a\""),
    T("{1:1}"),
    T("{9999E9999:1}"),
    T("{null:null,null:null}"),
    T("{\"id\":0,,,,,}"),
    T("{'a':0}"),
    T("{\"id\":0,}"),
    T("{\"a\":\"b\"}/**/"),
    T("{\"a\":\"b\"}/"),
    T("{\"a\":\"b\"}//"),
    T("{\"a\":\"b\",,\"c\":\"d\"}"),
    T("{a: \"b\"}"),
    T("{\"a\":\"a"),
    T("{ \"foo\" : \"bar\", \"a\" }"),
    T("{\"a\":\"b\"}#"),
    T("{\"a\":true} \"x\""),
    T("{]"),
    T("{\"a\":1]"),
    // strings
    T("[\"\\uD800\\\"]"),
    T("[\"\\uD800\\u\"]"),
    T("[\"\\uD800\\u1\"]"),
    T("[\"\\uD800\\u1x\"]"),
    T("[\xC3\xA9]"),
    T("[\"\\\0\"]"),
    T("[\"\\\\\\\"]"),
    T("[\"\\x00\"]"),
    T("[\"\\\xF0\x9F\x8C\x80\"]"),
    T("[\"\\\"]"),
    T("[\"\\u00A\"]"),
    T("[\"\\uD834\\uDd\"]"),
    T("[\"\\uD800\\uD800\\x\"]"),
    T("[\"\\u\xE5\"]"),
    T("[\"\\a\"]"),
    T("[\"\\uqqqq\"]"),
    T("[\"\\\xE5\"]"),
    T("[\\u0020\"asd\"]"),
    T("[\\n]"),
    T("\""),
    T("['single quote']"),
    T("abc"),
    T("[\"\\"),
    T("[\"a\0a\"]"),
    T("[\"new\nline\"]"),
    T("[\"\t\"]"),
    T("\"\\UA66D\""),
    T("\"\"x"),
    T("[\"\\u12"),
    // structure
    T("<.>"),
    T("[<null>]"),
    T("[1]x"),
    T("[1]]"),
    T("["),
    T(""),
    T(" "),
    T("[\0]"),
    T("2@"),
    T("{}}"),
    T("{\"\":"),
    T("{\"a\":/*comment*/\"b\"}"),
    T("{\"a\": true} \"x\""),
    T("['"),
    T("[,"),
    T("[{"),
    T("[\"a"),
    T("{"),
    T("{]"),
    T("{,"),
    T("{["),
    T("{\"a"),
    T("{'a'"),
    T("[\"\\{[\"\\{[\"\\{"),
    T("\xE9"),
    T("*"),
    T("{\"a\":\"b\"}#{}"),
    T("[\\u000A\"\"]"),
    T("[1"),
    T("[ false, nul"),
    T("[ true, fals"),
    T("[ false, tru"),
    T("{\"asd\":\"asd\""),
    T("\xC3\xA5"),
    T("[\xE2\x81\xA0]"),
    T("\xEF\xBB"),
    T("\xEF\xBB\xBF"),
    T("[\x0c]"),
    T("]"),
    T("}"),
    T(","),
    T(":"),
    T("1,2"),
    T("[][]"),
    // other encodings
    T("\xFF\xFE[\0\"\0\xE9\0\"\0]\0"),
    T("\0[\0\"\0\xE9\0\"\0]"),
    T("\xFE\xFF\0[\0]"),
    T("[\0]\0"),
};

static void test_what_must_be_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++)
        expect(good[i], ERR_OK);
}

static void test_what_must_be_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        expect(bad[i], ERR_INVALID);
}

static void test_every_cut_is_refused(void **state)
{
    (void)state;
    struct bytes whole = T("{\"a\": [1.5e3, \"\\ud83d\\ude00\", {\"b\": [true, false, null]}, []], \"c\": {}}");
    expect(whole, ERR_OK);
    for (size_t len = 0; len < whole.len; len++)
        expect((struct bytes){whole.data, len}, ERR_INVALID);
}

static void test_depth(void **state)
{
    (void)state;
    static char text[200000];
    struct err e;
    for (uint32_t depth = 1; depth <= JSON_MAX_DEPTH; depth += 73) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        struct bytes nested = {(const uint8_t *)text, (size_t)2 * depth};
        for (int skip = 0; skip < 2; skip++) {
            assert_int_equal(parse(nested, skip, depth, &e), ERR_OK);
            assert_int_equal(parse(nested, skip, depth - 1, &e), ERR_INVALID);
        }
    }
    memset(text, '[', sizeof text);
    expect((struct bytes){(const uint8_t *)text, sizeof text}, ERR_INVALID);
    for (size_t i = 0; i + 5 <= sizeof text; i += 5)
        memcpy(text + i, "{\"\":\x20", 5);
    expect((struct bytes){(const uint8_t *)text, sizeof text}, ERR_INVALID);
}

// --- strings ---

static void check_string(struct bytes json, struct bytes expected, uint64_t repaired)
{
    struct arena arena;
    struct json_reader r;
    struct bytes text;
    arena_init(&arena, 0);
    json_reader_init(&r, json, &arena, 1);
    assert_true(json_string(&r, &text));
    json_end(&r);
    assert_int_equal(json_result(&r, NULL), ERR_OK);
    if (!bytes_equal(text, expected))
        fail_msg("%.*s became %.*s", BYTES_PRINT(json), BYTES_PRINT(text));
    assert_int_equal(r.repaired_strings, repaired);
    bool borrowed = text.data > json.data && text.data < json.data + json.len;
    assert_int_equal(borrowed, memchr(json.data, '\\', json.len) == NULL && repaired == 0);
    arena_fini(&arena);
}

static void test_strings(void **state)
{
    (void)state;
    static const struct {
        struct bytes json, text;
        uint64_t repaired;
    } cases[] = {
        {T("\"plain\""), T("plain"), 0},
        {T("\"\xC3\xA9\""), T("\xC3\xA9"), 0},
        {T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), T("\"\\/\b\f\n\r\t"), 0},
        {T("\"a\\u0000b\""), T("a\0b"), 0},
        {T("\"\\u00e9\\u20AC\\uD83D\\uDE00\""), T("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), 0},
        {T("\"\\uDBFF\\uDFFF\\uFFFF\""), T("\xF4\x8F\xBF\xBF\xEF\xBF\xBF"), 0},
        {T("\"\\uD800\""), T("\xEF\xBF\xBD"), 1},
        {T("\"\\uD800x\""), T("\xEF\xBF\xBDx"), 1},
        {T("\"\\uDC00\\uD800\""), T("\xEF\xBF\xBD\xEF\xBF\xBD"), 1},
        {T("\"\\uD800\\uD83D\\uDE00\""), T("\xEF\xBF\xBD\xF0\x9F\x98\x80"), 1},
        {T("\"\\uD800\\u0041\""),
         T("\xEF\xBF\xBD"
           "A"),
         1},
        {T("\"a\xFF\xFE"
           "b\""),
         T("a\xEF\xBF\xBD\xEF\xBF\xBD"
           "b"),
         1},
        {T("\"\xED\xA0\x80\\n\""), T("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\n"), 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_string(cases[i].json, cases[i].text, cases[i].repaired);
}

static void test_no_memory_for_a_string(void **state)
{
    (void)state;
    static const struct bytes texts[] = {T("[\"\\n\"]"), T("[\"\xFF\"]"), T("{\"\\n\":1}")};
    struct err e = {0};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        mem_fail_from(1);
        enum err_code rc = parse(texts[i], false, DEPTH, &e);
        mem_fail_from(0);
        assert_int_equal(rc, ERR_MEMORY);
    }
}

// --- numbers ---

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        struct bytes text;
        bool is_signed, is_unsigned;
        uint64_t value;
    } cases[] = {
        {T("0"), true, true, 0},
        {T("-0"), true, true, 0},
        {T("-0.0e5"), true, true, 0},
        {T("0e999999999999999999999"), true, true, 0},
        {T("123456789012345678"), true, true, 123456789012345678},
        {T("9007199254740993"), true, true, 9007199254740993},
        {T("9223372036854775807"), true, true, INT64_MAX},
        {T("9223372036854775808"), false, true, (uint64_t)1 << 63},
        {T("-9223372036854775808"), true, false, (uint64_t)1 << 63},
        {T("-9223372036854775809"), false, false, 0},
        {T("18446744073709551615"), false, true, UINT64_MAX},
        {T("18446744073709551616"), false, false, 0},
        {T("-1"), true, false, UINT64_MAX},
        {T("1e3"), true, true, 1000},
        {T("12.50e1"), true, true, 125},
        {T("10.000"), true, true, 10},
        {T("1000e-3"), true, true, 1},
        {T("0.00000000000000000000001e23"), true, true, 1},
        {T("922337203685477580.7E1"), true, true, INT64_MAX},
        {T("1e19"), false, true, 10000000000000000000u},
        {T("1e20"), false, false, 0},
        {T("1e99999999999999999999"), false, false, 0},
        {T("1.5"), false, false, 0},
        {T("12.5e0"), false, false, 0},
        {T("1e-1"), false, false, 0},
        {T("1e-99999999999999999999"), false, false, 0},
        {T(""), false, false, 0},
        {T("-"), false, false, 0},
        {T("01"), false, false, 0},
        {T("+1"), false, false, 0},
        {T("1 "), false, false, 0},
        {T(" 1"), false, false, 0},
        {T("1."), false, false, 0},
        {T("0x10"), false, false, 0},
        {T("1\0"), false, false, 0},
        {T("NaN"), false, false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t s = 7;
        uint64_t u = 7;
        bool is_signed = json_to_int64(cases[i].text, &s), is_unsigned = json_to_uint64(cases[i].text, &u);
        if (is_signed != cases[i].is_signed || is_unsigned != cases[i].is_unsigned)
            fail_msg("%.*s: %d %d", BYTES_PRINT(cases[i].text), is_signed, is_unsigned);
        assert_int_equal((uint64_t)s, is_signed ? cases[i].value : 0);
        assert_int_equal(u, is_unsigned ? cases[i].value : 0);
    }
}

// strtod is the judge: what it says of the same text.
static void test_doubles(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "1",
        "-1.5",
        "0.1",
        "1e22",
        "1e23",
        "123456789012345678901234567890",
        "5e-324",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "1e-400",
        "9007199254740993",
        "1e-22",
        "1e-23",
        "8.5e-22",
        "3.14159265358979323846",
        "100000e-5",
        "0.000001",
        "4.35",
        "9007199254740992e22",
    };
    double v;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        double expected = strtod(texts[i], NULL);
        assert_true(json_to_double(bytes_from_text(texts[i]), &v));
        assert_memory_equal(&v, &expected, sizeof v);
    }
    assert_false(json_to_double(BYTES_LITERAL("1e309"), &v));
    assert_false(json_to_double(BYTES_LITERAL("-1e99999999999"), &v));
    assert_false(json_to_double(BYTES_LITERAL("0x1p3"), &v));
    assert_false(json_to_double(BYTES_LITERAL("inf"), &v));
    char digits[2000];
    memset(digits, '3', sizeof digits);
    assert_false(json_to_double((struct bytes){(const uint8_t *)digits, sizeof digits}, &v));
    memset(digits + 1, '0', sizeof digits - 1);
    digits[1] = '.';
    assert_true(json_to_double((struct bytes){(const uint8_t *)digits, sizeof digits}, &v));
    assert_true(v == 3);
}

// --- the reader's manners ---

static void test_values_not_read_are_passed_over(void **state)
{
    (void)state;
    struct json_reader r;
    struct arena arena;
    struct bytes key;
    int64_t sum = 0, v = 0;
    arena_init(&arena, 0);
    json_reader_init(&r,
                     BYTES_LITERAL("{\"x\":[1,{\"n\":5}],\"n\":1,\"y\":{\"n\":[]},\"n\":2,\"z\":\"]\"} [9,[],3] true"),
                     &arena, 4);
    assert_true(json_more(&r) && json_enter_object(&r));
    while (json_next_member(&r, &key))
        if (bytes_equal_text(key, "n") && json_int64(&r, &v))
            sum += v;
    assert_int_equal(sum, 3);
    assert_true(json_more(&r) && json_enter_array(&r));
    assert_true(json_next_element(&r) && json_int64(&r, &v) && json_next_element(&r) && json_next_element(&r));
    assert_true(json_int64(&r, &v) && !json_next_element(&r));
    assert_int_equal(v, 3);
    assert_true(json_more(&r)); // true, not read
    assert_false(json_more(&r));
    json_end(&r);
    assert_int_equal(json_result(&r, NULL), ERR_OK);
    arena_fini(&arena);
}

static void check_error(const char *text, const char *expected)
{
    struct err e = {0};
    assert_int_equal(parse(bytes_from_text(text), false, DEPTH, &e), ERR_INVALID);
    assert_string_equal(e.text, expected);
}

static void test_errors_name_line_and_column(void **state)
{
    (void)state;
    check_error("[1,\n 2 3]", "line 2, column 4: ',' or ']' should be here");
    check_error("{\"a\":1\n\n,}", "line 3, column 2: a key in quotes should be here");
    check_error("{\"a\" 1}", "line 1, column 6: ':' should be here");
    check_error("[\"a\\x\"]", "line 1, column 4: an escape that JSON does not have");
    check_error("{} x", "line 1, column 4: something follows the value");
    check_error("[1", "line 1, column 3: ',' or ']' should be here");
    check_error("", "line 1, column 1: the text ends where a value should be");
}

static void test_the_first_error_stays(void **state)
{
    (void)state;
    struct json_reader r;
    struct arena arena;
    struct bytes text = BYTES_LITERAL("x");
    struct err e = {0};
    bool truth = true;
    int64_t number = 1;
    arena_init(&arena, 0);
    json_reader_init(&r, BYTES_LITERAL("[\"a\", 7]"), &arena, 4);
    assert_true(json_enter_array(&r) && json_next_element(&r));
    assert_false(json_bool(&r, &truth));
    assert_false(json_string(&r, &text) || json_null(&r) || json_next_element(&r) || json_more(&r));
    assert_false(json_int64(&r, &number) || json_enter_object(&r) || truth || text.len != 0 || number != 0);
    json_fail(&r, ERR_LIMIT, "later");
    assert_int_equal(json_result(&r, &e), ERR_INVALID);
    assert_string_equal(e.text, "line 1, column 2: true or false should be here");
    arena_fini(&arena);
}

// --- writing ---

static void check_written(struct buf *out, const char *expected)
{
    assert_true(buf_ok(out));
    if (!bytes_equal_text(buf_bytes(out), expected))
        fail_msg("%.*s instead of %s", BYTES_PRINT(buf_bytes(out)), expected);
    buf_clear(out);
}

static void test_writing(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1000);
    json_put_string(&out, (struct bytes)T("a\"\\/\b\t\n\v\f\r\x01\x1f\x7f\xC3\xA9\0z"));
    check_written(&out, "\"a\\\"\\\\/\\b\\t\\n\\u000b\\f\\r\\u0001\\u001f\x7f\xC3\xA9\\u0000z\"");
    json_put_string(&out, (struct bytes)T("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA\xFFx\xC3"));
    check_written(&out, "\"\\u2028\\u2029\xE2\x80\xAA\xEF\xBF\xBDx\xEF\xBF\xBD\"");
    json_put_string(&out, (struct bytes){NULL, 0});
    check_written(&out, "\"\"");
    json_put_int64(&out, INT64_MIN);
    check_written(&out, "-9223372036854775808");
    json_put_int64(&out, INT64_MAX);
    check_written(&out, "9223372036854775807");
    json_put_uint64(&out, UINT64_MAX);
    check_written(&out, "18446744073709551615");
    json_put_int64(&out, 0);
    check_written(&out, "0");
    json_put_double(&out, 0.1);
    check_written(&out, "0.1");
    json_put_double(&out, -0.0);
    check_written(&out, "-0");
    json_put_double(&out, -INFINITY);
    json_put_double(&out, NAN);
    check_written(&out, "\"-Infinity\"\"NaN\"");
    buf_fini(&out);
}

static void test_doubles_survive(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 100);
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        double v, back;
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v))
            continue;
        buf_clear(&out);
        json_put_double(&out, v);
        assert_true(json_to_double(buf_bytes(&out), &back));
        assert_memory_equal(&v, &back, sizeof v);
    }
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_must_be_read),
        cmocka_unit_test(test_what_must_be_refused),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_no_memory_for_a_string),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_values_not_read_are_passed_over),
        cmocka_unit_test(test_errors_name_line_and_column),
        cmocka_unit_test(test_the_first_error_stays),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_doubles_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
