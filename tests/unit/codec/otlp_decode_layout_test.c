// SPDX-License-Identifier: Apache-2.0
// Requests of older layouts become what the same request is today.
#include "wire_text.h"

#include "base/mem.h"
#include "codec/otlp_decode_layout.h"
#include "codec/wire.h"
#include "profile/validate.h"
#include "tests/support/batch_text.h"
#include "tests/support/test_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { REQUEST_MAX = 1 << 20 };

static enum err_code decode(struct bytes request, enum otlp_layout layout, const struct otlp_limits *limits,
                            struct batch **out, struct err *e)
{
    uint8_t *copy = mem_alloc(request.len + 1); // a read past the end is seen
    if (request.len != 0)
        memcpy(copy + 1, request.data, request.len);
    enum err_code code = otlp_decode_layout((struct bytes){copy + 1, request.len}, layout, limits, out, NULL, e);
    free(copy);
    if (code == ERR_OK && batch_validate(*out, e) != ERR_OK)
        fail_msg("%s", e->text);
    assert_true((code == ERR_OK) == (*out != NULL));
    return code;
}

// free() it.
static char *text_of(struct bytes request, enum otlp_layout layout)
{
    struct batch *b;
    struct err e = {0};
    struct buf text;
    if (decode(request, layout, NULL, &b, &e) != ERR_OK)
        fail_msg("%s: %s", otlp_layout_names[layout], e.text);
    buf_init(&text, SIZE_MAX / 2);
    batch_text(b, &text);
    buf_add_byte(&text, 0);
    assert_true(buf_ok(&text));
    batch_unref(&b);
    return (char *)text.data;
}

static char *text_of_text(const char *request, enum otlp_layout layout)
{
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    wire_text(&in, request);
    char *text = text_of(buf_bytes(&in), layout);
    buf_fini(&in);
    return text;
}

static void assert_same(const char *what, char *old, char *now)
{
    if (strcmp(old, now) != 0)
        fail_msg("%s:\n%s\ninstead of\n%s", what, old, now);
    free(old);
    free(now);
}

static void check_same(const char *old, enum otlp_layout layout, const char *now)
{
    assert_same(otlp_layout_names[layout], text_of_text(old, layout), text_of_text(now, OTLP_LAYOUT_CURRENT));
}

// --- since 1.8 ---

#define TABLES                                                                                                         \
    "1{} 1{1:1 2:2 4:1 5[1]} 2{} 2{1:1 2:7 3{1:1 2:3} 4[2]} 3{} 3{1:2} 4{} 4{1'0123456789abcdef' 2'01234567'} "        \
    "5'' 5'a' 5'b' 5'c' 5'd' 6{2{}} 6{1:1 2{1'x'} 3:2} 6{1:2 2{3:5}} 7{} 7{1[1,1]} "
#define AROUND "1{1{1{1'service.name' 2{1'shop'}}} 2{1{1'scope'} 2{"

static const char *const profile_now =
    "2{" TABLES "} " AROUND "1{1:1 2:2} 2{1:1 2[1,2] 3:1 4[7,8] 5<20,21>} 2{1:1 2:2 4:9} 2{5=22} 3=5 4:6 5{1:3} 6:100 "
    "7'0123456789abcdef' 8:4 9'pprof' 10'PAY' 11[1]}}}";

static void test_1_8_and_1_9_have_other_numbers(void **state)
{
    (void)state;
    check_same("2{" TABLES "} " AROUND
               "1{1:1 2:2} 2{1:1 3[1,2] 4:1 2[7,8] 5<20,21>} 2{1:1 3:2 2:9} 2{5=22} 3=5 4:6 5{1:3} 6:100 "
               "7'0123456789abcdef' 8:4 9'pprof' 10'PAY' 11[1]}}}",
               OTLP_LAYOUT_1_9, profile_now);
    check_same("2{" TABLES "} " AROUND
               "1{1:1 2:2} 2{1:1 3[1,2] 4:1 2[7,8] 5<20,21>} 2{1:1 3:2 2:9} 2{5=22} 3=5 4:6 5{1:3} 6:100 "
               "8'0123456789abcdef' 9:4 10'pprof' 11'PAY' 12[1]}}}",
               OTLP_LAYOUT_1_8, profile_now);
}

