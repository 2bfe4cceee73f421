// SPDX-License-Identifier: Apache-2.0
// Old profiles beyond what tests/interop/parts/legacy.sh compares with google/pprof: refusals, limits, damage.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/legacy.h"
#include "codec/pprof.h"
#include "tests/support/stack_at.h"
#include "tests/unit/codec/text_fixture.h"

#define MAPS                                                                                                           \
    "--- Memory map: ---\n  build=/b\n  400000-500000: $build/server (@1000) abc\n600000-700000 r-xp 0 8:1 7 "         \
    "/lib/a.so.6\n"

static const char heap[] = "heap profile: 3: 300 [5: 500] @ heap_v2/1\n"
                           "1: 100 [2: 200] @ 0x400101 0x600001\n\n# comment\n2: 200 [3: 300] @\n" MAPS;
static const char jemalloc[] =
    "<jemalloc>: a log\nheap_v2/1\n  t*: 3: 300 [0: 0]\n  t0: 3: 300 [0: 0]\n"
    "@ 0x400101 0x600001\n  t*: 1: 100 [0: 0]\n  t0: 1: 100 [0: 0]\n"
    "@ 0x400201\n  t*: 2: 200 [0: 0]\n\nMAPPED_LIBRARIES:\n400000-500000 r-xp 0 8:1 7 /bin/a\n";
static const char count[] =
    "goroutine profile: total 3\n2 @ 0x401 0x402\n#\t0x401\tmain.main+0x1\tf.go:3\n\n1 @ 0x401\n";
static const char contention[] =
    "--- mutex:\ncycles/second=2000000000\nsampling period=5\n1000 2 @ 0x401 0x402\n30 1 @ 0x402\n";
static const char thread[] = "--- threadz 1 ---\n\n--- Thread 7f (name: a/1) stack: ---\n  0x401 0x403\n"
                             "--- Thread 80 (name: b/2) stack: ---\n  [same as previous thread]\n" MAPS;
static const char java[] = "--- contentionz 1 ---\nformat = java\nresolution = microseconds\nsampling period = 10\n"
                           "5 2 @ 0x3 0x4\n 0x3 f (A.java:7)\n 0x4 g (/usr/lib/libjvm.so)\n";
static const uint32_t cpu[] = {0, 3, 0, 1000, 0, 2, 3, 0x401, 0x402, 0x500, 1, 1, 0x401, 0, 1, 0};

static const char *const texts[] = {heap, jemalloc, count, contention, thread, java};

static struct bytes cpu_bytes(void)
{
    return (struct bytes){(const uint8_t *)cpu, sizeof cpu};
}

static struct batch *read_text(const char *text)
{
    struct decode_report r;
    struct batch *b = text_read(&pprof_legacy_format, bytes_from_text(text), NULL, &r);
    assert_int_equal(r.bad_lines, 0);
    return b;
}

static void refuse(const char *text, enum err_code code, const char *why)
{
    text_refuse(&pprof_legacy_format, bytes_from_text(text), NULL, code, why);
}

static const struct profile *typed(const struct batch *b, const char *type, const char *unit)
{
    for (uint32_t i = 0; i < b->profile_count; i++) {
        const struct profile *p = text_profile(b, i);
        if (bytes_equal_text(b->dictionary->strings[p->sample_type.type], type)) {
            text_assert(b, p->sample_type.unit, unit);
            return p;
        }
    }
    fail_msg("no %s", type);
    return NULL;
}

static void assert_values(const struct batch *b, const char *type, const char *unit, int64_t first, int64_t second)
{
    const struct profile *p = typed(b, type, unit);
    assert_int_equal(p->columns->sample_count, 2);
    assert_int_equal(p->observations->values[0], first);
    assert_int_equal(p->observations->values[1], second);
}

static void a_heap_has_four_types(void **state)
{
    (void)state;
    struct batch *b = read_text(heap);
    const struct dictionary *d = b->dictionary;
    assert_int_equal(b->profile_count, 4);
    assert_values(b, "inuse_objects", "count", 1, 2);
    assert_values(b, "inuse_space", "bytes", 100, 200);
    assert_values(b, "alloc_objects", "count", 2, 3);
    assert_values(b, "alloc_space", "bytes", 200, 300);
    text_assert(b, text_profile(b, 0)->sample_type.type, "inuse_space"); // the default comes first
    text_assert(b, text_profile(b, 0)->period_type.type, "space");
    const uint32_t stack = text_profile(b, 0)->columns->stacks[0];
    assert_int_equal(stack_at(d, stack, 0)->address, 0x400100);
    const struct batch_mapping *m = &d->mappings[stack_at(d, stack, 0)->mapping];
    text_assert(b, m->filename, "/b/server");
    assert_int_equal(m->memory_start, 0x400000);
    assert_int_equal(m->file_offset, 0x1000);
    assert_int_equal(d->attribute_sets[m->attribute_set].count, 1); // the build id
    text_assert(b, d->mappings[stack_at(d, stack, 1)->mapping].filename, "/lib/a.so.6");
    batch_unref(&b);
}

