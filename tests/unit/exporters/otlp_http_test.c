// SPDX-License-Identifier: Apache-2.0
// The exporter against a peer on loopback that answers what a script says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "codec/compress.h"
#include "codec/otlp.h"
#include "exporters/exporters.h"
#include "tests/support/batch_text.h"
#include "tests/support/fake_env.h"
#include "tests/support/random_batch.h"
#include "tests/support/raw_peer.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RAW = 1 << 24 };

struct world {
    struct fake_env env;
    struct raw_peer *peer;
    struct fake_component out;
    struct batch *batch;
    size_t awaited; // connection
};

// where: behind "http://127.0.0.1:PORT"; more: further keys, each after a comma.
static void world_init(struct world *w, const char *key, const char *where, const char *more)
{
    char yaml[1024];
    struct random_batch_options options = random_batch_defaults;
    options.max_resources = 1; // others are cut by a 400
    *w = (struct world){.batch = random_batch(7, &options)};
    fake_env_init(&w->env, 1);
    w->peer = raw_peer_create(&w->env.loop.uv, NULL);
    snprintf(yaml, sizeof yaml, "{%s: \"http://127.0.0.1:%d%s\"%s}", key, raw_peer_port(w->peer), where, more);
    fake_component_init(&w->out, &w->env, KIND_EXPORTER, &otlp_http_exporter.module, yaml);
    struct err e = {0};
    assert_int_equal(fake_component_start(&w->out, &e), ERR_OK);
}

static void world_fini(struct world *w)
{
    fake_component_fini(&w->out);
    if (w->peer != NULL)
        raw_peer_destroy(&w->peer);
    batch_unref(&w->batch);
    assert_int_equal(w->env.budget.used, 0);
    fake_env_fini(&w->env);
}

// The last answer is repeated on connections beyond it.
static void answers(struct world *w, const struct raw_step steps[2])
{
    raw_peer_script(w->peer, steps, 2);
}

#define ANSWER(response) ((const struct raw_step[2]){{RAW_EXPECT, "\r\n\r\n", 0}, {RAW_SEND, (response), 0}})
#define TAKEN "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static const char *body_begin(const char *text, size_t len)
{
    const char *end = memmem(text, len, "\r\n\r\n", 4);
    return end == NULL ? NULL : end + 4;
}

static bool request_is_whole(void *arg)
{
    struct world *w = arg;
    if (w->awaited >= raw_peer_connections(w->peer))
        return false;
    const char *text = raw_peer_received(w->peer, w->awaited);
    size_t len = raw_peer_received_len(w->peer, w->awaited);
    const char *body = body_begin(text, len), *length = strstr(text, "\r\nContent-Length: ");
    return body != NULL && length != NULL && len - (size_t)(body - text) >= strtoul(length + 18, NULL, 10);
}

// What came over connection i, once all of it is there; *body_out is behind the headers.
static const char *request(struct world *w, size_t i, struct bytes *body_out)
{
    w->awaited = i;
    fake_env_run_until(&w->env, request_is_whole, w);
    const char *text = raw_peer_received(w->peer, i);
    size_t len = raw_peer_received_len(w->peer, i);
    const char *body = body_begin(text, len);
    *body_out = (struct bytes){(const uint8_t *)body, len - (size_t)(body - text)};
    return text;
}

static struct verdict verdict_of(const char *response)
{
    struct world w;
    world_init(&w, "endpoint", "", "");
    answers(&w, ANSWER(response));
    struct verdict v = fake_export(&w.out, w.batch);
    assert_int_equal(raw_peer_connections(w.peer), 1);
    world_fini(&w);
    return v;
}

// --- the request ---

// How often a header stands in the request, whatever its value.
static unsigned header_count(const char *text, struct bytes body, const char *name)
{
    unsigned n = 0;
    char line[128];
    snprintf(line, sizeof line, "\r\n%s: ", name);
    for (const char *at = text; (at = strcasestr(at, line)) != NULL && at < (const char *)body.data; at++)
        n++;
    return n;
}

