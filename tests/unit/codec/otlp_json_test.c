// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_json.h"

#include "base/mem.h"
#include "codec/formats.h"
#include "codec/otlp.h"
#include "profile/validate.h"
#include "tests/support/batch_text.h"
#include "tests/support/random_batch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_BYTES = 1 << 26 };

static const struct decode_options no_options;

// The ends of a request around one profile: PROFILE("...") is the request.
#define BEFORE "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{"
#define AFTER "}]}]}]}"
#define PROFILE(text) BEFORE text AFTER
#define RESOURCE(text) "{\"resourceProfiles\":[{\"resource\":{\"attributes\":[" text "]}}]}"
#define VALUE(text) RESOURCE("{\"key\":\"k\",\"value\":" text "}")

// Everything OTLP/JSON has, as we write it.
static const char whole[] =
    "{\"resourceProfiles\":[{\"resource\":{\"attributes\":["
    "{\"key\":\"s\",\"value\":{\"stringValue\":\"\\\"\xC3\xA9\\n\"}},"
    "{\"key\":\"b\",\"value\":{\"boolValue\":false}},"
    "{\"key\":\"i\",\"value\":{\"intValue\":\"-9223372036854775808\"}},"
    "{\"key\":\"d\",\"value\":{\"doubleValue\":1.25}},"
    "{\"key\":\"nan\",\"value\":{\"doubleValue\":\"NaN\"}},"
    "{\"key\":\"a\",\"value\":{\"arrayValue\":{\"values\":[{\"intValue\":\"0\"},{\"stringValue\":\"\"},{}]}}},"
    "{\"key\":\"m\",\"value\":{\"kvlistValue\":{\"values\":[{\"key\":\"y\",\"value\":{\"boolValue\":true}}]}}},"
    "{\"key\":\"raw\",\"value\":{\"bytesValue\":\"AP8Q\"}}],\"droppedAttributesCount\":4294967295,"
    "\"entityRefs\":[{\"schemaUrl\":\"u\",\"type\":\"service\",\"idKeys\":[\"s\",\"b\"],\"descriptionKeys\":[\"i\"]}]},"
    "\"scopeProfiles\":[{\"scope\":{\"name\":\"n\",\"version\":\"v\",\"attributes\":[{\"key\":\"x\",\"value\":{"
    "\"intValue\":"
    "\"1\"}}],\"droppedAttributesCount\":3},\"profiles\":[{\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2},"
    "\"samples\":[{\"stackIndex\":1,\"attributeIndices\":[1],\"linkIndex\":1,\"values\":[\"9223372036854775807\"],"
    "\"timestampsUnixNano\":[\"18446744073709551615\"]}],\"timeUnixNano\":\"1700000000000000001\",\"durationNano\":"
    "\"5\",\"periodType\":{\"typeStrindex\":1,\"unitStrindex\":2},\"period\":\"-7\",\"profileId\":"
    "\"0102030405060708090a0b0c0d0e0f10\",\"droppedAttributesCount\":2,\"originalPayloadFormat\":\"pprof\","
    "\"originalPayload\":\"/+8=\",\"attributeIndices\":[1]}],\"schemaUrl\":\"su\"}],\"schemaUrl\":\"ru\"}],"
    "\"dictionary\":{\"mappingTable\":[{},{\"memoryStart\":\"1\",\"memoryLimit\":\"18446744073709551615\","
    "\"fileOffset\":"
    "\"2\",\"filenameStrindex\":3,\"attributeIndices\":[1]}],\"locationTable\":[{},{\"mappingIndex\":1,\"address\":"
    "\"18446744073709551615\",\"lines\":[{\"functionIndex\":1,\"line\":\"10\",\"column\":\"20\"}],\"attributeIndices\":"
    "[1]}],\"functionTable\":[{},{\"nameStrindex\":4,\"systemNameStrindex\":5,\"filenameStrindex\":3,\"startLine\":"
    "\"9\"}],\"linkTable\":[{},{\"traceId\":\"101112131415161718191a1b1c1d1e1f\",\"spanId\":\"a0a1a2a3a4a5a6a7\"}],"
    "\"stringTable\":[\"\",\"cpu\",\"nanoseconds\",\"file\",\"name\",\"system\",\"key\",\"unit\"],\"attributeTable\":"
    "[{},{\"keyStrindex\":6,\"value\":{\"intValue\":\"1\"},\"unitStrindex\":7}],\"stackTable\":[{},{"
    "\"locationIndices\":"
    "[1]}]}}";

