// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_json_fields.h"

#include "base/check.h"

#include <ctype.h>

#define NAME(text) .name = #text, .key = "\"" #text "\":", .name_len = sizeof(#text) - 1
// Its numbers in 1.4/1.5, 1.7, 1.8, 1.9 and since 1.10; 0 = not there.
#define NUMBERS(a, b, c, d, e) .numbers = {0, a, b, c, d, e}
#define IN(a, b, c, d, e)                                                                                              \
    NUMBERS(a, b, c, d, e),                                                                                            \
        .since = (a)   ? OTLP_LAYOUT_1_5                                                                               \
                 : (b) ? OTLP_LAYOUT_1_7                                                                               \
                 : (c) ? OTLP_LAYOUT_1_8                                                                               \
                 : (d) ? OTLP_LAYOUT_1_9                                                                               \
                       : OTLP_LAYOUT_CURRENT,                                                                          \
        .until = (e)   ? OTLP_LAYOUT_CURRENT                                                                           \
                 : (c) ? OTLP_LAYOUT_1_8                                                                               \
                 : (b) ? OTLP_LAYOUT_1_7                                                                               \
                       : OTLP_LAYOUT_1_5
#define IN_ALL .since = OTLP_LAYOUT_1_5, .until = OTLP_LAYOUT_CURRENT
#define ALWAYS(n) (n, n, n, n, n)
#define SINCE_1_7(n) (0, n, n, n, n)
#define SINCE_1_8(n) (0, 0, n, n, n)
#define SINCE_1_9(n) (0, 0, 0, n, n)
#define SINCE_1_10(n) (0, 0, 0, 0, n)
#define UNTIL_1_8(n) (n, n, n, 0, 0)
#define UNTIL_1_7(n) (n, n, 0, 0, 0)
#define UNTIL_1_5(n) (n, 0, 0, 0, 0)

#define ONE(places, text, kind) {NAME(text), IN places, .type = OTLP_JSON_##kind}
#define MANY(places, text, kind) {NAME(text), IN places, .type = OTLP_JSON_##kind, .repeated = true}
#define SUB(places, text, of) {NAME(text), IN places, .message = &(of)}
#define SUBS(places, text, of) {NAME(text), IN places, .message = &(of), .repeated = true}
#define ID(places, text, bytes) {NAME(text), IN places, .type = OTLP_JSON_ID, .id_len = (bytes)}
// A row for some of the layouts, of a name that all have.
#define PART(places, text, kind) {NAME(text), NUMBERS places, IN_ALL, .type = OTLP_JSON_##kind, .repeated = true}
#define UNREAD(release, text) {NAME(text), IN_ALL, .type = OTLP_JSON_UNREAD, .note = (release)}
#define MESSAGE(table) {.fields = (table), .count = COUNT_OF(table)}

// --- common.v1, resource.v1 ---

static const struct otlp_json_message any_value, key_value;

static const struct otlp_json_field array_fields[] = {SUBS(ALWAYS(1), values, any_value)};
static const struct otlp_json_message array_value = MESSAGE(array_fields);

static const struct otlp_json_field kvlist_fields[] = {SUBS(ALWAYS(1), values, key_value)};
static const struct otlp_json_message kvlist_value = MESSAGE(kvlist_fields);

static const struct otlp_json_field any_value_fields[] = {
    ONE(ALWAYS(1), stringValue, STRING),     ONE(ALWAYS(2), boolValue, BOOL),
    ONE(ALWAYS(3), intValue, INT64),         ONE(ALWAYS(4), doubleValue, DOUBLE),
    SUB(ALWAYS(5), arrayValue, array_value), SUB(ALWAYS(6), kvlistValue, kvlist_value),
    ONE(ALWAYS(7), bytesValue, BYTES),       ONE(SINCE_1_10(8), stringValueStrindex, INT32),
};
static const struct otlp_json_message any_value = MESSAGE(any_value_fields);

