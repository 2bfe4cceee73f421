// SPDX-License-Identifier: Apache-2.0
// OTLP requests whose bytes stay with the batch: what a pipeline does not change is sent on as it came, without being
// built, encoded or compressed again (profile/origin.h).
#ifndef CODEC_OTLP_ORIGIN_H
#define CODEC_OTLP_ORIGIN_H

#include "codec/compress.h"
#include "codec/otlp_emit.h"
#include "codec/otlp_messages.h"
#include "profile/origin.h"

// A request in protobuf. buffer is malloc'ed, and so is what lies in inflated.
struct otlp_arrival {
    uint8_t *buffer;
    struct bytes body; // in buffer, as it came
    enum compression compression;
    struct buf inflated; // of the body; empty if it came uncompressed
};

void otlp_arrival_fini(struct otlp_arrival *a);
struct bytes otlp_arrival_request(const struct otlp_arrival *a); // inflated

// The batch of a request. One that is in order is only checked, and is unread (profile/origin.h); it has the bytes then,
// and the arrival is empty. Others are decoded, without the profiles that cannot be (report->rejected). Errors as of
// otlp_decode_good; the arrival stays the caller's. Any thread.
enum err_code otlp_arrive(struct otlp_arrival *a, const struct decode_options *options, struct batch **out,
                          struct decode_report *report, struct err *e) MUST_USE;

// The body as it came, if that is what otlp_encode_as and a compressor of this kind are asked to make. Borrowed.
bool otlp_body_as_came(const struct batch *b, const struct otlp_emission *how, enum compression compression,
                       struct bytes *body_out, size_t *raw_bytes_out);

// Does otlp_encode_as of this batch need its profiles (batch_open)? If not, it will write less than *most_out bytes.
bool otlp_needs_profiles(const struct batch *b, const struct otlp_emission *how, size_t *most_out);

#endif