// What one profile says is not said of the next.
static void test_temporality_of_one_profile(void **state)
{
    (void)state;
    check_same("2{1{} 2{} 3{} 4{} 5'' 6{} 7{}} " AROUND "1{3:2} 2{2:1}} 2{1{3:1} 2{2:1} 5{3:2}}}}", OTLP_LAYOUT_1_8,
               "2{1{} 2{} 3{} 4{} 5'' 5'profile.aggregation_temporality' 6{} 6{1:1 2{1'cumulative'}} 7{}} " AROUND
               "1{} 2{4:1} 11[1]} 2{1{} 2{4:1}}}}");
}

static const char *const attributes_now =
    "2{1{} 2{} 3{} 4{} 5'' 5'pprof.profile.comment' 5'profile.aggregation_temporality' 5'c' 5'd' 6{} "
    "6{1:1 2{5{1{1'd'} 1{1'c'} 1{1'd'}}}} 6{1:2 2{1'cumulative'}} 7{}} " AROUND "1{1:3} 2{4:1} 11[1,2]}}}";

static void test_1_8_comments_and_temporality(void **state)
{
    (void)state;
    check_same("2{1{} 2{} 3{} 4{} 5'' 5'a' 5'b' 5'c' 5'd' 6{} 7{}} " AROUND "1{1:3 3:2} 2{2:1} 7[4,3] 7:4}}}",
               OTLP_LAYOUT_1_8, attributes_now);
    check_same("2{5'' 5'a' 5'b' 5'c' 5'd'} " AROUND "1{1:3 3:2} 2{3:1} 8[4,3] 8:4}}}", OTLP_LAYOUT_1_7, attributes_now);
    check_same(AROUND "1{1:3 3:2} 2{3:1} 10'' 10'a' 10'b' 10'c' 10'd' 15[4,3] 15:4}}}", OTLP_LAYOUT_1_5,
               attributes_now);
}

// --- up to 1.7 ---

// Entry 0 of each table is one, and the list of locations stands behind the samples.
#define OLD_LOCATION "{1:0 2:7 3{2:3} 3{1:1} 4:1 5[1]}"
#define OLD_MAPPING "{1:1 2:2 4:1 5[0] 6:1 8:1 9:0}"
static const char *const two_types_now =
    "2{1{} 1{1:1 2:2 4:1 5[1,3,4]} 2{} 2{1:1 2:7 3{1:1 2:3} 3{1:2} 4[2,5]} 2{2:8} 3{} 3{1:2} 3{1:3} "
    "4{} 4{1'0123456789abcdef' 2'01234567'} "
    "5'' 5'a' 5'b' 5'c' 5'pprof.mapping.has_functions' 5'pprof.mapping.has_line_numbers' 5'pprof.location.is_folded' "
    "6{} 6{1:1 2{1'x'} 3:3} 6{1:2 2{3:5}} 6{1:4 2{2:1}} 6{1:5 2{2:1}} 6{1:6 2{2:1}} 7{} 7{1[1,2]} 7{1:2}} " AROUND
    "1{1:2 2:3} 2{1:1 2[1,2] 3:1 4:-8 5=20} 2{1:2 4:0} 3=5 4:6 5{1:3} 6:100 "
    "7'0123456789abcdef' 8:4 9'pprof' 10'PAY' 11[1]} 2{"
    "1{1:1 2:2} 2{1:1 2[1,2] 3:1 4:7 5=20} 2{1:2 4:9} 3=5 4:6 5{1:3} 6:100 8:4 11[1]}}}";

