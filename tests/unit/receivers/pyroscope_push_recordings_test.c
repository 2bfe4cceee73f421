// SPDX-License-Identifier: Apache-2.0
// What real clients sent to Push, byte for byte, through the engines, the protocols and the decoder.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/compress.h"
#include "codec/json.h"
#include "codec/pyroscope_push.h"
#include "net/connect_protocol.h"
#include "profile/validate.h"
#include "tests/support/fake_link.h"
#include "tests/support/test_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { MAX_BYTES = 16 << 20, MAX_PROFILES = 4, MAX_TOTALS = 8, MAX_PATH = 4096 };

// --- one request ---

struct replay {
    struct fake_link f;
    const char *path; // of the recording, for messages
    struct connect_call call;
    char encoding[16];
    struct batch *batch; // NULL: it was not a Push
    int answers;
};

static bool ends_with(struct bytes path, const char *end)
{
    size_t len = strlen(end);
    return path.len >= len && memcmp(path.data + path.len - len, end, len) == 0;
}

static void on_head(void *arg, struct http_exchange *x, const struct http_head *head)
{
    struct replay *r = arg;
    if (!ends_with(head->path, "/push.v1.PusherService/Push")) {
        http_exchange_answer_text(x, 404, "not Push", NULL, 0);
        return;
    }
    if (!connect_call_begin(x, &r->call))
        fail_msg("%s is refused", r->path);
    snprintf(r->encoding, sizeof r->encoding, "%s", r->call.encoding != NULL ? r->call.encoding : "none");
    http_exchange_take_body(x, MAX_BYTES);
}

static struct bytes unwrap(const struct replay *r, struct bytes body, bool *compressed_out)
{
    struct grpc_message m = {.compressed = strcmp(r->encoding, "none") != 0, .payload = body};
    struct err e;
    if (connect_prefix_bytes(&r->call) > 0)
        assert_int_equal(grpc_message_parse(body, MAX_BYTES, &m, &e), ERR_OK);
    *compressed_out = m.compressed;
    return m.payload;
}

static void on_request(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    struct replay *r = arg;
    const struct pyroscope_settings settings = {.limits = &decode_default_limits, .now_nanos = 1796000000000000000};
    struct decode_report report;
    struct err e = {0};
    struct buf room;
    enum compression compression;
    bool compressed;
    struct bytes payload = unwrap(r, (struct bytes){body, len}, &compressed);
    buf_init(&room, MAX_BYTES);
    assert_true(compression_from_name(r->encoding, &compression));
    if (compressed) {
        assert_int_equal(decompress(compression, payload, MAX_BYTES, "test", &room, &e), ERR_OK);
        payload = buf_bytes(&room);
    }
    if (pyroscope_push_decode(payload, r->call.json, bytes_from_text(http_exchange_header(x, "user-agent", NULL)),
                              &settings, &r->batch, &report, &e) != ERR_OK)
        fail_msg("%s: %s", r->path, e.text);
    assert_int_equal(report.rejected_profiles, 0);
    assert_int_equal(batch_validate(r->batch, &e), ERR_OK);
    r->answers++;
    connect_answer(x, &r->call, &(struct connect_answer){.status = GRPC_OK});
    buf_fini(&room);
    free(body);
}

static void replay(struct replay *r, const char *path, struct bytes recording)
{
    bool is_http2 = recording.len > 4 && memcmp(recording.data, "PRI ", 4) == 0;
    *r = (struct replay){.path = path};
    fake_link_init(&r->f);
    r->f.handler.arg = r;
    r->f.handler.on_head = on_head;
    r->f.handler.on_request = on_request;
    r->f.handler.on_reserve = NULL;
    fake_link_start(&r->f, is_http2 ? http2_server_create : http1_server_create);
    fake_link_receive(&r->f, recording, 1000);
    assert_true(r->f.out.len > 0);
    if (!is_http2 && r->batch != NULL)
        assert_memory_equal(r->f.out.data, "HTTP/1.1 200 OK\r\n", 17);
}

static void replay_end(struct replay *r)
{
    batch_unref(&r->batch);
    fake_link_fini(&r->f);
}

// --- what is expected of it ---

struct total {
    struct bytes type; // "cpu/nanoseconds"
    int64_t sum;
};

struct expected {
    struct bytes service; // NULL = not said
    int64_t time_nanos, duration_nanos, samples;
    struct total totals[MAX_TOTALS];
    size_t total_count;
};

