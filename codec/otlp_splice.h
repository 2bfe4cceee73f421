// SPDX-License-Identifier: Apache-2.0
// Writing a request from the bytes it came in. Internal to codec/otlp_*.c.
#ifndef CODEC_OTLP_SPLICE_H
#define CODEC_OTLP_SPLICE_H

#include "codec/otlp_check.h"
#include "codec/otlp_emit.h"
#include "codec/otlp_origin.h"

struct otlp_origin {
    struct origin origin;
    struct otlp_arrival arrival;
    struct otlp_limits limits;
    bool references, attribute_references; // see otlp_check.h
};

// Of this codec; NULL if the batch has none.
const struct otlp_origin *otlp_origin_of(const struct batch *b);
struct bytes otlp_origin_request(const struct otlp_origin *o); // inflated

// Does the request, where it is not written anew, stand as is wanted?
bool otlp_origin_serves(const struct otlp_origin *o, const struct otlp_emission *how);
// Can otlp_splice write this batch? Not if something was taken away that the dictionary would still tell, and without
// string references not if values in the dictionary are some, which not every backend can read.
bool otlp_can_splice(const struct batch *b, const struct otlp_emission *how);
// About how many bytes more than the request itself, rather more than less.
size_t otlp_splice_growth(const struct batch *b, const struct otlp_emission *how);
// Resources and scopes that changed are written anew, inline, and so are those that name strings by index unless that is
// wanted; all else is copied.
enum err_code otlp_splice(const struct batch *b, const struct otlp_emission *how, struct buf *out,
                          struct err *e) MUST_USE;

#endif
