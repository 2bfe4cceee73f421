// SPDX-License-Identifier: Apache-2.0
// The body of POST /ingest in all its formats: pprof, folded, lines, trie, tree, speedscope, JFR (handed on); raw or in a
// form.
#ifndef CODEC_PYROSCOPE_INGEST_H
#define CODEC_PYROSCOPE_INGEST_H

#include "codec/pyroscope_query.h"

// body: after Content-Encoding. content_type: the header's value, len 0 = none. Any thread. *out has one reference on
// success; a form without a profile, or with an empty one, gives a batch without profiles.
// ERR_UNSUPPORTED: JFR that is not passed on (415); ERR_INVALID: what the body looks like and what it should be (422);
// ERR_LIMIT (413) with the measured and the allowed figure; ERR_MEMORY.
enum err_code pyroscope_ingest_decode(const struct pyroscope_query *q, struct bytes content_type, struct bytes body,
                                      const struct pyroscope_settings *settings, struct batch **out,
                                      struct decode_report *report, struct err *e) MUST_USE;

#endif
