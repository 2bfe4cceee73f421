// SPDX-License-Identifier: Apache-2.0
// Lists and watches in pieces of any size.
#include "base/mem.h"
#include "kube/kube_decode.h"
#include "tests/unit/kube/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define POD(name) "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\"}}"

// --- what came ---

struct heard {
    struct buf text; // "a b | ..."
    uint64_t count;
};

static void hear_item(void *arg, struct kube_object *o)
{
    struct heard *h = arg;
    h->count++;
    if (h->count < 100)
        buf_add_format(&h->text, "%.*s ", BYTES_PRINT(o->name));
    kube_object_unref(&o);
}

static void hear_event(void *arg, const struct kube_event *event)
{
    static const char *const names[] = {"added", "modified", "deleted", "bookmark", "error"};
    struct heard *h = arg;
    h->count++;
    struct kube_object *o = event->object;
    if (h->count < 100)
        buf_add_format(&h->text, "%s:%.*s%.*s%.*s%s%d ", names[event->type], BYTES_PRINT(o != NULL ? o->name : B("")),
                       BYTES_PRINT(event->resource_version), BYTES_PRINT(event->message),
                       event->ends_initial ? "!" : "", event->status);
    kube_object_unref(&o);
}

static struct kube_stream *list_stream(struct heard *h)
{
    return kube_stream_create(&(struct kube_stream_options){.kind = KUBE_POD, .on_item = hear_item, .arg = h});
}

static struct kube_stream *watch_stream(struct heard *h)
{
    return kube_stream_create(&(struct kube_stream_options){.kind = KUBE_POD, .on_event = hear_event, .arg = h});
}

static void heard_init(struct heard *h)
{
    *h = (struct heard){.count = 0};
    buf_init(&h->text, 1 << 20);
}

static void expect_heard(struct heard *h, const char *expected)
{
    if (!bytes_equal_text(buf_bytes(&h->text), expected))
        fail_msg("\"%.*s\", not \"%s\"", BYTES_PRINT(buf_bytes(&h->text)), expected);
    buf_fini(&h->text);
}

// Each piece in memory of its exact size, which goes afterwards.
static enum err_code feed(struct kube_stream *s, struct bytes data, size_t piece, struct err *e)
{
    enum err_code code = ERR_OK;
    for (size_t at = 0; at < data.len && code == ERR_OK; at += piece) {
        size_t len = data.len - at < piece ? data.len - at : piece;
        uint8_t *copy = malloc(len);
        assert_non_null(copy);
        memcpy(copy, data.data + at, len);
        code = kube_stream_feed(s, (struct bytes){copy, len}, e);
        free(copy);
    }
    return code;
}

// --- lists ---

static const char list[] =
    "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"12\",\"continue\":"
    "\"next\\u002d1\"},\n"
    "\"items\" : [" POD("a") ",\n " POD("b\\\"]}") " , {\"metadata\":{\"name\":\"no uid\"}},"
                                                   "{\"metadata\":{\"labels\":{\"items\":\"[{\\\\\"},\"name\":\"c\","
                                                   "\"uid\":\"u\"},\"items\":[[{}]]}]}\n";

static void test_a_list_in_pieces(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= sizeof list; piece++) {
        struct heard h;
        struct err e = {0};
        struct kube_list_meta meta;
        heard_init(&h);
        struct kube_stream *s = list_stream(&h);
        assert_int_equal(feed(s, B(list), piece, &e), ERR_OK);
        assert_int_equal(kube_stream_end_list(s, &meta, &e), ERR_OK);
        assert_string_equal(meta.resource_version, "12");
        assert_string_equal(meta.continue_token, "next-1");
        assert_int_equal(kube_stream_passed_over(s), 1);
        expect_heard(&h, "a b\"]} c ");
        free(meta.continue_token);
        kube_stream_destroy(&s);
    }
}