static const struct otlp_json_field key_value_fields[] = {
    ONE(ALWAYS(1), key, STRING),
    SUB(ALWAYS(2), value, any_value),
    ONE(SINCE_1_10(3), keyStrindex, INT32),
};
static const struct otlp_json_message key_value = MESSAGE(key_value_fields);

static const struct otlp_json_field entity_ref_fields[] = {
    ONE(ALWAYS(1), schemaUrl, STRING),
    ONE(ALWAYS(2), type, STRING),
    MANY(ALWAYS(3), idKeys, STRING),
    MANY(ALWAYS(4), descriptionKeys, STRING),
};
static const struct otlp_json_message entity_ref = {
    .fields = entity_ref_fields, .count = COUNT_OF(entity_ref_fields), .foreign = true};

static const struct otlp_json_field resource_fields[] = {
    SUBS(ALWAYS(1), attributes, key_value),
    ONE(ALWAYS(2), droppedAttributesCount, UINT32),
    SUBS(ALWAYS(3), entityRefs, entity_ref),
};
static const struct otlp_json_message resource = MESSAGE(resource_fields);

static const struct otlp_json_field scope_fields[] = {
    ONE(ALWAYS(1), name, STRING),
    ONE(ALWAYS(2), version, STRING),
    SUBS(ALWAYS(3), attributes, key_value),
    ONE(ALWAYS(4), droppedAttributesCount, UINT32),
};
static const struct otlp_json_message scope = MESSAGE(scope_fields);

// --- profiles.v1development: what is in tables ---

static const struct otlp_json_field mapping_fields[] = {
    ONE(ALWAYS(1), memoryStart, UINT64),      ONE(ALWAYS(2), memoryLimit, UINT64),
    ONE(ALWAYS(3), fileOffset, UINT64),       ONE(ALWAYS(4), filenameStrindex, INT32),
    MANY(ALWAYS(5), attributeIndices, INT32), ONE(UNTIL_1_7(6), hasFunctions, BOOL),
    ONE(UNTIL_1_7(7), hasFilenames, BOOL),    ONE(UNTIL_1_7(8), hasLineNumbers, BOOL),
    ONE(UNTIL_1_7(9), hasInlineFrames, BOOL),
};
static const struct otlp_json_message mapping = MESSAGE(mapping_fields);

static const struct otlp_json_field line_fields[] = {
    ONE(ALWAYS(1), functionIndex, INT32),
    ONE(ALWAYS(2), line, INT64),
    ONE(ALWAYS(3), column, INT64),
};
static const struct otlp_json_message line = MESSAGE(line_fields);

static const struct otlp_json_field location_fields[] = {
    ONE(ALWAYS(1), mappingIndex, INT32), ONE(ALWAYS(2), address, UINT64),
    SUBS(SINCE_1_9(3), lines, line),     MANY((5, 5, 4, 4, 4), attributeIndices, INT32),
    SUBS(UNTIL_1_8(3), line, line),      ONE(UNTIL_1_7(4), isFolded, BOOL),
};
static const struct otlp_json_message location = MESSAGE(location_fields);

static const struct otlp_json_field function_fields[] = {
    ONE(ALWAYS(1), nameStrindex, INT32),
    ONE(ALWAYS(2), systemNameStrindex, INT32),
    ONE(ALWAYS(3), filenameStrindex, INT32),
    ONE(ALWAYS(4), startLine, INT64),
};
static const struct otlp_json_message function = MESSAGE(function_fields);

static const struct otlp_json_field link_fields[] = {
    ID(ALWAYS(1), traceId, 16),
    ID(ALWAYS(2), spanId, 8),
};
static const struct otlp_json_message link = MESSAGE(link_fields);

static const struct otlp_json_field attribute_fields[] = {
    ONE(SINCE_1_8(1), keyStrindex, INT32),
    SUB(ALWAYS(2), value, any_value),
    ONE(SINCE_1_8(3), unitStrindex, INT32),
    ONE(UNTIL_1_7(1), key, STRING),
};
static const struct otlp_json_message attribute = MESSAGE(attribute_fields);