static void jemalloc_counts_all_threads(void **state)
{
    (void)state;
    struct batch *b = read_text(jemalloc);
    assert_int_equal(b->profile_count, 2);
    assert_values(b, "objects", "count", 1, 2);
    assert_values(b, "space", "bytes", 100, 200);
    batch_unref(&b);
    refuse("heap_v2/1\n@ 0x1\n@ 0x2\n", ERR_INVALID, "line 3: the stack before it has no line t*");
    refuse("heap_v2/x\n", ERR_INVALID, "heap_v2/SAMPLING_RATE");
    refuse("heap_v2/5\n t*: 1 2\n", ERR_INVALID, "line 2: it should read t*:");
}

static void the_other_kinds_are_read(void **state)
{
    (void)state;
    struct batch *b = read_text(count);
    assert_values(b, "goroutine", "count", 2, 1);
    batch_unref(&b);
    b = read_text(contention);
    assert_values(b, "contentions", "count", 10, 5);
    assert_values(b, "delay", "nanoseconds", 2500, 75);
    batch_unref(&b);
    b = read_text(thread);
    assert_int_equal(b->sample_count, 1);
    assert_int_equal(typed(b, "thread", "count")->observations->values[0], 2);
    batch_unref(&b);
    b = read_text(java);
    assert_int_equal(typed(b, "contentions", "count")->observations->values[0], 20);
    assert_int_equal(typed(b, "delay", "microseconds")->observations->values[0], 50);
    const struct dictionary *d = b->dictionary;
    text_assert(b, d->functions[2].filename, "libjvm.so");
    assert_int_equal(d->lines[d->locations[1].line_start].line, 7);
    batch_unref(&b);
    b = text_read(&pprof_legacy_format, cpu_bytes(), NULL, NULL);
    assert_values(b, "samples", "count", 2, 1);
    assert_values(b, "cpu", "nanoseconds", 2000000, 1000000);
    assert_int_equal(text_profile(b, 0)->period, 1000000);
    batch_unref(&b);
}

static void lines_that_make_no_sense_are_named(void **state)
{
    (void)state;
    refuse("heap profile: 1: 2\n", ERR_INVALID, "line 1: it should read heap profile:");
    refuse("heap profile: 1: 2 [3: 4] @ tcmalloc\n", ERR_UNSUPPORTED, "a kind that is not known");
    refuse("heap profile: 1: 2 [3: 4] @ heap_v2/99999999999999999999\n", ERR_INVALID, "sampling rate");
    refuse("heap profile: 1: 2 [1: 2] @ heap\n\n1: x [1: 2] @ 0x1\n", ERR_INVALID, "line 3: it should read COUNT:");
    refuse("heap profile: 1: 2 [1: 2] @ heap\n0: 9 [0: 0] @\n", ERR_INVALID, "9 bytes in use, but no objects");
    refuse("heap profile: 1: 2 [1: 2] @ heap\n1: 1 [1: 1] @ 0x11112222333344445\n", ERR_INVALID, "64 bits");
    refuse("goroutine profile: total 1\n1 0x1\n", ERR_INVALID, "line 2: it should read COUNT @");
    refuse("--- mutex:\ncolour=3\n", ERR_INVALID, "line 2: a key that is not known");
    refuse("--- mutex:\nsampling period=x\n", ERR_INVALID, "sampling period is no integer");
    refuse("--- mutex:\nformat = java\n", ERR_INVALID, "of Java");
    refuse("--- mutex:\n-1 1 @ 0x1\n", ERR_INVALID, "line 2: it should read DELAY");
    refuse("--- threadz 1 ---\n--- Threat\n", ERR_INVALID, "line 2: it should read --- Thread");
    refuse("--- heapz 1 ---\nformat = go\n", ERR_UNSUPPORTED, "not java");
    refuse("--- heapz 1 ---\nformat = java\n1 1 @ 0x1\n", ERR_INVALID, "resolution");
    refuse("--- heapz 1 ---\nresolution = bytes\n1 0 @ 0x1\n", ERR_INVALID, "line 3: a sample of no objects");
    refuse("main;work 12\n", ERR_UNSUPPORTED, "it looks like folded stacks");
    refuse("\n\n", ERR_UNSUPPORTED, "not a profile of gperftools");
}

