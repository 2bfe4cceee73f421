// SPDX-License-Identifier: Apache-2.0
// OTLP/HTTP as clients see it: every status with its body, overload, clients that go away.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/compress.h"
#include "codec/otlp.h"
#include "tests/unit/receivers/otlp_fixture.h"

#include <stdio.h>
#include <unistd.h>

#define PROTO "Content-Type: application/x-protobuf\r\n"
#define JSON "Content-Type: application/json; charset=utf-8\r\n"

#define CHUNKED "POST " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\n" JSON "Transfer-Encoding: chunked\r\n\r\n2000\r\n"

static const struct otlp_rig_options plain = {0};

static void assert_text(struct buf *body, const char *text)
{
    assert_int_equal(body->len, strlen(text));
    assert_memory_equal(body->data, text, body->len);
    buf_fini(body);
}

static void assert_has(char *head, const char *line)
{
    if (strstr(head, line) == NULL)
        fail_msg("no \"%s\" in:\n%s", line, head);
    free(head);
}

static struct bytes text(const char *t)
{
    return bytes_from_text(t);
}

static void takes_protobuf(void **state)
{
    (void)state;
    struct otlp_rig r;
    struct buf body;
    char *head;
    otlp_rig_start(&r, &plain);
    assert_int_equal(otlp_rig_ask(&r, PROTO, buf_bytes(&r.three), &head, &body), 200);
    assert_has(head, "\r\ncontent-type: application/x-protobuf\r\n");
    assert_text(&body, "");
    assert_int_equal(otlp_rig_ask(&r, PROTO, (struct bytes){NULL, 0}, NULL, NULL), 200);
    struct fake_seen seen = otlp_rig_stop(&r);
    assert_int_equal(seen.taken_count, 1);
    assert_int_equal(seen.taken[0], 3);
}

static void takes_json(void **state)
{
    (void)state;
    struct otlp_rig r;
    struct buf body;
    char *head;
    static const char two[] = "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"samples\":["
                              "{\"values\":[\"1\"]},{\"values\":[2]}]}]}]}]}";
    otlp_rig_start(&r, &plain);
    assert_int_equal(otlp_rig_ask(&r, JSON, text(two), &head, &body), 200);
    assert_has(head, "\r\ncontent-type: application/json\r\n");
    assert_text(&body, "{}");
    assert_int_equal(otlp_rig_ask(&r, JSON, text("{}"), NULL, &body), 200);
    assert_text(&body, "{}");
    assert_int_equal(otlp_rig_ask(&r, JSON, text(""), NULL, &body), 400);
    assert_text(&body, "{\"code\":3,\"message\":\"the body is empty: not JSON\"}");
    struct fake_seen seen = otlp_rig_stop(&r);
    assert_int_equal(seen.taken_count, 1);
    assert_int_equal(seen.taken[0], 2);
}

static void takes_what_is_compressed(void **state)
{
    (void)state;
    struct otlp_rig r;
    otlp_rig_start(&r, &plain);
    static const enum compression kinds[] = {COMPRESSION_GZIP, COMPRESSION_ZSTD};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct buf packed;
        struct err e;
        char headers[128];
        struct compressor *c = compressor_create(kinds[i], 0);
        buf_init(&packed, SIZE_MAX);
        assert_int_equal(compressor_run(c, buf_bytes(&r.three), &packed, &e), ERR_OK);
        snprintf(headers, sizeof headers, PROTO "Content-Encoding: %s\r\n", compression_name(kinds[i]));
        assert_int_equal(otlp_rig_ask(&r, headers, buf_bytes(&packed), NULL, NULL), 200);
        packed.data[packed.len / 2] ^= 0x55;
        assert_int_equal(otlp_rig_ask(&r, headers, buf_bytes(&packed), NULL, NULL), 400);
        compressor_destroy(&c);
        buf_fini(&packed);
    }
    assert_int_equal(otlp_rig_ask(&r, PROTO "Content-Encoding: identity\r\n", buf_bytes(&r.three), NULL, NULL), 200);
    assert_int_equal(otlp_rig_stop(&r).taken_count, 3);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    struct otlp_rig r;
    struct buf body;
    int32_t code;
    struct bytes message;
    static const char where[] =
        "resource_profiles[0].scope_profiles[0].profiles[0].samples[0]: stack_index 99 is not below 1";
    otlp_rig_start(&r, &plain);
    assert_int_equal(otlp_rig_ask(&r, PROTO, buf_bytes(&r.broken), NULL, &body), 400);
    assert_true(otlp_decode_status(buf_bytes(&body), &code, &message));
    assert_int_equal(code, 3);
    assert_true(bytes_equal_text(message, where));
    assert_non_null(memmem(body.data, body.len, "google.rpc.BadRequest", 21));
    buf_fini(&body);
    int64_t failed = fake_service_counter(&r.service, "otelcol_receiver_failed_profile_samples", "receiver", "otlp",
                                          "transport", "http");
    assert_int_equal(failed, 1);
    assert_int_equal(otlp_rig_stop(&r).taken_count, 0);
}

