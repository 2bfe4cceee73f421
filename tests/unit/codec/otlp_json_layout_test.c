// SPDX-License-Identifier: Apache-2.0
// Requests in JSON tell their layout by their names, and become what the same request is today.
#include "codec/otlp_json.h"

#include "base/mem.h"
#include "codec/otlp_decode_layout.h"
#include "profile/validate.h"
#include "tests/support/batch_text.h"
#include "tests/support/test_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct decode_options no_options;

// A request around one profile, and around the tables.
#define PROFILES(text) "\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[" text "]}]}]"
#define PROFILE(text) "{" PROFILES("{" text "}") "}"
#define REQUEST(profile, tables) "{" PROFILES("{" profile "}") ",\"dictionary\":{" tables "}}"
#define REQUEST_TABLES_FIRST(profile, tables) "{\"dictionary\":{" tables "}," PROFILES("{" profile "}") "}"

static enum err_code decode(struct bytes json, const struct decode_options *options, struct batch **out,
                            struct decode_report *report, struct err *e)
{
    uint8_t *copy = mem_alloc(json.len + 1); // a read past the end is seen
    memcpy(copy + 1, json.data, json.len);
    *report = (struct decode_report){0};
    enum err_code code = otlp_json_decode((struct bytes){copy + 1, json.len}, options, out, report, e);
    free(copy);
    if (code == ERR_OK && batch_validate(*out, e) != ERR_OK)
        fail_msg("%s", e->text);
    assert_true((code == ERR_OK) == (*out != NULL));
    return code;
}

// free() it.
static char *text_of_batch(struct batch *b)
{
    struct buf text;
    buf_init(&text, SIZE_MAX / 2);
    batch_text(b, &text);
    buf_add_byte(&text, 0);
    assert_true(buf_ok(&text));
    batch_unref(&b);
    return (char *)text.data;
}

static char *text_of_json(struct bytes json, struct decode_report *report)
{
    struct batch *b;
    struct err e = {0};
    if (decode(json, &no_options, &b, report, &e) != ERR_OK)
        fail_msg("%.*s: %s", BYTES_PRINT(json), e.text);
    return text_of_batch(b);
}

static void assert_same(const char *what, char *old, char *now)
{
    if (strcmp(old, now) != 0)
        fail_msg("%s:\n%s\ninstead of\n%s", what, old, now);
    free(old);
    free(now);
}

// evidence: the finding's sentence.
static void check(const char *json, enum otlp_layout layout, const char *evidence, const char *now)
{
    struct decode_report report, report_now;
    char *text = text_of_json(bytes_from_text(json), &report);
    char *text_now = text_of_json(bytes_from_text(now), &report_now);
    assert_string_equal(otlp_layout_names[report.layout.layout], otlp_layout_names[layout]);
    assert_string_equal(report.layout.evidence, evidence);
    assert_int_equal(report_now.layout.layout, OTLP_LAYOUT_CURRENT);
    assert_same(json, text, text_now);
}

// --- one request in each layout ---

#define KEYS_NOW "\"\",\"a\",\"b\",\"c\",\"u\",\"d\""
#define FLAGS_NOW                                                                                                      \
    "\"pprof.mapping.has_functions\",\"pprof.mapping.has_line_numbers\",\"pprof.location.is_folded\","                 \
    "\"pprof.profile.comment\",\"profile.aggregation_temporality\""
#define LINK "{\"traceId\":\"101112131415161718191a1b1c1d1e1f\",\"spanId\":\"a0a1a2a3a4a5a6a7\"}"

#define REST_NOW                                                                                                       \
    "\"timeUnixNano\":\"5\",\"durationNano\":\"6\",\"periodType\":{\"typeStrindex\":3},\"period\":\"7\","              \
    "\"profileId\":"                                                                                                   \
    "\"0102030405060708090a0b0c0d0e0f10\",\"droppedAttributesCount\":2,\"originalPayloadFormat\":\"pprof\","           \
    "\"originalPayload\":\"/+8=\""
#define PROFILE_NOW                                                                                                    \
    "\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2},\"samples\":[{\"stackIndex\":1,\"attributeIndices\":[1],"  \
    "\"linkIndex\":1,\"values\":[\"-7\"],\"timestampsUnixNano\":[\"18446744073709551615\"]},{\"stackIndex\":2,"        \
    "\"values\":[\"9\"]}]," REST_NOW