static void has_header(const char *text, struct bytes body, const char *line)
{
    char whole[256];
    snprintf(whole, sizeof whole, "\r\n%s\r\n", line);
    if (memmem(text, (size_t)((const char *)body.data - text), whole, strlen(whole)) == NULL)
        fail_msg("no %s in %s", line, text);
}

static void check_target(const char *key, const char *where, const char *target)
{
    struct world w;
    struct bytes body;
    char line[128];
    world_init(&w, key, where, "");
    answers(&w, ANSWER(TAKEN));
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_OK);
    snprintf(line, sizeof line, "POST %s HTTP/1.1\r\n", target);
    const char *text = request(&w, 0, &body);
    if (strncmp(text, line, strlen(line)) != 0)
        fail_msg("%s%s: %.60s", key, where, text);
    world_fini(&w);
}

static void the_path_is_joined_to_the_endpoint(void **state)
{
    (void)state;
    check_target("endpoint", "", "/v1development/profiles");
    check_target("endpoint", "/", "/v1development/profiles");
    check_target("endpoint", "/a/b//", "/a/b/v1development/profiles");
    check_target("endpoint", "/a?key=1", "/a/v1development/profiles?key=1");
    check_target("profiles_endpoint", "/own/?key=1", "/own/?key=1");
    check_target("profiles_endpoint", "", "/");
}

static void headers_of_the_request(void **state)
{
    (void)state;
    struct world w;
    struct bytes body;
    char host[64];
    world_init(&w, "endpoint", "", ", headers: {Authorization: \"Bearer t:1\", X-Scope-OrgID: tenant, x-empty: \"\"}");
    answers(&w, ANSWER(TAKEN));
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_OK);
    const char *text = request(&w, 0, &body);
    snprintf(host, sizeof host, "Host: 127.0.0.1:%d", raw_peer_port(w.peer));
    has_header(text, body, host);
    has_header(text, body, "Content-Type: application/x-protobuf");
    has_header(text, body, "Content-Encoding: gzip");
    has_header(text, body, "otlp-profiles-development-version: 1");
    has_header(text, body, "Authorization: Bearer t:1");
    has_header(text, body, "X-Scope-OrgID: tenant");
    has_header(text, body, "x-empty: ");
    has_header(text, body, "User-Agent: profrelay/" PROFRELAY_VERSION);
    world_fini(&w);
}

// What a user says about a header replaces ours; none stands twice.
static void own_headers_can_be_replaced(void **state)
{
    (void)state;
    struct world w;
    struct bytes body;
    world_init(&w, "endpoint", "",
               ", headers: {content-type: application/x-own, OTLP-Profiles-Development-Version: \"2\", "
               "user-agent: me, Content-Length: \"1\"}");
    answers(&w, ANSWER(TAKEN));
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_OK);
    const char *text = request(&w, 0, &body);
    static const char *const names[] = {"Content-Type", "otlp-profiles-development-version", "User-Agent",
                                        "Content-Length", "Content-Encoding"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(header_count(text, body, names[i]), 1);
    has_header(text, body, "content-type: application/x-own");
    has_header(text, body, "OTLP-Profiles-Development-Version: 2");
    has_header(text, body, "user-agent: me");
    assert_true(body.len > 1);
    world_fini(&w);
}

static void assert_same_batch(const struct batch *a, const struct batch *b)
{
    struct buf one, two;
    buf_init(&one, MAX_RAW);
    buf_init(&two, MAX_RAW);
    batch_text(a, &one);
    batch_text(b, &two);
    assert_true(one.len > 100);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.data, two.data, one.len);
    buf_fini(&one);
    buf_fini(&two);
}