static void refuses_what_is_not_ours(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        int status;
        const char *header, *body;
    } cases[] = {
        {"GET " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 405, "\r\nallow: POST\r\n",
         "profiles are sent with POST\n"},
        {"POST /v1/traces HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" JSON "Content-Length: 2\r\n\r\n{}", 404,
         "\r\ncontent-type: application/json\r\n",
         "{\"code\":12,\"message\":\"traces are not taken here; OTLP profiles are sent with POST to " PROFILES_PATH
         "\"}"},
        {"POST /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 404, "",
         "there is nothing at this path; OTLP profiles are sent with POST to " PROFILES_PATH "\n"},
        {"POST " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: text/plain\r\n"
         "Content-Length: 0\r\n\r\n",
         415, "", "unsupported media type, supported: application/x-protobuf, application/json\n"},
        {"POST " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" JSON "Content-Encoding: br\r\n"
         "Content-Length: 0\r\n\r\n",
         415, "\r\naccept-encoding: gzip, zstd, deflate, snappy, identity\r\n",
         "{\"code\":12,\"message\":\"unsupported content-encoding, supported: gzip, zstd, deflate, snappy, "
         "identity\"}"},
        {"POST " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" JSON "Content-Encoding: gzip\r\n"
         "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
         415, "", NULL},
        {"POST " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" JSON
         "otlp-profiles-development-version: 01\r\nContent-Length: 0\r\n\r\n",
         400, "",
         "{\"code\":3,\"message\":\"invalid or unsupported otlp-profiles-development-version: supported version is "
         "1\"}"},
        {"POST " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" JSON
         "otlp-profiles-development-version: 1\r\notlp-profiles-development-version: 1\r\nContent-Length: 0\r\n\r\n",
         400, "", NULL},
        {"POST " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" JSON
         "otlp-profiles-development-version: 1\r\nContent-Length: 2\r\n\r\n{}",
         200, "", "{}"},
        {"POST " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/grpc\r\n"
         "Content-Length: 0\r\n\r\n",
         400, "", "gRPC needs HTTP/2\n"},
    };
    struct otlp_rig r;
    otlp_rig_start(&r, &plain);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf body;
        char *head;
        assert_int_equal(otlp_rig_ask_raw(&r, cases[i].request, &head, &body), cases[i].status);
        assert_has(head, cases[i].header);
        if (cases[i].body != NULL)
            assert_text(&body, cases[i].body);
        else
            buf_fini(&body);
    }
    otlp_rig_stop(&r);
}

static void names_both_sizes(void **state)
{
    (void)state;
    struct otlp_rig r;
    struct buf body, packed;
    struct err e;
    uint8_t *zeros = calloc(1, 100000);
    const struct otlp_rig_options small = {.http = ", max_request_body_size: 4KiB", .service = ", memory_limit: 1MiB"};
    otlp_rig_start(&r, &small);
    assert_int_equal(otlp_rig_ask(&r, JSON, (struct bytes){zeros, 5000}, NULL, &body), 413);
    assert_text(&body,
                "{\"code\":8,\"message\":\"max_request_body_size: the request has 5000 bytes, allowed are 4096\"}");
    struct compressor *c = compressor_create(COMPRESSION_GZIP, 0);
    buf_init(&packed, SIZE_MAX);
    assert_int_equal(compressor_run(c, (struct bytes){zeros, 100000}, &packed, &e), ERR_OK);
    assert_int_equal(otlp_rig_ask(&r, JSON "Content-Encoding: gzip\r\n", buf_bytes(&packed), NULL, &body), 413);
    assert_text(&body, "{\"code\":8,\"message\":\"max_request_body_size: gzip data inflates to at least 4097 bytes, "
                       "allowed are 4096\"}");
    int fd = otlp_rig_connect(&r);
    otlp_rig_send(fd, CHUNKED, sizeof CHUNKED - 1);
    otlp_rig_send(fd, zeros, 0x2000);
    char *answer = otlp_rig_read_until(fd, "}");
    assert_memory_equal(answer, "HTTP/1.1 413 ", 13);
    assert_has(answer, "max_request_body_size: the request has more than the 4096 bytes that are allowed");
    close(fd);
    compressor_destroy(&c);
    buf_fini(&packed);
    free(zeros);
    otlp_rig_stop(&r);
}

