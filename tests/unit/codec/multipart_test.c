// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "codec/multipart.h"

#include <stdio.h>
#include <stdlib.h>

#define TYPE "multipart/form-data; boundary="
#define PART(headers, body) headers "\r\n\r\n" body "\r\n"
#define NAMED(name) "Content-Disposition: form-data; name=\"" name "\"; filename=\"" name ".bin\""

// All that the parts are made of, in one line each: name|filename|type|body.
static void expect_parts(const struct multipart *m, const char *want)
{
    struct buf text;
    buf_init(&text, SIZE_MAX);
    for (size_t i = 0; i < m->count; i++) {
        const struct multipart_part *p = &m->parts[i];
        buf_add(&text, p->name.data, p->name.len);
        buf_add_byte(&text, '|');
        buf_add_text(&text, p->filename.data == NULL ? "-" : "");
        buf_add(&text, p->filename.data, p->filename.len);
        buf_add_byte(&text, '|');
        buf_add(&text, p->content_type.data, p->content_type.len);
        buf_add_byte(&text, '|');
        buf_add(&text, p->body.data, p->body.len);
        buf_add_byte(&text, ';');
    }
    buf_add_byte(&text, '\0');
    assert_string_equal((const char *)text.data, want);
    buf_fini(&text);
}

static void good(const char *type, const char *body, const char *want)
{
    struct multipart m;
    struct err e = {0};
    const enum err_code code = multipart_parse(bytes_from_text(type), bytes_from_text(body), &m, &e);
    if (code != ERR_OK)
        fail_msg("%s", e.text);
    expect_parts(&m, want);
}

