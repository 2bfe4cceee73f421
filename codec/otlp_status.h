// SPDX-License-Identifier: Apache-2.0
// What a server of OTLP answers: ExportProfilesServiceResponse, and google.rpc.Status with its usual details.
#ifndef CODEC_OTLP_STATUS_H
#define CODEC_OTLP_STATUS_H

#include "base/buf.h"

#include <stdint.h>

struct otlp_status {
    int32_t code;              // of gRPC
    struct bytes message;      // any bytes: what is not UTF-8 is repaired
    struct bytes field;        // BadRequest: the field that is wrong; empty = none
    int64_t retry_delay_nanos; // RetryInfo; 0 = none
};

// The field an error of the OTLP decoders names ("resource_profiles[0].resource: ..."); empty when it names none.
struct bytes otlp_error_field(struct bytes text);

// Failures stick in out.
void otlp_status_encode(const struct otlp_status *s, struct buf *out);
void otlp_status_encode_json(const struct otlp_status *s, struct buf *out);

// The RetryInfo among a google.rpc.Status's details, from a peer; its delay, 0 when none is said. False without one.
bool otlp_decode_retry_info(struct bytes status, int64_t *delay_nanos_out);

// rejected 0 with a message is a warning; without one, the whole of it was taken.
void otlp_response_encode(int64_t rejected_profiles, struct bytes message, struct buf *out);
void otlp_response_encode_json(int64_t rejected_profiles, struct bytes message, struct buf *out);

#endif