#define OLD_SAMPLES "2{1:0 2:2 3[7,-8] 4[0,1] 5:0 6:20} 2{1:1 2:1 3:9 3:0} "
static const char *const two_types_1_7 =
    "2{1" OLD_MAPPING " 2" OLD_LOCATION " 2{2:8} 3{1:2} 3{1:3} 4{1'0123456789abcdef' 2'01234567'} 5'' 5'a' 5'b' 5'c' "
    "6{1'a' 2{1'x'}} 6{1'b' 2{3:5}} 7{1:1 2:2} 7{1:1 2:3}} " AROUND "1{1:1 2:2} 1{1:2 2:3} " OLD_SAMPLES
    "3[0,1] 4:5 5:6 6{1:3} 7:100 9:1 10'0123456789abcdef' 11:4 12'pprof' 13'PAY' 14[0]}}}";

#define OLD_TABLES                                                                                                     \
    "3" OLD_MAPPING " 4" OLD_LOCATION " 4{2:8} 6{1:2} 6{1:3} 9{1'0123456789abcdef' 2'01234567'} "                      \
    "10'' 10'a' 10'b' 10'c' 7{1'a' 2{1'x'}} 7{1'b' 2{3:5}} 8{1:1 2:2} 8{1:1 2:3} "
static const char *const two_types_1_5 = AROUND "1{1:1 2:2} 1{1:2 2:3} " OLD_SAMPLES OLD_TABLES
                                                "5[0,1] 11:5 12:6 13{1:3} 14:100 16:2 17'0123456789abcdef' 19:4 "
                                                "20'pprof' 21'PAY' 22[0]}}}";
static const char *const two_types_1_4 = AROUND "1{1:1 2:2} 1{1:2 2:3} " OLD_SAMPLES OLD_TABLES
                                                "5:0 5:1 11:5 12:6 13{1:3} 14:100 16:2 17'0123456789abcdef' 19:4 "
                                                "20'pprof' 21'PAY' 18{1'a' 2{1'x'}}}}}";

static void test_two_types_become_two_profiles(void **state)
{
    (void)state;
    check_same(two_types_1_7, OTLP_LAYOUT_1_7, two_types_now);
    check_same(two_types_1_5, OTLP_LAYOUT_1_5, two_types_now);
    check_same(two_types_1_4, OTLP_LAYOUT_1_5, two_types_now);
}

static void test_types_share_columns(void **state)
{
    (void)state;
    struct buf in;
    struct batch *b;
    struct err e = {0};
    buf_init(&in, REQUEST_MAX);
    wire_text(&in, two_types_1_7);
    assert_int_equal(decode(buf_bytes(&in), OTLP_LAYOUT_1_7, NULL, &b, &e), ERR_OK);
    const struct profile *p = b->resources[0]->scopes[0]->profiles;
    assert_int_equal(b->profile_count, 2);
    assert_ptr_equal(p[0].columns, p[1].columns);
    batch_unref(&b);
    buf_fini(&in);
}

#define ZEROS "2{1{} 2{} 3{} 4{} 5'' 6{} 7{}} " AROUND
static void check_values(const char *old, const char *now)
{
    char request[2][256];
    snprintf(request[0], sizeof request[0], AROUND "1{} 10'' 2{%s}}}}", old);
    snprintf(request[1], sizeof request[1], ZEROS "1{} 2{%s}}}}", now);
    check_same(request[0], OTLP_LAYOUT_1_5, request[1]);
}

// A value was the sum over its timestamps; now there is one for each.
static void test_values_are_spread_over_timestamps(void **state)
{
    (void)state;
    check_values("3:7", "4:7");
    check_values("3:7 6:1", "4:7 5<1>");
    check_values("3:7 6[1,2,3]", "4[3,2,2] 5<1,2,3>");
    check_values("3:-7 6[1,2]", "4[-4,-3] 5<1,2>");
    check_values("3:1 6[1,2,3]", "4[1,0,0] 5<1,2,3>");
    check_values("3[7,8] 6[1,2]", "4[7,8] 5<1,2>");
    check_values("6[1,2]", "5<1,2>");
    check_same(AROUND "2{3:1}}}}", OTLP_LAYOUT_1_5, ZEROS "2{4:1}}}}"); // no type at all
}

