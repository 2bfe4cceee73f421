// SPDX-License-Identifier: Apache-2.0
// The formats of /ingest without a type of their own (folded, lines, trie, tree, speedscope): what their numbers mean follows from
// the end of the app's name and from sampleRate (docs/formats/pyroscope.md).
#ifndef CODEC_PYROSCOPE_TEXT_H
#define CODEC_PYROSCOPE_TEXT_H

#include "codec/pyroscope_query.h"

// What the numbers are.
struct pyroscope_meaning {
    struct bytes service;     // the app's name without a known ending
    const char *profile_type; // Pyroscope's __name__: "process_cpu"
    const char *sample_type, *sample_unit;
    const char *period_type, *period_unit; // NULL = none
    int64_t period;                        // 0 = none; each value is multiplied by it when scales
    bool scales;
};

// An ending that is not known, or with nothing before it, is part of the name: "my.service" is the CPU of my.service.
// sample_rate (Hz) of 0 or less: counts stay counts. A period is 1e9 / rate, cut to whole nanoseconds, and at least 1.
struct pyroscope_meaning pyroscope_meaning_of(struct bytes app_name, int64_t sample_rate);

// Decoders of the binary ones, and of lines (each stack counts 1): as pyroscope_ingest_decode, one profile. options carries
// times, attributes and limits; options->folded is not looked at. Equal stacks are added up. A value that does not fit 64
// bits, times the period or in its sum, is passed over and counted in bad_lines; so is the end of data between two records.
// No recursion, and linear: the stacks of all records, written out, take max_batch_bytes at most (ERR_LIMIT).
enum err_code pyroscope_trie_decode(struct bytes data, const struct pyroscope_meaning *meaning,
                                    const struct decode_options *options, struct batch **out,
                                    struct decode_report *report, struct err *e) MUST_USE;
enum err_code pyroscope_tree_decode(struct bytes data, const struct pyroscope_meaning *meaning,
                                    const struct decode_options *options, struct batch **out,
                                    struct decode_report *report, struct err *e) MUST_USE;
enum err_code pyroscope_lines_decode(struct bytes data, const struct pyroscope_meaning *meaning,
                                     const struct decode_options *options, struct batch **out,
                                     struct decode_report *report, struct err *e) MUST_USE;
// Text: folded stacks as codec/folded.h reads them, with this meaning; "a;b 3 4" is 4 of the stack "a;b 3".
enum err_code pyroscope_folded_decode(struct bytes data, const struct pyroscope_meaning *meaning,
                                      const struct decode_options *options, struct batch **out,
                                      struct decode_report *report, struct err *e) MUST_USE;

#endif