#define TABLES_NOW(mapping, location, attributes, strings)                                                             \
    "\"mappingTable\":[{},{\"memoryStart\":\"1\",\"memoryLimit\":\"2\",\"fileOffset\":\"3\",\"filenameStrindex\":3,"   \
    "\"attributeIndices\":[" mapping "]}],\"locationTable\":[{},{\"mappingIndex\":1,\"address\":\"9\",\"lines\":["     \
    "{\"functionIndex\":1,\"line\":\"10\",\"column\":\"20\"}],\"attributeIndices\":[" location "]},{\"address\":\"8\"" \
    "}],\"functionTable\":[{},{\"nameStrindex\":1,\"systemNameStrindex\":2,\"filenameStrindex\":3,\"startLine\":\"9\"" \
    "}],\"linkTable\":[{}," LINK "],\"stringTable\":[" KEYS_NOW strings "],\"attributeTable\":[{},{\"keyStrindex\":2," \
    "\"value\":{\"intValue\":\"1\"},\"unitStrindex\":4}" attributes "],\"stackTable\":[{},{\"locationIndices\":[1]},"  \
    "{\"locationIndices\":[2,1]}]"

static void test_1_8(void **state)
{
    (void)state;
#define SAMPLES_1_8                                                                                                    \
    "\"sample\":[{\"stackIndex\":1,\"values\":[\"-7\"],\"attributeIndices\":[1],\"linkIndex\":1,"                      \
    "\"timestampsUnixNano\":[\"18446744073709551615\"]},{\"stackIndex\":2,\"values\":[\"9\"]}],"
#define TABLES_1_8                                                                                                     \
    "\"mappingTable\":[{},{\"memoryStart\":\"1\",\"memoryLimit\":\"2\",\"fileOffset\":\"3\",\"filenameStrindex\":3,"   \
    "\"attributeIndices\":[1]}],\"locationTable\":[{},{\"mappingIndex\":1,\"address\":\"9\",\"line\":["                \
    "{\"functionIndex\":1,\"line\":\"10\",\"column\":\"20\"}],\"attributeIndices\":[1]},{\"address\":\"8\"}],"         \
    "\"functionTable\":[{},{\"nameStrindex\":1,\"systemNameStrindex\":2,\"filenameStrindex\":3,\"startLine\":\"9\"}]," \
    "\"linkTable\":[{}," LINK "],\"stringTable\":[" KEYS_NOW "],\"attributeTable\":[{},{\"keyStrindex\":2,"            \
    "\"value\":{\"intValue\":\"1\"},\"unitStrindex\":4}],\"stackTable\":[{},{\"locationIndices\":[1]},"                \
    "{\"locationIndices\":[2,1]}]"
    static const char now[] = REQUEST(PROFILE_NOW ",\"attributeIndices\":[1]", TABLES_NOW("1", "1", "", ""));
    check(REQUEST("\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2}," SAMPLES_1_8 REST_NOW
                  ",\"attributeIndices\":[1]",
                  TABLES_1_8),
          OTLP_LAYOUT_1_8,
          "resourceProfiles[0].scopeProfiles[0].profiles[0].sample is a name of OTLP profiles 1.4 to 1.8", now);
    check(REQUEST_TABLES_FIRST("\"attributeIndices\":[1]," REST_NOW "," SAMPLES_1_8
                               "\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2}",
                               TABLES_1_8),
          OTLP_LAYOUT_1_8, "dictionary.locationTable[1].line is a name of OTLP profiles 1.4 to 1.8", now);
    check(REQUEST("\"sample\":[],\"commentStrindices\":[1]", "\"stringTable\":[\"\",\"a\"]"), OTLP_LAYOUT_1_8,
          "resourceProfiles[0].scopeProfiles[0].profiles[0].sample is a name of OTLP profiles 1.4 to 1.8",
          REQUEST("\"attributeIndices\":[1]",
                  "\"stringTable\":[\"\",\"a\",\"pprof.profile.comment\"],\"attributeTable\":[{},{\"keyStrindex\":2,"
                  "\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"a\"}]}}}]"));
}

// Entry 0 of each table is one; what is no field any more is an attribute.
#define OLD_KEYS "\"\",\"a\",\"b\",\"c\",\"u\""
#define OLD_MAPPING                                                                                                    \
    "{\"memoryStart\":\"1\",\"memoryLimit\":\"2\",\"fileOffset\":\"3\",\"filenameStrindex\":3,\"attributeIndices\":"   \
    "[0],\"hasFunctions\":true,\"hasFilenames\":false,\"hasLineNumbers\":true}"