// Begins a request whose body has been granted, but does not come.
static int hold_memory(struct otlp_rig *r, const char *length)
{
    char head[512];
    int fd = otlp_rig_connect(r);
    int len = snprintf(head, sizeof head,
                       "POST " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\n" PROTO "Expect: 100-continue\r\n"
                       "Content-Length: %s\r\n\r\n",
                       length);
    otlp_rig_send(fd, head, (size_t)len);
    char *answer = otlp_rig_read_until(fd, "\r\n\r\n");
    assert_non_null(strstr(answer, "100 Continue"));
    free(answer);
    return fd;
}

static int retry_after(const char *head)
{
    const char *at = strstr(head, "\r\nretry-after: ");
    int seconds = -1;
    return at != NULL && sscanf(at, "\r\nretry-after: %d\r", &seconds) == 1 ? seconds : -1;
}

static void refuses_before_memory_grows(void **state)
{
    (void)state;
    struct otlp_rig r;
    struct buf body;
    char *head;
    const struct otlp_rig_options small = {.service = ", memory_limit: 4MiB"};
    otlp_rig_start(&r, &small);
    int fd = hold_memory(&r, "1500000");
    static const char want[] = "POST " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" JSON
                               "Expect: 100-continue\r\nContent-Length: 1500000\r\n\r\n";
    assert_int_equal(otlp_rig_ask_raw(&r, want, &head, &body), 503);
    assert_true(retry_after(head) >= 1 && retry_after(head) <= 3);
    free(head);
    assert_text(&body, "{\"code\":14,\"message\":\"service.memory_limit of 4194304 bytes has no room for this request "
                       "now\"}");
    assert_int_equal(otlp_rig_ask(&r, PROTO, buf_bytes(&r.three), NULL, NULL), 200); // small ones find room
    otlp_rig_send(fd, "half a body", 11);
    close(fd); // and what it held is free again: sooner or later, for nobody tells us when the server has noticed
    int status;
    do {
        fd = otlp_rig_connect(&r);
        otlp_rig_send(fd, want, sizeof want - 1);
        char *answer = otlp_rig_read_until(fd, "\r\n\r\n");
        assert_int_equal(sscanf(answer, "HTTP/1.1 %d", &status), 1);
        free(answer);
        close(fd);
    } while (status == 503);
    assert_int_equal(status, 100);
    static const char never[] = "POST " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" JSON
                                "Expect: 100-continue\r\nContent-Length: 3000000\r\n\r\n";
    assert_int_equal(otlp_rig_ask_raw(&r, never, NULL, &body), 413);
    assert_text(&body, "{\"code\":8,\"message\":\"service.memory_limit: the request has 3000000 bytes, allowed are "
                       "2097152\"}");
    assert_int_equal(otlp_rig_stop(&r).taken_count, 1);
}

