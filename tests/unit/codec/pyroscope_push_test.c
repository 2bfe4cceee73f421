// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/mem.h"
#include "codec/compress.h"
#include "codec/pyroscope_push.h"
#include "codec/wire.h"
#include "profile/validate.h"
#include "tests/support/pprof_bytes.h"

#include <stdio.h>
#include <stdlib.h>

#define LABEL(name, value) {BYTES_LITERAL(name), BYTES_LITERAL(value)}

struct rig {
    struct pprof_bytes pprof; // a small one
    struct buf request;
    struct decode_limits limits;
    struct pyroscope_settings settings;
    struct decode_report report;
    struct err e;
    struct batch *batch;
};

static void start(struct rig *r)
{
    *r = (struct rig){.limits = decode_default_limits};
    r->settings = (struct pyroscope_settings){.limits = &r->limits, .now_nanos = 1790000000000000000};
    pprof_bytes_init(&r->pprof);
    pprof_bytes_small(&r->pprof);
    buf_init(&r->request, SIZE_MAX);
}

static void stop(struct rig *r)
{
    batch_unref(&r->batch);
    pprof_bytes_fini(&r->pprof);
    buf_fini(&r->request);
}

static struct bytes good(const struct rig *r)
{
    return buf_bytes(&r->pprof.out);
}

// One more series with these profiles, its label behind them.
static void put_series(struct rig *r, const char *service, const struct bytes *profiles, size_t count)
{
    size_t series = wire_begin(&r->request, 1);
    for (size_t i = 0; i < count; i++) {
        size_t sample = wire_begin(&r->request, 2);
        wire_put_bytes(&r->request, 2, BYTES_LITERAL("7d1c3f0e-0000-4000-8000-000000000001"));
        wire_put_bytes(&r->request, 1, profiles[i]);
        wire_end(&r->request, sample);
    }
    size_t annotation = wire_begin(&r->request, 3);
    wire_put_bytes(&r->request, 1, BYTES_LITERAL("key"));
    wire_end(&r->request, annotation);
    size_t label = wire_begin(&r->request, 1);
    wire_put_bytes(&r->request, 1, BYTES_LITERAL("service_name"));
    wire_put_bytes(&r->request, 2, bytes_from_text(service));
    wire_end(&r->request, label);
    wire_end(&r->request, series);
}

static enum err_code decode_as(struct rig *r, struct bytes body, bool json)
{
    batch_unref(&r->batch);
    r->e = (struct err){0};
    enum err_code code =
        pyroscope_push_decode(body, json, BYTES_LITERAL("test/1"), &r->settings, &r->batch, &r->report, &r->e);
    assert_int_equal(code == ERR_OK, r->batch != NULL);
    assert_int_equal(code, r->e.code);
    if (r->batch != NULL)
        assert_int_equal(batch_validate(r->batch, &r->e), ERR_OK);
    return code;
}

static void takes(struct rig *r, size_t resources)
{
    if (decode_as(r, buf_bytes(&r->request), false) != ERR_OK)
        fail_msg("%s", r->e.text);
    assert_int_equal(r->batch->resource_count, resources);
    assert_int_equal(r->report.samples, resources * 3);
    assert_int_equal(r->report.sample_types, resources * 2);
    assert_string_equal(r->report.format, "pprof");
}