#define OLD_TABLES                                                                                                     \
    "\"mappingTable\":[" OLD_MAPPING "],\"locationTable\":[{\"mappingIndex\":0,\"address\":\"9\",\"line\":["           \
    "{\"functionIndex\":0,\"line\":\"10\",\"column\":\"20\"}],\"isFolded\":true,\"attributeIndices\":[0]},"            \
    "{\"address\":\"8\"}],\"functionTable\":[{\"nameStrindex\":1,\"systemNameStrindex\":2,\"filenameStrindex\":3,"     \
    "\"startLine\":\"9\"}],\"linkTable\":[" LINK "],\"stringTable\":[" OLD_KEYS "],\"attributeTable\":[{\"key\":"      \
    "\"b\",\"value\":{\"intValue\":\"1\"}}],\"attributeUnits\":[{\"attributeKeyStrindex\":2,\"unitStrindex\":4}]"
#define OLD_PROFILE                                                                                                    \
    "\"sampleType\":[{\"typeStrindex\":3,\"aggregationTemporality\":2},{\"typeStrindex\":1,\"unitStrindex\":2}],"      \
    "\"sample\":[{\"locationsStartIndex\":1,\"locationsLength\":1,\"value\":[1,\"-7\"],\"attributeIndices\":[0],"      \
    "\"linkIndex\":0,\"timestampsUnixNano\":[\"18446744073709551615\"]},{\"locationsLength\":2,\"value\":[0,9]}],"     \
    "\"locationIndices\":[1,0],\"timeNanos\":\"5\",\"durationNanos\":\"6\",\"periodType\":{\"typeStrindex\":3},"       \
    "\"period\":\"7\",\"profileId\":\"AQIDBAUGBwgJCgsMDQ4PEA==\",\"droppedAttributesCount\":2,"                        \
    "\"originalPayloadFormat\":\"pprof\",\"originalPayload\":\"/+8=\",\"attributeIndices\":[0]"
#define SECOND_NOW                                                                                                     \
    "},{\"sampleType\":{\"typeStrindex\":3},\"samples\":[{\"stackIndex\":1,\"attributeIndices\":[1],\"linkIndex\":1,"  \
    "\"values\":[1],\"timestampsUnixNano\":[\"18446744073709551615\"]},{\"stackIndex\":2,\"values\":[0]}],"            \
    "\"timeUnixNano\":\"5\",\"durationNano\":\"6\",\"periodType\":{\"typeStrindex\":3},\"period\":\"7\","              \
    "\"droppedAttributesCount\":2"
#define ATTRIBUTES_NOW                                                                                                 \
    ",{\"keyStrindex\":6,\"value\":{\"boolValue\":true}},{\"keyStrindex\":7,\"value\":{\"boolValue\":true}},"          \
    "{\"keyStrindex\":8,\"value\":{\"boolValue\":true}},{\"keyStrindex\":9,\"value\":{\"arrayValue\":{\"values\":["    \
    "{\"stringValue\":\"c\"},{\"stringValue\":\"a\"}]}}},{\"keyStrindex\":10,\"value\":{\"stringValue\":"              \
    "\"cumulative\"}}"
#define OLD_NOW(mine, more)                                                                                            \
    REQUEST(PROFILE_NOW ",\"attributeIndices\":[" mine "]" SECOND_NOW ",\"attributeIndices\":[" mine "]",              \
            TABLES_NOW("1,2,3", "1,4", ATTRIBUTES_NOW more, "," FLAGS_NOW))

static const char old_1_7[] =
    REQUEST(OLD_PROFILE ",\"commentStrindices\":[3,1],\"defaultSampleTypeIndex\":1", OLD_TABLES);
static const char old_1_5[] = PROFILE(OLD_PROFILE ",\"comment\":[3,1],\"defaultSampleTypeStrindex\":1," OLD_TABLES);

static void test_1_7(void **state)
{
    (void)state;
    static const char now[] = OLD_NOW("1,5,6", "");
    check(old_1_7, OTLP_LAYOUT_1_7,
          "resourceProfiles[0].scopeProfiles[0].profiles[0].sampleType as a list is a name of OTLP profiles 1.4 to 1.7",
          now);
    check(REQUEST_TABLES_FIRST(OLD_PROFILE ",\"comment_strindices\":[3,1],\"default_sample_type_index\":1", OLD_TABLES),
          OTLP_LAYOUT_1_7, "dictionary.mappingTable[0].hasFunctions is a name of OTLP profiles 1.4 to 1.7", now);
}