struct expectation {
    struct expected profiles[MAX_PROFILES];
    size_t count;
};

static void read_totals(struct json_reader *json, struct expected *out)
{
    struct bytes key;
    assert_true(json_enter_object(json));
    while (json_next_member(json, &key)) {
        assert_true(out->total_count < MAX_TOTALS);
        struct total *t = &out->totals[out->total_count++];
        t->type = key;
        assert_true(json_int64(json, &t->sum));
    }
}

// An object with what was in one pprof.
static void read_profile(struct json_reader *json, struct expected *out)
{
    struct bytes key;
    assert_true(json_enter_object(json));
    while (json_next_member(json, &key)) {
        if (bytes_equal_text(key, "time_nanos"))
            json_int64(json, &out->time_nanos);
        else if (bytes_equal_text(key, "duration_nanos"))
            json_int64(json, &out->duration_nanos);
        else if (bytes_equal_text(key, "samples"))
            json_int64(json, &out->samples);
        else if (bytes_equal_text(key, "totals"))
            read_totals(json, out);
    }
}

static struct bytes read_service(struct json_reader *json)
{
    struct bytes found = {NULL, 0}, name = {NULL, 0}, value = {NULL, 0};
    json_enter_array(json);
    while (json_next_element(json)) {
        assert_true(json_enter_array(json));
        assert_true(json_next_element(json) && json_string(json, &name));
        assert_true(json_next_element(json) && json_string(json, &value));
        assert_false(json_next_element(json));
        if (bytes_equal_text(name, "service_name"))
            found = value;
    }
    return found;
}

static void read_series(struct json_reader *json, struct expectation *out)
{
    struct bytes key, service = {NULL, 0};
    size_t first = out->count;
    json_enter_object(json);
    while (json_next_member(json, &key)) {
        if (bytes_equal_text(key, "labels"))
            service = read_service(json);
        if (!bytes_equal_text(key, "samples"))
            continue;
        json_enter_array(json);
        while (json_next_element(json)) {
            assert_true(out->count < MAX_PROFILES);
            read_profile(json, &out->profiles[out->count++]);
        }
    }
    for (size_t i = first; i < out->count; i++)
        out->profiles[i].service = service;
}

// Enters the value of this member of the object that comes next.
static bool find_member(struct json_reader *json, const char *name)
{
    struct bytes key;
    assert_true(json_enter_object(json));
    while (json_next_member(json, &key))
        if (bytes_equal_text(key, name))
            return true;
    return false;
}

// --- compared ---

static int64_t sum_of(const struct profile *p)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->observations->sample_count; i++)
        sum += p->observations->values[i];
    return sum;
}

static const struct profile *find_type(const struct batch *b, const struct scope *s, struct bytes type)
{
    for (uint32_t i = 0; i < s->profile_count; i++) {
        const struct value_type *t = &s->profiles[i].sample_type;
        char name[128];
        snprintf(name, sizeof name, "%.*s/%.*s", BYTES_PRINT(b->dictionary->strings[t->type]),
                 BYTES_PRINT(b->dictionary->strings[t->unit]));
        if (bytes_equal_text(type, name))
            return &s->profiles[i];
    }
    return NULL;
}

static void compare_one(const struct replay *r, const struct resource *resource, const struct expected *want)
{
    const struct scope *s = resource->scopes[0];
    assert_int_equal(resource->scope_count, 1);
    assert_int_equal(s->profile_count, want->total_count);
    for (size_t i = 0; i < want->total_count; i++) {
        const struct profile *p = find_type(r->batch, s, want->totals[i].type);
        if (p == NULL || sum_of(p) != want->totals[i].sum) {
            fail_msg("%s: %.*s", r->path, BYTES_PRINT(want->totals[i].type));
            return;
        }
        assert_int_equal(p->time_nanos, want->time_nanos);
        assert_int_equal(p->duration_nanos, want->duration_nanos);
        assert_int_equal(p->columns->sample_count, want->samples);
    }
    const struct key_value *service =
        key_values_find(resource->attributes, resource->attribute_count, BYTES_LITERAL("service.name"));
    assert_true(service != NULL && bytes_equal(service->value.bytes, want->service));
}