static const struct otlp_json_field attribute_unit_fields[] = {
    ONE(UNTIL_1_7(1), attributeKeyStrindex, INT32),
    ONE(UNTIL_1_7(2), unitStrindex, INT32),
};
static const struct otlp_json_message attribute_unit = MESSAGE(attribute_unit_fields);

static const struct otlp_json_field stack_fields[] = {MANY(ALWAYS(1), locationIndices, INT32)};
static const struct otlp_json_message stack = MESSAGE(stack_fields);

// --- profiles.v1development: containers ---

static const struct otlp_json_field value_type_fields[] = {
    ONE(ALWAYS(1), typeStrindex, INT32),
    ONE(ALWAYS(2), unitStrindex, INT32),
    ONE(UNTIL_1_8(3), aggregationTemporality, TEMPORALITY),
};
static const struct otlp_json_message value_type = MESSAGE(value_type_fields);

static const struct otlp_json_field sample_fields[] = {
    ONE(SINCE_1_8(1), stackIndex, INT32),
    MANY((4, 4, 3, 3, 2), attributeIndices, INT32),
    ONE((5, 5, 4, 4, 3), linkIndex, INT32),
    MANY((0, 0, 2, 2, 4), values, INT64),
    PART((0, 0, 5, 5, 5), timestampsUnixNano, FIXED64),
    MANY(UNTIL_1_7(3), value, INT64),
    ONE(UNTIL_1_7(1), locationsStartIndex, INT32),
    ONE(UNTIL_1_7(2), locationsLength, INT32),
    PART((6, 6, 0, 0, 0), timestampsUnixNano, UINT64),
};
static const struct otlp_json_message sample = MESSAGE(sample_fields);

#define SAMPLE_TYPE(places, list, shape)                                                                               \
    {NAME(sampleType), IN places, .message = &value_type, .repeated = (list), .note = (shape)}
// Tables lie in it up to 1.5.
static const struct otlp_json_field profile_fields[] = {
    SAMPLE_TYPE(SINCE_1_8(1), false, " as an object"),
    SUBS(SINCE_1_9(2), samples, sample),
    ONE(SINCE_1_8(3), timeUnixNano, FIXED64),
    ONE(SINCE_1_8(4), durationNano, UINT64),
    SUB((13, 6, 5, 5, 5), periodType, value_type),
    ONE((14, 7, 6, 6, 6), period, INT64),
    ID((17, 10, 8, 7, 7), profileId, 16),
    ONE((19, 11, 9, 8, 8), droppedAttributesCount, UINT32),
    ONE((20, 12, 10, 9, 9), originalPayloadFormat, STRING),
    ONE((21, 13, 11, 10, 10), originalPayload, BYTES),
    MANY((22, 14, 12, 11, 11), attributeIndices, INT32),
    SUBS(UNTIL_1_8(2), sample, sample),
    SAMPLE_TYPE(UNTIL_1_7(1), true, " as a list"),
    MANY((5, 3, 0, 0, 0), locationIndices, INT32),
    ONE((11, 4, 0, 0, 0), timeNanos, INT64),
    ONE((12, 5, 0, 0, 0), durationNanos, INT64),
    MANY((15, 8, 7, 0, 0), commentStrindices, INT32),
    MANY((15, 8, 0, 0, 0), comment, INT32),
    ONE((0, 9, 0, 0, 0), defaultSampleTypeIndex, INT32),
    ONE(UNTIL_1_5(16), defaultSampleTypeStrindex, INT32),
    SUBS(UNTIL_1_5(18), attributes, key_value),
    SUBS(UNTIL_1_5(3), mappingTable, mapping),
    SUBS(UNTIL_1_5(4), locationTable, location),
    SUBS(UNTIL_1_5(6), functionTable, function),
    SUBS(UNTIL_1_5(7), attributeTable, attribute),
    SUBS(UNTIL_1_5(8), attributeUnits, attribute_unit),
    SUBS(UNTIL_1_5(9), linkTable, link),
    MANY(UNTIL_1_5(10), stringTable, STRING),
    UNREAD("1.3", profile),
};
static const struct otlp_json_message profile = MESSAGE(profile_fields);

