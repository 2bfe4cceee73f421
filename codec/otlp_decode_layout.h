// SPDX-License-Identifier: Apache-2.0
#ifndef CODEC_OTLP_DECODE_LAYOUT_H
#define CODEC_OTLP_DECODE_LAYOUT_H

#include "codec/otlp.h"
#include "codec/otlp_layout.h"

// otlp_decode_good for a request in this layout, which is not AUTO. What is said otherwise today is translated: tables inside
// the profiles become one dictionary, a profile of several sample types (1.7 and before) becomes one for each, the default
// one first, aggregated values with several timestamps (1.7 and before) are spread over them, and what has no field any more
// becomes attributes: pprof.mapping.has_*, pprof.location.is_folded, pprof.profile.comment,
// profile.aggregation_temporality = "cumulative".
enum err_code otlp_decode_layout(struct bytes data, enum otlp_layout layout, const struct otlp_limits *limits,
                                 struct batch **out, struct otlp_rejected *rejected, struct err *e) MUST_USE;

#endif