static struct batch *decode_ok(struct bytes json)
{
    struct batch *b;
    struct err e = {0};
    struct decode_report report = {0};
    if (otlp_json_decode(json, &no_options, &b, &report, &e) != ERR_OK || batch_validate(b, &e) != ERR_OK)
        fail_msg("%.*s: %s", BYTES_PRINT(json), e.text);
    assert_int_equal(report.samples, b->sample_count);
    return b;
}

static enum err_code decode_code(struct bytes json, const struct decode_options *options, struct err *e)
{
    struct batch *b;
    struct decode_report report = {0};
    enum err_code rc = otlp_json_decode(json, options, &b, &report, e);
    assert_int_equal(rc == ERR_OK, b != NULL);
    batch_unref(&b);
    return rc;
}

static void check_refused(const char *json, enum err_code code, const char *text)
{
    struct err e = {0};
    assert_int_equal(decode_code(bytes_from_text(json), &no_options, &e), code);
    if (strstr(e.text, text) == NULL)
        fail_msg("%s\nis not in\n%s", text, e.text);
}

static void json_of(const struct batch *b, struct buf *out)
{
    struct err e = {0};
    buf_init(out, MAX_BYTES);
    if (otlp_json_encode(b, out, &e) != ERR_OK)
        fail_msg("%s", e.text);
}

static void check_same(const struct batch *a, const struct batch *b, const char *what)
{
    struct buf ta, tb;
    buf_init(&ta, MAX_BYTES);
    buf_init(&tb, MAX_BYTES);
    batch_text(a, &ta);
    batch_text(b, &tb);
    if (!bytes_equal(buf_bytes(&ta), buf_bytes(&tb)))
        fail_msg("%s: the batches differ", what);
    buf_fini(&ta);
    buf_fini(&tb);
}

// Both texts say the same.
static void check_same_json(const char *a, const char *b)
{
    struct batch *ba = decode_ok(bytes_from_text(a)), *bb = decode_ok(bytes_from_text(b));
    check_same(ba, bb, b);
    batch_unref(&ba);
    batch_unref(&bb);
}

static void test_all_there_is_is_read_and_written(void **state)
{
    (void)state;
    struct buf out;
    struct batch *b = decode_ok(bytes_from_text(whole));
    json_of(b, &out);
    if (!bytes_equal_text(buf_bytes(&out), whole))
        fail_msg("%.*s", (int)out.len, (const char *)out.data);
    const struct profile *p = &b->resources[0]->scopes[0]->profiles[0];
    assert_int_equal(p->observations->values[0], INT64_MAX);
    assert_int_equal(p->observations->timestamps[0], UINT64_MAX);
    assert_int_equal(p->time_nanos, 1700000000000000001);
    assert_int_equal(p->profile_id[15], 16);
    assert_int_equal(p->original_payload.data[1], 0xEF);
    assert_int_equal(b->dictionary->locations[1].address, UINT64_MAX);
    assert_int_equal(b->resources[0]->attributes[2].value.integer, INT64_MIN);
    assert_true(isnan(b->resources[0]->attributes[4].value.number));
    buf_fini(&out);
    batch_unref(&b);
}

static void check_round_trip(uint64_t seed)
{
    struct batch *b = random_batch(seed, NULL), *from_proto;
    struct buf proto, json, again;
    buf_init(&proto, MAX_BYTES);
    buf_init(&again, MAX_BYTES);
    assert_int_equal(otlp_encode(b, &proto, NULL), ERR_OK);
    assert_int_equal(otlp_decode(buf_bytes(&proto), NULL, &from_proto, NULL), ERR_OK);
    json_of(b, &json);
    struct batch *from_json = decode_ok(buf_bytes(&json));
    check_same(from_proto, from_json, "round trip");
    assert_int_equal(otlp_encode(from_json, &again, NULL), ERR_OK);
    buf_clear(&proto);
    assert_int_equal(otlp_encode(from_proto, &proto, NULL), ERR_OK);
    assert_true(bytes_equal(buf_bytes(&proto), buf_bytes(&again)));
    batch_unref(&b);
    batch_unref(&from_proto);
    batch_unref(&from_json);
    buf_fini(&proto);
    buf_fini(&json);
    buf_fini(&again);
}

