// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exporters/pyroscope_answer.h"

#include <stdio.h>
#include <string.h>

#define JSON(code, message) "{\"code\":\"" code "\",\"message\":\"" message "\"}"
#define ADDING "push rate limit (4.0 MiB) exceeded while adding 2.5 MiB"

static struct pyroscope_judgement judge(int status, const char *type, const char *body, size_t raw_bytes,
                                        unsigned doubts)
{
    const struct http_header headers[] = {{"content-type", type}, {"retry-after", "7"}};
    const struct record record = {.raw_bytes = raw_bytes, .doubts = doubts};
    const struct pyroscope_request request = {.url = "http://host/base/ingest?key=secret", .record = &record};
    const struct http_response response = {.status = status,
                                           .headers = headers,
                                           .header_count = 2,
                                           .body = bytes_from_text(body),
                                           .error = "connection refused"};
    return pyroscope_answer_judge(&request, &response);
}

enum { SMALL = 1000, LARGE = 3 << 20 };

static const struct {
    int status;
    const char *body;
    size_t raw_bytes;
    enum verdict_kind kind;
    bool is_size;
} cases[] = {
    {200, "", SMALL, VERDICT_OK, false},
    {204, "", SMALL, VERDICT_OK, false},
    {0, "", SMALL, VERDICT_RETRY, false},
    {301, "", SMALL, VERDICT_REFUSED, false},
    {400, JSON("invalid_argument", "not_in_ingestion_window"), SMALL, VERDICT_REFUSED, false},
    {400, JSON("invalid_argument", "the profile with labels '{}' exceeds the size limit (max_profile_size_byte)"),
     SMALL, VERDICT_REFUSED, true},
    {400, JSON("invalid_argument", "the profile exceeds the samples count limit"), SMALL, VERDICT_REFUSED, true},
    {401, "", SMALL, VERDICT_REFUSED, false},
    {403, "", SMALL, VERDICT_REFUSED, false},
    {404, "404 page not found", SMALL, VERDICT_REFUSED, false},
    {405, "", SMALL, VERDICT_REFUSED, false},
    {408, "", SMALL, VERDICT_RETRY, false},
    {413, "", SMALL, VERDICT_REFUSED, true},
    {415, "", SMALL, VERDICT_REFUSED, false},
    {422, JSON("unknown", "malformed"), SMALL, VERDICT_REFUSED, false},
    {422, JSON("unknown", "the profile exceeds the size limit"), SMALL, VERDICT_REFUSED, true},
    {422, JSON("unknown", ADDING), SMALL, VERDICT_RETRY, false}, // servers before 2.2
    {429, JSON("resource_exhausted", ADDING), SMALL, VERDICT_RETRY, false},
    {429, JSON("resource_exhausted", ADDING), LARGE, VERDICT_REFUSED, true}, // never passes
    {429, JSON("resource_exhausted", "the profile is over the burst"), SMALL, VERDICT_REFUSED, true},
    {429, "", LARGE, VERDICT_RETRY, false},
    {499, "", SMALL, VERDICT_REFUSED, false},
    {500, JSON("internal", "x"), SMALL, VERDICT_RETRY, false},
    {501, "", SMALL, VERDICT_RETRY, false},
    {503, JSON("unavailable", "x"), SMALL, VERDICT_RETRY, false},
};

static void test_each_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct pyroscope_judgement j =
            judge(cases[i].status, "application/json", cases[i].body, cases[i].raw_bytes, 0);
        if (j.verdict.kind != cases[i].kind || j.is_size != cases[i].is_size || j.is_doubtful)
            fail_msg("%d %s: %d %d %d", cases[i].status, cases[i].body, j.verdict.kind, j.is_size, j.is_doubtful);
        if (strstr(j.verdict.text, "secret") != NULL)
            fail_msg("%s", j.verdict.text);
        if (cases[i].status > 299)
            assert_int_equal(j.verdict.retry_after_nanos, 7000000000);
    }
}

static void test_an_unknown_500_is_tried_a_few_times(void **state)
{
    (void)state;
    for (unsigned doubts = 0; doubts < 4; doubts++) {
        const struct pyroscope_judgement j = judge(500, "application/json", JSON("unknown", "x"), SMALL, doubts);
        assert_true(j.is_doubtful);
        assert_int_equal(j.verdict.kind, doubts < 2 ? VERDICT_RETRY : VERDICT_REFUSED);
    }
}

static void check_words(int status, const char *type, const char *body, const char *wanted)
{
    const struct pyroscope_judgement j = judge(status, type, body, SMALL, 0);
    assert_string_equal(j.verdict.text, wanted);
}

static void test_the_servers_words(void **state)
{
    (void)state;
    check_words(400, "application/json", JSON("invalid_argument", "a \\u001b[31mred\\nline"),
                "http://host/base/ingest answers 400 invalid_argument: a [31mred line");
    check_words(503, "text/html", "<html><h1>503</h1> try <b>later</b></html>",
                "http://host/base/ingest answers 503: 503 try later");
    check_words(400, "application/json", "{\"code\":\"broken",
                "http://host/base/ingest answers 400: {\"code\":\"broken");
    check_words(400, "application/json", "{\"status\":{\"code\":[1]},\"message\":\"m\"}",
                "http://host/base/ingest answers 400: m");
    check_words(401, "text/plain", "",
                "http://host/base/ingest answers 401 (are headers and auth.authenticator right?)");
    check_words(0, "text/plain", "", "connection refused");
    const struct pyroscope_judgement j = judge(404, "text/plain", "404 page not found", SMALL, 0);
    assert_non_null(strstr(j.verdict.text, "http://host/base/ingest answers 404: 404 page not found ("));
    assert_non_null(strstr(j.verdict.text, "base path"));
}

// A server may nest as it likes, and say as much as it likes.
static void test_hostile_words(void **state)
{
    (void)state;
    char nested[4000];
    memset(nested, '[', sizeof nested - 1);
    memcpy(nested, "{\"code\":", 8);
    nested[sizeof nested - 1] = '\0';
    assert_int_equal(judge(400, "application/json", nested, SMALL, 0).verdict.kind, VERDICT_REFUSED);
    char long_code[4000];
    snprintf(long_code, sizeof long_code, "{\"code\":\"%0*d\",\"message\":\"%0*d\"}", 900, 0, 2000, 0);
    const struct pyroscope_judgement j = judge(500, "application/json", long_code, SMALL, 0);
    assert_true(strlen(j.verdict.text) < VERDICT_TEXT_MAX);
    assert_false(j.is_doubtful);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_status),
        cmocka_unit_test(test_an_unknown_500_is_tried_a_few_times),
        cmocka_unit_test(test_the_servers_words),
        cmocka_unit_test(test_hostile_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