static const struct otlp_json_field scope_profiles_fields[] = {
    SUB(ALWAYS(1), scope, scope),
    SUBS(ALWAYS(2), profiles, profile),
    ONE(ALWAYS(3), schemaUrl, STRING),
};
static const struct otlp_json_message scope_profiles = MESSAGE(scope_profiles_fields);

static const struct otlp_json_field resource_profiles_fields[] = {
    SUB(ALWAYS(1), resource, resource),
    SUBS(ALWAYS(2), scopeProfiles, scope_profiles),
    ONE(ALWAYS(3), schemaUrl, STRING),
};
static const struct otlp_json_message resource_profiles = MESSAGE(resource_profiles_fields);

static const struct otlp_json_field dictionary_fields[] = {
    SUBS(ALWAYS(1), mappingTable, mapping),   SUBS(ALWAYS(2), locationTable, location),
    SUBS(ALWAYS(3), functionTable, function), SUBS(ALWAYS(4), linkTable, link),
    MANY(ALWAYS(5), stringTable, STRING),     SUBS(ALWAYS(6), attributeTable, attribute),
    SUBS(SINCE_1_8(7), stackTable, stack),    SUBS((0, 7, 0, 0, 0), attributeUnits, attribute_unit),
};
static const struct otlp_json_message dictionary = MESSAGE(dictionary_fields);

static const struct otlp_json_field request_fields[] = {
    SUBS(ALWAYS(1), resourceProfiles, resource_profiles),
    SUB(SINCE_1_7(2), dictionary, dictionary),
    UNREAD("1.6", mappingTable),
    UNREAD("1.6", locationTable),
    UNREAD("1.6", functionTable),
    UNREAD("1.6", linkTable),
    UNREAD("1.6", stringTable),
    UNREAD("1.6", attributeTable),
    UNREAD("1.6", attributeUnits),
};
const struct otlp_json_message otlp_json_request = MESSAGE(request_fields);

// --- finding ---

// key is the name as the .proto file has it: an upper-case letter there is '_' and the lower-case one here.
static bool is_proto_name(struct bytes key, const struct otlp_json_field *f)
{
    size_t k = 0;
    for (size_t i = 0; i < f->name_len; i++) {
        uint8_t c = (uint8_t)f->name[i];
        if (isupper(c)) {
            if (k >= key.len || key.data[k] != '_')
                return false;
            k++;
            c = (uint8_t)tolower(c);
        }
        if (k >= key.len || key.data[k] != c)
            return false;
        k++;
    }
    return k == key.len;
}

static bool has_name(const struct otlp_json_field *f, struct bytes key)
{
    return key.len == f->name_len ? memcmp(key.data, f->name, key.len) == 0
                                  : key.len > f->name_len && is_proto_name(key, f);
}

// Where several rows have the name, the layout tells which one is meant, and a list or an object the layout.
const struct otlp_json_field *otlp_json_field_named(const struct otlp_json_message *m, struct bytes key,
                                                    enum otlp_layout layout, bool is_list)
{
    const struct otlp_json_field *best = NULL;
    int best_fit = -1;
    for (size_t i = 0; i < m->count; i++) {
        const struct otlp_json_field *f = &m->fields[i];
        if (!has_name(f, key))
            continue;
        int fit = 2 * (f->repeated == is_list) + (f->numbers[layout] != 0);
        if (fit == 3)
            return f;
        if (fit > best_fit) {
            best = f;
            best_fit = fit;
        }
    }
    return best;
}

const struct otlp_json_field *otlp_json_field_numbered(const struct otlp_json_message *m, uint32_t number)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->fields[i].numbers[OTLP_LAYOUT_CURRENT] == number)
            return &m->fields[i];
    return NULL;
}