static void test_empty_requests(void **state)
{
    (void)state;
    for (int l = OTLP_LAYOUT_1_5; l < OTLP_LAYOUTS; l++) {
        check_same("", (enum otlp_layout)l, "");
        check_same("1{2{2{}}}", (enum otlp_layout)l, "1{2{2{}}}");
    }
}

// A string at 0 that is not empty is only meant where the index is written.
static void test_first_string_is_not_empty(void **state)
{
    (void)state;
    check_same("2{3{1:0} 5'samples' 5'count'} " AROUND "1{1:0 2:1} 2{3:1}}}}", OTLP_LAYOUT_1_7,
               "2{1{} 2{} 3{} 3{1:1} 4{} 5'' 5'samples' 5'count' 6{} 7{}} " AROUND "1{1:1 2:2} 2{4:1}}}}");
}

// --- what is wrong ---

struct bad_case {
    const char *request;
    enum otlp_layout layout;
    const char *text;
};

static const struct otlp_limits *small_limits(void)
{
    static const struct otlp_limits limits = {.max_profiles = 3,
                                              .max_samples = 2,
                                              .max_stack_depth = 3,
                                              .max_attributes = 3,
                                              .max_value_depth = 4,
                                              .max_batch_bytes = 1 << 16};
    return &limits;
}

static void check_bad(const struct bad_case *c, enum err_code code, const struct otlp_limits *limits)
{
    struct buf in;
    struct batch *b;
    struct err e = {0};
    buf_init(&in, REQUEST_MAX);
    wire_text(&in, c->request);
    enum err_code got = decode(buf_bytes(&in), c->layout, limits, &b, &e);
    if (got != code || strstr(e.text, c->text) == NULL)
        fail_msg("%s: %s, \"%s\" instead of \"%s\"", c->request, err_code_name(got), e.text, c->text);
    batch_unref(&b);
    buf_fini(&in);
}

#define IN_PROFILE "resource_profiles[0].scope_profiles[0].profiles[0]"
#define BAD_1_7(profile) "2{2{} 4{} 5'' 6{1'k'}} " AROUND profile "}}}", OTLP_LAYOUT_1_7
#define BAD_1_5(profile) AROUND profile "}}}", OTLP_LAYOUT_1_5

