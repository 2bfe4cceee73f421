// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/multipart.h"
#include "codec/pyroscope_query.h"
#include "exporters/pyroscope_upload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct pyroscope_labels *l, const char *name, const char *value)
{
    assert_true(pyroscope_labels_add(l, bytes_from_text(name), bytes_from_text(value)));
}

static char *query_of(const struct pyroscope_upload *u)
{
    struct buf out;
    size_t len;
    buf_init(&out, SIZE_MAX);
    pyroscope_upload_query(u, &out);
    buf_add_byte(&out, '\0');
    assert_true(buf_ok(&out));
    return (char *)buf_take(&out, &len);
}

static void check_query(const struct pyroscope_upload *u, const char *wanted)
{
    char *query = query_of(u);
    assert_string_equal(query, wanted);
    free(query);
}

static void test_a_query_says_all(void **state)
{
    (void)state;
    struct pyroscope_labels l;
    pyroscope_labels_init(&l);
    add(&l, "__delta__", "false");
    add(&l, "__name__", "process_cpu");
    add(&l, "__session_id__", "00ff");
    add(&l, "pyroscope_spy", "javaspy");
    add(&l, "region", "eu west");
    add(&l, "service_name", "ns/shop-1.x");
    const struct pyroscope_upload u = {.labels = &l,
                                       .format = "jfr",
                                       .from_nanos = 1795974691000000000,
                                       .until_nanos = 1795974699000000001,
                                       .sample_rate = 97,
                                       .units = BYTES_LITERAL("samples"),
                                       .aggregation_type = BYTES_LITERAL("sum")};
    check_query(&u, "name=ns%2Fshop-1.x%7B__session_id__%3D00ff%2Cregion%3Deu%20west%7D&from=1795974691"
                    "&until=1795974699000000001&spyName=javaspy&format=jfr&sampleRate=97&units=samples"
                    "&aggregationType=sum");
    pyroscope_labels_fini(&l);
}

// What /ingest's syntax has no place for; what comes out is read by the rules of the way in.
static void test_names_are_bent_to_the_syntax(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
    } labels[] = {
        {"a.b", "1"},        {"a-b", "x,y}z"},    {"a:b", "second of a_b"},           {"\xc3\xa9t\xc3\xa9", "{=}"},
        {"new\nline", "\n"}, {"a_b.more", "k=v"}, {"service_name", "caf\xc3\xa9 {1}"}};
    struct pyroscope_labels l, got;
    struct pyroscope_query q;
    struct err e;
    pyroscope_labels_init(&l);
    pyroscope_labels_init(&got);
    for (size_t i = 0; i < COUNT_OF(labels); i++)
        add(&l, labels[i].name, labels[i].value);
    const struct pyroscope_upload u = {.labels = &l, .format = "pprof", .from_nanos = 1, .until_nanos = 2};
    char *query = query_of(&u);
    assert_int_equal(pyroscope_query_parse(bytes_from_text(query), 0, &q, &e), ERR_OK);
    static const struct {
        const char *name, *value;
    } wanted[] = {
        {"a.b", "1"}, {"a_b", "x_y_z"}, {"_t_", "{=_"}, {"a_b.more", "k=v"}, {"service_name", "caf\xc3\xa9 {1_"}};
    assert_true(bytes_equal_text(q.series.app_name, "caf___1_"));
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        const struct bytes value = pyroscope_labels_find(&q.series.labels, wanted[i].name);
        if (!bytes_equal_text(value, wanted[i].value))
            fail_msg("%s: %.*s in %s", wanted[i].name, BYTES_PRINT(value), query);
    }
    pyroscope_query_fini(&q);
    free(query);
    pyroscope_labels_fini(&got);
    pyroscope_labels_fini(&l);
}

static void check_form(struct bytes jfr, struct bytes labels)
{
    char boundary[PYROSCOPE_BOUNDARY_SIZE], type[128];
    struct multipart parts;
    struct buf body;
    struct err e;
    buf_init(&body, SIZE_MAX);
    pyroscope_upload_form(jfr, labels, boundary, &body);
    snprintf(type, sizeof type, "multipart/form-data; boundary=%s", boundary);
    assert_int_equal(multipart_parse(bytes_from_text(type), buf_bytes(&body), &parts, &e), ERR_OK);
    assert_int_equal(parts.count, labels.len > 0 ? 2 : 1);
    assert_true(bytes_equal(multipart_find(&parts, "jfr")->body, jfr));
    assert_non_null(multipart_find(&parts, "jfr")->filename.data);
    if (labels.len > 0)
        assert_true(bytes_equal(multipart_find(&parts, "labels")->body, labels));
    buf_fini(&body);
}

static void test_a_form_holds_any_recording(void **state)
{
    (void)state;
    char boundary[PYROSCOPE_BOUNDARY_SIZE], again[PYROSCOPE_BOUNDARY_SIZE], evil[256];
    struct buf body;
    check_form(BYTES_LITERAL("FLR\0\0\r\n--"), BYTES_LITERAL(""));
    check_form(BYTES_LITERAL("FLR\r\n"), BYTES_LITERAL("\r\n\r\n"));
    // The labels have the boundary that the recording alone would get.
    buf_init(&body, SIZE_MAX);
    pyroscope_upload_form(BYTES_LITERAL("FLR"), BYTES_LITERAL(""), boundary, &body);
    buf_clear(&body);
    snprintf(evil, sizeof evil, "x\r\n--%s--\r\n", boundary);
    pyroscope_upload_form(BYTES_LITERAL("FLR"), bytes_from_text(evil), again, &body);
    assert_string_not_equal(boundary, again);
    check_form(BYTES_LITERAL("FLR"), bytes_from_text(evil));
    buf_fini(&body);
}

static void test_a_record_is_read_again(void **state)
{
    (void)state;
    struct buf record;
    buf_init(&record, SIZE_MAX);
    pyroscope_upload_begin(BYTES_LITERAL("name=a"), "text/plain", &record);
    buf_add(&record, "\0body", 5);
    const struct pyroscope_upload_parts parts = pyroscope_upload_read(buf_bytes(&record));
    assert_string_equal(parts.query, "name=a");
    assert_string_equal(parts.content_type, "text/plain");
    assert_int_equal(parts.body.len, 5);
    assert_memory_equal(parts.body.data, "\0body", 5);
    buf_fini(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_query_says_all),
        cmocka_unit_test(test_names_are_bent_to_the_syntax),
        cmocka_unit_test(test_a_form_holds_any_recording),
        cmocka_unit_test(test_a_record_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
