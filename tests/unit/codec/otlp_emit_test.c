// SPDX-License-Identifier: Apache-2.0
// Requests in older layouts and other spellings say what the batch says. Judged by requests written by hand; tests/e2e has
// the same judged by others' decoder.
#include "wire_text.h"

#include "base/mem.h"
#include "base/text.h"
#include "codec/otlp_check.h"
#include "codec/otlp_decode_layout.h"
#include "codec/otlp_emit.h"
#include "codec/otlp_origin.h"
#include "tests/support/batch_text.h"
#include "tests/support/random_batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { REQUEST_MAX = 1 << 22, SEEDS = 24 };

static const enum otlp_layout layouts[] = {OTLP_LAYOUT_1_7, OTLP_LAYOUT_1_8, OTLP_LAYOUT_1_9, OTLP_LAYOUT_CURRENT};

static struct batch *batch_of(struct bytes request, enum otlp_layout layout)
{
    struct batch *b = NULL;
    struct err e = {0};
    if (otlp_decode_layout(request, layout, NULL, &b, NULL, &e) != ERR_OK)
        fail_msg("%s: %s", otlp_layout_names[layout], e.text);
    return b;
}

static void assert_same_text(const char *what, uint64_t seed, const struct batch *a, const struct batch *b)
{
    struct buf one, two;
    buf_init(&one, SIZE_MAX / 2);
    buf_init(&two, SIZE_MAX / 2);
    batch_text(a, &one);
    batch_text(b, &two);
    buf_add_byte(&one, 0);
    buf_add_byte(&two, 0);
    if (strcmp((char *)one.data, (char *)two.data) != 0)
        fail_msg("%s, seed %u:\n%s\nbecame\n%s", what, (unsigned)seed, (char *)one.data, (char *)two.data);
    buf_fini(&one);
    buf_fini(&two);
}

// To be freed with buf_fini.
static struct buf emitted(const struct batch *b, const struct otlp_emission *how, struct otlp_emission_report *report)
{
    struct buf out;
    struct err e = {0};
    buf_init(&out, REQUEST_MAX);
    if (otlp_encode_as(b, how, &out, report, &e) != ERR_OK)
        fail_msg("%s: %s", otlp_layout_names[how->layout], e.text);
    return out;
}

static struct random_batch_options options_for(enum otlp_layout layout)
{
    struct random_batch_options o = random_batch_defaults;
    if (layout == OTLP_LAYOUT_1_7) {
        o.timestamps = false; // other shapes are changed: see below
        o.item_count = 6;     // more attributes would nearly always have keys with several units
    }
    return o;
}

// What was emitted is taken for what it is, or for what says the same. False: it could be several.
static bool is_recognised(struct bytes request, enum otlp_layout layout, const struct batch *b)
{
    const struct otlp_layout_hints hints = {.says_current = layout == OTLP_LAYOUT_CURRENT};
    struct otlp_layout_finding found;
    struct err e = {0};
    if (otlp_layout_find(request, &hints, &found, &e) != ERR_OK)
        return false;
    if (found.layout != layout) {
        struct batch *other = batch_of(request, found.layout);
        assert_same_text(found.evidence, layout, b, other);
        batch_unref(&other);
    }
    return true;
}

static void random_batches_come_back(enum otlp_layout layout)
{
    const struct random_batch_options o = options_for(layout);
    unsigned whole = 0, recognised = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct otlp_emission_report report;
        struct otlp_emission how = {layout, .string_references = seed % 2, .zero_link = seed % 3 == 0};
        struct batch *b = random_batch(seed, &o);
        struct buf out = emitted(b, &how, &report);
        struct batch *back = batch_of(buf_bytes(&out), layout);
        assert_true(report.lost == 0 || layout == OTLP_LAYOUT_1_7);
        assert_true((report.lost == 0) == (report.first[0] == '\0'));
        if (report.lost == 0)
            assert_same_text(otlp_layout_names[layout], seed, b, back);
        whole += report.lost == 0;
        recognised += is_recognised(buf_bytes(&out), layout, back);
        assert_int_equal(back->sample_count, b->sample_count);
        batch_unref(&back);
        batch_unref(&b);
        buf_fini(&out);
    }
    assert_true(whole > SEEDS / 4);
    assert_true(recognised > SEEDS * 3 / 4);
}

static void random_batches(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(layouts); i++)
        random_batches_come_back(layouts[i]);
}

// --- by hand ---