static void a_damaged_cpu_profile_is_refused(void **state)
{
    (void)state;
    const struct bytes whole = cpu_bytes();
    text_refuse(&pprof_legacy_format, (struct bytes){whole.data, 36}, NULL, ERR_INVALID, "stack 0: the file ends");
    uint64_t words[] = {0, 3, 0, UINT64_MAX, 0};
    const struct bytes data = {(const uint8_t *)words, sizeof words};
    text_refuse(&pprof_legacy_format, data, NULL, ERR_INVALID, "its period is 18446744073709551615 us");
    uint64_t large[] = {0, 3, 0, 1, 0, UINT64_MAX, 0};
    text_refuse(&pprof_legacy_format, (struct bytes){(const uint8_t *)large, sizeof large}, NULL, ERR_INVALID,
                "its count is 18446744073709551615");
    large[5] = 1;
    large[6] = UINT64_MAX / 4;
    text_refuse(&pprof_legacy_format, (struct bytes){(const uint8_t *)large, sizeof large}, NULL, ERR_INVALID,
                "ends inside it");
}

static void limits_are_named(void **state)
{
    (void)state;
    struct decode_limits limits = decode_default_limits;
    const struct decode_options o = {.limits = &limits};
    limits.max_samples = 1;
    text_refuse(&pprof_legacy_format, bytes_from_text(heap), &o, ERR_LIMIT, "line 5: max_samples:");
    text_refuse(&pprof_legacy_format, cpu_bytes(), &o, ERR_LIMIT, "max_samples:");
    limits.max_samples = 2;
    limits.max_stack_depth = 1;
    text_refuse(&pprof_legacy_format, bytes_from_text(heap), &o, ERR_LIMIT,
                "line 2: max_stack_depth: the stack has at least 2 locations, allowed are 1");
    limits.max_stack_depth = 2;
    limits.max_sample_types = 3;
    text_refuse(&pprof_legacy_format, bytes_from_text(heap), &o, ERR_LIMIT, "max_sample_types");
    limits.max_sample_types = 4;
    limits.max_batch_bytes = 100;
    text_refuse(&pprof_legacy_format, bytes_from_text(heap), &o, ERR_LIMIT, "100");
}

static void only_these_are_recognised(void **state)
{
    (void)state;
    static const char *const others[] = {"",
                                         "heap profile: a;b 3\n",
                                         "goroutine profile: total 3;main 5\n",
                                         "goroutine 1 [running]:\nmain.main()\n",
                                         "{\"profiles\": []}",
                                         "x profile: total\n",
                                         "--- symbol\nbinary=x\n",
                                         "log\nheap profile: 1: 2 [3: 4] @ heap/5\n"};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_true(legacy_recognise(bytes_from_text(texts[i])));
    assert_true(legacy_recognise(cpu_bytes()));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(legacy_recognise(bytes_from_text(others[i])));
    assert_string_equal(pprof_describe_other(bytes_from_text(jemalloc)), "a jemalloc heap profile");
}

static void names_in_the_map_cannot_grow_without_end(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, (size_t)1 << 20);
    buf_add_text(&text, "goroutine profile: total 1\n1 @ 0x401\n--- Memory map: ---\nv0=xxxxxxxxxxxxxxxx\n");
    for (int i = 1; i < 100; i++)
        buf_add_format(&text, "v%02d=$v%02d$v%02d\n", i, i - 1, i - 1);
    buf_add_text(&text, "400-500: $v0\n");
    struct decode_report r;
    struct batch *b = text_read(&pprof_legacy_format, buf_bytes(&text), NULL, &r);
    assert_int_equal(r.bad_lines, 36);
    assert_non_null(strstr(r.first_bad.text, "more than 64 names"));
    batch_unref(&b);
    buf_fini(&text);
}