static void check_body(const char *keys, const char *coding, enum compression compression)
{
    struct world w;
    struct bytes body;
    struct buf raw;
    struct batch *arrived;
    struct err e;
    char line[64];
    world_init(&w, "endpoint", "", keys);
    answers(&w, ANSWER(TAKEN));
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_OK);
    const char *text = request(&w, 0, &body);
    assert_int_equal(header_count(text, body, "Content-Encoding"), coding != NULL);
    snprintf(line, sizeof line, "Content-Encoding: %s", coding != NULL ? coding : "");
    if (coding != NULL)
        has_header(text, body, line);
    assert_int_equal(compression_detect(body), compression);
    buf_init(&raw, MAX_RAW);
    assert_int_equal(decompress(compression, body, MAX_RAW, "test", &raw, &e), ERR_OK);
    assert_int_equal(otlp_decode(buf_bytes(&raw), &otlp_default_limits, &arrived, &e), ERR_OK);
    assert_same_batch(w.batch, arrived);
    batch_unref(&arrived);
    buf_fini(&raw);
    world_fini(&w);
}

static void bodies_arrive_as_they_were(void **state)
{
    (void)state;
    check_body("", "gzip", COMPRESSION_GZIP);
    check_body(", compression: gzip, compression_params: {level: 12}", "gzip", COMPRESSION_GZIP);
    check_body(", compression: zstd", "zstd", COMPRESSION_ZSTD);
    check_body(", compression: zstd, compression_params: {level: 19}", "zstd", COMPRESSION_ZSTD);
    check_body(", compression: none", NULL, COMPRESSION_NONE);
    check_body(", compression: ''", NULL, COMPRESSION_NONE);
}

// --- encoding ---

static struct exporter *exporter_of(struct world *w)
{
    return (struct exporter *)w->out.instance.component;
}

static enum err_code encode(struct world *w, struct record_list *out, struct err *e)
{
    record_list_init(out);
    return otlp_http_exporter.encode(exporter_of(w), w->batch, out, e);
}

static void records_know_what_they_hold(void **state)
{
    (void)state;
    struct world w;
    struct record_list list;
    struct err e;
    world_init(&w, "endpoint", "", ", compression: zstd");
    assert_int_equal(encode(&w, &list, &e), ERR_OK);
    const struct record *r = list.head;
    struct buf raw;
    assert_null(r->next);
    assert_int_equal(r->compression, COMPRESSION_ZSTD);
    assert_int_equal(r->profiles, w.batch->profile_count);
    assert_int_equal(r->samples, w.batch->sample_count);
    buf_init(&raw, MAX_RAW);
    assert_int_equal(decompress(COMPRESSION_ZSTD, (struct bytes){r->data, r->len}, MAX_RAW, "t", &raw, &e), ERR_OK);
    assert_int_equal(r->raw_bytes, raw.len);
    buf_fini(&raw);
    record_list_fini(&list);
    world_fini(&w);
}

static void encoding_without_memory(void **state)
{
    (void)state;
    for (int compressed = 0; compressed < 2; compressed++) {
        struct world w;
        struct record_list list;
        struct err e;
        enum err_code rc = ERR_MEMORY;
        size_t n = 0;
        world_init(&w, "endpoint", "", compressed ? ", compression: zstd" : ", compression: none");
        while (rc != ERR_OK) {
            mem_fail_from(++n);
            rc = encode(&w, &list, &e);
            mem_fail_from(0);
            if (rc != ERR_OK) {
                assert_int_equal(rc, ERR_MEMORY);
                assert_null(list.head);
            }
        }
        assert_true(n > 2);
        record_list_fini(&list);
        world_fini(&w);
    }
}

// --- the answer ---