static void bad(const char *type, const char *body, enum err_code want, const char *why)
{
    struct multipart m;
    struct err e = {0};
    assert_int_equal(multipart_parse(bytes_from_text(type), bytes_from_text(body), &m, &e), want);
    assert_int_equal(e.code, want);
    if (strstr(e.text, why) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", why, e.text);
}

static void the_type_is_told_in_any_spelling(void **state)
{
    (void)state;
    static const char *const yes[] = {"multipart/form-data; boundary=x", "multipart/form-data;boundary=x",
                                      "Multipart/Form-Data ; boundary=x", " multipart/form-data",
                                      "multipart/form-data"};
    static const char *const no[] = {"", "multipart/form-datax", "multipart/mixed; boundary=x", "text/plain",
                                     "application/x-www-form-urlencoded; multipart/form-data"};
    for (size_t i = 0; i < COUNT_OF(yes); i++)
        assert_true(multipart_is(bytes_from_text(yes[i])));
    for (size_t i = 0; i < COUNT_OF(no); i++)
        assert_false(multipart_is(bytes_from_text(no[i])));
    assert_false(multipart_is((struct bytes){0}));
}

static void a_boundary_has_any_legal_form(void **state)
{
    (void)state;
    static const char *const boundaries[][2] = {
        {"x", "x"},
        {"\"x y\"", "x y"},
        {"\"a\\b\"", "ab"},
        {"--------------------------321fff1bbfcb7387b322a96c", "--------------------------321fff1bbfcb7387b322a96c"},
        {"--cpp-httplib-multipart-data-1a2B", "--cpp-httplib-multipart-data-1a2B"},
        {"\"'()+_,-./:=?\"; charset=utf-8", "'()+_,-./:=?"},
        {"a/b=c:d", "a/b=c:d"},
        {" \tx ", "x"},
        {"1234567890123456789012345678901234567890123456789012345678901234567890",
         "1234567890123456789012345678901234567890123456789012345678901234567890"},
    };
    for (size_t i = 0; i < COUNT_OF(boundaries); i++) {
        char type[200], body[400];
        snprintf(type, sizeof type, "multipart/form-data; charset=utf-8; BOUNDARY=%s", boundaries[i][0]);
        snprintf(body, sizeof body, "--%s\r\n" NAMED("profile") "\r\n\r\nabc\r\n--%s--\r\n", boundaries[i][1],
                 boundaries[i][1]);
        good(type, body, "profile|profile.bin||abc;");
    }
}

static void a_boundary_that_is_none_is_told(void **state)
{
    (void)state;
    bad("multipart/form-data", "--x--", ERR_INVALID, "without a boundary");
    bad("multipart/form-data; boundary", "--x--", ERR_INVALID, "the boundary is empty");
    bad("multipart/form-data; boundary=\"\"", "--x--", ERR_INVALID, "the boundary is empty");
    bad(TYPE "a\001b", "--x--", ERR_INVALID, "the character 0x01");
    bad(TYPE "12345678901234567890123456789012345678901234567890123456789012345678901", "", ERR_INVALID,
        "has 71 characters, allowed are 70");
    bad(TYPE "x", "", ERR_INVALID, "is not in the body");
    bad(TYPE "x", "--y\r\n\r\n--y--", ERR_INVALID, "is not in the body");
    bad(TYPE "x", "a--x--", ERR_INVALID, "is not in the body");
}

static void parts_come_in_any_order_with_anything_around(void **state)
{
    (void)state;
    good(TYPE "x",
         "preamble --x\r\n--xy\r\n--x\t \r\n" PART("content-type:text/json\r\nX-Other: 1\r\nContent-Length: 99999\r\n"
                                                   "CONTENT-DISPOSITION:form-data;filename=a.json;name=config",
                                                   "{}") "--x\r\n" PART(NAMED("profile"), "\r\n--x-\r\n--xx\n--x--\n\r")
             PART("--x\r\n" NAMED("empty"), "") PART("--x\r\nX: y", "no name") "--x--epilogue is none\r\n--x-- \r\nepi",
         "config|a.json|text/json|{};profile|profile.bin||\r\n--x-\r\n--xx\n--x--\n\r;empty|empty.bin||;"
         "|-||no name\r\n--x--epilogue is none;");
}

static void edges_of_parts(void **state)
{
    (void)state;
    good(TYPE "x", "--x--", "");
    good(TYPE "x", "--x--\n", "");
    good(TYPE "x", "\r\n--x--", "");
    // A part without headers; one whose empty line is the boundary's own; no line end behind the last boundary.
    good(TYPE "x", "--x\r\n\r\nabc\r\n--x--", "|-||abc;");
    good(TYPE "x", "--x\r\n" NAMED("a") "\r\n\r\n--x--", "a|a.bin||;");
    good(TYPE "x", "--x\r\n\r\n--x--", "|-||;");
    good(TYPE "x", "--x\r\n\r\n\r\n--x\r\n\r\n\r\n\r\n--x--\n", "|-||;|-||\r\n;");
}

static void lone_line_feeds_count_only_where_the_first_boundary_has_one(void **state)
{
    (void)state;
    good(TYPE "x", "--x\nContent-Disposition: form-data; name=a\n\n1\r\n2\r\n--x\n\n3\n--x--\n",
         "a|-||1\r\n2\r;|-||3;");
    good(TYPE "x", "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\n--x\n\n3\n--x--\n\r\n--x--",
         "a|-||1\n--x\n\n3\n--x--\n;");
}

static void names_are_unquoted(void **state)
{
    (void)state;
    struct multipart m;
    struct err e;
    const char body[] =
        "--x\r\nContent-Disposition: form-data; name=\"a\\\"b\\\\c;d\"; filename=\"C:\\d\\\"\r\n\r\n1\r\n"
        "--x\r\nContent-Disposition: form-data; filename=\"; name=no\";\r\n\t name = profile \r\n\r\n2\r\n"
        "--x\r\nContent-Disposition: form-data; name=profile\r\n\r\n3\r\n--x--";
    assert_int_equal(multipart_parse(bytes_from_text(TYPE "x"), bytes_from_text(body), &m, &e), ERR_OK);
    assert_ptr_equal(multipart_find(&m, "a\"b\\c;d"), &m.parts[0]);
    assert_ptr_equal(multipart_find(&m, "profile"), &m.parts[1]); // the first
    assert_true(bytes_equal_text(m.parts[1].filename, "; name=no"));
    assert_null(multipart_find(&m, "profil"));
    assert_null(multipart_find(&m, "profile1"));
    assert_null(multipart_find(&m, ""));
}

static void damage_names_part_and_place(void **state)
{
    (void)state;
    bad(TYPE "x", "--x\r\n", ERR_INVALID, "part 1: no empty line between headers and content at byte 5");
    bad(TYPE "x", "--x\r\nA: b", ERR_INVALID, "part 1: no empty line between headers and content at byte 9");
    bad(TYPE "x", "--x\r\nA: b\r\n--x--\r\n", ERR_INVALID,
        "part 1: no empty line between headers and content at byte 11");
    bad(TYPE "x", "--x\r\n\r\n1\r\n--x\r\n\r\nabc\r\n--x", ERR_INVALID,
        "part 2: the body ends without the closing boundary at byte 25");
}

static void too_many_parts_are_told(void **state)
{
    (void)state;
    struct multipart m;
    struct err e;
    struct buf body;
    buf_init(&body, SIZE_MAX);
    for (int i = 0; i < MULTIPART_MAX_PARTS; i++)
        buf_add_text(&body, "--x\r\n\r\n");
    const size_t full = body.len;
    buf_add_text(&body, "--x--");
    assert_int_equal(multipart_parse(bytes_from_text(TYPE "x"), buf_bytes(&body), &m, &e), ERR_OK);
    assert_int_equal(m.count, MULTIPART_MAX_PARTS);
    body.len = full;
    buf_add_text(&body, "--x\r\n\r\n--x--");
    buf_add_byte(&body, '\0');
    bad(TYPE "x", (const char *)body.data, ERR_LIMIT, "at least 65 parts, allowed are 64");
    buf_fini(&body);
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    const char whole[] = "pre\r\n--x\r\n" PART(NAMED("a"), "abc") "--x\r\n" PART(NAMED("b"), "\r\n--") "--x--";
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        struct multipart m;
        struct err e;
        uint8_t *copy = malloc(n + 1); // so that a sanitizer sees a step too far
        memcpy(copy, whole, n);
        const enum err_code code = multipart_parse(bytes_from_text(TYPE "x"), (struct bytes){copy, n}, &m, &e);
        assert_int_equal(code, ERR_INVALID);
        free(copy);
    }
    good(TYPE "x", whole, "a|a.bin||abc;b|b.bin||\r\n--;");
}

