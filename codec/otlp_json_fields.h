// SPDX-License-Identifier: Apache-2.0
// OTLP's messages as tables of fields, from which both directions between JSON and protobuf are made. A name tells the
// layouts it is of, and a layout the name's number. JSON of 1.9 and of 1.10 is the same and is put into the latter's numbers.
// Internal to codec/otlp_json_*.c.
#ifndef CODEC_OTLP_JSON_FIELDS_H
#define CODEC_OTLP_JSON_FIELDS_H

#include "codec/otlp_layout.h"
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
    OTLP_JSON_TEMPORALITY, // a number or its name
    OTLP_JSON_UNREAD,      // a name that only layouts have that are not read
};

struct otlp_json_message;

struct otlp_json_field {
    const char *name, *key; // nameInCamelCase; the same in quotes with a colon behind
    const struct otlp_json_message *message;
    const char *note; // behind the name where it is ambiguous; UNREAD: the release
    enum otlp_json_type type;
    uint8_t numbers[OTLP_LAYOUTS]; // 0 = this row is not for this layout
    uint8_t since, until;          // layouts that have the name
    uint8_t name_len, id_len;
    bool repeated;
};

struct otlp_json_message {
    const struct otlp_json_field *fields; // by number, those that are no more last
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

// By its JSON name or by the name in the .proto file; NULL = not known. If there is none in this layout, one of another.
const struct otlp_json_field *otlp_json_field_named(const struct otlp_json_message *m, struct bytes key,
                                                    enum otlp_layout layout, bool is_list);
// Of today's layout.
const struct otlp_json_field *otlp_json_field_numbered(const struct otlp_json_message *m, uint32_t number);

#endif
