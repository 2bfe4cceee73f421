// SPDX-License-Identifier: Apache-2.0
// push.v1.PushRequest in protobuf and JSON, both ways.
#ifndef CODEC_PYROSCOPE_PUSH_H
#define CODEC_PYROSCOPE_PUSH_H

#include "codec/pyroscope.h"

enum { PYROSCOPE_MAX_SERIES = 10000 }; // of a request, each raw profile counted

// All series of a request as one batch: one resource for each raw profile. user_agent: of the request.
// A series that cannot be read does not fail the others: it is counted in report->rejected_profiles, the first with its
// reason in report->first_bad ("series 2, profile 1: sample 17: ..."). None at all is ERR_INVALID "no profiles received";
// none good is ERR_INVALID with the first reason, or ERR_LIMIT if that is a limit. max_inflated_bytes, max_samples and
// max_batch_bytes bound all profiles together; passing the first or the last fails the request (ERR_LIMIT), since how far
// one got says nothing of those behind it. ERR_MEMORY.
// JSON takes memory for a copy of what it holds, besides; each profile is inflated into memory of its own.
enum err_code pyroscope_push_decode(struct bytes body, bool json, struct bytes user_agent,
                                    const struct pyroscope_settings *settings, struct batch **out,
                                    struct decode_report *report, struct err *e) MUST_USE;

// A request with one series of one raw profile. id: len 0 = none.
void pyroscope_push_encode(const struct pyroscope_labels *labels, struct bytes raw_profile, struct bytes id,
                           struct buf *out);

#endif