static void test_round_trips(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++)
        check_round_trip(seed);
}

static void test_spellings(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        // names of the .proto file, of everything with more than one word
        {PROFILE("\"sampleType\":{\"typeStrindex\":0},\"timeUnixNano\":\"5\",\"droppedAttributesCount\":3"),
         "{\"resource_profiles\":[{\"scope_profiles\":[{\"profiles\":[{\"sample_type\":{\"type_strindex\":0},"
         "\"time_unix_nano\":\"5\",\"dropped_attributes_count\":3}]}]}]}"},
        {VALUE("{\"kvlistValue\":{\"values\":[]}}"), VALUE("{\"kvlist_value\":{\"values\":[]}}")},
        // numbers with and without quotes
        {PROFILE(
             "\"timeUnixNano\":\"18446744073709551615\",\"period\":\"-9223372036854775808\",\"durationNano\":\"10\""),
         PROFILE("\"timeUnixNano\":18446744073709551615,\"period\":-9223372036854775808,\"durationNano\":1.0e1")},
        {PROFILE("\"droppedAttributesCount\":4294967295"), PROFILE("\"droppedAttributesCount\":\"4294967295\"")},
        {VALUE("{\"intValue\":\"9007199254740993\"}"), VALUE("{\"intValue\":9007199254740993}")},
        {VALUE("{\"doubleValue\":0.5}"), VALUE("{\"doubleValue\":\"5e-1\"}")},
        // ids
        {PROFILE("\"profileId\":\"abcdef00000000000000000000000001\""),
         PROFILE("\"profileId\":\"ABCDEF00000000000000000000000001\"")},
        {PROFILE("\"profileId\":\"abcdef00000000000000000000000001\""),
         PROFILE("\"profileId\":\"q83vAAAAAAAAAAAAAAAAAQ==\"")},
        {PROFILE("\"profileId\":\"abcdef00000000000000000000000001\""),
         PROFILE("\"profileId\":\"q83vAAAAAAAAAAAAAAAAAQ\"")},
        {PROFILE("\"period\":1"), PROFILE("\"period\":1,\"profileId\":\"\"")},
        // bytes
        {VALUE("{\"bytesValue\":\"+/+/+w==\"}"), VALUE("{\"bytesValue\":\"-_-_-w\"}")},
        {VALUE("{\"bytesValue\":\"AQID\"}"), VALUE("{\"bytesValue\":\"\\u0041QID\"}")},
        // null is absence, in a list an empty message
        {PROFILE("\"period\":1"), PROFILE("\"period\":1,\"samples\":null,\"sampleType\":null,\"profileId\":null")},
        {VALUE("{\"arrayValue\":{\"values\":[{},{\"intValue\":1}]}}"),
         VALUE("{\"arrayValue\":{\"values\":[null,{\"intValue\":1}]}}")},
        {VALUE("{}"), VALUE("null")},
        // unknown keys, of any value
        {PROFILE("\"period\":1"), PROFILE("\"new\":[{\"a\":[1,{}]}],\"period\":1,\"newer\":\"x\",\"newest\":1e999")},
        // equal keys: lists are joined, of the others the last one counts, as in protobuf
        {PROFILE("\"period\":2"), PROFILE("\"period\":1,\"period\":2")},
        {"{\"resourceProfiles\":[{},{\"schemaUrl\":\"x\"}]}",
         "{\"resourceProfiles\":[{}],\"resourceProfiles\":[{\"schemaUrl\":\"x\"}]}"},
        // around it
        {PROFILE("\"period\":1"), "\xEF\xBB\xBF \n" PROFILE("\"period\" :\t1") "\r\n"},
        // half a surrogate pair
        {VALUE("{\"stringValue\":\"\xEF\xBF\xBD\"}"), VALUE("{\"stringValue\":\"\\ud800\"}")},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        check_same_json(pairs[i][0], pairs[i][1]);
}