static void passes_on_the_verdict(void **state)
{
    (void)state;
    static const struct {
        const char *exporter;
        int status;
        const char *header, *body;
    } cases[] = {
        {", answer: retry", 503, "\r\nretry-after: ", "{\"code\":14,\"message\":\"as told\"}"},
        {", answer: refused", 400, "", "{\"code\":3,\"message\":\"as told\"}"},
        {", answer: partial", 200, "",
         "{\"partialSuccess\":{\"rejectedProfiles\":\"1\",\"errorMessage\":\"as told\"}}"},
        {", encode: memory", 503, "\r\nretry-after: ", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct otlp_rig r;
        struct buf body;
        char *head, exporter[128];
        static const char one[] = "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"samples\":["
                                  "{\"values\":[\"1\"]}]}]}]}]}";
        snprintf(exporter, sizeof exporter, ", sending_queue: {enabled: false}%s", cases[i].exporter);
        otlp_rig_start(&r, &(struct otlp_rig_options){.exporter = exporter});
        assert_int_equal(otlp_rig_ask(&r, JSON, text(one), &head, &body), cases[i].status);
        assert_has(head, cases[i].header);
        if (cases[i].body != NULL)
            assert_text(&body, cases[i].body);
        else
            buf_fini(&body);
        otlp_rig_stop(&r);
    }
}

static void does_not_call_all_back_at_once(void **state)
{
    (void)state;
    struct otlp_rig r;
    char *head;
    bool seen[4] = {false};
    otlp_rig_start(&r, &(struct otlp_rig_options){.exporter = ", sending_queue: {enabled: false}, answer: retry"});
    for (int i = 0; i < 64; i++) {
        assert_int_equal(otlp_rig_ask(&r, PROTO, buf_bytes(&r.three), &head, NULL), 503);
        int seconds = retry_after(head);
        assert_in_range(seconds, 1, 3);
        seen[seconds] = true;
        free(head);
    }
    assert_true(seen[1] && seen[2] && seen[3]);
    otlp_rig_stop(&r);
}

static void answers_once_it_is_queued(void **state)
{
    (void)state;
    struct otlp_rig r;
    otlp_rig_start(&r, &(struct otlp_rig_options){.exporter = ", answer: never"});
    assert_int_equal(otlp_rig_ask(&r, PROTO, buf_bytes(&r.three), NULL, NULL), 200);
    atomic_store(&r.world.answer, FAKE_OK);
    assert_int_equal(otlp_rig_stop(&r).taken_count, 1);
}

static bool two_were_sent(void *arg)
{
    return fake_world_seen(arg).unanswered == 2;
}

static void two_are_in_flight(void **state)
{
    (void)state;
    struct otlp_rig r;
    size_t len;
    const struct otlp_rig_options waits = {.exporter = ", sending_queue: {enabled: false}, answer: never"};
    otlp_rig_start(&r, &waits);
    int a = otlp_rig_connect(&r), b = otlp_rig_connect(&r), gone = otlp_rig_connect(&r);
    otlp_rig_post(a, PROTO, buf_bytes(&r.three));
    otlp_rig_post(b, PROTO, buf_bytes(&r.three));
    fake_world_wait(&r.world, two_were_sent, &r.world);
    close(gone);
    atomic_store(&r.world.answer, FAKE_OK);
    char *first = otlp_rig_read_all(a, &len), *second = otlp_rig_read_all(b, &len);
    assert_memory_equal(first, "HTTP/1.1 200 ", 13);
    assert_memory_equal(second, "HTTP/1.1 200 ", 13);
    free(first);
    free(second);
    close(a);
    close(b);
    assert_int_equal(otlp_rig_stop(&r).taken_count, 2);
}

static bool one_was_sent(void *arg)
{
    return fake_world_seen(arg).unanswered == 1;
}

static void goes_away_while_it_waits(void **state)
{
    (void)state;
    struct otlp_rig r;
    const struct otlp_rig_options waits = {.exporter = ", sending_queue: {enabled: false}, answer: never"};
    otlp_rig_start(&r, &waits);
    int a = otlp_rig_connect(&r), half = hold_memory(&r, "1000");
    otlp_rig_post(a, PROTO, buf_bytes(&r.three));
    fake_world_wait(&r.world, one_was_sent, &r.world);
    close(a);
    atomic_store(&r.world.answer, FAKE_OK);
    assert_int_equal(otlp_rig_stop(&r).taken_count, 1); // and the half request does not keep it from ending
    close(half);
}

static void speaks_to_web_pages(void **state)
{
    (void)state;
    struct otlp_rig r;
    char *head;
    const struct otlp_rig_options cors = {
        .http = ", response_headers: {X-From: us}, cors: {allowed_origins: [\"https://*.example.com\"], "
                "allowed_headers: [X-A, X-B], exposed_headers: X-From, max_age: 60}"};
    otlp_rig_start(&r, &cors);
    static const char ask[] = "OPTIONS " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: %s\r\n"
                              "Access-Control-Request-Method: POST\r\n\r\n";
    char request[512];
    snprintf(request, sizeof request, ask, "https://a.example.com");
    assert_int_equal(otlp_rig_ask_raw(&r, request, &head, NULL), 204);
    assert_has(head, "\r\naccess-control-allow-origin: https://a.example.com\r\naccess-control-allow-methods: POST\r\n"
                     "access-control-allow-headers: X-A, X-B\r\naccess-control-max-age: 60\r\n");
    snprintf(request, sizeof request, ask, "https://example.org");
    assert_int_equal(otlp_rig_ask_raw(&r, request, &head, NULL), 204);
    assert_null(strstr(head, "access-control-allow"));
    free(head);
    assert_int_equal(otlp_rig_ask(&r, JSON "Origin: https://b.example.com\r\n", text("{}"), &head, NULL), 200);
    assert_non_null(strstr(head, "\r\nX-From: us\r\n"));
    assert_has(head,
               "\r\naccess-control-allow-origin: https://b.example.com\r\naccess-control-expose-headers: X-From\r\n");
    otlp_rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_protobuf),
        cmocka_unit_test(takes_json),
        cmocka_unit_test(takes_what_is_compressed),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(refuses_what_is_not_ours),
        cmocka_unit_test(names_both_sizes),
        cmocka_unit_test(refuses_before_memory_grows),
        cmocka_unit_test(passes_on_the_verdict),
        cmocka_unit_test(does_not_call_all_back_at_once),
        cmocka_unit_test(answers_once_it_is_queued),
        cmocka_unit_test(two_are_in_flight),
        cmocka_unit_test(goes_away_while_it_waits),
        cmocka_unit_test(speaks_to_web_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
