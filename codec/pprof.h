// SPDX-License-Identifier: Apache-2.0
// pprof's profile.proto (google/pprof, package perftools.profiles) to and from a batch. The mapping is in
// docs/formats/pprof.md; nothing pprof can say is lost.
#ifndef CODEC_PPROF_H
#define CODEC_PPROF_H

#include "base/buf.h"
#include "base/err.h"
#include "profile/builder.h"

struct pprof_limits {
    size_t max_inflated_bytes; // 0 = no limit
    uint32_t max_sample_types;
    uint32_t max_samples;
    uint32_t max_stack_depth; // locations of one sample
    uint32_t max_labels;      // labels of one sample
    size_t max_batch_bytes;   // memory the decoded batch may take; 0 = no limit
};

extern const struct pprof_limits pprof_default_limits;

// What was repaired or noticed on the way; each counts occurrences.
struct pprof_report {
    uint64_t repaired_utf8;      // strings with broken UTF-8 (field case A28)
    uint64_t repaired_functions; // functions paired by position, all ids 0 (.NET, A8)
    uint64_t repaired_time;      // time given in us, ms or s instead of ns (A23)
    uint64_t guessed_time;       // fallback_time_nanos taken, because the profile's was 0 or made no sense (A22)
    uint64_t unknown_mappings;   // locations naming a mapping that is not there (read as unknown mapping)
    uint64_t samples, sample_types;
    bool gzip, zstd;
};

struct pprof_decode_options {
    const struct pprof_limits *limits; // NULL = defaults
    // Resource attributes of the batch that comes out (copied).
    const struct key_value *resource_attributes;
    uint32_t resource_attribute_count;
    bool keep_original_payload; // put `data` itself on the first profile (format "pprof")
    // For profiles whose own time is 0 or before 1980 and cannot be repaired; 0 = leave it as it is. What
    // the profile said is kept in the attribute pprof.profile.time_nanos, and restored when writing pprof.
    int64_t fallback_time_nanos;
    bool force_fallback_time; // use fallback_time_nanos whatever the profile says
    int64_t now_nanos;        // to judge what is plausible; 0 = no judging
};

// data as found in a file or body: raw, gzip or zstd. Any thread. On success *out has one reference.
// Errors say what is wrong where: "sample 17: location id 99 is not in the profile". Another format that is
// recognised is ERR_UNSUPPORTED, damage and contradictions are ERR_INVALID.
enum err_code pprof_decode(struct bytes data, const struct pprof_decode_options *options, struct batch **out,
                           struct pprof_report *report, struct err *e) MUST_USE;

// What the first bytes look like, for errors: "a Go execution trace", "HTML", "JFR recording", ...; NULL if
// nothing is recognised.
const char *pprof_describe_other(struct bytes data);

// Profiles of one scope that came from one pprof are written as one again: iterate with
//   for (uint32_t first = 0, n; (n = pprof_group(scope, first)) != 0; first += n) pprof_encode(...)
uint32_t pprof_group(const struct scope *s, uint32_t first);
// Writes (uncompressed) profiles [first, first + count) of a scope. What pprof cannot hold is counted in
// *lost_out (attributes of types pprof has no label for, timestamps, frame types).
enum err_code pprof_encode(const struct batch *b, const struct scope *s, uint32_t first, uint32_t count,
                           struct buf *out, uint64_t *lost_out, struct err *e) MUST_USE;

#endif