static void every_class_of_status(void **state)
{
    (void)state;
    static const struct {
        int status;
        enum verdict_kind kind;
    } cases[] = {
        {200, VERDICT_OK},      {201, VERDICT_OK},      {202, VERDICT_OK},      {204, VERDICT_OK},
        {299, VERDICT_OK},      {300, VERDICT_REFUSED}, {301, VERDICT_REFUSED}, {304, VERDICT_REFUSED},
        {307, VERDICT_REFUSED}, {400, VERDICT_REFUSED}, {401, VERDICT_REFUSED}, {403, VERDICT_REFUSED},
        {404, VERDICT_REFUSED}, {408, VERDICT_REFUSED}, {414, VERDICT_REFUSED}, {415, VERDICT_REFUSED},
        {428, VERDICT_REFUSED}, {429, VERDICT_RETRY},   {430, VERDICT_REFUSED}, {500, VERDICT_REFUSED},
        {501, VERDICT_REFUSED}, {502, VERDICT_RETRY},   {503, VERDICT_RETRY},   {504, VERDICT_RETRY},
        {505, VERDICT_REFUSED}, {599, VERDICT_REFUSED},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char response[128], said[32];
        snprintf(response, sizeof response, "HTTP/1.1 %d Said\r\nLocation: /elsewhere\r\n%s\r\n", cases[i].status,
                 cases[i].status == 204 || cases[i].status == 304 ? "" : "Content-Length: 0\r\n");
        struct verdict v = verdict_of(response);
        if (v.kind != cases[i].kind)
            fail_msg("%d is verdict %d: %s", cases[i].status, (int)v.kind, v.text);
        snprintf(said, sizeof said, "profiles answers %d", cases[i].status);
        if (v.kind != VERDICT_OK && strstr(v.text, said) == NULL)
            fail_msg("%s in %s", said, v.text);
    }
}