static void test_1_5(void **state)
{
    (void)state;
    static const char evidence[] =
        "resourceProfiles[0].scopeProfiles[0].profiles[0].defaultSampleTypeStrindex is a name of OTLP profiles 1.4 to "
        "1.5";
    check(old_1_5, OTLP_LAYOUT_1_5, evidence, OLD_NOW("1,5,6", ""));
    check(PROFILE(
              "\"defaultSampleTypeStrindex\":1," OLD_TABLES
              ",\"commentStrindices\":[3,1],\"attributes\":[{\"key\":\"d\",\"value\":{\"intValue\":4}}]," OLD_PROFILE),
          OTLP_LAYOUT_1_5, evidence, OLD_NOW("7,1,5,6", ",{\"keyStrindex\":5,\"value\":{\"intValue\":4}}"));
}

static void test_current(void **state)
{
    (void)state;
    static const char now[] = REQUEST(PROFILE_NOW, TABLES_NOW("1", "1", "", ""));
    check(now, OTLP_LAYOUT_CURRENT,
          "resourceProfiles[0].scopeProfiles[0].profiles[0].samples is a name of OTLP profiles 1.9 and later", now);
    check("{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"keyStrindex\":0,\"key\":\"k\"}]}}]}",
          OTLP_LAYOUT_CURRENT,
          "resourceProfiles[0].resource.attributes[0].keyStrindex is a name of OTLP profiles 1.10 and later",
          "{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"k\"}]}}]}");
    check(PROFILE("\"period\":1,\"sample\":null,\"stringTable\":null,\"nobody\":{\"sample\":[]}"), OTLP_LAYOUT_CURRENT,
          "no name that only some layouts have", PROFILE("\"period\":1"));
}

// --- details ---

static void test_temporality(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool cumulative;
    } cases[] = {
        {"0", false},
        {"\"1\"", false},
        {"\"2\"", true},
        {"\"AGGREGATION_TEMPORALITY_UNSPECIFIED\"", false},
        {"\"AGGREGATION_TEMPORALITY_DELTA\"", false},
        {"\"AGGREGATION_TEMPORALITY_CUMULATIVE\"", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char json[512];
        struct decode_report report;
        snprintf(json, sizeof json, PROFILE("\"sample\":[],\"sampleType\":{\"aggregationTemporality\":%s}"),
                 cases[i].value);
        char *text = text_of_json(bytes_from_text(json), &report);
        assert_int_equal(report.layout.layout, OTLP_LAYOUT_1_8);
        assert_int_equal(strstr(text, "cumulative") != NULL, cases[i].cumulative);
        free(text);
    }
}

static void test_each_line_has_its_own_layout(void **state)
{
    (void)state;
    char lines[2 * sizeof old_1_7 + sizeof old_1_5];
    struct decode_report report;
    snprintf(lines, sizeof lines, "%s\n%s\n%s", old_1_5, PROFILE("\"samples\":[{\"values\":[1]}]"), old_1_7);
    struct batch *b;
    struct err e = {0};
    assert_int_equal(decode(bytes_from_text(lines), &no_options, &b, &report, &e), ERR_OK);
    assert_int_equal(b->profile_count, 5);
    assert_int_equal(report.layout.layout, OTLP_LAYOUT_1_7);
    batch_unref(&b);
}

static void test_what_is_read_twice_is_counted_once(void **state)
{
    (void)state;
    struct decode_report report;
    free(text_of_json(BYTES_LITERAL(PROFILE("\"originalPayloadFormat\":\"\\ud800\",\"sample\":[],"
                                            "\"timeNanos\":1,\"stringTable\":[]")),
                      &report));
    assert_int_equal(report.layout.layout, OTLP_LAYOUT_1_5);
    assert_int_equal(report.repaired_utf8, 1);
}

static void check_refused(const char *json, const struct decode_options *options, enum err_code code, const char *text)
{
    struct batch *b;
    struct decode_report report;
    struct err e = {0};
    assert_int_equal(decode(bytes_from_text(json), options, &b, &report, &e), code);
    if (strstr(e.text, text) == NULL)
        fail_msg("%s\nis not in\n%s", text, e.text);
}

