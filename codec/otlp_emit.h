// SPDX-License-Identifier: Apache-2.0
// Requests in the layouts of older releases, and in other spellings of the current one, for peers that read no other.
#ifndef CODEC_OTLP_EMIT_H
#define CODEC_OTLP_EMIT_H

#include "codec/otlp.h"
#include "codec/otlp_layout.h"

struct otlp_emission {
    enum otlp_layout layout; // 1.7 or newer
    // Attributes of resources and scopes name their texts by index: keys, and strings however deep. Only in the current
    // layout, older ones have no such fields. Values in the attribute table stay inline, as a Collector writes them.
    bool string_references;
    bool zero_link; // Link 0 as ids of zeros instead of none
};

// What otlp_encode writes.
extern const struct otlp_emission otlp_plain_emission;

// What the layout cannot hold and is left out.
struct otlp_emission_report {
    uint64_t lost;
    char first[256]; // in words
};

// As otlp_encode. 1.7 has one value for each sample type and a unit for each key:
// - timestamps without values get their number as the value,
// - a sample of several values is written as one sample for each, with its timestamp,
// - a key whose attributes differ in their units has none there: each that had one counts as lost.
// report may be NULL.
enum err_code otlp_encode_as(const struct batch *b, const struct otlp_emission *how, struct buf *out,
                             struct otlp_emission_report *report, struct err *e) MUST_USE;

#endif