static void test_errors_name_the_place(void **state)
{
    (void)state;
    static const struct bad_case cases[] = {
        {BAD_1_7("2{3:1 1:1}"), IN_PROFILE ".sample[0]: locations_start_index 1 and locations_length 0 go past"},
        {BAD_1_7("3[0] 2{3:1 2:2}"), "locations_length 2 go past the end of 1 location_indices"},
        {BAD_1_7("3[0] 2{3:1 1:-1 2:1}"), "locations_start_index -1"},
        {BAD_1_7("3[0] 2{3:1 1:1 2:1}"), "locations_start_index 1 and locations_length 1 go past the end of 1"},
        {BAD_1_7("3[0] 2{3:1 2:-1}"), "locations_length -1"},
        {BAD_1_7("3[1]"), IN_PROFILE ": location_indices 1 is not below 1"},
        {BAD_1_7("2{3:1 4[1]}"), IN_PROFILE ".sample[0]: attribute_indices 1 is not below 1"},
        {BAD_1_7("2{3:1} 2{3:1 5:1}"), IN_PROFILE ".sample[1]: link_index 1 is not below 1"},
        {BAD_1_7("1{1:1}"), IN_PROFILE ".sample_type: type_strindex 1 is not below 1"},
        {BAD_1_7("1{} 9:1"), IN_PROFILE ": default_sample_type_index 1 is not below 1"},
        {BAD_1_7("8[1]"), IN_PROFILE ": comment_strindices 1 is not below 1"},
        {BAD_1_7("14[1]"), IN_PROFILE ": attribute_indices 1 is not below 1"},
        {BAD_1_7("10'short'"), IN_PROFILE ": profile_id has 5 bytes"},
        {BAD_1_7("2{}"), IN_PROFILE ".sample[0]: 0 values with 0 timestamps for 1 sample types"},
        {BAD_1_7("2{3[1,2]}"), "2 values with 0 timestamps for 1 sample types"},
        {BAD_1_7("2{3[1,2] 6[1,2,3]}"), "2 values with 3 timestamps for 1 sample types"},
        {BAD_1_7("1{} 1{} 2{3:1}"), "1 values with 0 timestamps for 2 sample types"},
        {BAD_1_7("2{1'x'}"), IN_PROFILE ".sample[0]: locations_start_index (field 1) has wire type length-delimited"},
        {BAD_1_7("4=5"),
         IN_PROFILE ": time_nanos (field 4) has wire type fixed64, which OTLP profiles 1.7 does not use there"},
        {"2{1{4:1}}", OTLP_LAYOUT_1_7, "dictionary.mapping_table[0]: filename_strindex 1 is not below 1"},
        {"2{2{3{1:1}}}", OTLP_LAYOUT_1_7, "dictionary.location_table[0].lines[0]: function_index 1 is not below 1"},
        {"2{2{1:1}}", OTLP_LAYOUT_1_7, "dictionary.location_table[0]: mapping_index 1 is not below 1"},
        {"2{7{1:1}}", OTLP_LAYOUT_1_7, "attribute_units[0]: attribute_key_strindex 1 is not below 1"},
        {"2{6:1}", OTLP_LAYOUT_1_7, "dictionary: attribute_table (field 6) has wire type varint"},
        {BAD_1_5("3{4:1}"), IN_PROFILE ".mapping_table[0]: filename_strindex 1 is not below 1"},
        {BAD_1_5("16:1"), IN_PROFILE ": default_sample_type_strindex 1 is not below 1"},
        {BAD_1_5("10:1"), IN_PROFILE ": string_table (field 10) has wire type varint"},
        {BAD_1_5("18:1"), "attributes (field 18) has wire type varint"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_bad(&cases[i], ERR_INVALID, NULL);
}

static void test_limits_are_named(void **state)
{
    (void)state;
    static const struct bad_case cases[] = {
        {BAD_1_7("3[0,0,0,0] 2{3:1 2:4}"), "locations_length is 4, max_stack_depth allows 3"},
        {BAD_1_7("2{3:1} 2{3:1} 2{3:1}"), ".sample[2]: more than 2 samples"},
        {BAD_1_7("1{} 1{} 1{} 1{}"), "more than 3 sample types"},
        {"1{2{2{1{} 1{}} 2{1{} 1{}}}}", OTLP_LAYOUT_1_7, "profiles[1]: more than 3 profiles"},
        {"1{2{2{} 2{} 2{} 2{}}}", OTLP_LAYOUT_1_5, "profiles[3]: more than 3 profiles"},
        {BAD_1_5("10'' 18{} 18{} 18{} 18{}"), "attributes has 4 entries, max_attributes allows 3"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_bad(&cases[i], ERR_LIMIT, small_limits());
}

// Each of a few bytes names the whole list, or a long string, again.
static void test_references_do_not_multiply(void **state)
{
    (void)state;
    enum { LOCATIONS = 4096, SAMPLES = 1024 };
    struct otlp_limits limits = otlp_default_limits;
    struct buf in, profile;
    struct batch *b;
    struct err e = {0};
    limits.max_batch_bytes = 1 << 20;
    buf_init(&in, REQUEST_MAX);
    buf_init(&profile, REQUEST_MAX);
    wire_text(&profile, "4{2:1} 1{} 10''");
    for (int i = 0; i < LOCATIONS; i++)
        wire_text(&profile, "5:0");
    for (int i = 0; i < SAMPLES; i++)
        wire_text(&profile, "2{2:4096 3:1}");
    size_t resource = wire_begin(&in, 1), scope = wire_begin(&in, 2);
    wire_put_bytes(&in, 2, buf_bytes(&profile));
    wire_end(&in, scope);
    wire_end(&in, resource);
    assert_int_equal(decode(buf_bytes(&in), OTLP_LAYOUT_1_5, &limits, &b, &e), ERR_LIMIT);
    assert_non_null(strstr(e.text, "entries, max_batch_bytes allows 1048576"));
    limits.max_batch_bytes = 0;
    assert_int_equal(decode(buf_bytes(&in), OTLP_LAYOUT_1_5, &limits, &b, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "may have 256 for each byte"));
    buf_fini(&profile);
    buf_fini(&in);
}

// The others are kept; each has its own tables.
static void add_ones(struct buf *text, const char *before, uint32_t count)
{
    buf_add_text(text, before);
    for (uint32_t i = 0; i < count; i++)
        buf_add_text(text, i == 0 ? "[1" : ",1");
    buf_add_text(text, "]");
}

// One sample of so many types, each with so many timestamps.
static enum err_code decode_types_and_times(uint32_t count, struct batch **out, struct err *e)
{
    struct buf text, in;
    buf_init(&text, REQUEST_MAX);
    buf_init(&in, REQUEST_MAX);
    buf_add_text(&text, "2{2{} 5''} 1{2{2{");
    for (uint32_t i = 0; i < count; i++)
        buf_add_text(&text, "1{} ");
    add_ones(&text, "2{3", count);
    add_ones(&text, " 6", count);
    buf_add_text(&text, "}}}}");
    buf_add_byte(&text, 0);
    assert_true(buf_ok(&text));
    wire_text(&in, (const char *)text.data);
    enum err_code code = decode(buf_bytes(&in), OTLP_LAYOUT_1_7, NULL, out, e);
    buf_fini(&in);
    buf_fini(&text);
    return code;
}

// Each type has all timestamps.
static void test_types_and_timestamps_do_not_multiply(void **state)
{
    (void)state;
    struct batch *b;
    struct err e = {0};
    assert_int_equal(decode_types_and_times(40, &b, &e), ERR_OK);
    assert_int_equal(b->profile_count, 40);
    batch_unref(&b);
    assert_int_equal(decode_types_and_times(300, &b, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "sample[0]: 300 sample types with 300 timestamps each are more than"));
}

static void test_bad_profiles_are_left_out(void **state)
{
    (void)state;
    static const char request[] = "1{2{2{10'' 10'a' 1{1:1} 2{3:1}} 2{10'' 1{1:1} 2{3:1}} 2{10'' 2{}} 2{10'' 2{3:2}}}}";
    struct buf in;
    struct batch *b;
    struct err e = {0};
    struct otlp_rejected rejected = {0};
    buf_init(&in, REQUEST_MAX);
    wire_text(&in, request);
    assert_int_equal(otlp_decode_layout(buf_bytes(&in), OTLP_LAYOUT_1_5, NULL, &b, &rejected, &e), ERR_OK);
    assert_int_equal(rejected.profiles, 2);
    assert_non_null(strstr(rejected.first.text, "profiles[1].sample_type: type_strindex 1 is not below 1"));
    assert_int_equal(b->profile_count, 2);
    assert_int_equal(b->sample_count, 2);
    batch_unref(&b);
    buf_fini(&in);
}

struct old_request {
    const char *text;
    enum otlp_layout layout;
};

#define OLD_REQUESTS                                                                                                   \
    {                                                                                                                  \
        {two_types_1_5, OTLP_LAYOUT_1_5}, {two_types_1_4, OTLP_LAYOUT_1_5},                                            \
        {                                                                                                              \
            two_types_1_7, OTLP_LAYOUT_1_7                                                                             \
        }                                                                                                              \
    }

static void test_cut_at_each_byte(void **state)
{
    (void)state;
    const struct old_request old[] = OLD_REQUESTS;
    for (size_t i = 0; i < COUNT_OF(old); i++) {
        struct buf in;
        buf_init(&in, REQUEST_MAX);
        wire_text(&in, old[i].text);
        for (size_t len = 1; len < in.len; len++) {
            struct batch *b;
            struct err e = {0};
            enum err_code code = decode((struct bytes){in.data, len}, old[i].layout, NULL, &b, &e);
            batch_unref(&b);
            assert_true(code == ERR_OK || e.text[0] != 0);
        }
        buf_fini(&in);
    }
}

static void check_failing(const struct old_request *old)
{
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    wire_text(&in, old->text);
    size_t failures = 0;
    enum err_code code = ERR_MEMORY;
    while (code == ERR_MEMORY) {
        struct batch *b;
        struct err e = {0};
        mem_fail_from(++failures);
        code = otlp_decode_layout(buf_bytes(&in), old->layout, NULL, &b, NULL, &e);
        mem_fail_from(0);
        batch_unref(&b);
    }
    assert_int_equal(code, ERR_OK);
    assert_true(failures > 20);
    buf_fini(&in);
}

static void test_failing_allocator(void **state)
{
    (void)state;
    const struct old_request old[] = OLD_REQUESTS;
    for (size_t i = 0; i < COUNT_OF(old); i++)
        check_failing(&old[i]);
}

// --- the corpus ---

static struct bytes read_corpus(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/otlp/%s", test_corpus_dir(), name);
    return test_read_file(path);
}

static char *text_of_file(const char *name, enum otlp_layout layout)
{
    struct bytes data = read_corpus(name);
    char *text = text_of(data, layout);
    free((void *)(uintptr_t)data.data);
    return text;
}

// The official code of each release has written the same requests.
static void test_official_requests(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum otlp_layout layout;
        const char *same;
    } files[] = {
        {"common-1.5.pb", OTLP_LAYOUT_1_5, "common-1.10.pb"},
        {"common-1.5-zero.pb", OTLP_LAYOUT_1_5, "common-1.10.pb"},
        {"common-1.7.pb", OTLP_LAYOUT_1_7, "common-1.10.pb"},
        {"common-1.7-zero.pb", OTLP_LAYOUT_1_7, "common-1.10.pb"},
        {"common-1.8.pb", OTLP_LAYOUT_1_8, "common-1.10.pb"},
        {"common-1.9.pb", OTLP_LAYOUT_1_9, "common-1.10.pb"},
        {"common-1.9-goproto.pb", OTLP_LAYOUT_1_9, "common-1.10.pb"},
        {"shapes-1.8.pb", OTLP_LAYOUT_1_8, "shapes-1.10.pb"},
        {"shapes-1.9.pb", OTLP_LAYOUT_1_9, "shapes-1.10.pb"},
        {"shapes-1.9-goproto.pb", OTLP_LAYOUT_1_9, "shapes-1.10.pb"},
    };
    if (test_corpus_dir() == NULL)
        skip();
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char name[2][64];
        snprintf(name[0], sizeof name[0], "official/%s", files[i].name);
        snprintf(name[1], sizeof name[1], "official/%s", files[i].same);
        assert_same(name[0], text_of_file(name[0], files[i].layout), text_of_file(name[1], OTLP_LAYOUT_CURRENT));
    }
}

// Whoever is told a wrong layout hears of it.
static void test_official_requests_in_wrong_layouts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum otlp_layout layout;
    } files[] = {
        {"official/common-1.5.pb", OTLP_LAYOUT_1_5},
        {"official/common-1.7.pb", OTLP_LAYOUT_1_7},
        {"official/common-1.8.pb", OTLP_LAYOUT_1_8},
        {"official/common-1.9.pb", OTLP_LAYOUT_1_9},
        {"official/common-1.9-goproto.pb", OTLP_LAYOUT_1_9},
        {"official/common-1.10.pb", OTLP_LAYOUT_CURRENT},
        {"official/common-1.10-goproto.pb", OTLP_LAYOUT_CURRENT},
    };
    if (test_corpus_dir() == NULL)
        skip();
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct bytes data = read_corpus(files[i].name);
        for (int l = OTLP_LAYOUT_1_5; l < OTLP_LAYOUTS; l++) {
            struct batch *b;
            struct err e = {0};
            bool good = decode(data, (enum otlp_layout)l, NULL, &b, &e) == ERR_OK;
            batch_unref(&b);
            if (good != (l == (int)files[i].layout))
                fail_msg("%s as %s: %s", files[i].name, otlp_layout_names[l], e.text);
        }
        free((void *)(uintptr_t)data.data);
    }
}