static void test_string_references_are_resolved(void **state)
{
    (void)state;
    check_same_json(
        "{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"k\",\"value\":{\"arrayValue\":{"
        "\"values\":[{\"stringValue\":\"v\"},{\"stringValue\":\"\"}]}}}]}}]}",
        "{\"dictionary\":{\"stringTable\":[\"\",\"k\",\"v\"]},\"resourceProfiles\":[{\"resource\":{"
        "\"attributes\":[{\"keyStrindex\":1,\"value\":{\"arrayValue\":{\"values\":[{\"stringValueStrindex\":2},"
        "{\"string_value_strindex\":0}]}}}]}}]}");
}

static void test_errors_name_the_place(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {PROFILE("\"samples\":[{},{\"values\":[1,\"abc\"]}]"),
         "resourceProfiles[0].scopeProfiles[0].profiles[0].samples[1].values[1]: \"abc\" is not a 64-bit integer (line "
         "1"},
        {PROFILE("\"samples\":[{\"values\":[9223372036854775808]}]"),
         "values[0]: \"9223372036854775808\" is not a 64-bit"},
        {PROFILE("\"samples\":[{\"values\":[1.5]}]"), "values[0]: \"1.5\" is not a 64-bit integer"},
        {PROFILE("\"samples\":[{\"values\":[null]}]"), "values[0]: a number should be here, found null"},
        {PROFILE("\"samples\":[{\"values\":7}]"), "values: an array should be here, found a number"},
        {PROFILE("\"samples\":{}"), "profiles[0].samples: an array should be here, found an object"},
        {PROFILE("\"samples\":[7]"), "samples[0]: an object should be here, found a number"},
        {PROFILE("\"samples\":[{\"stackIndex\":2147483648}]"), "stackIndex: \"2147483648\" is not a 32-bit integer"},
        {PROFILE("\"samples\":[{\"timestampsUnixNano\":[-1]}]"), "[0]: \"-1\" is not an unsigned 64-bit integer"},
        {PROFILE("\"durationNano\":\"18446744073709551616\""),
         "durationNano: \"18446744073709551616\" is not an unsigned"},
        {PROFILE("\"period\":\"\""), "period: \"\" is not a 64-bit integer"},
        {PROFILE("\"period\":\" 1\""), "period: \" 1\" is not"},
        {PROFILE("\"period\":true"), "period: a number should be here, found true or false"},
        {PROFILE("\"droppedAttributesCount\":-1"), "\"-1\" is not an unsigned 32-bit integer"},
        {PROFILE("\"profileId\":\"0102\""), "profileId: \"0102\" is not an id of 16 bytes in hex or base64"},
        {PROFILE("\"profileId\":\"zz000000000000000000000000000001\""), "is not an id of 16 bytes"},
        {PROFILE("\"profileId\":7"), "profileId: a string should be here, found a number"},
        {"{\"dictionary\":{\"linkTable\":[{},{\"spanId\":\"00\"}]}}",
         "dictionary.linkTable[1].spanId: \"00\" is not an id of 8"},
        {PROFILE("\"originalPayload\":\"A\""), "originalPayload: \"A\" is not base64"},
        {PROFILE("\"originalPayload\":\"AB=C\""), "is not base64"},
        {PROFILE("\"originalPayload\":\"ABC==\""), "is not base64"},
        {PROFILE("\"originalPayload\":\"A B \""), "is not base64"},
        {VALUE("{\"boolValue\":\"true\"}"), "value.boolValue: true or false should be here, found a string"},
        {VALUE("{\"doubleValue\":1e999}"), "\"1e999\" is not a number that a double can hold"},
        {VALUE("{\"doubleValue\":\"nan\"}"), "\"nan\" is not a number"},
        {VALUE("{\"stringValue\":1}"), "stringValue: a string should be here, found a number"},
        {"[]", "an object should be here, found an array"},
        {"{}\n7", "an object should be here, found a number"},
        {"{}\n{\"resourceProfiles\"", "line 2, column 20: ':' should be here"},
        {"{} x", "line 1, column 4: a value should be here"},
        // what only the decoder of protobuf sees
        {PROFILE("\"samples\":[{\"stackIndex\":-1,\"values\":[1]}]"), "samples[0]: stack_index -1 is not below 1"},
        {"{}\n" PROFILE("\"samples\":[{}]"), "request 2: resource_profiles[0]"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_refused(cases[i][0], ERR_INVALID, cases[i][1]);
}

static void test_every_cut_is_refused(void **state)
{
    (void)state;
    struct err e;
    struct bytes json = bytes_from_text(whole);
    for (size_t len = 1; len < json.len; len++)
        assert_int_equal(decode_code((struct bytes){json.data, len}, &no_options, &e), ERR_INVALID);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    char two[2 * sizeof whole + 2];
    snprintf(two, sizeof two, "%s\n%s", whole, whole);
    size_t failures = 0;
    for (enum err_code rc = ERR_MEMORY; rc != ERR_OK; failures++) {
        struct err e = {0};
        mem_fail_from(failures + 1);
        rc = decode_code(bytes_from_text(two), &no_options, &e);
        mem_fail_from(0);
        assert_true(rc == ERR_OK || rc == ERR_MEMORY);
    }
    assert_true(failures > 20);
}

static void test_memory_runs_out_while_writing(void **state)
{
    (void)state;
    struct batch *b = decode_ok(bytes_from_text(whole));
    size_t failures = 0;
    for (enum err_code rc = ERR_MEMORY; rc != ERR_OK; failures++) {
        struct buf out;
        buf_init(&out, MAX_BYTES);
        mem_fail_from(failures + 1);
        rc = otlp_json_encode(b, &out, NULL);
        mem_fail_from(0);
        assert_true(rc == ERR_OK || (rc == ERR_MEMORY && out.len == 0));
        buf_fini(&out);
    }
    assert_true(failures > 5);
    for (size_t max = 0; max < sizeof whole - 1; max += 37) {
        struct buf out;
        struct err e = {0};
        buf_init(&out, max);
        assert_int_equal(otlp_json_encode(b, &out, &e), ERR_LIMIT);
        buf_fini(&out);
    }
    batch_unref(&b);
}

// A value within `depth` lists.
static void nested_value(struct buf *json, unsigned depth)
{
    buf_init(json, MAX_BYTES);
    buf_add_text(json, "{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"k\",\"value\":");
    for (unsigned i = 0; i < depth; i++)
        buf_add_text(json, i % 2 ? "{\"arrayValue\":{\"values\":["
                                 : "{\"kvlistValue\":{\"values\":[{\"key\":\"x\",\"value\":");
    buf_add_text(json, "{\"stringValue\":\"inside\"}");
    for (unsigned i = depth; i-- > 0;)
        buf_add_text(json, i % 2 ? "]}}" : "}]}}");
    buf_add_text(json, "}]}}]}");
}

static void test_depth_of_values(void **state)
{
    (void)state;
    struct buf json, again;
    struct err e = {0};
    nested_value(&json, 64);
    struct batch *b = decode_ok(buf_bytes(&json));
    json_of(b, &again);
    assert_true(buf_ok(&json) && again.len > json.len); // and an empty dictionary
    assert_memory_equal(again.data, json.data, json.len - 10);
    batch_unref(&b);
    buf_fini(&again);
    buf_fini(&json);
    nested_value(&json, 65);
    assert_int_equal(decode_code(buf_bytes(&json), &no_options, &e), ERR_INVALID);
    buf_fini(&json);
    nested_value(&json, 100000);
    assert_int_equal(decode_code(buf_bytes(&json), &no_options, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "nested deeper"));
    buf_fini(&json);
}

static void check_limited(const struct decode_limits *limits, const char *json, const char *text)
{
    struct decode_options options = {.limits = limits};
    struct err e = {0};
    assert_int_equal(decode_code(bytes_from_text(json), &options, &e), ERR_LIMIT);
    if (strstr(e.text, text) == NULL)
        fail_msg("%s", e.text);
}

static void test_limits(void **state)
{
    (void)state;
    struct decode_limits limits = decode_default_limits;
    static const char two_lines[] =
        PROFILE("\"samples\":[{\"values\":[1]}]") "\n" PROFILE("\"samples\":[{\"values\":[1]}]");
    limits.max_samples = 1;
    check_limited(&limits, two_lines, "max_samples");
    limits.max_samples = 2;
    struct decode_options options = {.limits = &limits};
    assert_int_equal(decode_code(bytes_from_text(two_lines), &options, NULL), ERR_OK);
    limits.max_batch_bytes = 100;
    check_limited(&limits, whole, "max_batch_bytes");
}

static void test_lines_become_one_batch(void **state)
{
    (void)state;
    char lines[3 * sizeof whole];
    snprintf(lines, sizeof lines, "%s\n{}\n\n%s\n", whole, PROFILE("\"period\":1"));
    struct batch *b = decode_ok(bytes_from_text(lines));
    assert_int_equal(b->resource_count, 2);
    assert_int_equal(b->profile_count, 2);
    assert_int_equal(b->sample_count, 1);
    batch_unref(&b);
    b = decode_ok(BYTES_LITERAL("{}"));
    assert_int_equal(b->resource_count, 0);
    batch_unref(&b);
}

static void test_the_options_attributes_come_on_top(void **state)
{
    (void)state;
    struct key_value own = {.key = BYTES_LITERAL("k"),
                            .value = {.kind = VALUE_STRING, .bytes = BYTES_LITERAL("theirs")}};
    struct decode_options options = {.resource_attributes = &own, .resource_attribute_count = 1};
    struct decode_report report = {0};
    struct batch *b,
        *expected = decode_ok(BYTES_LITERAL(RESOURCE("{\"key\":\"other\",\"value\":{\"intValue\":1}},"
                                                     "{\"key\":\"k\",\"value\":{\"stringValue\":\"theirs\"}}")));
    struct bytes json = BYTES_LITERAL(RESOURCE("{\"key\":\"k\",\"value\":{\"intValue\":1}},"
                                               "{\"key\":\"other\",\"value\":{\"intValue\":1}}"));
    assert_int_equal(otlp_json_decode(json, &options, &b, &report, NULL), ERR_OK);
    check_same(b, expected, "attributes");
    batch_unref(&b);
    batch_unref(&expected);
}

static void test_recognition(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool yes;
    } cases[] = {
        {whole, true},
        {" \n{\"dictionary\" : {", true},
        {"{\"resource_profiles\":[", true},
        {"\xEF\xBB\xBF{\"$x\":[{\"a\":1}],\"resourceProfiles\":[", true},
        {"{\"$schema\":\"https://www.speedscope.app/"
         "file-format-schema.json\",\"shared\":{\"frames\":[]},\"profiles\":[],"
         "\"name\":\"x\",\"dictionary\":{}}",
         false},
        {"{\"resourceSpans\":[]}", false},
        {"{\"dictionary\":\"a word\"}", false},
        {"{\"stringTable\":[]}", false},
        {"{}", false},
        {"[{\"resourceProfiles\":[]}]", false},
        {"\"resourceProfiles\"", false},
        {"resourceProfiles", false},
        {"", false},
        {"main;work 3\n", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (otlp_json_recognise(bytes_from_text(cases[i].text)) != cases[i].yes)
            fail_msg("%s", cases[i].text);
    assert_ptr_equal(format_recognise(bytes_from_text(whole), NULL), &otlp_json_format);
    assert_ptr_equal(format_of_path("a.otlp.json.gz"), &otlp_json_format);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_there_is_is_read_and_written),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_string_references_are_resolved),
        cmocka_unit_test(test_errors_name_the_place),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_memory_runs_out_while_writing),
        cmocka_unit_test(test_depth_of_values),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_lines_become_one_batch),
        cmocka_unit_test(test_the_options_attributes_come_on_top),
        cmocka_unit_test(test_recognition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