static void retry_after(void **state)
{
    (void)state;
    struct verdict v = verdict_of("HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(v.retry_after_nanos, 7 * NANOS_PER_SECOND);
    v = verdict_of("HTTP/1.1 429 No\r\nretry-after: Sun, 06 Nov 2094 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(v.retry_after_nanos, 86400 * NANOS_PER_SECOND);
    v = verdict_of("HTTP/1.1 503 No\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(v.kind, VERDICT_RETRY);
    assert_int_equal(v.retry_after_nanos, 0);
    v = verdict_of("HTTP/1.1 503 No\r\nRetry-After: -5\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(v.retry_after_nanos, 0);
}

// With a body of so many bytes.
static struct verdict verdict_of_body(const char *status, const char *type, const char *body)
{
    size_t size = strlen(body) + 256;
    char *response = mem_alloc(size);
    snprintf(response, size, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", status, type,
             strlen(body), body);
    struct verdict v = verdict_of(response);
    free(response);
    return v;
}

#define PROTO "application/x-protobuf"

static void partial_success(void **state)
{
    (void)state;
    struct verdict v = verdict_of_body("200 OK", PROTO, "\x0a\x09\x08\x03\x12\x05too\nx");
    assert_int_equal(v.kind, VERDICT_PARTIAL);
    assert_int_equal(v.rejected_profiles, 3);
    assert_string_equal(v.text, "too x");
    v = verdict_of_body("200 OK", PROTO, "\x0a\x02\x08\x7f");
    assert_int_equal(v.kind, VERDICT_PARTIAL);
    assert_int_equal(v.rejected_profiles, 127);
    // A negative count, and bodies that are no answer of OTLP: taken.
    assert_int_equal(verdict_of_body("200 OK", PROTO, "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").kind,
                     VERDICT_OK);
    assert_int_equal(verdict_of_body("200 OK", PROTO, "\x0a\x09\x08\x03").kind, VERDICT_OK);
    assert_int_equal(verdict_of_body("200 OK", "text/html", "<html>ok</html>").kind, VERDICT_OK);
    assert_int_equal(verdict_of_body("200 OK", "application/json", "{\"partialSuccess\":{}}").kind, VERDICT_OK);
}

static void a_warning_of_the_peer_is_logged(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "endpoint", "", "");
    static const char response[] = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\x0a\x07\x12\x05old\x1b!";
    answers(&w, ANSWER(response));
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_OK);
    assert_non_null(strstr(fake_env_log(&w.env), "the peer took a request with a warning: old !"));
    world_fini(&w);
}

static void says(const struct verdict *v, const char *what)
{
    if (strstr(v->text, what) == NULL || strcmp(strstr(v->text, what), what) != 0)
        fail_msg("\"%s\" does not end with \"%s\"", v->text, what);
}

static void words_of_the_peer(void **state)
{
    (void)state;
    struct verdict v = verdict_of_body("400 Bad", PROTO, "\x08\x03\x12\x0bno such one\x1a\x02\x0a\x01");
    says(&v, "answers 400: no such one");
    v = verdict_of_body("400 Bad", "Application/X-Protobuf; charset=x", "\x12\x03one");
    says(&v, "answers 400: one");
    v = verdict_of_body("503 Bad", PROTO, "\x08\x0e");
    says(&v, "answers 503");
    assert_int_equal(v.kind, VERDICT_RETRY);
    v = verdict_of_body("400 Bad", PROTO, "not protobuf");
    says(&v, "answers 400: not protobuf");
    v = verdict_of_body("400 Bad", "text/plain", "\r\n  a <b> tag,\tcaf\xc3\xa9\r\n\r\n");
    says(&v, "answers 400: a <b> tag, caf\xc3\xa9");
    v = verdict_of_body("404 Gone", "text/html; charset=utf-8",
                        "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body class=\"a\">\n"
                        "<h1>Go away</h1><hr>nginx</body>\r\n</html>\r\n<never closed");
    says(&v, "answers 404: 404 Not Found Go away nginx");
}

// The first request is too large; what is made of it is taken.
static void check_too_large(const char *response)
{
    struct world w;
    char closing[256];
    const struct raw_step taken[] = {
        {RAW_EXPECT, "\r\n\r\n", 0},
        {RAW_SEND, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 0}};
    snprintf(closing, sizeof closing, "HTTP/1.1 %s", response);
    const struct raw_step too_large[] = {{RAW_EXPECT, "\r\n\r\n", 0}, {RAW_SEND, closing, 0}};
    world_init(&w, "endpoint", "", "");
    raw_peer_script(w.peer, too_large, COUNT_OF(too_large));
    raw_peer_script(w.peer, taken, COUNT_OF(taken));
    struct verdict v = fake_export(&w.out, w.batch);
    assert_int_equal(v.kind, VERDICT_OK);
    assert_in_range(raw_peer_connections(w.peer), 3, 4);
    assert_non_null(strstr(fake_env_log(&w.env), "the peer finds requests of "));
    world_fini(&w);
}

static void requests_too_large_for_the_peer(void **state)
{
    (void)state;
    check_too_large("413 Big\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    check_too_large("400 Bad\r\nConnection: close\r\nContent-Type: application/x-protobuf\r\nContent-Length: 32\r\n\r\n"
                    "\x08\x03\x12\x1chttp: request body too large");
}

static void check_long_words(const char *before, size_t kept)
{
    enum { LEN = 1 << 20 };
    char *huge = mem_alloc(LEN + 16);
    size_t len = (size_t)snprintf(huge, LEN, "%s", before);
    for (; len < LEN; len += 4)
        memcpy(huge + len, "\xf0\x9f\x94\xa5", 4);
    struct verdict v = verdict_of_body("400 Bad", "text/plain", huge);
    const char *words = strstr(v.text, "answers 400: ");
    assert_non_null(words);
    assert_int_equal(strlen(words), strlen("answers 400: ") + kept);
    assert_true(utf8_valid(bytes_from_text(v.text)));
    memset(huge, ' ', LEN);
    memcpy(huge + LEN, "end", 4);
    v = verdict_of_body("400 Bad", "text/plain", huge);
    says(&v, "answers 400: end");
    free(huge);
}

static void words_that_would_harm(void **state)
{
    (void)state;
    struct verdict v = verdict_of_body("400 Bad", "text/plain",
                                       "a\x1b[2Jb\x07\x7f\xc2\x9b"
                                       "c\xff\xc3"
                                       "d\xe2\x82\x08");
    says(&v, "answers 400: a [2Jb c d");
    check_long_words("", 160);
    check_long_words("x", 157); // the cut falls into a character
    check_long_words("xyz", 159);
}

static void the_query_is_not_shown(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "profiles_endpoint", "/p?api_key=s3cr3t", "");
    static const char response[] = "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n";
    answers(&w, ANSWER(response));
    struct verdict v = fake_export(&w.out, w.batch);
    says(&v, "/p answers 403");
    assert_null(strstr(v.text, "s3cr3t"));
    assert_null(strstr(fake_env_log(&w.env), "s3cr3t"));
    world_fini(&w);
}

// --- no answer ---

static struct verdict verdict_of_script(const struct raw_step *steps, size_t count, const char *keys)
{
    struct world w;
    world_init(&w, "endpoint", "", keys);
    raw_peer_script(w.peer, steps, count);
    struct verdict v = fake_export(&w.out, w.batch);
    world_fini(&w);
    return v;
}

#define SCRIPT(...)                                                                                                    \
    ((const struct raw_step[]){__VA_ARGS__}), sizeof((const struct raw_step[]){__VA_ARGS__}) / sizeof(struct raw_step)
#define HEARD {RAW_EXPECT, "\r\n\r\n", 0}

static void wants_retry(struct verdict v, const char *why)
{
    assert_int_equal(v.kind, VERDICT_RETRY);
    assert_int_equal(v.retry_after_nanos, 0);
    if (strstr(v.text, why) == NULL)
        fail_msg("no \"%s\" in \"%s\"", why, v.text);
}

static void nobody_listens(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "endpoint", "", "");
    raw_peer_destroy(&w.peer);
    wants_retry(fake_export(&w.out, w.batch), "connection refused");
    world_fini(&w);
}

