// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_json_fields.h"

#include "base/check.h"

#include <ctype.h>

#define NAME(text) .name = #text, .key = "\"" #text "\":", .name_len = sizeof(#text) - 1
#define ONE(field_number, text, kind) {NAME(text), .number = (field_number), .type = OTLP_JSON_##kind}
#define MANY(field_number, text, kind)                                                                                 \
    {NAME(text), .number = (field_number), .type = OTLP_JSON_##kind, .repeated = true}
#define SUB(field_number, text, of) {NAME(text), .number = (field_number), .message = &(of)}
#define SUBS(field_number, text, of) {NAME(text), .number = (field_number), .message = &(of), .repeated = true}
#define ID(field_number, text, bytes) {NAME(text), .number = (field_number), .type = OTLP_JSON_ID, .id_len = (bytes)}
#define OLDER(text) {NAME(text), .type = OTLP_JSON_OLDER}
#define MESSAGE(table) {.fields = (table), .count = COUNT_OF(table)}

// --- common.v1, resource.v1 ---

static const struct otlp_json_message any_value, key_value;

static const struct otlp_json_field array_fields[] = {SUBS(1, values, any_value)};
static const struct otlp_json_message array_value = MESSAGE(array_fields);

static const struct otlp_json_field kvlist_fields[] = {SUBS(1, values, key_value)};
static const struct otlp_json_message kvlist_value = MESSAGE(kvlist_fields);

static const struct otlp_json_field any_value_fields[] = {
    ONE(1, stringValue, STRING),     ONE(2, boolValue, BOOL),
    ONE(3, intValue, INT64),         ONE(4, doubleValue, DOUBLE),
    SUB(5, arrayValue, array_value), SUB(6, kvlistValue, kvlist_value),
    ONE(7, bytesValue, BYTES),       ONE(8, stringValueStrindex, INT32),
};
static const struct otlp_json_message any_value = MESSAGE(any_value_fields);

static const struct otlp_json_field key_value_fields[] = {
    ONE(1, key, STRING),
    SUB(2, value, any_value),
    ONE(3, keyStrindex, INT32),
};
static const struct otlp_json_message key_value = MESSAGE(key_value_fields);

static const struct otlp_json_field entity_ref_fields[] = {
    ONE(1, schemaUrl, STRING),
    ONE(2, type, STRING),
    MANY(3, idKeys, STRING),
    MANY(4, descriptionKeys, STRING),
};
static const struct otlp_json_message entity_ref = {
    .fields = entity_ref_fields, .count = COUNT_OF(entity_ref_fields), .foreign = true};

static const struct otlp_json_field resource_fields[] = {
    SUBS(1, attributes, key_value),
    ONE(2, droppedAttributesCount, UINT32),
    SUBS(3, entityRefs, entity_ref),
};
static const struct otlp_json_message resource = MESSAGE(resource_fields);

static const struct otlp_json_field scope_fields[] = {
    ONE(1, name, STRING),
    ONE(2, version, STRING),
    SUBS(3, attributes, key_value),
    ONE(4, droppedAttributesCount, UINT32),
};
static const struct otlp_json_message scope = MESSAGE(scope_fields);

// --- profiles.v1development: containers ---

static const struct otlp_json_field value_type_fields[] = {
    ONE(1, typeStrindex, INT32),
    ONE(2, unitStrindex, INT32),
};
static const struct otlp_json_message value_type = MESSAGE(value_type_fields);

static const struct otlp_json_field sample_fields[] = {
    ONE(1, stackIndex, INT32),
    MANY(2, attributeIndices, INT32),
    ONE(3, linkIndex, INT32),
    MANY(4, values, INT64),
    MANY(5, timestampsUnixNano, FIXED64),
    OLDER(value),
    OLDER(locationsStartIndex),
    OLDER(locationsLength),
    OLDER(locationIndex),
    OLDER(stacktraceIdIndex),
};
static const struct otlp_json_message sample = MESSAGE(sample_fields);

static const struct otlp_json_field profile_fields[] = {
    SUB(1, sampleType, value_type),
    SUBS(2, samples, sample),
    ONE(3, timeUnixNano, FIXED64),
    ONE(4, durationNano, UINT64),
    SUB(5, periodType, value_type),
    ONE(6, period, INT64),
    ID(7, profileId, 16),
    ONE(8, droppedAttributesCount, UINT32),
    ONE(9, originalPayloadFormat, STRING),
    ONE(10, originalPayload, BYTES),
    MANY(11, attributeIndices, INT32),
    OLDER(sample),
    OLDER(timeNanos),
    OLDER(durationNanos),
    OLDER(locationIndices),
    OLDER(mappingTable),
    OLDER(locationTable),
    OLDER(functionTable),
    OLDER(attributeTable),
    OLDER(attributeUnits),
    OLDER(linkTable),
    OLDER(stringTable),
    OLDER(comment),
    OLDER(commentStrindices),
    OLDER(defaultSampleType),
    OLDER(defaultSampleTypeIndex),
    OLDER(defaultSampleTypeStrindex),
    OLDER(profile),
};
static const struct otlp_json_message profile = MESSAGE(profile_fields);

static const struct otlp_json_field scope_profiles_fields[] = {
    SUB(1, scope, scope),
    SUBS(2, profiles, profile),
    ONE(3, schemaUrl, STRING),
};
static const struct otlp_json_message scope_profiles = MESSAGE(scope_profiles_fields);

static const struct otlp_json_field resource_profiles_fields[] = {
    SUB(1, resource, resource),
    SUBS(2, scopeProfiles, scope_profiles),
    ONE(3, schemaUrl, STRING),
};
static const struct otlp_json_message resource_profiles = MESSAGE(resource_profiles_fields);

// --- profiles.v1development: dictionary ---

static const struct otlp_json_field mapping_fields[] = {
    ONE(1, memoryStart, UINT64),     ONE(2, memoryLimit, UINT64),      ONE(3, fileOffset, UINT64),
    ONE(4, filenameStrindex, INT32), MANY(5, attributeIndices, INT32),
};
static const struct otlp_json_message mapping = MESSAGE(mapping_fields);

static const struct otlp_json_field line_fields[] = {
    ONE(1, functionIndex, INT32),
    ONE(2, line, INT64),
    ONE(3, column, INT64),
};
static const struct otlp_json_message line = MESSAGE(line_fields);

static const struct otlp_json_field location_fields[] = {
    ONE(1, mappingIndex, INT32),
    ONE(2, address, UINT64),
    SUBS(3, lines, line),
    MANY(4, attributeIndices, INT32),
    OLDER(line),
    OLDER(isFolded),
};
static const struct otlp_json_message location = MESSAGE(location_fields);

static const struct otlp_json_field function_fields[] = {
    ONE(1, nameStrindex, INT32),
    ONE(2, systemNameStrindex, INT32),
    ONE(3, filenameStrindex, INT32),
    ONE(4, startLine, INT64),
};
static const struct otlp_json_message function = MESSAGE(function_fields);

static const struct otlp_json_field link_fields[] = {
    ID(1, traceId, 16),
    ID(2, spanId, 8),
};
static const struct otlp_json_message link = MESSAGE(link_fields);

static const struct otlp_json_field attribute_fields[] = {
    ONE(1, keyStrindex, INT32),
    SUB(2, value, any_value),
    ONE(3, unitStrindex, INT32),
    OLDER(key),
};
static const struct otlp_json_message attribute = MESSAGE(attribute_fields);

static const struct otlp_json_field stack_fields[] = {MANY(1, locationIndices, INT32)};
static const struct otlp_json_message stack = MESSAGE(stack_fields);

static const struct otlp_json_field dictionary_fields[] = {
    SUBS(1, mappingTable, mapping),   SUBS(2, locationTable, location),
    SUBS(3, functionTable, function), SUBS(4, linkTable, link),
    MANY(5, stringTable, STRING),     SUBS(6, attributeTable, attribute),
    SUBS(7, stackTable, stack),       OLDER(attributeUnits),
};
static const struct otlp_json_message dictionary = MESSAGE(dictionary_fields);

static const struct otlp_json_field request_fields[] = {
    SUBS(1, resourceProfiles, resource_profiles),
    SUB(2, dictionary, dictionary),
    OLDER(mappingTable),
    OLDER(locationTable),
    OLDER(functionTable),
    OLDER(stringTable),
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

const struct otlp_json_field *otlp_json_field_named(const struct otlp_json_message *m, struct bytes key)
{
    for (size_t i = 0; i < m->count; i++)
        if (has_name(&m->fields[i], key))
            return &m->fields[i];
    return NULL;
}

const struct otlp_json_field *otlp_json_field_numbered(const struct otlp_json_message *m, uint32_t number)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->fields[i].number == number)
            return &m->fields[i];
    return NULL;
}