static void check_emitted(const char *now, const struct otlp_emission *how, const char *wanted, uint64_t lost,
                          const char *first)
{
    struct buf in, out, want;
    struct otlp_emission_report report;
    buf_init(&in, REQUEST_MAX);
    buf_init(&want, REQUEST_MAX);
    wire_text(&in, now);
    wire_text(&want, wanted);
    struct batch *b = batch_of(buf_bytes(&in), OTLP_LAYOUT_CURRENT);
    out = emitted(b, how, &report);
    if (!bytes_equal(buf_bytes(&out), buf_bytes(&want))) {
        struct batch *other = batch_of(buf_bytes(&out), how->layout), *wished = batch_of(buf_bytes(&want), how->layout);
        assert_same_text(wanted, 0, wished, other);
        fail_msg("other bytes of the same meaning: %s", wanted);
    }
    assert_int_equal(report.lost, lost);
    if (strstr(report.first, first) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", first, report.first);
    batch_unref(&b);
    buf_fini(&in);
    buf_fini(&out);
    buf_fini(&want);
}

#define RESOURCE "1{1{1{1'service.name' 2{1'shop'}}} 2{1{1'scope'} 2{"
#define MAPPINGS "1{} 1{1:1 2:2 4:1 5[1]} "
#define FUNCTIONS "2{2:9} 3{} 3{1:2} "
#define LINK "4{1'0123456789abcdef' 2'01234567'} "
#define STRINGS "5'' 5'a' 5'b' 5'c' "
#define TABLES_WITH(link_0)                                                                                            \
    "2{" MAPPINGS "2{} 2{1:1 2:7 3{1:1 2:3} 4[2]} " FUNCTIONS link_0 " " LINK STRINGS                                  \
    "6{} 6{1:1 2{1'x'} 3:2} 6{1:2 2{3:5}} 7{} 7{1[1,2]} 7{1[2]}}"
#define TABLES TABLES_WITH("4{}")

static const char *const now =
    RESOURCE "1{1:1 2:2} 2{1:1 2[1,2] 3:1 4[7,8] 5<20,21>} 2{1:2 4[9]} 3=5 4:6 5{1:3} 6:100 7'0123456789abcdef' 8:4 "
             "9'pprof' 10'PAY' 11[1]} 2{1{} 2{4[] 5<22,23>} 5{}}}}" TABLES;

static void old_numbers(void **state)
{
    (void)state;
    static const struct otlp_emission as_1_9 = {.layout = OTLP_LAYOUT_1_9, .string_references = true},
                                      as_1_8 = {.layout = OTLP_LAYOUT_1_8};
    check_emitted(now, &otlp_plain_emission, now, 0, "");
    check_emitted(now, &as_1_9,
                  RESOURCE
                  "1{1:1 2:2} 2{1:1 3[1,2] 4:1 2[7,8] 5<20,21>} 2{1:2 2[9]} 3=5 4:6 5{1:3} 6:100 7'0123456789abcdef' "
                  "8:4 9'pprof' 10'PAY' 11[1]} 2{1{} 2{5<22,23>} 5{} 7''}}}" TABLES,
                  0, "");
    check_emitted(now, &as_1_8,
                  RESOURCE
                  "1{1:1 2:2} 2{1:1 3[1,2] 4:1 2[7,8] 5<20,21>} 2{1:2 2[9]} 3=5 4:6 5{1:3} 6:100 8'0123456789abcdef' "
                  "9:4 10'pprof' 11'PAY' 12[1]} 2{1{} 2{5<22,23>} 5{} 8''}}}" TABLES,
                  0, "");
}

// Stacks are ranges of a list, values have one timestamp or all, units stand apart.
static void old_samples_and_units(void **state)
{
    (void)state;
    static const struct otlp_emission how = {.layout = OTLP_LAYOUT_1_7};
    check_emitted(now, &how,
                  RESOURCE
                  "1{1:1 2:2} 2{2:2 3[7] 4[1,2] 5:1 6[20]} 2{2:2 3[8] 4[1,2] 5:1 6[21]} 2{1:2 2:1 3[9]} 3[1,2,2] 4:5 "
                  "5:6 6{1:3} 7:100 10'0123456789abcdef' 11:4 12'pprof' 13'PAY' 14[1]} "
                  "2{1{} 2{3[2] 6[22,23]} 6{} 10''}}}"
                  "2{" MAPPINGS "2{} 2{1:1 2:7 3{1:1 2:3} 5[2]} " FUNCTIONS "4{} " LINK STRINGS
                  "6{} 6{1'a' 2{1'x'}} 6{1'b' 2{3:5}} 7{1:1 2:2}}",
                  0, "");
}

// One for each key, or none: never one that is another's.
static void units_of_one_key(void **state)
{
    (void)state;
    static const struct otlp_emission how = {.layout = OTLP_LAYOUT_1_7};
    check_emitted("1{2{2{2{2[1] 4:1} 2{2[2] 4:1}}}} 2{1{} 2{} 3{} 4{} " STRINGS
                  "6{} 6{1:1 2{3:1} 3:2} 6{1:1 2{3:2} 3:2} 6{1:3 2{3:3} 3:1} 7{}}",
                  &how,
                  "1{1{} 2{1{} 2{1{} 2{3[1] 4[1]} 2{3[1] 4[2]} 6{} 10''}}} 2{1{} 2{} 3{} 4{} 5'' 5'a' 5'b' "
                  "6{} 6{1'a' 2{3:1}} 6{1'a' 2{3:2}} 7{1:1 2:2}}",
                  0, "");
    check_emitted("1{2{2{2{2[1] 4:1} 2{2[2] 4:1} 2{2[3] 4:1}}}} 2{1{} 2{} 3{} 4{} " STRINGS
                  "6{} 6{1:1 2{3:1} 3:2} 6{1:1 2{3:2} 3:3} 6{1:1 2{3:3}} 7{}}",
                  &how,
                  "1{1{} 2{1{} 2{1{} 2{3[1] 4[1]} 2{3[1] 4[2]} 2{3[1] 4[3]} 6{} 10''}}} 2{1{} 2{} 3{} 4{} " STRINGS
                  "6{} 6{1'a' 2{3:1}} 6{1'a' 2{3:2}} 6{1'a' 2{3:3}}}",
                  2, "the unit b of an attribute a: others of this key have another");
}

#define ZEROS_16 "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"
#define ZEROS_8 "0,0,0,0,0,0,0,0"

static void other_spellings(void **state)
{
    (void)state;
    static const struct otlp_emission zeros = {.layout = OTLP_LAYOUT_CURRENT, .zero_link = true},
                                      references = {.layout = OTLP_LAYOUT_CURRENT, .string_references = true};
    const char *begin = strstr(now, "2{1{1'scope'}"), *tables = strstr(now, "}}}}2{");
    char wanted[1024];
    snprintf(wanted, sizeof wanted, "%.*s%s", (int)(tables + 4 - now), now,
             TABLES_WITH("4{1[" ZEROS_16 "] 2[" ZEROS_8 "]}"));
    check_emitted(now, &zeros, wanted, 0, "");
    assert_non_null(begin);
    // A key and texts that the table has, some that it lacks, and those of values deep inside.
    check_emitted("1{1{1{1'k' 2{1'a'}} 1{1'a' 2{5{1{1'deep'} 1{6{1{1'k' 2{1''}}}}}}} 1{1'' 2{3:1}}} "
                  "2{1{1'scope' 3{1'deep' 2{1'b'}}} 2{2{2[1] 4:1}}}} 2{1{} 2{} 3{} 4{} " STRINGS
                  "6{} 6{1:1 2{1'b'}} 7{}}",
                  &references,
                  "1{1{1{3:2 2{8:1}} 1{3:1 2{5{1{8:3} 1{6{1{3:2 2{8:0}}}}}}} 1{2{3:1}}} "
                  "2{1{1'scope' 3{3:3 2{8:4}}} 2{1{} 2{2[1] 4[1]} 5{}}}} 2{1{} 2{} 3{} 4{} 5'' 5'a' 5'k' 5'deep' 5'b' "
                  "6{} 6{1:1 2{1'b'}} 7{}}",
                  0, "");
}

// --- requests whose bytes are at hand ---

static struct batch *arrived(const char *text, struct buf *request)
{
    struct otlp_arrival a = {.compression = COMPRESSION_NONE};
    const struct decode_options options = {0};
    struct decode_report report = {0};
    struct batch *b;
    struct err e = {0};
    buf_init(request, REQUEST_MAX);
    wire_text(request, text);
    a.buffer = mem_alloc(request->len);
    memcpy(a.buffer, request->data, request->len);
    a.body = (struct bytes){a.buffer, request->len};
    buf_init(&a.inflated, REQUEST_MAX);
    if (otlp_arrive(&a, &options, &b, &report, &e) != ERR_OK)
        fail_msg("%s", e.text);
    otlp_arrival_fini(&a);
    assert_true(batch_is_unread(b));
    return b;
}

static void check_as_came(const char *text, const struct otlp_emission *how, bool wanted)
{
    struct buf request;
    struct bytes body;
    size_t raw, most;
    struct batch *b = arrived(text, &request);
    bool came = otlp_body_as_came(b, how, COMPRESSION_NONE, &body, &raw);
    assert_int_equal(came, wanted);
    if (came)
        assert_true(bytes_equal(body, buf_bytes(&request)));
    struct buf out = emitted(b, how, NULL);
    assert_true(!came || bytes_equal(buf_bytes(&out), buf_bytes(&request)));
    assert_true(otlp_needs_profiles(b, how, &most) || out.len <= most);
    struct batch *back = batch_of(buf_bytes(&out), how->layout),
                 *whole = batch_of(buf_bytes(&request), OTLP_LAYOUT_CURRENT);
    assert_same_text(text, 0, whole, back);
    batch_unref(&whole);
    batch_unref(&back);
    batch_unref(&b);
    buf_fini(&out);
    buf_fini(&request);
}

#define PROFILE "2{1{} 2{2[1] 4[1]} 5{}}"
#define DICTIONARY "2{1{} 2{} 3{} 4{} 5'' 5'a' 5'k' 6{} 6{1:1 2{1'b'}} 7{}}"

static void requests_as_they_came(void **state)
{
    (void)state;
    static const struct otlp_emission zeros = {.layout = OTLP_LAYOUT_CURRENT, .zero_link = true},
                                      references = {.layout = OTLP_LAYOUT_CURRENT, .string_references = true},
                                      old = {.layout = OTLP_LAYOUT_1_9};
    static const char *const plain = "1{1{} 2{1{1'scope'} " PROFILE "}} " DICTIONARY,
                             *const by_text = "1{1{1{1'k' 2{1'v'}}} 2{1{1'scope'} " PROFILE "}} " DICTIONARY,
                             *const by_index = "1{1{1{3:2 2{8:1}}} 2{1{1'scope'} " PROFILE "}} " DICTIONARY;
    static const struct {
        const char *text;
        const struct otlp_emission *how;
        bool as_came;
    } cases[] = {
        {plain, &otlp_plain_emission, true},
        {plain, &references, true},
        {by_text, &otlp_plain_emission, true},
        {by_text, &references, false},
        {by_index, &otlp_plain_emission, false},
        {by_index, &references, true},
        {plain, &zeros, false},
        {by_index, &zeros, false},
        {plain, &old, false},
        {by_text, &old, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_as_came(cases[i].text, cases[i].how, cases[i].as_came);
}

// --- what fails ---

static void memory_fails(const struct otlp_emission *how)
{
    struct batch *b = random_batch(9, NULL);
    struct buf out;
    size_t n = 0;
    enum err_code code;
    do {
        struct err e = {0};
        buf_init(&out, REQUEST_MAX);
        mem_fail_from(++n);
        code = otlp_encode_as(b, how, &out, NULL, &e);
        mem_fail_from(0);
        assert_true(code == ERR_OK || (code == ERR_MEMORY && out.len == 0));
        buf_fini(&out);
    } while (code != ERR_OK);
    assert_true(n > 12);
    batch_unref(&b);
}

static void room_ends(const struct otlp_emission *how)
{
    struct batch *b = random_batch(8, NULL);
    struct buf out = emitted(b, how, NULL);
    size_t needed = out.len;
    struct err e = {0};
    buf_fini(&out);
    for (size_t max = 0; max <= needed; max += max < needed - 32 ? 1 + max / 16 : 1) {
        buf_init(&out, max);
        assert_int_equal(otlp_encode_as(b, how, &out, NULL, &e), max < needed ? ERR_LIMIT : ERR_OK);
        buf_fini(&out);
    }
    batch_unref(&b);
}

static void memory_and_room(void **state)
{
    (void)state;
    static const struct otlp_emission hows[] = {{.layout = OTLP_LAYOUT_1_7},
                                                {.layout = OTLP_LAYOUT_CURRENT, .string_references = true}};
    for (size_t i = 0; i < COUNT_OF(hows); i++) {
        memory_fails(&hows[i]);
        room_ends(&hows[i]);
    }
}

// A part of a batch has few of the stacks and strings.
static void parts_of_a_batch(void **state)
{
    (void)state;
    static const struct otlp_emission hows[] = {{.layout = OTLP_LAYOUT_1_7},
                                                {.layout = OTLP_LAYOUT_CURRENT, .string_references = true}};
    const struct random_batch_options o = options_for(OTLP_LAYOUT_1_7);
    for (uint64_t seed = 100; seed < 130; seed++) {
        struct batch *b = random_batch(seed, &o);
        struct resource *first = resource_ref(b->resources[0]);
        struct batch *part = batch_create(dictionary_ref(b->dictionary), &first, 1);
        for (size_t i = 0; i < COUNT_OF(hows); i++) {
            struct otlp_emission_report report;
            struct buf out = emitted(part, &hows[i], &report);
            struct batch *back = batch_of(buf_bytes(&out), hows[i].layout);
            if (report.lost == 0)
                assert_same_text("a part", seed, part, back);
            batch_unref(&back);
            buf_fini(&out);
        }
        batch_unref(&part);
        batch_unref(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_batches),   cmocka_unit_test(old_numbers),      cmocka_unit_test(old_samples_and_units),
        cmocka_unit_test(units_of_one_key), cmocka_unit_test(other_spellings),  cmocka_unit_test(requests_as_they_came),
        cmocka_unit_test(memory_and_room),  cmocka_unit_test(parts_of_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
