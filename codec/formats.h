// SPDX-License-Identifier: Apache-2.0
// All formats of profiles in one table: what they are called, how they are recognised, who reads and writes them.
// To add one: its decoder and encoder in files of its own, one row in codec/formats.c, a page in docs/formats/.
#ifndef CODEC_FORMATS_H
#define CODEC_FORMATS_H

#include "codec/decode.h"

struct encode_options {
    // Formats that hold one sample type: which. len 0 = the default: that of the first profile of the batch.
    struct bytes sample_type;
    enum otlp_layout layout; // of otlp_proto, 1.7 or newer; AUTO = the current one
};

struct encode_report {
    struct bytes sample_type; // the one that was written, borrowed from the batch; len 0 = all
    uint32_t sample_types;    // how many different ones the batch has
    uint64_t profiles;        // of the batch that were written
    uint64_t lost;            // things the format cannot hold: attributes, timestamps, links ...
    char first_lost[256];     // the first of them, where the format says it
};

struct format {
    const char *name;              // "otlp_json": --from, --to, metrics, the report of a decoder
    const char *const *extensions; // ".folded", lower case, without ".gz"; NULL-terminated; the first is written
    const char *help;              // one line
    // Does inflated data look like it? Cheap, and sure: what more than one row may recognise stands last. NULL = never.
    bool (*recognise)(struct bytes data);
    // data is inflated, original the file as found. Any thread. *out has one reference on success and is NULL else.
    // options and report are never NULL; report is zeroed. ERR_UNSUPPORTED: it is another format. NULL = not read.
    enum err_code (*decode)(struct bytes data, struct bytes original, const struct decode_options *options,
                            struct batch **out, struct decode_report *report, struct err *e);
    // Uncompressed. options and report are never NULL; report is zeroed. NULL = not written.
    enum err_code (*encode)(const struct batch *b, const struct encode_options *options, struct buf *out,
                            struct encode_report *report, struct err *e);
    const char *loses;    // what encode_report.lost counts, in words; NULL = nothing
    bool gzip_by_default; // files of it are gzipped unless asked otherwise
};

extern const struct format *const formats[]; // in the order they are asked; NULL-terminated
extern const struct format folded_format, perf_script_format;
extern const struct format pprof_format, pprof_legacy_format, speedscope_format, otlp_proto_format, otlp_json_format;

const struct format *format_find(const char *name);    // NULL if there is none
const struct format *format_of_path(const char *path); // by its extension, ".gz" and ".zst" aside; NULL = none fits
const struct format *format_recognise(struct bytes data, const char *path); // by content, then by path (may be NULL)

// Reads a file as it was found: inflates, recognises (format NULL), decodes. allowed NULL = every format. options and
// report may be NULL. An error names what the file looks like where it is nothing that is read.
struct format_choice {
    const struct format *format;         // NULL = told from content and path
    const struct format *const *allowed; // NULL-terminated; NULL = all
    const char *path;                    // for its extension; may be NULL
};
enum err_code format_decode(struct bytes data, const struct format_choice *choice, const struct decode_options *options,
                            struct batch **out, struct decode_report *report, struct err *e) MUST_USE;

#endif
