// SPDX-License-Identifier: Apache-2.0
// A request that uses every table and every place an index can stand, with one of them spoilt at will.
#ifndef TESTS_UNIT_CODEC_OTLP_FIXTURE_H
#define TESTS_UNIT_CODEC_OTLP_FIXTURE_H

#include "codec/otlp.h"
#include "codec/wire.h"

enum fixture_place {
    GOOD,
    MAPPING_FILENAME,
    MAPPING_ATTRIBUTE,
    LOCATION_MAPPING,
    LOCATION_ATTRIBUTE,
    LINE_FUNCTION,
    FUNCTION_NAME,
    FUNCTION_SYSTEM_NAME,
    FUNCTION_FILENAME,
    ATTRIBUTE_KEY,
    ATTRIBUTE_UNIT,
    ATTRIBUTE_VALUE,
    STACK_LOCATION,
    SAMPLE_STACK,
    SAMPLE_ATTRIBUTE,
    SAMPLE_LINK,
    SAMPLE_TYPE,
    SAMPLE_UNIT,
    PERIOD_TYPE,
    PROFILE_ATTRIBUTE,
    RESOURCE_KEY,
    RESOURCE_VALUE,
    FIXTURE_PLACES,
};

enum { FIXTURE_TABLE_LENGTH = 2, FIXTURE_STRINGS = 6 };

struct fixture {
    enum fixture_place bad;
    uint64_t value; // what stands at `bad`
    bool dictionary_first, split_dictionary, unpacked, no_dictionary;
};

// Appends the encoded request.
void fixture_write(struct buf *out, const struct fixture *f);
// What the error about `place` must say.
const char *fixture_error_of(enum fixture_place place);
// One index list, packed or one field each.
void fixture_list(struct buf *out, const struct fixture *f, uint32_t number, uint64_t a, uint64_t b);

#endif
