// SPDX-License-Identifier: Apache-2.0
// How commands read a file of profiles, and the options they share for it.
#ifndef PIPELINE_PROFILE_INPUT_H
#define PIPELINE_PROFILE_INPUT_H

#include "codec/formats.h"
#include "pipeline/main.h"

struct input_options {
    struct option_values from, assume_layout, sample_type, sample_unit, sample_rate, leaf_first, missing_count;
};

const char *input_format_name(size_t i);  // of those that are read
const char *output_format_name(size_t i); // of those that are written
const char *input_layout_name(size_t i);  // of OTLP profiles

// The rows for a struct input_options that is the first member of a command's struct.
#define INPUT_OPTIONS                                                                                                  \
    {.name = "from",                                                                                                   \
     .value = "FORMAT",                                                                                                \
     .choice = input_format_name,                                                                                      \
     .help = "what the input is; default: told from content and name",                                                 \
     .offset = offsetof(struct input_options, from)},                                                                  \
        {.name = "assume-layout",                                                                                      \
         .value = "LAYOUT",                                                                                            \
         .choice = input_layout_name,                                                                                  \
         .help = "OTLP: of a request that may be in this layout or in another",                                        \
         .offset = offsetof(struct input_options, assume_layout)},                                                     \
        {.name = "sample-type",                                                                                        \
         .value = "TYPE",                                                                                              \
         .help = "folded stacks: what is counted; default samples, with a rate cpu",                                   \
         .offset = offsetof(struct input_options, sample_type)},                                                       \
        {.name = "sample-unit",                                                                                        \
         .value = "UNIT",                                                                                              \
         .help = "folded stacks: its unit; default count, with a rate nanoseconds",                                    \
         .offset = offsetof(struct input_options, sample_unit)},                                                       \
        {.name = "sample-rate",                                                                                        \
         .value = "HZ",                                                                                                \
         .help = "folded stacks: samples taken per second, so that counts become time",                                \
         .offset = offsetof(struct input_options, sample_rate)},                                                       \
        {.name = "leaf-first",                                                                                         \
         .help = "folded stacks: the leaf stands first",                                                               \
         .offset = offsetof(struct input_options, leaf_first)},                                                        \
    {                                                                                                                  \
        .name = "missing-count-is-one", .help = "folded stacks: a line without a count counts one",                    \
        .offset = offsetof(struct input_options, missing_count)                                                        \
    }

// What the options say; their texts are borrowed. ERR_INVALID for a rate that is none.
enum err_code input_folded_options(const struct input_options *o, struct folded_options *out, struct err *e) MUST_USE;

// Reads path ("-" = standard input) whole and decodes it; one reference on success. What was noticed on the way is said
// on stderr, a line each. Errors name the file. *report may say something after a failure, too.
enum err_code input_read(const struct command_line *line, const char *path, const struct input_options *o,
                         struct batch **out, struct decode_report *report, struct err *e) MUST_USE;

#endif