static void test_mixed_layouts(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {PROFILE("\"samples\":[],\"timeNanos\":1"),
         "resourceProfiles[0].scopeProfiles[0].profiles[0].timeNanos: this name is of OTLP profiles 1.4 to 1.7, but "
         "the "
         "request has resourceProfiles[0].scopeProfiles[0].profiles[0].samples, which is of 1.9 and later: it mixes "
         "two "
         "layouts (line 1, "},
        {PROFILE("\"timeNanos\":1,\"samples\":[]"),
         "profiles[0].samples: this name is of OTLP profiles 1.9 and later, but the request has "
         "resourceProfiles[0].scopeProfiles[0].profiles[0].timeNanos, which is of 1.4 to 1.7"},
        {PROFILE("\"sample\":[{\"value\":[1]},{\"values\":[1]}]"),
         "sample[1].values: this name is of OTLP profiles 1.8 and later, but the request has "},
        {PROFILE("\"sampleType\":[]},{\"sampleType\":{}"),
         "profiles[1].sampleType: this name as an object is of OTLP profiles 1.8 and later, but the request has "
         "resourceProfiles[0].scopeProfiles[0].profiles[0].sampleType as a list, which is of 1.4 to 1.7"},
        {REQUEST("\"stringTable\":[]", "\"stringTable\":[]"),
         "dictionary: this name is of OTLP profiles 1.7 and later, but the request has "},
        {REQUEST("\"defaultSampleTypeStrindex\":1,\"defaultSampleTypeIndex\":1", ""),
         "defaultSampleTypeIndex: this name is of OTLP profiles 1.7, but the request has"},
        {REQUEST("\"sample\":[]", "\"locationTable\":[{\"lines\":[]}]"), "locationTable[0].lines: this name is of"},
        {REQUEST("", "\"attributeUnits\":[],\"stackTable\":[]"),
         "dictionary.stackTable: this name is of OTLP profiles 1.8 and later, but the request has "
         "dictionary.attributeUnits, which is of 1.7"},
        {REQUEST("", "\"attributeTable\":[{\"key\":\"a\"},{\"keyStrindex\":1}]"),
         "attributeTable[1].keyStrindex: this"},
        {REQUEST("\"sample\":[]",
                 "\"attributeTable\":[{\"value\":{\"arrayValue\":{\"values\":[{\"stringValueStrindex\":"
                 "1}]}}}]"),
         "stringValueStrindex: this name is of OTLP profiles 1.10 and later"},
        {PROFILE("\"period\":1") "\n" PROFILE("\"samples\":[],\"sample\":[]"),
         "profiles[0].sample: this name is of OTLP profiles 1.4 to 1.8"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_refused(cases[i][0], &no_options, ERR_INVALID, cases[i][1]);
}

static void test_layouts_that_are_not_read(void **state)
{
    (void)state;
    check_refused(PROFILE("\"profileId\":\"\",\"profile\":{}"), &no_options, ERR_UNSUPPORTED,
                  "profiles[0].profile: this name is of OTLP profiles 1.3, which are not read: upgrade the sender");
    check_refused("{\"resourceProfiles\":[],\"string_table\":[]}", &no_options, ERR_UNSUPPORTED,
                  "stringTable: this name is of OTLP profiles 1.6");
}

static void test_errors_in_older_layouts(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {PROFILE("\"sample\":[{\"value\":[1,\"abc\"]}]"), "profiles[0].sample[0].value[1]: \"abc\" is not a 64-bit"},
        {PROFILE("\"sample\":[{\"timestampsUnixNano\":7}]"),
         "timestampsUnixNano: an array should be here, found a number"},
        {PROFILE("\"sampleType\":\"cpu\""), "sampleType: an object should be here, found a string"},
        {PROFILE("\"sample\":{}"), "profiles[0].sample: an array should be here, found an object"},
        {PROFILE("\"sampleType\":{\"aggregationTemporality\":\"DELTA\"}"),
         "aggregationTemporality: \"DELTA\" is not an aggregation temporality"},
        {PROFILE("\"sampleType\":{\"aggregationTemporality\":2147483648}"), "is not an aggregation temporality"},
        // what only the decoder of protobuf sees
        {PROFILE("\"sample\":[{\"value\":[1],\"locationsLength\":1}]"), "locations_length 1 go past the end"},
        {PROFILE("\"sample\":[{\"stackIndex\":1,\"values\":[1]}]"), "stack_index 1 is not below 1"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_refused(cases[i][0], &no_options, ERR_INVALID, cases[i][1]);
}

static void test_layouts_may_be_refused(void **state)
{
    (void)state;
    const struct otlp_layout_rules rules = {.refused = {[OTLP_LAYOUT_1_7] = true, [OTLP_LAYOUT_CURRENT] = true}};
    const struct decode_options options = {.layouts = &rules};
    struct batch *b;
    struct decode_report report;
    struct err e = {0};
    check_refused(old_1_7, &options, ERR_INVALID, "sampleType as a list is a name of OTLP profiles 1.4 to 1.7");
    check_refused(old_1_7, &options, ERR_INVALID, "not taken here; upgrade the sender, or see the key layouts");
    check_refused(PROFILE("\"samples\":[]"), &options, ERR_INVALID, "not taken here; see the key layouts");
    assert_int_equal(decode(bytes_from_text(old_1_5), &options, &b, &report, &e), ERR_OK);
    batch_unref(&b);
}

static void test_every_cut_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {old_1_5, old_1_7};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        for (size_t len = 1; len < strlen(texts[i]); len++) {
            struct batch *b;
            struct decode_report report;
            struct err e = {0};
            struct bytes cut = {(const uint8_t *)texts[i], len};
            assert_int_equal(decode(cut, &no_options, &b, &report, &e), ERR_INVALID);
            assert_true(e.text[0] != 0);
        }
    }
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    size_t failures = 0;
    for (enum err_code code = ERR_MEMORY; code != ERR_OK; failures++) {
        struct batch *b;
        struct decode_report report = {0};
        mem_fail_from(failures + 1);
        code = otlp_json_decode(BYTES_LITERAL(old_1_5), &no_options, &b, &report, NULL);
        mem_fail_from(0);
        assert_true(code == ERR_OK || code == ERR_MEMORY);
        batch_unref(&b);
    }
    assert_true(failures > 20);
}

