// SPDX-License-Identifier: Apache-2.0
// What goes through a Pyroscope server's ways in keeps every value: pprof -> /ingest -> pprof, and batch -> Push -> batch.
// Equal pprofs have equal bytes here: that our pprof says what the batch does is judged elsewhere, by others' code.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/pprof.h"
#include "codec/pyroscope_ingest.h"
#include "codec/pyroscope_push.h"
#include "codec/pyroscope_series.h"
#include "profile/validate.h"
#include "tests/support/random_batch.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEEDS = 300 };

#define NOW 1795974816000000000LL

static const struct random_batch_options shapes = {
    .max_resources = 2,
    .max_scopes = 2,
    .max_profiles = 3,
    .max_samples = 12,
    .max_stack_depth = 8,
    .max_attributes = 4,
    .item_count = 20,
    .links = true,
};

static const struct pyroscope_settings settings = {.limits = &decode_default_limits, .now_nanos = 0};

static void encode(const struct batch *b, const struct scope *s, uint32_t first, uint32_t count, struct buf *out)
{
    struct err e;
    buf_init(out, SIZE_MAX / 2);
    assert_int_equal(pprof_encode(b, s, first, count, out, NULL, &e), ERR_OK);
}

// The one pprof of a batch.
static void encode_only(const struct batch *b, struct buf *out)
{
    struct err e;
    assert_int_equal(batch_validate(b, &e), ERR_OK);
    assert_int_equal(b->resource_count, 1);
    assert_int_equal(b->resources[0]->scope_count, 1);
    const struct scope *s = b->resources[0]->scopes[0];
    assert_int_equal(pprof_group(s, 0), s->profile_count);
    encode(b, s, 0, s->profile_count, out);
}

static void assert_same(struct bytes sent, const struct batch *got, uint64_t seed)
{
    struct buf again;
    encode_only(got, &again);
    if (again.len != sent.len || memcmp(again.data, sent.data, sent.len) != 0)
        fail_msg("seed %lu: %zu bytes of pprof became %zu others", (unsigned long)seed, sent.len, again.len);
    buf_fini(&again);
}

static const struct key_value *attribute(const struct batch *b, const char *key)
{
    return key_values_find(b->resources[0]->attributes, b->resources[0]->attribute_count, bytes_from_text(key));
}

// What a pprof cannot hold is gone after one way through it.
static void settle(const struct batch *b, const struct scope *s, uint32_t first, uint32_t count, struct buf *out)
{
    const struct decode_options plain = {.limits = NULL};
    struct decode_report report = {0};
    struct batch *once;
    struct err e;
    struct buf raw;
    encode(b, s, first, count, &raw);
    assert_int_equal(pprof_decode_inflated(buf_bytes(&raw), buf_bytes(&raw), &plain, &once, &report, &e), ERR_OK);
    encode_only(once, out);
    batch_unref(&once);
    buf_fini(&raw);
}

static void through_ingest(struct bytes pprof, uint64_t seed)
{
    struct pyroscope_query q;
    struct decode_report report = {0};
    struct batch *got;
    struct err e;
    assert_int_equal(
        pyroscope_query_parse(BYTES_LITERAL("name=shop%7Bregion%3Deu%7D&format=pprof&spyName=gospy"), NOW, &q, &e),
        ERR_OK);
    assert_int_equal(pyroscope_ingest_decode(&q, (struct bytes){NULL, 0}, pprof, &settings, &got, &report, &e), ERR_OK);
    assert_same(pprof, got, seed);
    assert_true(bytes_equal_text(attribute(got, "service.name")->value.bytes, "shop"));
    assert_true(bytes_equal_text(attribute(got, "region")->value.bytes, "eu"));
    batch_unref(&got);
    pyroscope_query_fini(&q);
}

static void through_push(const struct pyroscope_labels *labels, struct bytes pprof, uint64_t seed)
{
    struct decode_report report = {0};
    struct batch *got;
    struct err e;
    struct buf request;
    buf_init(&request, SIZE_MAX / 2);
    pyroscope_push_encode(labels, pprof, BYTES_LITERAL("an-id"), &request);
    assert_int_equal(
        pyroscope_push_decode(buf_bytes(&request), false, (struct bytes){NULL, 0}, &settings, &got, &report, &e),
        ERR_OK);
    assert_int_equal(report.rejected_profiles, 0);
    assert_same(pprof, got, seed);
    const struct bytes service = pyroscope_labels_find(labels, "service_name");
    assert_true(bytes_equal(attribute(got, "service.name")->value.bytes, service));
    batch_unref(&got);
    buf_fini(&request);
}

static void both_ways(const struct batch *b, const struct resource *r, const struct scope *s, uint32_t first,
                      uint32_t count, uint64_t seed)
{
    static const struct pyroscope_label_settings all = {.max_labels = 30};
    struct pyroscope_label_report report = {0};
    struct pyroscope_labels labels;
    struct err e;
    struct buf pprof;
    settle(b, s, first, count, &pprof);
    through_ingest(buf_bytes(&pprof), seed);
    pyroscope_labels_init(&labels);
    assert_int_equal(pyroscope_labels_of(b, r, s, first, count, &all, &labels, &report, &e), ERR_OK);
    through_push(&labels, buf_bytes(&pprof), seed);
    pyroscope_labels_fini(&labels);
    buf_fini(&pprof);
}

static void test_every_value_comes_back(void **state)
{
    uint64_t profiles = 0, samples = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct batch *b = random_batch(seed, &shapes);
        for (uint32_t r = 0; r < b->resource_count; r++)
            for (uint32_t k = 0; k < b->resources[r]->scope_count; k++) {
                const struct scope *s = b->resources[r]->scopes[k];
                for (uint32_t first = 0, n; (n = pprof_group(s, first)) != 0; first += n)
                    both_ways(b, b->resources[r], s, first, n, seed);
            }
        profiles += b->profile_count;
        samples += b->sample_count;
        batch_unref(&b);
    }
    assert_true(profiles > SEEDS && samples > (uint64_t)SEEDS * 3); // it was about something
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_value_comes_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