static void test_a_list_that_breaks_off(void **state)
{
    (void)state;
    for (size_t len = 0; len + 1 < sizeof list - 1; len++) {
        struct heard h;
        struct err e = {0};
        struct kube_list_meta meta;
        heard_init(&h);
        struct kube_stream *s = list_stream(&h);
        assert_int_equal(feed(s, (struct bytes){(const uint8_t *)list, len}, len + 1, &e), ERR_OK);
        assert_int_equal(kube_stream_end_list(s, &meta, &e), ERR_INVALID);
        assert_non_null(strstr(e.text, "breaks off behind "));
        assert_null(meta.continue_token);
        buf_fini(&h.text);
        kube_stream_destroy(&s);
    }
}

static enum err_code read_list(const char *json, struct heard *h, struct kube_list_meta *meta, struct err *e)
{
    *e = (struct err){0};
    heard_init(h);
    struct kube_stream *s = list_stream(h);
    enum err_code code = feed(s, B(json), 7, e), end = kube_stream_end_list(s, meta, code == ERR_OK ? e : NULL);
    assert_true(code == ERR_OK || end == code);
    kube_stream_destroy(&s);
    return end;
}

static void test_lists_of_all_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *json, *heard, *version;
    } cases[] = {
        {"{}", "", ""},
        {"{\"items\":null,\"metadata\":null}", "", ""},
        {"{\"items\":[ ]}", "", ""},
        {" \n{\"items\":[" POD("a") "],\"metadata\":{\"resourceVersion\":\"7\"},\"kind\":\"PodList\"} ", "a ", "7"},
        {"{\"kind\":\"PartialObjectMetadataList\",\"items\":[" POD("a") "]}", "a ", ""},
        {"{\"kind\":\"List\",\"items\":[" POD("a") "]}", "a ", ""},
        // Not on the first level, not a key, not of an array.
        {"{\"metadata\":{\"items\":[" POD("x") "],\"resourceVersion\":\"8\"}}", "", "8"},
        {"{\"a\":\"items\",\"b\":[" POD("x") "],\"c\\\"items\":[{}],\"items\":[" POD("a") "]}", "a ", ""},
        {"{\"a\":[\"items\",[" POD("x") "]]}", "", ""},
        {"{\"items\":{\"items\":[" POD("x") "]}}", "", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct heard h;
        struct err e;
        struct kube_list_meta meta;
        if (read_list(cases[i].json, &h, &meta, &e) != ERR_OK)
            fail_msg("%s: %s", cases[i].json, e.text);
        expect_heard(&h, cases[i].heard);
        assert_string_equal(meta.resource_version, cases[i].version);
        assert_null(meta.continue_token);
    }
}

static void test_lists_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json, *heard, *text;
    } cases[] = {
        {"<html>", "", "near byte 0, behind 0 objects: this is not a list"},
        {"[]", "", "not a list"},
        {"{\"kind\":\"NodeList\",\"items\":[" POD("a") "]}", "", "not PodList"},
        {"{\"kind\":\"Pod\",\"items\":[" POD("a") "]}", "", "not PodList"},
        {"{\"items\":[" POD("a") "],\"kind\":\"NodeList\"}", "a ", "not PodList"},
        {"{\"items\":[" POD("a") "," POD("b") ",{\"x\":}]}", "a b ", "behind 2 objects: line 1, column 6"},
        {"{\"items\":[,]}", "", "an object should be here"},
        {"{\"items\":[" POD("a") ",]}", "a ", "an object should be here"},
        {"{\"items\":[" POD("a") POD("b") "]}", "a ", "',' or ']'"},
        {"{\"items\":[null]}", "", "an object should be here"},
        {"{\"items\":[[]]}", "", "an object should be here"},
        {"{\"items\":[],\"items\":[" POD("a") "]}", "", "items twice"},
        {"{\"items\":[]}{", "", "something follows"},
        {"{\"items\":[]],\"a\":1}", "", "something follows"},
        {"{\"a\":\"\",\"items\":[} ]", "", "an object should be here"},
        {"{\"items\":[]\"a\"}", "", "',' or '}'"},
        {"{\"metadata\":{\"continue\":\"a\\u0000b\"}}", "", "continue is none"},
        {"{\"metadata\":{\"resourceVersion\":\"0123456789012345678901234567890123456789012345678901234567890123\"}}",
         "", "resourceVersion"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct heard h;
        struct err e;
        struct kube_list_meta meta;
        assert_int_equal(read_list(cases[i].json, &h, &meta, &e), ERR_INVALID);
        if (strstr(e.text, cases[i].text) == NULL)
            fail_msg("%s: %s", cases[i].json, e.text);
        expect_heard(&h, cases[i].heard);
        assert_null(meta.continue_token);
    }
}