static void compare(const struct replay *r, const struct expectation *want)
{
    assert_int_equal(r->answers, 1);
    assert_int_equal(r->batch->resource_count, want->count);
    for (uint32_t i = 0; i < want->count; i++)
        compare_one(r, r->batch->resources[i], &want->profiles[i]);
}

static bool other_file(const char *path, const char *end, const char *other_end, char out[MAX_PATH])
{
    size_t len = strlen(path), end_len = strlen(end);
    if (len < end_len || strcmp(path + len - end_len, end) != 0)
        return false;
    snprintf(out, MAX_PATH, "%.*s%s", (int)(len - end_len), path, other_end);
    return true;
}

// --- the SDKs ---

static void check_sdk(void *arg, const char *path, struct bytes recording)
{
    size_t *pushes = arg;
    struct replay r;
    struct expectation want = {.count = 0};
    struct json_reader json;
    struct arena arena;
    char expected_path[MAX_PATH];
    if (!other_file(path, ".http", ".json", expected_path))
        return;
    replay(&r, path, recording);
    if (r.batch != NULL) {
        struct bytes text = test_read_file(expected_path);
        arena_init(&arena, 0);
        json_reader_init(&json, text, &arena, 64);
        assert_true(find_member(&json, "expected") && find_member(&json, "push") && json_enter_array(&json));
        while (json_next_element(&json))
            read_series(&json, &want);
        compare(&r, &want);
        arena_fini(&arena);
        free((void *)text.data);
        (*pushes)++;
    }
    replay_end(&r);
}

static void test_sdks(void **state)
{
    static const char *const folders[] = {"pyroscope/python", "pyroscope/rust", "pyroscope/go", "pyroscope/node"};
    size_t pushes = 0;
    (void)state;
    if (test_corpus_dir() == NULL)
        skip();
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        test_each_corpus_file(folders[i], check_sdk, &pushes);
    assert_true(pushes >= 11);
}

// --- connect-go in each protocol: README.md there says what was sent ---

struct connect_corpus {
    struct bytes text;
    struct arena arena;
    struct expected cpu, heap;
    size_t seen, seen_by_framing[CONNECT_GRPC_WEB + 1], seen_json;
};

static void read_pprofs(struct connect_corpus *c)
{
    struct json_reader json;
    struct bytes key;
    json_reader_init(&json, c->text, &c->arena, 64);
    json_enter_object(&json);
    while (json_next_member(&json, &key)) {
        if (bytes_equal_text(key, "cpu5s.pprof"))
            read_profile(&json, &c->cpu);
        else if (bytes_equal_text(key, "delta_heap.1.pprof"))
            read_profile(&json, &c->heap);
    }
    c->cpu.service = BYTES_LITERAL("demo.connect.service");
    c->heap.service = BYTES_LITERAL("demo.connect.other");
    assert_true(c->cpu.total_count == 2 && c->heap.total_count == 4);
}

static void check_connect(void *arg, const char *path, struct bytes recording)
{
    struct connect_corpus *c = arg;
    const struct expectation want = {{c->cpu, c->heap, c->heap}, 3}, cpu_only = {{c->cpu}, 1};
    struct replay r;
    char name[MAX_PATH];
    if (!other_file(path, ".client", "", name))
        return;
    replay(&r, path, recording);
    assert_non_null(r.batch);
    compare(&r, r.batch->resource_count == 1 ? &cpu_only : &want);
    c->seen++;
    c->seen_by_framing[r.call.framing]++;
    c->seen_json += r.call.json;
    if (ends_with(bytes_from_text(name), "connect-timeout"))
        assert_int_equal(r.call.timeout_nanos, 4999000000);
    replay_end(&r);
}

static void test_connect(void **state)
{
    struct connect_corpus c = {.seen = 0};
    char path[MAX_PATH];
    (void)state;
    if (test_corpus_dir() == NULL)
        skip();
    arena_init(&c.arena, 0);
    snprintf(path, sizeof path, "%s/pyroscope/godeltaprof/expected.json", test_corpus_dir());
    c.text = test_read_file(path);
    read_pprofs(&c);
    test_each_corpus_file("pyroscope/connect", check_connect, &c);
    assert_true(c.seen >= 9 && c.seen_json >= 1);
    for (size_t i = 0; i < COUNT_OF(c.seen_by_framing); i++)
        assert_true(c.seen_by_framing[i] > 0);
    arena_fini(&c.arena);
    free((void *)c.text.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sdks),
        cmocka_unit_test(test_connect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