static void connections_that_end(void **state)
{
    (void)state;
    wants_retry(verdict_of_script(SCRIPT(HEARD, {RAW_CUT, NULL, 0}), ""), "before the response was complete");
    wants_retry(verdict_of_script(SCRIPT(HEARD, {RAW_RESET, NULL, 0}), ""), "before the response was complete");
    wants_retry(verdict_of_script(SCRIPT(HEARD, {RAW_SEND, "220 mail.example ESMTP\r\n\r\n", 0}), ""), "127.0.0.1");
    wants_retry(
        verdict_of_script(SCRIPT(HEARD, {RAW_SEND, "HTTP/1.1 200 OK\r\nContent-Le", 0}, {RAW_CUT, NULL, 0}), ""),
        "before the response was complete");
}

// Sending again what was taken would duplicate it; what was refused is refused, whatever follows the status.
static void the_status_counts_even_if_the_body_breaks_off(void **state)
{
    (void)state;
    static const struct {
        const char *response;
        enum verdict_kind kind;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", VERDICT_OK},
        {"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", VERDICT_OK},
        {"HTTP/1.1 400 No\r\nContent-Length: 99999999\r\n\r\n", VERDICT_REFUSED},
        {"HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\nab", VERDICT_RETRY},
        {"HTTP/1.1 100 Continue\r\n\r\n", VERDICT_RETRY},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct verdict v = verdict_of_script(SCRIPT(HEARD, {RAW_SEND, cases[i].response, 0}, {RAW_CUT, NULL, 0}), "");
        assert_int_equal(v.kind, cases[i].kind);
    }
}

static void a_peer_that_hangs(void **state)
{
    (void)state;
    wants_retry(verdict_of_script(SCRIPT(HEARD), ", timeout: 20ms"), "no complete response within 0.02s");
    wants_retry(verdict_of_script(SCRIPT(HEARD, {RAW_SEND, "HTTP/1.1 200 OK\r\nContent-Len", 0}), ", timeout: 20ms"),
                "no complete response within 0.02s");
}

// --- the end ---

static bool all_heard(void *arg)
{
    struct world *w = arg;
    size_t heard = 0;
    for (size_t i = 0; i < raw_peer_connections(w->peer); i++)
        heard += strstr(raw_peer_received(w->peer, i), "\r\n\r\n") != NULL;
    return heard == 3;
}

