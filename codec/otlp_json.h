// SPDX-License-Identifier: Apache-2.0
// OTLP/JSON, layout 1.9 to 1.11 (their JSON is the same), and protobuf's own JSON of it. A request is put into
// protobuf and decoded there, and written the other way round: all checks stand in one place.
#ifndef CODEC_OTLP_JSON_H
#define CODEC_OTLP_JSON_H

#include "codec/decode.h"

// An object whose first keys are those of a request.
bool otlp_json_recognise(struct bytes data);

// One request or several, one behind the other (the lines of the file exporter); they become one batch. Errors name
// the place: "resourceProfiles[0].scopeProfiles[1].profiles[2].samples[3].values[0]: "abc" is not a 64-bit integer".
// ERR_UNSUPPORTED: names that only layouts before 1.9 have.
enum err_code otlp_json_decode(struct bytes data, const struct decode_options *options, struct batch **out,
                               struct decode_report *report, struct err *e) MUST_USE;

// One line without its end. Fails only for memory or when out's maximum is reached (ERR_LIMIT).
enum err_code otlp_json_encode(const struct batch *b, struct buf *out, struct err *e) MUST_USE;

#endif