static void says(const char *text, const char *wanted)
{
    if (strstr(text, wanted) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", text, wanted);
}

static void refuses(struct rig *r, bool json, struct bytes body, enum err_code code, const char *text)
{
    assert_int_equal(decode_as(r, body, json), code);
    says(r->e.text, text);
}

static void is_service(const struct rig *r, uint32_t resource, const char *name)
{
    const struct resource *s = r->batch->resources[resource];
    const struct key_value *v = key_values_find(s->attributes, s->attribute_count, BYTES_LITERAL("service.name"));
    assert_non_null(v);
    assert_true(bytes_equal_text(v->value.bytes, name));
}

static void gzip(struct bytes data, struct buf *out)
{
    struct compressor *c = compressor_create(COMPRESSION_GZIP, 9);
    struct err e;
    buf_init(out, SIZE_MAX);
    assert_int_equal(compressor_run(c, data, out, &e), ERR_OK);
    compressor_destroy(&c);
}

static void test_one(void **state)
{
    struct rig r;
    (void)state;
    start(&r);
    put_series(&r, "shop", (struct bytes[]){good(&r)}, 1);
    takes(&r, 1);
    is_service(&r, 0, "shop");
    assert_int_equal(r.batch->profile_count, 2);
    assert_int_equal(r.report.rejected_profiles, 0);
    stop(&r);
}

static void test_several(void **state)
{
    struct rig r;
    struct buf zipped;
    (void)state;
    start(&r);
    gzip(good(&r), &zipped);
    put_series(&r, "a", (struct bytes[]){good(&r), buf_bytes(&zipped)}, 2);
    put_series(&r, "none", NULL, 0);
    put_series(&r, "b", (struct bytes[]){buf_bytes(&zipped)}, 1);
    takes(&r, 3);
    is_service(&r, 0, "a");
    is_service(&r, 1, "a");
    is_service(&r, 2, "b");
    assert_int_equal(r.batch->profile_count, 6);
    assert_int_equal(r.report.rejected_profiles, 0);
    buf_fini(&zipped);
    stop(&r);
}

static void test_encoded_is_read(void **state)
{
    struct rig r;
    struct pyroscope_label items[] = {LABEL("service_name", "shop"), LABEL("__name__", "process_cpu"),
                                      LABEL("empty", "")};
    struct pyroscope_labels labels = {.items = items, .count = COUNT_OF(items)};
    (void)state;
    start(&r);
    pyroscope_push_encode(&labels, good(&r), BYTES_LITERAL("id"), &r.request);
    pyroscope_push_encode(&labels, good(&r), (struct bytes){NULL, 0}, &r.request);
    assert_true(buf_ok(&r.request));
    takes(&r, 2);
    is_service(&r, 1, "shop");
    stop(&r);
}

// By the field numbers of push.v1.
static void test_encoded_bytes(void **state)
{
    struct pyroscope_label items[] = {LABEL("a", "b")};
    struct pyroscope_labels labels = {.items = items, .count = COUNT_OF(items)};
    struct buf out;
    (void)state;
    buf_init(&out, 100);
    pyroscope_push_encode(&labels, BYTES_LITERAL("RAW"), BYTES_LITERAL("ID"), &out);
    assert_true(bytes_equal(buf_bytes(&out),
                            BYTES_LITERAL("\x0a\x13\x0a\x06\x0a\x01\x61\x12\x01\x62\x12\x09\x0a\x03RAW\x12\x02ID")));
    buf_fini(&out);
}

static void test_bad_ones_do_not_lose_others(void **state)
{
    struct rig r;
    (void)state;
    start(&r);
    struct bytes cut = {good(&r).data, good(&r).len - 3}, jfr = BYTES_LITERAL("FLR\0\0\2\0\1 and so on");
    put_series(&r, "a", (struct bytes[]){good(&r), jfr, good(&r)}, 3);
    put_series(&r, "b", (struct bytes[]){cut, {NULL, 0}}, 2);
    buf_add(&r.request, "\x0a\x02\x12\x09", 4); // a series that ends in its first sample
    put_series(&r, "c", (struct bytes[]){good(&r)}, 1);
    takes(&r, 3);
    is_service(&r, 2, "c");
    assert_int_equal(r.report.rejected_profiles, 4);
    says(r.report.first_bad.text,
         "series 1, profile 2: not a pprof profile: it looks like a JFR recording; Push takes pprof only");
    stop(&r);
}

static void test_none_good(void **state)
{
    struct rig r;
    (void)state;
    start(&r);
    struct bytes cut = {good(&r).data, good(&r).len - 3}, jfr = BYTES_LITERAL("FLR\0\0\2\0\1 and so on");
    refuses(&r, false, (struct bytes){NULL, 0}, ERR_INVALID, "no profiles received");
    put_series(&r, "a", NULL, 0);
    refuses(&r, false, buf_bytes(&r.request), ERR_INVALID, "no profiles received");
    put_series(&r, "b", &jfr, 1);
    put_series(&r, "b", &cut, 1);
    refuses(&r, false, buf_bytes(&r.request), ERR_INVALID, "series 2, profile 1: not a pprof profile");
    assert_int_equal(r.report.rejected_profiles, 2);
    buf_clear(&r.request);
    put_series(&r, "b", &cut, 1);
    refuses(&r, false, buf_bytes(&r.request), ERR_INVALID, "series 1, profile 1: ");
    refuses(&r, false, BYTES_LITERAL("\x0a\x02\x0a\x09"), ERR_INVALID, "series 1: ");
    refuses(&r, false, BYTES_LITERAL("\x0a\x04\x0a\x02\x0a\x09"), ERR_INVALID, "no profiles received");
    refuses(&r, false, BYTES_LITERAL("\x0a\x09"), ERR_INVALID, "not a PushRequest: ");
    refuses(&r, false, BYTES_LITERAL("{\"series\":[]}"), ERR_INVALID, "not a PushRequest: ");
    stop(&r);
}

static void test_bad_labels(void **state)
{
    struct rig r;
    static struct pyroscope_label items[PYROSCOPE_MAX_LABELS + 1];
    static char names[COUNT_OF(items)][8];
    struct pyroscope_labels labels = {.items = items, .count = COUNT_OF(items)};
    (void)state;
    start(&r);
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        items[i] = (struct pyroscope_label){bytes_from_text(names[i]), BYTES_LITERAL("v")};
    }
    pyroscope_push_encode(&labels, good(&r), (struct bytes){NULL, 0}, &r.request);
    refuses(&r, false, buf_bytes(&r.request), ERR_LIMIT, "series 1: it has more than the 256 labels allowed");
    put_series(&r, "good", (struct bytes[]){good(&r)}, 1);
    takes(&r, 1);
    assert_int_equal(r.report.rejected_profiles, 1);
    buf_clear(&r.request);
    labels.count--;
    pyroscope_push_encode(&labels, good(&r), (struct bytes){NULL, 0}, &r.request);
    takes(&r, 1);
    buf_clear(&r.request);
    labels.count = 1;
    char *long_name = mem_try_alloc(1025);
    memset(long_name, 'x', 1025);
    items[0].name = (struct bytes){(uint8_t *)long_name, 1025};
    pyroscope_push_encode(&labels, good(&r), (struct bytes){NULL, 0}, &r.request);
    refuses(&r, false, buf_bytes(&r.request), ERR_LIMIT,
            "series 1: label 1: its name has 1025 bytes, allowed are 1024");
    free(long_name);
    stop(&r);
}

