// SPDX-License-Identifier: Apache-2.0
// OTLP's messages as tables of fields, from which both directions between JSON and protobuf are made.
// Internal to codec/otlp_json_*.c.
#ifndef CODEC_OTLP_JSON_FIELDS_H
#define CODEC_OTLP_JSON_FIELDS_H

#include "codec/wire.h"

enum otlp_json_type {
    OTLP_JSON_MESSAGE,
    OTLP_JSON_STRING,
    OTLP_JSON_BYTES, // base64
    OTLP_JSON_ID,    // id_len bytes in hex
    OTLP_JSON_BOOL,
    OTLP_JSON_INT32,
    OTLP_JSON_UINT32,
    OTLP_JSON_INT64, // these three as text
    OTLP_JSON_UINT64,
    OTLP_JSON_FIXED64,
    OTLP_JSON_DOUBLE,
    OTLP_JSON_OLDER, // a name that only layouts before 1.9 have
};

struct otlp_json_message;

struct otlp_json_field {
    const char *name, *key; // nameInCamelCase; the same in quotes with a colon behind
    uint8_t name_len, number, id_len;
    enum otlp_json_type type;
    bool repeated;
    const struct otlp_json_message *message;
};

struct otlp_json_message {
    const struct otlp_json_field *fields; // by number, the older ones last
    size_t count;
    bool foreign; // its fields come as its sender wrote them, in any order
};

extern const struct otlp_json_message otlp_json_request;

static inline enum wire_type otlp_json_wire_type(enum otlp_json_type type)
{
    if (type <= OTLP_JSON_ID)
        return WIRE_LEN;
    return type == OTLP_JSON_FIXED64 || type == OTLP_JSON_DOUBLE ? WIRE_FIXED64 : WIRE_VARINT;
}

// Its elements lie behind each other under one tag.
static inline bool otlp_json_is_packed(const struct otlp_json_field *f)
{
    return f->repeated && f->type > OTLP_JSON_ID;
}

// By its JSON name or by the name in the .proto file; NULL = not known.
const struct otlp_json_field *otlp_json_field_named(const struct otlp_json_message *m, struct bytes key);
const struct otlp_json_field *otlp_json_field_numbered(const struct otlp_json_message *m, uint32_t number);

#endif