static void test_official_requests_of_several_types(void **state)
{
    (void)state;
    if (test_corpus_dir() == NULL)
        skip();
    char *first = text_of_file("official/multi-1.5.pb", OTLP_LAYOUT_1_5);
    assert_non_null(strstr(first, "pprof.profile.comment"));
    assert_true(strstr(first, "alloc_space") < strstr(first, "alloc_objects")); // the default one
    assert_same("zero", text_of_file("official/multi-1.5-zero.pb", OTLP_LAYOUT_1_5), first);
    assert_same("1.7", text_of_file("official/multi-1.7.pb", OTLP_LAYOUT_1_7),
                text_of_file("official/multi-1.7-zero.pb", OTLP_LAYOUT_1_7));
    assert_same("1.5", text_of_file("official/multi-1.7.pb", OTLP_LAYOUT_1_7),
                text_of_file("official/multi-1.5.pb", OTLP_LAYOUT_1_5));
}

struct totals {
    int64_t values;
    uint64_t timestamps;
};

static struct totals total_of(const struct batch *b)
{
    struct totals t = {0};
    for (uint32_t r = 0; r < b->resource_count; r++)
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            for (uint32_t p = 0; p < b->resources[r]->scopes[s]->profile_count; p++) {
                const struct observations *o = b->resources[r]->scopes[s]->profiles[p].observations;
                for (uint32_t i = 0; i < o->sample_count; i++) {
                    uint32_t start, count;
                    observations_values(o, i, &start, &count);
                    for (uint32_t v = start; v < start + count; v++)
                        t.values += o->values[v];
                    observations_timestamps(o, i, &start, &count);
                    t.timestamps += count;
                }
            }
    return t;
}