// --- watches ---

static const char watch[] = "{\"type\":\"ADDED\",\"object\":" POD(
    "a") "}\n"
         "{\"object\":" POD("a") ",\"type\":\"MODIFIED\"}{\"type\":\"DELETED\",\"object\":" POD(
             "a") "}\r\n\r\n"
                  "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\"}}\n"
                  "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"17\"}}}\n"
                  "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"annotations\":{\"a\":\"b\","
                  "\"k8s.io/initial-events-end\":\"true\"},\"resourceVersion\":\"18\"}}}\n"
                  "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"message\":\"too "
                  "\\\"old\\\"\"}}\n";

static void test_a_watch_in_pieces(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= sizeof watch; piece++) {
        struct heard h;
        struct err e = {0};
        struct kube_list_meta meta;
        heard_init(&h);
        struct kube_stream *s = watch_stream(&h);
        assert_int_equal(feed(s, B(watch), piece, &e), ERR_OK);
        assert_int_equal(kube_stream_passed_over(s), 1);
        assert_int_equal(kube_stream_end_list(s, &meta, &e), ERR_INVALID); // it is none
        expect_heard(&h, "added:a0 modified:a0 deleted:a0 bookmark:170 bookmark:18!0 error:too \"old\"410 ");
        kube_stream_destroy(&s);
    }
}

static void test_events_that_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "[]",
        "null",
        "a",
        "{}",
        "{\"type\":\"ADDED\"}",
        "{\"type\":\"BORN\",\"object\":" POD("a") "}",
        "{\"object\":" POD("a") "}",
        "{\"type\":\"ADDED\",\"object\":null}",
        "{\"type\":\"ADDED\",\"object\":[]}",
        "{\"type\":\"BOOKMARK\",\"object\":7}",
        "{\"type\":\"ERROR\",\"object\":\"x\"}",
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"uid\":\"b\"}}}",
        "{\"kind\":\"Status\",\"code\":410}",
        "{\"type\":\"ADDED\",\"object\":" POD("a") ",}"};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct heard h;
        struct err e = {0};
        heard_init(&h);
        struct kube_stream *s = watch_stream(&h);
        if (feed(s, B(cases[i]), 1000, &e) != ERR_INVALID)
            fail_msg("%s", cases[i]);
        assert_true(e.text[0] != 0);
        assert_int_equal(kube_stream_feed(s, B("{}"), &e), ERR_INVALID); // and nothing more is read
        assert_int_equal(h.count, 0);
        expect_heard(&h, "");
        kube_stream_destroy(&s);
    }
}

static void test_an_event_breaks_off(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof watch; len++) {
        struct heard h;
        heard_init(&h);
        struct kube_stream *s = watch_stream(&h);
        assert_int_equal(feed(s, (struct bytes){(const uint8_t *)watch, len}, 100000, NULL),
                         len == sizeof watch ? ERR_INVALID : ERR_OK);
        buf_fini(&h.text);
        kube_stream_destroy(&s);
    }
}

// --- bounds ---

static enum err_code feed_repeated(struct kube_stream *s, const char *text, size_t total, struct err *e)
{
    enum err_code code = ERR_OK;
    struct buf piece;
    buf_init(&piece, 1 << 20);
    while (piece.len < 50000)
        buf_add_text(&piece, text);
    for (size_t sent = 0; sent < total && code == ERR_OK; sent += piece.len)
        code = kube_stream_feed(s, buf_bytes(&piece), e);
    buf_fini(&piece);
    return code;
}