// --- the corpus ---

// The layout in a name like common-1.9-goproto.json.
static enum otlp_layout layout_of_name(const char *path)
{
    char text[16];
    enum otlp_layout layout;
    const char *from = strchr(strrchr(path, '/'), '-') + 1;
    size_t len = strcspn(from, "-j"); // .json
    snprintf(text, sizeof text, "%.*s", (int)(len - (from[len] == 'j')), from);
    if (!otlp_layout_from_name(text, &layout))
        fail_msg("%s has no layout in its name", path);
    return layout;
}

static char *text_of_proto(const char *json_path, enum otlp_layout layout)
{
    char path[4096];
    struct batch *b;
    struct err e = {0};
    snprintf(path, sizeof path, "%.*s.pb", (int)(strlen(json_path) - strlen(".json")), json_path);
    struct bytes proto = test_read_file(path);
    if (otlp_decode_layout(proto, layout, NULL, &b, NULL, &e) != ERR_OK)
        fail_msg("%s: %s", path, e.text);
    char *text = text_of_batch(b);
    free((void *)(uintptr_t)proto.data);
    return text;
}

// The official code of each release has written them as JSON and as protobuf.
static void check_official(void *arg, const char *path, struct bytes content)
{
    size_t *checked = arg;
    struct decode_report report;
    if (strstr(path, ".json") == NULL || strstr(path, ".content.") != NULL)
        return;
    enum otlp_layout layout = layout_of_name(path);
    assert_true(otlp_json_recognise(content));
    assert_same(path, text_of_json(content, &report), text_of_proto(path, layout));
    assert_int_equal(report.layout.layout, layout == OTLP_LAYOUT_1_9 ? OTLP_LAYOUT_CURRENT : layout);
    ++*checked;
}

static void test_official_files(void **state)
{
    (void)state;
    size_t checked = 0;
    if (test_corpus_dir() == NULL)
        skip();
    test_each_corpus_file("otlp/official", check_official, &checked);
    assert_int_equal(checked, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1_8),
        cmocka_unit_test(test_1_7),
        cmocka_unit_test(test_1_5),
        cmocka_unit_test(test_current),
        cmocka_unit_test(test_temporality),
        cmocka_unit_test(test_each_line_has_its_own_layout),
        cmocka_unit_test(test_what_is_read_twice_is_counted_once),
        cmocka_unit_test(test_mixed_layouts),
        cmocka_unit_test(test_layouts_that_are_not_read),
        cmocka_unit_test(test_errors_in_older_layouts),
        cmocka_unit_test(test_layouts_may_be_refused),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_official_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
