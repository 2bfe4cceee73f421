// SPDX-License-Identifier: Apache-2.0
// OTLP profiles protobuf, layout 1.10/1.11 (ExportProfilesServiceRequest = ProfilesData).
#ifndef CODEC_OTLP_H
#define CODEC_OTLP_H

#include "base/buf.h"
#include "base/err.h"
#include "profile/builder.h"

struct otlp_limits {
    uint32_t max_profiles, max_samples, max_stack_depth, max_attributes; // of a request, request, stack, list
    uint32_t max_value_depth;
    size_t max_batch_bytes;
};

extern const struct otlp_limits otlp_default_limits;

// data: the inflated request. Every index, length and depth is checked once here. String references
// (1.10: key_strindex, string_value_strindex) are resolved. Errors name the place:
// "resource_profiles[0].scope_profiles[1].profiles[2].samples[3]: stack_index 99 is not below 12".
enum err_code otlp_decode(struct bytes data, const struct otlp_limits *limits, struct batch **out,
                          struct err *e) MUST_USE;

// The same, but a profile that cannot be read does not take the others with it: it is left out and counted, as long as
// one is good. What is wrong elsewhere, and what is too much, fails as above.
struct otlp_rejected {
    uint64_t profiles;
    struct err first; // why the first was
};
enum err_code otlp_decode_good(struct bytes data, const struct otlp_limits *limits, struct batch **out,
                               struct otlp_rejected *rejected, struct err *e) MUST_USE;

// Writes the batch with a pruned dictionary: inline strings, empty Link 0, ascending fields, dictionary
// last. Fails only for memory or when out's maximum is reached (ERR_LIMIT). Of a batch whose bytes are at hand
// (otlp_origin.h) what did not change is copied.
enum err_code otlp_encode(const struct batch *b, struct buf *out, struct err *e) MUST_USE;

// ExportProfilesServiceResponse: partial success. message_out borrows from data. False = not decodable.
bool otlp_decode_response(struct bytes data, int64_t *rejected_profiles_out, struct bytes *message_out);
// google.rpc.Status: code and message, borrowed. False = not decodable.
bool otlp_decode_status(struct bytes data, int32_t *code_out, struct bytes *message_out);

#endif
