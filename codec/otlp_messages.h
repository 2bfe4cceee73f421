// SPDX-License-Identifier: Apache-2.0
// OTLP requests with the options of all formats; those of a file that holds several become one batch. Struct
// otlp_messages is internal to codec/.
#ifndef CODEC_OTLP_MESSAGES_H
#define CODEC_OTLP_MESSAGES_H

#include "codec/decode.h"
#include "codec/otlp.h"

struct otlp_messages {
    const struct decode_options *options;
    struct err *e;
    struct batch *first;     // the only one so far, or
    struct builder *builder; // those up to now
    uint64_t samples, repaired_strings;
    struct otlp_rejected rejected;
    struct otlp_layout_finding layout; // of the last one
    enum err_code code;                // the first failure sticks
};

void otlp_messages_init(struct otlp_messages *m, const struct decode_options *options, struct err *e);
// One request in protobuf, of whatever layout the options let in.
enum err_code otlp_messages_add(struct otlp_messages *m, struct bytes request) MUST_USE;
// One whose layout is known.
enum err_code otlp_messages_add_known(struct otlp_messages *m, struct bytes request,
                                      const struct otlp_layout_finding *layout) MUST_USE;
// otlp_json_read.c: all requests of a JSON text, one behind the other.
enum err_code otlp_messages_add_json(struct otlp_messages *m, struct bytes data) MUST_USE;
// The batch, with the options' resource attributes, if all went well; frees what m holds in every case.
enum err_code otlp_messages_finish(struct otlp_messages *m, struct batch **out, struct decode_report *report) MUST_USE;

// Exactly one request, of the layout that was found: nothing else is recognised, or inflated.
enum err_code otlp_request_decode(struct bytes data, const struct otlp_layout_finding *layout,
                                  const struct decode_options *options, struct batch **out,
                                  struct decode_report *report, struct err *e) MUST_USE;

// The layout of a request, if it may come in. ERR_INVALID.
enum err_code otlp_admit_layout(struct bytes request, const struct decode_options *options,
                                struct otlp_layout_finding *out, struct err *e) MUST_USE;
// The same for a layout that was found otherwise.
enum err_code otlp_layout_may_come(const struct otlp_layout_finding *found, const struct decode_options *options,
                                   struct err *e) MUST_USE;
// What these say of the options, for those who do the rest themselves (otlp_origin.c). The batch is replaced.
struct otlp_limits otlp_limits_of(const struct decode_options *options);
enum err_code otlp_set_resource_attributes(const struct decode_options *options, struct batch **b,
                                           struct err *e) MUST_USE;

// One request, or a stream, as the file exporter writes it: each request behind its length in 4 bytes, big-endian,
// compressed or not; compressed ones may be JSON, too.
bool otlp_file_recognise(struct bytes data);
enum err_code otlp_file_decode(struct bytes data, const struct decode_options *options, struct batch **out,
                               struct decode_report *report, struct err *e) MUST_USE;

#endif