// Its labels are bad, but there is nothing that could be lost.
static void test_bad_labels_of_no_profile(void **state)
{
    struct rig r;
    char name[1025];
    (void)state;
    start(&r);
    memset(name, 'x', sizeof name);
    size_t series = wire_begin(&r.request, 1), label = wire_begin(&r.request, 1);
    wire_put_bytes(&r.request, 1, (struct bytes){(uint8_t *)name, sizeof name});
    wire_end(&r.request, label);
    wire_end(&r.request, series);
    refuses(&r, false, buf_bytes(&r.request), ERR_INVALID, "no profiles received");
    put_series(&r, "good", (struct bytes[]){good(&r)}, 1);
    takes(&r, 1);
    assert_int_equal(r.report.rejected_profiles, 0);
    assert_int_equal(r.report.first_bad.code, ERR_OK);
    stop(&r);
}

// --- limits ---

static void test_number_of_profiles(void **state)
{
    struct rig r;
    (void)state;
    start(&r);
    struct bytes bad[100];
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        bad[i] = BYTES_LITERAL("x");
    for (size_t i = 0; i < PYROSCOPE_MAX_SERIES / COUNT_OF(bad); i++)
        put_series(&r, "a", bad, COUNT_OF(bad));
    refuses(&r, false, buf_bytes(&r.request), ERR_INVALID, "series 1, profile 1: ");
    assert_int_equal(r.report.rejected_profiles, PYROSCOPE_MAX_SERIES);
    put_series(&r, "a", bad, 1);
    refuses(&r, false, buf_bytes(&r.request), ERR_LIMIT, "the request has 10001 profiles, allowed are 10000");
    buf_clear(&r.request);
    for (int i = 0; i <= PYROSCOPE_MAX_SERIES; i++)
        buf_add(&r.request, "\x0a\0", 2);
    put_series(&r, "a", bad, 1);
    refuses(&r, false, buf_bytes(&r.request), ERR_LIMIT, "the request has 10002 series, allowed are 10000");
    stop(&r);
}