static void cancel_ends_what_hangs(void **state)
{
    (void)state;
    struct world w;
    struct fake_delivery d[3];
    world_init(&w, "endpoint", "", "");
    raw_peer_script(w.peer, SCRIPT(HEARD));
    for (size_t i = 0; i < COUNT_OF(d); i++)
        fake_export_begin(&w.out, w.batch, &d[i]);
    fake_env_run_until(&w.env, all_heard, &w);
    instance_cancel(&w.out.instance);
    for (size_t i = 0; i < COUNT_OF(d); i++) {
        assert_false(i == 0 && d[i].done); // never from inside
        fake_export_wait(&w.out, &d[i]);
        wants_retry(d[i].verdict, "the call was cancelled");
    }
    instance_cancel(&w.out.instance); // nothing is in flight
    world_fini(&w);
}

static void connections_are_used_again(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "endpoint", "", ", compression: zstd");
    raw_peer_script(w.peer, SCRIPT(HEARD, {RAW_SEND, TAKEN, 0}, {RAW_EXPECT, "POST /", 0}, {RAW_SEND, TAKEN, 0}));
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_OK);
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_OK);
    assert_int_equal(raw_peer_connections(w.peer), 1);
    world_fini(&w);
}

// --- settings ---

static void check_messages(const char *yaml, const char *expected)
{
    struct fake_env env;
    void *settings;
    fake_env_init(&env, 1);
    char *messages = fake_settings(&env, KIND_EXPORTER, &otlp_http_exporter.module, yaml, &settings);
    fake_env_fini(&env);
    bool same = strcmp(messages, expected) == 0;
    if (!same)
        print_error("%s", messages);
    free(messages);
    assert_true(same);
}

#define ID "exporters.otlp_http: "

static void settings_that_are_good(void **state)
{
    (void)state;
    check_messages("{endpoint: \"https://h:4318/p\"}", "");
    check_messages("{profiles_endpoint: \"http://[::1]/p?a=b\", encoding: proto, compression: zstd, "
                   "compression_params: {level: 22}, timeout: 1ms, headers: {a-b_c: \"x y\"}}",
                   "");
    check_messages("{endpoint: \"http://h\", compression_params: {level: 12}, tls: {insecure: true, "
                   "min_version: '1.3'}, read_buffer_size: 1, max_idle_conns: 3}",
                   "test:1:63: warning: " ID "these keys have no meaning here and are ignored: tls.insecure, "
                   "read_buffer_size, max_idle_conns\n");
}

static void settings_that_are_wrong(void **state)
{
    (void)state;
    check_messages("{}",
                   "test:1:1: " ID "at least one endpoint must be specified: set endpoint or profiles_endpoint\n");
    check_messages("endpoint: h:4318\n", "test:1:1: " ID "endpoint: a URL must begin with http:// or https://\n");
    check_messages("timeout: 1s\nprofiles_endpoint: http://u:s3cr3t@h/\n",
                   "test:2:1: " ID "profiles_endpoint: a URL must not carry a user name or password: use headers or an "
                   "authenticator\n");
}

#define NOT_VALID                                                                                                      \
    " is not valid: a name is letters, digits and -, a value has no line ends or other control characters\n"

static void headers_that_are_wrong(void **state)
{
    (void)state;
    check_messages("endpoint: http://h\nheaders:\n  good: x\n  \"bad name\": s3cr3t\n",
                   "test:2:1: " ID "headers: header 2" NOT_VALID);
    check_messages("endpoint: http://h\nheaders: {a: \"s3cr3t\\r\\nb: c\"}\n",
                   "test:2:1: " ID "headers: header 1" NOT_VALID);
    check_messages("endpoint: http://h\nheaders: {\"\": x}\n", "test:2:1: " ID "headers: header 1" NOT_VALID);
    check_messages("endpoint: http://h\nheaders: {content-encoding: gzip}\n",
                   "test:2:1: " ID "headers: Content-Encoding follows from compression: leave it out\n");
}

