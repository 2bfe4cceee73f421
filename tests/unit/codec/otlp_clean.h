// SPDX-License-Identifier: Apache-2.0
// A request that can travel as it came, with every message and table, and one thing more or less in it at will.
#ifndef TESTS_UNIT_CODEC_OTLP_CLEAN_H
#define TESTS_UNIT_CODEC_OTLP_CLEAN_H

#include "codec/wire.h"

enum clean_place {
    NOWHERE,
    ZERO_MAPPING,
    ZERO_LOCATION,
    ZERO_FUNCTION,
    ZERO_LINK,
    ZERO_ATTRIBUTE,
    ZERO_STACK,
    A_MAPPING,
    A_LOCATION,
    A_LINE,
    A_FUNCTION,
    A_LINK,
    AN_ATTRIBUTE,
    A_VALUE, // of the attribute
    A_STACK,
    A_DICTIONARY,
    A_SAMPLE,
    A_VALUE_TYPE, // sample_type
    A_PROFILE,
    A_SCOPE,
    A_SCOPE_PROFILES,
    A_KEY_VALUE, // of the resource
    AN_ENTITY_REF,
    A_RESOURCE,
    A_RESOURCE_PROFILES,
    A_REQUEST,
    CLEAN_PLACES,
};

enum { CLEAN_TABLE_LENGTH = 2, CLEAN_STRINGS = 7, CLEAN_SAMPLES = 3 };

struct clean {
    enum clean_place place;
    struct bytes extra;        // behind what stands in all messages at `place`
    uint32_t without;          // field left out there; in the dictionary: the table
    bool references;           // the resource's attribute names its key and text by index
    bool attribute_references; // so does the attribute in the table
};

void clean_write(struct buf *out, const struct clean *c);
// How OTLP has field `number` there: some of 'v' (varint), 'f' (fixed64), 'l' (length); "" = it has none.
const char *clean_types(enum clean_place place, uint32_t number);

#endif