// Each would take minutes if any byte were looked at again and again.
static void hostile_bodies_take_linear_time(void **state)
{
    (void)state;
    static const char *const pieces[] = {"\r\n--xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                                         "\r\n",
                                         "\n",
                                         "\r\r\r\r",
                                         "--x\r\n ",
                                         "\r\n--x     ",
                                         "A:\r\n",
                                         "\r\n--x--\t\t\t\tz"};
    enum { SIZE = 1 << 20 };
    char *body = malloc(SIZE + 1);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        const char begin[] = "--x\r\n\r\n";
        struct multipart m;
        struct err e;
        for (size_t headers = 0; headers < 2; headers++) {
            const size_t n = headers ? 5 : sizeof begin - 1, len = strlen(pieces[i]);
            memcpy(body, begin, n);
            for (size_t at = n; at < SIZE; at++)
                body[at] = pieces[i][(at - n) % len];
            body[SIZE - 1] = 'z'; // no end
            assert_int_not_equal(
                multipart_parse(bytes_from_text(TYPE "x"), (struct bytes){(uint8_t *)body, SIZE}, &m, &e), ERR_OK);
        }
    }
    free(body);
}

static void hostile_headers_take_linear_time(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    static const char begin[] = "--x\r\nContent-Disposition: form-data", end[] = "\r\n\r\nabc\r\n--x--\r\n";
    uint8_t *body = malloc(SIZE);
    struct multipart m;
    struct err e;
    memset(body, ' ', SIZE);
    for (size_t at = 0; at + 3 < SIZE / 2; at += 3)
        memcpy(body + at, ";a=", 3);
    memcpy(body, begin, sizeof begin - 1);
    memcpy(body + SIZE - sizeof end + 1, end, sizeof end - 1);
    assert_int_equal(multipart_parse(bytes_from_text(TYPE "x"), (struct bytes){body, SIZE}, &m, &e), ERR_OK);
    expect_parts(&m, "|-||abc;");
    free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_type_is_told_in_any_spelling),
        cmocka_unit_test(a_boundary_has_any_legal_form),
        cmocka_unit_test(a_boundary_that_is_none_is_told),
        cmocka_unit_test(parts_come_in_any_order_with_anything_around),
        cmocka_unit_test(edges_of_parts),
        cmocka_unit_test(lone_line_feeds_count_only_where_the_first_boundary_has_one),
        cmocka_unit_test(names_are_unquoted),
        cmocka_unit_test(damage_names_part_and_place),
        cmocka_unit_test(too_many_parts_are_told),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(hostile_bodies_take_linear_time),
        cmocka_unit_test(hostile_headers_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
