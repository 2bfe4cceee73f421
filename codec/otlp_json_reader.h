// SPDX-License-Identifier: Apache-2.0
// What the otlp_json_read*.c files share while one request is put into protobuf.
#ifndef CODEC_OTLP_JSON_READER_H
#define CODEC_OTLP_JSON_READER_H

#include "codec/json.h"
#include "codec/otlp_json_fields.h"
#include "codec/otlp_reader.h"

// The first failure sticks, here or (syntax, memory) in the reader; both end every loop over the reader.
struct otlp_json_reader {
    struct json_reader json;
    struct arena arena; // strings of the field being read
    struct buf wire;
    struct err *e;
    enum err_code code;
};

void otlp_json_fail(struct otlp_json_reader *r, const struct otlp_place *at, enum err_code code, const char *format,
                    ...) PRINTF_LIKE(4, 5);
// False (and failed) when the next value is of another kind.
bool otlp_json_expect(struct otlp_json_reader *r, const struct otlp_place *at, enum json_kind kind);
// Puts the value that comes next into r->wire, without a tag: with its length in front where it has one.
void otlp_json_read_scalar(struct otlp_json_reader *r, const struct otlp_place *at, const struct otlp_json_field *f);

#endif