// What they inflate to is counted for all together, good or bad.
static void test_bombs(void **state)
{
    struct rig r;
    struct buf bomb;
    enum { BOMB_BYTES = 1 << 20 };
    (void)state;
    start(&r);
    uint8_t *zeros = mem_try_alloc(BOMB_BYTES);
    memset(zeros, 0, BOMB_BYTES);
    gzip((struct bytes){zeros, BOMB_BYTES}, &bomb);
    r.limits.max_inflated_bytes = 4 * BOMB_BYTES;
    for (int i = 0; i < 4; i++)
        put_series(&r, "a", (struct bytes[]){buf_bytes(&bomb)}, 1);
    refuses(&r, false, buf_bytes(&r.request), ERR_INVALID,
            "series 1, profile 1: not a pprof profile: it looks like a run of zero bytes");
    assert_int_equal(r.report.rejected_profiles, 4);
    for (int i = 4; i < 200; i++)
        put_series(&r, "a", (struct bytes[]){buf_bytes(&bomb)}, 1);
    refuses(&r, false, buf_bytes(&r.request), ERR_LIMIT,
            "series 5, profile 1: max_inflated_size: the profiles up to here take more than the 4194304 bytes allowed "
            "for all of a request");
    assert_int_equal(r.report.rejected_profiles, 4); // nobody looked at the others
    r.limits.max_inflated_bytes = BOMB_BYTES - 1;
    refuses(&r, false, buf_bytes(&r.request), ERR_LIMIT,
            "series 1, profile 1: max_inflated_size: gzip data inflates to at least");
    buf_fini(&bomb);
    free(zeros);
    stop(&r);
}

static void test_all_together(void **state)
{
    struct rig r;
    (void)state;
    start(&r);
    for (int i = 0; i < 3; i++)
        put_series(&r, "a", (struct bytes[]){good(&r)}, 1);
    r.limits.max_inflated_bytes = 3 * good(&r).len;
    r.limits.max_samples = 9;
    takes(&r, 3);
    r.limits.max_inflated_bytes--;
    refuses(&r, false, buf_bytes(&r.request), ERR_LIMIT, "series 3, profile 1: max_inflated_size: ");
    r.limits = decode_default_limits;
    r.limits.max_samples = 8; // what a profile's own kind says: the others stay
    takes(&r, 2);
    assert_int_equal(r.report.rejected_profiles, 1);
    says(r.report.first_bad.text, "series 3, profile 1: max_samples: ");
    stop(&r);
}

