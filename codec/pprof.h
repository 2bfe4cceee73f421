// SPDX-License-Identifier: Apache-2.0
// pprof's profile.proto (google/pprof, package perftools.profiles) to and from a batch. The mapping is in
// docs/formats/pprof.md; nothing pprof can say is lost.
#ifndef CODEC_PPROF_H
#define CODEC_PPROF_H

#include "codec/decode.h"

// data as found in a file or body: raw, gzip or zstd. Any thread. On success *out has one reference.
// Errors say what is wrong where: "sample 17: location id 99 is not in the profile". Another format that is
// recognised is ERR_UNSUPPORTED, damage and contradictions are ERR_INVALID.
enum err_code pprof_decode(struct bytes data, const struct decode_options *options, struct batch **out,
                           struct decode_report *report, struct err *e) MUST_USE;
// The same for data that is inflated already; original is the file as it was found.
enum err_code pprof_decode_inflated(struct bytes data, struct bytes original, const struct decode_options *options,
                                    struct batch **out, struct decode_report *report, struct err *e) MUST_USE;

// An OTLP export request: cannot be pprof then.
bool pprof_is_otlp(struct bytes data);
// What the first bytes look like, for errors: "a Go execution trace", "HTML", "JFR recording", ...; NULL if
// nothing is recognised.
const char *pprof_describe_other(struct bytes data);

// Profiles of one scope that came from one pprof are written as one again: iterate with
//   for (uint32_t first = 0, n; (n = pprof_group(scope, first)) != 0; first += n) pprof_encode(...)
uint32_t pprof_group(const struct scope *s, uint32_t first);
uint64_t pprof_group_count(const struct batch *b); // of all scopes
// Writes (uncompressed) profiles [first, first + count) of a scope. What pprof cannot hold is counted in
// *lost_out (attributes of types pprof has no label for, timestamps, frame types).
enum err_code pprof_encode(const struct batch *b, const struct scope *s, uint32_t first, uint32_t count,
                           struct buf *out, uint64_t *lost_out, struct err *e) MUST_USE;

// The same for a peer with wishes of its own.
struct pprof_emission {
    bool plain_types;   // '-' in names of sample types becomes '_'
    int64_t time_nanos; // instead of the profile's; 0 = the profile's
};
enum err_code pprof_encode_as(const struct batch *b, const struct scope *s, uint32_t first, uint32_t count,
                              const struct pprof_emission *how, struct buf *out, uint64_t *lost_out,
                              struct err *e) MUST_USE;

#endif