// Each line of two bytes becomes one of 8000.
static void the_map_stays_within_the_limit(void **state)
{
    (void)state;
    struct decode_limits limits = decode_default_limits;
    const struct decode_options o = {.limits = &limits};
    struct buf text;
    buf_init(&text, (size_t)1 << 20);
    buf_add_text(&text, "goroutine profile: total 1\n1 @ 0x401\n--- Memory map: ---\nv=");
    for (int i = 0; i < 8000; i++)
        buf_add_byte(&text, 'x');
    for (int i = 0; i < 1000; i++)
        buf_add_text(&text, "\n$v");
    buf_add_text(&text, "\n400-500: /a\n");
    limits.max_batch_bytes = 4 << 20;
    text_refuse(&pprof_legacy_format, buf_bytes(&text), &o, ERR_LIMIT, "max_batch_bytes: ");
    limits.max_batch_bytes = 16 << 20;
    struct batch *b = text_read(&pprof_legacy_format, buf_bytes(&text), &o, NULL);
    batch_unref(&b);
    buf_fini(&text);
}

// At each of many $ all names are tried: one that is made of them would be gone through each time.
static void names_of_the_map_hold_no_dollar(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b = text_read(&pprof_legacy_format,
                                BYTES_LITERAL("goroutine profile: total 1\n1 @ 0x401\n--- Memory map: ---\n"
                                              "a$=x\nv=/bin/y\n400-500: $a$ \n500-600: $v\n"),
                                NULL, &r);
    bool found = false;
    for (uint32_t i = 0; i < b->dictionary->string_count; i++)
        found |= bytes_equal_text(b->dictionary->strings[i], "$a$");
    assert_true(found);
    batch_unref(&b);
}

static void ranges_that_overlap_belong_to_the_first(void **state)
{
    (void)state;
    static const struct legacy_range ranges[] = {{10, 20}, {15, 30}, {5, 40}, {7, 7}, {9, 3}, {0, 6}};
    struct legacy_ranges r;
    assert_true(legacy_ranges_build(&r, ranges, COUNT_OF(ranges)));
    for (uint64_t at = 0; at < 50; at++) {
        uint32_t want = LEGACY_NONE;
        for (uint32_t i = 0; want == LEGACY_NONE && i < COUNT_OF(ranges); i++)
            if (ranges[i].start <= at && at < ranges[i].limit)
                want = i;
        assert_int_equal(legacy_ranges_find(&r, at), want);
    }
    legacy_ranges_fini(&r);
    assert_true(legacy_ranges_build(&r, NULL, 0));
    assert_int_equal(legacy_ranges_find(&r, 0), LEGACY_NONE);
    legacy_ranges_fini(&r);
}

static void unsampling_stays_in_bounds(void **state)
{
    (void)state;
    int64_t objects = INT64_MAX, bytes = INT64_MAX;
    legacy_unsample(INT64_MAX, &objects, &bytes);
    assert_int_equal(objects, INT64_MAX);
    objects = -3;
    bytes = INT64_MIN;
    legacy_unsample(7, &objects, &bytes);
    objects = 5;
    bytes = 0;
    legacy_unsample(7, &objects, &bytes);
    assert_int_equal(objects, 0);
    objects = 4, bytes = 400;
    legacy_unsample(1, &objects, &bytes);
    assert_int_equal(objects, 4);
}

static void cut_at_every_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        text_cut_everywhere(&pprof_legacy_format, bytes_from_text(texts[i]));
    text_cut_everywhere(&pprof_legacy_format, cpu_bytes());
}

static void memory_out_at_every_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        text_fail_everywhere(&pprof_legacy_format, bytes_from_text(texts[i]));
    text_fail_everywhere(&pprof_legacy_format, cpu_bytes());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heap_has_four_types),
        cmocka_unit_test(jemalloc_counts_all_threads),
        cmocka_unit_test(the_other_kinds_are_read),
        cmocka_unit_test(lines_that_make_no_sense_are_named),
        cmocka_unit_test(a_damaged_cpu_profile_is_refused),
        cmocka_unit_test(limits_are_named),
        cmocka_unit_test(only_these_are_recognised),
        cmocka_unit_test(names_in_the_map_cannot_grow_without_end),
        cmocka_unit_test(the_map_stays_within_the_limit),
        cmocka_unit_test(names_of_the_map_hold_no_dollar),
        cmocka_unit_test(ranges_that_overlap_belong_to_the_first),
        cmocka_unit_test(unsampling_stays_in_bounds),
        cmocka_unit_test(cut_at_every_length),
        cmocka_unit_test(memory_out_at_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