// With more room for the batch it works: so no profile may be lost for want of it.
static void test_batch_bytes(void **state)
{
    struct rig r;
    size_t enough = 0, firsts = 0, others = 0;
    (void)state;
    start(&r);
    for (int i = 0; i < 5; i++)
        put_series(&r, "a", (struct bytes[]){good(&r)}, 1);
    for (size_t bytes = 1000; enough == 0; bytes += 1000) {
        r.limits.max_batch_bytes = bytes;
        enum err_code code = decode_as(&r, buf_bytes(&r.request), false);
        assert_int_equal(r.report.rejected_profiles, 0);
        if (code == ERR_OK) {
            assert_int_equal(r.batch->resource_count, 5);
            assert_true(batch_memory_bytes(r.batch) <= bytes);
            enough = bytes;
        } else {
            assert_int_equal(code, ERR_LIMIT);
            bool is_first = strncmp(r.e.text, "series 1, ", 10) == 0;
            says(r.e.text, is_first ? "the batch would take " : "memory: the profiles up to here take more than the ");
            firsts += is_first;
            others += !is_first;
        }
    }
    assert_true(firsts > 0 && others > 0);
    stop(&r);
}

// --- JSON ---

static void put_json(struct rig *r, const char *before, struct bytes raw, const char *behind)
{
    buf_add_text(&r->request, before);
    base64_encode(raw, &r->request);
    buf_add_text(&r->request, behind);
}

static void takes_json(struct rig *r, size_t resources)
{
    if (decode_as(r, buf_bytes(&r->request), true) != ERR_OK)
        fail_msg("%s", r->e.text);
    assert_int_equal(r->batch->resource_count, resources);
    buf_clear(&r->request);
}

static void test_json(void **state)
{
    struct rig r;
    (void)state;
    start(&r);
    put_json(
        &r, " {\"unknown\":{\"a\":[1,{}]},\"series\":[{\"samples\":[{\"ID\":\"x\",\"rawProfile\":\"", good(&r),
        "\"}],\"annotations\":[{\"key\":\"k\"}],\"labels\":[{\"name\":\"service_\\u006eame\",\"value\":\"gr\\u00fcn\"},"
        "{\"value\":\"v\",\"name\":\"k\"},{\"name\":null,\"value\":\"v\"}]},{\"labels\":null,\"samples\":null}]} \n");
    takes_json(&r, 1);
    is_service(&r, 0, "gr\xC3\xBCn");
    put_json(&r, "{\"series\":[{\"samples\":[{\"raw_profile\":\"", good(&r), "\",\"raw_profile\":null}]}]}");
    takes_json(&r, 1);
    buf_add_text(&r.request, "{\"series\":[{\"samples\":[{\"rawProfile\":\"");
    base64_encode(good(&r), &r.request);
    for (size_t i = 0; i < r.request.len; i++) { // URL-safe
        uint8_t *c = &r.request.data[i];
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    }
    while (r.request.data[r.request.len - 1] == '=')
        r.request.len--;
    buf_add_text(&r.request, "\"}]}]}");
    takes_json(&r, 1);
    stop(&r);
}

static void test_json_is_refused(void **state)
{
    struct rig r;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "line 1, column 1: "},
        {"{}", "no profiles received"},
        {"null", ""},
        {"[]", "line 1, column 1: "},
        {"{\"series\":[]}", "no profiles received"},
        {"{\"series\":{}}", "line 1, column 11: "},
        {"{\"series\":[1]}", "line 1, column 12: "},
        {"{\"series\":[{\"labels\":[{\"name\":1}]}]}", "line 1, column "},
        {"{\"series\":[{\"samples\":[{\"rawProfile\":\"!!!!\"}]}]}", "rawProfile is not base64"},
        {"{\"series\":[{\"samples\":[{\"rawProfile\":\"\"}]}]}", "series 1, profile 1: "},
        {"{\"series\":[{\"samples\":[{}]}]} x", "line 1, column 31: "},
        {"{\"series\":[{\"samples\":[{\"rawProfile\":\"eHh4\"}]}]}", "series 1, profile 1: "},
    };
    (void)state;
    start(&r);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        refuses(&r, true, bytes_from_text(cases[i].text), ERR_INVALID, cases[i].why);
    char deep[400] = "{\"x\":";
    memset(deep + 5, '[', 300);
    refuses(&r, true, bytes_from_text(deep), ERR_INVALID, "line 1, column ");
    stop(&r);
}

