// SPDX-License-Identifier: Apache-2.0
// OTLP/JSON of all layouts, told apart by their names, and protobuf's own JSON of it. A request is put into the protobuf of
// its layout and decoded there, and written the other way round in the current one: all checks stand in one place.
#ifndef CODEC_OTLP_JSON_H
#define CODEC_OTLP_JSON_H

#include "codec/decode.h"

// An object whose first keys are those of a request.
bool otlp_json_recognise(struct bytes data);

// One request or several, one behind the other (the lines of the file exporter); they become one batch. Errors name
// the place: "resourceProfiles[0].scopeProfiles[1].profiles[2].samples[3].values[0]: "abc" is not a 64-bit integer".
// ERR_INVALID for names of two layouts in a request, ERR_UNSUPPORTED for those of 1.3 and 1.6.
enum err_code otlp_json_decode(struct bytes data, const struct decode_options *options, struct batch **out,
                               struct decode_report *report, struct err *e) MUST_USE;

// One line without its end. Fails only for memory or when out's maximum is reached (ERR_LIMIT).
enum err_code otlp_json_encode(const struct batch *b, struct buf *out, struct err *e) MUST_USE;

#endif
