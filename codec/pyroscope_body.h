// SPDX-License-Identifier: Apache-2.0
// What the body of /ingest is. Internal to codec/.
#ifndef CODEC_PYROSCOPE_BODY_H
#define CODEC_PYROSCOPE_BODY_H

#include "codec/pyroscope_query.h"

// What a pprof says before it is decoded; nothing of one that is damaged.
struct pyroscope_pprof {
    int64_t time_nanos, duration_nanos;
    const char *profile_type; // Pyroscope's __name__; NULL = none of the known ones
};

// ERR_MEMORY or ERR_OK. config: sample_type_config of the form, {"TYPE": {"display-name": NAME}}; one that cannot be read
// names nothing.
enum err_code pyroscope_pprof_look(struct bytes inflated, struct bytes config, const struct decode_limits *limits,
                                   struct pyroscope_pprof *out, struct err *e) MUST_USE;

// Told from the content alone; UNSAID = nothing that is sure. Inflated data.
enum pyroscope_body pyroscope_body_sniff(struct bytes data);
// Of "binary/octet-stream+trie" and its like; UNSAID for all others.
enum pyroscope_body pyroscope_body_of_type(struct bytes content_type);
const char *pyroscope_body_name(enum pyroscope_body b); // what format= calls it; "" for UNSAID

// ERR_INVALID with what the body looks like and what to send; a reader's reason in e stays where the content tells nothing
// better (e->text empty = there is none).
enum err_code pyroscope_body_refuse(struct bytes data, enum pyroscope_body read_as, struct err *e);

// A batch with one profile that has no samples, but the recording and what came with it.
enum err_code pyroscope_jfr_pass(const struct pyroscope_query *q, struct bytes recording, struct bytes labels,
                                 const struct decode_options *options, struct batch **out, struct decode_report *report,
                                 struct err *e) MUST_USE;

#endif