// --- cut, and without memory ---

static void test_cut(void **state)
{
    struct rig r;
    (void)state;
    start(&r);
    put_series(&r, "a", (struct bytes[]){good(&r)}, 1);
    put_series(&r, "b", (struct bytes[]){good(&r)}, 1);
    size_t first = 0;
    for (size_t len = 0; len < r.request.len; len++) {
        uint8_t *copy = mem_try_alloc(len + 1); // exactly as long as that, for the sanitizer
        memcpy(copy, r.request.data, len);
        enum err_code code = decode_as(&r, (struct bytes){copy, len}, false);
        if (code == ERR_OK) {
            assert_int_equal(first, 0); // one place: between the two
            first = len;
        } else {
            assert_int_equal(code, ERR_INVALID);
        }
        free(copy);
    }
    assert_int_equal(first, r.request.len / 2);
    stop(&r);
}

static void test_cut_json(void **state)
{
    struct rig r;
    (void)state;
    start(&r);
    put_json(
        &r,
        "{\"series\":[{\"labels\":[{\"name\":\"service_name\",\"value\":\"\\u00e9\"}],\"samples\":[{\"rawProfile\":\"",
        good(&r), "\"}]}]}");
    for (size_t len = 0; len < r.request.len; len++)
        assert_int_equal(decode_as(&r, (struct bytes){r.request.data, len}, true), ERR_INVALID);
    takes_json(&r, 1);
    stop(&r);
}

// Each allocation fails in turn: the request does, or it was a hint and all is there.
static void no_memory(struct rig *r, bool json, struct bytes body, uint32_t resources)
{
    size_t n = 1, failures = 0;
    for (bool ended = false; !ended; n++) {
        struct err e = {0};
        struct batch *b = NULL;
        mem_fail_from(n);
        enum err_code code = pyroscope_push_decode(body, json, BYTES_LITERAL("ua"), &r->settings, &b, &r->report, &e);
        ended = mem_fail_count() < n;
        mem_fail_from(0);
        assert_int_equal(r->report.rejected_profiles, 0);
        assert_true(code == ERR_OK || (code == ERR_MEMORY && e.code == code && !ended));
        assert_int_equal(code == ERR_OK ? b->resource_count : resources, resources);
        failures += code != ERR_OK;
        batch_unref(&b);
    }
    assert_true(failures > 20);
}

static void test_no_memory(void **state)
{
    struct rig r;
    struct buf zipped;
    (void)state;
    start(&r);
    gzip(good(&r), &zipped);
    put_series(&r, "a", (struct bytes[]){buf_bytes(&zipped)}, 1);
    put_series(&r, "b", (struct bytes[]){good(&r)}, 1);
    no_memory(&r, false, buf_bytes(&r.request), 2);
    buf_clear(&r.request);
    put_json(
        &r,
        "{\"series\":[{\"labels\":[{\"name\":\"service_name\",\"value\":\"\\u00e9\"}],\"samples\":[{\"rawProfile\":\"",
        good(&r), "\"}]}]}");
    no_memory(&r, true, buf_bytes(&r.request), 1);
    buf_fini(&zipped);
    stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_encoded_is_read),
        cmocka_unit_test(test_encoded_bytes),
        cmocka_unit_test(test_bad_ones_do_not_lose_others),
        cmocka_unit_test(test_none_good),
        cmocka_unit_test(test_bad_labels),
        cmocka_unit_test(test_bad_labels_of_no_profile),
        cmocka_unit_test(test_number_of_profiles),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_all_together),
        cmocka_unit_test(test_batch_bytes),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_is_refused),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_cut_json),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