static void test_recorded_requests(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum otlp_layout layout;
        uint64_t profiles, samples;
        struct totals totals; // by an independent reader
    } files[] = {
        {"ebpf-layout-1.5.bin", OTLP_LAYOUT_1_5, 1, 58, {58, 73}},
        {"ebpf-layout-1.7.bin", OTLP_LAYOUT_1_7, 1, 37, {37, 38}},
        {"ebpf-layout-1.9.bin", OTLP_LAYOUT_1_9, 5, 297, {392526714728, 8158}},
        {"sig-profiling-profile.otlp", OTLP_LAYOUT_1_8, 4, 49, {0, 189}},
    };
    if (test_corpus_dir() == NULL)
        skip();
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct bytes data = read_corpus(files[i].name);
        struct batch *b;
        struct err e = {0};
        assert_int_equal(decode(data, files[i].layout, NULL, &b, &e), ERR_OK);
        struct totals t = total_of(b);
        assert_int_equal(b->profile_count, files[i].profiles);
        assert_int_equal(b->sample_count, files[i].samples);
        assert_int_equal(t.values, files[i].totals.values);
        assert_int_equal(t.timestamps, files[i].totals.timestamps);
        batch_unref(&b);
        free((void *)(uintptr_t)data.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1_8_and_1_9_have_other_numbers),
        cmocka_unit_test(test_1_8_comments_and_temporality),
        cmocka_unit_test(test_temporality_of_one_profile),
        cmocka_unit_test(test_two_types_become_two_profiles),
        cmocka_unit_test(test_types_share_columns),
        cmocka_unit_test(test_values_are_spread_over_timestamps),
        cmocka_unit_test(test_empty_requests),
        cmocka_unit_test(test_first_string_is_not_empty),
        cmocka_unit_test(test_errors_name_the_place),
        cmocka_unit_test(test_limits_are_named),
        cmocka_unit_test(test_references_do_not_multiply),
        cmocka_unit_test(test_types_and_timestamps_do_not_multiply),
        cmocka_unit_test(test_bad_profiles_are_left_out),
        cmocka_unit_test(test_cut_at_each_byte),
        cmocka_unit_test(test_failing_allocator),
        cmocka_unit_test(test_official_requests),
        cmocka_unit_test(test_official_requests_in_wrong_layouts),
        cmocka_unit_test(test_official_requests_of_several_types),
        cmocka_unit_test(test_recorded_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