static void settings_that_do_not_fit_together(void **state)
{
    (void)state;
    check_messages("endpoint: http://h\ntls: {ca_file: a, ca_pem: b, cert_file: c}\n",
                   "test:2:1: " ID "tls: provide either ca_file or ca_pem, but not both\n"
                   "test:2:1: " ID
                   "tls: provide both certificate and key (cert_file or cert_pem, key_file or key_pem), "
                   "or neither\n");
    check_messages("endpoint: http://h\ntls: {cert_pem: a, cert_file: b, key_pem: c, key_file: d, min_version: 9}\n",
                   "test:2:1: " ID "tls: provide either cert_file or cert_pem, but not both\n"
                   "test:2:1: " ID "tls: provide either key_file or key_pem, but not both\n"
                   "test:2:1: " ID "tls: min_version \"9\" is not one of 1.0, 1.1, 1.2, 1.3\n");
    check_messages("endpoint: http://h\ncompression_params:\n  level: 13\n",
                   "test:3:3: " ID "compression_params.level: gzip has the levels 1 to 12, found 13\n");
    check_messages("endpoint: http://h\ncompression_params:\n  level: 23\n",
                   "test:3:10: " ID "compression_params.level: expected 0 to 22, found 23\n");
    check_messages("endpoint: http://h\nencoding: json\ncompression: snappy\ntimeout: 0s\nmax_request_bytes: 1\n",
                   "test:2:11: " ID "encoding: expected one of \"proto\", found \"json\"\n"
                   "test:3:14: " ID
                   "compression: expected one of \"none\", \"gzip\", \"zstd\", \"\", found \"snappy\"\n"
                   "test:4:10: " ID "timeout: expected 1ms to 24h, found 0s\n"
                   "test:5:20: " ID "max_request_bytes: expected 1KiB to 2GiB, found 1\n");
}

static void certificates_that_cannot_be_read(void **state)
{
    (void)state;
    check_messages("{endpoint: \"https://h\", tls: {ca_file: /nowhere/ca.pem}}",
                   "test:1:25: " ID "tls: ca_file /nowhere/ca.pem: No such file or directory\n");
    check_messages("{endpoint: \"https://h\", tls: {cert_file: /nowhere/c, key_file: /nowhere/k}}",
                   "test:1:25: " ID "tls: cert_file /nowhere/c: No such file or directory\n");
}

int main(void)
{
    static const char *const proxies[] = {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"};
    for (size_t i = 0; i < COUNT_OF(proxies); i++)
        unsetenv(proxies[i]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_is_joined_to_the_endpoint),
        cmocka_unit_test(headers_of_the_request),
        cmocka_unit_test(own_headers_can_be_replaced),
        cmocka_unit_test(bodies_arrive_as_they_were),
        cmocka_unit_test(records_know_what_they_hold),
        cmocka_unit_test(encoding_without_memory),
        cmocka_unit_test(every_class_of_status),
        cmocka_unit_test(retry_after),
        cmocka_unit_test(partial_success),
        cmocka_unit_test(a_warning_of_the_peer_is_logged),
        cmocka_unit_test(words_of_the_peer),
        cmocka_unit_test(requests_too_large_for_the_peer),
        cmocka_unit_test(words_that_would_harm),
        cmocka_unit_test(the_query_is_not_shown),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(connections_that_end),
        cmocka_unit_test(the_status_counts_even_if_the_body_breaks_off),
        cmocka_unit_test(a_peer_that_hangs),
        cmocka_unit_test(cancel_ends_what_hangs),
        cmocka_unit_test(connections_are_used_again),
        cmocka_unit_test(settings_that_are_good),
        cmocka_unit_test(settings_that_are_wrong),
        cmocka_unit_test(headers_that_are_wrong),
        cmocka_unit_test(settings_that_do_not_fit_together),
        cmocka_unit_test(certificates_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