static void test_large_objects_are_refused(void **state)
{
    (void)state;
    static const char *const beginnings[] = {"{\"items\":[{\"a\":\"", "{\"items\":[{\"a\":[", "{\"a\":\""};
    for (size_t i = 0; i < COUNT_OF(beginnings); i++) {
        struct heard h;
        struct err e = {0};
        heard_init(&h);
        struct kube_stream *s = list_stream(&h);
        assert_int_equal(kube_stream_feed(s, B(beginnings[i]), &e), ERR_OK);
        assert_int_equal(feed_repeated(s, i % 2 == 0 ? "aaaaaaaa" : "[[[[", KUBE_OBJECT_MAX_BYTES - 100000, &e),
                         ERR_OK);
        assert_int_equal(feed_repeated(s, i % 2 == 0 ? "aaaaaaaa" : "[[[[", 200000, &e), ERR_LIMIT);
        assert_non_null(strstr(e.text, i < 2 ? "an object is larger than the allowed 4" : "beside its items"));
        buf_fini(&h.text);
        kube_stream_destroy(&s);
    }
}

static void test_space_is_not_kept(void **state)
{
    (void)state;
    struct heard h;
    struct err e = {0};
    heard_init(&h);
    struct kube_stream *s = list_stream(&h);
    assert_int_equal(kube_stream_feed(s, B("{\"items\":["), &e), ERR_OK);
    assert_int_equal(feed_repeated(s, " \n\t\r", KUBE_OBJECT_MAX_BYTES + 100000, &e), ERR_OK);
    assert_int_equal(kube_stream_feed(s, B(POD("a") "]}"), &e), ERR_OK);
    expect_heard(&h, "a ");
    kube_stream_destroy(&s);
}

static void test_many_tiny_objects(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    struct heard h;
    struct err e = {0};
    heard_init(&h);
    struct kube_stream *s = list_stream(&h);
    assert_int_equal(kube_stream_feed(s, B("{\"items\":[{}"), &e), ERR_OK);
    assert_int_equal(feed_repeated(s, ",{}", (size_t)3 * MANY, &e), ERR_OK);
    assert_true(kube_stream_passed_over(s) > MANY);
    expect_heard(&h, "");
    kube_stream_destroy(&s);
}

static void test_no_memory(void **state)
{
    (void)state;
    bool done = false;
    size_t n = 0;
    while (!done) {
        struct heard h;
        struct err e = {0};
        struct kube_list_meta meta = {.continue_token = NULL};
        heard_init(&h);
        struct kube_stream *s = list_stream(&h);
        mem_fail_from(++n);
        enum err_code code = kube_stream_feed(s, (struct bytes){(const uint8_t *)list, 150}, &e);
        if (code == ERR_OK)
            code = kube_stream_feed(s, B(list + 150), &e);
        if (code == ERR_OK)
            code = kube_stream_end_list(s, &meta, &e);
        mem_fail_from(0);
        done = code == ERR_OK;
        // what is heard grows in the same memory: an object may be lost in it
        assert_true(done || code == ERR_MEMORY);
        assert_int_equal(e.code, code);
        free(meta.continue_token);
        buf_fini(&h.text);
        kube_stream_destroy(&s);
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_list_in_pieces),    cmocka_unit_test(test_a_list_that_breaks_off),
        cmocka_unit_test(test_lists_of_all_shapes), cmocka_unit_test(test_lists_that_are_refused),
        cmocka_unit_test(test_a_watch_in_pieces),   cmocka_unit_test(test_events_that_are_refused),
        cmocka_unit_test(test_an_event_breaks_off), cmocka_unit_test(test_large_objects_are_refused),
        cmocka_unit_test(test_space_is_not_kept),   cmocka_unit_test(test_many_tiny_objects),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
